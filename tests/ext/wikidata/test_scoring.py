"""One article against its item: each known flaw of earlier scoring has a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from goldassay.ext.wikidata.articles import Subject
from goldassay.ext.wikidata.client import Item, ItemStatement
from goldassay.ext.wikidata.results import Scoring, verdict_key
from goldassay.measures import triples
from goldassay.measures.triples import times
from goldassay.measures.triples.mistakes import TextIndex
from goldassay.measures.triples.objects import TripleMatching
from goldassay.measures.triples.records import match

Stated = Callable[..., ItemStatement]
CITIES = {"Q649": ["Москва", "Moscow"], "Q90": ["Париж", "Paris"], "Q142": ["France"], "Q515": ["city"]}


@pytest.fixture(scope="module")
def scoring() -> Scoring:
    return Scoring()


def place(*statements: ItemStatement, text: str = "") -> Subject:
    """A subject called Testville with these statements."""
    item = Item("Q10", labels={"en": "Testville"}, sitelinks={"enwiki": "Testville"}, statements=statements)
    return Subject("Testville", item, CITIES, "geographic", text)


def triple(predicate: str, value: Any, subject: str = "Testville", confidence: float | None = None) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": value, "confidence": confidence}


def scored(scoring: Scoring, subject: Subject, predicted: list[Any]) -> dict[str, Any]:
    """The evidence of an article, with the values of its triples."""
    gold = scoring.gold(subject)
    predictions = scoring.predictions(subject, predicted)
    card = triples.scorecard([{"triples": gold}], [{"triples": predictions}], **scoring.options)
    properties = {name: [row[key] for key in ("tp", "fp", "fn")] for name, row in card.by["property"].items()}
    matching = match({"triples": gold}, {"triples": predictions}, TripleMatching(**scoring.options))
    return {**scoring.evidence(matching), "properties": properties, "card": card}


def kinds(evidence: dict[str, Any]) -> list[str]:
    return [each["kind"] for each in evidence["triples"]]


def test_names_in_another_script_are_not_all_the_same(scoring: Scoring, stated: Stated) -> None:
    evidence = scored(scoring, place(stated("P36", "Q649")), [triple("capital", "Париж")])
    assert kinds(evidence) == ["partial"]
    assert kinds(scored(scoring, place(stated("P36", "Q649")), [triple("capital", "москва")])) == ["exact"]
    # as plain text too, where no item decides
    text = place(stated("P1477", "Москва", "string"))
    assert kinds(scored(scoring, text, [triple("birth name", "Париж")])) == ["partial"]


def test_a_hundred_is_not_a_thousand(scoring: Scoring, stated: Stated) -> None:
    subject = place(stated("P1082", {"amount": "+100", "unit": "1"}, "quantity"))
    assert kinds(scored(scoring, subject, [triple("population", "1000")])) == ["partial"]
    assert kinds(scored(scoring, subject, [triple("population", "1,000")])) == ["partial"]
    assert kinds(scored(scoring, subject, [triple("population", "100")])) == ["exact"]


def test_two_days_of_one_year_differ_and_a_year_equals_a_year(scoring: Scoring, stated: Stated) -> None:
    day = place(stated("P571", "1867-11-07", "time"))
    assert kinds(scored(scoring, day, [triple("inception", "1867-01-01")])) == ["partial"]
    assert kinds(scored(scoring, day, [triple("inception", "7 November 1867")])) == ["exact"]
    year = place(stated("P571", "1867", "time"))
    assert kinds(scored(scoring, year, [triple("inception", "1867")])) == ["exact"]


def test_a_statement_is_covered_once(scoring: Scoring, stated: Stated) -> None:
    subject = place(stated("P36", "Q90"), stated("P36", "Q649"))
    evidence = scored(
        scoring, subject, [triple("capital", "Paris"), triple("P36", "Q90"), triple("schema:capital", "Moscow")]
    )
    # the first two are one statement in two forms; schema:capital is not in the table
    assert kinds(evidence) == ["exact", "no_match"]
    assert len(evidence["triples"]) == 2
    assert evidence["properties"] == {"P36": [1.0, 0.0, 1.0]}
    near = place(stated("P571", "1867", "time"))
    again = scored(scoring, near, [triple("inception", "1867"), triple("inception", "7 November 1867")])
    assert sorted(kinds(again)) == ["duplicate", "exact"]  # two forms of one year: one covers it, the other repeats it
    assert again["properties"] == {"P571": [1.0, 1.0, 0.0]}


def test_the_subject_counts(scoring: Scoring, stated: Stated) -> None:
    subject = place(stated("P36", "Q90"))
    evidence = scored(scoring, subject, [triple("capital", "Paris", subject="Elsewhere")])
    assert kinds(evidence) == ["novel"]
    assert evidence["properties"] == {"P36": [0.0, 1.0, 1.0]}
    assert kinds(scored(scoring, subject, [triple("capital", "Paris", subject="France")])) == ["novel"]
    assert kinds(scored(scoring, subject, [triple("capital", "Paris", subject="ex:Testville")])) == ["exact"]


@pytest.mark.parametrize("predicate", ["pgc:capital", "https://pg-ripple.org/compile#capital", "wdt:P36", "P36"])
def test_an_iri_is_its_prefixed_name(scoring: Scoring, stated: Stated, predicate: str) -> None:
    assert kinds(scored(scoring, place(stated("P36", "Q90")), [triple(predicate, "Paris")])) == ["exact"]


def test_a_near_miss_before_the_match_does_not_end_the_search(scoring: Scoring, stated: Stated) -> None:
    # the first statement of the property has another value; the second is the right one
    for order in (("Q649", "Q90"), ("Q90", "Q649")):
        evidence = scored(scoring, place(*(stated("P36", qid) for qid in order)), [triple("capital", "Paris")])
        assert kinds(evidence) == ["exact"]


def test_deprecated_statements_are_no_gold(scoring: Scoring, stated: Stated) -> None:
    evidence = scored(scoring, place(stated("P36", "Q90", rank="deprecated")), [triple("capital", "Paris")])
    assert (kinds(evidence), evidence["counts"]["statements"]) == (["novel"], 0)


def test_recall_of_a_property_is_counted_from_gold(scoring: Scoring, stated: Stated) -> None:
    # one of one prediction is right, one of four statements is covered: precision 1/1, recall 1/4
    subject = place(*(stated("P36", qid) for qid in ("Q90", "Q649", "Q142", "Q515")))
    evidence = scored(scoring, subject, [triple("capital", "Paris")])
    assert evidence["properties"] == {"P36": [1.0, 0.0, 3.0]}


def test_excluded_types_unknown_values_and_repeated_statements_are_left_out(scoring: Scoring, stated: Stated) -> None:
    subject = place(stated("P36", "Q90"), stated("P36", "Q90"), stated("P36", None), stated("P214", "1", "external-id"))
    assert scored(scoring, subject, [])["counts"]["statements"] == 1


def test_values_that_differ_in_unit_precision_or_sign_are_not_one(scoring: Scoring, stated: Stated) -> None:
    times = [stated("P571", {"time": "+1867-01-01T00:00:00Z", "precision": precision}, "time") for precision in (11, 9)]
    lengths = [stated("P2043", {"amount": "+5", "unit": unit}, "quantity") for unit in ("Q11573", "Q100995")]
    names = [stated("P1477", {"text": "Paris", "language": code}, "monolingualtext") for code in ("en", "fr")]
    assert scored(scoring, place(*times, *lengths, *names), [])["counts"]["statements"] == 5  # the name is one
    cold = place(stated("P2044", {"amount": "-5", "unit": "Q11573"}, "quantity"))
    evidence = scored(
        scoring, cold, [triple("elevation", "5 m", confidence=0.9), triple("elevation", "−5 m", confidence=0.1)]
    )
    assert kinds(evidence) == ["partial", "exact"]


def test_what_is_a_duplicate_is_compared_as_the_run_compares(stated: Stated) -> None:
    subject = place(stated("P1082", {"amount": "+100", "unit": "1"}, "quantity"))
    words = [triple("population", "100", confidence=0.9), triple("population", "104", confidence=0.1)]
    assert kinds(scored(Scoring(), subject, words)) == ["exact", "partial"]
    assert kinds(scored(Scoring(comparing=TripleMatching(tolerance=0.05)), subject, words)) == ["exact", "duplicate"]


def test_what_the_text_never_says_is_counted_apart(scoring: Scoring, stated: Stated) -> None:
    subject = place(
        stated("P36", "Q90"),
        stated("P17", "Q142"),
        stated("P571", "1867", "time"),
        stated("P1082", {"amount": "+12000", "unit": "1"}, "quantity"),
        stated("P625", {"latitude": 1.0, "longitude": 2.0}, "globe-coordinate"),
        stated("P31", "Q404"),  # an item without a name
        text="Testville, in Frances's shadow; its capital is Paris. Founded in 1867, it has 12,000 souls.",
    )
    evidence = scored(scoring, subject, [triple("capital", "Paris")])
    # one covered of three said: Paris of Paris, 1867, 12,000; "Frances" is another word
    assert evidence["card"].values["recall_supported"] == 1 / 3
    [year] = [statement for statement in evidence["missed"] if statement["property"] == "P571"]
    assert (year["surface"], year["context"]) == ("1867", "Founded in 1867, it has 12,000 souls.")


def test_a_triple_said_the_other_way_round_is_turned(scoring: Scoring, stated: Stated) -> None:
    capital = place(stated("P1376", "Q142"))
    evidence = scored(scoring, capital, [triple("capital", "Testville", subject="France")])
    assert kinds(evidence) == ["exact"]
    assert evidence["triples"][0]["inverted"] is True
    assert evidence["triples"][0]["triple"] == ["France", "capital", "Testville"]  # as it was said
    children = Item("Q20", labels={"en": "Ann"}, statements=(stated("P31", "Q5"), stated("P40", "Q21")))
    family = Subject("Ann", children, {"Q21": ["Bob"], "Q5": ["human"]}, "biography_living")
    assert kinds(scored(scoring, family, [triple("rel:childOf", "Ann", subject="Bob")])) == ["exact"]
    assert kinds(scored(scoring, family, [triple("mother", "Ann", subject="Bob")])) == ["exact"]


def test_words_that_stand_for_a_value(scoring: Scoring, stated: Stated) -> None:
    item = Item("Q20", labels={"en": "Ann"}, statements=(stated("P21", "Q6581072"),))
    subject = Subject("Ann", item, {"Q6581072": ["female"]})
    evidence = scored(scoring, subject, [triple("schema:gender", "woman", subject="Ann")])
    assert evidence["triples"][0]["object"]["kind"] == "mapping"
    assert kinds(evidence) == ["exact"]


def test_verdicts_narrow_the_interval_and_make_the_rate(stated: Stated) -> None:
    verdicts = {
        verdict_key("Testville", "Testville", "ex:motto", "Onward"): "correct",
        verdict_key("Testville", "Testville", "ex:twin", "Paris"): "incorrect",
        verdict_key("Other", "Testville", "ex:song", "La"): "correct",  # of another article
    }
    triples = [
        triple("ex:motto", "onward"),
        triple("ex:twin", "Paris"),
        triple("ex:song", "La"),
        triple("capital", "Paris"),
    ]
    evidence = scored(Scoring(verdicts=verdicts), place(stated("P36", "Q90")), triples)
    # true: the capital and the motto; false: the twin; unknown: the song
    assert (evidence["card"].values["precision_min"], evidence["card"].values["precision_max"]) == (2 / 4, 3 / 4)
    assert evidence["card"].values["novel_discovery_rate"] == 1 / 2


def test_evidence_is_data(scoring: Scoring, stated: Stated) -> None:
    evidence = scored(scoring, place(stated("P36", "Q90")), [triple("capital", "Paris", confidence=0.9)])
    [prediction] = evidence["triples"]
    assert prediction["confidence"] == 0.9
    assert prediction["property"] == "P36"
    assert prediction["subject"] == {
        "id": "Q10",
        "kind": "sitelink",
        "confidence": 1.0,
        "reason": prediction["subject"]["reason"],
    }
    assert prediction["object"]["id"] == "Q90"
    assert prediction["statement"] == {
        "property": "P36", "value": "Париж", "value_id": "Q90", "type": "wikibase-item", "aligned": True,
    }  # fmt: skip
    assert evidence["card"].totals["calibration_pearson"] == {3: (1.0, 0.9, 1.0)}


def test_of_two_with_one_name_the_range_of_the_property_tells(scoring: Scoring, stated: Stated) -> None:
    names = {"Q90": ["Paris"], "Q167646": ["Paris"], "Q404": ["Nowhere"]}
    types = {"Q90": frozenset({"Q515"}), "Q167646": frozenset({"Q5"})}
    item = Item("Q20", labels={"en": "Ann"}, statements=(stated("P19", "Q404"), stated("P40", "Q167646")))
    subject = Subject("Ann", item, names, "biography_living", types=types)
    evidence = scored(
        scoring, subject, [triple("born in", "Paris", subject="Ann"), triple("child", "Paris", subject="Ann")]
    )
    places = {each["property"]: each["object"] for each in evidence["triples"]}
    assert (places["P19"]["id"], places["P19"]["kind"]) == ("Q90", "context")
    assert places["P40"]["id"] == "Q167646"
    assert {each["property"]: each["kind"] for each in evidence["triples"]} == {"P19": "partial", "P40": "exact"}
    # without classes nothing is guessed
    unknown = scored(scoring, Subject("Ann", item, names), [triple("born in", "Paris", subject="Ann")])
    assert unknown["triples"][0]["object"]["kind"] == "ambiguous"


@pytest.mark.parametrize(
    ("text", "supported", "surface"),
    [
        ("It was founded on 7 November 1867.", True, "7 November 1867"),
        ("It was founded on November 7th, 1867.", True, "November 7th, 1867"),
        ("Gegründet am 7. November 1867.", True, "7. November 1867"),
        ("1867-11-07", True, "1867-11-07"),
        ("It was founded in November 1867.", False, None),  # not the day
        ("It was founded in 1867.", False, None),
        ("On 8 November 1867 nothing happened.", False, None),
    ],
)
def test_a_day_is_said_where_the_day_stands(
    scoring: Scoring, stated: Stated, text: str, supported: bool, surface: str | None
) -> None:
    [missed] = scored(scoring, place(stated("P571", "1867-11-07", "time"), text=text), [])["missed"]
    assert (missed["supported"], missed.get("surface")) == (supported, surface)


@pytest.mark.parametrize(
    ("time", "precision", "surface"),
    [
        ("-0044-03-15", 11, "15 March 44 BC"),
        ("+0044-03-15", 11, None),  # another era
        ("-0043-03-15", 11, "March 15, 43 B.C."),
        ("-0100-07-00", 10, "12 July 100 BC"),
        ("-0200-00-00", 7, "2nd century BC"),
        ("+0200-00-00", 7, None),
        ("+0079-00-00", 9, "AD 79"),
        ("+1990-00-00", 8, "1990s"),
        ("+1801-00-00", 7, "19th century"),
        ("+1750-00-00", 7, None),
        ("-0323-00-00", 9, "323 BCE"),
    ],
)
def test_times_of_every_era_and_age_are_found_in_a_text(time: str, precision: int, surface: str | None) -> None:
    text = TextIndex(
        "He lived (12 July 100 BC – 15 March 44 BC); March 15, 43 B.C. was later. Made in the 2nd century BC, lost in "
        "323 BCE, buried in AD 79, found in the 19th century and shown in the 1990s."
    )
    wanted = times.read({"time": time, "precision": precision})
    assert wanted is not None
    at = text.find_date(wanted)
    assert (text.text[slice(*at)] if at else None) == surface


@pytest.mark.parametrize("piece", ["x", "東", "1", "1 ", "12 march ", "1st ", "ad "])
def test_a_long_text_of_anything_is_searched_once(piece: str) -> None:
    """Without a bound on a month's name this would take minutes for a text without spaces."""
    text = TextIndex(piece * 100_000)
    assert text.find_date(times.Time(1900, 1, 1, 11)) is None
    assert text.find_date(times.Time(1900, precision=7)) is None

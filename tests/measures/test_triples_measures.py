"""Triples: every flaw that the conventions name, with the flawed and the right number; matching, intervals, errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn
from tests.perfect import perfect_for

from goldassay._support.exceptions import DataError
from goldassay.core.measure import parse, registered, stored
from goldassay.measures import triples as t


def triple(subject: str, predicate: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": value, **more}


def example(*triples: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"triples": list(triples), **more}


def counts(gold: dict[str, Any], pred: dict[str, Any], **options: Any) -> tuple[float, float, float]:
    tally = t.F1(**options)(gold, pred).tally
    return float(tally.tp), float(tally.fp), float(tally.fn)


def test_stripping_to_ascii_makes_moscow_paris() -> None:
    # flawed: both names become "" and match, tp 1; right: no match
    assert "Москва".encode("ascii", "ignore") == "Париж".encode("ascii", "ignore")
    assert counts(example(triple("a", "P36", "Москва")), example(triple("a", "P36", "Париж"))) == (0, 1, 1)
    assert counts(example(triple("a", "P36", "Москва")), example(triple("a", "P36", "москва"))) == (1, 0, 0)


def test_100_is_not_1000() -> None:
    # flawed: a fuzzy ratio of 0.857 or a prefix match covers it; right: quantities compare by value
    gold = example(triple("a", "P2048", 100, object_type="quantity"))
    assert counts(gold, example(triple("a", "P2048", "1000"))) == (0, 1, 1)
    assert counts(gold, example(triple("a", "P2048", "100.0"))) == (1, 0, 0)
    assert counts(gold, example(triple("a", "P2048", "101")), tolerance=0.02) == (1, 0, 0)
    untyped = example(triple("a", "note", "room 100 of the old wing of the house"))
    assert counts(untyped, example(triple("a", "note", "room 1000 of the old wing of the house"))) == (0, 1, 1)


def test_two_dates_in_one_year_differ() -> None:
    # flawed: the year is extracted and scores 0.95, tp 1; right: the day counts where gold has one
    gold = example(triple("Marie Curie", "P569", "1867-11-07"))
    assert counts(gold, example(triple("Marie Curie", "P569", "1867-01-01"))) == (0, 1, 1)
    assert counts(gold, example(triple("Marie Curie", "P569", "7 November 1867"))) == (1, 0, 0)
    assert counts(gold, example(triple("Marie Curie", "P569", "1867"))) == (0, 1, 1)
    assert counts(gold, example(triple("Marie Curie", "P569", "1867")), times="coarser") == (1, 0, 0)
    year = example(triple("Marie Curie", "P569", "+1867-00-00T00:00:00Z", object_type="time"))
    assert counts(year, example(triple("Marie Curie", "P569", "1867"))) == (1, 0, 0)


def test_a_gold_statement_is_covered_once() -> None:
    # flawed: both predictions find the one statement, tp 2 and recall 2/2 although P50 "Ann" was never said
    gold = example(triple("book", "P50", "Ann"), triple("book", "P50", "Bob"))
    pred = example(triple("book", "P50", "Bob"), triple("Book", "P50", "bob"))
    assert counts(gold, pred) == (1, 1, 1)
    assert t.F1()(gold, pred).errors[-1].kind in ("duplicate", "wrong_object")


def test_the_subject_counts() -> None:
    # flawed: the subject is never compared, tp 1; right: the statement is about someone else
    gold = example(triple("Marie Curie", "P19", "Warsaw"))
    pred = example(triple("Pierre Curie", "P19", "Warsaw"))
    assert counts(gold, pred) == (0, 1, 1)
    (error,) = t.F1()(gold, pred).errors
    assert error.kind == "wrong_subject"
    assert error.message.startswith("P19 Warsaw belongs to Marie Curie, not to Pierre Curie.")


def test_subjects_are_resolved() -> None:
    gold = example(triple("Marie Curie", "P19", "Warsaw", subject_id="Q7186"))
    for subject in ("ex:Marie_Curie", "http://dbpedia.org/resource/Marie_Curie", "wd:Q7186", "MARIE CURIE"):
        assert counts(gold, example(triple(subject, "P19", "Warsaw"))) == (1, 0, 0), subject
    assert counts(gold, example(triple("wd:Q1", "P19", "Warsaw"))) == (0, 1, 1)
    same = (("Q1", "Q7186"),)
    assert counts(gold, example(triple("wd:Q1", "P19", "Warsaw")), equivalents=same) == (1, 0, 0)


def test_a_near_miss_does_not_end_the_search() -> None:
    # flawed: the first statement of the property does not match and "partial" is returned at once: tp 0, fp 1
    gold = example(triple("a", "P106", "chemist"), triple("a", "P106", "physicist"))
    pred = example(triple("a", "P106", "physicist"))
    assert counts(gold, pred) == (1, 0, 1)
    assert t.match(gold, pred).pairs == {0: 1}


def test_recall_of_a_property_is_counted_from_gold() -> None:
    # 4 gold authors, 1 found, nothing else said: flawed "recall" tp/(tp+fp) = 1.0; right tp/(tp+fn) = 0.25
    gold = example(*(triple("book", "P50", name) for name in ("Ann", "Bob", "Cleo", "Dirk")))
    row = t.scorecard([gold], [example(triple("book", "P50", "Ann"))]).by["property"]["P50"]
    assert (row["precision"], row["recall"]) == (1.0, 0.25)


def test_an_unaligned_prediction_is_unknown_not_wrong() -> None:
    gold = example(triple("a", "P569", "1867"), triple("a", "P999", "z"))
    pred = example(triple("a", "born", "1867"), triple("a", "ex:hobby", "chess"))
    card = t.scorecard([gold], [pred], alignment={"born": "P569"})
    assert card.counts["triples"] == {"tp": 1.0, "fp": 0.0, "fn": 0.0, "unaligned": 1.0}  # P999 is not aligned either
    assert (card.values["precision_min"], card.values["precision_max"]) == (0.5, 1.0)
    assert "1 predictions have a predicate that the alignment table lacks" in card.warnings[0]
    assert t.F1(alignment=(("born", "P569"),))(gold, pred).errors[-1].kind == "unaligned"


def test_verdicts_narrow_the_interval_and_give_the_discovery_rate() -> None:
    gold = example(triple("a", "P1", "x"))
    predicted = [triple("a", "P1", "x"), *(triple("a", "P2", str(i), verdict=v) for i, v in enumerate(VERDICTS))]
    card = t.scorecard([gold], [example(*predicted)])
    # 6 predictions: 1 matched, 2 correct, 1 in_wikidata are true; 1 incorrect is false; 1 uncertain is unknown
    assert card.values["precision_min"] == pytest.approx(4 / 6)
    assert card.values["precision_max"] == pytest.approx(5 / 6)
    assert card.values["novel_discovery_rate"] == pytest.approx(2 / 3)
    judged = t.novel_discovery_rate(VERDICTS)
    assert judged["novel_discovery_rate"] == card.values["novel_discovery_rate"]
    assert (judged["low"], judged["high"]) == pytest.approx((0.208, 0.939), abs=5e-4)  # Wilson, 2 of 3
    assert card.counts["novel"] == {"correct": 2.0, "incorrect": 1.0, "uncertain": 1.0, "in_wikidata": 1.0}
    with pytest.raises(DataError, match="record r1, triples: a verdict is one of correct"):
        t.scorecard([{**gold, "id": "r1"}], [example(triple("a", "P2", "y", verdict="maybe"))])


VERDICTS = ("correct", "correct", "incorrect", "uncertain", "in_wikidata")


def test_calibration_in_four_buckets() -> None:
    gold = example(*(triple("a", "P1", f"right {i}") for i in range(4)))
    predicted = [
        triple("a", "P1", "right 0", confidence=0.9),  # bucket 4: 1 of 1
        triple("a", "P1", "right 1", confidence=0.6),  # bucket 3: 1 of 2
        triple("a", "P1", "wrong 7", confidence=0.7),
        triple("a", "P1", "wrong 8", confidence=0.1),  # bucket 1: 0 of 1
        triple("a", "P1", "wrong 9", confidence=0.2, verdict="uncertain"),  # left out
        triple("a", "P1", "right 2"),  # no confidence
    ]
    card = t.scorecard([gold], [example(*predicted)])
    # midpoints .125 .625 .875, accuracies 0 .5 1: r = .375 / √(.291667 · .5) = 0.9819805
    assert card.values["calibration_pearson"] == pytest.approx(0.9819805, abs=1e-7)
    # |0.1 − 0|·1/4 + |0.65 − 0.5|·2/4 + |0.9 − 1|·1/4 = 0.125
    assert card.values["ece"] == pytest.approx(0.125)
    # (0.01 + 0.16 + 0.49 + 0.01) / 4
    assert card.values["brier"] == pytest.approx(0.1675)
    assert t.Calibration(statistic="brier_skill")(gold, example(*predicted)).tally.value == pytest.approx(1 - 0.1675)
    alone = t.scorecard([gold], [example(predicted[0])])
    assert alone.values["calibration_pearson"] is None
    assert t.Calibration(statistic="pearson")(gold, example(predicted[0])).tally.value == 0.0


def test_a_resampled_correlation_is_that_of_each_row() -> None:
    import numpy as np

    tally = t.Calibration(statistic="pearson").zero
    rows = tally.from_state(
        {"0": {"n": np.array([2.0, 4.0]), "confidence": np.array([0.2, 0.4]), "correct": np.array([0.0, 4.0])},
         "3": {"n": np.array([2.0, 2.0]), "confidence": np.array([1.8, 1.8]), "correct": np.array([2.0, 0.0])}}
    )  # fmt: skip
    assert np.asarray(rows.value).tolist() == pytest.approx([1.0, -1.0])


def test_recall_over_what_the_text_supports() -> None:
    gold = example(triple("a", "P1", "x", supported=True), triple("a", "P1", "y", supported=False))
    card = t.scorecard([gold], [example(triple("a", "P1", "x"))])
    assert (card.values["recall"], card.values["recall_supported"]) == (0.5, 1.0)
    assert "recall_supported" not in t.scorecard([example(triple("a", "P1", "x"))], [example()]).values


def test_ontology_conformance_and_grounding() -> None:
    gold = example(triple("Louvre", "inception", "1793"), text="The Louvre opened in Paris in 1793.", id="1")
    pred = example(
        triple("Louvre", "wdt:P571", "1793"), triple("Orsay", "likes", "Paris"), triple("Q19675", "inception", "1986")
    )
    ontology = {"concepts": [], "relations": [{"label": "inception", "pid": "P571"}]}
    card = t.scorecard([gold], [pred], ontology=ontology)
    assert card.values["ontology_conformance"] == pytest.approx(2 / 3)
    assert card.values["relation_hallucination"] == pytest.approx(1 / 3)
    assert card.values["subject_hallucination"] == 0.5  # Orsay is not there; an id without a label cannot be looked for
    assert card.values["object_hallucination"] == pytest.approx(1 / 3)  # 1986
    assert t.scorecard([gold], [pred]).values["ontology_conformance"] is None
    with pytest.raises(DataError, match="a relation of the ontology has a 'label' or a 'pid'"):
        t.scorecard([gold], [pred], ontology={"relations": [7]})


VALUES = st.sampled_from(["1798", "1885-07-13", "Amsterdam", "amsterdam", "100", "1000", "Q5", "Москва"])


TRIPLES = st.lists(
    st.builds(triple, st.sampled_from(["a", "b", "wd:Q1"]), st.sampled_from(["P1", "wdt:P1", "x:y"]), VALUES),
    max_size=6,
)


@drawn(80)
@given(TRIPLES, TRIPLES, st.randoms())
def test_order_does_not_matter(gold: list[Any], pred: list[Any], random: Any) -> None:
    shuffled = random.sample(gold, len(gold)), random.sample(pred, len(pred))
    for measure in registered("triples"):
        if type(measure).__name__ in ("CaRB", "WebNLG"):  # of equal pairs their scripts take the first
            continue
        tally = measure(example(*gold, text="a in Amsterdam, 1798"), example(*pred)).tally
        other = measure(example(*shuffled[0], text="a in Amsterdam, 1798"), example(*shuffled[1])).tally
        assert tally.state() == other.state()


@drawn(60)
@given(TRIPLES)
def test_gold_against_itself_is_one(gold: list[Any]) -> None:
    for measure in registered("triples"):
        tally = measure(example(*gold), perfect_for("triples")(example(*gold))).tally
        if measure.attains_one and not measure.lower_is_better:
            assert tally.value == 1.0
        assert not (measure.lower_is_better and tally.weight and tally.value)


def test_measures_read_back_and_say_their_conventions() -> None:
    for measure in registered("triples"):
        assert parse(stored(measure)) == measure
    assert "threshold=0.9" in t.F1().conventions
    assert "alignment=1 rows" in t.F1(alignment=(("a", "b"),)).conventions
    card = t.scorecard([example(triple("a", "P1", "x"))], [example()])
    assert set(card.values) == set(card.conventions)
    assert card.conventions["macro_recall"].startswith("macro_recall[")
    assert card.values["precision"] == 0.0


def test_a_failed_program_has_all_its_gold_missed() -> None:
    assert counts(example(triple("a", "P1", "x")), {"goldassay_failure": "ValueError: x"}) == (0, 0, 1)

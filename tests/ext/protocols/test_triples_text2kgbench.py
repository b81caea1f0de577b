"""Text2KGBench's protocol in its smallest cases: where a sentence ends, and no output against an empty one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import goldassay
from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import parse, stored
from goldassay.ext.protocols.text2kg import VALUES, Official, Ontology, sentence
from goldassay.gold import pairs
from goldassay.measures import triples

ONTOLOGY = {"relations": [{"label": "located in"}], "concepts": [{"label": "city"}]}
KNOWN = Ontology.of(ONTOLOGY)


def predicted(subject: str, relation: str, value: str) -> dict[str, Any]:
    return {"triples": [{"subject": subject, "predicate": relation, "object": value}]}


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("It stands in Italy. Rome is near.", 0.0),  # "Italy." ends a sentence, and stems like "Italy"
        ("It stands in Italy! 3 more do.", 0.0),
        ("It stands in Italy. rome is near.", 0.0),  # Punkt asks for no capital
        ("It was built by A. Italy Rossi.", 0.0),  # an initial ends none
        ("It stands in Italy. Élise lives there.", 0.0),  # a capital of any script
    ],
)
def test_sentences_are_split_before_words(text: str, absent: float) -> None:
    values = sentence({"text": text, "triples": []}, predicted("it", "located_in", "Italy"), KNOWN)
    assert values["object_hallucination"] == absent


def test_what_the_published_numbers_of_two_sentences_show() -> None:
    # Punkt knows "Bros.": one word in the sentence, but "Bros" and a full stop at the end of an answer
    text = "Birds Anonymous is a 1957 Warner Bros. Merrie Melodies animated short."
    shorts = sentence({"text": text, "triples": []}, predicted("Birds Anonymous", "director", "Warner Bros."), KNOWN)
    assert (shorts["subject_hallucination"], shorts["object_hallucination"]) == (0.0, 1.0)
    # "Sky" is stemmed to "ski", but not at the end of the text, where the first concept is glued to its full stop
    race = {"text": "The 2015 race was won by Geraint Thomas of Team Sky.", "triples": []}
    assert sentence(race, predicted("Team Sky", "located_in", "Thomas"), KNOWN)["subject_hallucination"] == 1.0
    assert (
        sentence({"text": "Team Sky won.", "triples": []}, predicted("Sky", "in", "won"), KNOWN)[
            "subject_hallucination"
        ]
        == 0.0
    )


def test_an_initial_stays_with_its_name() -> None:
    whole = sentence({"text": "A novel by J. Verne.", "triples": []}, predicted("novel", "author", "J. Verne"), KNOWN)
    assert whole["object_hallucination"] == 0.0


def test_words_that_begin_sentences_end_one_at_an_abbreviation() -> None:
    # flawed: "U.S." was one word in the sentence, and "U.S" and a full stop as an answer
    text = "It opened in the U.S. The cities loved it."
    values = sentence({"text": text, "triples": []}, predicted("it", "located_in", "U.S."), KNOWN)
    assert values["object_hallucination"] == 0.0


def test_no_output_adds_nothing_and_an_empty_output_conforms(tmp_path: Path) -> None:
    gold, pred = tmp_path / "gold.jsonl", tmp_path / "pred.jsonl"
    rows: list[dict[str, Any]] = [{"id": name, "sent": "A house in Rome.", "triples": []} for name in ("a", "b", "c")]
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    pred.write_text(json.dumps({"id": "a", "triples": []}) + "\n", encoding="utf-8")
    both = pairs("triples", gold, pred, format="text2kgbench")
    card = triples.scorecard(both.gold, both.pred, protocol="text2kgbench", ontology=ONTOLOGY)
    assert card.by["sentence"]["a"]["ontology_conformance"] == 1.0
    assert set(card.by["sentence"]["b"].values()) == {0.0}
    assert card.values["ontology_conformance"] == pytest.approx(1 / 3)
    assert card.conventions["f1"] == "text2kgbench_f1[protocol=text2kgbench, average=sentences, empty=0]"
    assert set(card.intervals) == set(VALUES)


def test_other_names_are_refused() -> None:
    with pytest.raises(GoldassayError, match="value is precision"):
        Official("accuracy")


def test_gold_is_right_as_its_own_prediction_and_an_output_has_underscores(tmp_path: Path) -> None:
    ontology = Ontology.of({"relations": [{"label": "country of origin"}], "concepts": []})
    statement = {"sub": "It", "rel": "country of origin", "obj": "Italy"}
    whole = {"id": "a", "sent": "It was made in Italy.", "triples": [statement]}
    training = {"id": "a", "sent": whole["sent"], **{f"{key}_label": value for key, value in statement.items()}}
    for row in (whole, training):
        file = tmp_path / "gold.jsonl"
        file.write_text(json.dumps(row) + "\n", encoding="utf-8")
        both = pairs("triples", file, file, format="text2kgbench")
        assert both.warnings == [f"{file} holds gold, not predictions; each record counts as its own prediction"]
        assert sentence(both.gold[0], both.pred[0], ontology) == dict(
            zip(VALUES, (1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0), strict=True)
        )
    # the official script keeps relations as outputs are parsed: one with spaces is no relation of the sentence
    spaced = predicted("It", "country of origin", "Italy")
    assert sentence(both.gold[0], spaced, ontology) == dict(
        zip(VALUES, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0), strict=True)
    )


def test_systems_are_compared_with_an_ontology_that_a_path_names(tmp_path: Path) -> None:
    ontology = {"relations": [{"label": "author"}], "concepts": [{"label": "book"}]}
    rows = {
        "gold": {"id": "a", "sent": "Emma by Austen", "triples": [{"sub": "Emma", "rel": "author", "obj": "Austen"}]},
        "pred": {"id": "a", "triples": [["Emma", "author", "Austen"], ["Emma", "genre", "novel"]]},
    }
    for name, row in {**rows, "ontology": ontology}.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    gold, pred, path = (tmp_path / f"{name}.jsonl" for name in ("gold", "pred", "ontology"))
    for protocol in (None, "text2kgbench"):
        options: dict[str, Any] = {"format": "text2kgbench", "protocol": protocol, "intervals": False}
        card = goldassay.score("triples", gold, pred, ontology=path, **options)
        assert card["ontology_conformance"] == pytest.approx(1 / 2)
    measure = Official("f1", Ontology.of(ontology))
    assert parse(stored(measure)) == measure

"""The founding documents' functions: their arguments, their result names, and what was repaired."""

from __future__ import annotations

import json
from typing import Any

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.ext.compat import (
    Entity,
    compute_ner_metrics,
    entity_level_metrics,
    extract_entities,
    type_distribution_analysis,
)
from goldassay.measures.extraction import evaluate_tags
from goldassay.text.spans import spans

GOLD = [
    {"text": "Rijksmuseum", "type": "MUS", "start": 4, "end": 15},
    {"text": "Delft", "type": "TOP", "start": 20, "end": 25},
]


def test_entity_level_strict_and_partial() -> None:
    pred = [{"text": "Het Rijksmuseum", "type": "MUS", "start": 0, "end": 15}, GOLD[1]]
    assert entity_level_metrics(pred, GOLD) == {
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "true_positives": 1,
        "false_positives": 1,
        "false_negatives": 1,
        "match_type": "strict",
    }
    partial = entity_level_metrics(pred_entities=pred, gold_entities=GOLD, match_type="partial")
    assert (partial["true_positives"], partial["f1"], partial["match_type"]) == (2, 1.0, "partial")
    assert entity_level_metrics([], [])["f1"] == 0.0


def test_the_order_of_entities_does_not_decide_which_count() -> None:
    gold = [{"start": 0, "end": 4, "type": "A"}, {"start": 5, "end": 9, "type": "A"}]
    pred = [{"start": 3, "end": 7, "type": "A"}, {"start": 0, "end": 2, "type": "A"}]
    for side in (pred, pred[::-1]):
        assert entity_level_metrics(side, gold, "partial")["true_positives"] == 2


def test_entities_of_two_documents_do_not_meet() -> None:
    first: list[Any] = [{"start": 0, "end": 4, "type": "A"}]
    assert entity_level_metrics([first, []], [[], first])["true_positives"] == 0
    assert entity_level_metrics([first, []], [first, first])["false_negatives"] == 1
    with pytest.raises(GoldassayError, match="1 gold documents against 2 predicted ones"):
        entity_level_metrics([first, first], [first])


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(GoldassayError, match="match_type is strict or partial, not 'fuzzy'"):
        entity_level_metrics([], [], "fuzzy")
    with pytest.raises(GoldassayError, match="average is micro, macro or weighted, not 'samples'"):
        compute_ner_metrics([], [], "samples")
    with pytest.raises(GoldassayError, match="sentence 1 has 1 gold tags and 2 predicted ones"):
        compute_ner_metrics([["O", "O"]], [["O"]])
    with pytest.raises(GoldassayError, match="1 gold sentences against 0 predicted ones"):
        compute_ner_metrics([], [["O"]])
    with pytest.raises(GoldassayError, match="mode is conlleval or strict, not 'lenient'"):
        evaluate_tags([["O"]], [["O"]], mode="lenient")
    with pytest.raises(DataError, match="tag 'X-PER' is outside the scheme"):
        extract_entities(["X-PER"])


def test_the_ratio_of_a_type_that_gold_does_not_have_is_null() -> None:
    distribution = type_distribution_analysis([*GOLD, {"start": 30, "end": 34, "type": "TMP"}], [*GOLD, GOLD[0]])
    assert distribution["MUS"] == {"predicted": 1, "gold": 2, "over_prediction": -1, "ratio": 0.5}
    assert distribution["TMP"] == {"predicted": 1, "gold": 0, "over_prediction": 1, "ratio": None}
    json.dumps(distribution, allow_nan=False)


@pytest.mark.parametrize(
    ("tags", "strict", "conlleval"),
    [
        (["B-PER", "I-PER", "O"], {Entity("PER", 0, 2)}, {Entity("PER", 0, 2)}),
        (["O", "I-PER"], set(), {Entity("PER", 1, 2)}),
        (["B-PER", "I-LOC"], {Entity("PER", 0, 1)}, {Entity("PER", 0, 1), Entity("LOC", 1, 2)}),
        (["B-PER", "B-PER"], {Entity("PER", 0, 1), Entity("PER", 1, 2)}, {Entity("PER", 0, 1), Entity("PER", 1, 2)}),
        ([], set(), set()),
    ],
)
def test_both_readings_of_malformed_tags(tags: list[str], strict: set[Entity], conlleval: set[Entity]) -> None:
    assert extract_entities(tags) == strict
    assert {Entity(kind, start, end) for start, end, kind in spans(tags)} == conlleval


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("IOB1", ["I-A", "I-A", "B-A", "O", "I-B"]),
        ("IOB2", ["B-A", "I-A", "B-A", "O", "B-B"]),
        ("IOE1", ["I-A", "E-A", "I-A", "O", "I-B"]),
        ("IOE2", ["I-A", "E-A", "E-A", "O", "E-B"]),
        ("IOBES", ["B-A", "E-A", "S-A", "O", "S-B"]),
        ("BILOU", ["B-A", "L-A", "U-A", "O", "U-B"]),
    ],
)
@pytest.mark.parametrize("mode", ["strict", "conlleval"])
def test_the_same_entities_in_every_scheme(scheme: str, tags: list[str], mode: str) -> None:
    assert spans(tags, scheme, mode) == [(0, 2, "A"), (2, 3, "A"), (4, 5, "B")]
    report = evaluate_tags([tags], [tags], scheme=scheme, mode=mode)["micro avg"]
    assert report == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 3}


def test_micro_macro_and_weighted() -> None:
    gold = [["B-A", "O", "B-A", "O", "B-A", "O", "B-B"]]
    pred = [["B-A", "O", "B-A", "O", "O", "B-C", "B-B"]]
    # A: P 2/2 R 2/3 F 0.8; B: 1, 1, 1; C is only predicted: 0, 0, 0
    assert compute_ner_metrics(pred, gold) == pytest.approx({"precision": 3 / 4, "recall": 3 / 4, "f1": 3 / 4})
    macro = compute_ner_metrics(pred, gold, average="macro")
    assert macro == pytest.approx({"precision": 2 / 3, "recall": (2 / 3 + 1) / 3, "f1": 1.8 / 3})
    weighted = compute_ner_metrics(pred, gold, average="weighted")
    assert weighted == pytest.approx({"precision": 1.0, "recall": (2 / 3 * 3 + 1) / 4, "f1": (0.8 * 3 + 1) / 4})

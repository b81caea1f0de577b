"""DocRED's F1, Ign F1 and evidence F1, by hand and beside a slow reading of the definition."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.core.metric import failed_with
from goldassay.ext.protocols.relations import DocRED, Unseen

KINDS = ("relations", "ign", "evidence")


def statement(subject: str, predicate: str, value: str, evidence: Any = (), **fields: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": value, "evidence": list(evidence), **fields}


def corpus(of: str, golds: list[Any], preds: list[Any]) -> Any:
    measure = DocRED(of)
    pairs = zip(golds, preds, strict=True)
    return sum((measure({"triples": g}, {"triples": p}).tally for g, p in pairs), measure.zero)


def test_by_hand() -> None:
    golds = [
        [statement("a", "r", "b", [0, 1], in_train=True), statement("a", "s", "b", [2])],
        [statement("c", "r", "d", [0])],
    ]
    preds = [
        [statement("a", "r", "b", [1, 4]), statement("b", "r", "a", [5])],
        [statement("c", "r", "d", [0])],
    ]
    # relations: tp 2 of 3 predictions and 3 gold ones; P = R = 2/3
    assert corpus("relations", golds, preds).value == pytest.approx(2 / 3)
    # one of the two is in the training set: P = (2 − 1) / (3 − 1), R = 2/3, F1 = 2 (1/3) / (7/6)
    assert corpus("ign", golds, preds).value == pytest.approx(4 / 7)
    # evidence: sentence 1, and 0 of the second text, are right; 4 predicted, 4 in gold
    assert corpus("evidence", golds, preds).value == pytest.approx(0.5)


def test_repeated_statements() -> None:
    gold = [[statement("a", "r", "b", [0])]]
    pred = [[statement("a", "r", "b", [0]), statement("a", "r", "b", [3])]]
    assert (corpus("relations", gold, pred).value, corpus("evidence", gold, pred).value) == (1.0, 1.0)


def test_ids_stand_before_words_and_objects_may_be_classes() -> None:
    gold = {
        "triples": [SimpleNamespace(**statement("J. Austen", "author", "Emma", [1], subject_id="0", in_train=True))]
    }
    pred = {"triples": [statement("Jane Austen", "author", "Emma", [1], subject_id=0)]}
    assert [DocRED(of)(gold, pred).tally.value for of in KINDS] == [1.0, 0.0, 1.0]
    assert [DocRED(of)(gold, failed_with("broke")).tally.value for of in KINDS] == [0.0, 0.0, 0.0]
    assert [DocRED(of)({"triples": []}, {"triples": []}).tally.value for of in KINDS] == [1.0, 1.0, 1.0]


def test_the_three_lines_of_conventions_differ() -> None:
    lines = [DocRED(of).conventions.partition("[")[2] for of in KINDS]
    assert len({*lines}) == 3
    assert "train=FILE" in lines[1]


def test_errors_name_the_statements() -> None:
    gold, pred = {"triples": [statement("a", "r", "b")]}, {"triples": [statement("b", "r", "a")]}
    assert [(error.kind, error.gold, error.pred) for error in DocRED()(gold, pred).errors] == [
        ("missed", "b", ""),
        ("spurious", "", "a"),
    ]


def slow(golds: list[Any], preds: list[Any]) -> list[float]:
    """The three values, counted over the whole corpus without tallies."""
    gold = {(n, g["subject"], g["predicate"], g["object"]): g for n, text in enumerate(golds) for g in text}
    pred: dict[Any, Any] = {}
    for n, text in enumerate(preds):
        for p in text:
            pred.setdefault((n, p["subject"], p["predicate"], p["object"]), p)
    right = [key for key in pred if key in gold]
    seen = sum(1 for key in right if gold[key].get("in_train"))
    shared = sum(len(set(pred[key]["evidence"]) & set(gold[key]["evidence"])) for key in right)
    predicted = sum(len(set(p["evidence"])) for p in pred.values())
    expected = sum(len(g["evidence"]) for g in gold.values())

    def f1(precision: float, recall: float) -> float:
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    recall, rest = len(right) / len(gold), len(pred) - seen
    return [
        f1(len(right) / len(pred), recall),
        f1((len(right) - seen) / rest if rest else 0.0, recall),
        f1(shared / predicted if predicted else 0.0, shared / expected if expected else 0.0),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_random_corpora_beside_the_definition(seed: int) -> None:
    rng = random.Random(seed)

    def text(unique: bool) -> list[Any]:
        keys = [(rng.choice("ab"), rng.choice("rs"), rng.choice("bc")) for _ in range(rng.randint(1, 5))]
        return [
            statement(*key, rng.sample(range(4), rng.randint(0, 3)), in_train=rng.random() < 0.3)
            for key in (dict.fromkeys(keys) if unique else keys)
        ]

    golds, preds = [text(True) for _ in range(6)], [text(False) for _ in range(6)]
    assert [corpus(of, golds, preds).value for of in KINDS] == pytest.approx(slow(golds, preds))


def test_ign_f1_takes_arrays() -> None:
    import numpy as np

    both = Unseen(*(np.array(pair, float) for pair in ((3, 0), (1, 0), (1, 0), (2, 0))))
    assert both.value.tolist() == [pytest.approx(0.6), 1.0]  # type: ignore[union-attr]


def test_the_protocol_by_name(tmp_path: Path) -> None:
    files = tmp_path / "gold.jsonl", tmp_path / "pred.jsonl"
    triples = [statement("a", "r", "b", [0, 1], in_train=True), statement("a", "s", "b", [2])]
    for file, statements in zip(files, (triples, [statement("a", "r", "b", [1])]), strict=True):
        file.write_text(json.dumps({"id": "1", "triples": statements}) + "\n", encoding="utf-8")
    words = ["score", "triples", "--gold", str(files[0]), "--pred", str(files[1]), "--protocol", "docred", "--json"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    # relations: P 1, R 1/2; evidence: P 1, R 1/3; without the training set nothing is right
    assert json.loads(done.stdout)["values"] == {
        "RE_F1": pytest.approx(2 / 3),
        "Evi_F1": pytest.approx(0.5),
        "RE_ignore_annotated_F1": 0.0,
    }

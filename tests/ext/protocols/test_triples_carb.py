"""CaRB by hand, and beside a slow reading of the definition on random statements."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import goldassay
from goldassay.core.metric import failed_with
from goldassay.ext.protocols import CaRB
from goldassay.measures.triples import scorecard

RATES = ("precision", "recall", "f1", "auc")


def statement(subject: str, predicate: str, value: str = "", confidence: float | None = None) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": value, "confidence": confidence}


def corpus(golds: list[Any], preds: list[Any]) -> list[float]:
    pairs = [[{"triples": triples} for triples in side] for side in (golds, preds)]
    totals = []
    for rate in RATES:
        measure = CaRB(rate)
        total = sum((measure(*pair).tally for pair in zip(*pairs, strict=True)), measure.zero)
        totals.append(float(total.value))
    return totals


@pytest.mark.parametrize(
    ("gold", "pred", "precision", "recall"),
    [
        (("Jane Austen", "wrote", "Emma"), ("Austen", "wrote", "the Emma"), 3 / 4, 3 / 4),
        (("Jane Austen", "wrote", "Emma"), ("Jane Austen", "published", "Emma"), 0, 0),  # no word of the predicate
        (("Emma", "is a novel", "today"), ("Emma", "be", "today"), 1.0, 3 / 5),  # be stands for is
        (("Emma", "sold", ""), ("Emma", "sold", "well"), 1.0, 1.0),  # gold has one argument
        (("Emma", "sold", "well"), ("Emma", "sold", ""), 0, 0),  # the prediction has one
        (("Ann", "said", "it rains"), ("it rains", "said", "Ann"), 1.0, 1.0),  # swapped around a verb of saying
        (("Ann", "saw", "it rains"), ("it rains", "saw", "Ann"), 1 / 4, 1 / 4),
        (("Ann", "Saw", "Bob"), ("ann", "Saw", "Bob"), 2 / 3, 2 / 3),  # as written
    ],
)
def test_words(gold: Any, pred: Any, precision: float, recall: float) -> None:
    values = corpus([[statement(*gold)]], [[statement(*pred)]])
    assert values[:2] == pytest.approx([precision, recall])


def test_thresholds_by_hand() -> None:
    gold = [[statement("a b", "r", "c d"), statement("e", "r", "f")], [statement("g", "r", "h")]]
    pred = [[statement("a", "r", "c", 0.9), statement("e", "r", "x y", 0.4)], [statement("z", "q", "z", 0.6)]]
    # 0.9: P 1/1, R (3/5 + 1/3) / 3 (the first also shares r with the second gold one); 0.6: P 1/2, the same R
    # 0.4: the second has P 2/4, R 2/3: P (1 + 1/2) / 3 = 1/2, R (3/5 + 2/3) / 3
    first, last = (3 / 5 + 1 / 3) / 3, (3 / 5 + 2 / 3) / 3
    f1s = [2 * first / (1 + first), first / (1 / 2 + first), last / (1 / 2 + last)]
    assert max(f1s) == f1s[0]
    area = first + (last - first) / 2  # from (0, 1) to (first, 1), then at 1/2
    assert corpus(gold, pred) == pytest.approx([1.0, first, f1s[0], area])


def test_without_predictions_and_without_gold() -> None:
    gold = {"triples": [statement("a", "r", "b")]}
    assert corpus([gold["triples"]], [[]]) == [0.0] * 4
    assert CaRB()(gold, failed_with("broke")).tally.value == 0.0
    assert corpus([[]], [[statement("a", "r", "b")]]) == [1.0] * 4
    assert CaRB()({"triples": []}, gold).tally.weight == 0.0


def slow(golds: list[Any], preds: list[Any]) -> list[float]:
    """Every threshold over the whole corpus; statements have single words, and no verb is one of saying."""

    def pair(g: Any, p: Any) -> tuple[float, float]:
        same = [g[part] == p[part] for part in ("predicate", "subject", "object")]
        return (sum(same) / 3, sum(same) / 3) if same[0] else (0.0, 0.0)

    points = []
    for threshold in sorted({each["confidence"] for text in preds for each in text}):
        precise = recalled = 0.0
        predicted = 0
        for gold, text in zip(golds, preds, strict=True):
            counted = [each for each in text if each["confidence"] >= threshold]
            predicted += len(counted)
            recalled += sum(max((pair(g, p)[1] for p in counted), default=0.0) for g in gold)
            free = [(g, p) for g in range(len(gold)) for p in range(len(counted))]
            while free:
                row, column = max(free, key=lambda place: pair(gold[place[0]], counted[place[1]])[0])
                precise += pair(gold[row], counted[column])[0]
                free = [place for place in free if place[0] != row and place[1] != column]
        points.append((precise / predicted, recalled / sum(map(len, golds))))
    f1s = [2 * p * r / (p + r) if p + r else 0.0 for p, r in points]
    best = points[f1s.index(max(f1s))]
    curve = [*points, (1.0, 0.0)]
    area = sum((start[1] - end[1]) * (start[0] + end[0]) / 2 for start, end in pairwise(curve))
    return [*best, max(f1s), area]


def texts(rng: random.Random) -> tuple[list[Any], list[Any]]:
    def text(least: int) -> list[Any]:
        words = [(rng.choice("ab"), rng.choice("rs"), rng.choice("bc")) for _ in range(rng.randint(least, 4))]
        return [statement(*three, rng.choice([0.2, 0.5, 0.7, 0.9, 1.5])) for three in words]

    return [text(1) for _ in range(5)], [text(0) for _ in range(4)] + [text(1)]


@pytest.mark.parametrize("seed", range(20))
def test_random_statements_beside_the_definition(seed: int) -> None:
    golds, preds = texts(random.Random(seed))
    values, expected = corpus(golds, preds), slow(golds, preds)
    assert values[2:] == pytest.approx(expected[2:])
    # equal F1 at two thresholds may differ in the last bit: precision and recall are those of the best F1
    assert 2 * values[0] * values[1] == pytest.approx(values[2] * (values[0] + values[1]))


def test_the_protocol_by_name() -> None:
    golds, preds = ([{"triples": triples} for triples in side] for side in texts(random.Random(2)))
    card = scorecard(golds, preds, protocol="carb")
    assert list(card.values) == ["AUC", "Precision", "Recall", "F1"]
    assert card.values["AUC"] == pytest.approx(slow(*texts(random.Random(2)))[3])


def test_many_resamples_at_once_are_each_its_own() -> None:
    golds, preds = texts(random.Random(1))
    for rate in RATES:
        measure = CaRB(rate)
        batch = measure.batch([{"triples": triples} for triples in golds], [{"triples": triples} for triples in preds])
        tallies = measure.tallies(batch)
        each = [measure({"triples": g}, {"triples": p}).tally.value for g, p in zip(golds, preds, strict=True)]
        assert np.asarray(measure.zero.from_state(tallies.state()).value) == pytest.approx(each)


@pytest.mark.parametrize(
    ("gold", "pred", "f1"),
    [
        (["S\tis\tEmma\t\tC: he"], ["S\t1\tis\tEmma"], 0.0),  # two arguments, of which one is empty
        (["S\tis\tEmma\tC: \there"], ["S\t1\tis\tEmma\there"], 1.0),
        # the sentence is written in two ways, with the same letters: the last one counts
        (["S\tis\tEmma"], ["S \t0.9\tis\tEmma", "S\t0.9\tis\tAusten"], 1 / 2),
    ],
)
def test_files_as_the_script_reads_them(tmp_path: Path, gold: list[str], pred: list[str], f1: float) -> None:
    files = (tmp_path / "gold.tsv", tmp_path / "pred.tsv")
    for file, lines in zip(files, (gold, pred), strict=True):
        file.write_text("\n".join([*lines, ""]))
    assert goldassay.score("triples", *files, protocol="carb")["F1"] == pytest.approx(f1)

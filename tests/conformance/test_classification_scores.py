"""Probabilities, sets of labels, weights and graded outputs held to scikit-learn and scipy."""

from __future__ import annotations

import random
import warnings
from typing import Any

import dspy
import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk
from sklearn.preprocessing import MultiLabelBinarizer

from goldassay import Metric
from goldassay.core.measure import Batches, Measure, parse, stored
from goldassay.core.metric import failed_with
from goldassay.measures import classification as c
from goldassay.results.result import fold

LABELS = ["a", "b", "c", "d"]


def corpus(measure: Measure[Any], gold: list[Any], pred: list[Any]) -> float:
    """The value of the corpus: one after the other, at once, and read back."""
    one_by_one = sum((measure(*pair).tally for pair in zip(gold, pred, strict=True)), measure.zero)
    at_once = measure.tallies(measure.batch(gold, pred)).summed
    assert float(at_once.value) == pytest.approx(float(one_by_one.value))
    assert parse(stored(measure)) == measure
    card = fold(measure.task, [measure], Batches(gold, pred))
    low, high = card.intervals[measure.key].ends
    assert low - 1e-9 <= float(one_by_one.value) <= high + 1e-9
    return float(one_by_one.value)


def scored(seed: int, n: int = 60, digits: int = 1) -> tuple[list[Any], list[Any], np.ndarray]:
    """Labels and probabilities, with ties, that know something."""
    rng = random.Random(seed)
    gold = [{"label": rng.choice(LABELS), "weight": rng.randint(1, 4)} for _ in range(n)]
    rows = []
    for example in gold:
        raw = [round(rng.random() + (0.5 if label == example["label"] else 0.0), digits) + 0.1 for label in LABELS]
        rows.append([value / sum(raw) for value in raw])
    table = np.array(rows)
    best = [LABELS[place] for place in table.argmax(axis=1)]
    pred = [
        {"label": label, "probabilities": dict(zip(LABELS, row, strict=True))}
        for label, row in zip(best, rows, strict=True)
    ]
    return gold, pred, table


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_probabilities(seed: int) -> None:
    gold, pred, table = scored(seed)
    truth = [example["label"] for example in gold]
    hot = np.array([[label == other for other in LABELS] for label in truth], float)
    for k in (1, 2, 3):
        assert corpus(c.TopK(k), gold, pred) == pytest.approx(sk.top_k_accuracy_score(truth, table, k=k, labels=LABELS))
    auc = sk.roc_auc_score(truth, table, multi_class="ovr", labels=LABELS)
    assert corpus(c.Curve("auroc"), gold, pred) == pytest.approx(auc)
    ap = sk.average_precision_score(hot, table, average="macro")
    assert corpus(c.Curve("average_precision"), gold, pred) == pytest.approx(ap)
    likely = np.where(table < 0.2, 0.0, table)  # a label without a number has 0
    some = [
        {**example, "probabilities": {label: p for label, p in zip(LABELS, row, strict=True) if p}}
        for example, row in zip(pred, likely, strict=True)
    ]
    ap = sk.average_precision_score(hot, likely, average="macro")
    assert corpus(c.Curve("average_precision"), gold, some) == pytest.approx(ap)
    assert corpus(c.Curve(), gold, some) == pytest.approx(sk.roc_auc_score(hot, likely, average="macro"))
    brier = sk.brier_score_loss(truth, table, labels=LABELS, scale_by_half=False)
    assert corpus(c.MulticlassBrier(), gold, pred) == pytest.approx(brier)
    sure, right = table.max(axis=1), np.array([p["label"] == g for p, g in zip(pred, truth, strict=True)], float)
    assert corpus(c.LabelCalibration(statistic="brier"), gold, pred) == pytest.approx(np.mean((sure - right) ** 2))
    bins = np.minimum((sure * 10).astype(int), 9)
    ece = sum(abs(right[bins == b].mean() - sure[bins == b].mean()) * (bins == b).mean() for b in set(bins.tolist()))
    assert corpus(c.LabelCalibration(statistic="ece"), gold, pred) == pytest.approx(ece)


def test_a_failed_example_is_ranked_last() -> None:
    gold, pred, table = scored(5)
    failing: list[Any] = [failed_with("it broke") if place % 2 else answer for place, answer in enumerate(pred)]
    for measure in (c.TopK(2), c.Curve(), c.Curve("average_precision"), c.MulticlassBrier()):
        worse, better = corpus(measure, gold, failing), corpus(measure, gold, pred)
        assert worse > better if measure.lower_is_better else worse < better, measure
    assert table.shape == (60, 4)


@pytest.mark.parametrize("seed", [1, 2])
def test_sample_weights(seed: int) -> None:
    gold, pred, table = scored(seed)
    truth, predicted = [row["label"] for row in gold], [row["label"] for row in pred]
    weights = [row["weight"] for row in gold]
    expected: dict[Measure[Any], Any] = {
        c.Accuracy(): sk.accuracy_score(truth, predicted, sample_weight=weights),
        c.LabelF1(): sk.f1_score(truth, predicted, average="macro", sample_weight=weights),
        c.LabelF1(over="supported", rate="recall"): sk.balanced_accuracy_score(truth, predicted, sample_weight=weights),
        c.MCC(): sk.matthews_corrcoef(truth, predicted, sample_weight=weights),
        c.Kappa("quadratic"): sk.cohen_kappa_score(truth, predicted, weights="quadratic", sample_weight=weights),
        c.Curve(): np.mean(
            [
                sk.roc_auc_score([t == label for t in truth], table[:, at], sample_weight=weights)
                for at, label in enumerate(LABELS)
            ]
        ),
    }
    card = fold("classification", list(expected), Batches(gold, pred), weight="weight")
    for measure, value in expected.items():
        assert card.values[measure.key] == pytest.approx(float(value)), measure
        assert card.conventions[measure.key].startswith(f"{measure.key}_by_weight[weight=weight, ")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sets_of_labels(seed: int) -> None:
    rng = random.Random(seed)
    gold: list[Any] = [{"labels": rng.sample(LABELS, rng.randint(0, 3))} for _ in range(40)]
    pred: list[Any] = [
        {
            "labels": [x for x in LABELS if (x in example["labels"]) != (rng.random() < 0.3)],
            "probabilities": {x: round(rng.random(), 1) for x in LABELS},
        }
        for example in gold
    ]
    binary = MultiLabelBinarizer(classes=LABELS)
    y = binary.fit_transform([example["labels"] for example in gold])
    z = binary.transform([answer["labels"] for answer in pred])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for average in ("micro", "macro", "samples"):
            value = sk.f1_score(y, z, average=average, zero_division=1)
            assert corpus(c.SetF1(average), gold, pred) == pytest.approx(value), average
        for rate, function in (("precision", sk.precision_score), ("recall", sk.recall_score)):
            for average in ("micro", "macro"):
                assert corpus(c.SetF1(average, rate), gold, pred) == pytest.approx(function(y, z, average=average))
    assert corpus(c.SubsetAccuracy(), gold, pred) == pytest.approx(sk.accuracy_score(y, z))
    assert corpus(c.HammingLoss(tuple(LABELS)), gold, pred) == pytest.approx(sk.hamming_loss(y, z))
    numbers = np.array([[example["probabilities"][label] for label in LABELS] for example in pred])
    lrap = sk.label_ranking_average_precision_score(y, numbers)
    assert corpus(c.RankingPrecision(), gold, pred) == pytest.approx(lrap)
    kinds = {error.kind for pair in zip(gold, pred, strict=True) for error in c.SetF1()(*pair).errors}
    assert kinds == {"missed", "spurious"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_graded_outputs(seed: int) -> None:
    rng = random.Random(seed)
    x = [rng.randint(1, 5) for _ in range(40)]
    y = [max(1, min(5, value + rng.choice([-2, -1, 0, 0, 1]))) + rng.choice([0, 0.5]) for value in x]
    gold, pred = [{"score": value} for value in x], [{"score": value} for value in y]
    expected = {
        "pearson": stats.pearsonr(x, y).statistic,
        "spearman": stats.spearmanr(x, y).statistic,
        "kendall": stats.kendalltau(x, y).statistic,
    }
    for name, value in expected.items():
        assert corpus(c.Correlation(name), gold, pred) == pytest.approx(float(value)), name
    assert corpus(c.GradedError("mae"), gold, pred) == pytest.approx(sk.mean_absolute_error(x, y))
    assert corpus(c.GradedError("rmse"), gold, pred) == pytest.approx(sk.root_mean_squared_error(x, y))


def test_a_correlation_is_the_corpus_value_in_an_unmodified_evaluate() -> None:
    class Echo(dspy.Module):
        def forward(self, text: str) -> dspy.Prediction:
            return dspy.Prediction(score=float(text))

    guesses = [(1, "2"), (2, "1"), (3, "3.5"), (4, "4"), (5, "3")]
    gold = [dspy.Example(score=g, text=p).with_inputs("text") for g, p in guesses]
    result = dspy.Evaluate(devset=gold, metric=Metric(c.Correlation("spearman")), display_progress=False)(Echo())
    want = stats.spearmanr([g for g, _ in guesses], [float(p) for _, p in guesses]).statistic
    assert result.score == pytest.approx(100 * float(want), abs=0.01)

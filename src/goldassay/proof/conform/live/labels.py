"""Labels beside scikit-learn, their agreement beside krippendorff, and agreement and doubt beside statsmodels."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import numpy as np

from goldassay.gold.agreement import alpha, cohen_kappa, fleiss_kappa
from goldassay.measures import classification
from goldassay.proof.conform.live.cases import SEED, heritage, labels
from goldassay.proof.conform.suite import SuiteResult
from goldassay.statistics import compare, holm, wilson

LEVELS = ("nominal", "ordinal", "interval", "ratio")


def scikit_learn(result: SuiteResult) -> None:
    """Accuracy, macro and weighted F1, kappa, every label's rates, and F1 of several labels."""
    from sklearn import metrics
    from sklearn.preprocessing import MultiLabelBinarizer

    gold, pred = labels()
    card = classification.scorecard([{"label": one} for one in gold], [{"label": one} for one in pred], labels="seen")
    options: dict[str, Any] = {"zero_division": 0}
    supported = sorted(set(gold))
    theirs = {
        "accuracy": metrics.accuracy_score(gold, pred),
        "macro_f1": metrics.f1_score(gold, pred, average="macro", **options),
        "macro_f1_supported": metrics.f1_score(gold, pred, average="macro", labels=supported, **options),
        "weighted_f1": metrics.f1_score(gold, pred, average="weighted", **options),
        "kappa": metrics.cohen_kappa_score(gold, pred),
    }
    for name, value in theirs.items():
        result.maybe(name, float(value), card.values[name])
    names = sorted({*gold, *pred})
    rows: Any = metrics.precision_recall_fscore_support(gold, pred, labels=names, **options)
    for rate, each in zip(("precision", "recall", "f1", "support"), rows, strict=True):
        for name, value in zip(names, each, strict=True):
            result.near(f"{rate} of {name}", float(value), float(card.by["label"][name][rate] or 0.0))
    records = heritage("classification")
    if not records:
        return
    rng = random.Random(SEED)
    several = [[one["label"], *one.get("secondary_labels", ())] for one in records]
    said = [
        rng.sample(row, rng.randint(1, len(row))) if rng.random() < 0.7 else [rng.choice("MLAG")] for row in several
    ]
    sides = [[{"label": row[0], "secondary_labels": row[1:]} for row in side] for side in (several, said)]
    binary = MultiLabelBinarizer().fit(several + said)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = metrics.f1_score(binary.transform(several), binary.transform(said), average="micro")
    result.maybe("F1 of several labels", float(value), classification.scorecard(*sides).values["multilabel_f1"])


def krippendorff(result: SuiteResult) -> None:
    """Alpha of three annotators with gaps, on four levels, on a hundred sets of units."""
    import krippendorff as oracle

    rng = random.Random(SEED)
    for number in range(100):
        truth = [rng.randint(1, 5) for _ in range(rng.randint(3, 30))]
        units = [[_grade(rng, grade) for _ in range(3)] for grade in truth]
        paired = [unit for unit in units if sum(value is not None for value in unit) > 1]
        if len({value for unit in paired for value in unit if value is not None}) < 2:
            continue
        data = np.array([[math.nan if value is None else value for value in row] for row in zip(*paired, strict=True)])
        level: Any
        for level in LEVELS:
            theirs = float(oracle.alpha(reliability_data=data, level_of_measurement=level))
            result.maybe(f"alpha of set {number}, {level}", theirs, alpha(units, level))


def _grade(rng: random.Random, truth: int) -> int | None:
    """What an annotator says: usually the truth, sometimes nothing."""
    chance = rng.random()
    return None if chance < 0.15 else truth if chance < 0.8 else rng.randint(1, 5)


def statsmodels(result: SuiteResult) -> None:
    """Cohen's and Fleiss' kappa, Wilson's interval, Holm's correction, McNemar's test."""
    from statsmodels.stats import inter_rater
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.proportion import proportion_confint

    rng = random.Random(SEED)
    for number in range(50):
        grades = [[rng.randint(1, 3) if rng.random() < 0.4 else 1 + at % 3 for _ in range(3)] for at in range(30)]
        table, _ = inter_rater.aggregate_raters(np.array(grades))
        result.maybe(f"Fleiss' kappa of set {number}", float(inter_rater.fleiss_kappa(table)), fleiss_kappa(grades))
        first, second = [row[0] for row in grades], [row[1] for row in grades]
        square = np.zeros((3, 3))
        np.add.at(square, (np.array(first) - 1, np.array(second) - 1), 1)
        kappa: Any = inter_rater.cohens_kappa(square, return_results=False)
        result.maybe(f"Cohen's kappa of set {number}", float(kappa), cohen_kappa(first, second))
        n = rng.randint(1, 500)
        hits = rng.randint(0, n)
        ends: Any = proportion_confint(hits, n, method="wilson")
        for end, theirs, ours in zip(("low", "high"), ends, wilson(hits, n), strict=True):
            result.near(f"Wilson's interval of {hits} of {n}, {end}", float(theirs), ours)
        chances = [rng.random() ** 3 for _ in range(rng.randint(1, 12))]
        corrected: Any = multipletests(chances, method="holm")
        for at, (theirs, ours) in enumerate(zip(corrected[1], holm(chances), strict=True)):
            result.near(f"Holm's correction of set {number}, p-value {at}", float(theirs), ours)
        both, won, lost, neither = (rng.randint(1, 12) for _ in range(4))
        a = [1.0] * (both + won) + [0.0] * (lost + neither)
        b = [1.0] * both + [0.0] * won + [1.0] * lost + [0.0] * neither
        tested: Any = mcnemar([[both, won], [lost, neither]], exact=True)
        result.near(
            f"McNemar's p of {won} against {lost}", float(tested.pvalue), compare(a, b, test="mcnemar", resamples=1).p
        )

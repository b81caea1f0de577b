"""Classification held to scikit-learn, on generated labels and on a real confusion of the gold set's baselines."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.preprocessing import MultiLabelBinarizer
from tests.nightly import drawn

from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import Measure
from goldassay.ext.compat import type_classification_metrics
from goldassay.measures import classification as c

TYPES = "GLAMORCUBESFIXPHDNT"
label = st.sampled_from(TYPES)
some = st.lists(st.tuples(label, st.one_of(label, st.just("Z"))), min_size=1, max_size=40)
free = st.lists(st.tuples(st.sampled_from(["pos", "neg", "neu"]), st.sampled_from(["pos", "neg", "mix"])), min_size=1)


def folded(measure: Measure[Any], pairs: Sequence[tuple[object, object]]) -> float:
    return float(sum((measure(gold, pred).tally for gold, pred in pairs), measure.zero).value)


@drawn(30)
@given(pairs=some)
def test_the_institution_types(pairs: list[tuple[str, str]]) -> None:
    gold, pred = [g for g, _ in pairs], [p for _, p in pairs]
    supported = sorted(set(gold))
    card = c.scorecard([{"label": g} for g in gold], [{"label": p} for p in pred], labels="institutions")
    metrics = type_classification_metrics(gold, pred)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"labels": list(TYPES), "average": "macro", "zero_division": 0}
        want = {
            "accuracy": sk.accuracy_score(gold, pred),
            "macro_f1": sk.f1_score(gold, pred, **options),
            "macro_f1_supported": sk.f1_score(gold, pred, **{**options, "labels": supported}),
            "weighted_f1": sk.f1_score(gold, pred, **{**options, "average": "weighted"}),
            "macro_precision": sk.precision_score(gold, pred, **options),
            "macro_recall": sk.recall_score(gold, pred, **options),
        }
        each = sk.precision_recall_fscore_support(gold, pred, labels=list(TYPES), zero_division=0)
    for name, value in want.items():
        assert metrics[name] == pytest.approx(value, abs=1e-9), name
        if name in card.values:
            assert card.values[name] == pytest.approx(value, abs=1e-9), name
    assert folded(c.Accuracy(), pairs) == pytest.approx(want["accuracy"], abs=1e-9)
    assert folded(c.LabelF1(labels="institutions"), pairs) == pytest.approx(want["macro_f1"], abs=1e-9)
    assert folded(c.LabelF1(over="supported"), pairs) == pytest.approx(want["macro_f1_supported"], abs=1e-9)
    assert folded(c.LabelF1("weighted"), pairs) == pytest.approx(want["weighted_f1"], abs=1e-9)
    for rate, values in zip(("precision", "recall", "f1", "support"), each, strict=True):
        for code, value in zip(TYPES, values, strict=True):
            assert metrics["per_class"][code][rate] == pytest.approx(value, abs=1e-9)
            assert card.by["label"][code][rate] == pytest.approx(value, abs=1e-9)


@drawn(25)
@given(pairs=some)
def test_the_matrix_is_sklearns_with_other_for_what_is_outside(pairs: list[tuple[str, str]]) -> None:
    gold, pred = [g for g, _ in pairs], ["OTHER" if p == "Z" else p for _, p in pairs]
    metrics = type_classification_metrics(gold, [p for _, p in pairs])
    assert metrics["confusion_matrix"] == sk.confusion_matrix(gold, pred, labels=metrics["labels"]).tolist()
    assert sum(map(sum, metrics["confusion_matrix"])) == len(pairs)


@drawn(25)
@given(pairs=free)
def test_labels_that_are_not_the_types_are_averaged_as_they_are_seen(pairs: list[tuple[str, str]]) -> None:
    gold, pred = [g for g, _ in pairs], [p for _, p in pairs]
    card = c.scorecard([{"label": g} for g in gold], [{"label": p} for p in pred])
    want = sk.f1_score(gold, pred, average="macro", zero_division=0)
    assert card.values["macro_f1"] == pytest.approx(want, abs=1e-9)
    assert folded(c.LabelF1(), pairs) == pytest.approx(want, abs=1e-9)
    own = ("pos", "neg", "neu", "never")
    want = sk.f1_score(gold, pred, labels=list(own), average="macro", zero_division=0)
    assert folded(c.LabelF1(labels=own), pairs) == pytest.approx(want, abs=1e-9)
    card = c.scorecard([{"label": g} for g in gold], [{"label": p} for p in pred], labels=own)
    assert card.values["macro_f1"] == pytest.approx(want, abs=1e-9)


@drawn(25)
@given(pairs=some)
def test_kappa(pairs: list[tuple[str, str]]) -> None:
    gold, pred = [g for g, _ in pairs], [p for _, p in pairs]
    kappa = folded(c.Kappa(), pairs)
    if len({*gold, *pred}) == 1:  # scikit-learn divides 0 by 0 here; both sides agree throughout
        assert kappa == 1.0
    else:
        assert kappa == pytest.approx(sk.cohen_kappa_score(gold, pred), abs=1e-9)


labels = st.lists(st.sampled_from("MLAG"), min_size=1, max_size=3, unique=True)


@drawn(25)
@given(pairs=st.lists(st.tuples(labels, labels), min_size=1, max_size=20))
def test_several_labels(pairs: list[tuple[list[str], list[str]]]) -> None:
    gold = [{"label": g[0], "secondary_labels": g[1:]} for g, _ in pairs]
    pred = [{"label": p[0], "secondary_labels": p[1:]} for _, p in pairs]
    binary = MultiLabelBinarizer(classes=list("MLAG"))
    left, right = binary.fit_transform([g for g, _ in pairs]), binary.transform([p for _, p in pairs])
    card = c.scorecard(gold, pred)
    assert card.values["multilabel_f1"] == pytest.approx(sk.f1_score(left, right, average="micro"), abs=1e-9)
    value = card.values.get("primary_or_secondary", card.values["accuracy"])  # the same without secondary labels
    assert value == pytest.approx(sum(p[0] in g for g, p in pairs) / len(pairs))


ordered = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40)


@drawn(40)
@given(pairs=ordered)
def test_agreement_of_numbers(pairs: list[tuple[int, int]]) -> None:
    gold, pred = [g for g, _ in pairs], [p for _, p in pairs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kappas = {weights: sk.cohen_kappa_score(gold, pred, weights=weights) for weights in ("linear", "quadratic")}
        mcc, balanced = sk.matthews_corrcoef(gold, pred), sk.balanced_accuracy_score(gold, pred)
    constant = len({*gold, *pred}) == 1
    for weights, value in kappas.items():
        assert folded(c.Kappa(weights), pairs) == pytest.approx(1.0 if constant else value, abs=1e-9)
    assert folded(c.MCC(), pairs) == pytest.approx(1.0 if constant else mcc, abs=1e-9)
    assert folded(c.LabelF1(over="supported", rate="recall"), pairs) == pytest.approx(balanced, abs=1e-9)
    assert folded(c.OrdinalError(), pairs) == pytest.approx(sk.mean_absolute_error(gold, pred), abs=1e-9)


def test_a_missing_prediction_is_as_far_away_as_can_be() -> None:
    # (0 + 4 + 2) / 3 on a scale from 1 to 5; gold 3 is 2 from either end
    assert folded(c.OrdinalError(), [(1, 1), (5, None), (3, None)]) == 2.0
    order = ("low", "mid", "high")
    assert folded(c.OrdinalError(order), [("low", "high"), ("mid", None)]) == 1.5
    assert folded(c.OrdinalError(order), [("low", "huge")]) == 2.0  # outside the order, too
    with pytest.raises(GoldassayError, match="the label 'huge' is not in the order low, mid, high"):
        folded(c.OrdinalError(order), [("huge", "low")])

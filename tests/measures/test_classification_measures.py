"""Classification's measures by hand, and what an unknown label or a wrong convention does."""

from __future__ import annotations

import pytest

from goldassay._support.exceptions import DataError, FieldError, GoldassayError
from goldassay.ext.compat import hierarchical_type_metrics, type_classification_metrics
from goldassay.measures import classification as c


def test_an_unknown_prediction_never_matches_a_gold_u() -> None:
    # the founding function put every unknown prediction into the group UNKNOWN: category accuracy 1.0 for this
    for pred in ("no idea", "", None, "UNKNOWN"):
        metrics = hierarchical_type_metrics(["U"], [pred])
        assert metrics == {"exact_accuracy": 0.0, "category_accuracy": 0.0, "hierarchy_gap": 0.0}
        assert c.Accuracy("group")({"label": "U"}, {"label": pred}).tally.value == 0.0
    # X stands in the same group as U: there the group is right
    assert hierarchical_type_metrics(["U"], ["X"])["category_accuracy"] == 1.0


def test_two_different_labels_outside_the_list_do_not_agree() -> None:
    metrics = type_classification_metrics(["foo", "M"], ["bar", "M"], labels=["M"])  # foo and bar fall into OTHER
    assert metrics["accuracy"] == 0.5


def test_kappa_by_hand() -> None:
    # gold M M L L, predicted M M M L: p_o = 3/4; p_e = (2·3 + 2·1)/16 = 1/2; κ = (3/4 − 1/2)/(1 − 1/2) = 1/2
    card = c.scorecard([{"label": x} for x in "MMLL"], [{"label": x} for x in "MMML"])
    assert card.values["kappa"] == pytest.approx(0.5)


def test_wrong_calls() -> None:
    with pytest.raises(FieldError, match="a gold label is a number or a text that is not empty"):
        c.Accuracy()({"label": ""}, {"label": "M"})
    with pytest.raises(FieldError, match=r"a predicted label is a text, not \['M'\]"):
        c.Accuracy()({"label": "M"}, {"label": ["M"]})
    assert c.SetF1()({"labels": ["M", "L"]}, {"output": ["M", "L"]}).tally.value == 1
    with pytest.raises(FieldError, match=r"but a set of labels; write .*Metric\(SetF1\(\)\)"):
        c.Accuracy()({"labels": ["M", "L"]}, {"labels": ["M"]})
    with pytest.raises(FieldError, match="the prediction has no field 'label'"):
        c.Accuracy()({"label": "M"}, {"type": "M", "note": ""})
    with pytest.raises(DataError, match="gold secondary_labels: a list of labels"):
        c.Accuracy()({"label": "M", "secondary_labels": "LA"}, {"label": "M"})
    with pytest.raises(GoldassayError, match="over is all or supported, not 'some'"):
        c.LabelF1(over="some")
    with pytest.raises(GoldassayError, match="labels is seen or institutions, not 'all'"):
        c.LabelF1("weighted", labels="all")


def test_a_prediction_outside_the_order_is_as_far_away_as_can_be() -> None:
    order = ("low", "mid", "high")
    assert c.OrdinalError(order)("low", "huge").tally.value == 2.0
    kappa = c.Kappa("linear", order)
    total = kappa("low", "low").tally + kappa("high", "huge").tally
    assert total.value == pytest.approx(1 - (2 * 2) / (2 * 1 + 1 * 2 + 2 * 1))  # w: low-huge 2, high-low 2, high-huge 2
    with pytest.raises(GoldassayError, match="'huge' is not in the order"):
        c.OrdinalError(order)("huge", "low").tally.value  # noqa: B018

"""Records: what is read, what counts, how lists are aligned, and which errors are named."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import dspy
import pytest
from pydantic import BaseModel

from goldassay import Metric
from goldassay.measures import records
from goldassay.measures.records.records import sides


class Currency(Enum):
    EUR = "EUR"


class Line(BaseModel):
    what: str
    qty: int


class Invoice(BaseModel):
    no: str
    day: date
    total: Decimal
    currency: Currency = Currency.EUR
    lines: list[Line]
    note: str | None = None


GOLD: dict[str, Any] = {
    "no": "7",
    "day": "2024-03-01",
    "total": 12.5,
    "currency": "EUR",
    "lines": [{"what": "tea", "qty": 2}, {"what": "jam", "qty": 1}],
}


MODEL = Invoice(
    no="7", day=date(2024, 3, 1), total=Decimal("12.50"), lines=[Line(what="jam", qty=1), Line(what="tea", qty=2)]
)


def counts(gold: Any, pred: Any, **options: Any) -> tuple[float, float, float]:
    tally = records.FieldF1(**options)({"record": gold}, {"record": pred}).tally
    return tally.tp, tally.fp, tally.fn


def kinds(gold: Any, pred: Any, **options: Any) -> list[str]:
    return [error.kind for error in records.FieldF1(**options)({"record": gold}, {"record": pred}).errors]


def test_an_unmodified_evaluate_sees_the_corpus_value_and_failed_predictions() -> None:
    # one record of 8 leaves right, one of 1 leaf that does not parse: 2·8 / (2·8 + 0 + 1)
    outputs = iter([MODEL, "{'no': '8'}"])

    class Program(dspy.Module):
        def forward(self, text: str) -> dspy.Prediction:
            return dspy.Prediction(record=next(outputs))

    gold = [dspy.Example(text="a", record=GOLD), dspy.Example(text="b", record={"no": "8"})]
    metric = Metric(records.FieldF1())
    evaluate = dspy.Evaluate(devset=[g.with_inputs("text") for g in gold], metric=metric, num_threads=1)
    with pytest.warns(UserWarning, match="not JSON"):
        result = evaluate(Program())
    assert result.score == pytest.approx(100 * 16 / 17, abs=0.01)
    assert [bool(score.failure) for _, _, score in result.results] == [False, True]


def test_counts_by_hand() -> None:
    gold = {"a": 1, "b": "x", "c": True, "d": {"e": 1, "f": 2}}
    pred = {"a": 2, "b": "x", "c": 1, "d": {"e": 1}, "g": 0}
    # right: b, d.e; wrong value: a; wrong type: c; missing: d.f; invented: g
    assert counts(gold, pred) == (2, 3, 3)
    assert kinds(gold, pred) == ["wrong_value", "wrong_type", "missing_field", "invented_field"]


@pytest.mark.parametrize(
    ("gold", "pred", "blank", "expected"),
    [
        ({"a": None, "b": "x"}, {"b": "x"}, "same", (1, 0, 0)),
        ({"a": None, "b": "x"}, {"a": "", "b": "x"}, "same", (1, 0, 0)),
        ({"a": None, "b": "x"}, {"a": [], "b": "x"}, "same", (1, 0, 0)),
        ({"a": None, "b": "x"}, {"a": "", "b": "x"}, "null", (1, 1, 0)),
        ({"a": [], "b": "x"}, {"a": [], "b": "x"}, "null", (2, 0, 0)),
        ({"a": [], "b": "x"}, {"a": [1], "b": "x"}, "null", (1, 1, 1)),
        ({"a": None, "b": "x"}, {"b": "x"}, "null", (1, 0, 0)),
        ({"a": None, "b": "x"}, {"b": "x"}, "apart", (1, 0, 1)),
        ({"a": None, "b": "x"}, {"a": None, "b": "x"}, "apart", (2, 0, 0)),
        ({"a": {}, "b": "x"}, {"a": {"c": 1}, "b": "x"}, "apart", (1, 1, 1)),
        ({"a": None}, {"a": None}, "same", (0, 0, 0)),
    ],
)
def test_absent_null_and_empty(gold: Any, pred: Any, blank: str, expected: tuple[int, int, int]) -> None:
    assert counts(gold, pred, blank=blank) == expected


def test_a_failed_program_has_missed_the_whole_record() -> None:
    read = sides({"record": GOLD}, None)
    assert read.pred is None
    assert counts(GOLD, None)[2] == 8
    assert records.TreeEdit()({"record": GOLD}, None).tally.total == 0

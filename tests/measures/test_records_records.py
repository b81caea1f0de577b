"""Records as the measures read them: any shape of a prediction, schemas, models."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import dspy
import numpy as np
import pytest
from pydantic import BaseModel, HttpUrl, RootModel

from goldassay._support.exceptions import DataError
from goldassay.core.tally import Counts
from goldassay.measures import records
from goldassay.measures.records.records import example, problem, schema_text, sides


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


@dataclass
class Plain:
    no: str
    lines: list[dict[str, Any]]


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


def test_numbers_and_arrays_of_numpy_are_numbers_and_lists() -> None:
    assert counts({"n": 1, "all": [1, 2]}, {"n": np.int64(1), "all": np.array([1, 2])}) == (3, 0, 0)  # it did not count


@pytest.mark.parametrize("pred", [MODEL, MODEL.model_dump(), MODEL.model_dump_json(), json.dumps(GOLD), GOLD])
def test_any_shape_of_a_right_record_is_right(pred: Any) -> None:
    compare = {"total": "money"} if isinstance(pred, str) else {}  # pydantic writes a Decimal as text
    assert counts(GOLD, pred, compare=compare) == (8, 0, 0)
    assert records.RecordAccuracy(compare=compare)({"record": GOLD}, {"record": pred}).tally.value == 1


def test_a_missing_number_of_a_table_is_null() -> None:
    card = records.scorecard([{"record": {"a": 1, "b": None}}], [{"record": {"a": 1, "b": float("nan")}}])
    assert (card.values["record_accuracy"], card.warnings) == (1.0, [])


def test_dataclasses_and_gold_models() -> None:
    assert counts(Plain("7", []), {"no": "7"}) == (1, 0, 0)
    assert counts(MODEL, GOLD) == (8, 0, 0)


@pytest.mark.parametrize("schema", [Invoice, Invoice.model_json_schema(), json.dumps(Invoice.model_json_schema())])
def test_what_does_not_fit_the_schema_counts_as_missed(schema: Any) -> None:
    wrong = {**GOLD, "lines": "tea"}
    assert counts(GOLD, wrong, schema=schema) == (0, 0, 8)
    assert kinds(GOLD, wrong, schema=schema) == ["invalid_record"]
    assert records.SchemaValid(schema=schema)({"record": GOLD}, {"record": wrong}).tally.value == 0
    assert records.SchemaValid(schema=schema)({"record": GOLD}, {"record": GOLD}).tally.value == 1
    with pytest.raises(DataError, match="gold does not fit the schema: lines"):
        records.FieldF1(schema=schema)({"id": "x", "record": wrong}, {"record": GOLD})


def test_a_schema_is_never_fetched() -> None:
    schema = {"properties": {"a": {"$ref": "http://127.0.0.1:1/schema.json"}}}
    with pytest.raises(Exception, match="127.0.0.1"):
        records.SchemaValid(schema=schema)({"record": {"a": 1}}, {"record": {"a": 1}})


def test_a_signature_is_a_schema_and_names_the_fields_of_the_record() -> None:
    signature = dspy.Signature("text -> vendor: str, total: float")
    measure = records.FieldF1(schema=signature)
    gold = dspy.Example(text="x", vendor="ACME", total=3.0)
    assert measure(gold, dspy.Prediction(vendor="ACME", total=4.0)).tally == Counts(1, 1, 1)
    assert "compare=vendor: exact, total: number" in measure.conventions


class Receipt(BaseModel):
    total: float
    count: int | None = None
    paid: bool = False
    no: str = ""
    lines: list[Line] = []


def test_gold_is_read_as_its_model_reads_it() -> None:
    gold = {"total": "33.90", "count": "3", "paid": "true", "no": "7", "lines": [{"what": "tea", "qty": "2"}]}
    expected = Receipt.model_validate(gold).model_dump()
    measure = records.FieldF1(schema=Receipt)
    assert sides({"record": gold}, {"record": gold}, measure.schema).gold == expected
    assert measure({"record": gold}, {"record": expected}).tally == Counts(6, 0, 0)
    assert (
        measure({"record": gold}, {"record": {**expected, "total": "33.90"}}).tally.tp == 0
    )  # a prediction is as it is
    with pytest.raises(DataError, match="total: 'RM 33.90' is not of type 'number'"):
        measure({"record": {**gold, "total": "RM 33.90"}}, {"record": expected})


def test_a_record_without_end_is_no_record() -> None:
    endless: dict[str, Any] = {"a": 1}
    endless["self"] = endless
    for pred in (
        endless,
        "[" * 100_000,
        float("nan"),
        {"a": float("inf")},
        b"x",
        object(),
    ):
        card = records.scorecard([{"record": {"a": 1}}], [{"record": pred}])
        assert card.counts["field"] == {"tp": 0, "fp": 0, "fn": 1}
        assert "is not a record" in card.warnings[0] or "are not records" in card.warnings[0]
    nested: Any = 1
    for level in range(38):
        nested = {"a": [nested]} if level % 2 else {"a": nested}
    assert records.scorecard([{"record": nested}], [{"record": "{}"}]).values["field_f1"] in (0.0, None)


def value(measure: Any, gold: Any, pred: Any) -> float:
    return float(measure({"record": gold}, {"record": pred}).tally.value)


def test_a_decimal_may_be_a_number_or_its_text_where_the_schema_says_so() -> None:
    class Bill(BaseModel):
        total: Decimal
        lines: list[Decimal] = []

    gold, pred = Bill(total=Decimal("4.50"), lines=[Decimal("1.0")]), {"total": 4.5, "lines": [1]}
    assert value(records.FieldF1(schema=Bill), gold.model_dump(mode="json"), pred) == 1.0
    assert value(records.FieldF1(schema=Bill), gold.model_dump(mode="json"), gold) == 1.0
    assert value(records.FieldF1(), gold.model_dump(mode="json"), pred) == 0.0  # a text and a number, for all it knows


def test_a_root_model_is_what_it_holds() -> None:
    assert value(records.FieldF1(), ["a", "b"], RootModel[list[str]](["b", "a"])) == 1.0


def test_the_example_of_a_schema_fits_it() -> None:
    class Odd(BaseModel):
        size: tuple[int, str]
        key: UUID
        took: timedelta
        site: HttpUrl
        pairs: list[list[int]]
        names: dict[str, int]
        kind: Literal["a", "b"]

    text = schema_text(Odd)
    assert [problem(example(text, number), text) for number in (1, 2)] == ["", ""]

"""Records: what is read, what counts, how lists are aligned, and which errors are named."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, HttpUrl, RootModel

from goldassay import Metric
from goldassay.exceptions import DataError, GoldassayError
from goldassay.measure import parse, stored
from goldassay.measures import records
from goldassay.measures.records.comparators import comparator
from goldassay.measures.records.records import example, problem, schema_text, sides
from goldassay.tally import Counts


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


@pytest.mark.parametrize("pred", [MODEL, MODEL.model_dump(), MODEL.model_dump_json(), json.dumps(GOLD), GOLD])
def test_any_shape_of_a_right_record_is_right(pred: Any) -> None:
    compare = {"total": "money"} if isinstance(pred, str) else {}  # pydantic writes a Decimal as text
    assert counts(GOLD, pred, compare=compare) == (8, 0, 0)
    assert records.RecordAccuracy(compare=compare)({"record": GOLD}, {"record": pred}).tally.value == 1


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


def test_a_missing_item_is_one_error_that_costs_its_leaves() -> None:
    lines = [{"what": f"w{n}", "qty": n, "price": 10 + n} for n in range(4)]
    (error,) = records.FieldF1()({"record": {"lines": lines}}, {"record": {"lines": lines[1:]}}).errors
    assert (error.kind, error.size, error.gold_type) == ("missing_item", 3, "lines")
    assert counts({"lines": lines}, {"lines": lines[1:]}) == (9, 0, 3)
    assert counts({"lines": lines}, {"lines": lines[1:]}, ordered="all") == (9, 0, 3)
    assert counts({"lines": lines}, {"lines": [*lines, {"what": "new"}]}) == (12, 1, 0)


def test_order_counts_only_where_asked() -> None:
    swapped = {**GOLD, "lines": GOLD["lines"][::-1]}
    assert counts(GOLD, swapped) == (8, 0, 0)
    assert counts(GOLD, swapped, ordered=("lines",)) == (6, 2, 2)
    assert kinds(GOLD, swapped, ordered="all") == ["swapped_items"]
    assert counts({"tags": ["a", "b"]}, {"tags": ["b", "a"]}) == (2, 0, 0)
    assert kinds({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, ordered=("tags",)) == ["swapped_items"]


def test_values_of_two_items_that_were_swapped_are_one_error() -> None:
    gold = {"lines": [{"what": "green tea", "qty": 2}, {"what": "red jam", "qty": 1}]}
    pred = {"lines": [{"what": "green tea", "qty": 1}, {"what": "red jam", "qty": 2}]}
    (error,) = records.FieldF1()({"record": gold}, {"record": pred}).errors
    assert (error.kind, error.size, error.gold_type) == ("swapped_items", 2, "lines.qty")


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


@pytest.mark.parametrize(
    ("name", "gold", "pred", "expected"),
    [
        ("exact", "a", "A", 0),
        ("exact", True, 1, 0),
        ("exact", 1, 1.0, 1),
        ("normalised", " Été  1", "ÉTÉ 1", 1),
        ("number(absolute=0.01)", 12.5, 12.509, 1),
        ("number(relative=0.1)", 100, 89, 0),
        ("number", "1,250.00", "1250", 1),
        ("number", 12.5, "12.5", 0),
        ("money", 1234.5, "€ 1.234,50", 1),
        ("money", "$5", "€5", 0),
        ("money", "EUR 5", "5.00 €", 1),
        ("date", "2024-03-01", "20240301", 1),
        ("date", "2024-03-01T12:00:00Z", "2024-03-01T13:00:00+01:00", 1),
        ("date", "2024-03", "2024-03-01", 0),
        ("date(partial=True)", "2024-03", "2024-03-01", 1),
        ("date(partial=True)", "2024-03-01", "2024-03", 0),
        ("date", "10:30", "10:30:00", 1),
        ("date(format='%d/%m/%Y')", "01/03/2024", "1/3/2024", 1),
        ("date(format='%H:%M:%S on %d/%m/%Y')", "10:30:00 on 01/03/2024", "2024-03-01T10:30:00", 1),
        ("date:%d/%m/%Y", "01/03/2024", "2024-03-01", 1),
        ("date:%d/%m/%Y %H:%M", "01/03/2024 10:30", "2024-03-01T10:30", 1),
        ("date(format='%d/%m/%Y')", "01/03/2024", "2024-03-01", 1),
        ("date(format='%d/%m/%Y')", "01/03/2024", "2024-01-03", 0),
        ("fuzzy(0.8)", "Rijksmuseum", "Rijksmuseun", 1),
        ("fuzzy", "Rijksmuseum", "Mauritshuis", 0),
        ("enum", "NOT_PAID", "not paid", 1),
        ("identifier", "NL-AmRM", "nl amrm", 1),
        ("identifier", "NL-AmRM", "NL-AmRN", 0),
    ],
)
def test_comparators(name: str, gold: Any, pred: Any, expected: float) -> None:
    assert comparator(name)(gold, pred) == expected
    assert counts({"f": gold}, {"f": pred}, compare={"f": name})[0] == expected


def test_gold_that_is_no_date_is_reported() -> None:
    with pytest.warns(UserWarning, match=r"not in ISO 8601; state its form"):
        assert comparator("date")("01/03/2024", "2024-03-01") == 0
    with pytest.warns(UserWarning, match=r"not in ISO 8601 or %d/%m/%Y"):
        comparator("date(format='%d/%m/%Y')")("2024/03/01", "2024-03-01")


def test_embeddings_and_functions_compare_too() -> None:
    from goldassay.embedding import Function, register

    register(Function(lambda texts: [[text.count(c) + 0.1 for c in "aeiou"] for text in texts], "vowels of records"))
    name = "embedding(threshold=0.99, model='vowels of records')"
    assert counts({"f": "tea time"}, {"f": "teatime"}, compare={"f": name}) == (1, 0, 0)

    def first_letter(gold: str, pred: str) -> bool:
        return gold[0] == pred[0]

    measure = records.FieldF1(compare={"f": first_letter})
    assert measure({"record": {"f": "tea"}}, {"record": {"f": "tee"}}).tally == Counts(1, 0, 0)
    assert "f: first_letter" in measure.conventions
    assert parse(stored(measure)).key == "field_f1"  # a function is not stored: the name and the kind of evidence are


def test_wrong_comparators_and_schemas_are_one_line() -> None:
    with pytest.raises(GoldassayError, match="no comparator reads as 'fuzy'"):
        records.FieldF1(compare={"f": "fuzy"})
    with pytest.raises(GoldassayError, match=r"no comparator reads as 'fuzzy\(limit=1\)'"):
        records.FieldF1(compare={"f": "fuzzy(limit=1)"})
    with pytest.raises(GoldassayError, match="no comparator reads as 'money:eur'"):
        records.FieldF1(compare={"f": "money:eur"})
    with pytest.raises(GoldassayError, match="a schema is a pydantic model"):
        records.FieldF1(schema=3)
    with pytest.raises(GoldassayError, match="blank is same, null or apart"):
        records.FieldF1(blank="none")


@pytest.mark.parametrize(
    ("gold", "pred", "kind"),
    [
        (12.5, "12.50", "wrong_type"),
        ("12 kg", "12 g", "wrong_unit"),
        ("€ 5", "$ 5", "wrong_unit"),
        ("2024-03-01", "01/03/2024", "wrong_format"),
        ("Delft", "DELFT", "wrong_format"),
        ("NL-AmRM", "NLAmRM", "wrong_format"),
        ("12 kg", "13 kg", "wrong_value"),
        ("1.5 kg", "15 kg", "wrong_value"),
        ("NL-7", "NL 7", "wrong_format"),
        ("12.50", "RM 12.50", "wrong_unit"),
        ("Olive 9 Pharmacy", "Olive9Pharmacy", "wrong_format"),
        ("Olive 9 Pharmacy Ltd", "Olive9Pharmacy", "wrong_value"),
        ([1], {"a": 1}, "wrong_type"),
    ],
)
def test_wrong_values_are_typed(gold: Any, pred: Any, kind: str) -> None:
    assert set(kinds({"f": gold}, {"f": pred})) == {kind}


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


def test_an_error_names_its_places_on_both_sides() -> None:
    gold = {"lines": [{"what": "green tea", "qty": 2}, {"what": "red jam", "qty": 1}], "no": "7"}
    pred = {"lines": [{"what": "red jam", "qty": 3}], "vat": 1}
    errors = records.FieldF1()({"record": gold}, {"record": pred}).errors
    assert {error.kind: error.context for error in errors} == {
        "wrong_value": "lines[1].qty | lines[0].qty",
        "missing_item": "lines[0] | ",
        "missing_field": "no | ",
        "invented_field": " | vat",
    }


SCALARS = st.one_of(st.integers(0, 3), st.sampled_from(["a", "b", "tea", ""]), st.none(), st.booleans())
ITEMS = st.lists(st.fixed_dictionaries({"x": SCALARS, "y": SCALARS}), max_size=4)


def best(left: list[Any], right: list[Any]) -> float:
    """The most leaves that any one-to-one assignment of items gets right: all of them are tried."""
    if len(left) > len(right):
        left, right = right, left

    def same(a: Any, b: Any) -> bool:
        return type(a) is type(b) and bool(a == b)

    return max(
        sum(
            a[key] not in (None, "") and same(a[key], b[key]) for a, b in zip(left, order, strict=False) for key in "xy"
        )
        for order in itertools.permutations(right)
    )


@settings(max_examples=150, deadline=None)
@given(ITEMS, ITEMS, st.randoms(use_true_random=False))
def test_alignment_is_the_best_of_all_and_ignores_order(left: list[Any], right: list[Any], rng: random.Random) -> None:
    tp, fp, fn = counts({"i": left}, {"i": right})
    assert tp == best(left, right)
    shuffled = rng.sample(left, len(left)), rng.sample(right, len(right))
    assert counts({"i": shuffled[0]}, {"i": shuffled[1]}) == (tp, fp, fn)
    turned = counts({"i": right}, {"i": left})
    assert turned == (tp, fn, fp)


JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(JSON, JSON, st.sampled_from(["same", "null", "apart"]), st.sampled_from(["all", ""]))
def test_any_two_records(left: Any, right: Any, blank: str, ordered: str) -> None:
    gold, pred = {"record": {"r": left}}, {"record": {"r": right}}
    measure = records.FieldF1(blank=blank, ordered=ordered)
    assessment, mirrored = measure(gold, pred), measure(pred, gold).tally
    tally = assessment.tally
    assert (tally.tp, tally.fp, tally.fn) == (mirrored.tp, mirrored.fn, mirrored.fp)
    assert bool(assessment.errors) == (tally.fp + tally.fn > 0)
    assert sum(error.size for error in assessment.errors) >= max(tally.fp, tally.fn)
    assert measure(gold, gold).tally.fp == measure(gold, gold).errors.__len__() == 0
    macro = records.FieldF1(average="macro", blank=blank, ordered=ordered)(gold, pred).tally
    assert sum(macro.values(), Counts()) == tally


def reference_distance(a: Any, b: Any) -> int:
    """Tree edit distance by its recursive definition on forests (Bille 2005, section 3), with Donut's costs."""
    from functools import cache

    from nltk import edit_distance

    def remove(node: Any) -> int:
        return len(node[0]) - len("<leaf>") if node[0].startswith("<leaf>") else 1

    def change(one: Any, other: Any) -> int:
        leaves = [node[0].startswith("<leaf>") for node in (one, other)]
        names = [node[0].removeprefix("<leaf>") for node in (one, other)]
        if all(leaves):
            return int(edit_distance(*names))
        if any(leaves):
            return 1 + len(names[leaves.index(True)])
        return int(names[0] != names[1])

    @cache
    def forests(left: tuple[Any, ...], right: tuple[Any, ...]) -> int:
        if not left and not right:
            return 0
        options = []
        if left:
            options.append(forests(left[:-1] + left[-1][1], right) + remove(left[-1]))
        if right:
            options.append(forests(left, right[:-1] + right[-1][1]) + remove(right[-1]))
        if left and right:
            inside, beside = forests(left[-1][1], right[-1][1]), forests(left[:-1], right[:-1])
            options.append(inside + beside + change(left[-1], right[-1]))
        return min(options)

    return forests((a,), (b,))


def reference_tree(value: Any, name: str = "<root>") -> Any:
    """The tree of a normalised record as (label, children)."""
    if isinstance(value, dict):
        return name, tuple(reference_tree(part, key) for key, part in value.items())
    if all(isinstance(item, dict) for item in value):
        return name, tuple(reference_tree(item, "<subtree>") for item in value)
    return name, tuple((f"<leaf>{item}", ()) for item in value)


def reference_normal(value: Any) -> Any:
    """Donut's normalisation as the paper's evaluation describes it: falsy values go, keys by (length, name)."""
    if not value:
        return {}
    if isinstance(value, dict):
        pairs = [(key, reference_normal(value[key])) for key in sorted(value, key=lambda key: (len(key), key))]
        return {key: part if isinstance(part, list) else [part] for key, part in pairs if part}
    if isinstance(value, list):
        if all(isinstance(item, dict) for item in value):
            return [part for part in map(reference_normal, value) if part]
        return [str(item).strip() for item in value if type(item) in {str, int, float} and str(item).strip()]
    return [str(value).strip()]


@settings(max_examples=120, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abc"), JSON, max_size=2), st.dictionaries(st.sampled_from("abc"), JSON, max_size=2)
)
def test_tree_edit_accuracy_is_that_of_the_definition(gold: Any, pred: Any) -> None:
    assessed = records.TreeEdit()({"record": gold}, {"record": pred}).tally
    left, right = (reference_tree(reference_normal(side)) for side in (gold, pred))
    size = reference_distance(("<root>", ()), left)
    if not size:
        assert (assessed.weight, assessed.total) == (
            (0, 0) if not reference_distance(("<root>", ()), right) else (1, 0)
        )
        return
    assert assessed.value == pytest.approx(max(0.0, 1 - reference_distance(right, left) / size))


def test_tree_edit_accuracy_by_hand() -> None:
    # gold: menu, 2 subtrees, 4 keys = 7 nodes, and leaves cake 4 + 2 1 + juice 5 + 1 1 = 11: 18 to build.
    # pred lacks the second item: <subtree>, name, count and juice, 1 are inserted: 3 + 6 = 9.
    gold = {"menu": [{"name": "cake", "count": "2"}, {"name": "juice", "count": "1"}]}
    pred = {"menu": [{"count": 2, "name": "cake"}]}
    assert records.TreeEdit()({"record": gold}, {"record": pred}).tally.value == pytest.approx(1 - 9 / 18)
    assert records.TreeEdit()({"record": gold}, {"record": "nothing"}).tally.value == 0


def reference_anls(gold: str, pred: str, threshold: float = 0.5) -> float:
    """ANLS of one answer, as in the DocVQA challenge: 1 − NL if NL < τ, else 0; case does not count."""
    from nltk import edit_distance

    a, b = (" ".join(side.strip().lower().split()) for side in (gold, pred))
    length = max(len(a), len(b))
    distance = edit_distance(a, b) / length if length else 0.0
    return 1 - distance if distance < threshold else 0.0


@settings(max_examples=100, deadline=None)
@given(st.text("abcAB 1", min_size=1, max_size=8), st.text("abcAB 1", min_size=1, max_size=8))
def test_anls_is_that_of_the_definition(gold: str, pred: str) -> None:
    assert comparator("anls")(gold, pred) == pytest.approx(reference_anls(gold, pred))
    if gold.strip() and pred.strip():  # a record of one field has its ANLS as its F1
        assessed = records.FieldF1(compare={"answer": "anls"})(
            {"record": {"answer": gold}}, {"record": {"answer": pred}}
        )
        assert assessed.tally.value == pytest.approx(reference_anls(gold, pred))


def test_the_scorecard_takes_its_schema_from_gold() -> None:
    gold = [{"record": {"no": 1, "day": "2024-03-01"}}, {"record": {"no": 2, "day": "2024-03-02", "vat": 5}}]
    pred = [{"record": {"no": 1, "day": "20240301"}}, {"record": {"no": "2"}}]
    card = records.scorecard(gold, pred)
    # right: no, day of the first; wrong type: no; missing: day, vat
    assert card.counts["field"] == {"tp": 2, "fp": 1, "fn": 3}
    assert card.values["schema_valid"] == 0.5
    assert card.values["record_accuracy"] == 0.5
    assert "compare=no: number, day: date, vat: number" in card.conventions["field_f1"]
    assert card.by["field"]["vat"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1, "predicted": 0}
    invalid = records.scorecard(gold, [{"record": "{"}, {"record": None}])
    assert invalid.values["field_recall"] == 0
    assert "2 predictions are no record" in invalid.warnings[0]


def test_a_failed_program_has_missed_the_whole_record() -> None:
    read = sides({"record": GOLD}, None)
    assert read.pred is None
    assert counts(GOLD, None)[2] == 8
    assert records.TreeEdit()({"record": GOLD}, None).tally.total == 0


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
        assert "is no record" in card.warnings[0] or "are no record" in card.warnings[0]
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


def test_items_are_aligned_optimally_where_a_comparator_has_a_tolerance() -> None:
    gold, pred = [{"qty": 10}, {"qty": 9}], [{"qty": 10}, {"qty": 11}]
    # 10 with 11 and 9 with 10 are both right; the equal items alone would leave 9 with 11
    assert value(records.FieldF1(compare={"lines.qty": "number(absolute=1)"}), {"lines": gold}, {"lines": pred}) == 1.0


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

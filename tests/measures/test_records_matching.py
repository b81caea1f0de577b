"""Two records leaf by leaf: items that are aligned, and the tree edit distance, beside their definitions."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay.core.tally import Counts
from goldassay.measures import records

GOLD: dict[str, Any] = {
    "no": "7",
    "day": "2024-03-01",
    "total": 12.5,
    "currency": "EUR",
    "lines": [{"what": "tea", "qty": 2}, {"what": "jam", "qty": 1}],
}


def counts(gold: Any, pred: Any, **options: Any) -> tuple[float, float, float]:
    tally = records.FieldF1(**options)({"record": gold}, {"record": pred}).tally
    return tally.tp, tally.fp, tally.fn


def kinds(gold: Any, pred: Any, **options: Any) -> list[str]:
    return [error.kind for error in records.FieldF1(**options)({"record": gold}, {"record": pred}).errors]


def test_order_counts_only_where_asked() -> None:
    swapped = {**GOLD, "lines": GOLD["lines"][::-1]}
    assert counts(GOLD, swapped) == (8, 0, 0)
    assert counts(GOLD, swapped, ordered=("lines",)) == (6, 2, 2)
    assert kinds(GOLD, swapped, ordered="all") == ["swapped_items"]
    assert counts({"tags": ["a", "b"]}, {"tags": ["b", "a"]}) == (2, 0, 0)
    assert kinds({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, ordered=("tags",)) == ["swapped_items"]


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


@drawn(150)
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


@drawn(150)
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

    def change(first: Any, other: Any) -> int:
        leaves = [node[0].startswith("<leaf>") for node in (first, other)]
        names = [node[0].removeprefix("<leaf>") for node in (first, other)]
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


@drawn(120)
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


def value(measure: Any, gold: Any, pred: Any) -> float:
    return float(measure({"record": gold}, {"record": pred}).tally.value)


def test_items_are_aligned_optimally_where_a_comparator_has_a_tolerance() -> None:
    gold, pred = [{"qty": 10}, {"qty": 9}], [{"qty": 10}, {"qty": 11}]
    # 10 with 11 and 9 with 10 are both right; the equal items alone would leave 9 with 11
    assert value(records.FieldF1(compare={"lines.qty": "number(absolute=1)"}), {"lines": gold}, {"lines": pred}) == 1.0

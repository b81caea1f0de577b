"""The scorecard of linking is the fold of its measures."""

from __future__ import annotations

from typing import Any

import pytest
from tests.perfect import perfect_for

from goldassay.gold import read
from goldassay.measures import linking as ln

Link = dict[str, Any]


def mention(start: int, end: int, *ids: str) -> Link:
    return {"start": start, "end": end, "ids": {"wikidata": list(ids)} if ids else {}}


def answer(start: int, end: int, *ids: str) -> Link:
    return {"start": start, "end": end, "candidates": [{"id": id_} for id_ in ids]}


def value(measure: Any, gold: list[Link], pred: list[Link]) -> float:
    return float(measure({"text": "", "links": gold}, {"links": pred}).tally.value)


def test_macro_by_document_gives_one_for_empty_against_empty() -> None:
    gold = [{"text": "", "links": []}, {"text": "", "links": [mention(0, 1, "Q1"), mention(2, 3, "Q2")]}]
    card = ln.scorecard(gold, [{"links": []}, {"links": [answer(0, 1, "Q1")]}])
    # documents: 1 and F1 2·1/(2·1 + 0 + 1) = 2/3
    assert card.values["macro_doc_link_f1"] == pytest.approx((1 + 2 / 3) / 2)
    official = ln.scorecard(gold, [{"links": []}, {"links": [answer(0, 1, "Q1")]}], protocol="hipe")
    assert {"mrr", "nil_f1", "coverage_rate"} <= set(official.undefined) <= set(official.values)
    assert not {"link_f1", "strong_link_f1@3", "macro_doc_link_f1"} & set(official.undefined)
    assert official.values["macro_doc_link_f1"] == pytest.approx(2 / 3)


def test_a_scorecard_is_the_fold_of_the_measures(root: Any) -> None:
    gold = [
        document
        for document in read(root / "gold" / "heritage" / "linking.jsonl", task="linking")
        if document["split"] == "dev"
    ]
    pred = [perfect_for("linking")(gold[(n + n % 3 // 2) % len(gold)]) for n in range(len(gold))]
    card = ln.scorecard(gold, pred)
    for name, measure in card.measures.items():
        folded = sum((measure(g, p).tally for g, p in zip(gold, pred, strict=True)), measure.zero)
        assert float(folded.value) == pytest.approx(card.values[name]), measure
        assert card.conventions[name] == measure.conventions
    assert set(card.intervals) == {name for name, value in card.values.items() if value is not None}

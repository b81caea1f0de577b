"""Ranks where lower is better, and over documents."""

from __future__ import annotations

from goldassay.statistics.paired import ranks


def test_the_order_may_be_turned() -> None:
    rows = [[0.0] * 30 + [1.0] * 10, [1.0] * 40, [0.0] * 40]
    assert [str(rank) for rank in ranks(rows, resamples=1000)] == ["2", "1", "3"]
    assert [str(rank) for rank in ranks(rows, resamples=1000, lower_is_better=True)] == ["2", "3", "1"]


def test_documents_widen_the_sets() -> None:
    rows = [[1.0] * 40, [1.0] * 20 + [0.0] * 20]
    assert str(ranks(rows, resamples=1000)[0]) == "1"
    assert str(ranks(rows, clusters=[i // 20 for i in range(40)], resamples=1000)[0]) == "1–2"

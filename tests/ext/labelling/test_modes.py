"""Failure modes: their shares of all traces by the design, over waves, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import DataError
from goldassay.ext.labelling.modes import (
    Mode,
    ModeTable,
    ReviewedTrace,
    mode_shares,
    over,
    read_modes,
    read_traces,
    since_new,
    traces_as_text,
    waves,
)
from goldassay.results.view import Table
from goldassay.statistics.design import Sampling
from goldassay.statistics.intervals import wilson


def read(count: int, failed: int, stratum: str = "all", size: int = 0, **more: Any) -> list[ReviewedTrace]:
    """Traces of a stratum, the first of which lack a total; of an unknown design if it has no size."""
    population = more.pop("population", size)
    wave = more.get("wave")
    sampling = Sampling(
        question="errors", stratum=stratum, size=size or 1, population=population or 1, position=0, wave=wave
    )
    name = f"{wave}-{stratum}"
    modes: Sequence[tuple[str, ...]] = [("no total",)] * failed + [()] * (count - failed)
    return [
        ReviewedTrace(f"{name}-{place}", modes=each, sampling=sampling if size else None, **more)
        for place, each in enumerate(modes)
    ]


def test_a_simple_random_sample_has_nearly_wilsons_interval() -> None:
    (share,) = mode_shares(read(100, 20))
    assert share.share
    assert share.records == 20
    assert share.share.value == pytest.approx(0.2)
    low, high = wilson(20, 100)
    assert share.share.low == pytest.approx(low, abs=0.01)
    assert share.share.high == pytest.approx(high, abs=0.01)


def test_a_share_is_that_of_all_traces_not_of_those_that_were_read() -> None:
    likely = read(20, 10, "judged wrong", 50, population=500)
    rest = read(10, 1, "rest", 450, population=500)
    (share,) = mode_shares([*likely, *rest])
    assert share.share
    assert share.share.value == pytest.approx((50 * 0.5 + 450 * 0.1) / 500)
    assert share.share.low < share.share.value < share.share.high


def test_a_stratum_without_a_trace_leaves_the_share_unknown() -> None:
    (share,) = mode_shares(read(20, 10, "judged wrong", 50, population=500))
    assert (share.records, share.share, share.cost) == (10, None, None)


def test_waves_are_strata_of_all_traces() -> None:
    first = read(20, 10, size=100)
    second = read(20, 0, size=300, wave="2026-02-01")
    (share,) = mode_shares([*first, *second])
    assert share.share
    assert share.share.value == pytest.approx(100 * 0.5 / 400)
    each = [mode_shares(wave, [Mode("no total")])[0].share for wave in waves([*second, *first]).values()]
    assert [interval and interval.value for interval in each] == [0.5, 0.0]
    unsampled = read(20, 10)
    assert mode_shares([*unsampled, *second])[0].share, "an old folder goes on with a drafted wave"


def test_two_designs_in_one_wave_are_refused() -> None:
    with pytest.raises(DataError, match="two designs are mixed"):
        mode_shares([*read(20, 10, size=100), *read(20, 0, "other", size=300)])


def test_cost_is_the_mean_grade_of_all_traces() -> None:
    traces = read(20, 10)
    graded = [replace(trace, grade=3) for trace in traces[:2]]
    (share,) = mode_shares([*graded, *traces[2:]])
    assert share.cost
    assert share.cost.value == pytest.approx((2 * 3 + 8 * 1) / 20)
    assert mode_shares(traces)[0].cost is None


def test_the_most_frequent_mode_is_first_and_one_without_records_is_last() -> None:
    traces = [ReviewedTrace(str(place), modes=("slow", "no total") if place % 3 else ("slow",)) for place in range(9)]
    shares = mode_shares(traces, [Mode("rude", "an answer that insults"), Mode("slow", "takes a minute")])
    assert [(each.mode.name, each.records) for each in shares] == [("slow", 9), ("no total", 6), ("rude", 0)]
    assert shares[0].mode.description == "takes a minute"
    assert mode_shares([], [Mode("rude")])[0].share is None


def test_since_new_counts_from_the_last_trace_with_a_mode_of_its_own() -> None:
    traces = [
        ReviewedTrace(str(place), modes=modes) for place, modes in enumerate([(), ("a",), (), ("a", "b"), (), ()])
    ]
    assert since_new(traces) == 2
    assert since_new(traces[:1]) == 1


def test_traces_and_modes_are_read_as_they_were_written(tmp_path: Path) -> None:
    traces = [
        *read(3, 1, size=9, note="né 🙂", grade=2, gold={"label": "M"}, wave="2026-02-01"),
        ReviewedTrace("plain", {"text": "x"}, {"label": "M"}),
    ]
    (tmp_path / "reviewed.jsonl").write_text(traces_as_text(traces), encoding="utf-8")
    assert read_traces(tmp_path) == traces
    assert read_modes(tmp_path) == []
    (tmp_path / "modes.yaml").write_text("modes:\n- name: slow\n  description: takes a minute\n  examples: [a]\n")
    assert read_modes(tmp_path) == [Mode("slow", "takes a minute", ("a",))]


@pytest.mark.parametrize("text", ["modes: 3", "modes: [{description: x}]", "- x"])
def test_a_broken_file_of_modes_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "modes.yaml").write_text(text)
    with pytest.raises(DataError, match="modes.yaml"):
        read_modes(tmp_path)


def test_a_folder_without_a_review_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no review was exported here"):
        read_traces(tmp_path)


def test_the_latest_wave_leads_and_is_gated_and_earlier_ones_are_history() -> None:
    """A patch was applied between them: the pooled share is that of neither program."""
    first = read(60, 12, size=60, wave="2026-01-01")
    second = read(60, 2, size=60, wave="2026-02-01")
    table = ModeTable.of([*first, *second], [Mode("no total")])
    (share,) = table.shares
    assert share.share
    assert (share.records, table.read) == (2, 60)
    assert share.share.value == pytest.approx(2 / 60)
    assert over(table.shares, {"no total": 0.05}) == []
    state = table.state()
    assert [(wave["when"], wave["read"]) for wave in state["waves"]] == [("2026-01-01", 60), ("2026-02-01", 60)]
    assert [wave["modes"][0]["share"]["value"] for wave in state["waves"]] == [0.2, pytest.approx(2 / 60)]
    (shown,) = [item for item in table.view() if isinstance(item, Table)]
    assert shown.columns[:4] == ["mode", "records", "share [95 %]", "2026-01-01, 60 read"]


def test_waves_of_one_day_are_told_apart_by_the_time() -> None:
    traces = [trace for hour in ("08", "15") for trace in read(9, 2, size=9, wave=f"2026-01-01T{hour}:30:00.5+00:00")]
    (shown,) = [item for item in ModeTable.of(traces).view() if isinstance(item, Table)]
    assert shown.title == "9 of 9 traces read, the wave of 2026-01-01 15:30:00"
    assert shown.columns[3] == "2026-01-01 08:30:00, 9 read"

"""A run whose rows stay on disk is the run whose rows are in memory."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric, evaluate
from goldassay._support.exceptions import DataError
from goldassay.measures import classification, extraction
from goldassay.running import rows as stored
from goldassay.running.folder import ROWS
from goldassay.running.run import Run

N = 120


def gold() -> list[Any]:
    rng = random.Random(3)
    out = []
    for number in range(N):
        spans = [(place, place + 2, rng.choice("AB")) for place in range(0, 12, 4) if rng.random() < 0.6]
        more = {"document": f"d{number // 3}", "strata": {"tier": number % 4}, "label": rng.choice("GM")}
        out.append(dspy.Example(id=str(number), text="x" * 14, entities=spans, **more).with_inputs("text", "id"))
    return out


def guess(text: str, id: str) -> Any:
    if int(id) % 17 == 0:
        raise ValueError("no")
    return dspy.Prediction(entities=[(0, 2, "A"), (4, 6, "B")], label="M")


METRIC = Metric([extraction.SpanF1(), classification.Accuracy(), classification.LabelF1()])


def told(run: Run) -> dict[str, Any]:
    """What a run says of itself, without what differs between any two runs."""
    summary = run.summary()
    return {key: value for key, value in summary.items() if key not in ("cost", "folder")}


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "ROWS_IN_MEMORY", 10)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("threads", [1, 8])
def test_rows_on_disk_give_the_same_run(tmp_path: Path, threads: int) -> None:
    there = evaluate(guess, gold(), METRIC, folder=tmp_path / "run", threads=threads, progress=False)
    in_memory = evaluate(guess, gold(), METRIC, progress=False)
    assert isinstance(there.rows, stored.Rows)
    assert told(there) == told(in_memory)
    assert told(Run.load(tmp_path / "run")) == told(in_memory)
    assert [row.id for row in there.rows] == [row.id for row in in_memory.rows]
    assert there.rows[-1].id == "119"
    assert [row.index for row in there.rows[3:9:2]] == [3, 5, 7]
    assert there.evidence == in_memory.evidence


@pytest.mark.usefixtures("large")
def test_a_resumed_run_on_disk_replaces_what_failed(tmp_path: Path) -> None:
    first = evaluate(guess, gold(), METRIC, folder=tmp_path / "run", progress=False)
    assert first.failed == 8
    lines = (tmp_path / "run" / ROWS).read_bytes().splitlines(keepends=True)
    (tmp_path / "run" / ROWS).write_bytes(b"".join(lines[:70]))
    again = evaluate(guess, gold(), METRIC, resume=tmp_path / "run", progress=False)
    assert len(again.rows) == N
    assert again.values == first.values
    assert told(Run.load(tmp_path / "run")) == told(again)


def test_an_index_beyond_every_run_is_refused(tmp_path: Path) -> None:
    evaluate(guess, gold()[:3], METRIC, folder=tmp_path / "run", progress=False)
    file = tmp_path / "run" / ROWS
    file.write_text(file.read_text().replace('"index": 2,', '"index": 900000000000,'))
    with pytest.raises(DataError, match=r"rows\.jsonl:3: not a row of this run"):
        Run.load(tmp_path / "run")

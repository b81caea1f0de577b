"""A review whose process is killed goes on where it was: no decision is lost, none is doubled."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests import processes
from tests.ext.labelling.review.conftest import Client, decision, extraction, write_draft

from goldassay._support.exceptions import GoldassayError
from goldassay.ext.labelling.review import review

HEAR_CTRL_C = partial(signal.signal, signal.SIGINT, signal.default_int_handler)  # a job in the background does not


class Process(processes.Process):
    """`goldassay review` as people start it."""

    def __init__(self, source: Path, before: Callable[[], object] = HEAR_CTRL_C) -> None:
        super().__init__("review", source, "--no-browser", "--json", before=before)
        self.answer = json.loads(self.stdout.readline())

    def end(self, number: int = signal.SIGKILL) -> int:
        os.kill(self.pid, number)
        return self.wait().returncode


@pytest.mark.parametrize("kills", [5, pytest.param(20, marks=pytest.mark.nightly)])
def test_no_decision_is_lost_or_doubled_when_the_server_is_killed(kills: int, tmp_path: Path) -> None:
    source = write_draft(tmp_path / "draft.jsonl", extraction(400))
    rng = random.Random(1)
    expected: dict[str, Any] = {}
    before: dict[str, Any] | None = None
    for _ in range(kills):
        process = Process(source)
        page = Client(process.answer["url"])
        if before is not None:
            page.post("decisions", before)  # the page did not hear the answer, so it sends the decision again
        setup = page.get("setup")
        assert setup["progress"]["done"] == len(expected)
        item = next(item for item in setup["next"] if item.isdigit())
        assert item not in expected
        for _ in range(rng.randrange(1, 4)):
            before = decision(item, value={"entities": [{"start": 0, "end": 6, "type": f"T{rng.random()}"}]})
            answer = page.post("decisions", before)
            expected[item] = before
            item = next(item for item in answer["next"] if item.isdigit())
        process.end()
    file = tmp_path / "draft.review" / "labels.jsonl"
    written = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["decision"] for line in written] == [each["decision"] for each in expected.values()]
    assert [line["value"] for line in written] == [each["value"] for each in expected.values()]


def test_a_line_that_was_cut_off_is_left_out_and_removed(tmp_path: Path) -> None:
    source = write_draft(tmp_path / "draft.jsonl", extraction())
    with review(source) as first:
        Client(first.url).decide("0", value={"entities": []})
    file = tmp_path / "draft.review" / "labels.jsonl"
    with file.open("a") as stream:
        stream.write('{"decision": "x", "item": "1", "ki')
    with review(source.with_suffix(".review")) as again:
        page = Client(again.url)
        assert page.get("progress")["done"] == 1
        page.decide("1", value={"entities": []})
    assert [json.loads(line)["item"] for line in file.read_text().splitlines()] == ["0", "1"]


def test_a_folder_is_open_once_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    source = write_draft(tmp_path / "draft.jsonl", extraction())
    process = Process(source)
    assert process.answer["folder"] == str(tmp_path / "draft.review")
    with pytest.raises(GoldassayError, match="is being reviewed by another process"):
        review(source)
    assert process.end(signal.SIGINT) == 0
    review(source).close()


def test_without_ctrl_c_a_signal_to_terminate_ends_it(tmp_path: Path) -> None:
    source = write_draft(tmp_path / "draft.jsonl", extraction())
    process = Process(source, before=partial(signal.signal, signal.SIGINT, signal.SIG_IGN))
    os.kill(process.pid, signal.SIGINT)
    Client(process.answer["url"]).decide("0", value={"entities": []})  # a job in the background hears no Ctrl-C
    assert process.end(signal.SIGTERM) == 0
    assert len((tmp_path / "draft.review" / "labels.jsonl").read_text().splitlines()) == 1

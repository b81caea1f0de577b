"""``goldassay tune`` killed by kill -9 as it measures edits: it goes on, asks nothing twice, and comes to the same."""

from __future__ import annotations

import json
import random
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dspy.lm15 import TextPart
from tests.processes import Process, run

from goldassay import Metric, tune
from goldassay._support.exceptions import GoldassayError
from goldassay.measures import extraction
from goldassay.running.folder import locked
from goldassay.tuning.measuring import JOURNAL_CHUNK


def workspace(folder: Path, names_gold: list[Any], names_source: str) -> None:
    (folder / "extraction.py").write_text(names_source, encoding="utf-8")
    splits = ["train"] * 12 + ["dev"] * 16 + ["test"] * 12
    rows = [{**example.toDict(), "split": split} for example, split in zip(names_gold, splits, strict=True)]
    (folder / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def command(endpoint: Any, *optimizers: str) -> list[str]:
    options = {"api_base": endpoint.url, "api_key": "none", "cache": "false"}
    model = ",".join(["openai/m", *(f"{name}={value}" for name, value in options.items())])
    tunes = ["tune", "extraction.py:program", "--gold", "gold.jsonl"]
    return [*tunes, "--optimizer", ",".join(optimizers), "--lm", model]


def answer_as(learner: Any) -> Callable[[list[dict[str, str]]], str]:
    """The reply of a server whose model is the scripted learner."""

    def reply(messages: list[dict[str, str]]) -> str:
        turns = [SimpleNamespace(parts=[TextPart(turn["content"])]) for turn in messages if turn["role"] != "system"]
        system = "".join(turn["content"] for turn in messages if turn["role"] == "system")
        response = learner.complete(SimpleNamespace(model="m", system=system, messages=turns))
        time.sleep(0.01)
        return str(response.message.parts[0].text)

    return reply


@pytest.mark.nightly
def test_a_tuning_killed_twice_comes_to_the_same_program(
    endpoint: Any, learner: Any, names_gold: list[Any], names_source: str, tmp_path: Path
) -> None:
    endpoint.reply = answer_as(learner)
    workspace(tmp_path, names_gold, names_source)
    words = command(endpoint, "patches")
    whole = run(*words, "--out", "whole", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    calls, draw, journal = endpoint.calls, random.Random(5), tmp_path / "t" / "measured.jsonl"
    endpoint.calls, lines_before = 0, 0
    for more in (["--out", "t"], ["--resume", "t"]):
        process = Process(*words, *more, cwd=tmp_path)
        until = time.monotonic() + 90
        while not (journal.exists() and journal.read_bytes().count(b"\n") > lines_before) and time.monotonic() < until:
            assert process.poll() is None
            time.sleep(0.02)
        time.sleep(draw.uniform(0.1, 0.4))
        process.kill()
        process.wait()
        assert journal.read_bytes().count(b"\n") > lines_before
        lines_before = journal.read_bytes().count(b"\n")
    done = run(*words, "--resume", "t", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "t" / "state.json").read_text() == (tmp_path / "whole" / "state.json").read_text()
    about = [json.loads((tmp_path / name / "tuning.json").read_text()) for name in ("t", "whole")]
    assert about[0]["dev"] == about[1]["dev"]
    assert about[0]["test"] == about[1]["test"]
    assert endpoint.calls <= calls + 2 * JOURNAL_CHUNK  # at each kill what the journal did not have


@pytest.mark.parametrize("last", ["knn", pytest.param("patches", marks=pytest.mark.nightly)])
@pytest.mark.nightly
def test_an_arena_that_is_killed_goes_on_with_the_arms_that_did_not_end(
    endpoint: Any, learner: Any, names_gold: list[Any], names_source: str, tmp_path: Path, last: str
) -> None:
    endpoint.reply = answer_as(learner)
    workspace(tmp_path, names_gold, names_source)
    words = [*command(endpoint, "labeled", "bootstrap", last), "--budget", "calls=400"]
    words += ["--setting", "bootstrap.num_candidate_programs=2"]
    whole = run(*words, "--out", "whole", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    calls, endpoint.calls = endpoint.calls, 0
    for more, arms in ((["--out", "t"], 1), (["--resume", "t"], 2)):
        process = Process(*words, *more, cwd=tmp_path)
        until = time.monotonic() + 90
        while len([*(tmp_path / "t" / "arms").glob("*/arm.json")]) < arms and time.monotonic() < until:
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
        process.wait()
    done = run(*words, "--resume", "t", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    about = [json.loads((tmp_path / name / "tuning.json").read_text()) for name in ("t", "whole")]
    for key in ("chosen", "dev", "test", "verdict"):
        assert about[0][key] == about[1][key]
    timeless = [[{**arm, "minutes": 0} for arm in one["arms"]] for one in about]
    assert timeless[0] == timeless[1]
    assert calls <= endpoint.calls <= calls + 400 // 3


def test_a_tunings_folder_belongs_to_one_process(names_program: Any, names_gold: list[Any], tmp_path: Path) -> None:
    gold = {"train": names_gold[:12], "dev": names_gold[12:28], "test": []}
    (tmp_path / "t").mkdir()
    with locked(tmp_path / "t"), pytest.raises(GoldassayError, match="t is being written by another run"):
        tune(names_program, gold, Metric(extraction.SpanF1()), "labeled", folder=tmp_path / "t", progress=False)
    assert not list((tmp_path / "t").iterdir())


def limit(blocks: int) -> None:
    """No file becomes longer than so many blocks, as `ulimit -f` says."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * blocks, 1024 * blocks))


def test_a_full_disk_stops_a_tuning_with_one_line(
    tmp_path: Path, endpoint: Any, names_gold: list[Any], names_source: str
) -> None:
    workspace(tmp_path, names_gold, names_source)
    done = run(*command(endpoint, "patches"), "--out", "t", cwd=tmp_path, before=partial(limit, 20))
    message = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 3, done.stderr
    assert message.startswith("goldassay: error: ")
    assert "t/measured.jsonl: cannot be written: File too large; finished measurements are" in message
    assert message.endswith("solve this, then continue with --resume t")
    assert "Traceback" not in done.stderr
    # what measures the program on dev and test comes last, and is stopped, too
    done = run(*command(endpoint, "labeled"), "--out", "l", cwd=tmp_path, before=partial(limit, 4))
    message = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 3, done.stderr
    assert "l/dev-before/rows.jsonl: cannot be written: File too large" in message
    assert message.endswith("solve this, then run labeled again from the start")

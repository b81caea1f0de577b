"""kill -9 at random moments, and two processes on every store: nothing is lost but what was in flight."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.processes import CONTEXT, Process, run

from goldassay._support.cache import Cache
from goldassay.judges.judge import Verdicts
from goldassay.models.embedding import Cached
from goldassay.running import Run

PROGRAM = """
import os, time, dspy
class Years(dspy.Module):
    def forward(self, text):
        time.sleep(0.02)
        print("noise on standard output")
        os.write(1, b"more noise\\n")
        year = next((word for word in text.split() if word.isdigit()), "")
        return dspy.Prediction(entities=[(text.find(year), text.find(year) + 4, "TMP")] if year else [])
program = Years()
"""


def gold(folder: Path, n: int) -> None:
    rows = (
        {"id": f"e{i}", "text": f"in {1500 + i}", "entities": [{"start": 3, "end": 7, "type": "TMP" if i % 3 else "X"}]}
        for i in range(n)
    )
    (folder / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (folder / "extraction.py").write_text(PROGRAM, encoding="utf-8")


def command(*more: object) -> list[str]:
    return ["eval", "extraction.py:program", "--gold", "gold.jsonl", "--threads", "2", "--json", *map(str, more)]


def written(runs: Path) -> int:
    """How many rows there are so far."""
    return sum(file.read_bytes().count(b"\n") for file in runs.glob("*/rows.jsonl"))


def made(folder: Path) -> list[dict[str, object]]:
    """The rows in their order, but for the time that each and its steps took."""
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["latency_s"] = 0
        for step in row.get("steps") or ():
            step.pop("seconds", None)
    return sorted(rows, key=lambda row: row["index"])


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    """A run that nobody disturbed, and its values."""
    folder = tmp_path_factory.mktemp("sound")
    gold(folder, 60)
    done = run(*command(), cwd=folder)
    assert done.returncode == 0, done.stderr
    return next((folder / "runs").iterdir()), json.loads(done.stdout)["values"]  # JSON, whatever the program prints


@pytest.mark.parametrize(
    ("engine", "kills", "ends"),
    [
        ("threads", 1, "threads"),
        pytest.param("threads", 3, "threads", marks=pytest.mark.nightly),
        *(pytest.param("ray", *more, marks=pytest.mark.nightly) for more in ((1, "threads"), (2, "ray"))),
    ],
)
def test_a_run_killed_at_random_moments_comes_to_the_same_values(
    tmp_path: Path, sound: tuple[Path, dict[str, float]], engine: str, kills: int, ends: str
) -> None:
    if engine == "ray":
        pytest.importorskip("ray", reason="the extra ray is not installed")
    gold(tmp_path, 60)
    draw, rows_before = random.Random(7), 0
    ray = ("--engine", "ray:2")
    more: tuple[object, ...] = ("--runs", "killed")
    for _ in range(kills):
        process = Process(*command(*(ray if engine == "ray" else ()), *more), cwd=tmp_path)
        until = time.monotonic() + 120
        while written(tmp_path / "killed") <= rows_before and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(draw.uniform(0.0, 0.15))
        process.kill()  # the driver alone: its processes and actors have to see that it is gone
        process.wait()
        (folder,) = (tmp_path / "killed").iterdir()
        rows = len(Run.load(folder).rows)
        assert rows >= rows_before  # nothing that was written is lost
        rows_before, more = rows, ("--resume", folder)
    assert rows_before > 0
    done = run(*command(*(ray if ends == "ray" else ()), *more), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["values"], result["examples"]) == (sound[1], 60)
    (folder,) = (tmp_path / "killed").iterdir()
    assert made(folder) == made(sound[0])  # row for row, whatever the kills have lost
    before = (folder / "rows.jsonl").read_bytes()
    again = run(*command(*more), cwd=tmp_path)
    assert json.loads(again.stdout)["values"] == sound[1]  # finished: asked for again it is as it is
    assert (folder / "rows.jsonl").read_bytes() == before


def test_the_same_command_finds_its_unfinished_run(tmp_path: Path) -> None:
    gold(tmp_path, 60)
    process = Process(*command(), cwd=tmp_path)
    until = time.monotonic() + 60
    while time.monotonic() < until and not list(tmp_path.glob("runs/*/rows.jsonl")):
        time.sleep(0.02)
    time.sleep(0.1)
    process.kill()
    process.wait()
    (folder,) = (tmp_path / "runs").iterdir()
    done = run(*command(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    message = " ".join(done.stderr.split())
    assert f"runs/{folder.name} is an unfinished run of the same, which can be resumed" in message


def keep_verdicts(store: Path, name: str) -> None:
    verdicts = Verdicts(store)
    for number in range(300):
        verdicts[f"{name}-{number}"] = {"label": name * 500}


class Lengths:
    name = "lengths"

    def __call__(self, texts: Sequence[str]) -> Any:
        return [[len(text), 1.0] for text in texts]


def keep_embeddings(store: Path, name: str) -> None:
    cached = Cached(Lengths(), store)
    for number in range(40):
        assert cached([f"text {number} {i}" for i in range(5)]).shape == (5, 2)


def keep_articles(store: Path, name: str) -> None:
    cache = Cache(store)
    for number in range(150):
        assert cache.get("en", f"title {number}", partial(dict, number=number)).value == {"number": number}


@pytest.mark.parametrize("keep", [keep_verdicts, keep_embeddings, keep_articles])
def test_two_processes_on_one_store(tmp_path: Path, keep: Callable[[Path, str], None]) -> None:
    both = [CONTEXT.Process(target=keep, args=(tmp_path / "store", name)) for name in ("a", "b")]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
        assert process.exitcode == 0
    if keep is keep_verdicts:
        result = Verdicts(tmp_path / "store")
        assert len(result) == 600
        assert result["a-299"] == {"label": "a" * 500}

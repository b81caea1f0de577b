"""kill -9 at random moments, and two processes on every store: nothing is lost but what was in flight."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from goldassay.judges.judge import Verdicts
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
    words = ["eval", "extraction.py:program", "--gold", "gold.jsonl", "--threads", "2", "--json", *map(str, more)]
    return [sys.executable, "-m", "goldassay", *words]


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


@pytest.mark.parametrize(("engine", "kills"), [("threads", 3), ("ray", 1)])
def test_a_run_killed_at_random_moments_comes_to_the_same_values(tmp_path: Path, engine: str, kills: int) -> None:
    if engine == "ray":
        pytest.importorskip("ray", reason="the extra ray is not installed")
    gold(tmp_path, 60)
    whole = subprocess.run(command("--runs", "whole"), capture_output=True, text=True, check=False, cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    wanted = json.loads(whole.stdout)["values"]  # one JSON object alone, whatever the program prints
    (sound,) = (tmp_path / "whole").iterdir()
    draw, rows_before = random.Random(7), 0
    where: tuple[object, ...] = ("--engine", f"{engine}:2") if engine != "threads" else ()
    more: tuple[object, ...] = ("--runs", "killed")
    for _ in range(kills):
        process = subprocess.Popen(
            command(*where, *more), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path
        )
        until = time.monotonic() + 120
        while written(tmp_path / "killed") <= rows_before and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(draw.uniform(0.0, 0.15))
        process.kill()  # the driver alone: its processes and actors have to see that it is gone
        process.communicate()
        (folder,) = (tmp_path / "killed").iterdir()
        rows = len(Run.load(folder).rows)
        assert rows >= rows_before  # nothing that was written is lost
        rows_before, more = rows, ("--resume", folder)
    assert rows_before > 0
    done = subprocess.run(command(*where, *more), capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["values"], result["examples"]) == (wanted, 60)
    (folder,) = (tmp_path / "killed").iterdir()
    assert made(folder) == made(sound)  # row for row, whatever the kills have lost
    before = (folder / "rows.jsonl").read_bytes()
    again = subprocess.run(command(*more), capture_output=True, text=True, check=False, cwd=tmp_path)
    assert json.loads(again.stdout)["values"] == wanted  # finished: asked for again it is as it is
    assert (folder / "rows.jsonl").read_bytes() == before


def test_the_same_command_finds_its_unfinished_run(tmp_path: Path) -> None:
    gold(tmp_path, 60)
    process = subprocess.Popen(command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    until = time.monotonic() + 60
    while time.monotonic() < until and not list(tmp_path.glob("runs/*/rows.jsonl")):
        time.sleep(0.02)
    time.sleep(0.1)
    process.kill()
    process.communicate()
    (folder,) = (tmp_path / "runs").iterdir()
    done = subprocess.run(command(), capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    message = " ".join(done.stderr.split())
    assert f"runs/{folder.name} is an unfinished run of the same, which can be resumed" in message


VERDICTS = """
import sys
from goldassay.judges.judge import Verdicts
found = Verdicts(sys.argv[1])
for number in range(300):
    found[f"{sys.argv[2]}-{number}"] = {"label": sys.argv[2] * 500}
"""
EMBEDDINGS = """
import sys, pathlib
from goldassay.models.embedding import Cached
class Lengths:
    name = "lengths"
    def __call__(self, texts):
        return [[len(text), 1.0] for text in texts]
cached = Cached(Lengths(), pathlib.Path(sys.argv[1]))
for number in range(40):
    assert cached([f"text {number} {i}" for i in range(5)]).shape == (5, 2)
"""
FETCHED = """
import sys
from goldassay._support.cache import Cache
cache = Cache(sys.argv[1])
for number in range(150):
    assert cache.get("en", f"title {number}", lambda: {"number": number}).value == {"number": number}
"""


@pytest.mark.parametrize("code", [VERDICTS, EMBEDDINGS, FETCHED], ids=["verdicts", "embeddings", "fetched"])
def test_two_processes_on_one_store(tmp_path: Path, code: str) -> None:
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "store"), name], stderr=subprocess.PIPE, text=True)
        for name in ("a", "b")
    ]
    for process in both:
        _, message = process.communicate(timeout=120)
        assert process.returncode == 0, message
    if code == VERDICTS:
        result = Verdicts(tmp_path / "store")
        assert len(result) == 600
        assert result["a-299"] == {"label": "a" * 500}

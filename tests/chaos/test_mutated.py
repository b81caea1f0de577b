"""Damaged files through every reader, in CI time; ``python -m tests.chaos.fuzz`` is the long run."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.chaos import fuzz
from tests.chaos.fuzz import readers
from tests.nightly import drawn
from typer.testing import CliRunner

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.cli import app
from goldassay.gold import read

READERS = {reader.label: reader for reader in readers()}
LINE = b'{"id": "a", "text": "In Delft", "entities": [{"start": 3, "end": 8, "type": "TOP", "text": "Delft"}]}\n'


def test_every_reader_reads_its_sound_file(tmp_path: Path) -> None:
    for number, reader in enumerate(READERS.values()):
        assert fuzz.attempt(reader, reader.content, tmp_path / str(number)) is None, reader.label


@pytest.mark.parametrize("files", [300, pytest.param(8_000, marks=pytest.mark.nightly)])
def test_damaged_files_are_read_or_refused_in_one_line(files: int) -> None:
    damage = fuzz.run(files)
    assert damage.faults == []
    assert damage.read.total() > 0.15 * files
    assert damage.refused.total() > 0.35 * files
    assert set(READERS) == {*damage.read, *damage.refused}


@drawn(50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(label=st.sampled_from(sorted(READERS)), content=st.binary(max_size=300) | st.text(max_size=300))
def test_whatever_bytes_are_read_or_refused(tmp_path: Path, label: str, content: bytes | str) -> None:
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    assert fuzz.attempt(READERS[label], raw, tmp_path / label.replace(" ", "-")) in (None, "")


@pytest.mark.parametrize("qas", ["1", "null", "true"])
def test_questions_that_are_no_list_are_one_line(tmp_path: Path, qas: str) -> None:
    paragraph = f'{{"context": "In Leiden.", "qas": {qas}}}'
    (tmp_path / "x.json").write_text(f'{{"data": [{{"title": "t", "paragraphs": [{paragraph}]}}]}}', encoding="utf-8")
    refused(tmp_path / "x.json", "not as in the format squad", task="answering", form="squad")


def refused(path: Path, says: str, task: str = "extraction", form: str | None = "jsonl") -> None:
    with pytest.raises(GoldassayError, match=says) as caught:
        read(path, task=task, format=form)
    assert "\n" not in str(caught.value)


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, "this is a folder")
    (tmp_path / "x.jsonl").write_bytes(LINE + b"\0" * 9)
    refused(tmp_path / "x.jsonl", "x.jsonl:2: not JSON")
    refused(tmp_path / "a\0b", "cannot be read: embedded null byte")


@pytest.fixture
def piped() -> Iterator[Callable[[bytes], str]]:
    """Makes the path of a pipe with some content that comes a moment later, as ``<(sleep .1; cat FILE)`` in bash."""
    ends: list[int] = []

    def pipe(content: bytes) -> str:
        reading, writing = os.pipe()
        ends.append(reading)

        def write() -> None:
            time.sleep(0.1)
            with os.fdopen(writing, "wb") as stream:
                stream.write(content)

        threading.Thread(target=write).start()
        return f"/dev/fd/{reading}"

    yield pipe
    for end in ends:
        os.close(end)


def test_process_substitution_works(piped: Callable[[bytes], str]) -> None:
    words = ["score", "extraction", "--format", "jsonl", "--gold", piped(LINE), "--pred", piped(LINE), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.exception
    assert '"strict_f1": 1.0' in done.stdout


def test_process_substitution_is_gold_for_a_task_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piped: Callable[[bytes], str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def program(text):\n    return {'label': text}\n", encoding="utf-8")
    Path("metric.py").write_text("def metric(gold, pred):\n    return gold.label == pred.label\n", encoding="utf-8")
    gold = piped(b'{"id": "a", "text": "x", "label": "x"}\n')
    words = ["eval", "mine.py:program", "--metric", "metric.py", "--split", "all", "--json", "--gold", gold]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.exception
    assert '"score": 1.0' in done.stdout


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"id": "a", "id": "b", "text": "x", "entities": []}', "x.jsonl:1: 'id' is repeated in one object"),
        (
            b'{"id": "a", "text": "x", "entities": [{"start": 0, "start": 0, "end": 1, "type": "T"}]}',
            "'start' is repeated",
        ),
        (b'{"id": "a", "text": "x", "entities": [], "meta": {"n": ' + b"9" * 5000 + b"}}", "x.jsonl:1"),
        (b'{"id": "a", "text": "x", "entities": [], "meta": {"n": NaN}}', "x.jsonl:1"),
    ],
)
def test_what_json_lets_pass_is_said_on_reading(tmp_path: Path, line: bytes, says: str) -> None:
    (tmp_path / "x.jsonl").write_bytes(line + b"\n")
    refused(tmp_path / "x.jsonl", says)


def test_a_link_out_of_a_brat_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("In Delft", encoding="utf-8")
    folder = tmp_path / "brat"
    folder.mkdir()
    (folder / "a.ann").write_text("T1\tTOP 3 8\tDelft\n", encoding="utf-8")
    (folder / "a.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(DataError, match=r"a\.txt: a link that leads out of the folder"):
        read(folder, task="extraction", format="brat")

"""Damaged files through every reader, in CI time; ``python -m benchmarks fuzz`` is the long run."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from benchmarks import fuzz
from benchmarks.fuzz import readers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import load, read
from goldassay.gold.audit import audit

READERS = {reader.label: reader for reader in readers()}
LINE = b'{"id": "a", "text": "In Delft", "entities": [{"start": 3, "end": 8, "type": "TOP", "text": "Delft"}]}\n'


def test_every_reader_reads_its_sound_file(tmp_path: Path) -> None:
    for number, reader in enumerate(READERS.values()):
        assert fuzz.attempt(reader, reader.content, tmp_path / str(number)) is None, reader.label


def test_8000_damaged_files_are_read_or_refused_in_one_line() -> None:
    found = fuzz.run(8_000)
    assert found.faults == []
    assert (found.read.total() > 1_500, found.refused.total() > 3_000) == (True, True)
    assert set(READERS) == {*found.read, *found.refused}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(label=st.sampled_from(sorted(READERS)), content=st.binary(max_size=300) | st.text(max_size=300))
def test_whatever_bytes_are_read_or_refused(tmp_path: Path, label: str, content: bytes | str) -> None:
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    assert fuzz.attempt(READERS[label], raw, tmp_path / label.replace(" ", "-")) in (None, "")


@pytest.mark.parametrize("qas", ["1", "null", '"x"', "{}"])
def test_questions_that_are_no_list_are_one_line(tmp_path: Path, qas: str) -> None:
    paragraph = f'{{"context": "In Leiden.", "qas": {qas}}}'
    (tmp_path / "x.json").write_text(f'{{"data": [{{"title": "t", "paragraphs": [{paragraph}]}}]}}', encoding="utf-8")
    refused(tmp_path / "x.json", "'qas' is a list of questions", task="answering", form="squad")


def refused(path: Path, says: str, task: str = "extraction", form: str | None = "jsonl") -> None:
    with pytest.raises(GoldassayError, match=says) as caught:
        read(path, task=task, format=form)
    assert "\n" not in str(caught.value)


def test_what_has_no_end_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(Path("/dev/zero"), "a device or a socket, which has no end")
    refused(tmp_path, "this is a folder")
    monkeypatch.setattr(files, "PATIENCE", 0.2)
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "a pipe that nobody writes to")
    sparse = tmp_path / "sparse.jsonl"
    with sparse.open("wb") as out:
        out.truncate(200_000_000_000)
    refused(sparse, "a NUL at byte 0: this is no text")
    with sparse.open("r+b") as out:
        out.write(LINE)
    refused(sparse, f"sparse.jsonl:2: a NUL at byte {len(LINE)}")
    refused(sparse, "a NUL at byte", task="answering", form="squad")
    refused(tmp_path / "a\0b", "a path cannot hold a NUL character")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_pipe_with_a_writer_is_read_also_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")

    def write() -> None:
        with (tmp_path / "pipe.jsonl").open("wb") as out:
            for _ in range(3):
                out.write(LINE.replace(b'"a"', b'"%d"' % _))

    writer = threading.Thread(target=write)
    writer.start()
    first = read(tmp_path / "pipe.jsonl", task="extraction")
    writer.join()
    assert [record["id"] for record in first] == ["0", "1", "2"]
    assert read(tmp_path / "pipe.jsonl", task="extraction") == first


def test_process_substitution_works(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(LINE)
    score = f"{sys.executable} -m goldassay.cli score extraction --format jsonl"
    line = f"{score} --gold <(sleep 0.2; cat x.jsonl) --pred <(cat x.jsonl) --json"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"strict_f1": 1.0' in done.stdout


def test_process_substitution_is_gold_for_a_task_of_ones_own_and_a_device_is_none(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def program(text):\n    return {'label': text}\n", encoding="utf-8")
    (tmp_path / "metric.py").write_text(
        "def metric(gold, pred):\n    return gold.label == pred.label\n", encoding="utf-8"
    )
    command = f"{sys.executable} -m goldassay.cli eval mine.py:program --metric metric.py --split all --json --gold "
    line = command + """<(echo '{"id": "a", "text": "x", "label": "x"}')"""
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"score": 1.0' in done.stdout
    done = subprocess.run([*command.split(), "/dev/zero"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("goldassay: error: /dev/zero: this is a device or a socket, which has no end")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"id": "a", "id": "b", "text": "x", "entities": []}', "x.jsonl:1: 'id' stands twice in one object"),
        (
            b'{"id": "a", "text": "x", "entities": [{"start": 0, "start": 0, "end": 1, "type": "T"}]}',
            "'start' stands twice",
        ),
        (b'{"id": "a", "text": "\\ud800", "entities": []}', "x.jsonl:1"),
        (b'{"id": "a", "text": "x", "entities": [], "meta": {"n": ' + b"9" * 4300 + b"}}", "x.jsonl:1"),
        (b'{"id": "a", "text": "x", "entities": [], "meta": {"n": NaN}}', "x.jsonl:1"),
    ],
)
def test_what_json_lets_pass_is_said_on_reading(tmp_path: Path, line: bytes, says: str) -> None:
    (tmp_path / "x.jsonl").write_bytes(line + b"\n")
    refused(tmp_path / "x.jsonl", says)


def test_a_name_that_no_file_can_have_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text(f"name: x\nfiles: {{extraction: {'9' * 400}x}}\n", encoding="utf-8")
    assert not audit(tmp_path).clean
    with pytest.raises(DataError, match="File name too long"):
        load(tmp_path).extraction.all  # noqa: B018


def test_a_link_out_of_a_brat_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("In Delft", encoding="utf-8")
    folder = tmp_path / "brat"
    folder.mkdir()
    (folder / "a.ann").write_text("T1\tTOP 3 8\tDelft\n", encoding="utf-8")
    (folder / "a.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(DataError, match=r"a\.txt: a link that leads out of the folder"):
        read(folder, task="extraction", format="brat")

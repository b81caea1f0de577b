"""JSON is read strictly, and a log holds whole lines whatever happens to who writes it."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support import jsonl
from goldassay._support.exceptions import DataError, StorageError

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@drawn(40)
@given(VALUES)
def test_what_was_written_is_read_back(value: Any) -> None:
    assert jsonl.value(jsonl.dumps(value)) == value
    assert "\n" not in jsonl.dumps(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": 1, "a": 2}', "'a' is repeated in one object; keep one"),
        ('{"a": [{"b": 1, "b": 1}]}', "'b' is repeated"),
        ('{"a": NaN}', "NaN is not JSON"),
        ("[Infinity]", "Infinity is not JSON"),
        ("[" + "1" * 5000 + "]", "not JSON that can be read: Exceeds the limit"),
        ("[" * 100_000, "not JSON that can be read: "),
        ('{"a": ', r"not JSON: Expecting value \(column 7\)"),
    ],
)
def test_what_json_does_not_allow_is_one_line(text: str, says: str) -> None:
    with pytest.raises(DataError, match=f"^x.jsonl:3: {says}") as caught:
        jsonl.value(text, file="x.jsonl", line=3)
    assert "\n" not in str(caught.value)


def test_long_digits_in_a_text_and_both_halves_of_a_character_are_fine() -> None:
    assert jsonl.value(json.dumps({"a": "1" * 5000})) == {"a": "1" * 5000}
    assert jsonl.value(r'"\ud83d\ude00"') == "😀"
    assert jsonl.value("[1e300, 12345678901234567890]") == [1e300, 12345678901234567890]


@pytest.mark.parametrize("unique", [True, False])
def test_half_of_a_character_is_one_character(unique: bool) -> None:
    text = r'{"\uDE00": ["a\ud83d Museum", "\ud83d\ude00 \ude00"]}'
    assert jsonl.value(text, unique=unique) == {"\ufffd": ["a\ufffd Museum", "😀 \ufffd"]}
    assert json.loads(jsonl.dumps({"text": "a\ud83d Museum"}))["text"].index("Museum") == 3


@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("number", ["1e999", "-1e400", "1" * 400 + ".5"])
def test_a_number_that_no_float_holds_is_one_line(number: str, unique: bool) -> None:
    with pytest.raises(DataError, match=r"^x.jsonl:3: \S+ is larger than any number"):
        jsonl.value(f'{{"a": [{number}]}}', file="x.jsonl", line=3, unique=unique)


class Odd:
    def __str__(self) -> str:
        raise RuntimeError("no")


def test_whatever_a_program_returns_is_written() -> None:
    ring: list[Any] = []
    ring.append(ring)
    for odd in ("\ud800", {"\udfff": 1}, Odd(), {Odd(): 1}, {1, "a"}, ring, 10**5000, float("inf"), b"x", {(1, 2): 3}):
        assert json.loads(jsonl.dumps({"odd": odd})).keys() == {"odd"}
        jsonl.dumps(odd).encode()


def test_a_cut_last_line_is_left_out_and_then_cut_away(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"a": 1}\n{"a": 2}\n{"a": 3')
    assert [row["a"] for row in jsonl.rows(file)] == [1, 2]
    with jsonl.Log(file) as log:
        log.add({"a": 4})
        with file.open("a") as other:  # another writer was killed in the middle of a line
            other.write('{"a": 9, "text": "' + "x" * 70_000)
        log.add({"a": 5})
    assert [row["a"] for row in jsonl.rows(file)] == [1, 2, 4, 5]
    places = {row["a"]: start for row, start in jsonl.parsed_rows(file, dict, what="a row")}
    assert [row["a"] for row in jsonl.rows_at(file, [places[4], places[1]])] == [4, 1]
    file.write_text('{"a": 1}\nnonsense\n{"a": 2}\n')
    with pytest.raises(DataError, match=r"x.jsonl:2: not JSON"):
        list(jsonl.rows(file))
    file.write_text('{"a": 1}\n{"b": 1}\n')
    with pytest.raises(DataError, match=r"x.jsonl:2: not a row with a"):
        list(jsonl.rows(file, what="a row with a", check=lambda row: row["a"]))


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    def write(log: jsonl.Log, by: int) -> None:
        for _ in range(50):
            log.add({"by": by, "text": "x" * 3000})

    with jsonl.Log(tmp_path / "x.jsonl") as log:
        threads = [threading.Thread(target=write, args=(log, by)) for by in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(row["by"] for row in jsonl.rows(log.file)) == sorted(list(range(4)) * 50)


WRITE = """
import sys, pathlib
from goldassay._support import jsonl
log = jsonl.Log(pathlib.Path(sys.argv[1]))
print("ready", flush=True)
number = 0
while number < int(sys.argv[3]):
    log.add({"by": sys.argv[2], "number": number, "text": "x" * 5000})
    number += 1
"""


def test_processes_write_whole_lines_and_a_killed_one_loses_nothing(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    others = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(file), name, "100000"], stdout=subprocess.PIPE)
        for name in ("a", "b")
    ]
    for other in others:
        assert other.stdout is not None
        other.stdout.readline()
    until = time.monotonic() + 60
    while min(Counter(row["by"] for row in jsonl.rows(file)).get(name, 0) for name in "ab") < 20:
        assert time.monotonic() < until
        time.sleep(0.05)
    for other in others:
        other.send_signal(signal.SIGKILL)
        other.wait()
        other.stdout.close()  # type: ignore[union-attr]
    written: dict[str, list[int]] = {"a": [], "b": []}
    for row in jsonl.rows(file):
        written[row["by"]].append(row["number"])
    assert all(numbers == list(range(len(numbers))) for numbers in written.values())
    assert len(written["a"]) > 10
    with jsonl.Log(file) as log:
        log.add({"by": "c", "number": 0})
    *_, last = jsonl.rows(file)
    assert last["by"] == "c"


class GrowingStream(io.RawIOBase):
    """A file whose last line is being written while it is read: each part is followed by one end of file."""

    def __init__(self, *parts: bytes) -> None:
        super().__init__()
        self.parts = [part for written in parts for part in (written, b"")]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self.parts.pop(0) if self.parts else b""
        buffer[: len(part)] = part
        return len(part)


def test_the_rest_of_a_line_that_is_being_written_is_no_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BufferedReader(GrowingStream(b'{"a": 1}\n{"a"', b": 2}\n"))
    monkeypatch.setattr(Path, "open", lambda *_: stream)
    assert list(jsonl.rows(Path("x.jsonl"))) == [{"a": 1}]


def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
    file = tmp_path / "x.jsonl"
    call = [sys.executable, "-c", limit + WRITE, str(file), "a", "10"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert "StorageError" in done.stderr
    assert "x.jsonl: cannot be written: File too large" in done.stderr
    assert [row["number"] for row in jsonl.rows(file)] == [0, 1, 2]
    assert file.read_bytes().endswith(b"\n")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 20000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only_is_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="cannot be written: Permission denied"):
        jsonl.Log(tmp_path / "x.jsonl")
    tmp_path.chmod(0o700)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    jsonl.replace(file, "old")
    with pytest.raises(UnicodeEncodeError):
        jsonl.replace(file, "\ud800")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(StorageError, match="cannot be written"):
        jsonl.replace(file / "below", "x")


@pytest.mark.parametrize("digits", ["18446744073709551617", "-18446744073709551618", "1" + "0" * 30])
def test_an_integer_beyond_64_bits_is_read_as_it_is(digits: str) -> None:
    for text in (digits, digits.encode()):
        parsed = jsonl.value(text, unique=False)
        assert (parsed, type(parsed)) == (int(digits), int)

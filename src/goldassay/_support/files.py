"""Input files, read as UTF-8 with one-line errors, and output files, written whole or not at all.

A byte-order mark is left out, and UTF-16 that begins with one is read; lines end in LF or CRLF. YAML is read safely:
no objects and no aliases, which bombs are made of. `Faults` decides what happens to a fault in a file: raise it, pass
over some, or collect all of them.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import yaml

from goldassay._support import jsonl
from goldassay._support.exceptions import DataError
from goldassay._support.jsonl import JSON

BOM = b"\xef\xbb\xbf"
T = TypeVar("T")
EMPTY_CELL = '""'  # a row of one empty cell is not an empty line
FORMULA = re.compile(r"'*([=@\t\r]|[+-](?!(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z))")  # a negative number is none
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 begins, as spreadsheets write it


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """A file open for reading.

    Raises:
        DataError: It cannot be opened or read; the message is one line.
    """
    file = Path(path)
    try:
        if file.is_dir():
            raise DataError("this is a folder; name a file in it", file=path)
        if file.is_char_device() or file.is_block_device():  # it may never end
            raise DataError("this is a device; name a file", file=path)
        with file.open("rb") as stream:
            wide = stream.peek(2)[:2] in UTF16_MARKS
            yield io.BytesIO(stream.read().decode("utf-16").encode()) if wide else stream
    except FileNotFoundError:
        raise DataError("no such file", file=path) from None
    except UnicodeDecodeError:
        raise DataError("it begins as UTF-16 and is not; save the file as UTF-8", file=path) from None
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        raise DataError(f"cannot be read: {getattr(error, 'strerror', error)}", file=path) from None


def text(path: str | Path) -> str:
    """The whole file as text, line ends as they are.

    Raises:
        DataError: It cannot be read, or is empty.
    """
    with opened(path) as stream:
        content = decoded(stream.read(), path).removeprefix("\ufeff")
    if not content.strip():
        raise DataError("the file is empty", file=path)
    return content


def decoded(raw: bytes, path: str | Path, line: int = 1, offset: int = 0) -> str:
    """Bytes as text; ``line`` and ``offset`` say where they start in the file, for the error.

    Raises:
        DataError: They are not UTF-8.
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"not UTF-8 at byte {offset + error.start} (0x{raw[error.start]:02x}); save the file as UTF-8"
        raise DataError(what, file=path, line=line + raw.count(b"\n", 0, error.start)) from None


def raw_lines(path: str | Path) -> Iterator[tuple[int, int, bytes]]:
    """Number, byte offset and content of each line, without its end.

    Raises:
        DataError: The file cannot be read, or is empty.
    """
    offset = 0
    empty = True
    with opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            if number == 1 and line.startswith(BOM):
                line = line.removeprefix(BOM)
                offset = len(BOM)
            content = line.removesuffix(b"\n").removesuffix(b"\r")
            if number == 1 and b"\r" in content and not line.endswith(b"\n"):
                raise DataError("its lines end in CR alone; save it with LF or CRLF", file=path)
            empty = empty and not content.strip()
            yield number, offset, content
            offset += len(line)
    if empty:
        raise DataError("the file is empty", file=path)


def lines(path: str | Path) -> Iterator[str]:
    """The lines of a file without their ends: split at LF and CRLF alone, never at other Unicode separators."""
    return (decoded(raw, path, number, offset) for number, offset, raw in raw_lines(path))


def json_value(path: str | Path) -> Any:
    """The content of a JSON file, as `jsonl.value` reads it."""
    return jsonl.value(text(path), file=path)


def json_lines(path: str | Path) -> Iterator[tuple[int, Any]]:
    """The values of a JSON Lines file with their line numbers; empty lines are left out."""
    for number, line in enumerate(lines(path), start=1):
        if line and not line.isspace():
            yield number, jsonl.value(line, file=path, line=number)


def save_json(path: str | Path, value: JSON) -> None:
    """Write a JSON file, indented."""
    save(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def save(path: str | Path, content: str) -> None:
    """Write text as UTF-8 with the line ends that it has: whole, or not at all.

    Raises:
        DataError: The text has half of a character.
        StorageError: The file cannot be written.
    """
    try:
        save_all({Path(path): content.encode("utf-8")})
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise DataError(f"cannot be written: {half} is half of a character", file=path) from None


def save_all(contents: Mapping[Path, str | bytes]) -> list[Path]:
    """Write files that belong together: all, or none if one cannot be written. Half of a character becomes ``?``.

    Raises:
        StorageError: A file cannot be written.
    """
    regular = {}
    for file, content in contents.items():
        raw = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
        if file.exists() and not file.is_file():  # a device or a pipe is written to, not replaced
            with jsonl.writing(file):
                file.write_bytes(raw)
        else:
            regular[file.resolve()] = raw
    jsonl.replace_all(regular)
    return list(contents)


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Rows as csv. A cell that a spreadsheet would read as a formula gets an apostrophe, which `csv_cell` removes.

    >>> csv_text([["id", "=note"], [1, "a\\rb"], [-2.5, None]])
    'id,\\'=note\\n1,"a\\rb"\\n-2.5,\\n'
    """

    def quoted(cell: object) -> str:
        text = "" if cell is None else guarded(str(cell))
        text = text.replace('"', '""')
        return f'"{text}"' if re.search('[",\r\n]', text) else text

    return "".join(f"{','.join(map(quoted, row)) or EMPTY_CELL}\n" for row in rows)


def csv_of_records(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows with named cells as csv; the columns are those of all rows."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return csv_text([columns, *([row.get(name) for name in columns] for row in rows)])


def guarded(text: str) -> str:
    """A text that no spreadsheet reads as a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def csv_cell(text: str) -> str:
    """The text of a cell without the apostrophe of `guarded`."""
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def resource(name: str, package: str = "") -> Any:
    """The content of a JSON file that comes with goldassay.

    Args:
        name: The name of the file.
        package: The package that has it, if only that one uses it; else it is in ``_support/data``.
    """
    folder = resources.files(package) if package else resources.files("goldassay._support") / "data"
    return json.loads(folder.joinpath(name).read_text("utf-8"))


class Faults:
    """The faults of a file: the first ``limit`` errors are collected with their kind, the next one is raised.

    >>> faults = Faults(1)
    >>> faults.report(DataError("no type", file="gold.tsv", line=3))
    >>> str(faults.errors[0])
    'gold.tsv:3: no type'
    >>> faults.report(DataError("no text", file="gold.tsv", line=7))
    Traceback (most recent call last):
    goldassay._support.exceptions.DataError: gold.tsv:7: no text
    """

    def __init__(self, limit: float = 0) -> None:
        self.limit = limit
        self.errors: list[DataError] = []
        self.kinds: list[str] = []

    def report(self, error: DataError, kind: str = "unreadable") -> None:
        """Collect an error, or raise it if there are too many; ``kind`` is one of an audit's.

        Raises:
            DataError: The error, if there are too many.
        """
        if len(self.errors) >= self.limit:
            raise error
        self.errors.append(error)
        self.kinds.append(kind)


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses aliases and repeated keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """The next node.

        Raises:
            DataError: It is an alias.
        """
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()  # type: ignore[no-untyped-call]
            message = f"alias *{event.anchor}: aliases are not read here; write the value out"
            raise DataError(message, line=event.start_mark.line + 1)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        """The mapping of a node.

        Raises:
            DataError: It has a key twice.
        """
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise DataError(f"{key.value!r} is repeated in one mapping; keep one", line=key.start_mark.line + 1)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


def yaml_value(path: str | Path) -> Any:
    """The content of a YAML file.

    Raises:
        DataError: It cannot be read, or is not YAML that is safe to read.
    """
    content = text(path)
    try:
        return jsonl.whole(yaml.load(content, Loader=_Loader))  # noqa: S506 (it is a SafeLoader)
    except DataError as error:
        raise error.at(file=path) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise DataError(f"not YAML: {error.problem}", file=path, line=line) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # such as a date that does not exist
        raise DataError(f"not YAML that can be read: {str(error).partition(chr(10))[0]}", file=path) from None


def validated(model: type[T], value: object, path: str | Path, place: str = "") -> T:
    """A value checked by pydantic.

    Raises:
        DataError: The first thing that is wrong, with its place.

    >>> validated(int, "7", "numbers.yaml")
    7
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(model).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(name) for name in (place, *first["loc"]) if name != "")
        odd = repr(first["input"])
        excerpt = odd if len(odd) <= 200 else f"{odd[:200]}…"
        raise DataError(f"{first['msg']}, got {excerpt}", file=path, field=where or None) from None

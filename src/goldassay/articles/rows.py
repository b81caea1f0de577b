"""The rows of a run: one line of JSON an article, on disk when it is done, so that a killed run goes on.

The first line says which run it is; rows of another run are never mixed in. A line that was cut off by a kill is
dropped, and its article is done again; so is one whose fetch had failed, or whose program had.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from goldassay.exceptions import GoldassayError
from goldassay.jsonl import dumps
from goldassay.running.secrets import redact

DONE, FAILED = "done", "failed"


def place(output: Path) -> Path:
    """Where the rows of a result stand: ``latest.json`` has ``latest.rows.jsonl``."""
    return output.with_name(f"{output.stem}.rows.jsonl")


class Rows:
    """The rows file of a run, open for writing."""

    def __init__(self, file: Path, run: Mapping[str, Any], secrets: tuple[str, ...] = ()) -> None:
        self.file, self.secrets = file, secrets
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._out: IO[str] = file.open("a", encoding="utf-8")
        except OSError as error:
            raise GoldassayError(f"{file}: cannot be written: {error.strerror}; name another --output") from None
        if file.stat().st_size:
            _drop_cut_line(file)
            try:
                self._same(run)
            except GoldassayError:
                self._out.close()
                raise
        well = (row["key"] for row in read(file) if row["status"] == DONE and "error" not in row)
        self.done = set(well)
        if not file.stat().st_size:
            self._write({"run": dict(run)})

    def _same(self, run: Mapping[str, Any]) -> None:
        with self.file.open(encoding="utf-8") as lines:
            first = lines.readline()
        try:
            earlier = json.loads(first)["run"] if first else dict(run)
        except (ValueError, KeyError, TypeError):
            raise GoldassayError(f"{self.file} holds no rows of a run; name another --output") from None
        wrong = [name for name in run if earlier.get(name) != json.loads(dumps(run[name]))]
        if wrong:
            name = wrong[0]
            raise GoldassayError(
                f"{self.file} holds rows of another run ({name} was {earlier.get(name)!r}, now {run[name]!r}); "
                "name another --output, or remove the rows"
            )

    def add(self, row: Mapping[str, Any]) -> None:
        """One more row; it is on disk when this returns."""
        self._write(row)

    def _write(self, row: Mapping[str, Any]) -> None:
        self._out.write(f"{redact(dumps(row), self.secrets)}\n")
        self._out.flush()

    def close(self) -> None:
        """No more rows."""
        self._out.close()


def read(file: Path) -> Iterator[dict[str, Any]]:
    """The rows, one at a time; the last line of a run that was killed may be cut off and is skipped."""
    return (row for row, _ in _sized(file) if "run" not in row)


def _sized(file: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Every whole line with its length in bytes, the first, which says what run it is, too."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line), len(line)
            except ValueError:
                raise GoldassayError(f"{file}:{number}: not JSON; the rows were changed by hand") from None


def latest(file: Path, order: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
    """The last row of each article: an article that failed and was done later is done.

    They come by ``order``, the keys of the articles, or sorted, and never as they finished: so a run in several threads
    gives what a serial run gives, digit for digit. Only places in the file are held, so memory stays flat.
    """
    places: dict[str, int] = {}
    start = 0
    for row, size in _sized(file):
        places[row.get("key", "")] = start
        start += size
    places.pop("", None)  # the first line is no row
    wanted = [places[key] for key in (sorted(places) if order is None else order) if key in places]
    with file.open("rb") as lines:
        for place in wanted:
            lines.seek(place)
            yield json.loads(lines.readline())


def _drop_cut_line(file: Path) -> None:
    with file.open("rb+") as raw:
        size = raw.seek(0, os.SEEK_END)
        keep = size
        while keep:
            start = max(0, keep - 65536)
            raw.seek(start)
            block = raw.read(keep - start)
            at = block.rfind(b"\n")
            if at >= 0:
                keep = start + at + 1
                break
            keep = start
        if keep < size:
            raw.truncate(keep)

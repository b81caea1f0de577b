"""The rows of a run over articles: one line of JSON an article, on disk when it is done, so that a killed run goes on.

The first line says which run it is; rows of another run are never mixed in. A line that was cut off by a kill is
dropped, and its article is done again; so is one whose fetch had failed, or whose program had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay import jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.running.folder import RowLog

DONE, FAILED = "done", "failed"
WHAT = "a row of a run over articles"


def place(output: Path) -> Path:
    """Where the rows of a result stand: ``latest.json`` has ``latest.rows.jsonl``."""
    return output.with_name(f"{output.stem}.rows.jsonl")


class ArticleRows(RowLog):
    """The rows file of a run, open for writing; ``done`` are the keys of the articles that need not be done again.

    It belongs to this process until it is closed: two runs that write to one result would each pay for every article.
    """

    def __init__(self, file: Path, run: Mapping[str, object], secrets: tuple[str, ...] = ()) -> None:
        super().__init__(file, secrets, locked=True)
        try:
            first = _first(file)
            if first is not None:
                _same(file, first, run)
            self.done = {row["key"] for row in read(file) if row["status"] == DONE and "error" not in row}
        except BaseException:
            self.close()
            raise
        if first is None:
            self.add({"run": dict(run)})


def remove(file: Path) -> None:
    """Begin anew: the rows are gone, unless another run is writing them."""
    if file.exists():
        with jsonl.Log(file, locked=True):
            file.unlink()


def _first(file: Path) -> dict[str, Any] | None:
    try:
        return next(jsonl.rows(file), None)
    except DataError:
        return {}


def _same(file: Path, first: Mapping[str, object], run: Mapping[str, object]) -> None:
    earlier = first.get("run")
    if not isinstance(earlier, dict):
        raise GoldassayError(f"{file} holds no rows of a run; name another --output")
    for name, now in run.items():
        if earlier.get(name) != jsonl.value(jsonl.dumps(now)):
            raise GoldassayError(
                f"{file} holds rows of another run ({name} was {earlier.get(name)!r}, now {now!r}); "
                "name another --output, or remove the rows"
            )


def read(file: Path) -> Iterator[dict[str, Any]]:
    """The rows, one at a time; the last line of a run that was killed may be cut off and is skipped."""
    return (row for row in jsonl.rows(file, what=WHAT, check=_checked) if "run" not in row)


def _checked(row: Mapping[str, object]) -> None:
    if "run" not in row and not (isinstance(row["key"], str) and row["status"] in (DONE, FAILED)):
        raise ValueError


def latest(file: Path, order: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
    """The last row of each article: an article that failed and was done later is done.

    They come by ``order``, the keys of the articles, or sorted, and never as they finished: so a run in several threads
    gives what a serial run gives, digit for digit. Only places in the file are held, so memory stays flat.
    """
    rows = jsonl.rows_with_offsets(file, what=WHAT, check=_checked)
    places = {row["key"]: start for row, start in rows if "run" not in row}
    wanted = [places[key] for key in (sorted(places) if order is None else order) if key in places]
    return jsonl.rows_at(file, wanted)

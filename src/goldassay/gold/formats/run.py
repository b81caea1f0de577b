"""``run``: the predictions that a run folder keeps (``rows.jsonl``), to be scored again, and the gold beside them.

What a program returned beside the task's fields (its reasoning, say) is left out. An example that failed has no
prediction, or one that cannot be one, and so counts as an empty one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.records import GOLD, PRED, Side, check
from goldassay.gold.shapes import Candidate, Link, PredictedLink, PredictedSpan, Result, Span, Triple
from goldassay.measure import TASKS as TASKS

LISTS: dict[Side, dict[str, Any]] = {
    "gold": {"entities": Span, "links": Link, "triples": Triple},
    "pred": {
        "entities": PredictedSpan,
        "links": PredictedLink,
        "candidates": Candidate,
        "results": Result,
        "triples": Triple,
    },
}
NONE = "no predictions; did every example fail?"
WHOLE = {"entities": ("start", "end"), "links": ("start", "end", "candidates")}


def read(path: str | Path, task: str, side: Side = "pred") -> list[dict[str, object]]:
    """The predictions of a run, one a row that did not fail; or the gold that it was measured against."""
    file = rows_of(path)
    found: dict[str, dict[str, Any]] = {}
    for number, row in files.json_lines(file):
        made = record(row, task, side, file, number)
        if made is not None:
            found[str(made["id"])] = made
    if not found:
        raise DataError(NONE, file=file)
    return list(found.values())


def rows_of(path: str | Path) -> Path:
    """The file of a run's rows."""
    return Path(path) / "rows.jsonl" if Path(path).is_dir() else Path(path)


def record(row: object, task: str, side: Side, file: Path, line: int | None = None) -> dict[str, object] | None:
    """The record of a row, if it has one: the example of a prediction may have failed.

    Args:
        row: What a line of a run's rows says.
        task: The task that it is read for.
        side: Whether the gold or the prediction is wanted.
        file: Where the row stands, for an error.
        line: Its line there.
    """
    said = _said(row, side) if isinstance(row, dict) and "id" in row else None
    if said is None or not isinstance(row, dict):
        return None
    shape = (PRED if side == "pred" else GOLD)[task]
    try:
        return check({**_known(said, shape, side), "id": row["id"]}, task, side)
    except DataError as error:
        if side == "pred" and "error" in row:  # this is why it failed
            return None
        raise error.at(file=file, line=line) from None


def _said(row: Mapping[str, object], side: Side) -> Mapping[str, Any] | None:
    """What a row says of a side; nothing where the example failed."""
    if side == "pred":
        said = row.get("prediction")
        return said if isinstance(said, Mapping) else None
    kept = [row.get(part) for part in ("inputs", "gold")]
    return {key: value for part in kept if isinstance(part, Mapping) for key, value in part.items()}


def write(path: str | Path, records: object, task: str, side: Side = "pred") -> None:
    """Runs are written by ``eval`` alone."""
    raise GoldassayError("a run is written by goldassay eval; write jsonl")


@cache
def _names(shape: Any) -> frozenset[str]:
    return frozenset(get_type_hints(shape))


def _known(value: Mapping[str, object], shape: Any, side: Side) -> dict[str, Any]:
    """A record with the fields that its shape has, and no others."""
    lists, made = LISTS[side], dict[str, Any]()
    for key, one in value.items():
        if key in _names(shape):
            made[key] = [_item(item, key, side) for item in one] if key in lists and isinstance(one, list) else one
    return made


def _item(item: Any, key: str, side: Side) -> Any:
    if not isinstance(item, Mapping):
        return item
    absent = dict.fromkeys(WHOLE.get(key, ())) if side == "pred" else {}
    return {**absent, **_known(item, LISTS[side][key], side)}

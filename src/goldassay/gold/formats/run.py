"""``run``: the predictions that a run folder keeps (``rows.jsonl``), to be scored again.

What a program returned beside the task's fields (its reasoning, say) is left out. An example that failed has no
prediction, and so counts as an empty one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.predictions import Candidate, PredictedLink, PredictedSpan, Result
from goldassay.gold.records import PRED, Side, check
from goldassay.gold.shapes import Triple
from goldassay.measure import TASKS as TASKS

LISTS = {
    "entities": PredictedSpan,
    "links": PredictedLink,
    "candidates": Candidate,
    "results": Result,
    "triples": Triple,
}
WHOLE = {"entities": ("start", "end"), "links": ("start", "end", "candidates")}


def read(path: str | Path, task: str, side: Side = "pred") -> list[dict[str, Any]]:
    """The predictions of a run, one a row that did not fail."""
    if side == "gold":
        raise GoldassayError("a run holds predictions; its gold is the set that run.json names")
    file = Path(path) / "rows.jsonl" if Path(path).is_dir() else Path(path)
    found: dict[str, dict[str, Any]] = {}
    for number, row in files.json_lines(file):
        said = row.get("prediction") if isinstance(row, dict) else None
        if isinstance(said, Mapping) and "id" in row:
            try:
                found[str(row["id"])] = check({**_known(said, PRED[task]), "id": row["id"]}, task, "pred")
            except DataError as error:
                raise error.at(file=file, line=number) from None
    if not found:
        raise DataError("no predictions; did every example fail?", file=file)
    return list(found.values())


def write(path: str | Path, records: Any, task: str, side: Side = "pred") -> None:
    """Runs are written by ``eval`` alone."""
    raise GoldassayError("a run is written by goldassay eval; write jsonl")


@cache
def _names(shape: Any) -> frozenset[str]:
    return frozenset(get_type_hints(shape))


def _known(value: Mapping[str, Any], shape: Any) -> dict[str, Any]:
    """A record with the fields that its shape has, and no others."""
    made: dict[str, Any] = {}
    for key, one in value.items():
        if key in _names(shape):
            made[key] = [_item(item, key) for item in one] if key in LISTS and isinstance(one, list) else one
    return made


def _item(item: Any, key: str) -> Any:
    if not isinstance(item, Mapping):
        return item
    return {**dict.fromkeys(WHOLE.get(key, ())), **_known(item, LISTS[key])}

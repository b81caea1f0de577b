"""``jsonl``: the canonical records, one JSON object a line; ``run``: the rows of a run folder (``rows.jsonl``).

Of a run's rows the predictions are read, and the gold with them. What a program returned besides the task's fields
(its reasoning, say) is left out. An example that failed has no prediction. Of an example that was tried again the last
row counts, and of one with repeats the first answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from goldassay._support import files
from goldassay._support import jsonl as strict
from goldassay._support.exceptions import DataError
from goldassay.core.fields import JsonObject
from goldassay.core.measure import RAISED, TASKS
from goldassay.gold.anyfields import flat, of_tokens, renamed
from goldassay.gold.formats import Format, Source, SourceRecord
from goldassay.gold.records import TABLE, empty_fields, problems
from goldassay.gold.shapes import Side

SPAN_FIELDS = {"entities": ("start", "end"), "links": ("start", "end", "candidates")}  # null if a prediction lacks them


def rows_of(path: str | Path) -> Path:
    """The file of a run's rows."""
    return Path(path) / "rows.jsonl" if Path(path).is_dir() else Path(path)


def ids_of(path: str | Path) -> set[str]:
    """The ids of all examples of a run, also of those that failed."""
    return {str(row["id"]) for _, row in files.json_lines(rows_of(path)) if isinstance(row, dict) and "id" in row}


def _json_lines(source: Source) -> Iterator[SourceRecord]:
    """One record a line; of a run the prediction of each row that did not fail, or the gold it was measured against."""
    empty = True
    file = rows_of(source.path) if source.format == "run" else Path(source.path)
    for number, offset, raw in files.raw_lines(file):
        if raw.strip():
            with source.checking("unreadable", file=file, line=number):
                value = strict.value(files.decoded(raw, file, number, offset), line=number)
                if source.format == "run":
                    value = record_of(value, source)
                elif isinstance(value, dict):
                    value = flat(value, None, predicted=source.side == "pred", empty=empty_fields(source.task))
                    value = of_tokens(value) if source.task == "extraction" else value
                if value is not None:
                    empty = False
                    yield SourceRecord(value, number)
    if empty and source.format == "run":
        raise DataError("no predictions; did every example fail?", file=file)


def record_of(row: object, source: Source) -> JsonObject | None:
    """The record of a run's row; None if its example failed.

    Raises:
        DataError: The row does not have the fields of its task.
    """
    if not isinstance(row, dict) or "id" not in row or not source.counts(row):
        return None
    predicted = source.side == "pred"
    if predicted and not isinstance(row.get("prediction"), Mapping):
        return None
    record: JsonObject = {}
    for section in ("prediction",) if predicted else ("inputs", "gold"):
        if isinstance(fields := row.get(section), Mapping):
            record |= fields
    record = {**renamed(record, source.options.get("map", {}), predicted=predicted), "id": str(row["id"])}
    if source.task not in TASKS:
        return record
    if predicted and row.get("error") and not str(row["error"]).startswith(RAISED):
        return None  # what its metric could not read counts as missed, as it did there
    for field in SPAN_FIELDS.keys() & record.keys() if predicted else ():
        absent = dict.fromkeys(SPAN_FIELDS[field])
        spans = record[field]
        if isinstance(spans, list):
            if field == "entities":  # a program may give (start, end, type)
                names = ("start", "end", "type")
                spans = [dict(zip(names, span, strict=False)) if isinstance(span, list) else span for span in spans]
            record[field] = [{**absent, **span} if isinstance(span, dict) else span for span in spans]
    checked = problems(record, source.task, source.side, extra="ignore")
    if isinstance(checked, list) and predicted:  # besides its answer a program may return anything
        wrong = {re.split(r"[.\[]", error.field or "")[0] for error in checked} - {*TABLE[source.task]["empty"]}
        record = {name: value for name, value in record.items() if name not in wrong}
        checked = problems(record, source.task, source.side, extra="ignore")
    if isinstance(checked, dict):
        return checked
    if predicted and "error" in row:  # this is why it failed
        return None
    raise checked[0]


def dumps(records: Iterable[Mapping[str, object]]) -> str:
    """Records as JSON Lines: strata and meta come last, and a whole grade is a whole number.

    >>> dumps([{"id": "q", "strata": {"tier": 1}, "query": "x", "relevant": {"d": 2.0}}])
    '{"id": "q", "query": "x", "relevant": {"d": 2}, "strata": {"tier": 1}}\\n'
    """
    lines = []
    at_the_end = ("strata", "meta")
    for record in records:
        row = {key: value for key, value in record.items() if key not in at_the_end}
        if isinstance(grades := row.get("relevant"), Mapping):
            row["relevant"] = {key: int(grade) if float(grade).is_integer() else grade for key, grade in grades.items()}
        row |= {key: record[key] for key in at_the_end if key in record}
        try:
            text = json.dumps(row, ensure_ascii=False, allow_nan=False)
        except (ValueError, RecursionError):  # NaN, as logs have it, is null
            text = strict.dumps(row)
        lines.append(f"{text}\n")
    return "".join(lines)


def _write(path: str | Path, records: Iterable[Mapping[str, object]], task: str, side: Side) -> None:
    """Write records, one a line."""
    files.save(path, dumps(records))


JSONL_FORMAT = Format(TASKS, _json_lines, _write)
RUN_FORMAT = Format(TASKS, _json_lines)

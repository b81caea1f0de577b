"""``convert`` one format into another, and report what the new file cannot hold: it is read back and compared.

The facts of a HIPE file's documents (date, type, data set) are strata of the records, which jsonl holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.gold import formats
from goldassay.gold.reading import TOKENISED, read, write
from goldassay.gold.records import SPANS
from goldassay.gold.shapes import Side
from goldassay.measure import TASKS


@dataclass(slots=True)
class Conversion:
    """How many records were converted, and for each field in how many of them it differs in the new file."""

    records: int
    lost: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        fields = ", ".join(f"{name} ({count})" for name, count in self.lost.items())
        return f"{self.records} records" + (
            f"; not the same in the new file: {fields}" if fields else ", read back the same"
        )


def convert(
    source: str | Path,
    target: str | Path,
    *,
    task: str,
    side: Side = "gold",
    source_format: str | None = None,
    target_format: str | None = None,
    scheme: str | None = None,
    **options: Any,
) -> Conversion:
    """Read ``source``, write ``target``, read that back, and report the fields that differ.

    From one HIPE file into another the other columns and lines stay as they are, byte for byte.

    Args:
        source: The file to read.
        target: The file to write.
        task: The task.
        side: ``gold`` or ``pred``.
        source_format: The format of ``source``; guessed if not given.
        target_format: The format of ``target``.
        scheme: The tags to write (IOB2, IOBES, …).
        options: How ``source`` is read; ``topics`` is the file of the queries' texts beside judgements, to read or
            to write.
    """
    if Path(source).resolve() == Path(target).resolve():
        raise GoldassayError(f"{target} is the file to read; name another one to write")
    foreign = bool(options.get("map")) or task not in TASKS
    before = source_format or (Path(source).suffix.lower().lstrip(".") if foreign else formats.guess(source, task))
    after = target_format or ("hipe" if Path(target).suffix == ".tsv" and task in SPANS else formats.by_name(target))
    same = after == before == "hipe"
    column, topics = options.get("column"), options.pop("topics", None)
    written: dict[str, Any] = {"source": source, "column": column} if same else {}
    again: dict[str, Any] = {"column": column} if same else {}
    if scheme is not None:
        if after not in TOKENISED or task != "extraction":
            raise GoldassayError(f"a scheme is for the tags of {', '.join(TOKENISED)}, not for {task} in {after}")
        written["scheme"] = scheme
    if topics is not None:
        if side == "pred" or (before == "trec") == (after == "trec"):
            raise GoldassayError("topics go with judgements, on one side of the conversion: from trec or to it")
        (options if before == "trec" else written)["topics"] = topics
        again |= {"topics": topics} if after == "trec" else {}
    if before in TOKENISED and side == "gold":
        options["tokens"] = True
    records = read(source, format=before, task=task, side=side, **options)
    write(target, records, format=after, task=task, side=side, **written)
    lost = differences(records, read(target, format=after, task=task, side=side, **again))
    return Conversion(len(records), lost)


def differences(before: Sequence[Mapping[str, object]], after: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """In how many records each field changed; ``tokens`` are not compared."""
    changed: Counter[str] = Counter()
    by_id = {record["id"]: record for record in after}
    for record in before:
        other = by_id.get(record["id"], {})
        for key in {*record, *other} - {"tokens"}:
            changed[key] += record.get(key) != other.get(key) and bool(record.get(key) or other.get(key))
    return {key: count for key, count in sorted(changed.items()) if count}

"""``convert`` one format into another, and report what the new file cannot hold: it is read back and compared."""

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
    **options: Any,
) -> Conversion:
    """Read ``source``, write ``target``, read that back, and report the fields that differ.

    Args:
        source: The file to read.
        target: The file to write.
        task: The task.
        side: ``gold`` or ``pred``.
        source_format: The format of ``source``; guessed if not given.
        target_format: The format of ``target``.
        options: How ``source`` is read (`goldassay.gold.formats.ReadOptions`).
    """
    if Path(source).resolve() == Path(target).resolve():
        raise GoldassayError(f"{target} is the file to read; name another one to write")
    if source_format is None and task in TASKS and not options.get("map"):
        source_format = formats.guess(source, task)
    if source_format in TOKENISED and side == "gold":
        options["tokens"] = True
    after = target_format or ("hipe" if Path(target).suffix == ".tsv" and task in SPANS else formats.by_name(target))
    records = read(source, format=source_format, task=task, side=side, **options)
    write(target, records, format=after, task=task, side=side)
    return Conversion(len(records), differences(records, read(target, format=after, task=task, side=side)))


def differences(before: Sequence[Mapping[str, object]], after: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """In how many records each field changed; ``tokens`` are not compared."""
    changed: Counter[str] = Counter()
    by_id = {record["id"]: record for record in after}
    for record in before:
        other = by_id.get(record["id"], {})
        for key in {*record, *other} - {"tokens"}:
            changed[key] += record.get(key) != other.get(key) and bool(record.get(key) or other.get(key))
    return {key: count for key, count in sorted(changed.items()) if count}

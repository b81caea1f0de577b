"""``convert`` one format into another, and say what the new file cannot hold: it is read back and compared.

Other annotated columns of a HIPE file (FINE, METO, COMP, NESTED, NEL) are named as left behind. The facts of its
documents (date, type, data set) are strata of the records, which jsonl holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.gold import formats
from goldassay.gold.formats import hipe_table
from goldassay.gold.reading import TOKENISED, read, write
from goldassay.gold.records import SPANS, Side
from goldassay.measure import TASKS


@dataclass(slots=True)
class Conversion:
    """How many records went over, and per field in how many of them something did not."""

    records: int
    lost: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    """Annotated columns of the source that this task does not read, with the documents that have any."""

    def __str__(self) -> str:
        said = [
            f"; {what}: " + ", ".join(f"{name} ({count})" for name, count in parts.items())
            for what, parts in (("not the same in the new file", self.lost), ("left behind", self.left))
            if parts
        ]
        return f"{self.records} records" + ("".join(said) or ", nothing lost")


def convert(
    source: str | Path,
    target: str | Path,
    *,
    task: str,
    side: Side = "gold",
    source_format: str | None = None,
    target_format: str | None = None,
    column: str | None = None,
    scheme: str | None = None,
    topics: str | Path | None = None,
    **options: Any,
) -> Conversion:
    """Read ``source``, write ``target``, read that back, and report the fields that differ.

    From a tokenised format into the same one the other columns and lines stay as they are, byte for byte; ``scheme``
    names the tags to write (IOB2, IOBES, …), ``topics`` the file of the queries' texts beside one of judgements.

    Args:
        task: The task.
        side: ``gold`` or ``pred``.
        source_format: The format of ``source``; told by the file without one.
        target_format: That of ``target``.
        column: The column of tags, such as ``NE-COARSE-LIT``.
    """
    if Path(source).resolve() == Path(target).resolve():
        raise GoldassayError(f"{target} is the file to read; name another one to write")
    foreign = bool(options.get("map")) or task not in TASKS  # read as it is, whatever its fields
    before = source_format or (Path(source).suffix.lower().lstrip(".") if foreign else formats.guess(source, task))
    after = target_format or ("hipe" if Path(target).suffix == ".tsv" and task in SPANS else formats.by_name(target))
    reading: dict[str, Any] = {"tokens": True} if before in TOKENISED and side == "gold" else {}
    writing: dict[str, Any] = {}
    if scheme is not None:
        if after not in TOKENISED or task != "extraction":
            raise GoldassayError(f"a scheme is for the tags of {', '.join(TOKENISED)}, not for {task} in {after}")
        writing["scheme"] = scheme
    again: dict[str, Any] = {}
    if topics is not None:
        if side == "pred" or (before == "trec") == (after == "trec"):
            raise GoldassayError("topics go with judgements, on one side of the conversion: from trec or to it")
        if before == "trec":
            options["topics"] = topics
        else:
            writing["topics"] = again["topics"] = topics
    same = after == before or {after, before} <= {"iob2", "conll"}
    if same and after in TOKENISED:
        writing |= {"source": source, "column": column}
        again["column"] = column
    records = read(source, format=before, task=task, side=side, column=column, **reading, **options)
    write(target, records, format=after, task=task, side=side, **writing)
    lost = differences(records, read(target, format=after, task=task, side=side, **again))
    left = hipe_table.others(source, column or hipe_table.DEFAULT[task]) if before == "hipe" and not same else {}
    return Conversion(len(records), lost, left)


def differences(before: Sequence[Mapping[str, object]], after: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """In how many records each field changed; ``tokens`` are a means and not compared."""
    found: Counter[str] = Counter()
    there = {record["id"]: record for record in after}
    for record in before:
        other = there.get(record["id"], {})
        found.update(
            key
            for key in {*record, *other} - {"tokens"}
            if record.get(key) != other.get(key) and (record.get(key) or other.get(key))
        )
    return dict(sorted(found.items()))

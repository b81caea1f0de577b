"""The gold of a review: the labelled records of the draft, and a card that says how good the labels are."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import yaml

from goldassay import files, jsonl
from goldassay.gold.shapes import Fields, Record
from goldassay.measure import TASKS
from goldassay.reviewing.quality import GOOD
from goldassay.reviewing.session import Session

GOLD = "gold.jsonl"


def export(session: Session) -> Fields:
    """Write ``gold.jsonl`` and ``card.yaml``; returns where, how many records, and what was left out.

    Where a judge was asked, ``judge.jsonl`` has people's labels beside its verdicts, for `goldassay judge align`.
    A record is left out while its decisions differ or somebody is unsure, and where the decision made no gold.

    Raises:
        StorageError: A file cannot be written.
    """
    folder = session.folder
    with session.lock:
        settled = [session.queue.settled(index) for index in range(session.queue.count)]
        lines = session.journal.in_force()
    records = []
    for index, line in enumerate(settled):
        if line and line.value is not None:
            note = {"meta": {**(folder.records[index].get("meta") or {}), "note": line.note}} if line.note else {}
            records.append({**folder.records[index], **line.value, **note})
    decided = {line.index for line in lines if line.kind != "skip"}
    left_out = len(decided) - len(records)
    state = session.quality.state(lines, settled)
    card = {
        "name": folder.path.stem,
        "source": f"labelled with goldassay review by {len({line.who for line in lines})} people",
        "created": datetime.now(UTC).date().isoformat(),
        "files": {folder.task: GOLD},
        **({} if folder.task in TASKS else {"inputs": list(folder.fields(0))}),
        "tasks": {folder.task: {"records": len(records)}},
        "review": {
            "records_in_draft": session.queue.count,
            "decided": len(decided),
            "left_out": left_out,
            "conflicts": len(session.queue.conflicts()),
            **state["quality"],
        },
    }
    judged: dict[str, Fields] = {}
    for line in lines:
        good = session.quality.is_good(line)
        verdict = session.quality.judged(line.index)
        if line.visit == "first" and good is not None and verdict is not None:
            row = judged.setdefault(line.record, {"id": line.record, "verdict": verdict >= GOOD, "labels": {}})
            row["labels"][line.who] = good
    contents = {GOLD: json_lines(records), "card.yaml": yaml.safe_dump(card, sort_keys=False, allow_unicode=True)}
    if judged:
        contents["judge.jsonl"] = json_lines(judged.values())
    files.save_all({folder.path / name: text for name, text in contents.items()})
    warnings = []
    if left_out:
        warnings.append(f"{left_out} decided records are left out: conflicts, unsure, or no gold")
    if session.queue.count > len(decided):
        warnings.append(f"{session.queue.count - len(decided)} records of the draft are not decided")
    return {
        "path": str(folder.path / GOLD),
        "records": len(records),
        "left_out": left_out,
        "warnings": warnings,
        "systems": session.systems(),
    }


def json_lines(rows: Iterable[Record]) -> str:
    """Rows as JSON Lines."""
    return "".join(f"{jsonl.dumps(row)}\n" for row in rows)

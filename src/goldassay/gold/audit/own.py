"""What is off in gold of a task of one's own: ids and inputs that repeat, inputs that leak, fields that are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from goldassay import workspace
from goldassay.gold import anyfields
from goldassay.gold.audit import duplicates
from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import Row


def audit(rows: Sequence[Row], near: float) -> Iterator[Finding]:
    """The findings of one task's records.

    >>> records = [{"id": "1", "text": "x", "year": 1784}, {"id": "1"}]
    >>> [found.message for found in audit([Row("decades", record, "d.jsonl") for record in records], 90.0)]
    ['another record has this id (d.jsonl); each record needs its own', 'text is missing', 'year is missing']
    """
    if not rows:
        return
    known = anyfields.fields(row.record for row in rows)
    asked = [name for name in workspace.inputs(rows[0].task) or [] if name in known]
    texts = asked or [name for name, kind in known.items() if kind == "str"]
    shadows = [
        replace(
            row,
            task="extraction",
            record={
                "id": row.record["id"],
                "split": row.record.get("split"),
                "text": "\n".join(str(row.record.get(name) or "") for name in texts) or f"without text {number}",
            },
        )
        for number, row in enumerate(rows)
    ]
    for found in duplicates.audit(shadows, near):
        yield replace(found, field=texts[0]) if found.field == "text" and texts else found
    missing = Counter(name for row in rows for name in known if row.record.get(name) in (None, ""))
    for row in rows:
        for name in known:
            if row.record.get(name) in (None, "") and missing[name] < len(rows):
                yield row.finding("schema", f"{name} is missing", name)

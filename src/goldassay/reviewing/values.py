"""What a decision sets: the gold fields of a task, and when two values are the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from goldassay import jsonl
from goldassay.exceptions import DataError
from goldassay.gold.drafts import GOLD_FIELDS
from goldassay.gold.records import SPANS, problems, prove
from goldassay.gold.shapes import Record
from goldassay.jsonl import JSON
from goldassay.measure import TASKS

BESIDE = ("text", "confidence", "form")  # of a span or statement: what does not make it another one


def check_value(value: Record, record: Record, task: str, outputs: Iterable[str]) -> None:
    """Check that a record with this value is gold of its task.

    Raises:
        DataError: It is not; the message names the field.
    """
    name = str(record["id"])
    allowed = [*outputs, *GOLD_FIELDS.get(task, ())]
    if other := next((key for key in value if key not in allowed), None):
        raise DataError(
            f"no such field to decide; there are {', '.join(dict.fromkeys(allowed))}", record=name, field=other
        )
    if task not in TASKS:
        return
    checked = problems({**record, **value}, task, extra="ignore")
    if isinstance(checked, list):
        raise checked[0]
    if task in SPANS:
        prove(checked["text"], checked[SPANS[task]], SPANS[task], name)


def canonical(value: JSON) -> str:
    """A text that two values share if they say the same: order and the words under a span do not matter.

    >>> canonical([{"start": 1, "end": 2, "text": "a"}, 3]) == canonical([3, {"end": 2, "start": 1}])
    True
    """
    if isinstance(value, Mapping):
        inner = {name: canonical(value[name]) for name in sorted(value) if "start" not in value or name not in BESIDE}
        return jsonl.dumps(inner)
    if isinstance(value, list):
        return jsonl.dumps(sorted(map(canonical, value)))
    return jsonl.dumps(value)


def items(value: Record, task: str) -> set[str]:
    """The spans, links or statements of a value, for what was missed; empty where a task has no such list."""
    listed: list[Any] = value.get(GOLD_FIELDS[task][0]) or [] if task in ("extraction", "linking", "triples") else []
    return set(map(canonical, listed))

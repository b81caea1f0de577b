"""The passage collection of a set: ids used once, texts that are there, and those of the documents of the same id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import Row

FILE = "passages.jsonl"


def audit(passages: Sequence[Mapping[str, Any]], rows: Mapping[str, Sequence[Row]]) -> Iterator[Finding]:
    """What is off in a collection, beside the tasks that use it."""
    texts: dict[str, tuple[str, str]] = {}
    for task in rows:
        if task not in ("retrieval", "answering"):
            for row in rows[task]:
                if row.record.get("text"):
                    texts.setdefault(str(row.record["id"]), (row.record["text"], task))
    seen: set[str] = set()
    for passage in passages:
        key, text = str(passage["id"]), str(passage["text"])
        if key in seen:
            yield Finding("id", "another passage has this id; each needs its own", FILE, record=key, field="id")
        seen.add(key)
        if not text.strip():
            yield Finding("text", "the text is empty", FILE, record=key, field="text")
        elif key in texts and texts[key][0] != text:
            yield Finding(
                "conflict", f"the document has another text in {texts[key][1]}", FILE, record=key, field="text"
            )

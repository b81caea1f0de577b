"""Records that are another one again: by id, by text, and nearly by text; across splits they leak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import Row
from goldassay.gold.records import INPUTS
from goldassay.gold.similarity import NEAR, near_pairs, plain


def audit(rows: Sequence[Row], near: float = NEAR) -> Iterator[Finding]:
    """Doubles among the records of one task."""
    seen: dict[str, Row] = {}
    kept = []
    for row in rows:
        key = str(row.record["id"])
        if key in seen:
            yield row.finding(
                "id", f"another record has this id ({_where(seen[key])}); each record needs its own", "id"
            )
        else:
            seen[key] = row
            kept.append(row)
    texts = [_text(row) for row in kept]
    for i, j, score in sorted(near_pairs(texts, near)):
        yield _double(kept[i], kept[j], texts[i], texts[j], score)


def _double(a: Row, b: Row, first: str, second: str, score: float) -> Finding:
    exact = plain(first) == plain(second)
    how = "the same text as" if exact else f"nearly ({score:.0f} %) the text of"
    one, two = a.record.get("split"), b.record.get("split")
    if one and two and one != two:
        message = f"{how} {a.record['id']}, but in {two} and not in {one}; keep both on one side"
        return b.finding("leak", message, INPUTS[b.task])
    label = (a.record.get("label"), b.record.get("label"))
    if exact and label[0] != label[1]:
        return b.finding("conflict", f"the same text as {a.record['id']}, which has the label {label[0]}", "label")
    return b.finding("duplicate" if exact else "near", f"{how} {a.record['id']}", INPUTS[b.task])


def _text(row: Row) -> str:
    return str(row.record.get(INPUTS[row.task]) or "")


def _where(row: Row) -> str:
    return row.file if row.line is None else f"line {row.line}"

"""Records that are another one again: by id, by text, and nearly by text; across splits they leak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import Row
from goldassay.gold.records import INPUTS
from goldassay.text.similarity import NEAR, distinct, near_pairs


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
    same = [[kept[index] for index in members] for members in distinct(texts)]
    sides = []
    for first, *others in same:
        known = {first.record.get("split"): first}  # the first row of each side
        for row in others:
            yield _double(next((other for other in known.values() if _leaks(other, row)), first), row, None)
            known.setdefault(row.record.get("split"), row)
        sides.append(list(known.values()))
    told: dict[int, Finding] = {}  # a text is told once, of what it leaks from if there is such a one
    for i, j, score in sorted(near_pairs([_text(members[0]) for members in same], near)):
        if j not in told or told[j].kind != "leak":
            apart = next(((a, b) for b in sides[j] for a in sides[i] if _leaks(a, b)), None)
            if apart or j not in told:
                told[j] = _double(*(apart or (sides[i][0], sides[j][0])), score)
    yield from told.values()


def _leaks(a: Row, b: Row) -> bool:
    one, two = a.record.get("split"), b.record.get("split")
    return bool(one and two and one != two)


def _double(a: Row, b: Row, score: float | None) -> Finding:
    """The finding for two rows with one text (no score), or with nearly one."""
    exact = score is None
    how = "the same text as" if score is None else f"nearly ({score:.0f} %) the text of"
    one, two = a.record.get("split"), b.record.get("split")
    if _leaks(a, b):
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

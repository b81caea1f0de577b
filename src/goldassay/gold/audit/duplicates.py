"""Records that are another one again: by id, by text, and nearly by text (rapidfuzz); across splits they leak."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from unicodedata import normalize

from rapidfuzz import fuzz, process

from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import Row
from goldassay.gold.records import INPUTS

NEAR = 90.0  # per cent of similar characters, as for the leak guard of tuning
SPACE = re.compile(r"\s+")


def plain(text: str) -> str:
    """A text as it is compared: composed, folded, single spaces."""
    return SPACE.sub(" ", normalize("NFC", text)).strip().casefold()


def near_pairs(texts: Sequence[str], near: float = NEAR) -> Iterator[tuple[int, int, float]]:
    """The pairs of texts with at least ``near`` per cent of similar characters, each with how many (100: the same).

    Texts whose lengths alone rule it out are not compared: with the longer one b, similarity is at most 2a / (a + b).

    >>> [(i, j) for i, j, _ in near_pairs(["The museum opened in 1885.", "Delft", "The museum opened in 1886."])]
    [(0, 2)]
    """
    folded = [plain(text) for text in texts]
    order = sorted((index for index in range(len(folded)) if folded[index]), key=lambda index: len(folded[index]))
    sizes = [len(folded[index]) for index in order]
    first = 0
    for at, index in enumerate(order):
        # Shorter texts from here on can be similar enough.
        while 2 * sizes[first] < near / 100 * (sizes[first] + sizes[at]):
            first += 1
        window = [folded[other] for other in order[first:at]]
        for _, score, found in process.extract(folded[index], window, scorer=fuzz.ratio, score_cutoff=near, limit=None):
            other = order[first + found]
            yield min(index, other), max(index, other), score


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

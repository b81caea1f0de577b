"""A system's tokens laid on gold's: the same words, whatever documents, sentences or comments the system file has.

`align` wants the same words, `by_position` (the official HIPE scorer's way) only the same numbers of tokens.

Where the tokens are the same, the tags move over, and gold's documents decide where an entity ends. Where words were
cut differently, the characters must still be the same, and a system's token stands where they stand in gold's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unicodedata import normalize

from goldassay.exceptions import DataError
from goldassay.gold.tokens import Document


def align(gold: Sequence[Document], system: Sequence[Document], *, file: str | Path) -> list[Document]:
    """Gold's documents with the system's annotations; a named document that the system lacks is left out."""
    if any(document.unnamed for document in (*gold, *system)):
        return _laid(gold, _joined(system), file)
    known = {document.id: document for document in gold}
    found = []
    for document in system:
        if document.id not in known:
            raise DataError(
                "prediction for a document that gold does not have", file=file, line=document.line, record=document.id
            )
        found += _laid([known[document.id]], document, file)
    return found


def by_position(gold: Sequence[Document], system: Sequence[Document]) -> list[Document] | None:
    """A system's rows on gold's tokens, one on one, whatever the words; None where the counts do not fit.

    They fit where there are as many documents with as many tokens in each, or where the system's file is one document
    with as many tokens as all of gold's: that is cut by gold's lengths.
    """
    lengths = [len(document.forms) for document in gold]
    if len(system) == 1 and len(gold) > 1 and len(system[0].forms) == sum(lengths):
        starts = [sum(lengths[:index]) for index in range(len(lengths))]
        parts = [(system[0], start, start + length) for start, length in zip(starts, lengths, strict=True)]
    elif [len(document.forms) for document in system] == lengths:
        parts = [(document, 0, len(document.forms)) for document in system]
    else:
        return None
    found = []
    for document, (other, start, end) in zip(gold, parts, strict=True):
        laid = Document(
            document.id, document.forms, document.after, other.cells[start:end], other.marks[start:end],
            other.lines[start:end], document.breaks,
        )  # fmt: skip
        forms = other.forms[start:end]
        laid.theirs = None if forms == document.forms else forms
        found.append(laid)
    return found


def _joined(documents: Sequence[Document]) -> Document:
    whole = Document("")
    for document in documents:
        whole.forms += document.forms
        whole.cells += document.cells
        whole.marks += document.marks
        whole.lines += document.lines
    return whole


def _laid(gold: Sequence[Document], system: Document, file: str | Path) -> list[Document]:
    """One run of system tokens over gold documents that follow each other."""
    found, place = [], 0
    for document in gold:
        end = place + len(document.forms)
        if _same(document.forms, system.forms[place:end]):
            laid = Document(
                document.id, document.forms, document.after, system.cells[place:end], breaks=document.breaks
            )
            laid.marks, laid.lines = system.marks[place:end], system.lines[place:end]
        else:
            laid, end = _cut_otherwise(document, system, place, file)
        found.append(laid)
        place = end
    if place < len(system.forms):
        raise DataError(
            f"the system goes on with {system.forms[place]!r} after gold's last token",
            file=file,
            line=system.lines[place],
            record=gold[-1].id,
        )
    return found


def _same(gold: Sequence[str], system: Sequence[str]) -> bool:
    if gold == system:
        return True
    return len(gold) == len(system) and all(
        a == b or normalize("NFC", a) == normalize("NFC", b) for a, b in zip(gold, system, strict=True)
    )


def _cut_otherwise(gold: Document, system: Document, place: int, file: str | Path) -> tuple[Document, int]:
    """System tokens from ``place`` on whose characters are those of ``gold``, with their places in gold's text."""
    where = [
        (start + offset, token)
        for token, (start, form) in enumerate(zip(gold.starts(), gold.forms, strict=True))
        for offset, letter in enumerate(form)
        if not letter.isspace()
    ]
    text = gold.text()
    laid = Document(gold.id, base=text, where=[])
    done, end = 0, place
    while done < len(where):
        if end == len(system.forms):
            token = where[done][1]
            raise DataError(
                f"the system ends before token {token + 1} ({gold.forms[token]!r})", file=file, record=gold.id
            )
        form = "".join(system.forms[end].split())
        stretch = where[done : done + len(form)]
        if "".join(text[at] for at, _ in stretch) != form:
            wrong = next((at for at, letter in zip(stretch, form, strict=False) if text[at[0]] != letter), stretch[-1])[
                1
            ]
            raise DataError(
                f"token {wrong + 1} is {gold.forms[wrong]!r} in gold and {system.forms[end]!r} in the system; "
                "both files must hold the same text",
                file=file,
                line=system.lines[end],
                record=gold.id,
            )
        if stretch and laid.where is not None:
            laid.forms.append(system.forms[end])
            laid.where.append((stretch[0][0], stretch[-1][0] + 1))
            laid.cells.append(system.cells[end])
            laid.marks.append(system.marks[end])
            laid.lines.append(system.lines[end])
        done += len(form)
        end += 1
    laid.breaks = [0, *_breaks(laid, gold)]
    return laid, end


def _breaks(laid: Document, gold: Document) -> list[int]:
    """Gold's sentence breaks as indices of system tokens."""
    gold_starts, found = gold.starts(), []
    for index in gold.breaks[1:]:
        if index < len(gold_starts):
            at = gold_starts[index]
            found.append(next((k for k, (start, _) in enumerate(laid.where or ()) if start >= at), len(laid.forms)))
    return found

"""``hipe``: the TSV of the HIPE campaigns (2020 and 2022), any column.

Documents begin at a ``document_id`` comment (``# hipe2022:document_id = …`` or ``# document_id = …``). Text is rebuilt
from the MISC column: a line break after ``EndOfLine``, nothing after ``NoSpaceAfter``, else one space. A cell of a NEL
column is an id, ``NIL``, or alternatives ``a|b|c``; its mentions end where the cell changes and, for NIL alone, where
the NE-COARSE column of the same reading begins a mention (``adjacent="nil"``, HIPE-2022). ``adjacent="all"`` begins one
there for every id, ``adjacent="none"`` joins equal neighbours.

``protocol="hipe"`` reads as the scorer of HIPE-2022 does. A row whose first cell starts with ``#`` is no token; a cell
that a row lacks is ``_``. Cells compare without case; ``S-`` is ``B-``, ``E-`` is ``I-``. A system's rows are laid on
gold's by position wherever the counts fit, and a mention whose words are written otherwise has them as its ``form``. A
mention to link is an entity of NE-COARSE: ``O`` closes it, another type or ``B-`` opens one; gold keeps the first link
inside it and a system's mention is split at an ``I-`` whose link is another; a link at ``O`` is a mention of one token;
``_``, ``-`` and ``O`` are no link; of gold's alternatives the first counts.
``protocol="hipe2020"`` is the same, but its mentions are bounded by the link cell alone (``adjacent="none"``).

Source: https://github.com/hipe-eval/HIPE-2022-data and https://github.com/hipe-eval/HIPE-scorer

It is written from records alone, or into a copy of the file that they came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Wrong, stop
from goldassay.gold import tokens as tokenised
from goldassay.gold.alignment import align, by_position
from goldassay.gold.formats.hipe_table import DEFAULT, FACTS, bounded, cells_of, documents, link_of, linked, replaced
from goldassay.gold.records import SPANS, Side
from goldassay.gold.tokens import Document, TokenOptions, mentions

TASKS = tuple(DEFAULT)


class MentionOptions(TokenOptions, total=False):
    """The words of `records` that `read` and `pairs` hand on."""

    adjacent: str


def read(
    path: str | Path,
    task: str,
    side: Side = "gold",
    *,
    column: str | None = None,
    repeated: str | None = None,
    protocol: str | None = None,
    wrong: Wrong = stop,
    **options: Unpack[MentionOptions],
) -> list[dict[str, object]]:
    """The records of a HIPE file, one a document; ``repeated`` ids are an error, under a protocol they are numbered.

    Args:
        path: The file.
        task: The task.
        side: ``gold`` or ``pred``.
        column: The column; the usual one of the task without it.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    found = documents(path, task, column, repeated, wrong, protocol)
    if protocol:
        _as_the_scorer(task, found)
    return records(found, task, side, path, protocol=protocol, wrong=wrong, **options)


def pairs(
    task: str,
    gold: str | Path,
    pred: str | Path,
    *,
    column: str | None = None,
    repeated: str | None = None,
    protocol: str | None = None,
    wrong: Wrong = stop,
    **options: Unpack[MentionOptions],
) -> tuple[list[dict[str, object]], list[dict[str, object]], list[str]]:
    """Both sides, the system's tokens laid on gold's; what a person should know is said in the warnings.

    Args:
        task: The task.
        pred: The system's file.
        column: The column of tags, such as ``NE-COARSE-LIT``.
        repeated: What an id that stands twice is: ``error``, ``number`` (the second is ``ID#2``) or ``keep``.
        protocol: The official protocol whose reading rules count, ``hipe`` or ``hipe2020``; none without one.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    column, theirs_column = tokenised.columns(column)
    left = documents(gold, task, column, repeated, wrong, protocol)
    theirs = documents(pred, task, theirs_column, repeated, wrong, protocol)
    warnings: list[str] = []
    for file, found in ((gold, left), (pred, theirs)):
        if short := sum(document.short for document in found):
            warnings.append(f"{short} rows of {file} have fewer cells than its header; what is missing counts as _")
    laid = by_position(left, theirs) if protocol else None
    if laid is not None:
        tokens = sum(len(document.forms) for document in left)
        differ = sum(a != b for one in laid for a, b in zip(one.forms, one.theirs or one.forms, strict=True))
        if differ:
            warnings.append(f"{differ} of {tokens} tokens differ from gold's; they are laid on them by position")
    try:
        right = align(left, theirs, file=pred) if laid is None else laid
    except DataError as error:
        if protocol or by_position(left, theirs) is None:
            raise
        error.what += "; --protocol hipe lays them by position, as the official scorer does"
        raise error.at() from None
    if protocol:
        _as_the_scorer(task, left, right)
    if protocol == "hipe" and task == "linking" and all(mark == "_" for document in right for mark in document.marks):
        said = "every cell is _, so all links of a document are one mention; --protocol hipe2020 goes without it"
        warnings.append(f"column NE-COARSE of {pred} bounds the mentions, and is not annotated: {said}")
    if all(cell == "_" for document in left for cell in document.cells):
        name = column or DEFAULT[task]
        warnings.append(f"column {name} of {gold} is not annotated: every cell is _, so nothing can be right")
    return (
        records(left, task, "gold", gold, protocol=protocol, wrong=wrong, **options),
        records(right, task, "pred", pred, protocol=protocol, wrong=wrong, **options),
        warnings,
    )


LETTERS = {"S": "B", "U": "B", "E": "I", "L": "I"}


def _as_the_scorer(task: str, found: Sequence[Document], system: Sequence[Document] = ()) -> None:
    """Cells as the official scorer takes them: S- is B-, E- is I-, and those that differ in case alone become one.

    Links are in capitals; a type is as it stands first, and one that gold does not have in small letters.
    """
    names: dict[str, str] = {}
    for document in found:
        for cell in document.cells if task == "extraction" else ():
            names.setdefault(cell[2:].casefold(), cell[2:])
    for document in (*found, *system):
        document.marks = [_tag(mark, {}).upper() for mark in document.marks]
        if task == "linking":
            document.cells = [cell.upper() for cell in document.cells]
        else:
            document.cells = [_tag(cell, names) for cell in document.cells]


def _tag(cell: str, names: Mapping[str, str]) -> str:
    if cell[1:2] != "-":
        return cell.upper() if cell in ("o", "b", "i") else cell
    letter, kind = cell[0].upper(), cell[2:].casefold()
    return f"{LETTERS.get(letter, letter)}-{names.get(kind, kind)}"


def records(
    found: Sequence[Document],
    task: str,
    side: Side,
    path: str | Path,
    *,
    scheme: str | None = None,
    malformed: str = "conlleval",
    adjacent: str = "nil",
    protocol: str | None = None,
    tokens: bool = False,
    wrong: Wrong = stop,
) -> list[dict[str, object]]:
    """Tokenised documents as records of the task.

    Args:
        found: The documents.
        side: ``gold`` or ``pred``.
        path: The file that errors name.
        scheme: The tagging scheme, such as IOB2; told by the tags without one.
        malformed: How tags outside the scheme are read: ``conlleval`` or ``strict``.
        adjacent: Which of neighbouring mentions begin one of their own: ``nil``, ``all`` or ``none``.
        protocol: The official protocol whose reading rules count, ``hipe`` or ``hipe2020``; none without one.
        tokens: Whether records keep their tokenisation.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    if task == "extraction":
        scheme = scheme or ("IOB2" if protocol else None)
        return tokenised.records(found, side, file=path, scheme=scheme, malformed=malformed, tokens=tokens, wrong=wrong)
    if protocol == "hipe2020":
        adjacent = "none"
    return [
        tokenised.base(document, side, tokens)
        | {
            "links": [
                link_of(mention, side, protocol)
                for mention in mentions(
                    document, bounded(document, side) if protocol == "hipe" else linked(document, adjacent)
                )
            ]
        }
        for document in found
    ]


def write(
    path: str | Path,
    records: Iterable[Mapping[str, Any]],
    task: str,
    side: Side = "gold",
    *,
    column: str | None = None,
    source: str | Path | None = None,
    scheme: str | None = None,
    repeated: str = "error",
) -> None:
    """Write a HIPE file; with ``source``, that file with the cells of the column replaced, all else byte for byte.

    Args:
        path: The file.
        records: The records to write.
        task: The task.
        side: ``gold`` or ``pred``.
        scheme: The tagging scheme, such as IOB2; told by the tags without one.
        repeated: What an id that stands twice is: ``error``, ``number`` (the second is ``ID#2``) or ``keep``.
    """
    if task not in DEFAULT:
        raise GoldassayError(f"format hipe holds {' and '.join(DEFAULT)}, not {task}")
    name = column or DEFAULT[task]
    if source is not None:
        files.save(path, replaced(source, list(records), task, name, scheme, repeated))
        return
    lines = ["TOKEN\tNE-COARSE-LIT\tNEL-LIT\tMISC\n" if name in DEFAULT.values() else f"TOKEN\t{name}\tMISC\n"]
    for record in records:
        if "text" not in record:
            raise DataError("hipe needs the text; name the source file, or write jsonl", record=record["id"])
        lines.append(f"# hipe2022:document_id = {record['id']}\n")
        if record.get("language"):
            lines.append(f"# hipe2022:language = {record['language']}\n")
        said = record.get("strata") or {}
        lines += [f"# hipe2022:{key} = {said[key]}\n" for key in FACTS if said.get(key)]
        places = tokenised.places(record, SPANS[task])
        cells = cells_of(record, places, task, scheme or "IOB2")
        marks = _marks(record, places) if task == "linking" else []
        for index, (start, end) in enumerate(places):
            gap = record["text"][end : places[index + 1][0]] if index + 1 < len(places) else " "
            misc = "EndOfLine" if "\n" in gap else "_" if gap else "NoSpaceAfter"
            pair = [cells[index], "_"] if task == "extraction" else [marks[index], cells[index]]
            shown = pair if name in DEFAULT.values() else [cells[index]]
            lines.append("\t".join([record["text"][start:end], *shown, misc]) + "\n")
    files.save(path, "".join(lines))


def _marks(record: Mapping[str, Any], places: Sequence[tuple[int, int]]) -> list[str]:
    """NE-COARSE cells that keep neighbouring mentions apart."""
    runs = tokenised.covered(record["links"], places, record["id"])
    kinds = [(start, end, record["links"][number].get("type") or "ent") for start, end, number in runs]
    return tokenised.tags(kinds, len(places))

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

It is written from records alone, or into a copy of the file that they came from.

Source: https://github.com/hipe-eval/HIPE-2022-data and https://github.com/hipe-eval/HIPE-scorer
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import tokens as tokenised
from goldassay.gold.formats import Row, Source
from goldassay.gold.records import SPANS
from goldassay.gold.shapes import Side
from goldassay.gold.tokens import Document, Token
from goldassay.text import tagging

DEFAULT = {"extraction": "NE-COARSE-LIT", "linking": "NEL-LIT"}
TASKS = tuple(DEFAULT)
OPTIONS = (*tokenised.OPTIONS, "adjacent", "protocol")
COMMENT = re.compile(r"#\s*(?:[\w.-]+:)?(?P<key>[\w.-]+)\s*=\s*(?P<value>.*?)\s*$")
FACTS = ("date", "decade", "document_type", "dataset", "newspaper", "place")  # about a document, in its comments
UNLINKED = frozenset(("_", "-", "O", ""))
OFFICIAL_LETTERS = {"S": "B", "U": "B", "E": "I", "L": "I"}
Mention = tuple[int, int, str]


def rows(source: Source) -> Iterator[Row]:
    """One record a document; a repeated id is an error, under a protocol the second one is numbered."""
    result = documents(source)
    if source.option("protocol"):
        _as_the_scorer(result, result, source.task)
    return _rows(result, source)


def pair_rows(gold: Source, pred: Source) -> tuple[Iterator[Row], Iterator[Row]]:
    """Both sides, the system's tokens laid on gold's; under a protocol by position, if the counts fit."""
    left, right = documents(gold), documents(pred)
    protocol = gold.option("protocol")
    laid = tokenised.by_position(left, right)
    if protocol and laid is not None:
        pairs = [
            (a, b) for own, other in zip(left, laid, strict=True) for a, b in zip(own.tokens, other.tokens, strict=True)
        ]
        differ = sum(a.form != b.form for a, b in pairs)
        if differ:
            message = f"{differ} of {len(pairs)} tokens differ from gold's; they are laid on them by position"
            pred.warnings.append(message)
        right = laid
    else:
        try:
            right = tokenised.align(left, right, file=pred.path)
        except DataError as error:
            if protocol or laid is None:
                raise
            error.what += "; the protocol hipe lays them by position, as the official scorer does"
            raise error.at() from None
    if protocol:
        _as_the_scorer(left, [*left, *right], gold.task)
    marks = {token.mark for document in right for token in document.tokens}
    if protocol == "hipe" and gold.task == "linking" and marks == {"_"}:
        message = f"column NE-COARSE of {pred.path} bounds the mentions, and is not annotated: every cell is _, so all"
        pred.warnings.append(f"{message} links of a document are one mention; the protocol hipe2020 goes without it")
    if all(tag == "_" for document in left for tag in document.tags()):
        name = tokenised.column_of(gold) or DEFAULT[gold.task]
        message = f"column {name} of {gold.path} is not annotated: every cell is _, so nothing can be right"
        pred.warnings.append(message)
    return _rows(left, gold), _rows(right, pred)


def _rows(several: Sequence[Document], source: Source) -> Iterator[Row]:
    protocol = source.option("protocol")
    if source.task == "extraction":
        yield from tokenised.rows(several, source, scheme="IOB2" if protocol else None)
        return
    adjacent = "none" if protocol == "hipe2020" else source.option("adjacent", "nil")
    for document in several:
        spans = _bounded(document, source.side) if protocol == "hipe" else _linked(document, adjacent)
        links = [_link(mention, source.side, protocol) for mention in tokenised.mentions(document, spans)]
        yield Row({**tokenised.base(document, source), "links": links}, document.line or None)


def documents(source: Source) -> list[Document]:
    """The tokenised documents of a file, with the cells of one column."""
    protocol, column = source.option("protocol"), tokenised.column_of(source) or DEFAULT[source.task]
    if protocol not in (None, "hipe", "hipe2020"):
        raise GoldassayError(f"format hipe has no protocol {protocol!r}; there are hipe and hipe2020")
    lines = enumerate(files.lines(source.path), start=1)
    header = next(lines)[1].split("\t")
    for name, hint in (("TOKEN", " in the first line; is this a HIPE file?"), (column, "")):
        if name not in header:
            raise DataError(f"no column {name}{hint or '; there are ' + ', '.join(header)}", file=source.path, line=1)
    bounds = "NE-COARSE-METO" if column.endswith("METO") else "NE-COARSE-LIT"
    if source.task == "linking" and protocol == "hipe" and bounds not in header:
        what = "no column NE-COARSE, which bounds the mentions under the protocol hipe; score without it, or hipe2020"
        raise DataError(what, file=source.path, line=1)
    places = [header.index(name) if name in header else -1 for name in ("TOKEN", column, bounds, "MISC")]
    result: list[Document] = []
    facts: dict[str, str] = {}
    for number, row in lines:
        note = COMMENT.match(row.replace("\t", " ")) if row.startswith("#") else None
        if note is not None or _is_comment(row, len(header)) or (protocol and row.startswith(("#", "\t"))):
            key = note["key"] if note else ""
            if note and key == "document_id":
                result.append(Document(note["value"], line=number))
            elif note and (key == "language" or key in FACTS):
                facts[key] = note["value"]
            if result and not result[-1].tokens:
                _add_facts(result[-1], facts)
        elif row.strip(" \t"):
            if not result:
                result.append(Document(source.path.stem, line=number, unnamed=True))
                _add_facts(result[-1], facts)
            with source.checking("unreadable", line=number):
                _add_token(result[-1], row.split("\t"), places, number, len(header) if protocol else -len(header))
    if not any(document.tokens for document in result):
        raise DataError("no tokens under the header", file=source.path)
    short = sum(document.short for document in result)
    if short:
        message = f"{short} rows of {source.path} have fewer cells than its header; what is missing counts as _"
        source.warnings.append(message)
    if protocol:
        result = [document for document in result if document.tokens]
    tokenised.check_ids(result, source, "number" if protocol else "error")
    return result


def _is_comment(row: str, width: int) -> bool:
    """A comment that sets nothing; a token that begins with ``#`` fills the columns of the header."""
    return row.startswith("#") and (row[1:2] == " " or row.count("\t") != width - 1)


def _add_facts(document: Document, facts: dict[str, str]) -> None:
    """Take the language and, as strata, the facts in the comments; a date also gives the decade."""
    document.language = facts.pop("language", document.language)
    if year := re.match(r"\d{3}(?=\d)", facts.get("date", "")):
        facts.setdefault("decade", f"{year[0]}0s")
    document.strata |= facts
    facts.clear()


def _add_token(document: Document, cells: list[str], places: Sequence[int], line: int, width: int) -> None:
    """Add the token of a row; a negative ``width`` refuses a row with fewer cells than needed."""
    if len(cells) < width:
        cells = cells + ["_"] * (width - len(cells))
        document.short += 1
    token, cell, mark, misc = places
    if len(cells) <= max(token, cell):
        raise DataError(f"{len(cells)} columns where the header has {abs(width)}; is the line cut off?")
    flags = cells[misc].split("|") if 0 <= misc < len(cells) else []
    space = "\n" if "EndOfLine" in flags else "" if "NoSpaceAfter" in flags else " "
    bound = cells[mark] if 0 <= mark < len(cells) else "O"
    document.add(cells[token], cells[cell].strip(), bound, line, space)
    if "EndOfSentence" in flags:
        document.breaks.append(len(document.tokens))


def _as_the_scorer(gold: Sequence[Document], every: Sequence[Document], task: str) -> None:
    """Cells as the official scorer takes them: S- is B-, E- is I-, and those that differ in case alone become one.

    Links are in capitals; a type is as it is first in gold, and one that gold does not have in small letters.
    """
    names: dict[str, str] = {}
    for tag in (tag for document in gold for tag in document.tags() if task == "extraction"):
        names.setdefault(tag[2:].casefold(), tag[2:])
    for document in every:
        document.tokens = [
            token._replace(
                mark=_official(token.mark, {}).upper(),
                tag=token.tag.upper() if task == "linking" else _official(token.tag, names),
            )
            for token in document.tokens
        ]


def _official(tag: str, names: Mapping[str, str]) -> str:
    if tag[1:2] != "-":
        return tag.upper() if tag in ("o", "b", "i") else tag
    letter, kind = tag[0].upper(), tag[2:].casefold()
    return f"{OFFICIAL_LETTERS.get(letter, letter)}-{names.get(kind, kind)}"


def _groups(document: Document, begins: Callable[[Token, Token], bool]) -> list[Mention]:
    """The linked mentions of a document: (first token, token after the last, cell of the first).

    ``begins`` is asked of the first token of a mention and a later one, whether that begins another.
    """
    mentions, first, tokens = [], 0, document.tokens
    for place in range(1, len(tokens) + 1):
        if place == len(tokens) or begins(tokens[first], tokens[place]):
            if tokens[first].tag not in UNLINKED:
                mentions.append((first, place, tokens[first].tag))
            first = place
    return mentions


def _linked(document: Document, adjacent: str = "nil") -> list[Mention]:
    """The mentions of a document's NEL cells."""
    if adjacent not in ("nil", "all", "none"):
        raise GoldassayError(f"adjacent must be nil, all or none, not {adjacent!r}")

    def begins(first: Token, token: Token) -> bool:
        is_split = adjacent == "all" or (adjacent == "nil" and token.tag == "NIL")
        return token.tag != first.tag or (is_split and token.mark[:2] in ("B-", "S-", "U-"))

    return _groups(document, begins)


def _bounded(document: Document, side: Side) -> list[Mention]:
    """The linked mentions of HIPE-2022, bounded by NE-COARSE.

    >>> document = Document("d")
    >>> for cell, mark in zip(["Q1", "Q1", "_", "NIL", "Q4"], ["B-LOC", "B-LOC", "O", "B-PERS", "O"]):
    ...     document.add("x", cell, mark, 1)
    >>> _bounded(document, "gold")
    [(0, 1, 'Q1'), (1, 2, 'Q1'), (3, 4, 'NIL'), (4, 5, 'Q4')]
    """

    def begins(first: Token, token: Token) -> bool:
        other_entity = "O" in (first.mark, token.mark) or token.mark[2:] != first.mark[2:] or token.mark[:1] == "B"
        other_link = side == "pred" and token.mark[:1] == "I" and token.tag != first.tag
        return other_entity or other_link

    return _groups(document, begins)


def _link(mention: dict[str, Any], side: Side, protocol: str | None = None) -> dict[str, object]:
    """A mention as a link: gold's with its ids, a system's with its candidates; under a protocol gold has one id."""
    cell = mention.pop("type")
    ids = [] if cell == "NIL" else [identifier for identifier in cell.split("|") if identifier]
    if side == "gold" and protocol:
        ids = [identifier for identifier in ids[:1] if identifier != "NIL"]
    if side == "gold":
        return {**mention, "ids": {"wikidata": ids} if ids else {}}
    candidates = [{"id": identifier, "score": 1 / rank} for rank, identifier in enumerate(ids, start=1)]
    return {**mention, "candidates": candidates}


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
    """Write a HIPE file.

    Args:
        path: The file.
        records: The records.
        task: The task.
        side: ``gold`` or ``pred``.
        column: The column of tags; the usual one of the task if not given.
        source: A file to copy with the cells of the column replaced, all else byte for byte.
        scheme: The tagging scheme; IOB2, or that of ``source``, if not given.
        repeated: How ``source`` is read if an id is used twice: ``error``, ``number`` or ``keep``.
    """
    name = column or DEFAULT[task]
    if source is not None:
        copied = Source(Path(source), task, "hipe", options={"column": name, "repeated": repeated})
        files.save(path, _replaced(copied, list(records), scheme))
        return
    usual = name in DEFAULT.values()
    lines = ["TOKEN\tNE-COARSE-LIT\tNEL-LIT\tMISC\n" if usual else f"TOKEN\t{name}\tMISC\n"]
    for record in records:
        if "text" not in record:
            raise DataError("hipe needs the text; name the source file, or write jsonl", record=record["id"])
        lines.append(f"# hipe2022:document_id = {record['id']}\n")
        facts = {"language": record.get("language")} | {key: (record.get("strata") or {}).get(key) for key in FACTS}
        lines += [f"# hipe2022:{key} = {value}\n" for key, value in facts.items() if value]
        text, places = record["text"], tokenised.places(record, SPANS[task])
        cells = [_written(record, places, task, scheme or "IOB2")]
        if usual:
            # NE-COARSE cells keep neighbouring links apart.
            marks = (
                _written(record, places, "extraction", "IOB2", "links") if task == "linking" else ["_"] * len(places)
            )
            cells = [cells[0], marks] if task == "extraction" else [marks, cells[0]]
        for index, (start, end) in enumerate(places):
            gap = text[end : places[index + 1][0]] if index + 1 < len(places) else " "
            misc = "EndOfLine" if "\n" in gap else "_" if gap else "NoSpaceAfter"
            lines.append("\t".join([text[start:end], *(column[index] for column in cells), misc]) + "\n")
    files.save(path, "".join(lines))


def _written(
    record: Mapping[str, Any], places: Sequence[tuple[int, int]], task: str, scheme: str, field: str = ""
) -> list[str]:
    """One cell a token: the tags of spans, or the identifiers of links."""
    runs = tokenised.token_runs(record[field or SPANS[task]], places, record["id"])
    if task == "extraction":
        return tokenised.tags([(a, b, span.get("type") or "ent") for a, b, span in runs], len(places), scheme)
    cells = ["_"] * len(places)
    for start, end, link in runs:
        ids = [identifier for several in link.get("ids", {}).values() for identifier in several]
        ids += [candidate["id"] for candidate in link.get("candidates", [])]
        cells[start:end] = ["|".join(ids) or "NIL"] * (end - start)
    return cells


def _replaced(source: Source, records: Sequence[Mapping[str, Any]], scheme: str | None) -> str:
    """The file with new cells; a cell that had no annotation and gets none stays as it is."""
    by_id = {record["id"]: record for record in records}
    several = documents(source)
    lines = files.text(source.path).split("\n")
    index = lines[0].rstrip("\r").split("\t").index(source.options["column"])
    present = {tag for document in several for tag in document.tags()}
    name = tagging.named(scheme, present) if source.task == "extraction" else ""
    for document in several:
        record = by_id.pop(document.id, {"id": document.id, SPANS[source.task]: []})
        cells = _written(record, [(token.start, token.end) for token in document.tokens], source.task, name)
        for token, cell in zip(document.tokens, cells, strict=True):
            if token.tag != cell and not (token.tag in UNLINKED and cell in UNLINKED):
                parts = lines[token.line - 1].split("\t")
                parts[index] = cell
                lines[token.line - 1] = "\t".join(parts)
    if by_id:
        raise DataError("this document is not in the source file", file=source.path, record=next(iter(by_id)))
    return "\n".join(lines)

"""``hipe``: the TSV of the HIPE campaigns (2020 and 2022), any column.

Documents begin at a ``document_id`` comment (``# hipe2022:document_id = …`` or ``# document_id = …``); if an id is used
again, the second is ``ID#2``. Text is rebuilt from the MISC column: a line break after ``EndOfLine``, nothing after
``NoSpaceAfter``, else one space. A cell of a NEL column is an id, ``NIL``, or alternatives ``a|b|c``; its mentions end
where the cell changes and, for NIL alone, where the NE-COARSE column of the same reading begins a mention
(``adjacent="nil"``, HIPE-2022); ``adjacent="none"`` joins equal neighbours.

``protocol="hipe"`` reads as the scorer of HIPE-2022 does. A row whose first cell starts with ``#`` is no token; a cell
that a row lacks is ``_``. Cells compare without case; ``S-`` is ``B-``, ``E-`` is ``I-``. A system's rows are laid on
gold's by position wherever the counts fit, and a mention whose words are written otherwise has them as its ``form``. A
mention to link is an entity of NE-COARSE: ``O`` closes it, another type or ``B-`` opens one; gold keeps the first link
inside it and a system's mention is split at an ``I-`` whose link is another; a link at ``O`` is a mention of one token;
``_``, ``-`` and ``O`` are no link; of gold's alternatives the first counts.
``protocol="hipe2020"`` is the same, but its mentions are bounded by the link cell alone (``adjacent="none"``).

Source: https://github.com/hipe-eval/HIPE-2022-data and https://github.com/hipe-eval/HIPE-scorer
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import tokens as tokenised
from goldassay.gold.formats import Row, Source
from goldassay.gold.records import SPANS
from goldassay.gold.shapes import Side
from goldassay.gold.tokens import Document, Token

DEFAULT = {"extraction": "NE-COARSE-LIT", "linking": "NEL-LIT"}
TASKS = tuple(DEFAULT)
OPTIONS = (*tokenised.OPTIONS, "adjacent", "protocol")
CHOICES = {"adjacent": ("nil", "none"), "protocol": ("hipe", "hipe2020")}
COMMENT = re.compile(r"#\s*(?:[\w.-]+:)?(?P<key>[\w.-]+)\s*=\s*(?P<value>.*?)\s*$")
FACTS = ("language", "date", "decade", "document_type", "dataset", "newspaper", "place")  # in a document's comments
UNLINKED = frozenset(("_", "-", "O", ""))
OFFICIAL_LETTERS = {"S": "B", "U": "B", "E": "I", "L": "I"}


def rows(source: Source) -> Iterator[Row]:
    """One record a document."""
    result = documents(source)
    if source.option("protocol"):
        _as_the_scorer(result, result, source.task)
    return _rows(result, source)


def pair_rows(gold: Source, pred: Source) -> tuple[Iterator[Row], Iterator[Row]]:
    """Both sides, the system's tags laid on gold's tokens."""
    left, right = documents(gold), documents(pred)
    protocol = gold.option("protocol")
    right = tokenised.align(left, right, pred.path, by_position=bool(protocol))
    tokens = [token for document in right for token in document.tokens]
    if differ := sum(token.spelling not in ("", token.form) for token in tokens):
        message = f"{differ} of {len(tokens)} tokens differ from gold's; they are laid on them by position"
        pred.warnings.append(message)
    if protocol == "hipe" and gold.task == "linking" and {token.mark for token in tokens} == {"_"}:
        message = f"column NE-COARSE of {pred.path} bounds the mentions, and is not annotated: every cell is _, so all"
        pred.warnings.append(f"{message} links of a document are one mention; the protocol hipe2020 goes without it")
    if protocol:
        _as_the_scorer(left, [*left, *right], gold.task)
    return _rows(left, gold), _rows(right, pred)


def _rows(several: Sequence[Document], source: Source) -> Iterator[Row]:
    if source.task == "extraction":
        yield from tokenised.rows(several, source, scheme="IOB2" if source.option("protocol") else None)
        return
    for document in several:
        links = [_link(mention, source) for mention in document.mentions(_linked(document, source))]
        yield Row({**document.record(source), "links": links}, document.line or None)


def documents(source: Source) -> list[Document]:
    """The tokenised documents of a file, with the cells of one column."""
    for option, choices in CHOICES.items():
        if source.option(option, choices[0]) not in choices:
            there = " and ".join(choices)
            raise GoldassayError(f"format hipe has no {option} {source.option(option)!r}; there are {there}")
    protocol, column = source.option("protocol"), tokenised.column_of(source) or DEFAULT[source.task]
    lines = enumerate(files.lines(source.path), start=1)
    header = next(lines)[1].split("\t")
    bounds = "NE-COARSE-METO" if column.endswith("METO") else "NE-COARSE-LIT"
    for name in ("TOKEN", column, *([bounds] if source.task == "linking" and protocol == "hipe" else [])):
        if name not in header:
            raise DataError(f"no column {name}; there are {', '.join(header)}", file=source.path, line=1)
    result: list[Document] = []
    facts: dict[str, str] = {}  # of the document that begins next
    short = 0
    for number, row in lines:
        cells = row.split("\t")
        note = COMMENT.match(row.replace("\t", " "))
        if note or (row.startswith("#") and (row[1:2] == " " or len(cells) != len(header))):
            if note and note["key"] == "document_id":
                result.append(Document(note["value"], number, facts=facts))
                facts = {}
            elif note and note["key"] in FACTS:
                (result[-1].facts if result and not result[-1].tokens else facts)[note["key"]] = note["value"]
        elif row.strip(" \t") and not (protocol and row.startswith(("#", "\t"))):
            if not result:
                result.append(Document(source.path.stem, number, named=False, facts=facts))
            if len(cells) < len(header) and protocol:
                short += 1
                cells += ["_"] * (len(header) - len(cells))
            with source.checking("unreadable", line=number):
                result[-1].tokens.append(_token(dict(zip(header, cells, strict=False)), column, bounds, number))
    if not any(document.tokens for document in result):
        raise DataError("no tokens under the header", file=source.path)
    if short:
        message = f"{short} rows of {source.path} have fewer cells than its header; what is missing counts as _"
        source.warnings.append(message)
    seen: Counter[str] = Counter()
    for document in result:
        if year := re.match(r"\d{3}(?=\d)", document.facts.get("date", "")):
            document.facts.setdefault("decade", f"{year[0]}0s")
        seen[document.id] += 1
        document.id += f"#{seen[document.id]}" if seen[document.id] > 1 else ""
    return [document for document in result if document.tokens] if protocol else result


def _token(cells: Mapping[str, str], column: str, bounds: str, line: int) -> Token:
    """The token of a row."""
    if column not in cells:
        raise DataError(f"{len(cells)} columns, and none is {column}; is the line cut off?")
    flags = cells.get("MISC", "").split("|")
    space = "\n" if "EndOfLine" in flags else "" if "NoSpaceAfter" in flags else " "
    return Token(cells["TOKEN"], cells[column].strip(), line, cells.get(bounds, "O"), space)


def _as_the_scorer(gold: Sequence[Document], every: Sequence[Document], task: str) -> None:
    """Cells as the official scorer takes them: S- is B-, E- is I-, and those that differ in case alone become one.

    Links are in capitals; a type is as it is first in gold, and one that gold does not have in small letters.
    """
    names: dict[str, str] = {}
    for token in (token for document in gold for token in document.tokens if task == "extraction"):
        names.setdefault(token.tag[2:].casefold(), token.tag[2:])

    def official(tag: str, names: Mapping[str, str]) -> str:
        if tag[1:2] != "-":
            return tag.upper() if tag in ("o", "b", "i") else tag
        letter, kind = tag[0].upper(), tag[2:].casefold()
        return f"{OFFICIAL_LETTERS.get(letter, letter)}-{names.get(kind, kind)}"

    for document in every:
        document.tokens = [
            token._replace(
                mark=official(token.mark, {}).upper(),
                tag=token.tag.upper() if task == "linking" else official(token.tag, names),
            )
            for token in document.tokens
        ]


def _linked(document: Document, source: Source) -> list[tuple[int, int, str]]:
    """The linked mentions of a document: (first token, token after the last, cell of the first).

    >>> document = Document("d")
    >>> for cell, mark in zip(["Q1", "Q1", "_", "NIL", "Q4"], ["B-LOC", "B-LOC", "O", "B-PERS", "O"]):
    ...     document.tokens.append(Token("x", cell, 1, mark))
    >>> _linked(document, Source(Path("x"), "linking", "hipe", options={"protocol": "hipe"}))
    [(0, 1, 'Q1'), (1, 2, 'Q1'), (3, 4, 'NIL'), (4, 5, 'Q4')]
    """
    protocol = source.option("protocol")
    split_nil = protocol is None and source.option("adjacent") != "none"

    def begins(first: Token, token: Token) -> bool:
        """Whether a later token than the first of a mention begins another one."""
        if protocol != "hipe":
            opens = split_nil and token.tag == "NIL" and token.mark[:2] in ("B-", "S-", "U-")
            return opens or token.tag != first.tag
        other_entity = "O" in (first.mark, token.mark) or token.mark[2:] != first.mark[2:] or token.mark[:1] == "B"
        return other_entity or (source.side == "pred" and token.mark[:1] == "I" and token.tag != first.tag)

    mentions, first, tokens = [], 0, document.tokens
    for place in range(1, len(tokens) + 1):
        if place == len(tokens) or begins(tokens[first], tokens[place]):
            if tokens[first].tag not in UNLINKED:
                mentions.append((first, place, tokens[first].tag))
            first = place
    return mentions


def _link(mention: dict[str, Any], source: Source) -> dict[str, object]:
    """A mention as a link: gold's with its ids, a system's with its candidates; under a protocol gold has one id."""
    cell = mention.pop("type")
    ids = [] if cell == "NIL" else [identifier for identifier in cell.split("|") if identifier]
    if source.side == "pred":
        return {**mention, "candidates": [{"id": name, "score": 1 / rank} for rank, name in enumerate(ids, start=1)]}
    if source.option("protocol"):
        ids = [identifier for identifier in ids[:1] if identifier != "NIL"]
    return {**mention, "ids": {"wikidata": ids} if ids else {}}


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write entities, or links, whose NE-COARSE cells keep neighbours apart."""
    lines = ["TOKEN\tNE-COARSE-LIT\tNEL-LIT\tMISC\n"]
    for record in records:
        places, spans = tokenised.places(record, SPANS[task]), record[SPANS[task]]
        facts = {"document_id": record["id"], "language": record.get("language"), **(record.get("strata") or {})}
        lines += [f"# hipe2022:{key} = {facts[key]}\n" for key in ("document_id", *FACTS) if facts.get(key)]
        marks = tokenised.cells(spans, places, record["id"])
        links = tokenised.cells(spans if task == "linking" else (), places, record["id"], links=True)
        text, ends = record["text"], [start for start, _ in places[1:]]
        for (start, end), mark, link, after in zip(places, marks, links, [*ends, None], strict=True):
            gap = " " if after is None else text[end:after]
            misc = "EndOfLine" if "\n" in gap else "_" if gap else "NoSpaceAfter"
            lines.append(f"{text[start:end]}\t{mark}\t{link}\t{misc}\n")
    files.save(path, "".join(lines))

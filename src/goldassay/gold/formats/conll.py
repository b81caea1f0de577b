"""The column formats of tokens with tags: ``iob2`` (or ``conll``), and ``hipe``, the TSV of the HIPE campaigns.

**iob2**: a token and a tag a line, an empty line between sentences; IOB1, IOB2, IOE, IOBES, BILOU. The token is the
first column, the tag the last, or the column that is named by its number (1 is the first). Documents begin at
``-DOCSTART-`` or at a comment with an id (``# id …``, ``# newdoc id = …``, ``# document_id = …``); without either, each
sentence is a document, named by its number, and a warning says so. Text is the tokens with a space between them and a
line break between sentences. Tags are written as IOB2.

**hipe**: any column of the files of 2020 and 2022. Documents begin at a ``document_id`` comment (``#
hipe2022:document_id = …`` or ``# document_id = …``); if an id is used again, the second is ``ID#2``. Text is rebuilt
from the MISC column: a line break after ``EndOfLine``, nothing after ``NoSpaceAfter``, else one space. A cell of a NEL
column is an id, ``NIL``, or alternatives ``a|b|c``; its mentions end where the cell changes and, for NIL alone, where
the NE-COARSE column of the same reading begins a mention (``adjacent="nil"``, HIPE-2022); ``adjacent="none"`` joins
equal neighbours.

``protocol="hipe"`` reads as the scorer of HIPE-2022 does. A row whose first cell starts with ``#`` is not a token; a
cell that a row lacks is ``_``. Cells compare without case; ``S-`` is ``B-``, ``E-`` is ``I-``. A system's rows are laid
on gold's by position wherever the counts fit, and a mention whose words are written otherwise has them as its ``form``.
A mention to link is an entity of NE-COARSE: ``O`` closes it, another type or ``B-`` opens one; gold keeps the first
link inside it and a system's mention is split at an ``I-`` whose link is another; a link at ``O`` is a mention of one
token; ``_``, ``-`` and ``O`` are not links; of gold's alternatives the first counts. ``protocol="hipe2020"`` is the
same, but its mentions are bounded by the link cell alone (``adjacent="none"``).

With one tag a token the tokens become extraction records; a system's tags are laid on gold's tokens (`align`); and to
write either format, spans of characters become one tag a token (`token_places`, `cells`).

Sources: https://www.clips.uantwerpen.be/conll2003/ner/, https://github.com/hipe-eval/HIPE-2022-data and
https://github.com/hipe-eval/HIPE-scorer
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from goldassay._support import files
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.core.measure import check_choice
from goldassay.gold.formats import Format, Source, SourceRecord
from goldassay.gold.records import SPANS
from goldassay.gold.shapes import Side
from goldassay.text import spans as tagging
from goldassay.text import words

TAG_OPTIONS = ("column", "scheme", "malformed", "tokens")
Place = tuple[int, int]
DOCUMENT_NAME = re.compile(r"# \s*(?:newdoc\s+id\s*=|(?:[\w.-]+:)?document_id\s*=|id\s*=?)\s*(\S+)")
COMMENT = re.compile(r"# \s*(?:[\w.: -]+=|id\s|newdoc\b|newpar\b)")
TAG = re.compile(r"O|_|[BIESLUMW](?:-\S+)?")
DOCSTART = "-DOCSTART-"
DOCSTART_TITLE = re.compile(r"\(([^()\s]+)[^()]*\)|id\s*=\s*(\S+)")  # in brackets behind -DOCSTART-, or behind id=
HIPE_COLUMNS = {"extraction": "NE-COARSE-LIT", "linking": "NEL-LIT"}
HIPE_COMMENT = re.compile(r"#\s*(?:[\w.-]+:)?(?P<key>[\w.-]+)\s*=\s*(?P<value>.*?)\s*$")
FACTS = ("language", "date", "decade", "document_type", "dataset", "newspaper", "place")  # in a document's comments
SPACES = {"EndOfLine": "\n", "NoSpaceAfter": ""}  # what follows a token, by the flag in its MISC cell
UNLINKED = frozenset(("_", "-", "O", ""))
OFFICIAL_LETTERS = {"S": "B", "U": "B", "E": "I", "L": "I"}


class Token(NamedTuple):
    """A token: its form, its tag, its line, the tag that bounds mentions, the white space behind it.

    ``spelling`` is how a system wrote it that was laid on gold's.
    """

    form: str
    tag: str
    line: int
    mark: str = "O"
    space: str = " "
    spelling: str = ""


@dataclass
class Document:
    """The tokens of one document.

    ``named`` says whether the file names it, ``breaks`` are the tokens with which a sentence begins, ``facts`` its
    language and strata.
    """

    id: str
    line: int = 0
    named: bool = True
    tokens: list[Token] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The text; what follows the last token is left out."""
        pieces = [piece for token in self.tokens for piece in (token.form, token.space)]
        return "".join(pieces[:-1])

    def places(self) -> list[Place]:
        """The offsets of each token in the text."""
        starts = accumulate((len(token.form + token.space) for token in self.tokens), initial=0)
        return [(start, start + len(token.form)) for start, token in zip(starts, self.tokens, strict=False)]

    def record(self, source: Source) -> JsonObject:
        """Its id, and on gold's side language, strata, text, and its tokens if the option ``tokens`` asks for them."""
        if source.side == "pred":
            return {"id": self.id}
        strata = dict(self.facts)
        language = strata.pop("language", None)
        tokens = self.places() if source.option("tokens") else None
        record = {"id": self.id, "language": language, "strata": strata, "text": self.text(), "tokens": tokens}
        return {name: value for name, value in record.items() if value or name == "text"}

    def mentions(self, spans: Sequence[tuple[int, int, str]]) -> list[Fields]:
        """Token spans (first, after the last, type) as records; ``form`` is a system's own spelling if it differs."""
        text = self.text()
        places = self.places()
        records = []
        for first, last, kind in spans:
            start = places[first][0]
            end = places[last - 1][1]
            mention = {"start": start, "end": end, "type": kind, "text": text[start:end]}
            covered = self.tokens[first:last]
            spelling = "".join(token.spelling or token.form for token in covered)
            if spelling != "".join(token.form for token in covered):
                mention["form"] = spelling
            records.append(mention)
        return records


def column_of(source: Source) -> str | None:
    """The column of tags: ``2:3`` is column 2 of gold and column 3 of predictions, as in one file that holds both.

    >>> column_of(Source(Path("x"), "extraction", "iob2", "pred", {"column": "2:3"}))
    '3'
    """
    column: str | None = source.option("column")
    gold, colon, pred = str(column or "").partition(":")
    if not colon:
        return column
    return (gold if source.side == "gold" else pred) or None


def _tokenised_records(source: Source) -> Iterator[SourceRecord]:
    """The records of a file, one a document (or a sentence, if it marks no documents)."""
    documents = READ[source.format](source)
    return _records(documents, documents, source)


def _pair_rows(gold: Source, pred: Source) -> tuple[Iterator[SourceRecord], Iterator[SourceRecord]]:
    """Both sides, the system's tags laid on gold's tokens."""
    left = READ[gold.format](gold)
    right = align(left, READ[pred.format](pred), pred.path, by_position=bool(gold.option("protocol")))
    tokens = [token for document in right for token in document.tokens]
    if differ := sum(token.spelling not in ("", token.form) for token in tokens):
        message = f"{differ} of {len(tokens)} tokens differ from gold's; they are aligned by position"
        pred.warnings.append(message)
    return _records(left, left, gold), _records(right, left, pred)


def _records(documents: Sequence[Document], gold: Sequence[Document], source: Source) -> Iterator[SourceRecord]:
    """The records of documents; no entity crosses a sentence break.

    Under a protocol tokens are as the official scorer takes them: S- is B-, E- is I-, and cells that differ in case
    alone become one. Links are in capitals; a type is as it is first in gold, and one that gold does not have in small
    letters. Gold has one id then.
    """
    protocol = source.option("protocol")
    if protocol:
        types: dict[str, str] = {}
        for token in (token for document in gold for token in document.tokens):
            types.setdefault(token.tag[2:].casefold(), token.tag[2:])

        def official(cell: str, types: Mapping[str, str]) -> str:
            if cell[1:2] != "-":
                return cell.upper() if cell in ("o", "b", "i") else cell
            letter = cell[0].upper()
            kind = cell[2:].casefold()
            return f"{OFFICIAL_LETTERS.get(letter, letter)}-{types.get(kind, kind)}"

        for document in documents:
            tokens = []
            for token in document.tokens:
                tag = token.tag.upper() if source.task == "linking" else official(token.tag, types)
                tokens.append(token._replace(mark=official(token.mark, {}).upper(), tag=tag))
            document.tokens = tokens
    if source.task == "linking":
        for document in documents:
            links = []
            for mention in document.mentions(_linked(document, source)):
                cell = mention.pop("type")
                ids = [] if cell == "NIL" else [identifier for identifier in cell.split("|") if identifier]
                if source.side == "pred":
                    mention["candidates"] = [{"id": name, "score": 1 / rank} for rank, name in enumerate(ids, start=1)]
                else:
                    ids = [name for name in ids[:1] if name != "NIL"] if protocol else ids
                    mention["ids"] = {"wikidata": ids} if ids else {}
                links.append(mention)
            yield SourceRecord({**document.record(source), "links": links}, document.line or None)
        return
    tags = {token.tag for document in documents for token in document.tokens}
    scheme = tagging.named(source.option("scheme", "IOB2" if protocol else None), tags)
    for document in documents:
        clean: list[str] = []
        for token in document.tokens:  # a tag outside the scheme is a fault, and counts as outside
            clean.append("O")
            with source.checking("label", line=token.line, record=document.id):
                tagging.split(token.tag, scheme)
                clean[-1] = token.tag
        spans: tagging.Spans = []
        for first, last in pairwise([0, *document.breaks, len(clean)]):
            inside = tagging.spans(clean[first:last], scheme, source.option("malformed", "conlleval"))
            spans += [(first + start, first + end, kind) for start, end, kind in inside]
        yield SourceRecord({**document.record(source), "entities": document.mentions(spans)}, document.line or None)


def _documents(source: Source) -> list[Document]:
    """The tokenised documents of a file."""
    column = column_of(source) or "0"
    if not column.isdigit():
        raise GoldassayError(f"iob2 names a column by its number (1 is the first), not {column!r}")
    index = int(column) - 1
    documents: list[Document] = []
    marked = False
    in_sentence = False
    for number, row in source.lines():
        cells = row.split("\t") if "\t" in row else row.split()
        if index < 0 and len(cells) > 2 and not cells[-1].strip() and TAG.fullmatch(cells[-2].strip()):
            cells.pop()  # a tab behind the tag
        tagged = 1 < len(cells) > index and TAG.fullmatch(cells[index])  # a token, even if it begins with #
        is_comment = row.startswith("#") and (COMMENT.match(row) or not tagged)
        begins = row.startswith(DOCSTART)
        name = DOCUMENT_NAME.match(row) if is_comment else begins and DOCSTART_TITLE.search(row)
        if name or begins:
            label = next(filter(None, name.groups()), "") if name else ""
            documents.append(Document(label or str(len(documents) + 1), number, named=bool(label)))
            marked = True
            in_sentence = False
        elif not row.strip():
            in_sentence = False
        elif not is_comment:
            if not in_sentence and not marked:
                documents.append(Document(str(len(documents) + 1), number, named=False))
            elif not in_sentence and (tokens := documents[-1].tokens):
                documents[-1].breaks.append(len(tokens))
                tokens[-1] = tokens[-1]._replace(space="\n")
            in_sentence = True
            with source.checking("unreadable", line=number):
                if len(cells) < 2 or index >= len(cells):
                    raise DataError(f"no column {max(index + 1, 2)} ({row.strip()!r}); a token and a tag are needed")
                documents[-1].tokens.append(Token(cells[0].strip() or cells[0], cells[index].strip(), number))
    documents = [document for document in documents if document.tokens]
    if not documents:
        raise DataError("no tokens in the file", file=source.path)
    if source.side == "gold" and not marked and len(documents) > 1:
        message = "names no documents, so its sentences count as independent; put -DOCSTART- where one begins"
        source.warnings.append(f"{source.path} {message}")
    return documents


def _write(path: str | Path, records: Iterable[Record], task: str, side: Side) -> None:
    """Write documents, a line break in the text as a sentence break; a document's id is in a comment above it."""
    lines = []
    for record in records:
        places = token_places(record, "entities")
        text = record["text"]
        lines.append(f"# document_id = {record['id']}\n")
        before = len(text)
        for (start, end), tag in zip(places, cells(record["entities"], places, record["id"]), strict=True):
            # A sentence ends at a line break in the text, unless an entity runs over it.
            lines.append("\n" if "\n" in text[before:start] and tag[0] != "I" else "")
            lines.append(f"{text[start:end]}\t{tag}\n")
            before = end
        lines.append("\n")
    files.save(path, "".join(lines))


def _hipe_documents(source: Source) -> list[Document]:
    """The tokenised documents of a file, with the cells of one column."""
    if source.option("protocol", "hipe") not in ("hipe", "hipe2020"):
        message = f"format hipe has no protocol {source.option('protocol')!r}; there are hipe and hipe2020"
        raise GoldassayError(message)
    protocol = source.option("protocol")
    column = column_of(source) or HIPE_COLUMNS[source.task]
    lines = source.lines()
    header = next(lines)[1].split("\t")
    bounds = "NE-COARSE-METO" if column.endswith("METO") else "NE-COARSE-LIT"
    for name in ("TOKEN", column, *([bounds] if source.task == "linking" and protocol == "hipe" else [])):
        if name not in header:
            raise DataError(f"no column {name}; there are {', '.join(header)}", file=source.path, line=1)
    documents: list[Document] = []
    facts: dict[str, str] = {}  # of the document that begins next
    for number, row in lines:
        cells = row.split("\t")
        note = HIPE_COMMENT.match(row.replace("\t", " "))
        if note or (row.startswith("#") and (row[1:2] == " " or len(cells) != len(header))):
            if note and note["key"] == "document_id":
                documents.append(Document(note["value"], number, facts=facts))
                facts = {}
            elif note and note["key"] in FACTS:
                (documents[-1].facts if documents and not documents[-1].tokens else facts)[note["key"]] = note["value"]
        elif row.strip(" \t") and not (protocol and row.startswith(("#", "\t"))):
            if not documents:
                documents.append(Document(source.path.stem, number, named=False, facts=facts))
            lacking = ["_"] * (len(header) - len(cells)) if protocol else []
            token = dict(zip(header, cells + lacking, strict=False))
            with source.checking("unreadable", line=number):
                if column not in token:
                    raise DataError(f"{len(cells)} columns, and none is {column}; is the line cut off?")
                flags = token.get("MISC", "").split("|")
                space = next((SPACES[flag] for flag in SPACES if flag in flags), " ")
                tag = token[column].strip()
                mark = token.get(bounds, "O")
                documents[-1].tokens.append(Token(token["TOKEN"], tag, number, mark, space))
    if not any(document.tokens for document in documents):
        raise DataError("no tokens under the header", file=source.path)
    documents = [document for document in documents if document.tokens or not protocol]
    seen: Counter[str] = Counter()
    for document in documents:
        if year := re.match(r"\d{3}(?=\d)", document.facts.get("date", "")):
            document.facts.setdefault("decade", f"{year[0]}0s")
        seen[document.id] += 1
        document.id += f"#{seen[document.id]}" if seen[document.id] > 1 else ""
    return documents


def align(
    gold: Sequence[Document], system: Sequence[Document], file: str | Path, *, by_position: bool
) -> list[Document]:
    """Gold's documents with the system's tags: both have the same characters, however they are cut into tokens.

    Documents are found by their ids, and one that the system lacks is left out. If a file names no documents, its
    tokens are laid on all of gold's, one document after the other. ``by_position``, and if there are as many, they are
    laid on gold's tokens one by one whatever the words, as the HIPE scorer does.

    Raises:
        DataError: The two sides differ in their text, or a document is unknown to gold.
    """
    tokens = [token for document in system for token in document.tokens]
    if by_position and len(tokens) == sum(len(token.tokens) for token in gold):
        remaining = iter(tokens)
        return [
            replace(
                document,
                tokens=[
                    token._replace(tag=other.tag, mark=other.mark, line=other.line, spelling=other.form)
                    for token, other in zip(document.tokens, remaining, strict=False)
                ],
            )
            for document in gold
        ]
    if not all(document.named for document in (*gold, *system)):
        return _lay(gold, tokens, file)
    by_id = {document.id: document for document in gold}
    laid: list[Document] = []
    for document in system:
        if document.id not in by_id:
            what = "prediction for a document that gold does not have"
            raise DataError(what, file=file, line=document.line, record=document.id)
        laid += _lay([by_id[document.id]], document.tokens, file)
    return laid


def _lay(gold: Sequence[Document], tokens: Sequence[Token], file: str | Path) -> list[Document]:
    """System tokens over gold documents that follow each other, placed by their letters."""
    laid = []
    used = 0
    for document in gold:
        same = tokens[used : used + len(document.tokens)]
        left_over = document is gold[-1] and used + len(same) < len(tokens)
        if [t.form.split() for t in same] == [t.form.split() for t in document.tokens] and not left_over:
            pairs = zip(document.tokens, same, strict=True)  # also tokens of white space alone, which have no letters
            cut = [token._replace(form=gold_token.form, space=gold_token.space) for gold_token, token in pairs]
            laid.append(replace(document, tokens=cut))
            used += len(same)
            continue
        text = document.text()
        letters = [offset for offset, letter in enumerate(text) if not letter.isspace()]
        places: list[Place] = []
        first = used
        done = 0
        while done < len(letters) and used < len(tokens):
            form = "".join(tokens[used].form.split())
            start = letters[done]
            end = letters[min(done + len(form), len(letters)) - 1] + 1
            if "".join(text[start:end].split()) != form:
                what = f"{text[start:end]!r} in gold is {tokens[used].form!r} here; both files must hold the same text"
                raise DataError(what, file=file, line=tokens[used].line, record=document.id)
            places.append((start, end))
            done += len(form)
            used += 1
        if done < len(letters) or (document is gold[-1] and used < len(tokens)):
            what = (
                f"{used - first} tokens fit gold's text, of {len(tokens) - first}; both files must hold the same text"
            )
            raise DataError(what, file=file, line=tokens[used - 1].line if used else None, record=document.id)
        starts = [start for start, _ in places]
        cut = [
            token._replace(form=text[start:end], space=text[end:after])
            for token, (start, end), after in zip(tokens[first:used], places, [*starts[1:], len(text)], strict=True)
        ]
        offsets = document.places()
        breaks = [bisect_left(starts, offsets[index][0]) for index in document.breaks]
        laid.append(replace(document, tokens=cut, breaks=breaks))
    return laid


def _linked(document: Document, source: Source) -> list[tuple[int, int, str]]:
    """The linked mentions of a document: (first token, token after the last, cell of the first).

    >>> document = Document("d")
    >>> for cell, mark in zip(["Q1", "Q1", "_", "NIL", "Q4"], ["B-LOC", "B-LOC", "O", "B-PERS", "O"]):
    ...     document.tokens.append(Token("x", cell, 1, mark))
    >>> _linked(document, Source(Path("x"), "linking", "hipe", options={"protocol": "hipe"}))
    [(0, 1, 'Q1'), (1, 2, 'Q1'), (3, 4, 'NIL'), (4, 5, 'Q4')]
    """
    protocol = source.option("protocol")
    adjacent = source.option("adjacent", "nil")
    check_choice("adjacent", adjacent, ("nil", "none"))
    split_nil = protocol is None and adjacent == "nil"

    def begins(first: Token, token: Token) -> bool:
        """Whether a later token than the first of a mention begins another one."""
        if protocol != "hipe":
            opens = split_nil and token.tag == "NIL" and token.mark[:2] in ("B-", "S-", "U-")
            return opens or token.tag != first.tag
        other_entity = "O" in (first.mark, token.mark) or token.mark[2:] != first.mark[2:] or token.mark[:1] == "B"
        return other_entity or (source.side == "pred" and token.mark[:1] == "I" and token.tag != first.tag)

    mentions = []
    first = 0
    tokens = document.tokens
    for index in range(1, len(tokens) + 1):
        if index == len(tokens) or begins(tokens[first], tokens[index]):
            if tokens[first].tag not in UNLINKED:
                mentions.append((first, index, tokens[first].tag))
            first = index
    return mentions


def token_places(record: Record, field: str) -> list[Place]:
    """The tokens of a record: its own, or words and signs, cut where a span begins or ends.

    Raises:
        DataError: The record has no text.

    >>> token_places({"text": "L'année 1800", "entities": [{"start": 8, "end": 10}]}, "entities")
    [(0, 1), (1, 2), (2, 7), (8, 10), (10, 12)]
    """
    if "text" not in record:
        raise DataError(
            "this format needs the text; give these predictions theirs, or write jsonl", record=record["id"]
        )
    edges = sorted({edge for span in record[field] for edge in (span["start"], span["end"])})
    cut: list[Place] = []
    for start, end in record.get("tokens") or words.places(record["text"]):
        cut += pairwise([start, *(edge for edge in edges if start < edge < end), end])
    return cut


def cells(spans: Sequence[Record], tokens: Sequence[Place], record: object, *, links: bool = False) -> list[str]:
    """One cell a token: IOB2 tags, or the identifiers of links; tags cannot tell overlaps apart.

    Raises:
        DataError: A span is not a run of whole tokens, or its type has white space.

    >>> cells([{"start": 0, "end": 8, "type": "TOP"}], [(0, 3), (4, 8), (8, 9)], "d")
    ['B-TOP', 'I-TOP', 'O']
    """
    firsts = {start: index for index, (start, _) in enumerate(tokens)}
    lasts = {end: index + 1 for index, (_, end) in enumerate(tokens)}
    row = ["_" if links else "O"] * len(tokens)
    used: set[int] = set()
    for number, span in enumerate(spans):
        run = range(firsts.get(span["start"], 0), lasts.get(span["end"], 0))
        if span.get("fragments") or span["start"] not in firsts or not run or not used.isdisjoint(run):
            what = "this span is not a run of tokens of its own; write jsonl or brat"
            raise DataError(what, record=record, field=f"[{number}]")
        used.update(run)
        if links:
            ids = [identifier for identifiers in span.get("ids", {}).values() for identifier in identifiers]
            ids += [candidate["id"] for candidate in span.get("candidates", [])]
            row[run.start : run.stop] = ["|".join(ids) or "NIL"] * len(run)
        else:
            kind = span.get("type") or "ent"
            if kind.split() != [kind]:
                raise DataError(f"a type with white space ({kind!r}) is not allowed in a tag", record=record)
            row[run.start : run.stop] = [f"B-{kind}", *[f"I-{kind}"] * (len(run) - 1)]
    return row


def _write_hipe(path: str | Path, records: Iterable[Record], task: str, side: Side) -> None:
    """Write entities, or links, whose NE-COARSE cells keep neighbours apart."""
    lines = ["TOKEN\tNE-COARSE-LIT\tNEL-LIT\tMISC\n"]
    for record in records:
        places = token_places(record, SPANS[task])
        spans = record[SPANS[task]]
        text = record["text"]
        facts = {"document_id": record["id"], "language": record.get("language"), **(record.get("strata") or {})}
        lines += [f"# hipe2022:{key} = {facts[key]}\n" for key in ("document_id", *FACTS) if facts.get(key)]
        marks = cells(spans, places, record["id"])
        links = cells(spans if task == "linking" else (), places, record["id"], links=True)
        gaps = [text[end:start] for (_, end), (start, _) in pairwise(places)]
        for (start, end), mark, link, gap in zip(places, marks, links, [*gaps, " "], strict=True):
            misc = "_" if gap else "NoSpaceAfter"
            if "\n" in gap:
                misc = "EndOfLine"
            lines.append(f"{text[start:end]}\t{mark}\t{link}\t{misc}\n")
    files.save(path, "".join(lines))


READ = {"iob2": _documents, "conll": _documents, "hipe": _hipe_documents}
IOB2_FORMAT = Format(("extraction",), _tokenised_records, _write, options=TAG_OPTIONS, pair_rows=_pair_rows)
HIPE_FORMAT = Format(
    tuple(SPANS), _tokenised_records, _write_hipe, options=(*TAG_OPTIONS, "adjacent", "protocol"), pair_rows=_pair_rows
)

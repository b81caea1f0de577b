"""``trec``: judgements (qrels: ``query 0 document grade``) and runs (``query Q0 document rank score tag``).

As in trec_eval, a run's rank column is ignored, because the scores give the order; so is what follows its sixth column,
and in both files a line that begins with ``#``. A grade under 0 says that a document of the pool was not judged (-1;
the web tracks' -2 is spam): it is left out, which gives what trec_eval gives for every measure here (its infAP would
need to know of the pool). Judgements may have three columns, as BEIR's: ``query-id corpus-id score``, with that header
or without it. The text of the queries is in neither file; the option ``topics`` names a file that has it
(``id<TAB>text`` a line), else the query's id stands for it.

Source: https://trec.nist.gov/data/qrels_eng/, trec_eval's README and its get_qrels.c
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source
from goldassay.gold.records import grades
from goldassay.gold.shapes import Side

TASKS = ("retrieval",)
OPTIONS = ("topics",)
KINDS = {
    3: "BEIR's qrels (query document grade)",
    4: "qrels (query 0 document grade)",
    6: "a run (query Q0 document rank score tag)",
}

BEIR = ["query-id", "corpus-id", "score"]


def rows(source: Source) -> Iterator[Row]:
    """One record a query, in the order in which they appear."""
    return _qrels(source) if source.side == "gold" else _run(source)


def _cells(source: Source, width: int) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line with its number; what follows the sixth column of a run is cut off, with a warning."""
    longer, begun = 0, False
    for number, line in enumerate(files.lines(source.path), start=1):
        cells = line.split()
        if not cells or line.startswith("#"):
            continue
        if len(cells) > width == 6:
            longer += 1
            cells = cells[:width]
        if width == 4 and len(cells) == 3 and not begun:
            width = 3
            if cells == BEIR:
                continue
        begun = True
        with source.checking("unreadable", line=number):
            if len(cells) != width:
                hint = f"is this {KINDS[len(cells)]}?" if len(cells) in KINDS else "is the line cut off?"
                raise DataError(f"{len(cells)} columns where {KINDS[width]} has {width}; {hint}")
            yield number, cells if width != 3 else [cells[0], "0", *cells[1:]]
    if longer:
        message = f"{longer} lines of {source.path} have more than six columns; what follows is ignored"
        source.warnings.append(message)


def _qrels(source: Source) -> Iterator[Row]:
    topics = _topics(source.option("topics"))
    judged: dict[str, dict[str, int]] = {}
    for number, (query, _, document, cell) in _cells(source, 4):
        with source.checking(line=number, record=query):
            whole = cell.removesuffix(".0")
            if not whole.removeprefix("-").isdecimal():
                raise DataError(f"a grade is a whole number, not {cell!r}")
            grade = int(whole)
            if grade < 0 and source.audit:
                raise DataError(f"grade {grade} of {document} is under 0: it counts as not judged")
            documents = judged.setdefault(query, {})
            with source.checking("repeated", line=number, record=query):
                if document in documents:
                    raise DataError(f"document {document} is judged twice")
                documents[document] = grade
    for query, documents in judged.items():
        relevant = {document: grade for document, grade in documents.items() if grade >= 0}
        yield Row({"id": query, "query": topics.get(query, query), "relevant": relevant})
    negative = sum(grade < 0 for documents in judged.values() for grade in documents.values())
    if negative:
        source.warnings.append(f"{negative} grades of {source.path} are under 0; these documents count as not judged")


def _run(source: Source) -> Iterator[Row]:
    ranked: dict[str, dict[str, dict[str, Any]]] = {}
    for number, (query, _, document, _, cell, tag) in _cells(source, 6):
        with source.checking(line=number, record=query):
            score = float(cell)
            if not math.isfinite(score):
                raise DataError(f"the score of {document} is {cell}")
            with source.checking("repeated", line=number, record=query):
                if document in ranked.get(query, ()):
                    raise DataError(f"document {document} stands twice in the results")
                ranked.setdefault(query, {})[document] = {"doc_id": document, "score": score, "source": tag}
    for query, results in ranked.items():
        yield Row({"id": query, "results": list(results.values())})


def _topics(path: str | Path | None) -> dict[str, str]:
    topics: dict[str, str] = {}
    for number, line in enumerate(files.lines(path) if path else (), start=1):
        name, tab, text = line.partition("\t")
        if line.strip() and (not tab or name in topics):
            raise DataError(
                f"a topic is an id of its own, a tab and a text, found {line!r:.60}", file=path, line=number
            )
        topics[name] = text
    return topics


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write qrels or a run, ranks in the order of the results."""
    lines = []
    for record in records:
        query = _word(record["id"], record)
        for document, grade in grades(record).items() if side == "gold" else ():
            if grade != int(grade):
                message = f"the grade of {document} is {grade:g}, and TREC has whole ones; write jsonl"
                raise DataError(message, record=record["id"])
            lines.append(f"{query} 0 {_word(document, record)} {int(grade)}\n")
        for rank, result in enumerate(record["results"] if side == "pred" else (), start=1):
            score = float(-rank if result.get("score") is None else result["score"])
            name, tag = _word(result["doc_id"], record), result.get("source") or "goldassay"
            lines.append(f"{query}\tQ0\t{name}\t{rank}\t{score!r}\t{tag}\n")
    files.save(path, "".join(lines))


def _word(name: str, record: Mapping[str, object]) -> str:
    if not name or name.split() != [name]:
        raise DataError(f"an id with white space ({name!r}) cannot stand in a TREC file", record=record["id"])
    return name

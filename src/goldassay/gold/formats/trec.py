"""``trec``: judgements (qrels: ``query 0 document grade``) and runs (``query Q0 document rank score tag``).

As in trec_eval, a run's rank column is ignored, because the scores give the order; so is what follows its sixth column,
and in both files a line that begins with ``#``. A grade under 0 says that a document of the pool was not judged (-1;
the web tracks' -2 is spam): it is left out, which gives what trec_eval gives for every measure here (its infAP would
need to know of the pool). Judgements may have three columns, as BEIR's: ``query-id corpus-id score``, with that header
or without it; `by_query` reads the same from tables and JSON of other tools. The text of the queries is in neither
file; the option ``topics`` names a file that has it (``id<TAB>text`` a line), else the query's id stands for it.

Source: https://trec.nist.gov/data/qrels_eng/, trec_eval's README and its get_qrels.c
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.gold.formats import Format, Source, SourceRecord
from goldassay.gold.records import grades
from goldassay.gold.shapes import Side

QUERY_COLUMNS = ("query_id", "qid", "q_id", "topic", "topic_id")
DOCUMENT_COLUMNS = ("doc_id", "docid", "docno", "corpus_id", "pid", "document_id", "passage_id")
NUMBER_COLUMNS = ("relevance", "rel", "grade", "label", "score")


def _queries(source: Source) -> Iterator[SourceRecord]:
    """One record a query, in the order in which they appear."""
    gold = source.side == "gold"
    layout = "query 0 document grade, or query document grade" if gold else "query Q0 document rank score tag"
    path = source.option("topics")
    topics: dict[str, str] = {}
    for number, line in enumerate(files.lines(path) if path else (), start=1):
        name, tab, text = line.partition("\t")
        if line.strip() and (not tab or name in topics):
            what = f"a topic is an id of its own, a tab and a text, found {line!r:.60}"
            raise DataError(what, file=path, line=number)
        topics[name] = text
    negative = 0
    width = 0
    queries: dict[str, Fields] = {}
    for number, line in source.filled_lines():
        cells = line.split()
        if line.startswith("#") or cells == ["query-id", "corpus-id", "score"]:
            continue
        with source.checking("unreadable", line=number):
            width = width or len(cells)  # a line that is cut off is not one of BEIR's
            if width not in (3, 4) or len(cells) != width if gold else len(cells) < 6:
                raise DataError(f"{len(cells)} columns, where there are: {layout}")
            query = cells[0]
            document = cells[-2] if gold else cells[2]
            cell = cells[-1] if gold else cells[4]
            with source.checking(line=number, record=query):
                if gold and not cell.removesuffix(".0").removeprefix("-").isdecimal():
                    raise DataError(f"a grade is a whole number, not {cell!r}")
                value = int(cell.removesuffix(".0")) if gold else float(cell)
                if not math.isfinite(value):
                    raise DataError(f"the score of {document} is {cell}")
                if gold and value < 0 and source.audit:
                    raise DataError(f"grade {cell} of {document} is under 0: it counts as not judged")
                negative += gold and value < 0
                documents = queries.setdefault(query, {})
                with source.checking("repeated", line=number, record=query):
                    if document in documents:
                        raise DataError(f"document {document} {'is judged' if gold else 'is listed'} twice")
                    documents[document] = value if gold else {"doc_id": document, "score": value, "source": cells[5]}
    for query, documents in queries.items():
        if gold:
            relevant = {document: grade for document, grade in documents.items() if grade >= 0}
            yield SourceRecord({"id": query, "query": topics.get(query, query), "relevant": relevant})
        else:
            yield SourceRecord({"id": query, "results": list(documents.values())})
    _warn_of_negative(source, negative)


def _warn_of_negative(source: Source, count: int) -> None:
    if count:
        source.warnings.append(f"{count} grades of {source.path} are under 0; these documents count as not judged")


def is_by_query(content: object) -> bool:
    """Whether these are judgements or a run as ``{query: {document: number}}``."""
    return (
        isinstance(content, Mapping)
        and bool(content)
        and all(isinstance(documents, Mapping) for documents in content.values())
        and all(isinstance(number, (int, float)) for each in content.values() for number in each.values())
    )


def by_query(content: object, source: Source) -> list[JsonObject] | None:
    """A record a query, of judgements or a run as other tools hold them; None if they are not held like this.

    That is ``{query: {document: number}}``, in Python also ``{query: [document, …]}``, or a row for each pair of query
    and document with a column for the number (of a run also its rank), as the tables of BEIR and data frames of ranx
    have.

    Raises:
        DataError: A document is twice with one query, or its number is none.
    """
    numbers: dict[str, dict[str, float]] = {}
    lists = (list, tuple) if source.side == "pred" else (list, tuple, set, frozenset)
    if (
        isinstance(content, Mapping)
        and all(isinstance(names, lists) for names in content.values())
        and not any(isinstance(name, Mapping) for names in content.values() for name in names)
        and "query" not in content  # as in a table by its columns
    ):
        for key, names in content.items():
            numbers[str(key)] = {str(name): 1 if source.side == "gold" else -at for at, name in enumerate(names)}
    elif isinstance(content, Mapping) and is_by_query(content):
        numbers = {str(query): {str(name): each[name] for name in each} for query, each in content.items()}
    elif isinstance(content, list) and content and isinstance(content[0], Mapping):
        folded = {str(name).lower().replace("-", "_"): name for name in content[0]}

        def column(names: Sequence[str]) -> str | None:
            return next((folded[name] for name in names if name in folded), None)

        query = column(QUERY_COLUMNS)
        document = column(DOCUMENT_COLUMNS)
        number = column(NUMBER_COLUMNS)
        rank = column(["rank"])
        if query is None or document is None or (number or rank) is None:
            return None
        for row in content:
            documents = numbers.setdefault(str(row[query]), {})
            if str(row[document]) in documents:
                raise DataError(f"document {row[document]} is listed twice", file=source.path, record=row[query])
            try:
                documents[str(row[document])] = -float(row[rank]) if number is None else float(row[number])
            except (TypeError, ValueError):
                what = f"{number or rank} of {row[document]} is {row[number or rank]!r}, not a number"
                raise DataError(what, file=source.path, record=row[query]) from None
    else:
        return None
    if source.side == "pred":
        return [
            {"id": query, "results": [{"doc_id": name, "score": score} for name, score in documents.items()]}
            for query, documents in numbers.items()
        ]
    _warn_of_negative(source, sum(grade < 0 for documents in numbers.values() for grade in documents.values()))
    return [
        {"id": query, "query": query, "relevant": {name: grade for name, grade in documents.items() if grade >= 0}}
        for query, documents in numbers.items()
    ]


def write(path: str | Path, records: Iterable[Record], task: str, side: Side) -> None:
    """Write qrels or a run, ranks in the order of the results.

    Raises:
        DataError: A grade is not a whole number, or an id has white space.
    """
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
            name = _word(result["doc_id"], record)
            tag = result.get("source") or "goldassay"
            lines.append(f"{query}\tQ0\t{name}\t{rank}\t{score!r}\t{tag}\n")
    files.save(path, "".join(lines))


def _word(name: str, record: Mapping[str, object]) -> str:
    if not name or name.split() != [name]:
        raise DataError(f"an id with white space ({name!r}) is not allowed in a TREC file", record=record["id"])
    return name


TREC_FORMAT = Format(("retrieval",), _queries, write, options=("topics",), ignored="queries")

"""``trec``: judgements (qrels: ``query 0 document grade``) and runs (``query Q0 document rank score tag``).

A run's rank column is ignored, as in trec_eval: the scores give the order. So is what follows its sixth column, in
both files a line that begins with ``#``, and a query of a run that has no judgements. A grade under 0 says that a
document of the pool was not judged (-1; the web tracks' -2 is spam): it is left out, which gives what trec_eval gives
for every measure here (its infAP would need to know of the pool). The text of the queries is not in either file;
``topics`` names a file that has it (``id<TAB>text`` a line), else the query's id stands for it.

Source: https://trec.nist.gov/data/qrels_eng/, trec_eval's README and its get_qrels.c
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Skipping, Wrong, stop
from goldassay.gold.records import Side

TASKS = ("retrieval",)
KINDS = {4: "qrels (query 0 document grade)", 6: "a run (query Q0 document rank score tag)"}


def read(
    path: str | Path, task: str, side: Side = "gold", *, topics: str | Path | None = None, wrong: Wrong = stop
) -> list[dict[str, object]]:
    """One record a query, in the order in which they appear.

    Args:
        path: The file.
        task: The task.
        side: ``gold`` or ``pred``.
        topics: The file of the queries' texts.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    if task not in TASKS:
        raise GoldassayError(f"format trec holds retrieval, not {task}")
    with files.uncollected():
        return _qrels(path, topics, wrong) if side == "gold" else _run(path, wrong)


def remarks(path: str | Path) -> list[str]:
    """What is to be said of a file that was read: lines of a run that go on after the sixth column, grades under 0."""
    rows = [line.split() for line in files.lines(path) if not line.startswith("#")]
    longer = sum(len(cells) > 6 for cells in rows)
    under = sum(len(cells) == 4 and cells[3].startswith("-") and cells[3] != "-0" for cells in rows)
    said = [f"{longer} lines of {path} have more than six columns; what follows is ignored"] if longer else []
    return said + ([f"{under} grades of {path} are under 0; these documents count as not judged"] if under else [])


def _rows(path: str | Path, width: int, wrong: Wrong = stop) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(files.lines(path), start=1):
        cells = line.split()
        if not cells or line.startswith("#"):
            continue
        if len(cells) > width == 6:
            cells = cells[:width]
        if len(cells) != width:
            other = f"; is this {KINDS[len(cells)]}?" if len(cells) in KINDS else "; is the line cut off?"
            wrong(DataError(f"{len(cells)} columns where {KINDS[width]} has {width}{other}", file=path, line=number))
            continue
        yield number, cells


def _qrels(path: str | Path, topics: str | Path | None, wrong: Wrong) -> list[dict[str, Any]]:
    queries = _topics(topics) if topics else {}
    found: dict[str, dict[str, float]] = {}
    seen: dict[str, set[str]] = {}
    for number, (query, _, document, cell) in _rows(path, 4, wrong):
        try:
            grade = int(cell.removesuffix(".0"))
        except ValueError:
            said = f"a grade is a whole number, not {cell!r}"
            wrong(DataError(said, file=path, line=number, record=query), "schema")
            continue
        if grade < 0 and wrong is not stop and not isinstance(wrong, Skipping):  # an audit tells it; reading goes on
            said = f"grade {grade} of {document} is under 0: it counts as not judged"
            wrong(DataError(said, file=path, line=number, record=query), "schema")
            continue
        judged = found.setdefault(query, {})
        if document in seen.setdefault(query, set()):
            wrong(DataError(f"document {document} is judged twice", file=path, line=number, record=query), "repeated")
        elif grade >= 0:
            judged[document] = grade
        seen[query].add(document)
    return [{"id": query, "query": queries.get(query, query), "relevant": kept} for query, kept in found.items()]


def _run(path: str | Path, wrong: Wrong) -> list[dict[str, Any]]:
    found: dict[str, list[dict[str, Any]]] = {}
    seen: dict[str, set[str]] = {}
    for number, (query, _, document, _, cell, tag) in _rows(path, 6, wrong):
        try:
            score = float(cell)
        except ValueError:
            wrong(DataError(f"a score is a number, not {cell!r}", file=path, line=number, record=query), "schema")
            continue
        if not math.isfinite(score):
            wrong(DataError(f"the score of {document} is {cell}", file=path, line=number, record=query), "schema")
            continue
        known = seen.setdefault(query, set())
        if document in known:
            said = f"document {document} stands twice in the results"
            wrong(DataError(said, file=path, line=number, record=query), "repeated")
            continue
        known.add(document)
        found.setdefault(query, []).append({"doc_id": document, "score": score, "source": tag})
    return [{"id": query, "results": results} for query, results in found.items()]


def _topics(path: str | Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(files.lines(path), start=1):
        if not line.strip():
            continue
        name, tab, text = line.partition("\t")
        if not tab:
            raise DataError("a topic is an id, a tab and a text", file=path, line=number)
        if name in found:
            raise DataError("duplicate topic", file=path, line=number, record=name)
        found[name] = text
    return found


def write(
    path: str | Path,
    records: Iterable[Mapping[str, Any]],
    task: str,
    side: Side = "gold",
    *,
    topics: str | Path | None = None,
) -> None:
    """Write qrels or a run; ranks are counted in the order of the results. ``topics`` gets the queries' texts.

    Args:
        path: The file.
        records: The records to write.
        task: The task.
        side: ``gold`` or ``pred``.
    """
    if task not in TASKS:
        raise GoldassayError(f"format trec holds retrieval, not {task}")
    lines, texts = [], []
    for record in records:
        query = _word(record["id"], record)
        if topics is not None and side == "gold":
            texts.append(f"{query}\t{_line(record['query'], record)}\n")
        if side == "gold":
            relevant = record["relevant"]
            grades = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1)
            lines += [
                f"{query} 0 {_word(name, record)} {_grade(grade, name, record)}" for name, grade in grades.items()
            ]
            continue
        for rank, result in enumerate(record["results"], start=1):
            score = result.get("score")
            name = _word(result["doc_id"], record)
            number = repr(float(score)) if score is not None else repr(float(-rank))
            lines.append(f"{query}\tQ0\t{name}\t{rank}\t{number}\t{(result.get('source') or 'goldassay')}")
    files.save(path, "".join(f"{line}\n" for line in lines))
    if topics is not None and side == "gold":
        files.save(topics, "".join(texts))


def _line(text: str, record: Mapping[str, object]) -> str:
    if "\n" in text or "\r" in text:
        raise DataError("a line break cannot stand in a topic; write jsonl", record=record["id"], field="query")
    return text


def _grade(grade: float, name: str, record: Mapping[str, object]) -> int:
    if grade != int(grade):
        raise DataError(f"the grade of {name} is {grade:g}, and TREC has whole ones; write jsonl", record=record["id"])
    return int(grade)


def _word(name: str, record: Mapping[str, object]) -> str:
    if not name or name.split() != [name]:
        raise DataError(f"an id with white space ({name!r}) cannot stand in a TREC file", record=record["id"])
    return name

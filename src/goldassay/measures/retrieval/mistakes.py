"""What went wrong in one ranking, in words: which relevant document stood where, and what stood above it."""

from __future__ import annotations

from typing import Any

from goldassay.fields import read
from goldassay.measure import Error, Review, failed
from goldassay.measures.retrieval.batch import Batch

DEEP = 100  # below this rank a relevant document counts as buried, and what stands above is not listed
SHOWN = 3


def errors(gold: object, pred: object, ties: str = "docno_desc") -> Review:
    """The errors of one query, and what was right.

    >>> errors({"relevant": ["a"]}, {"results": ["b"]})[0][0].message
    'Relevant document a (grade 1) was not retrieved: it is not among the 1 results.'
    """
    batch = Batch.of([gold], [pred])
    judged, ranking, texts = batch.judged[0], batch.ranking(0, ties), _texts(pred)
    relevant = sorted((document for document, grade in judged.items() if grade > 0), key=lambda d: (-judged[d], d))
    rank = {document: place for place, document in enumerate(ranking)}
    mistakes, right = [], []
    for document in relevant:
        place, grade = rank.get(document), judged[document]
        if place is None:
            mistakes.append(_missed(document, grade, len(ranking), bool(failed(pred))))
            continue
        above = [other for other in ranking[:place] if judged.get(other, 0) < grade]
        if above:
            mistakes.append(_outranked(document, place, above, judged, texts))
        else:
            right.append(f"{document} (grade {grade:g}) at rank {place + 1}")
    if not relevant and ranking:
        message = f"No document is relevant to this query, and {len(ranking)} were retrieved."
        mistakes.append(Error("spurious", message, pred=ranking[0], field="results"))
    return tuple(mistakes), tuple(right)


def _missed(document: str, grade: float, count: int, failure: bool) -> Error:
    absent = f"it is not among the {count} results" if count else "there are no results"
    why = "the program failed" if failure else absent
    message = f"Relevant document {document} (grade {grade:g}) was not retrieved: {why}."
    return Error("missed", message, gold=document, field="results")


def _outranked(document: str, place: int, above: list[str], judged: Any, texts: dict[str, str]) -> Error:
    def described(other: str) -> str:
        grade = f"grade {judged[other]:g}" if other in judged else "not judged"
        return f"{grade}, “{texts[other]}”" if other in texts else grade

    listed = ", ".join(f"{other} ({described(other)})" for other in above[:SHOWN])
    more = f" and {len(above) - SHOWN} more" if len(above) > SHOWN else ""
    below = f"{listed}{more}" if place < DEEP else f"{len(above)} less relevant documents"
    message = f"Relevant document {document} ({described(document)}) stood at rank {place + 1}, below {below}."
    return Error("outranked", message, gold=document, pred=above[0], context=texts.get(document, ""), field="results")


def _texts(pred: Any) -> dict[str, str]:
    """The first words of the documents whose text is at hand."""
    results = read(pred, "results", None)
    listed = results if isinstance(results, (list, tuple)) else ()
    texts = {str(read(result, "doc_id", "")): read(result, "text", None) for result in listed}
    return {document: " ".join(str(text).split())[:60] for document, text in texts.items() if text}

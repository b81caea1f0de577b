"""What went wrong in one ranking, in words: which relevant document stood where, and what stood above it."""

from __future__ import annotations

from typing import Any

from goldassay.fields import read
from goldassay.measure import Error, failed
from goldassay.measures.retrieval.matching import Batch

DEEP = 100  # below this rank a relevant document counts as buried, and what stands above is not listed
SHOWN = 3


def found(
    batch: Batch, gold: object, pred: object, ties: str = "docno_desc"
) -> tuple[tuple[Error, ...], tuple[str, ...]]:
    """The errors of one query, and what was right."""
    judged = batch.judged[0]
    relevant = sorted((document for document, grade in judged.items() if grade > 0), key=lambda d: (-judged[d], d))
    ranking = batch.ranking(0, ties)
    rank = {document: place for place, document in enumerate(ranking)}
    texts = _texts(pred)
    errors, right = [], []
    for document in relevant:
        place, grade = rank.get(document), judged[document]
        if place is None:
            errors.append(_missed(document, grade, len(ranking), bool(failed(pred))))
            continue
        above = [other for other in ranking[:place] if judged.get(other, 0) < grade]
        if not above:
            right.append(f"{document} (grade {grade:g}) at rank {place + 1}")
            continue
        errors.append(_outranked(document, grade, place, above, judged, texts))
    if not relevant and ranking:
        message = f"No document is relevant to this query, and {len(ranking)} were retrieved."
        errors.append(Error("spurious", message, pred=ranking[0], field="results"))
    return tuple(errors), tuple(right)


def _missed(document: str, grade: float, count: int, failure: bool) -> Error:
    among = "there are no results" if not count else f"it is not among the {count} results"
    why = "the program failed" if failure else among
    message = f"Relevant document {document} (grade {grade:g}) was not retrieved: {why}."
    return Error("missed", message, gold=document, field="results")


def _outranked(document: str, grade: float, place: int, above: list[str], judged: Any, texts: dict[str, str]) -> Error:
    shown = [f"{other} ({_grade(judged, other)}{_quoted(texts, other)})" for other in above[:SHOWN]]
    more = f" and {len(above) - SHOWN} more" if len(above) > SHOWN else ""
    where = f"{', '.join(shown)}{more}" if place < DEEP else f"{len(above)} less relevant documents"
    message = (
        f"Relevant document {document} (grade {grade:g}{_quoted(texts, document)}) stood at rank {place + 1}, "
        f"below {where}."
    )
    return Error("outranked", message, gold=document, pred=above[0], context=texts.get(document, ""), field="results")


def _grade(judged: Any, document: str) -> str:
    return f"grade {judged[document]:g}" if document in judged else "not judged"


def _quoted(texts: dict[str, str], document: str) -> str:
    return f", “{texts[document]}”" if document in texts else ""


def _texts(pred: Any) -> dict[str, str]:
    """The first words of the documents whose text is at hand."""
    results = read(pred, "results", None)
    if not isinstance(results, (list, tuple)):
        return {}
    out = {}
    for result in results:
        text = None if isinstance(result, str) else read(result, "text", None)
        if text:
            out[str(read(result, "doc_id"))] = " ".join(str(text).split())[:60]
    return out

"""The errors of one ranking, in words: the rank of each relevant document, and the documents above it."""

from __future__ import annotations

from goldassay.core.fields import read
from goldassay.core.measure import Error, Review, failed
from goldassay.measures.retrieval.records import RankingBatch

DEEP = 100  # below this rank the documents above a relevant one are not listed


def review(batch: RankingBatch, index: int, ties: str = "docno_desc") -> Review:
    """The errors of one query of a batch, and what was right.

    >>> review(RankingBatch.of([{"relevant": ["a"]}], [{"results": ["b"]}]), 0)[0][0].message
    'Relevant document a (grade 1) was not retrieved: it is not among the 1 results.'
    """
    limit = 3
    judged = batch.judged[index]
    ranking = batch.ranking(index, ties)
    pred = batch.predictions[index]
    results = read(pred, "results", None)
    rows = results if isinstance(results, (list, tuple)) else ()
    texts = {str(read(row, "doc_id", "")): " ".join(str(read(row, "text", None) or "").split())[:60] for row in rows}

    def described(document: str) -> str:
        grade = f"grade {judged[document]:g}" if document in judged else "not judged"
        text = texts.get(document)
        return f"{document} ({grade}, “{text}”)" if text else f"{document} ({grade})"

    rank = {document: position for position, document in enumerate(ranking)}
    relevant = sorted((document for document, grade in judged.items() if grade > 0), key=lambda d: (-judged[d], d))
    mistakes: list[Error] = []
    right: list[str] = []
    for document in relevant:
        graded = f"{document} (grade {judged[document]:g})"
        position = rank.get(document)
        above = [other for other in ranking[:position] if judged.get(other, 0) < judged[document]]
        if position is None:
            why = f"it is not among the {len(ranking)} results" if ranking else "there are no results"
            message = f"Relevant document {graded} was not retrieved: {'the program failed' if failed(pred) else why}."
            mistakes.append(Error("missed", message, gold=document, field="results"))
        elif above:
            more = f" and {len(above) - limit} more" if len(above) > limit else ""
            below = ", ".join(map(described, above[:limit])) + more
            below = below if position < DEEP else f"{len(above)} less relevant documents"
            message = f"Relevant document {described(document)} is at rank {position + 1}, below {below}."
            text = texts.get(document, "")
            mistakes.append(Error("outranked", message, gold=document, pred=above[0], context=text, field="results"))
        else:
            right.append(f"{graded} at rank {position + 1}")
    if not relevant and ranking and batch.named[index]:
        message = f"No document is relevant to this query, and {len(ranking)} were retrieved."
        mistakes.append(Error("spurious", message, pred=ranking[0], field="results"))
    return tuple(mistakes), tuple(right)

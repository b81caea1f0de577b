"""The plain functions of the founding documents, under their names and with their result keys, computed right.

What differs from the documents: the gain is linear, the ideal is made of all judged documents, grades are not
flattened, results are put in order by their scores, a document may stand once, recall of a query without relevant
documents is left out instead of being 1, and shares of sources are over the results that exist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log2

import numpy as np

from goldassay.fields import read
from goldassay.measures.retrieval import scorecard

NAMES = {"ndcg": "nDCG", "precision": "P", "recall": "R"}


def ndcg_at_k(relevance_scores: Sequence[float], k: int = 10, *, judged: Sequence[float] | None = None) -> float:
    """nDCG of one ranking, from the grades of its documents in order.

    ``judged`` are the grades of all judged documents, retrieved or not: the ideal is made of them. Without it the ideal
    is made of the grades given, which is right only if every relevant document was retrieved.

    >>> round(ndcg_at_k([0, 2, 1], k=3, judged=[3, 2, 1]), 4), round(ndcg_at_k([0, 2, 1], k=3), 4)
    (0.37, 0.6697)
    """
    best = sorted(relevance_scores if judged is None else judged, reverse=True)
    dcg, ideal = (
        sum(grade / log2(place) for place, grade in enumerate(grades[:k], 2)) for grades in (relevance_scores, best)
    )
    return dcg / ideal if ideal > 0 else 0.0


def compute_retrieval_metrics(
    queries: Sequence[Mapping[str, object]], k_values: Sequence[int] = (5, 10, 20)
) -> dict[str, float | None]:
    """``ndcg@k``, ``precision@k`` and ``recall@k`` for each k, and ``mrr``: means over the queries.

    A query has ``results`` and ``gold_relevant``, which is a list of ids or a mapping from ids to grades.

    >>> compute_retrieval_metrics([{"results": [{"doc_id": "a", "score": 1.0}], "gold_relevant": ["a", "b"]}], [1])
    {'ndcg@1': 1.0, 'precision@1': 1.0, 'recall@1': 0.5, 'mrr': 1.0}
    """
    names = {f"{ours}@{k}": f"{name}@{k}" for ours, name in NAMES.items() for k in k_values} | {"mrr": "RR"}
    gold = [{"relevant": query["gold_relevant"], "id": query.get("query")} for query in queries]
    values = scorecard(gold, queries, measures=list(names.values())).values
    return {ours: values[name] for ours, name in names.items()}


def retrieval_source_analysis(query_results: Sequence[object], depth: int = 10) -> dict[str, dict[str, float]]:
    """How much each source contributes: its share of the first ``depth`` results, of the first, of the first five.

    All three are over the results that exist: five queries with one result each have five results among their first
    five, not twenty-five. ``source_counts`` are the counts behind ``source_distribution``.

    >>> found = retrieval_source_analysis([{"results": [{"doc_id": "a", "score": 2, "source": "bm25"}]}])
    >>> found["source_distribution"], found["top5_by_source"]
    ({'bm25': 1.0}, {'bm25': 1.0})
    """
    seen: dict[int, Counter[str]] = {depth: Counter(), 1: Counter(), 5: Counter()}
    for query in query_results:
        results = list(read(query, "results"))
        if all(read(result, name, None) is not None for result in results for name in ("doc_id", "score")):
            results.sort(key=lambda each: (np.float32(read(each, "score")), str(read(each, "doc_id"))), reverse=True)
        for k, counter in seen.items():
            counter.update(str(read(result, "source", None) or "unknown") for result in results[:k])
    return {
        "source_distribution": _shares(seen[depth]),
        "top1_by_source": _shares(seen[1]),
        "top5_by_source": _shares(seen[5]),
        "source_counts": {source: float(count) for source, count in seen[depth].most_common()},
    }


def _shares(counter: Counter[str]) -> dict[str, float]:
    total = counter.total()
    return {source: count / total for source, count in counter.most_common()}

"""Retrieval beside pytrec_eval and ir_measures: nDCG, P and R at 5, 10 and 20, and RR, from mappings.

The last row starts from records, as `scorecard` does; the opponent then needs its mappings made from them first.
"""

from __future__ import annotations

import random
from typing import Any

from benchmarks.harness import close, versus

from goldassay.measures import retrieval
from goldassay.measures.retrieval.records import RankingBatch

CUTS = (5, 10, 20)
NAMES = {
    **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in CUTS},
    **{f"P_{k}": f"P@{k}" for k in CUTS},
    **{f"recall_{k}": f"R@{k}" for k in CUTS},
    "recip_rank": "RR",
}
ASKED = {"ndcg_cut.5,10,20", "P.5,10,20", "recall.5,10,20", "recip_rank"}
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def collection(queries: int, depth: int, seed: int = 0) -> tuple[Qrels, Run]:
    """About 20 judged documents a query, three in five retrieved, mostly near the top; scores in no order."""
    rng = random.Random(seed)
    pool = [f"Q{100_000 + number}" for number in range(200_000)]
    qrels: Qrels = {}
    run: Run = {}
    for number in range(queries):
        documents = rng.sample(pool, depth + 30)
        scored = [(document, depth - place + 0.9 * rng.random()) for place, document in enumerate(documents[:depth])]
        judged = rng.randint(5, 35)
        retrieved = {documents[int(depth * rng.random() ** 3)] for _ in range(int(0.6 * judged))}
        grades = {
            document: rng.randint(0, 3)
            for document in [*retrieved, *documents[depth : depth + judged - len(retrieved)]]
        }
        grades[documents[depth]] = max(1, grades.get(documents[depth], 1))
        rng.shuffle(scored)
        qrels[f"q{number}"], run[f"q{number}"] = grades, dict(scored)
    return qrels, run


def pytrec_eval(qrels: Qrels, run: Run) -> dict[str, float]:
    import pytrec_eval

    values = pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run)
    return {ours: sum(row[theirs] for row in values.values()) / len(values) for theirs, ours in NAMES.items()}


def ir_measures(qrels: Qrels, run: Run) -> dict[str, float]:
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in NAMES.values()]
    return {str(measure): value for measure, value in ir_measures.calc_aggregate(measures, qrels, run).items()}


def compare(queries: int, depth: int, target: float) -> None:
    names = list(NAMES.values())
    qrels, run = collection(queries, depth)
    job = f"10 measures, {queries} queries × {depth} results"

    def ours() -> Any:
        batch = RankingBatch(list(qrels.values()), [run.get(query) or {} for query in qrels], list(qrels))
        return {name: retrieval.named(name).tallies(batch).summed.value for name in names}

    versus(job, "pytrec_eval", lambda: pytrec_eval(qrels, run), ours, close, target)
    versus(job, "ir_measures", lambda: ir_measures(qrels, run), ours, close, 5)


def from_records(queries: int, depth: int, target: float) -> None:
    qrels, run = collection(queries, depth)
    gold: list[dict[str, Any]] = [{"id": query, "relevant": judged} for query, judged in qrels.items()]
    pred: list[dict[str, Any]] = [
        {"id": query, "results": [{"doc_id": name, "score": score} for name, score in scores.items()]}
        for query, scores in run.items()
    ]

    def mapped() -> Any:
        scores = {row["id"]: {result["doc_id"]: result["score"] for result in row["results"]} for row in pred}
        return pytrec_eval({row["id"]: row["relevant"] for row in gold}, scores)

    def ours() -> Any:
        return retrieval.scorecard(gold, pred, measures=list(NAMES.values())).values

    versus(f"the same from records, {queries} × {depth}", "mappings + pytrec_eval", mapped, ours, close, target)


def main() -> None:
    compare(10_000, 100, 3)
    compare(2_000, 1_000, 3)
    from_records(10_000, 100, 1.5)


if __name__ == "__main__":
    main()

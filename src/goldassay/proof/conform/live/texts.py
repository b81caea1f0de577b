"""Retrieval beside pytrec_eval (trec_eval itself) and ir_measures; ROUGE beside rouge-score."""

from __future__ import annotations

from typing import Any

import numpy as np

from goldassay.measures import retrieval
from goldassay.measures.answering import rouge_batch
from goldassay.proof.conform.live.cases import answers, judged
from goldassay.proof.conform.suite import SuiteResult

CUTS = (1, 5, 10, 20, 1000)
TREC_EVAL = {
    **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in CUTS},
    **{f"P_{k}": f"P@{k}" for k in CUTS},
    **{f"recall_{k}": f"R@{k}" for k in CUTS},
    **{f"success_{k}": f"Success@{k}" for k in (1, 5, 10)},
    **{f"map_cut_{k}": f"AP@{k}" for k in (5, 10)},
    **{"ndcg": "nDCG", "recip_rank": "RR", "map": "AP", "bpref": "Bpref", "Rprec": "Rprec"},
}
"""What trec_eval calls our measures."""
IR_MEASURES = (
    "nDCG@10", "P(rel=2)@5", "RR", "RR(rel=2)", "AP(rel=2)", "AP@10", "R(rel=2)@10", "Rprec(rel=2)", "Bpref(rel=2)",
    "Success(rel=2)@5", "Judged@10", "P@5",
)  # fmt: skip
KINDS = ("1", "2", "L", "Lsum")


def pytrec_eval(result: SuiteResult) -> None:
    """Twenty-five measures of every query, by trec_eval's own code."""
    import pytrec_eval as oracle

    qrels, run = judged()
    asked = {f"{name}.{','.join(map(str, CUTS))}" for name in ("ndcg_cut", "P", "recall")}
    asked |= {"success.1,5,10", "map_cut.5,10", "ndcg", "recip_rank", "map", "bpref", "Rprec"}
    ours = retrieval.evaluate(qrels, run, list(TREC_EVAL.values()))
    for query, values in oracle.RelevanceEvaluator(qrels, asked).evaluate(run).items():
        for theirs, name in TREC_EVAL.items():  # what does not apply to a query is 0 in trec_eval
            result.near(f"{name} of {query}", float(values[theirs]), ours[name].get(query, 0.0))


def ir_measures(result: SuiteResult) -> None:
    """Twelve measures, some with another grade that counts as relevant, of every query with something relevant."""
    import ir_measures as oracle

    every, run = judged()
    qrels = {query: row for query, row in every.items() if any(row.values())}
    kept: dict[str, dict[str, float]] = {query: run[query] for query in qrels}
    ours = retrieval.evaluate(qrels, kept, list(IR_MEASURES))
    known: dict[Any, str] = {oracle.parse_measure(name): name for name in IR_MEASURES}
    for found in oracle.iter_calc(list(known), qrels, kept):
        name = known[found.measure]
        if name != "Judged@10" or not _tied(kept[found.query_id]):  # there it leaves ties in the order of the run
            result.near(f"{name} of {found.query_id}", float(found.value), ours[name].get(found.query_id, 0.0))


def _tied(results: dict[str, float]) -> bool:
    return len({np.float32(score) for score in results.values()}) < len(results)


def rouge_score(result: SuiteResult) -> None:
    """ROUGE-1, 2, L and Lsum, three rates each, with and without stemming, of every pair."""
    from rouge_score.rouge_scorer import RougeScorer

    pairs = answers()
    for stem in (False, True):
        made = rouge_batch([one for one, _ in pairs], [other for _, other in pairs], KINDS, stem=stem)
        scorer = RougeScorer([f"rouge{kind}" for kind in KINDS], use_stemmer=stem)
        for row, (prediction, reference) in enumerate(pairs):
            found = scorer.score(reference, prediction)
            for kind in KINDS:
                score = found[f"rouge{kind}"]
                for rate, theirs, ours in zip("PRF", score, made[kind][row], strict=True):
                    what = f"ROUGE-{kind} {rate} of pair {row}{', stemmed' if stem else ''}"
                    result.near(what, float(theirs), float(ours), within=0.0)

"""Retrieval against pytrec_eval-terrier and ir_measures: trec's own files and generated cases, exact to 1e-9."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.live import CUTS, IR_MEASURES, TREC_EVAL
from tests.nightly import drawn

from goldassay.gold import read
from goldassay.measures import retrieval as r

ASKED = {f"{name}.{','.join(map(str, CUTS))}" for name in ("ndcg_cut", "P", "recall")} | {
    "success.1,5,10", "map_cut.5,10", "ndcg", "recip_rank", "map", "bpref", "Rprec",
}  # fmt: skip
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]

documents = st.sampled_from([f"d{i}" for i in range(12)] + ["é", "ж", "Z"])
grade = st.integers(0, 3)
score = st.one_of(st.integers(-2, 2).map(float), st.floats(-1e3, 1e3, width=32), st.floats(0, 1))


def by_query(qrels: Qrels, run: Run, names: list[str]) -> dict[str, dict[str, float | None]]:
    """Our values of every query."""
    gold = [{"id": query, "relevant": judged} for query, judged in qrels.items()]
    values: Any = r.scorecard(gold, [{"results": run.get(query, {})} for query in qrels], measures=names).by["query"]
    return values  # type: ignore[no-any-return]


def compare(qrels: Qrels, run: Run) -> None:
    theirs = pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run)
    ours = by_query(qrels, run, list(TREC_EVAL.values()))
    for query, values in theirs.items():
        for their_name, our_name in TREC_EVAL.items():
            assert ours[query][our_name] == pytest.approx(values[their_name], abs=1e-9), (query, our_name)
    relevant = {query: judged for query, judged in qrels.items() if any(judged.values()) and run.get(query)}
    kept = {query: run[query] for query in relevant}
    if not kept:
        return
    for metric in ir_measures.iter_calc([ir_measures.parse_measure(name) for name in IR_MEASURES], relevant, kept):
        name = str(metric.measure)
        if name not in IR_MEASURES:
            name = next(own_name for own_name in IR_MEASURES if ir_measures.parse_measure(own_name) == metric.measure)
        if name == "Judged@10" and tied(kept[metric.query_id]):
            continue  # there ir_measures leaves ties in the order of the run
        value = by_query(relevant, kept, [name])[metric.query_id][name] or 0.0
        assert value == pytest.approx(metric.value, abs=1e-9), (metric.query_id, name)


def tied(results: dict[str, float]) -> bool:
    return len({np.float32(value) for value in results.values()}) < len(results)


def test_files_of_trec(tmp_path: Path, real_data: Path) -> None:
    (tmp_path / "qrels.test").write_text("1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 c 1\n2 0 é 3\n", encoding="utf-8")
    ranked = [("1", "x", 3), ("1", "c", 2), ("1", "a", 2), ("1", "b", -1), ("2", "é", 0.5), ("2", "z", 0.5)]
    lines = [f"{query}\tQ0\t{document}\t0\t{score}\town\n" for query, document, score in ranked]
    (tmp_path / "results.test").write_text("".join(lines), encoding="utf-8")
    for folder in (tmp_path, real_data / "trec"):
        if folder.is_dir():
            gold = read(folder / "qrels.test", format="trec", task="retrieval")
            pred = read(folder / "results.test", format="trec", task="retrieval", side="pred")
            run = {answer["id"]: dict(r.scores(answer)) for answer in pred}
            qrels = {
                example["id"]: {document: int(g) for document, g in example["relevant"].items()} for example in gold
            }
            compare(qrels, run)


@drawn(50)
@given(
    st.dictionaries(st.sampled_from(["1", "2", "3"]), st.dictionaries(documents, grade, min_size=1), min_size=1),
    st.dictionaries(st.sampled_from(["1", "2", "3"]), st.dictionaries(documents, score, min_size=1), min_size=1),
)
def test_generated_cases(qrels: Qrels, run: Run) -> None:
    compare(qrels, {query: results for query, results in run.items() if query in qrels})

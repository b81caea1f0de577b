"""nDCG: graded gain, discounted by rank, over that of the best ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from goldassay.measures.retrieval.batch import Batch
from goldassay.measures.retrieval.hits import Array, Hits, places
from goldassay.measures.retrieval.ranked import TREC_EVAL, Ranked, among
from goldassay.tally import divide


@dataclass(frozen=True, repr=False)
class nDCG(Ranked):
    """Normalised discounted cumulative gain: DCG@k of the ranking over DCG@k of the best ranking.

    DCG@k = Σ_{i≤k} gain(g_i) / log2(i + 1). ``gain`` is the grade (``linear``, trec_eval) or 2^grade − 1
    (``exponential``, Burges et al. 2005). The ``ideal`` is made of all ``judged`` documents; made of the ``retrieved``
    ones alone, as some scripts do, it flatters a system that finds little.

    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.

    >>> gold, pred = {"relevant": {"a": 3, "b": 1}}, {"results": ["b", "a"]}
    >>> nDCG(10)
    nDCG(k=10, gain='linear', ideal='judged', ties='docno_desc', missing=0)
    >>> round(nDCG(10)(gold, pred).tally.value, 4)     # (1/1 + 3/1.585) / (3/1 + 1/1.585)
    0.7967
    """

    name: ClassVar[str] = "nDCG"
    formula: ClassVar[str] = "DCG@k / ideal DCG@k, DCG@k = Σ_{i≤k} gain_i / log2(i + 1); mean over queries"
    source: ClassVar[str] = f"Järvelin and Kekäläinen, TOIS 2002; {TREC_EVAL} ndcg_cut"

    k: int | None = 10
    gain: str = "linear"
    ideal: str = "judged"

    def __post_init__(self) -> None:
        super().__post_init__()
        among(self, "gain", ("linear", "exponential"))
        among(self, "ideal", ("judged", "retrieved"))

    @property
    def parameters(self) -> tuple[str, ...]:
        return ("dcg='exp-log2'",) if self.gain == "exponential" else ()

    def values(self, batch: Batch) -> Array:
        hits = batch.hits(self.ties)
        return divide(self._dcg(batch, hits), self._dcg(batch, self._best(batch, hits)))

    def _best(self, batch: Batch, hits: Hits) -> Hits:
        if self.ideal == "judged":
            return batch.ideal
        order = np.lexsort((-hits.grade, hits.query))
        return Hits(hits.query, places(hits.query, batch.n), hits.grade[order])

    def _dcg(self, batch: Batch, hits: Hits) -> Array:
        hits = hits if self.k is None else hits.where(hits.rank < self.k)
        gain = hits.grade if self.gain == "linear" else np.exp2(hits.grade) - 1
        return batch.total(hits, gain / np.log2(hits.rank + 2.0))

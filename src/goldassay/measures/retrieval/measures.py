"""The ten measures of ranked results, each computed from the ranks of the judged documents.

With ranks from 1, grade g(d), R relevant documents (grade ≥ rel) and cut-off k. A query without any relevant document
counts 0, as in trec_eval, except for recall, to which it does not apply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measures.retrieval.batch import Array, Batch, Hits, places
from goldassay.measures.retrieval.ranked import Ranked, _among
from goldassay.tally import divide

TREC_EVAL = "trec_eval (https://github.com/usnistgov/trec_eval)"


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
        _among(self, "gain", ("linear", "exponential"))
        _among(self, "ideal", ("judged", "retrieved"))

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


@dataclass(frozen=True, repr=False)
class P(Ranked):
    """Precision at k: the share of the first k places that hold a relevant document (places left empty hold none).

    >>> P(5)({"relevant": ["a"]}, {"results": ["a", "b"]}).tally.value
    0.2
    """

    name: ClassVar[str] = "P"
    attains_one: ClassVar[bool] = False
    formula: ClassVar[str] = "relevant documents among the first k / k; mean over queries"
    source: ClassVar[str] = f"{TREC_EVAL} P"

    k: int = 10
    rel: float = 1

    def values(self, batch: Batch) -> Array:
        return batch.counts(batch.top(self.ties, self.rel, self.k)) / self.k


@dataclass(frozen=True, repr=False)
class R(Ranked):
    """Recall at k: the share of the relevant documents that stand in the first k places.

    A query without relevant documents is left out; trec_eval gives it 0.

    >>> R(10)({"relevant": ["a", "b"]}, {"results": ["a", "c"]}).tally.value
    0.5
    >>> R(10)({"relevant": {}}, {"results": ["a"]}).tally.weight
    0.0
    """

    name: ClassVar[str] = "R"
    attains_one: ClassVar[bool] = False
    fixed: ClassVar[dict[str, str]] = {"no_relevant": "skip"}
    formula: ClassVar[str] = (
        "relevant documents among the first k / relevant documents; mean over queries that have any"
    )
    source: ClassVar[str] = f"{TREC_EVAL} recall"

    k: int | None = 10
    rel: float = 1

    def values(self, batch: Batch) -> Array:
        found = batch.counts(batch.top(self.ties, self.rel, self.k))
        return divide(found.astype(float), batch.relevant(self.rel))

    def weights(self, batch: Batch) -> Array:
        return super().weights(batch) * (batch.relevant(self.rel) > 0)


@dataclass(frozen=True, repr=False)
class RR(Ranked):
    """Reciprocal rank of the first relevant document (0 if there is none); its mean is MRR.

    >>> RR()({"relevant": ["b"]}, {"results": ["a", "b"]}).tally.value
    0.5
    """

    name: ClassVar[str] = "RR"
    formula: ClassVar[str] = "1 / rank of the first relevant document, 0 without one; mean over queries"
    source: ClassVar[str] = f"{TREC_EVAL} recip_rank"

    k: int | None = None
    rel: float = 1

    def values(self, batch: Batch) -> Array:
        hits = batch.top(self.ties, self.rel, self.k)
        out = np.zeros(batch.n)
        queries, first = np.unique(hits.query, return_index=True)
        out[queries] = 1.0 / (hits.rank[first] + 1.0)
        return out


@dataclass(frozen=True, repr=False)
class AP(Ranked):
    """Average precision: the mean, over all relevant documents, of the precision at their rank (0 if not retrieved).

    >>> round(AP()({"relevant": ["a", "c"]}, {"results": ["a", "b", "c"]}).tally.value, 4)     # (1/1 + 2/3) / 2
    0.8333
    """

    name: ClassVar[str] = "AP"
    formula: ClassVar[str] = "Σ over relevant retrieved of (relevant up to rank / rank) / R; mean over queries"
    source: ClassVar[str] = f"{TREC_EVAL} map, map_cut"

    k: int | None = None
    rel: float = 1

    def values(self, batch: Batch) -> Array:
        hits = batch.top(self.ties, self.rel, self.k)
        precision = (places(hits.query, batch.n) + 1.0) / (hits.rank + 1.0)
        return divide(batch.total(hits, precision), batch.relevant(self.rel))


@dataclass(frozen=True, repr=False)
class Bpref(Ranked):
    """Binary preference: how often judged relevant documents stand above judged irrelevant ones.

    Documents that were not judged do not count.

    bpref = 1/R Σ_r (1 − min(n_r, R) / min(N, R)), n_r the irrelevant judged documents above r, N all of them.
    Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004.

    >>> gold = {"relevant": {"a": 1, "b": 1, "x": 0, "y": 0}}
    >>> Bpref()(gold, {"results": ["a", "x", "u", "b"]}).tally.value     # (1 + (1 - 1/2)) / 2
    0.75
    """

    name: ClassVar[str] = "Bpref"
    formula: ClassVar[str] = "1/R Σ_r (1 − min(irrelevant judged above r, R) / min(N, R)); mean over queries"
    source: ClassVar[str] = f"Buckley and Voorhees, SIGIR 2004; {TREC_EVAL} bpref"

    rel: float = 1

    def values(self, batch: Batch) -> Array:
        hits = batch.hits(self.ties, judged=True)
        good = (hits.grade >= self.rel) & (hits.grade > 0)
        bad = np.cumsum(~good)
        before = np.concatenate(([0], bad))[np.searchsorted(hits.query, hits.query)] if len(bad) else bad
        above = (bad - before)[good]
        query = hits.query[good]
        total = batch.relevant(self.rel)
        irrelevant = np.bincount(batch.query, minlength=batch.n) - total
        most = np.minimum(irrelevant, total)[query]
        kept = 1.0 - divide(np.minimum(above, total[query]).astype(float), most)
        return divide(np.bincount(query, kept, batch.n), total)


bpref = Bpref


@dataclass(frozen=True, repr=False)
class RBP(Ranked):
    """Rank-biased precision: (1 − p) Σ_i rel_i p^(i−1), the gain of a reader who goes on with probability p.

    Relevance is binary (grade ≥ ``rel``). Moffat and Zobel, TOIS 2008. trec_eval 10's ``rbp`` is p = 0.9.

    >>> RBP(p=0.5)({"relevant": ["a", "c"]}, {"results": ["a", "b", "c"]}).tally.value     # 0.5 (1 + 0.25)
    0.625
    """

    name: ClassVar[str] = "RBP"
    attains_one: ClassVar[bool] = False
    formula: ClassVar[str] = "(1 − p) Σ_i rel_i p^(i−1); mean over queries"
    source: ClassVar[str] = f"Moffat and Zobel, TOIS 2008; {TREC_EVAL} rbp"

    p: float = 0.8
    rel: float = 1
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.p < 1.0:
            raise GoldassayError(f"RBP: p is a probability between 0 and 1, not {self.p!r}")

    @property
    def parameters(self) -> tuple[str, ...]:
        return (f"p={self.p}", *super().parameters)

    def values(self, batch: Batch) -> Array:
        hits = batch.top(self.ties, self.rel, self.k)
        return (1.0 - self.p) * batch.total(hits, np.power(self.p, hits.rank.astype(float)))


@dataclass(frozen=True, repr=False)
class Rprec(Ranked):
    """Precision at R, the number of relevant documents.

    >>> Rprec()({"relevant": ["a", "c"]}, {"results": ["a", "b", "c"]}).tally.value
    0.5
    """

    name: ClassVar[str] = "Rprec"
    formula: ClassVar[str] = "relevant documents among the first R / R; mean over queries"
    source: ClassVar[str] = f"{TREC_EVAL} Rprec"

    rel: float = 1

    def values(self, batch: Batch) -> Array:
        hits, total = batch.top(self.ties, self.rel), batch.relevant(self.rel)
        return divide(batch.counts(hits.where(hits.rank < total[hits.query])).astype(float), total)


@dataclass(frozen=True, repr=False)
class Judged(Ranked):
    """The share of the first k results that are judged: how much the other values rest on judgements.

    Over the results that exist, as in ir_measures; trec_eval's ``unj`` divides by k.

    >>> Judged(10)({"relevant": {"a": 1, "b": 0}}, {"results": ["a", "b", "c", "d"]}).tally.value
    0.5
    """

    name: ClassVar[str] = "Judged"
    formula: ClassVar[str] = "judged documents among the first k / min(k, results); mean over queries"
    source: ClassVar[str] = "ir_measures Judged (https://ir-measur.es)"

    k: int = 10

    def values(self, batch: Batch) -> Array:
        hits = batch.hits(self.ties, judged=True)
        found = batch.counts(hits.where(hits.rank < self.k))
        return divide(found.astype(float), np.minimum(batch.retrieved, self.k))


@dataclass(frozen=True, repr=False)
class Success(Ranked):
    """1 where a relevant document stands in the first k places.

    >>> Success(1)({"relevant": ["b"]}, {"results": ["a", "b"]}).tally.value
    0.0
    """

    name: ClassVar[str] = "Success"
    formula: ClassVar[str] = "1 if a relevant document is among the first k, else 0; mean over queries"
    source: ClassVar[str] = f"{TREC_EVAL} success"

    k: int = 10
    rel: float = 1

    def values(self, batch: Batch) -> Array:
        return (batch.counts(batch.top(self.ties, self.rel, self.k)) > 0).astype(float)

"""What the ranks of the relevant documents are worth: RR, AP, Bpref, RBP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measures.retrieval.batch import Batch
from goldassay.measures.retrieval.hits import Array, places
from goldassay.measures.retrieval.ranked import TREC_EVAL, Ranked
from goldassay.tally import divide


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


bpref = Bpref

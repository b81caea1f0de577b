"""Shares of the first k places and of the relevant documents: P, R, Rprec, Judged, Success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from goldassay.measures.retrieval.matching import Batch
from goldassay.measures.retrieval.measures import TREC_EVAL, Ranked
from goldassay.statistics.evidence import Floats
from goldassay.tally import divide


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

    def values(self, batch: Batch) -> Floats:
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

    def values(self, batch: Batch) -> Floats:
        found = batch.counts(batch.top(self.ties, self.rel, self.k))
        rates: Floats = divide(found.astype(float), batch.relevant(self.rel))
        return rates

    def weights(self, batch: Batch) -> Floats:
        return super().weights(batch) * (batch.relevant(self.rel) > 0)


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

    def values(self, batch: Batch) -> Floats:
        hits, total = batch.top(self.ties, self.rel), batch.relevant(self.rel)
        rates: Floats = divide(batch.counts(hits.where(hits.rank < total[hits.query])).astype(float), total)
        return rates


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

    def values(self, batch: Batch) -> Floats:
        hits = batch.hits(self.ties, judged=True)
        found = batch.counts(hits.where(hits.rank < self.k))
        rates: Floats = divide(found.astype(float), np.minimum(batch.retrieved, self.k))
        return rates


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

    def values(self, batch: Batch) -> Floats:
        return (batch.counts(batch.top(self.ties, self.rel, self.k)) > 0).astype(float)

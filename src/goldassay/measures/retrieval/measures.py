"""The ten measures of ranked results, under the names of ir_measures.

With ranks from 1, R is the number of relevant documents (grade ≥ ``rel``). The value of a measure is the mean over the
queries. A query without relevant documents counts 0 in all of them, as in trec_eval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.evidence import Floats
from goldassay.core.measure import Conventions, Review
from goldassay.core.tally import Mean, Number, divide
from goldassay.measures import Examples, TaskMeasure
from goldassay.measures.retrieval.mistakes import review
from goldassay.measures.retrieval.records import TIES, Hits, RankingBatch, places, scores

RISING = "results are listed by rising scores, and the highest score is the first rank: negate distances"


@dataclass(frozen=True)
class Ranked(TaskMeasure[Mean, RankingBatch]):
    """A measure of ranked results.

    Args:
        ties: Documents of one score are ordered by document id, descending (``docno_desc``, as trec_eval), as in the
            input (``stable``), or so that the value is the ``best`` or the ``worst``.
        missing: A query without results counts 0, or is left out (``skip``) unless the program failed on it; so is one
            whose gold does not name what is relevant (``relevant`` is None).
    """

    task = "retrieval"
    fixed: ClassVar[Conventions] = {"unjudged": "irrelevant", "no_relevant": "0"}
    choices = {"ties": TIES, "missing": (0, "skip")}

    _: KW_ONLY
    ties: str = "docno_desc"
    missing: int | str = 0

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__

    def __post_init__(self) -> None:
        values = vars(self)
        k = values.get("k")
        rel = values.get("rel", 1)
        p = values.get("p", 0.5)
        if (k is not None and k < 1) or rel <= 0 or not 0 < p < 1:
            raise GoldassayError(f"{self!r}: k is a whole number from 1 on, rel is above 0, p is between 0 and 1")
        super().__post_init__()

    def values(self, batch: RankingBatch) -> Number:
        """The value of each query.

        Raises:
            NotImplementedError: A measure defines it.
        """
        raise NotImplementedError

    def notes(self, pred: Sequence[object]) -> list[str]:
        """A warning if the results of all these predictions are listed by rising scores, as distances are.

        >>> RR().notes([{"results": [{"doc_id": "a", "score": 2}, {"doc_id": "b", "score": 1}]}])
        []
        """
        rankings = [list(scores(prediction).values()) for prediction in pred]
        several = [numbers for numbers in rankings if len(numbers) > 1]
        return [RISING] if several and all(numbers == sorted({*numbers}) for numbers in several) else []

    def top(self, batch: RankingBatch) -> Hits:
        """The documents that are relevant to the measure and deep enough."""
        options = vars(self)
        return batch.top(self.ties, options["rel"], options["k"])

    def batch(self, gold: Examples, pred: Examples) -> RankingBatch:
        """The ranks of the judged documents of every query."""
        return RankingBatch.of(gold, pred)

    def tallies(self, batch: RankingBatch) -> Mean:
        """The value and the weight of every query.

        Raises:
            DataError: Gold does not name what is relevant to a query, and none is left out.
        """
        weights = np.ones(batch.n)
        if self.missing == "skip":
            weights *= ((batch.retrieved > 0) | batch.failed) & batch.named
        elif not batch.named.all():
            message = "'relevant' is a list of ids or a mapping from ids to grades, not None"
            raise DataError(message, record=batch.names[int(batch.named.argmin())])
        return Mean(self.values(batch) * weights, weights)

    def reviews(self, batch: RankingBatch) -> list[Review]:
        """Relevant documents that are missing or are ranked below less relevant ones."""
        return [review(batch, index, self.ties) for index in range(batch.n)]

    @property
    def key(self) -> str:
        """The name that ir_measures gives it: ``nDCG@10``, ``P(rel=2)@5``."""
        values = vars(self)
        inner = [f"{name}={values[name]}" for name in ("p", "rel") if values.get(name, 1) != 1]
        inner += ["dcg='exp-log2'"] if values.get("gain") == "exponential" else []
        k = f"@{values['k']}" if values.get("k") else ""
        return f"{self.name}({', '.join(inner)}){k}" if inner else f"{self.name}{k}"

    @property
    def chosen(self) -> Mapping[str, object]:
        """``nDCG@10[gain=linear, ideal=judged, ties=docno_desc, missing=0, unjudged=irrelevant, no_relevant=0]``."""
        return {name: vars(self)[name] for name in ("gain", "ideal", "ties", "missing") if name in vars(self)}


@dataclass(frozen=True)
class nDCG(Ranked):
    """Normalised discounted cumulative gain: DCG@k of the ranking over DCG@k of the best ranking.

    DCG@k = Σ_{i≤k} gain(g_i) / log2(i + 1). ``gain`` is the grade (``linear``, trec_eval) or 2^grade − 1
    (``exponential``, Burges et al. 2005). The ``ideal`` is made of all ``judged`` documents; made of the ``retrieved``
    ones alone, as some scripts do, it flatters a system that finds little.

    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.

    Formula: DCG@k / ideal DCG@k, DCG@k = Σ_{i≤k} gain_i / log2(i + 1); mean over queries
    Source: Järvelin and Kekäläinen, TOIS 2002; trec_eval (https://github.com/usnistgov/trec_eval) ndcg_cut

    >>> gold, pred = {"relevant": {"a": 3, "b": 1}}, {"results": ["b", "a"]}
    >>> nDCG(10)
    nDCG(ties='docno_desc', missing=0, k=10, gain='linear', ideal='judged')
    >>> round(nDCG(10)(gold, pred).tally.value, 4)     # (1/1 + 3/1.585) / (3/1 + 1/1.585)
    0.7967
    """

    choices = {
        **Ranked.choices,
        "gain": ("linear", "exponential"),
        "ideal": ("judged", "retrieved"),
    }

    k: int | None = 10
    gain: str = "linear"
    ideal: str = "judged"

    def values(self, batch: RankingBatch) -> Number:
        hits = batch.hits(self.ties)
        ideal = batch.ideal if self.ideal == "judged" else hits.by_grade(batch.n)
        return divide(self._dcg(batch, hits), self._dcg(batch, ideal))

    def _dcg(self, batch: RankingBatch, hits: Hits) -> Floats:
        hits = hits if self.k is None else hits.where(hits.rank < self.k)
        gain = hits.grade if self.gain == "linear" else np.exp2(hits.grade) - 1
        return batch.total(hits, gain / np.log2(hits.rank + 2.0))


@dataclass(frozen=True)
class P(Ranked):
    """Precision at k: the share of the first k places that hold a relevant document (places left empty hold none).

    Formula: relevant documents among the first k / k; mean over queries
    Source: trec_eval (https://github.com/usnistgov/trec_eval) P

    >>> P(5)({"relevant": ["a"]}, {"results": ["a", "b"]}).tally.value
    0.2
    """

    k: int = 10
    rel: float = 1

    def values(self, batch: RankingBatch) -> Number:
        return batch.total(self.top(batch)) / self.k


@dataclass(frozen=True)
class R(Ranked):
    """Recall at k: the share of the relevant documents that are in the first k places.

    Formula: relevant documents among the first k / relevant documents, 0 without any; mean over queries
    Source: trec_eval (https://github.com/usnistgov/trec_eval) recall

    >>> R(10)({"relevant": ["a", "b"]}, {"results": ["a", "c"]}).tally.value
    0.5
    """

    k: int | None = 10
    rel: float = 1

    def values(self, batch: RankingBatch) -> Number:
        return divide(batch.total(self.top(batch)), batch.relevant(self.rel))


@dataclass(frozen=True)
class RR(Ranked):
    """Reciprocal rank of the first relevant document (0 if there is none); its mean is MRR.

    Formula: 1 / rank of the first relevant document, 0 without one; mean over queries
    Source: trec_eval (https://github.com/usnistgov/trec_eval) recip_rank

    >>> RR()({"relevant": ["b"]}, {"results": ["a", "b"]}).tally.value
    0.5
    """

    k: int | None = None
    rel: float = 1

    def values(self, batch: RankingBatch) -> Number:
        hits = self.top(batch)
        values = np.zeros(batch.n)
        queries, first = np.unique(hits.query, return_index=True)
        values[queries] = 1.0 / (hits.rank[first] + 1.0)
        return values


@dataclass(frozen=True)
class AP(Ranked):
    """Average precision: the mean, over all relevant documents, of the precision at their rank (0 if not retrieved).

    Formula: Σ over relevant retrieved of (relevant up to rank / rank) / R; mean over queries
    Source: trec_eval (https://github.com/usnistgov/trec_eval) map, map_cut

    >>> round(AP()({"relevant": ["a", "c"]}, {"results": ["a", "b", "c"]}).tally.value, 4)     # (1/1 + 2/3) / 2
    0.8333
    """

    k: int | None = None
    rel: float = 1

    def values(self, batch: RankingBatch) -> Number:
        hits = self.top(batch)
        precision = (places(hits.query, batch.n) + 1.0) / (hits.rank + 1.0)
        return divide(batch.total(hits, precision), batch.relevant(self.rel))


@dataclass(frozen=True)
class Bpref(Ranked):
    """Binary preference: how often judged relevant documents are ranked above judged irrelevant ones.

    Documents that were not judged do not count.

    bpref = 1/R Σ_r (1 − min(n_r, R) / min(N, R)), n_r the irrelevant judged documents above r, N all of them.
    Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004.

    Formula: 1/R Σ_r (1 − min(irrelevant judged above r, R) / min(N, R)); mean over queries
    Source: Buckley and Voorhees, SIGIR 2004; trec_eval (https://github.com/usnistgov/trec_eval) bpref

    >>> gold = {"relevant": {"a": 1, "b": 1, "x": 0, "y": 0}}
    >>> Bpref()(gold, {"results": ["a", "x", "u", "b"]}).tally.value     # (1 + (1 - 1/2)) / 2
    0.75
    """

    fixed: ClassVar[Conventions] = {**Ranked.fixed, "unjudged": "left out"}

    rel: float = 1

    def values(self, batch: RankingBatch) -> Number:
        hits = batch.hits(self.ties, True)
        good = (hits.grade >= self.rel) & (hits.grade > 0)
        # the irrelevant ones above: those up to here, less those of earlier queries
        bad = np.concatenate(([0], np.cumsum(~good)))
        above = (bad[1:] - bad[np.searchsorted(hits.query, hits.query)])[good]
        query = hits.query[good]
        total = batch.relevant(self.rel)
        irrelevant = np.bincount(batch.query, minlength=batch.n) - total
        most = np.minimum(irrelevant, total)[query]
        preferred = 1.0 - divide(np.minimum(above, total[query]).astype(float), most)
        return divide(np.bincount(query, preferred, batch.n), total)


@dataclass(frozen=True)
class RBP(Ranked):
    """Rank-biased precision: (1 − p) Σ_i rel_i p^(i−1), the gain of a reader who goes on with probability p.

    Relevance is binary (grade ≥ ``rel``). Moffat and Zobel, TOIS 2008. trec_eval 10's ``rbp`` is p = 0.9.

    Formula: (1 − p) Σ_i rel_i p^(i−1); mean over queries
    Source: Moffat and Zobel, TOIS 2008; trec_eval (https://github.com/usnistgov/trec_eval) rbp

    >>> RBP(p=0.5)({"relevant": ["a", "c"]}, {"results": ["a", "b", "c"]}).tally.value     # 0.5 (1 + 0.25)
    0.625
    """

    p: float = 0.8
    rel: float = 1
    k: int | None = None

    def values(self, batch: RankingBatch) -> Number:
        hits = self.top(batch)
        return (1.0 - self.p) * batch.total(hits, np.power(self.p, hits.rank.astype(float)))


@dataclass(frozen=True)
class Rprec(Ranked):
    """Precision at R, the number of relevant documents.

    Formula: relevant documents among the first R / R; mean over queries
    Source: trec_eval (https://github.com/usnistgov/trec_eval) Rprec

    >>> Rprec()({"relevant": ["a", "c"]}, {"results": ["a", "b", "c"]}).tally.value
    0.5
    """

    rel: float = 1

    def values(self, batch: RankingBatch) -> Number:
        hits = batch.top(self.ties, self.rel)
        total = batch.relevant(self.rel)
        return divide(batch.total(hits.where(hits.rank < total[hits.query])), total)


@dataclass(frozen=True)
class Judged(Ranked):
    """The share of the first k results that are judged: how much the other values rest on judgements.

    Over the results that exist, as in ir_measures; trec_eval's ``unj`` divides by k. Ties are broken as for the other
    measures (ir_measures takes the smaller id first here, and the larger one elsewhere).

    Formula: judged documents among the first k / min(k, results); mean over queries
    Source: ir_measures Judged (https://ir-measur.es)

    >>> Judged(10)({"relevant": {"a": 1, "b": 0}}, {"results": ["a", "b", "c", "d"]}).tally.value
    0.5
    """

    fixed: ClassVar[Conventions] = {"no_results": "0"}

    k: int = 10

    def values(self, batch: RankingBatch) -> Number:
        hits = batch.hits(self.ties, True)
        return divide(batch.total(hits.where(hits.rank < self.k)), np.minimum(batch.retrieved, self.k))


@dataclass(frozen=True)
class Success(Ranked):
    """1 where a relevant document is in the first k places.

    Formula: 1 if a relevant document is among the first k, else 0; mean over queries
    Source: trec_eval (https://github.com/usnistgov/trec_eval) success

    >>> Success(1)({"relevant": ["b"]}, {"results": ["a", "b"]}).tally.value
    0.0
    """

    k: int = 10
    rel: float = 1

    def values(self, batch: RankingBatch) -> Number:
        return (batch.total(self.top(batch)) > 0).astype(float)


MEASURES = (
    nDCG(5),
    nDCG(10),
    nDCG(20),
    nDCG(10, gain="exponential"),
    nDCG(10, ties="stable", missing="skip"),
    P(5),
    P(10),
    P(5, rel=2),
    R(10),
    RR(),
    AP(),
    Bpref(),
    RBP(),
    Rprec(),
    Judged(),
    Success(),
)

"""What the ten measures of ranked results share: conventions, names, and one definition for one query and for many.

nDCG: graded gain, discounted by rank, over that of the best ranking.

What the ranks of the relevant documents are worth: RR, AP, Bpref, RBP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure
from goldassay.measures.retrieval import mistakes
from goldassay.measures.retrieval.matching import TIES, Batch, Hits, places
from goldassay.statistics.evidence import Floats, summed
from goldassay.tally import Mean, divide

TREC_EVAL = "trec_eval (https://github.com/usnistgov/trec_eval)"


@dataclass(frozen=True, repr=False)
class Ranked(Measure[Mean]):
    """A measure of ranked results; its value is the mean over the queries.

    With ranks from 1, R is the number of relevant documents (grade ≥ ``rel``). A query without any counts 0, as in
    trec_eval, except for recall, to which it does not apply.

    ``ties``: documents of one score by document id, descending (``docno_desc``, as trec_eval), in the order given
    (``stable``), or so that the value is the ``best`` or the ``worst``. ``missing``: a query without results counts
    0, or is left out (``skip``).
    """

    task: ClassVar[str] = "retrieval"
    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("relevant",)
    pred_fields: ClassVar[tuple[str, ...]] = ("results",)
    attains_one: ClassVar[bool] = True
    """Whether the perfect ranking has the value 1 (precision at 10 with 3 relevant documents is at most 0.3)."""

    ties: str = field(default="docno_desc", kw_only=True)
    missing: int | str = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        k = getattr(self, "k", None)
        if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
            raise GoldassayError(f"{type(self).__name__}: a cut-off is a whole number from 1 on, not {k!r}")
        rel = getattr(self, "rel", 1)
        if isinstance(rel, bool) or not isinstance(rel, (int, float)) or rel <= 0:
            raise GoldassayError(f"{type(self).__name__}: rel is the least relevant grade, above 0, not {rel!r}")
        among(self, "ties", TIES)
        among(self, "missing", (0, "skip"))

    def values(self, batch: Batch) -> Floats:
        """The value of each query."""
        raise GoldassayError(f"{type(self).__name__} does not say how to compute its values")

    def weights(self, batch: Batch) -> Floats:
        """1 for each query that counts, 0 for those left out."""
        return (batch.retrieved > 0).astype(float) if self.missing == "skip" else (batch.retrieved >= 0).astype(float)

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Batch:
        """Where the judged documents of every query stand."""
        return Batch.of(gold, pred)

    def tallies(self, batch: Batch) -> Mean:
        """The value and the weight of every query."""
        weights = self.weights(batch)
        return Mean(self.values(batch) * weights, weights)

    def assess(self, gold: object, pred: object) -> Assessment[Mean]:
        batch = Batch.of([gold], [pred])
        errors, right = mistakes.found(batch, gold, pred, self.ties)
        return Assessment(summed(self.tallies(batch)), errors, right)

    @property
    def key(self) -> str:
        """The name that ir_measures gives it: ``nDCG@10``, ``P(rel=2)@5``."""
        inner = ", ".join(self.parameters)
        k = getattr(self, "k", None)
        return f"{self.name}{f'({inner})' if inner else ''}{'' if k is None else f'@{k}'}"

    @property
    def parameters(self) -> tuple[str, ...]:
        """What stands in brackets in the name."""
        rel = getattr(self, "rel", 1)
        return () if rel == 1 else (f"rel={rel}",)

    @property
    def conventions(self) -> str:
        """``nDCG@10[gain=linear, ideal=judged, ties=docno_desc, missing=0]``."""
        chosen = {name: value for name, value in self._options() if name not in ("k", "rel", "p")}
        return f"{self.key}[{', '.join(f'{name}={value}' for name, value in {**chosen, **self.fixed}.items())}]"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._options())})"

    def _options(self) -> list[tuple[str, Any]]:
        """The fields, what a subclass adds before what all have."""
        return [(f.name, getattr(self, f.name)) for f in sorted(fields(self), key=lambda f: bool(f.kw_only))]


def among(measure: Ranked, name: str, choices: tuple[object, ...]) -> None:
    """Raise unless the option is one of its choices."""
    value = getattr(measure, name)
    if value not in choices or isinstance(value, bool):
        raise GoldassayError(
            f"{type(measure).__name__}: {name} is one of {', '.join(map(str, choices))}, not {value!r}"
        )


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

    def values(self, batch: Batch) -> Floats:
        hits = batch.hits(self.ties)
        return divide(self._dcg(batch, hits), self._dcg(batch, self._best(batch, hits)))

    def _best(self, batch: Batch, hits: Hits) -> Hits:
        if self.ideal == "judged":
            return batch.ideal
        order = np.lexsort((-hits.grade, hits.query))
        return Hits(hits.query, places(hits.query, batch.n), hits.grade[order])

    def _dcg(self, batch: Batch, hits: Hits) -> Floats:
        hits = hits if self.k is None else hits.where(hits.rank < self.k)
        gain = hits.grade if self.gain == "linear" else np.exp2(hits.grade) - 1
        return batch.total(hits, gain / np.log2(hits.rank + 2.0))


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

    def values(self, batch: Batch) -> Floats:
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

    def values(self, batch: Batch) -> Floats:
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

    def values(self, batch: Batch) -> Floats:
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

    def values(self, batch: Batch) -> Floats:
        hits = batch.top(self.ties, self.rel, self.k)
        return (1.0 - self.p) * batch.total(hits, np.power(self.p, hits.rank.astype(float)))


bpref = Bpref

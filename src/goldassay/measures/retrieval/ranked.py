"""What the ten measures of ranked results share: conventions, names, and one definition for one query and for many."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure
from goldassay.measures.retrieval import mistakes
from goldassay.measures.retrieval.batch import TIES, Batch
from goldassay.measures.retrieval.hits import Array
from goldassay.tally import Mean

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

    def values(self, batch: Batch) -> Array:
        """The value of each query."""
        raise GoldassayError(f"{type(self).__name__} does not say how to compute its values")

    def weights(self, batch: Batch) -> Array:
        """1 for each query that counts, 0 for those left out."""
        return (batch.retrieved > 0).astype(float) if self.missing == "skip" else (batch.retrieved >= 0).astype(float)

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        batch = Batch.of([gold], [pred])
        value, weight = float(self.values(batch)[0]), float(self.weights(batch)[0])
        errors, right = mistakes.found(batch, gold, pred, self.ties)
        return Assessment(Mean.of(value, weight), errors, right)

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


def among(measure: Ranked, name: str, choices: tuple[Any, ...]) -> None:
    """Raise unless the option is one of its choices."""
    value = getattr(measure, name)
    if value not in choices or isinstance(value, bool):
        raise GoldassayError(
            f"{type(measure).__name__}: {name} is one of {', '.join(map(str, choices))}, not {value!r}"
        )

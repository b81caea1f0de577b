"""Means over types and over documents of what one match counts: macro, weighted, macro by document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import EMPTY
from goldassay.measures.extraction.batch import Batch
from goldassay.measures.extraction.matching import MATCH
from goldassay.measures.extraction.measures import Matched
from goldassay.measures.extraction.records import Span
from goldassay.tally import FORMULAS, By, Counts, Macro, Mean, T

MATCHES = ("strict", "partial")


@dataclass(frozen=True)
class _Average(Matched[T]):
    """A mean over types or documents of what one match counts."""

    match: str = "strict"
    what: ClassVar[str] = ""
    rate: ClassVar[str] = "f1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.match not in MATCHES:
            raise GoldassayError(f"match is strict or partial, not {self.match!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """``strict_macro_f1`` and so on."""
        return f"{self.match}_{self.what}_{self.rate}"

    @property
    def counted(self) -> str:
        """The counts by type stand in the table by type."""
        return ""

    @property
    def conventions(self) -> str:
        """With what the match compares."""
        return super().conventions.replace(f"match={self.match}", f"match={MATCH[self.match]}", 1)


@dataclass(frozen=True)
class _OverTypes(_Average[By[str, Counts]]):
    over: ClassVar[str] = "gold"

    @property
    def zero(self) -> By[str, Counts]:  # type: ignore[override]
        """No evidence."""
        return Macro(rate=self.rate, share=self.over)

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The mean of the rate."""
        return f"mean over types of {FORMULAS[self.rate]}"

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> By[str, Counts]:
        """Counts by type."""
        return self.zero.with_items(self.counting.by_type(gold, pred, self.match))

    def tallies(self, batch: Batch) -> By[str, Counts]:
        """Counts by type, a number a document."""
        return self.zero.with_items(batch.by_type(self.match, self.matching))


@dataclass(frozen=True)
class MacroF1(_OverTypes):
    """The mean of the types' F1, over the types that stand in gold (``over="gold"``) or all that are seen (``"seen"``).

    A type that is only predicted counts 0 where all types seen are averaged, as in seqeval and scikit-learn.

    >>> MacroF1()([(0, 5, "A")], [(0, 5, "A"), (7, 9, "B")]).tally.value
    1.0
    >>> MacroF1(over="seen")([(0, 5, "A")], [(0, 5, "A"), (7, 9, "B")]).tally.value
    0.5
    """

    over: str = "gold"  # type: ignore[misc]
    what: ClassVar[str] = "macro"
    fixed: ClassVar[dict[str, str]] = {"average": "macro by type", "empty": EMPTY}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.over not in ("gold", "seen"):
            raise GoldassayError(f"over is gold or seen, not {self.over!r}")

    @property
    def key(self) -> str:
        """``strict_macro_f1``, or ``strict_macro_f1_seen`` over all types seen."""
        return self.name if self.over == "gold" else f"{self.name}_seen"


@dataclass(frozen=True)
class MacroPrecision(MacroF1):
    """The mean of the types' precision; types as in `MacroF1`.

    >>> MacroPrecision()([(0, 5, "A"), (7, 9, "B")], [(0, 5, "A")]).tally.value
    0.5
    """

    rate: ClassVar[str] = "precision"


@dataclass(frozen=True)
class MacroRecall(MacroF1):
    """The mean of the types' recall; types as in `MacroF1`.

    >>> MacroRecall()([(0, 5, "A"), (7, 9, "B")], [(0, 5, "A")]).tally.value
    0.5
    """

    rate: ClassVar[str] = "recall"


@dataclass(frozen=True)
class WeightedF1(_OverTypes):
    """The mean of the types' F1, weighted by how often each stands in gold.

    >>> round(WeightedF1()([(0, 5, "A"), (6, 7, "A"), (8, 9, "B")], [(8, 9, "B")]).tally.value, 3)
    0.333
    """

    what: ClassVar[str] = "weighted"
    over: ClassVar[str] = "support"
    fixed: ClassVar[dict[str, str]] = {"average": "weighted by gold support", "empty": EMPTY}

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The weighted mean of the rate."""
        return f"Σ support · {self.rate} / Σ support, with {self.rate} = {FORMULAS[self.rate]}"


@dataclass(frozen=True)
class WeightedPrecision(WeightedF1):
    """The same of precision.

    >>> WeightedPrecision()([(0, 5, "A"), (6, 7, "A"), (8, 9, "B")], [(0, 5, "A"), (1, 5, "A")]).tally.value
    0.3333333333333333
    """

    rate: ClassVar[str] = "precision"


@dataclass(frozen=True)
class WeightedRecall(WeightedF1):
    """The same of recall, which is recall over all spans.

    >>> WeightedRecall()([(0, 5, "A"), (6, 7, "A"), (8, 9, "B")], [(8, 9, "B")]).tally.value
    0.3333333333333333
    """

    rate: ClassVar[str] = "recall"


@dataclass(frozen=True)
class _MacroDoc(_Average[Mean]):
    zero: ClassVar[Mean] = Mean()
    fixed: ClassVar[dict[str, str]] = {"average": "macro by document", "empty": "left out"}
    source: ClassVar[str] = "Ehrmann et al. 2022 (HIPE)"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``macro_doc_f1`` and so on; ``macro_doc_partial_f1`` with partial matches."""
        return f"macro_doc_{'' if self.match == 'strict' else 'partial_'}{self.rate}"

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The mean of the rate."""
        return (
            f"mean over documents of {FORMULAS[self.rate]}; those without predictions leave P and F1, "
            "those without gold leave R and F1"
        )

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Mean:
        """The rate of the document; nothing where it has no value."""
        return self._mean(self.counting.counts(gold, pred, self.match))

    def tallies(self, batch: Batch) -> Mean:
        """The rate of every document."""
        return self._mean(batch.counts(self.match, self.matching))

    def _mean(self, found: Counts) -> Mean:
        given, wanted = found.tp + found.fp > 0, found.tp + found.fn > 0
        counted = 1.0 * {"precision": given, "recall": wanted, "f1": given & wanted}[self.rate]
        return Mean(getattr(found, self.rate) * counted, counted)


@dataclass(frozen=True)
class MacroDocF1(_MacroDoc):
    """The mean of the documents' F1; documents without gold or without predictions are left out (HIPE).

    >>> MacroDocF1()([(0, 5, "A"), (8, 9, "B")], [(0, 5, "A")]).tally.value
    0.6666666666666666
    """

    rate: ClassVar[str] = "f1"


@dataclass(frozen=True)
class MacroDocPrecision(_MacroDoc):
    """The mean of the documents' precision; documents without predictions are left out (HIPE).

    >>> MacroDocPrecision()([(0, 5, "A"), (8, 9, "B")], [(0, 5, "A")]).tally.value
    1.0
    """

    rate: ClassVar[str] = "precision"


@dataclass(frozen=True)
class MacroDocRecall(_MacroDoc):
    """The mean of the documents' recall; documents without gold are left out (HIPE).

    >>> MacroDocRecall()([(0, 5, "A"), (8, 9, "B")], [(0, 5, "A")]).tally.value
    0.5
    """

    rate: ClassVar[str] = "recall"

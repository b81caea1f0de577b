"""Extraction's measures on spans.

| measure | a pair counts as found when | also known as |
|---|---|---|
| ``strict`` | same boundaries and same type | HIPE strict, CoNLL, SemEval strict |
| ``partial`` | overlap and same type | HIPE fuzzy, SemEval type |
| ``exact`` | same boundaries, any type | SemEval exact |
| ``type`` | same type anywhere in the document | type only |

Matching is one-to-one within a document and does not depend on order. P = tp / (tp + fp), R = tp / (tp + fn),
F1 = 2 tp / (2 tp + fp + fn), micro over all documents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure, gold_field, pred_field
from goldassay.measures.extraction.errors import errors
from goldassay.measures.extraction.matching import overlapping, same
from goldassay.measures.extraction.spans import Span, spans
from goldassay.measures.extraction.tally import MacroGold, MacroSeen, SemEvalCounts, Weighted
from goldassay.measures.extraction.tokens import token_counts
from goldassay.tally import By, Counts, Mean, PrecisionCounts, RecallCounts

Hits = Callable[[Sequence[Span], Sequence[Span]], int]

HITS: dict[str, Hits] = {
    "strict": lambda gold, pred: same(gold, pred, lambda span: (span.place, span.type)),
    "partial": lambda gold, pred: len(overlapping(gold, pred, same_type=True)),
    "exact": lambda gold, pred: same(gold, pred, lambda span: span.place),
    "type": lambda gold, pred: same(gold, pred, lambda span: span.type),
}
MATCH = {"strict": "span+type", "partial": "overlap+type", "exact": "span", "type": "type"}
SOURCE = "Tjong Kim Sang & De Meulder 2003 (CoNLL); Ehrmann et al. 2022 (HIPE: strict, fuzzy)"


def counts(gold: Sequence[Span], pred: Sequence[Span], match: str) -> Counts:
    """Counts of one document; ``match`` is strict, partial, exact or type.

    >>> counts([Span(0, 5, "A"), Span(8, 9, "B")], [Span(0, 4, "A")], "partial")
    Counts(tp=1, fp=0, fn=1)
    """
    hits = HITS[match](gold, pred)
    return Counts(hits, len(pred) - hits, len(gold) - hits)


def by_type(gold: Sequence[Span], pred: Sequence[Span], match: str) -> dict[str, Counts]:
    """The same for each type by itself."""
    left: dict[str, list[Span]] = defaultdict(list)
    right: dict[str, list[Span]] = defaultdict(list)
    for span in gold:
        left[span.type].append(span)
    for span in pred:
        right[span.type].append(span)
    return {kind: counts(left.get(kind, []), right.get(kind, []), match) for kind in sorted({*left, *right})}


def sides(gold: Any, pred: Any) -> tuple[list[Span], list[Span], str]:
    """Gold spans, predicted spans and the text of one pair of records (or bare lists of spans)."""
    text = "" if isinstance(gold, list) else gold_field(gold, "text", "") or ""
    left = spans(gold if isinstance(gold, list) else gold_field(gold, "entities"), "gold entities")
    right = spans(pred if isinstance(pred, list) else pred_field(pred, "entities"), "predicted entities")
    return left, right, str(text)


@dataclass(frozen=True)
class _SpanMeasure(Measure[Any]):
    task: ClassVar[str] = "extraction"
    gold_fields: ClassVar[tuple[str, ...]] = ("text", "entities")
    pred_fields: ClassVar[tuple[str, ...]] = ("entities",)
    source: ClassVar[str] = SOURCE

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Any:
        """The evidence of one document."""
        raise GoldassayError(f"{type(self).__name__} does not say how to count")

    def assess(self, gold: Any, pred: Any) -> Assessment[Any]:
        """The evidence of one document and its errors."""
        left, right, text = sides(gold, pred)
        found, good = errors(left, right, text)
        return Assessment(self.tally(left, right, text), found, good)


@dataclass(frozen=True)
class _Micro(_SpanMeasure):
    match: ClassVar[str]

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Counts:
        found = counts(gold, pred, self.match)
        return type(self.zero)(found.tp, found.fp, found.fn)  # type: ignore[no-any-return]


def _micro(match: str, rate: str, zero: Counts) -> type[_Micro]:
    what = {"f1": "F1", "precision": "Precision", "recall": "Recall"}[rate]
    formula = {"f1": "2 tp / (2 tp + fp + fn)", "precision": "tp / (tp + fp)", "recall": "tp / (tp + fn)"}[rate]
    doc = f"""{what} of spans, micro over all documents; a pair counts when {MATCH[match].replace("+", " and ")} agree.

    {formula}. Empty against empty is 1.0 and weighs nothing.

    >>> {match.title()}{what}()([(0, 5, "A")], [(0, 5, "A"), (7, 9, "B")]).tally.tp
    1
    """
    body = {
        "__doc__": doc,
        "__module__": __name__,
        "__annotations__": {},
        "match": match,
        "name": f"{match}_{rate}",
        "zero": zero,
        "fixed": {"match": MATCH[match], "average": "micro", "matching": "one-to-one, most pairs", "empty": "1"},
        "formula": formula,
    }
    return dataclass(frozen=True)(type(f"{match.title()}{what}", (_Micro,), body))


StrictF1 = _micro("strict", "f1", Counts())
StrictPrecision = _micro("strict", "precision", PrecisionCounts())
StrictRecall = _micro("strict", "recall", RecallCounts())
PartialF1 = _micro("partial", "f1", Counts())
PartialPrecision = _micro("partial", "precision", PrecisionCounts())
PartialRecall = _micro("partial", "recall", RecallCounts())
ExactF1 = _micro("exact", "f1", Counts())
ExactPrecision = _micro("exact", "precision", PrecisionCounts())
ExactRecall = _micro("exact", "recall", RecallCounts())
TypeF1 = _micro("type", "f1", Counts())
TypePrecision = _micro("type", "precision", PrecisionCounts())
TypeRecall = _micro("type", "recall", RecallCounts())


@dataclass(frozen=True)
class StrictMacroF1(_SpanMeasure):
    """The mean of the types' strict F1, over the types that stand in gold (``over="gold"``) or all seen (``"seen"``).

    >>> StrictMacroF1()([(0, 5, "A")], [(0, 5, "A"), (7, 9, "B")]).tally.value
    1.0
    >>> StrictMacroF1(over="seen")([(0, 5, "A")], [(0, 5, "A"), (7, 9, "B")]).tally.value
    0.5
    """

    over: str = "gold"
    name: ClassVar[str] = "strict_macro_f1"
    fixed: ClassVar[dict[str, str]] = {"match": MATCH["strict"], "average": "macro by type", "empty": "1"}
    formula: ClassVar[str] = "mean over types of 2 tp / (2 tp + fp + fn)"

    def __post_init__(self) -> None:
        if self.over not in ("gold", "seen"):
            raise GoldassayError(f"over is gold or seen, not {self.over!r}")

    @property
    def zero(self) -> By[str, Counts]:  # type: ignore[override]
        """No evidence."""
        return MacroGold() if self.over == "gold" else MacroSeen()

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> By[str, Counts]:
        """Counts by type."""
        return type(self.zero)(by_type(gold, pred, "strict"))


@dataclass(frozen=True)
class StrictWeightedF1(_SpanMeasure):
    """The mean of the types' strict F1, weighted by how often each stands in gold.

    >>> round(StrictWeightedF1()([(0, 5, "A"), (6, 7, "A"), (8, 9, "B")], [(8, 9, "B")]).tally.value, 3)
    0.333
    """

    name: ClassVar[str] = "strict_weighted_f1"
    zero: ClassVar[Weighted] = Weighted()
    fixed: ClassVar[dict[str, str]] = {"match": MATCH["strict"], "average": "weighted by gold support", "empty": "1"}
    formula: ClassVar[str] = "Σ support · F1 / Σ support"

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Weighted:
        """Counts by type."""
        return Weighted(by_type(gold, pred, "strict"))


@dataclass(frozen=True)
class MacroDocF1(_SpanMeasure):
    """The mean of the documents' strict F1; a document without gold or without predictions is left out (HIPE).

    >>> MacroDocF1()([(0, 5, "A"), (8, 9, "B")], [(0, 5, "A")]).tally.value
    0.6666666666666666
    """

    match: str = "strict"
    name: ClassVar[str] = "macro_doc_f1"
    zero: ClassVar[Mean] = Mean()
    fixed: ClassVar[dict[str, str]] = {"average": "macro by document", "empty": "left out"}
    formula: ClassVar[str] = "mean over documents of 2 tp / (2 tp + fp + fn)"

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Mean:
        """F1 of the document."""
        found = counts(gold, pred, self.match)
        return Mean.of(float(found.f1)) if gold and pred else Mean()


@dataclass(frozen=True)
class TokenF1(_SpanMeasure):
    r"""F1 of tokens (``\S+``, with their true offsets); a token has the types of all spans that it overlaps.

    >>> TokenF1()({"text": "Het  Rijksmuseum hier", "entities": [(5, 16, "MUS")]}, [(0, 16, "MUS")]).tally
    Counts(tp=1, fp=1, fn=0)
    """

    name: ClassVar[str] = "token_f1"
    zero: ClassVar[Counts] = Counts()
    fixed: ClassVar[dict[str, str]] = {"tokens": "non-space runs", "average": "micro", "empty": "1"}
    formula: ClassVar[str] = "2 tp / (2 tp + fp + fn) over (token, type)"

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Counts:
        """Counts over (token, type); a span that no token overlaps (no text) counts by its characters."""
        found = token_counts(gold, pred, text)
        return sum(found.values(), Counts(0, 0, 0))


@dataclass(frozen=True)
class SemEval(_SpanMeasure):
    """F1 of SemEval'13 task 9 in one of its four schemes: ``strict``, ``exact``, ``partial`` or ``type``.

    One pairing of gold and predictions by overlap serves all four; a pair is COR, INC or PAR, what is left is MIS or SPU.

    >>> SemEval("partial")([(0, 5, "A")], [(0, 4, "B")]).tally
    SemEvalCounts(correct=0, incorrect=0, partial=1, missed=0, spurious=0)
    """

    scheme: str = "strict"
    zero: ClassVar[SemEvalCounts] = SemEvalCounts()
    fixed: ClassVar[dict[str, str]] = {"average": "micro", "partial credit": "0.5", "empty": "1"}
    formula: ClassVar[str] = "P = (COR + ½ PAR) / ACT, R = (COR + ½ PAR) / POS, F1 their harmonic mean"
    source: ClassVar[str] = "Segura-Bedmar et al. 2013 (SemEval-2013 task 9)"

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise GoldassayError(f"a SemEval scheme is one of {', '.join(SCHEMES)}, not {self.scheme!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """``semeval_strict_f1`` and so on."""
        return f"semeval_{self.scheme}_f1"

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> SemEvalCounts:
        """COR, INC, PAR, MIS, SPU of one document."""
        return semeval(gold, pred)[self.scheme]


SCHEMES = ("strict", "exact", "partial", "type")


def semeval(gold: Sequence[Span], pred: Sequence[Span]) -> dict[str, SemEvalCounts]:
    """The counts of one document in all four schemes."""
    pairs = overlapping(gold, pred, same_type=False)
    n, missed, spurious = len(pairs), len(gold) - len(pairs), len(pred) - len(pairs)
    exact = sum(gold[i].place == pred[j].place for i, j in pairs)
    typed = sum(gold[i].type == pred[j].type for i, j in pairs)
    both = sum(gold[i].place == pred[j].place and gold[i].type == pred[j].type for i, j in pairs)
    return {
        "strict": SemEvalCounts(both, n - both, 0, missed, spurious),
        "exact": SemEvalCounts(exact, n - exact, 0, missed, spurious),
        "partial": SemEvalCounts(exact, 0, n - exact, missed, spurious),
        "type": SemEvalCounts(typed, n - typed, 0, missed, spurious),
    }

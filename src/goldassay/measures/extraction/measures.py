"""Extraction's measures: precision, recall and F1 of spans, and the four schemas of SemEval'13.

A measure is `SpanF1` with arguments. ``match`` says when a prediction is correct:

| match | a pair is correct if | also known as |
|---|---|---|
| ``strict`` | same boundaries and same type | HIPE strict, CoNLL, SemEval strict, seqeval |
| ``partial`` | overlap and same type | HIPE fuzzy, SemEval type |
| ``exact`` | same boundaries, any type | SemEval exact |
| ``type`` | same type and any overlap, so the same as ``partial`` | HIPE fuzzy, SemEval type |
| ``type_anywhere`` | same type, anywhere in the document | |
| ``token`` | a token (`tokens`) has the same type on both sides | |

P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn). Matching is within a document, one-to-one, and
does not depend on order (`matching`), or in the order of the official HIPE scorer (`hipe`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import NO_EVIDENCE, Conventions, Review, check_choice
from goldassay.core.tally import RATE_TALLIES, Macro, Mean, T
from goldassay.measures import Examples, TaskMeasure
from goldassay.measures.extraction.matching import SCHEMAS, SemEvalCounts, SemEvalPrecision, SemEvalRecall, SpanBatch

SPAN_MATCHES = {
    "strict": "span+type",
    "partial": "overlap+type",
    "exact": "span",
    "type": "type+overlap",
    "type_anywhere": "type+overlap",
    "token": "token+type",
}
"""The properties that each match compares."""
SPAN_AVERAGES = {"macro": "gold", "macro_seen": "seen", "weighted": "support"}  # and the share of a type in the mean
AVERAGED = ("strict", "partial")
REPEATED_SPANS = "each counts"  # so a span that is predicted twice is spurious once
SEMEVAL_RATES = {"f1": SemEvalCounts, "precision": SemEvalPrecision, "recall": SemEvalRecall}


@dataclass(frozen=True)
class SpanMeasure(TaskMeasure[T, SpanBatch]):
    """A measure of extraction: spans of both sides are read, matched, and their errors put in words.

    ``matching`` is ``one-to-one`` (that with the most true positives, whatever the order) or ``hipe`` (in the order of
    the text, as the official HIPE scorer). ``bounds`` is ``given``, or ``word``: spans of both sides are widened to
    whole words of the text first, as ELEVANT does. Its optional labels and parts are a gold span's ``optional`` and
    ``parent`` (`settled`).
    """

    task = "extraction"
    shares = ("bounds",)
    choices = {"bounds": ("given", "word"), "matching": ("one-to-one", "hipe")}

    _: KW_ONLY
    bounds: str = "given"
    matching: str = "one-to-one"

    def batch(self, gold: Examples, pred: Examples) -> SpanBatch:
        """The spans of all documents, matched."""
        return SpanBatch(gold, pred, bounds=self.bounds)

    def reviews(self, batch: SpanBatch) -> list[Review]:
        """The spans that are missed, spurious, of the wrong type or with the wrong boundaries."""
        return batch.reviews


@dataclass(frozen=True)
class SpanF1(SpanMeasure):
    """F1, precision or recall of spans.

    Formula: P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn); averaged as named
    Source: Tjong Kim Sang & De Meulder 2003 (CoNLL); Ehrmann et al. 2022 (HIPE: strict, fuzzy, by document)

    Args:
        match: When a prediction is correct: ``strict``, ``partial``, ``exact``, ``type``, ``type_anywhere``, ``token``.
        rate: ``f1``, ``precision`` or ``recall``.
        average: ``micro`` pools all spans. ``macro`` is the mean over the types that occur in gold, ``macro_seen`` over
            all types that occur on either side (a type that is only predicted counts 0, as in seqeval), ``weighted``
            the mean weighted by how often each type occurs in gold. ``document`` is the mean over documents (HIPE):
            those without predictions leave precision and F1, those without gold leave recall and F1; one with gold
            that the program failed on counts 0.

    >>> gold, pred = [(0, 5, "A"), (7, 9, "B")], [(0, 5, "A"), (7, 8, "B"), (20, 22, "B")]
    >>> SpanF1()(gold, pred).tally, SpanF1("partial", rate="recall")(gold, pred).tally.value
    (Counts(tp=1, fp=2, fn=1), 1.0)
    >>> SpanF1("type_anywhere", rate="precision")(gold, pred).tally.value, SpanF1("exact").key
    (0.6666666666666666, 'exact_f1')
    >>> SpanF1(average="macro")(gold, pred).tally.value, SpanF1(average="document").key       # A 1, B 0
    (0.5, 'macro_doc_f1')
    >>> SpanF1("token")({"text": "Het  Rijksmuseum hier", "entities": [(5, 16, "MUS")]}, [(0, 16, "MUS")]).tally
    Counts(tp=1, fp=1, fn=0)
    """

    choices = {
        **SpanMeasure.choices,
        "match": tuple(SPAN_MATCHES),
        "rate": tuple(RATE_TALLIES),
        "average": ("micro", *SPAN_AVERAGES, "document"),
    }

    match: str = "strict"
    rate: str = "f1"
    average: str = "micro"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average != "micro":
            check_choice("the match of an average", self.match, AVERAGED)
        if self.matching == "hipe" and self.match in ("type_anywhere", "token"):
            raise GoldassayError(f"the HIPE scorer does not count {self.match}; leave out matching='hipe'")

    @property
    def key(self) -> str:
        """``strict_f1``, ``strict_macro_f1``, ``strict_macro_f1_seen``, ``macro_doc_f1``, ``macro_doc_partial_f1`` …"""
        if self.average == "document":
            return f"macro_doc_{'' if self.match == 'strict' else 'partial_'}{self.rate}"
        average, _, seen = self.average.partition("_")
        parts = (self.match, "" if average == "micro" else average, self.rate, seen)
        return "_".join(word for word in parts if word)

    @property
    def zero(self) -> Any:
        """No evidence."""
        if self.average in SPAN_AVERAGES:
            return Macro(rate=self.rate, share=SPAN_AVERAGES[self.average])
        return Mean() if self.average == "document" else RATE_TALLIES[self.rate]()

    def tallies(self, batch: SpanBatch) -> Any:
        """Counts of every document, by type if the average asks for it; or the rate of every document."""
        if self.average in SPAN_AVERAGES:
            return self.zero.with_items(batch.by_type(self.match, self.matching))
        counts = batch.counts(self.match, self.matching)
        if self.average == "micro":
            return self.zero.from_state(counts.state())
        annotated = counts.tp + counts.fn > 0
        predicted = (counts.tp + counts.fp > 0) | (batch.failed & annotated)  # who failed did not leave it empty
        applies = 1.0 * {"precision": predicted, "recall": annotated, "f1": predicted & annotated}[self.rate]
        return Mean(getattr(counts, self.rate) * applies, applies)

    @property
    def counted(self) -> str:
        """``strict``, ``partial`` …: precision, recall and F1 have the same counts; those by type are in a table."""
        return self.match if self.average == "micro" else ""

    @property
    def chosen(self) -> Mapping[str, object]:
        """The properties that the match compares."""
        average = {"micro": "micro", "weighted": "weighted by gold support", "document": "macro by document"}
        token = self.match == "token"
        conventions = {
            "bounds": self.bounds,
            "matching": "" if token else self.matching,
            "within": {"type": "overlap", "type_anywhere": "document"}.get(self.match),
            "match": SPAN_MATCHES[self.match],
            "over": SPAN_AVERAGES[self.average] if self.average.startswith("macro") else "",
            "average": average.get(self.average, "macro by type"),
            "repeated": "" if token else REPEATED_SPANS,
            "empty": "left out, failed=0" if self.average == "document" else NO_EVIDENCE,
            "known_as": "HIPE fuzzy = SemEval type" if self.match in ("partial", "type") else "",
        }
        return {name: value for name, value in conventions.items() if value}


@dataclass(frozen=True)
class SemEval(SpanMeasure[SemEvalCounts]):
    """F1, precision or recall of SemEval'13 task 9 in one of its four schemas.

    | schema | COR | else, for two spans that overlap |
    |---|---|---|
    | ``strict`` | same boundaries and type | INC |
    | ``exact`` | same boundaries | INC |
    | ``partial`` | same boundaries, any type | PAR, which counts half |
    | ``type`` | overlap and same type | INC |

    Each schema is counted with the one-to-one matching that gives it the most correct pairs, so ``strict``, ``exact``
    and ``type`` have as many as `SpanF1` with the match of that name.

    Formula: P = (COR + ½ PAR) / ACT, R = (COR + ½ PAR) / POS, F1 their harmonic mean
    Source: Segura-Bedmar et al. 2013 (SemEval-2013 task 9)

    >>> SemEval("partial")([(0, 5, "A")], [(0, 4, "B")]).tally
    SemEvalCounts(correct=0, incorrect=0, partial=1, missed=0, spurious=0)
    >>> SemEval("partial", rate="recall")([(0, 5, "A")], [(0, 4, "B")]).tally.value
    0.5
    """

    schema: str = "strict"
    rate: str = "f1"
    choices = {**SpanMeasure.choices, "schema": SCHEMAS, "rate": tuple(RATE_TALLIES)}
    fixed: ClassVar[Conventions] = {
        "average": "micro",
        "partial credit": "0.5",
        "repeated": REPEATED_SPANS,
        "empty": NO_EVIDENCE,
    }

    @property
    def key(self) -> str:
        """``semeval_strict_f1`` and so on."""
        return f"{self.counted}_{self.rate}"

    @property
    def counted(self) -> str:
        """``semeval_strict`` and so on: the three rates have the same counts."""
        return f"semeval_{self.schema}"

    @property
    def zero(self) -> SemEvalCounts:
        """No evidence."""
        return SEMEVAL_RATES[self.rate]()

    def tallies(self, batch: SpanBatch) -> SemEvalCounts:
        """COR, INC, PAR, MIS, SPU of every document."""
        return self.zero.from_state(batch.semeval(self.schema, self.matching).state())

"""Claims and who supports them, as a judge says: the tables that the values of claims are made of.

A judge is whatever has ``claims(text)`` and ``support(text, claim)``: a `goldassay.judges.ask.judge.Judge`, a panel, an
entailment model (`goldassay.judges.nli`).

What the values of claims share when a judge makes the tables.

Each asks for the tables it needs; since a judge answers each question once, several measures together cost no more than
the largest. Where gold is needed, an unanswerable question is left out; where contexts are, a prediction without them.
An answer of fewer than four words is read together with its question.

The values of claims with a judge that makes the tables; the arithmetic is that of
`goldassay.measures.answering.claims`, what is left out that of `goldassay.judges.measures.claims`.

Ru et al., RAGChecker: a fine-grained framework for diagnosing retrieval-augmented generation, NeurIPS 2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.judges.ask.claims import claimed
from goldassay.judges.measures.base import Judged, JudgedMeasure, answer_of, gold_text, known, told, unanswerable
from goldassay.measure import Assessment, failed
from goldassay.measures.answering import claim_measures as plain
from goldassay.measures.answering.claim_measures import SOURCE
from goldassay.measures.answering.claims import Share
from goldassay.measures.answering.records import contexts


@dataclass(frozen=True)
class ClaimValue(JudgedMeasure):
    """One of the values of claims, of tables that a judge makes; its mean over answers."""

    gold_fields: ClassVar[tuple[str, ...]] = ("reference", "answers", "question")
    pred_fields: ClassVar[tuple[str, ...]] = ("answer", "retrieved_contexts")
    source: ClassVar[str] = SOURCE
    tables: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[str] = ""
    lower_is_better: ClassVar[bool] = False

    @property
    def share(self) -> str:
        """Which of the values it is."""
        return self.name

    def assess(self, gold: Any, pred: Any) -> Assessment[Judged]:
        """The value of one answer, and the claims that count against it."""
        texts = None if failed(pred) else contexts(pred)
        expected = gold_text(gold)
        needs_gold = any("gold" in table for table in self.tables)
        needs_texts = any("context" in table for table in self.tables)
        if (needs_gold and (unanswerable(gold) or not expected)) or (needs_texts and texts is None):
            return Assessment(Judged())
        wanted = told(gold, expected or "")
        made = claimed(self.bound, told(gold, answer_of(gold, pred)), wanted, texts, self.tables)
        support = made.support
        share = support.values.get(self.share)
        if share is None:
            return Assessment(Judged())
        tally = Judged.between(share.value, share.most, self.settled(support.values), support.unknown)
        return Assessment(tally, tuple(made.errors(self.shown)) if self.shown else ())

    def settled(self, values: dict[str, Share]) -> float | None:
        """The value over what is known."""
        return known(values[self.share])


BY_GOLD, BY_ANSWER, BY_CONTEXT, IN_CONTEXT = "answer_by_gold", "gold_by_answer", "answer_by_context", "gold_by_context"


@dataclass(frozen=True)
class ClaimPrecision(ClaimValue):
    """The share of the answer's claims that the gold answer supports."""

    name: ClassVar[str] = "claim_precision"
    share: ClassVar[str] = "precision"  # type: ignore[assignment]
    tables: ClassVar[tuple[str, ...]] = (BY_GOLD,)
    shown: ClassVar[str] = BY_GOLD
    formula: ClassVar[str] = plain.ClaimPrecision.formula


@dataclass(frozen=True)
class ClaimRecall(ClaimValue):
    """The share of the gold claims that the answer supports."""

    name: ClassVar[str] = "claim_recall"
    share: ClassVar[str] = "recall"  # type: ignore[assignment]
    tables: ClassVar[tuple[str, ...]] = (BY_ANSWER,)
    shown: ClassVar[str] = BY_ANSWER
    formula: ClassVar[str] = plain.ClaimRecall.formula


@dataclass(frozen=True)
class ClaimF1(ClaimValue):
    """Factual correctness: the harmonic mean of claim precision and claim recall, for each answer."""

    name: ClassVar[str] = "claim_f1"
    share: ClassVar[str] = "f1"  # type: ignore[assignment]
    tables: ClassVar[tuple[str, ...]] = (BY_GOLD, BY_ANSWER)
    formula: ClassVar[str] = plain.ClaimF1.formula

    def settled(self, values: dict[str, Share]) -> float | None:
        """From precision and recall over what is known."""
        precision, recall = known(values["precision"]), known(values["recall"])
        if precision is None or recall is None:
            return None
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@dataclass(frozen=True)
class Faithfulness(ClaimValue):
    """The share of the answer's claims that a retrieved passage supports.

    >>> from goldassay.judges.ask.signatures import Verdict
    >>> class Literal:
    ...     name = "literal"
    ...     def claims(self, text):
    ...         return text.split("; ")
    ...     def support(self, text, claim):
    ...         return Verdict("supported", claim) if claim in text else Verdict("not_stated")
    >>> pred = {"answer": "opened in 1885; is red", "retrieved_contexts": ["It opened in 1885."]}
    >>> found = Faithfulness(Literal())({}, pred)
    >>> found.tally.value, found.errors[0].message
    (0.5, 'The answer says “is red”, which no retrieved passage supports.')
    """

    name: ClassVar[str] = "faithfulness"
    tables: ClassVar[tuple[str, ...]] = (BY_CONTEXT,)
    shown: ClassVar[str] = BY_CONTEXT
    formula: ClassVar[str] = plain.Faithfulness.formula


@dataclass(frozen=True)
class ContextRecall(ClaimValue):
    """The share of the gold claims that a retrieved passage supports."""

    name: ClassVar[str] = "context_recall"
    share: ClassVar[str] = "claim_recall"  # type: ignore[assignment]
    tables: ClassVar[tuple[str, ...]] = (IN_CONTEXT,)
    shown: ClassVar[str] = IN_CONTEXT
    formula: ClassVar[str] = plain.RetrievedClaimRecall.formula


@dataclass(frozen=True)
class ContextPrecision(ClaimValue):
    """The share of the retrieved passages that support a gold claim."""

    name: ClassVar[str] = "context_precision"
    tables: ClassVar[tuple[str, ...]] = (IN_CONTEXT,)
    formula: ClassVar[str] = plain.ContextPrecision.formula


@dataclass(frozen=True)
class ContextUtilization(ClaimValue):
    """Of the gold claims that were retrieved, the share that the answer has."""

    name: ClassVar[str] = "context_utilization"
    tables: ClassVar[tuple[str, ...]] = (BY_ANSWER, IN_CONTEXT)
    formula: ClassVar[str] = plain.ContextUtilization.formula


@dataclass(frozen=True)
class Hallucination(ClaimValue):
    """The share of the answer's claims that neither a passage nor gold supports; lower is better."""

    name: ClassVar[str] = "hallucination"
    tables: ClassVar[tuple[str, ...]] = (BY_GOLD, BY_CONTEXT)
    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = plain.Hallucination.formula


@dataclass(frozen=True)
class SelfKnowledge(ClaimValue):
    """The share of the answer's claims that are right without a passage that says so; lower is more grounded."""

    name: ClassVar[str] = "self_knowledge"
    tables: ClassVar[tuple[str, ...]] = (BY_GOLD, BY_CONTEXT)
    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = plain.SelfKnowledge.formula


@dataclass(frozen=True)
class NoiseSensitivity(ClaimValue):
    """The share of the answer's claims that are wrong and come from ``passages``, relevant or irrelevant ones."""

    name: ClassVar[str] = "noise_sensitivity"
    tables: ClassVar[tuple[str, ...]] = (BY_GOLD, BY_CONTEXT, IN_CONTEXT)
    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = plain.NoiseSensitivity.formula

    passages: str = "relevant"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.passages not in ("relevant", "irrelevant"):
            raise GoldassayError(f"noise comes from relevant or irrelevant passages, not {self.passages!r}")

    @property
    def key(self) -> str:
        """``noise_sensitivity_in_relevant``."""
        return f"{self.name}_in_{self.passages}"

    @property
    def share(self) -> str:
        """The same."""
        return self.key

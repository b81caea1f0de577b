"""The values of claims as measures, and relevance: from verdicts that stand with the prediction, or from a judge.

Without a judge the verdicts stand with the prediction, in a field ``support`` (or ``meta.support``) with the four
tables of `claims`, or with RAGChecker's four names as fields of their own; people, or a judge of an earlier run, wrote
them. Without verdicts there is no evidence, and the value is not applicable.

With a judge (``Faithfulness(judge)``) each measure asks for the tables that it needs; since a judge answers each
question once, several measures together cost no more than the largest. Where gold is needed, an unanswerable question
is left out; where contexts are, a prediction without them. An answer of fewer than four words is read together with
its question.

An unknown verdict stays in the denominator and is not counted as true; `JudgedMean.highest` says what the value could
be. Hallucination, self-knowledge and noise sensitivity are better when lower: they are for reading, not for optimizing.

Ru et al., RAGChecker: a fine-grained framework for diagnosing retrieval-augmented generation, NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measure import Assessment, Error, failed
from goldassay.measures.answering import claims
from goldassay.measures.answering.records import (
    answer_or_nothing,
    contexts,
    expected_text,
    extra,
    question,
    unanswerable,
)
from goldassay.measures.judged import JudgedMean, JudgedMeasure, unknown

SOURCE = "Ru et al., RAGChecker, NeurIPS 2024"
BY_GOLD, BY_ANSWER, BY_CONTEXT, IN_CONTEXT = claims.TABLES


class _ClaimValue(JudgedMeasure):
    """One of the values of claims; its mean over answers. ``shown`` is the table whose claims are its errors."""

    task: ClassVar[str] = "answering"
    gold_fields: ClassVar[tuple[str, ...]] = ("reference", "answers", "question")
    pred_fields: ClassVar[tuple[str, ...]] = ("support", "answer", "retrieved_contexts")
    fixed: ClassVar[Mapping[str, str]] = {"average": "answers", **JudgedMeasure.fixed}
    source: ClassVar[str] = SOURCE
    optional: ClassVar[bool] = True
    value: ClassVar[str] = ""
    tables: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[str] = ""
    lower_is_better: ClassVar[bool] = False

    def assess(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The value of one answer, and the claims that count against it."""
        found = self._given(pred) if self.judge is None else self._asked(gold, pred)
        support = found.support.only(self.tables) if found else None
        share = support.values.get(self.value) if support else None
        if found is None or support is None or share is None:
            return Assessment(JudgedMean())
        tally = JudgedMean(share.value, 1.0, share.most, float(support.unknown))
        return Assessment(tally, tuple(found.errors(self.shown)) if self.shown else ())

    def _given(self, pred: Any) -> claims.Claimed | None:
        return None if failed(pred) else claims.given(pred)

    def _asked(self, gold: Any, pred: Any) -> claims.Claimed | None:
        texts, expected = None if failed(pred) else contexts(pred), expected_text(gold)
        needs_gold = any("gold" in table for table in self.tables)
        needs_texts = any("context" in table for table in self.tables)
        if (needs_gold and (unanswerable(gold) or not expected)) or (needs_texts and texts is None):
            return None
        mine = claims.told(gold, answer_or_nothing(pred, gold))
        return claims.asked(self.bound, mine, claims.told(gold, expected or ""), texts, self.tables)


@dataclass(frozen=True)
class ClaimPrecision(_ClaimValue):
    """The share of the answer's claims that the gold answer supports.

    >>> ClaimPrecision()({}, {"support": {"answer_by_gold": [True, False]}}).tally.value
    0.5
    """

    name: ClassVar[str] = "claim_precision"
    value: ClassVar[str] = "precision"
    tables: ClassVar[tuple[str, ...]] = (BY_GOLD,)
    shown: ClassVar[str] = BY_GOLD
    formula: ClassVar[str] = "claims of the answer that gold supports / claims of the answer"

    judge: Any = None


@dataclass(frozen=True)
class ClaimRecall(_ClaimValue):
    """The share of the gold claims that the answer supports.

    >>> ClaimRecall()({}, {"support": {"gold_by_answer": [True, False]}}).tally.value
    0.5
    """

    name: ClassVar[str] = "claim_recall"
    value: ClassVar[str] = "recall"
    tables: ClassVar[tuple[str, ...]] = (BY_ANSWER,)
    shown: ClassVar[str] = BY_ANSWER
    formula: ClassVar[str] = "claims of gold that the answer supports / claims of gold"

    judge: Any = None


@dataclass(frozen=True)
class ClaimF1(_ClaimValue):
    """The harmonic mean of claim precision and claim recall, for each answer.

    >>> ClaimF1()({}, {"support": {"answer_by_gold": [True], "gold_by_answer": [True, False]}}).tally.value
    0.6666666666666666
    """

    name: ClassVar[str] = "claim_f1"
    value: ClassVar[str] = "f1"
    tables: ClassVar[tuple[str, ...]] = (BY_GOLD, BY_ANSWER)
    formula: ClassVar[str] = "2PR/(P+R) of claim precision and claim recall, mean over answers"

    judge: Any = None


@dataclass(frozen=True)
class Faithfulness(_ClaimValue):
    """The share of the answer's claims that a retrieved passage supports.

    >>> Faithfulness()({}, {"support": {"answer_by_context": [[False, True], [False, None]]}}).tally
    JudgedMean(total=0.5, weight=1.0, most=1.0, unknown=1.0)
    >>> from goldassay.measures.judged import Verdict
    >>> class Literal:
    ...     name = "literal"
    ...     def claims(self, text):
    ...         return text.split("; ")
    ...     def support(self, text, claim):
    ...         return Verdict("supported" if claim in text else "not_stated")
    >>> pred = {"answer": "opened in 1885; is red", "retrieved_contexts": ["It opened in 1885."]}
    >>> found = Faithfulness(Literal())({}, pred)
    >>> found.tally.value, found.errors[0].message
    (0.5, 'The answer says “is red”, which no retrieved passage supports.')
    """

    name: ClassVar[str] = "faithfulness"
    value: ClassVar[str] = "faithfulness"
    tables: ClassVar[tuple[str, ...]] = (BY_CONTEXT,)
    shown: ClassVar[str] = BY_CONTEXT
    formula: ClassVar[str] = "claims of the answer that a retrieved passage supports / claims of the answer"

    judge: Any = None


@dataclass(frozen=True)
class RetrievedClaimRecall(_ClaimValue):
    """The share of the gold claims that a retrieved passage supports: RAGChecker's claim recall of the retriever.

    >>> RetrievedClaimRecall()({}, {"support": {"gold_by_context": [[True, False], [False, False]]}}).tally.value
    0.5
    """

    name: ClassVar[str] = "retrieved_claim_recall"
    value: ClassVar[str] = "claim_recall"
    tables: ClassVar[tuple[str, ...]] = (IN_CONTEXT,)
    shown: ClassVar[str] = IN_CONTEXT
    formula: ClassVar[str] = "claims of gold that a retrieved passage supports / claims of gold"

    judge: Any = None


@dataclass(frozen=True)
class ContextPrecision(_ClaimValue):
    """The share of the retrieved passages that support a gold claim.

    >>> ContextPrecision()({}, {"support": {"gold_by_context": [[True, False], [False, False]]}}).tally.value
    0.5
    """

    name: ClassVar[str] = "context_precision"
    value: ClassVar[str] = "context_precision"
    tables: ClassVar[tuple[str, ...]] = (IN_CONTEXT,)
    formula: ClassVar[str] = "retrieved passages that support a claim of gold / retrieved passages"

    judge: Any = None


@dataclass(frozen=True)
class ContextUtilization(_ClaimValue):
    """Of the gold claims that were retrieved, the share that the answer has.

    >>> both = {"gold_by_answer": [True, False], "gold_by_context": [[True], [True]]}
    >>> ContextUtilization()({}, {"support": both}).tally.value
    0.5
    """

    name: ClassVar[str] = "context_utilization"
    value: ClassVar[str] = "context_utilization"
    tables: ClassVar[tuple[str, ...]] = (BY_ANSWER, IN_CONTEXT)
    formula: ClassVar[str] = "claims of gold retrieved and answered / claims of gold retrieved"

    judge: Any = None


@dataclass(frozen=True)
class Hallucination(_ClaimValue):
    """The share of the answer's claims that neither a passage nor gold supports; lower is better.

    >>> both = {"answer_by_gold": [True, False], "answer_by_context": [[False], [False]]}
    >>> Hallucination()({}, {"support": both}).tally.value
    0.5
    """

    name: ClassVar[str] = "hallucination"
    value: ClassVar[str] = "hallucination"
    tables: ClassVar[tuple[str, ...]] = (BY_GOLD, BY_CONTEXT)
    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = "claims of the answer that neither a passage nor gold supports / claims of the answer"

    judge: Any = None


@dataclass(frozen=True)
class SelfKnowledge(_ClaimValue):
    """The share of the answer's claims that are right without a passage that says so; lower is more grounded.

    >>> both = {"answer_by_gold": [True, False], "answer_by_context": [[False], [False]]}
    >>> SelfKnowledge()({}, {"support": both}).tally.value
    0.5
    """

    name: ClassVar[str] = "self_knowledge"
    value: ClassVar[str] = "self_knowledge"
    tables: ClassVar[tuple[str, ...]] = (BY_GOLD, BY_CONTEXT)
    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = "claims of the answer that gold supports and no passage does / claims of the answer"

    judge: Any = None


@dataclass(frozen=True)
class NoiseSensitivity(_ClaimValue):
    """The share of the answer's claims that are wrong and come from passages; lower is better.

    ``passages="relevant"``: a passage that supports some gold claim says it; ``"irrelevant"``: only others do.
    """

    name: ClassVar[str] = "noise_sensitivity"
    tables: ClassVar[tuple[str, ...]] = (BY_GOLD, BY_CONTEXT, IN_CONTEXT)
    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = "claims that gold does not support and a (ir)relevant passage does / claims of the answer"

    passages: str = "relevant"
    judge: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.passages not in ("relevant", "irrelevant"):
            raise GoldassayError(f"noise comes from relevant or irrelevant passages, not {self.passages!r}")

    @property
    def key(self) -> str:
        """``noise_sensitivity_in_relevant``."""
        return f"{self.name}_in_{self.passages}"

    @property
    def value(self) -> str:  # type: ignore[override]
        """The same."""
        return self.key


RELEVANCE = {"full": 1.0, "partial": 0.5, "none": 0.0, "evasion": 0.0}
HOW = {"partial": "answers in part only", "none": "does not answer", "evasion": "evades"}


@dataclass(frozen=True)
class Relevance(JudgedMeasure):
    """Does the answer answer the question: in full (1), in part (0.5), not at all or by an evasion (0)?

    A cosine to the question is no relevance: an echo of the question wins it. So there is no value without a judge, or
    a judge's number in the prediction's ``relevance`` (or ``meta.relevance``), from 0 to 1. An empty answer evades. A
    judge is not asked about a question that gold calls unanswerable: to say nothing is right there.

    >>> Relevance()({}, {"answer": "In 1800.", "relevance": 0.75}).tally.value
    0.75
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "relevance"
    gold_fields: ClassVar[tuple[str, ...]] = ("question",)
    pred_fields: ClassVar[tuple[str, ...]] = ("answer", "relevance")
    fixed: ClassVar[Mapping[str, str]] = {
        "levels": "full=1, partial=0.5, none=0, evasion=0",
        "average": "answers",
        **JudgedMeasure.fixed,
    }
    formula: ClassVar[str] = "mean over answers of full 1, partial 0.5, none 0, evasion 0"
    source: ClassVar[str] = "goldassay"
    optional: ClassVar[bool] = True

    judge: Any = None

    def assess(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The worth of one answer, with the judge's reason where it is not the highest."""
        return self._given(gold, pred) if self.judge is None else self._asked(gold, pred)

    def _given(self, gold: Any, pred: Any) -> Assessment[JudgedMean]:
        found = None if failed(pred) else extra(pred, "relevance")
        if found is None:
            return Assessment(JudgedMean())
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found <= 1:
            what = f"expected a judge's number from 0 to 1, found {found!r}"
            raise DataError(what, record=read(pred, "id", None), field="relevance")
        asked = question(gold)
        message = f"The answer does not answer “{asked}”." if asked else "The answer misses the question."
        errors = (Error("irrelevant", message, field="answer"),) if found < 0.5 else ()
        return Assessment(JudgedMean.of(float(found)), errors)

    def _asked(self, gold: Any, pred: Any) -> Assessment[JudgedMean]:
        asked, text = question(gold), answer_or_nothing(pred, gold)
        if not asked or unanswerable(gold):
            return Assessment(JudgedMean())
        found = self.bound.relevance(asked, text)
        if found.label is None:
            return Assessment(JudgedMean.of(None), (unknown("Whether the answer answers the question"),))
        value = RELEVANCE[found.label]
        if value == 1:
            return Assessment(JudgedMean.of(value))
        why = f" The judge: {found.reason}" if found.reason else ""
        message = f"The answer {HOW[found.label]} “{asked}”.{why}"
        return Assessment(JudgedMean.of(value), (Error("irrelevant", message, pred=text, field="answer"),))

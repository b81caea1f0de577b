"""The values of claims as measures: means over answers, with the unknown verdicts in the evidence.

The verdicts stand with the prediction, in a field ``support`` (or ``meta.support``) with the four tables of `claims`,
or with RAGChecker's four names as fields of their own. A judge writes them (`goldassay.judges`), or people do. Without
them there is no evidence, and the value is not applicable.

Hallucination, self-knowledge and noise sensitivity are better when lower: they are for reading, not for optimizing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure, failed
from goldassay.measures.answering.claim_evidence import Shares, against, support

SOURCE = "Ru et al., RAGChecker, NeurIPS 2024"


@dataclass(frozen=True)
class _Claims(Measure[Shares]):
    """One of the values of claims; its mean over the answers that have verdicts."""

    task: ClassVar[str] = "answering"
    zero: ClassVar[Shares] = Shares()
    pred_fields: ClassVar[tuple[str, ...]] = ("support",)
    fixed: ClassVar[dict[str, str]] = {"average": "answers", "unknown": "not counted as true, never dropped"}
    source: ClassVar[str] = SOURCE
    value: ClassVar[str] = ""
    table: ClassVar[str] = ""
    lower_is_better: ClassVar[bool] = False

    def assess(self, gold: Any, pred: Any) -> Assessment[Shares]:
        """The share of one answer, and its claims that count against it."""
        found = None if failed(pred) else support(pred)
        share = found.values.get(self.value) if found else None
        if found is None or share is None:
            return Assessment(Shares())
        tally = Shares(share.value, 1.0, share.most, float(found.unknown))
        return Assessment(tally, tuple(against(pred, found, self.table)) if self.table else ())


@dataclass(frozen=True)
class ClaimPrecision(_Claims):
    """The share of the answer's claims that the gold answer supports.

    >>> ClaimPrecision()({}, {"support": {"answer_by_gold": [True, False]}}).tally.value
    0.5
    """

    name: ClassVar[str] = "claim_precision"
    value: ClassVar[str] = "precision"
    table: ClassVar[str] = "answer_by_gold"
    formula: ClassVar[str] = "claims of the answer that gold supports / claims of the answer"


@dataclass(frozen=True)
class ClaimRecall(_Claims):
    """The share of the gold claims that the answer supports."""

    name: ClassVar[str] = "claim_recall"
    value: ClassVar[str] = "recall"
    table: ClassVar[str] = "gold_by_answer"
    formula: ClassVar[str] = "claims of gold that the answer supports / claims of gold"


@dataclass(frozen=True)
class ClaimF1(_Claims):
    """The harmonic mean of claim precision and claim recall, for each answer."""

    name: ClassVar[str] = "claim_f1"
    value: ClassVar[str] = "f1"
    formula: ClassVar[str] = "2PR/(P+R) of claim precision and claim recall, mean over answers"


@dataclass(frozen=True)
class Faithfulness(_Claims):
    """The share of the answer's claims that a retrieved passage supports.

    >>> Faithfulness()({}, {"support": {"answer_by_context": [[False, True], [False, None]]}}).tally
    Shares(total=0.5, weight=1.0, most=1.0, unknown=1.0)
    """

    name: ClassVar[str] = "faithfulness"
    value: ClassVar[str] = "faithfulness"
    table: ClassVar[str] = "answer_by_context"
    formula: ClassVar[str] = "claims of the answer that a retrieved passage supports / claims of the answer"


@dataclass(frozen=True)
class RetrievedClaimRecall(_Claims):
    """The share of the gold claims that a retrieved passage supports: RAGChecker's claim recall of the retriever."""

    name: ClassVar[str] = "retrieved_claim_recall"
    value: ClassVar[str] = "claim_recall"
    table: ClassVar[str] = "gold_by_context"
    formula: ClassVar[str] = "claims of gold that a retrieved passage supports / claims of gold"


@dataclass(frozen=True)
class ContextPrecision(_Claims):
    """The share of the retrieved passages that support a gold claim."""

    name: ClassVar[str] = "context_precision"
    value: ClassVar[str] = "context_precision"
    formula: ClassVar[str] = "retrieved passages that support a claim of gold / retrieved passages"


@dataclass(frozen=True)
class ContextUtilization(_Claims):
    """Of the gold claims that were retrieved, the share that the answer has."""

    name: ClassVar[str] = "context_utilization"
    value: ClassVar[str] = "context_utilization"
    formula: ClassVar[str] = "claims of gold retrieved and answered / claims of gold retrieved"


@dataclass(frozen=True)
class Hallucination(_Claims):
    """The share of the answer's claims that neither a passage nor gold supports; lower is better."""

    name: ClassVar[str] = "hallucination"
    value: ClassVar[str] = "hallucination"
    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = "claims of the answer that neither a passage nor gold supports / claims of the answer"


@dataclass(frozen=True)
class SelfKnowledge(_Claims):
    """The share of the answer's claims that are right without a passage that says so; lower is more grounded."""

    name: ClassVar[str] = "self_knowledge"
    value: ClassVar[str] = "self_knowledge"
    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = "claims of the answer that gold supports and no passage does / claims of the answer"


@dataclass(frozen=True)
class NoiseSensitivity(_Claims):
    """The share of the answer's claims that are wrong and come from passages; lower is better.

    ``passages="relevant"``: a passage that supports some gold claim says it; ``"irrelevant"``: only others do.
    """

    name: ClassVar[str] = "noise_sensitivity"
    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = "claims that gold does not support and a (ir)relevant passage does / claims of the answer"

    passages: str = "relevant"

    def __post_init__(self) -> None:
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

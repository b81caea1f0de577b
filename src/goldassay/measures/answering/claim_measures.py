"""The evidence behind the values of claims: the verdicts that stand with a prediction, their tally, their errors.

The values of claims as measures: means over answers, with the unknown verdicts in the evidence.

The verdicts stand with the prediction, in a field ``support`` (or ``meta.support``) with the four tables of `claims`,
or with RAGChecker's four names as fields of their own. A judge writes them (`goldassay.judges`), or people do. Without
them there is no evidence, and the value is not applicable.

Hallucination, self-knowledge and noise sensitivity are better when lower: they are for reading, not for optimizing.

Relevance, as a judge gives it: does the answer answer the question?

A cosine to the question is no relevance: an echo of the question wins it. So there is no value without a judge's number
in the prediction's ``relevance`` (or ``meta.relevance``), from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measure import Assessment, Error, Measure, failed
from goldassay.measures.answering.claims import RAGCHECKER, Support, Verdict
from goldassay.measures.answering.records import extra
from goldassay.tally import Mean
from goldassay.tally.base import Number, Sums, divide


@dataclass(frozen=True, slots=True)
class Shares(Sums):
    """The sum of certain shares, how many there are, what the sum could be at most, and the unknown verdicts behind it.

    >>> both = Shares(0.5, 1, 0.75, 1) + Shares(1.0, 1, 1.0, 0)
    >>> both.value, both.highest, both.unknown
    (0.75, 0.875, 1)
    """

    total: Number = 0.0
    weight: Number = 0.0
    most: Number = 0.0
    unknown: Number = 0.0

    @property
    def value(self) -> Number:
        """The mean of what is certain."""
        return divide(self.total, self.weight, empty=1.0)

    @property
    def highest(self) -> Number:
        """The mean if every unknown verdict went the value's way."""
        return divide(self.most, self.weight, empty=1.0)


def support(pred: Any) -> Support | None:
    """The verdicts that stand with a prediction; ``None`` where none do."""
    if pred is None:
        return None
    found = extra(pred, "support")
    if isinstance(found, Support):
        return found
    if found is None:
        found = {name: table for name in RAGCHECKER if (table := read(pred, name, None)) is not None}
        if not found:
            return None
    if not isinstance(found, Mapping):
        raise DataError(f"expected tables of verdicts, found {found!r}", record=read(pred, "id", None), field="support")
    return Support.of(found, read(pred, "id", None))


def against(pred: Any, found: Support, table: str) -> list[Error]:
    """The claims that a table does not support, in words where the prediction lists its claims."""
    verdicts: list[Verdict] = []
    for row in getattr(found, table):
        verdicts.append(row if not isinstance(row, tuple) else _any(row))
    of_gold = table.startswith("gold")
    kinds = {
        "answer_by_gold": "incorrect",
        "gold_by_answer": "missed",
        "answer_by_context": "unsupported",
        "gold_by_context": "not_retrieved",
    }
    says = {
        "answer_by_gold": "which the gold answer does not say",
        "gold_by_answer": "which the answer leaves out",
        "answer_by_context": "which no retrieved passage supports",
        "gold_by_context": "which no retrieved passage holds",
    }[table]
    texts = extra(pred, "gold_claims" if of_gold else "answer_claims") or []
    out = []
    for place, verdict in enumerate(verdicts):
        if verdict is True:
            continue
        text = _text(texts[place]) if place < len(texts) else f"claim {place + 1}"
        whose = "The gold answer says" if of_gold else "The answer says"
        field = "retrieved_contexts" if table == "gold_by_context" else "answer"
        if verdict is None:
            out.append(
                Error(
                    "unknown",
                    f"Whether “{text}” is supported is not known: the verdict did not come back.",
                    field=field,
                )
            )
        else:
            out.append(
                Error(
                    kinds[table],
                    f"{whose} “{text}”, {says}.",
                    text if of_gold else "",
                    "" if of_gold else text,
                    field=field,
                )
            )
    return out


def _any(row: tuple[Verdict, ...]) -> Verdict:
    return True if True in row else None if None in row else False


def _text(claim: Any) -> str:
    return " ".join(map(str, claim)) if isinstance(claim, (list, tuple)) else str(claim)


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


@dataclass(frozen=True)
class Relevance(Measure[Mean]):
    """The mean of a judge's numbers, over the answers that have one.

    >>> Relevance()({}, {"answer": "In 1800.", "relevance": 0.75}).tally.value
    0.75
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "relevance"
    zero: ClassVar[Mean] = Mean()
    pred_fields: ClassVar[tuple[str, ...]] = ("relevance",)
    fixed: ClassVar[dict[str, str]] = {"by": "judge", "average": "answers judged"}
    formula: ClassVar[str] = "mean of a judge's numbers from 0 to 1"
    source: ClassVar[str] = "goldassay; the judge's own definition stands with the judge"

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        """The judge's number for one answer."""
        found = None if failed(pred) else extra(pred, "relevance")
        if found is None:
            return Assessment(Mean())
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found <= 1:
            what = f"expected a judge's number from 0 to 1, found {found!r}"
            raise DataError(what, record=read(pred, "id", None), field="relevance")
        question = str(read(gold, "question", ""))
        message = f"The answer does not answer “{question}”." if question else "The answer misses the question."
        return Assessment(Mean.of(found), (Error("irrelevant", message, field="answer"),) if found < 0.5 else ())

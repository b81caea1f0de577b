"""The evidence behind the values of claims: the verdicts that stand with a prediction, their tally, their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import Error
from goldassay.measures.answering.claims import RAGCHECKER, Support, Verdict
from goldassay.measures.answering.records import extra
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

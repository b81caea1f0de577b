"""Claims and who supports them, as a judge says: the tables that the values of claims are made of.

A judge is whatever has ``claims(text)`` and ``support(text, claim)``: a `goldassay.judges.judge.Judge`, a panel, an
entailment model (`goldassay.judges.entailment`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from goldassay.exceptions import GoldassayError
from goldassay.judges.ask.signatures import Verdict
from goldassay.measure import Error
from goldassay.measures.answering.claim_measures import against
from goldassay.measures.answering.claims import TABLES, Support

Line = list[Verdict]


class SupportJudge(Protocol):
    """Splits texts into claims and says what supports them; ``None`` where it cannot say."""

    def claims(self, text: str, /) -> list[str] | None:
        """The claims of a text."""

    def support(self, text: str, claim: str, /) -> Verdict:
        """``supported``, ``contradicted`` or ``not_stated``."""


@dataclass
class Claimed:
    """The claims of both answers, and for each table asked for a row of verdicts a claim."""

    answer: list[str] | None = None
    gold: list[str] | None = None
    rows: dict[str, list[Line]] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, Any]:
        """The tables with truth values, as `Support` reads them."""
        out: dict[str, Any] = {}
        for name, rows in self.rows.items():
            truth = [[None if v.label is None else v.label == "supported" for v in row] for row in rows]
            out[name] = truth if name.endswith("context") else [row[0] for row in truth]
        return out

    @property
    def support(self) -> Support:
        """The values' arithmetic over the tables."""
        return Support.of(self.tables)

    def errors(self, table: str) -> list[Error]:
        """The claims that a table does not support, with the quote that contradicts them."""
        found = against({"answer_claims": self.answer, "gold_claims": self.gold}, self.support, table)
        unsupported = [row for row in self.rows[table] if all(v.label != "supported" for v in row)]
        return [_quoted(error, row) for error, row in zip(found, unsupported, strict=True)]


def _quoted(error: Error, row: Line) -> Error:
    for verdict in row:
        if verdict.label == "contradicted":
            return replace(error, message=f"{error.message} It says otherwise: “{verdict.quote}”.")
    return error


def claimed(
    judge: SupportJudge,
    answer: str,
    gold: str | None = None,
    contexts: Sequence[str] | None = None,
    tables: Sequence[str] = TABLES,
) -> Claimed:
    """The tables that are asked for. A decomposition that did not come back is one claim of unknown standing."""
    made = Claimed()
    if any(name.startswith("answer") for name in tables):
        made.answer = judge.claims(answer)
    if any(name.startswith("gold") for name in tables):
        if gold is None:
            raise GoldassayError(f"{', '.join(tables)}: there is no gold answer to take claims from")
        made.gold = judge.claims(gold)
    texts: dict[str, Sequence[str] | None] = {
        "answer_by_gold": None if gold is None else [gold],
        "gold_by_answer": [answer],
        "answer_by_context": contexts,
        "gold_by_context": contexts,
    }
    for name in tables:
        against_texts = texts[name]
        if against_texts is None:
            raise GoldassayError(f"{name}: there are no texts to look for claims in")
        claims = made.gold if name.startswith("gold") else made.answer
        made.rows[name] = (
            [[Verdict(None)] * len(against_texts)]
            if claims is None
            else [[judge.support(text, claim) for text in against_texts] for claim in claims]
        )
    return made

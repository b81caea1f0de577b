"""Panels: majority, disagreement, ballots that did not come back."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay.exceptions import GoldassayError
from goldassay.judges.judge import Judge
from goldassay.judges.panel import Panel, count

ASKED = {"criterion": "c", "question": "q", "answer": "a"}


class Fixed(Judge):
    """A judge that always says the same; ``None`` is unknown."""

    def __init__(self, verdict: str | None, quote: str = "", claims: list[str] | None = None) -> None:
        super().__init__(object())
        self.scripted, self.quote, self.said = verdict, quote, claims

    def ask(self, signature: Any, accept: Any = None, /, **inputs: str) -> Any:
        self.calls += 1
        if "claims" in signature.output_fields:
            return None if self.said is None else {"claims": self.said}
        if self.scripted is None:
            return None
        return {"verdict": self.scripted, "quote": self.quote, "reason": f"I say {self.scripted}"}


def test_majority_brings_the_quote_of_a_member_with_that_verdict() -> None:
    panel = Panel([Fixed("not_stated"), Fixed("supported", "in 1885"), Fixed("supported", "1885")])
    found = panel.verdict("support", text="It opened in 1885.", claim="It opened in 1885.")
    assert (found.label, found.quote) == ("supported", "in 1885")
    assert (panel.asked, panel.calls, panel.unknown) == (1, 3, 0)


def test_no_majority_and_no_quorum_are_unknown_and_counted() -> None:
    tied = Panel([Fixed("yes"), Fixed("no")])
    assert tied.verdict("criterion", **ASKED).label is None
    assert tied.unknown == 1
    assert "no majority" in tied.warning
    thin = Panel([Fixed("yes"), Fixed(None), Fixed(None)])
    assert thin.verdict("criterion", **ASKED).label is None  # 1 of 3 known is under the quorum of a half
    assert Panel([Fixed("yes"), Fixed("yes"), Fixed(None)]).verdict("criterion", **ASKED).label == "yes"


def test_what_cannot_be_voted_on_is_the_first_members_that_answers() -> None:
    panel = Panel([Fixed("yes"), Fixed("yes", claims=["a"]), Fixed("yes", claims=["b"])])
    assert panel.claims("text") == ["a"]
    assert Panel([Fixed("yes")]).claims("text") is None


def test_both_orders_of_a_preference_are_voted_on() -> None:
    panel = Panel([Fixed("first"), Fixed("first"), Fixed("second")])
    assert panel.verdict("preference", question="q", first="a", second="b").label == "tie"


def test_dissent() -> None:
    vote = count(["a", "a", "b", "c", None])
    assert vote.disagreement == 0.5
    assert (len(vote.known), vote.share("a"), count([None]).share("a")) == (4, 0.5, None)
    assert (count([None]).disagreement, count([]).label) == (0.0, None)


def test_refusals() -> None:
    with pytest.raises(GoldassayError, match="needs members"):
        Panel([])

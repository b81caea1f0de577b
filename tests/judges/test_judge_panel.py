"""Panels: majority, disagreement, ballots that did not come back."""

from __future__ import annotations

from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage

from goldassay._support.exceptions import GoldassayError
from goldassay.judges.judge import Judge, Panel
from goldassay.judges.questions import count

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
    item = panel.verdict("support", text="It opened in 1885.", claim="It opened in 1885.")
    assert (item.label, item.quote) == ("supported", "in 1885")
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


class Sampler:
    """Says yes at temperature 0, otherwise no."""

    def __init__(self) -> None:
        self.temperatures: list[Any] = []

    def complete(self, request: Any) -> Any:
        warm = request.config.temperature
        self.temperatures.append(warm)
        text = f"[[ ## reason ## ]]\nr\n[[ ## verdict ## ]]\n{'no' if warm else 'yes'}\n[[ ## completed ## ]]"
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(
            id=None, model=request.model, message=Message.assistant([TextPart(text)]), finish_reason="stop", usage=usage
        )


def test_samples_of_one_model() -> None:
    engine = Sampler()
    model = dspy.LM("scripted/judge", engine=engine, cache=False)
    panel = Panel([Judge(model, sample=sample) for sample in range(3)])
    assert panel.verdict("criterion", **ASKED).label == "no"
    assert engine.temperatures == [0.0, 0.5, 0.5]
    assert str(panel) == "panel(scripted/judge@1, scripted/judge@1#1, scripted/judge@1#2; majority)"
    assert panel.verdict("criterion", **ASKED).label == "no"
    assert panel.calls == 3  # the second time from the store


def test_refusals() -> None:
    with pytest.raises(GoldassayError, match="a panel has members"):
        Panel([])

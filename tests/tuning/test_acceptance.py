"""The rules of keeping and proving, and what follows from a proven program for its patches."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay.results.comparison import METRIC, Comparison
from goldassay.statistics import compare
from goldassay.tuning.acceptance import (
    MARGIN,
    CampaignVerdict,
    CandidateResult,
    Effect,
    Outcome,
    Status,
    after_test,
    is_kept,
    is_needed,
    is_proven,
)
from goldassay.tuning.patches import Ledger, Patch


def outcome(difference: float, p: float, ended: str = "full", sequential: float = 1.0) -> CandidateResult:
    effect = Effect(split="train+dev", before=0.5, after=0.6, difference=difference, low=0, high=1, p=p, n=60)
    return CandidateResult({}, effect, Outcome(ended), sequential)


@pytest.mark.parametrize(
    ("result", "kept", "proven"),
    [
        (outcome(0.1, 0.07), True, True),  # one-sided .035 is within four fifths of .05
        (outcome(0.1, 0.09), True, False),  # one-sided .045 is not
        (outcome(0.1, 0.21), False, False),
        (outcome(-0.1, 0.001), False, False),
        (outcome(0.1, 0.3, "accept", 0.01), True, True),  # betting reached a fifth of .05
        (outcome(0.1, 0.001, "reject"), False, False),
        (CandidateResult({}, None, Outcome.FAILED), False, False),
    ],
)
def test_two_verdicts_from_one_test(result: CandidateResult, kept: bool, proven: bool) -> None:
    assert (is_kept(result), is_proven(result)) == (kept, proven)


def drafted(text: str, **fields: Any) -> Patch:
    effect = outcome(0.1, 0.01).effect
    assert effect is not None
    return Patch(predictor="x", action="add_instruction", text=text, effects=[effect], **fields)


def test_proven_is_said_of_the_program_and_of_a_patch_only_if_it_was_tested_alone() -> None:
    ledger = Ledger([drafted("first", status="kept"), drafted("second", status="kept"), drafted("third")])
    verdict = CampaignVerdict(True, True, None, "one look at test")
    ledger.conclude(verdict)
    assert [patch.status for patch in ledger.patches] == ["kept", "kept", "proposed"]
    assert {patch.reason for patch in ledger.kept} == {"part of a proven program (one look at test), not tested alone"}
    ledger.conclude(verdict, {ledger.patches[0].id})  # the first was tested at the full level by itself
    assert [patch.status for patch in ledger.kept] == ["proven", "kept"]
    ledger.conclude(CampaignVerdict(True, False, None, "one look at test"))
    assert [(patch.status, patch.reason) for patch in ledger.kept] == [("kept", "kept")] * 2
    ledger.patches[1].reject("another took its place")
    ledger.conclude(verdict)  # the program differs by this one alone
    assert [patch.status for patch in ledger.kept] == ["proven"]


def test_an_edit_is_needed_if_the_bundle_is_worse_without_it() -> None:
    assert is_needed(outcome(-0.1, 0.4))
    assert not is_needed(outcome(-0.1, 0.6))
    assert not is_needed(outcome(0.1, 0.01))
    assert is_needed(outcome(-0.1, 0.9, "reject"))


@pytest.mark.parametrize(
    ("difference", "p", "split", "before", "after"),
    [
        (0.1, 0.04, "dev", Status.PROPOSED, Status.KEPT),
        (0.1, 0.04, "test", Status.KEPT, Status.PROVEN),
        (0.1, 0.04, "test", Status.REJECTED, Status.REJECTED),  # dev rejected it
        (0.1, 0.06, "dev", Status.PROPOSED, Status.REJECTED),
        (-0.1, 0.01, "test", Status.KEPT, Status.REJECTED),
    ],
)
def test_a_patch_alone_is_kept_by_dev_and_proven_by_test(
    difference: float, p: float, split: str, before: Status, after: Status
) -> None:
    assert after_test(difference, p, split, before)[0] == after


def test_one_look_needs_a_p_and_an_interval_that_agree() -> None:
    def verdict(a: list[float], b: list[float]) -> str:
        test = compare(a, b, resamples=2000)
        assert (test.p > 0.05) == (test.interval.low <= 0 <= test.interval.high)
        return str(Comparison(("before", "after"), METRIC, test, margin=MARGIN).verdict)

    assert verdict([1.0] * 12, [0.0] * 12) == "better"
    assert verdict([1.0] * 3 + [0.0] * 30, [0.0] * 33) == "open"  # three wins without a loss
    assert verdict([0.0] * 12, [1.0] * 12) == "worse"
    assert verdict([1.0, 0.0] * 200, [1.0, 0.0] * 200) == "no larger than"

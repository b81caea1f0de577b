"""The acceptance criterion for GEPA: few that are no better pass, evidence adds up, and GEPA runs with it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.measures import extraction
from goldassay.tuning import Accept, tune


def proposal(after: list[float], before: list[float], text: str = "new") -> Any:
    return SimpleNamespace(
        candidate={"answer": text},
        parent_program_ids=[0],
        subsample_scores_before=before,
        subsample_scores_after=after,
    )


def test_a_larger_sum_is_not_enough_and_evidence_adds_up() -> None:
    rule = Accept()
    better = proposal([1.0, 1.0, 1.0], [0.0, 0.0, 0.0])
    assert not rule.should_accept(better, None)  # three gains: GEPA itself would accept
    assert rule.reject_reason(better, None) == "p 0.293 on 3 examples, 0.2 is needed"
    assert not rule.should_accept(proposal([1.0], [0.0], "another"), None)
    assert rule.should_accept(better, None)  # six gains
    with pytest.raises(GoldassayError, match="alpha lies between"):
        Accept(0)


def test_gepa_asks_it(lm: Any, reflector: Any, names_program: Any, names_gold: list[Any]) -> None:
    class Counting(Accept):
        asked = 0

        def should_accept(self, proposal: Any, state: object) -> bool:
            Counting.asked += 1
            return super().should_accept(proposal, state)

    pytest.importorskip("gepa.strategies.acceptance", reason="only newer releases of gepa take a criterion")
    gold = {"train": names_gold[:20], "dev": names_gold[20:32]}
    settings = {"max_metric_calls": 80, "gepa_kwargs": {"acceptance_criterion": Counting()}}
    metric = Metric({extraction.SpanF1(): 1.0})
    tuned = tune(
        names_program, gold, metric, "gepa", lm=lm, reflection_lm=reflector(), settings=settings, progress=False
    )
    assert Counting.asked
    assert tuned.dev.after.value >= tuned.dev.before.value

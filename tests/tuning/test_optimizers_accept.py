"""The acceptance criterion for GEPA: few that are no better pass, evidence adds up, and GEPA runs with it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.measures import extraction
from goldassay.running.evaluate import evaluate
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


def test_gepa_asks_it_with_what_each_example_adds_to_the_corpus_value(
    lm: Any, reflector: Any, names_program: Any, names_gold: list[Any]
) -> None:
    class Counting(Accept):
        scores: ClassVar[list[float]] = []

        def should_accept(self, proposal: Any, state: object) -> bool:
            self.scores.extend(proposal.subsample_scores_before)
            return super().should_accept(proposal, state)

    pytest.importorskip("gepa.strategies.acceptance", reason="only newer releases of gepa take a criterion")
    gold = {"train": names_gold[:20], "dev": names_gold[20:32]}
    settings = {"max_metric_calls": 80, "gepa_kwargs": {"acceptance_criterion": Counting()}}
    metric = Metric({extraction.SpanF1(): 1.0})
    tuned = tune(
        names_program, gold, metric, "gepa", lm=lm, reflection_lm=reflector(), settings=settings, progress=False
    )
    alone = {row.score for row in evaluate(names_program, names_gold[:20], metric, lm=lm, progress=False).rows}
    assert Counting.scores
    assert not alone.intersection(Counting.scores)
    assert tuned.dev.after.value >= tuned.dev.before.value

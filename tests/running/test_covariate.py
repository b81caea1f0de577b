"""An earlier run of the same program as covariate: the difference estimator, its gain, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dspy
import numpy as np
import pytest

from goldassay import Metric, evaluate
from goldassay.exceptions import ConventionError
from goldassay.measures import classification, extraction
from goldassay.running import Run
from goldassay.running.noise import with_covariate

ACCURACY = Metric(classification.Accuracy())


class Program(dspy.Module):
    def __init__(self, right: Any) -> None:
        super().__init__()
        self.right = right

    def forward(self, number: int) -> Any:
        return dspy.Prediction(label="M" if self.right[number] else "L")


class Other(Program):
    pass


def gold(numbers: Any) -> list[Any]:
    return [dspy.Example(id=str(n), number=int(n), label="M").with_inputs("number") for n in numbers]


def ran(right: Any, numbers: Any, kind: type[Program] = Program) -> Run:
    return evaluate(kind(right), gold(numbers), ACCURACY, progress=False)


def test_the_value_is_the_difference_estimator_and_it_holds() -> None:
    """Two versions that agree on 92 % of the examples: 60 new answers beside 400 old ones."""
    rng, held, gains, errors = np.random.default_rng(4), 0, [], []
    for _ in range(20):
        old = rng.random(400) < 0.6
        new = np.where(rng.random(400) < 0.08, ~old, old)
        found = with_covariate(ran(new, range(60)), ran(old, range(400)))["accuracy"]
        truth = 0.6 * 0.92 + 0.4 * 0.08
        held += found.value.low <= truth <= found.value.high
        gains.append(found.effective / found.n)
        errors.append(
            (found.value.value - truth) ** 2 / (found.plain.value - truth) ** 2 if found.plain.value != truth else 1
        )
        assert (found.n, found.plain.n) == (60, 60)
    assert held >= 17
    assert 1.6 < np.mean(gains) < 4
    assert np.median(errors) < 1


def test_documents_and_f1_enter_by_what_they_add() -> None:
    metric = Metric(extraction.SpanF1())
    examples = [
        dspy.Example(id=str(n), document=f"d{n // 2}", text="Ada 1815", number=n, entities=[(0, 3, "A"), (4, 8, "B")])
        .with_inputs("number")
        for n in range(80)
    ]  # fmt: skip
    some = lambda number: {"entities": [(0, 3, "A"), (4, 8, "B")][: number % 3]}  # noqa: E731
    old = evaluate(some, examples, metric, progress=False)
    found = with_covariate(evaluate(some, examples[:40], metric, progress=False), old)["strict_f1"]
    assert found.n == 20
    assert found.value.value == pytest.approx(old.values["strict_f1"], abs=0.02)  # the same answers: nothing is left
    assert found.effective > 1.9 * found.n  # all 40 documents were asked once


def test_what_is_no_covariate_is_refused(tmp_path: Path) -> None:
    right = np.ones(20)
    with pytest.raises(ConventionError, match="same program: Program, not Other"):
        with_covariate(ran(right, range(5)), ran(right, range(20), Other))
    with pytest.raises(ConventionError, match="has no others"):
        with_covariate(ran(right, range(20)), ran(right, range(20)))
    with pytest.raises(ConventionError, match="has no others"):
        with_covariate(ran(right, range(5)), ran(right, range(4, 20)))


def test_examples_that_are_not_like_the_others_are_noticed() -> None:
    easy_first = np.arange(200) < 60
    found = with_covariate(ran(easy_first, range(50)), ran(easy_first, range(200)))["accuracy"]
    assert found.exchangeable_p < 0.001

"""The evaluation loop beside dspy.Evaluate: trivial program, trivial metric, so that only the loop is measured."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import dspy
from benchmarks.harness import close, versus

from goldassay import Counts, Metric
from goldassay.measure import Assessment, Measure
from goldassay.running import evaluate


class Hit(Measure[Counts]):
    """One comparison, no errors in words."""

    task, name, zero = "extraction", "hit", Counts()

    def assess(self, gold: Any, pred: Any) -> Assessment[Counts]:
        same = gold["label"] == pred["label"]
        return Assessment(Counts(same, not same, not same))


def examples(n: int) -> list[Any]:
    return [dspy.Example(id=str(i), text="x", label="MG"[i % 2]).with_inputs("text") for i in range(n)]


def program(text: str) -> Any:
    return dspy.Prediction(label="M")


def plain(gold: Any, pred: Any, trace: Any = None) -> float:
    return float(gold.label == pred.label)


def main() -> None:
    logging.disable(logging.CRITICAL)
    gold, metric = examples(10_000), Metric(Hit())

    def theirs(how: Any) -> Callable[[], float]:
        return lambda: dspy.Evaluate(devset=gold, metric=how, num_threads=4)(program).score / 100

    def ours(how: Any) -> Callable[[], float]:
        return lambda: evaluate(program, gold, how, threads=4, progress=False).value

    versus("loop, 10,000 examples, the same Metric", "dspy.Evaluate", theirs(metric), ours(metric), close, 10, runs=1)
    versus("loop, 10,000 examples, a plain float metric", "dspy.Evaluate", theirs(plain), ours(plain), close, 10)
    many = examples(100_000)
    versus(
        "loop, 100,000 examples (theirs: ours at 10,000, ten times)",
        "linear growth",
        lambda: max(ours(metric)() for _ in range(10)),
        lambda: evaluate(program, many, metric, threads=4, progress=False).value,
        close,
        0.67,
        runs=1,
    )


if __name__ == "__main__":
    main()

"""The evaluation loop beside dspy.Evaluate: trivial program, trivial metric, so that only the loop is measured.

Then a ``dspy.Predict`` whose model answers at once, beside ``dspy.Evaluate`` (CPU a call), and one whose model takes 50
ms and one whose model takes 1 s, 128 calls in flight, beside ``dspy.Evaluate`` (seconds).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, ClassVar

import dspy
from benchmarks.harness import close, versus
from dspy.lm15 import Message, Response, TextPart, Usage

from goldassay import Counts, Metric
from goldassay.core.measure import Measure
from goldassay.running.evaluate import evaluate


class Hit(Measure[Counts]):
    """One comparison, no errors in words."""

    task = "extraction"
    name = "hit"
    zero: ClassVar[Counts] = Counts()

    def tally(self, gold: Any, pred: Any) -> Counts:
        same = gold["label"] == pred["label"]
        return Counts(same, not same, not same)


def examples(n: int) -> list[Any]:
    return [dspy.Example(id=str(i), text="x", label="MG"[i % 2]).with_inputs("text") for i in range(n)]


def program(text: str) -> Any:
    return dspy.Prediction(label="M")


def plain(gold: Any, pred: Any, trace: Any = None) -> float:
    return float(gold.label == pred.label)


class Engine:
    """A model that always answers the same, after a while."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def complete(self, request: Any) -> Any:
        time.sleep(self.seconds)
        message = Message.assistant([TextPart("[[ ## label ## ]]\nM\n\n[[ ## completed ## ]]")])
        used = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=used)


def predictors(metric: Any) -> None:
    """What the loop adds to calls of a model."""
    predict = dspy.Predict("text -> label")

    def theirs(lm: Any, threads: int, gold: Any) -> None:
        with dspy.context(lm=lm):
            dspy.Evaluate(devset=gold, metric=metric, num_threads=threads, display_progress=False)(predict)

    def ours(lm: Any, threads: int, gold: Any) -> None:
        evaluate(predict, gold, metric, lm=lm, threads=threads, progress=False)

    ways = {"dspy.Evaluate": theirs, "evaluate": ours}
    lm, gold = dspy.LM("fake/m", engine=Engine(0), cache=False), examples(640)
    for name, way in ways.items():
        times = []
        for _ in range(5):
            before = time.process_time()
            way(lm, 1, gold)
            times.append((time.process_time() - before) / len(gold) * 1e6)
        print(f"Predict, {name:<14} {min(times):6.0f} us of CPU a call", flush=True)
    for wait, n in ((0.05, 1280), (1.0, 512)):
        lm, gold = dspy.LM("fake/m", engine=Engine(wait), cache=False), examples(n)
        for name, way in ways.items():
            seconds = []
            for _ in range(2):
                before = time.perf_counter()
                way(lm, 128, gold)
                seconds.append(time.perf_counter() - before)
            ideal = n * wait / 128
            share = ideal / min(seconds)
            print(f"Predict of {wait:g} s, 128 in flight, {name}: {min(seconds):.2f} s, {share:.0%} of the ideal")


def main() -> None:
    logging.disable(logging.CRITICAL)
    gold, metric = examples(10_000), Metric(Hit())

    def theirs(how: Any) -> Callable[[], float]:
        return lambda: dspy.Evaluate(devset=gold, metric=how, num_threads=4)(program).score / 100

    def ours(how: Any) -> Callable[[], float]:
        return lambda: evaluate(program, gold, how, threads=4, progress=False).value

    versus("loop, 10,000 examples, the same Metric", "dspy.Evaluate", theirs(metric), ours(metric), close, 10, runs=1)
    # Ten times would be 28 us an example; the row, its errors and its evidence, which theirs does not make, take 38.
    versus("loop, 10,000 examples, a plain float metric", "dspy.Evaluate", theirs(plain), ours(plain), close, 7)
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
    predictors(metric)


if __name__ == "__main__":
    main()

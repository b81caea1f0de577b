"""The evaluation loop beside dspy.Evaluate: trivial program, trivial metric, so that only the loop is measured.

Then a ``dspy.Predict`` whose model answers at once, beside the same called bare (CPU), and one whose model takes 50 ms,
128 in flight, beside ``dspy.Evaluate`` (seconds), on threads and with two processes: their seconds are those from when
the processes are there (what starting them takes is told apart).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import dspy
from benchmarks.harness import close, started_apart, versus
from dspy.lm15 import Message, Response, TextPart, Usage

from goldassay import Counts, Metric
from goldassay.measure import Measure
from goldassay.running import evaluate


class Hit(Measure[Counts]):
    """One comparison, no errors in words."""

    task, name, zero = "extraction", "hit", Counts()

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
        said = Message.assistant([TextPart("[[ ## label ## ]]\nM\n\n[[ ## completed ## ]]")])
        used = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(id=None, model=request.model, message=said, finish_reason="stop", usage=used)


def predictors(metric: Any) -> None:
    """What the loop adds to calls of a model."""
    predict, gold = dspy.Predict("text -> label"), examples(1280)
    lm = dspy.LM("fake/m", engine=Engine(0), cache=False)

    def bare() -> None:
        with dspy.context(lm=lm):
            for example in gold:
                predict(**example.inputs())

    def run(model: Any, threads: int, on: Any = gold, **options: Any) -> None:
        evaluate(predict, on, metric, lm=model, threads=threads, progress=False, **options)

    def cpu(work: Callable[[], None]) -> float:
        before = time.process_time()
        work()
        return (time.process_time() - before) / len(gold) * 1e6

    ways = {"bare": bare, "loop": lambda: run(lm, 1)}
    times = {name: min(cpu(work) for _ in range(6)) for name, work in ways.items()}
    for name, found in times.items():
        print(f"Predict, {name:<20} {found:6.0f} us of CPU a call, {found / times['bare']:.2f}x bare", flush=True)

    slow = dspy.LM("fake/m", engine=Engine(0.05), cache=False)

    def theirs() -> None:
        with dspy.context(lm=slow):
            dspy.Evaluate(devset=gold, metric=metric, num_threads=128, display_progress=False)(predict)

    for name, work in (("dspy.Evaluate", theirs), ("ours", lambda: run(slow, 128))):
        seconds = []
        for _ in range(3):
            before = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - before)
        ideal = len(gold) * 0.05 / 128
        print(f"Predict of 50 ms, 128 in flight, {name}: {min(seconds):.2f} s, {ideal / min(seconds):.0%} of the ideal")
    many = examples(8192)
    start, net = min(
        (started_apart(lambda: run(slow, 128, many, engine="processes", workers=2)) for _ in range(3)),
        key=lambda found: found[1],
    )
    ideal = len(many) * 0.05 / 128
    print(
        f"Predict of 50 ms, 128 in flight, ours, two processes, 8,192 examples: {net:.2f} s, "
        f"{ideal / net:.0%} of the ideal; start {start:.2f} s"
    )


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

"""Engines on a program that waits 50 ms, as a model on the network does: how near to the ideal each comes.

The ideal is examples × 50 ms / examples in flight. A run has to start its processes first; that time is told apart.
"""

from __future__ import annotations

import time
from typing import Any

import dspy

from goldassay import Metric
from goldassay.measures import classification
from goldassay.running import evaluate

WAIT = 0.05
GOLD = [dspy.Example(id=str(i), text=f"t{i}", label="MG"[i % 2]).with_inputs("text") for i in range(4096)]


def waits(text: str) -> Any:
    time.sleep(WAIT)
    return dspy.Prediction(label="M")


def main() -> None:
    metric = Metric(classification.Accuracy())
    for engine, workers, threads, n in (
        ("threads", None, 128, 4096),
        ("processes", 1, 128, 4096),
        ("processes", 2, 128, 4096),
        ("ray", 1, 32, 1024),
        ("ray", 2, 64, 1024),
        ("ray", 4, 128, 1024),
    ):
        start = _seconds(metric, engine, workers, threads, threads)
        whole = _seconds(metric, engine, workers, threads, n + threads)
        ideal, net = n * WAIT / threads, whole - start
        print(
            f"{engine:<10} {workers or '-':>2} workers {threads:>4} in flight {n:>5} examples: {net:6.2f} s, ideal "
            f"{ideal:5.2f} ({ideal / net:.0%}); start {start - WAIT:5.2f} s",
            flush=True,
        )


def _seconds(metric: Any, engine: str, workers: int | None, threads: int, n: int) -> float:
    before = time.perf_counter()
    gold = (GOLD * (n // len(GOLD) + 1))[:n]
    evaluate(waits, gold, metric, threads=threads, engine=engine, workers=workers, progress=False)
    return time.perf_counter() - before


if __name__ == "__main__":
    main()

"""Engines on a program that waits 50 ms, as a model on the network does: how near to the ideal each comes.

The ideal is examples × 50 ms / examples in flight. A run has to start its processes first; that time is told apart:
seconds are those from when the workers are there to the end of the run.

Before that, the memory of ``goldassay score`` and ``eval`` on gold of two sizes (``GOLDASSAY_EXAMPLES=1000000`` for
another largest); ``python -m benchmarks.scale memory`` stops there.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from subprocess import DEVNULL, Popen
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


def memory(command: str, examples: int) -> None:
    """The peak memory and the CPU seconds of a whole ``goldassay score`` or ``eval``, in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        gold, pred = folder / "classification.jsonl", folder / "pred.jsonl"
        with gold.open("w") as out, pred.open("w") as said:
            for number in range(examples):
                text = f"Museum number {number} stands in a town by a river and keeps paintings."
                out.write(json.dumps({"id": f"d{number}", "text": text, "label": "MG"[number % 2]}) + "\n")
                said.write(json.dumps({"id": f"d{number}", "label": "MGL"[number % 3]}) + "\n")
        (folder / "program.py").write_text("def program(text):\n    return {'label': 'M'}\n")
        options = ["--split", "all", "--runs", str(folder / "runs"), "--no-trace"]
        words = {
            "score": ["score", "classification", "--pred", str(pred)],
            "eval": ["eval", f"{folder}/program.py:program", "--task", "classification", *options],
        }[command]
        call = "from goldassay.cli import main; main()"
        process = Popen([sys.executable, "-c", call, *words, "--gold", str(gold), "--json"], stdout=DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
    seconds, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(
        f"{command} of {examples:,} examples: {seconds:.0f} s of CPU, peak {peak:.0f} MB, status {status}", flush=True
    )


def main() -> None:
    for command in ("score", "eval"):
        for examples in (20_000, int(os.environ.get("GOLDASSAY_EXAMPLES", "200000"))):
            memory(command, examples)
    if "memory" not in sys.argv:
        engines()


def engines() -> None:
    metric = Metric(classification.Accuracy())
    for engine, workers, threads, n in (
        ("threads", None, 128, 4096),
        ("processes", 1, 128, 4096),
        ("processes", 2, 128, 4096),
        ("ray", 1, 32, 2048),
        ("ray", 2, 64, 2048),
        ("ray", 4, 128, 4096),
    ):
        start, net = min((_seconds(metric, engine, workers, threads, n) for _ in range(2)), key=lambda found: found[1])
        ideal = n * WAIT / threads
        print(
            f"{engine:<10} {workers or '-':>2} workers {threads:>4} in flight {n:>5} examples: {net:6.2f} s, ideal "
            f"{ideal:5.2f} ({ideal / net:.0%}); start {start:5.2f} s",
            flush=True,
        )


def _seconds(metric: Any, engine: str, workers: int | None, threads: int, n: int) -> tuple[float, float]:
    """How long a run took to start its workers, and how long from then to its end."""
    module: Any = sys.modules["goldassay.running.evaluate"]
    plain, ready = module.at_work, []

    def noted(*given: Any, **options: Any) -> Any:
        made = plain(*given, **options)
        ready.append(time.perf_counter())
        return made

    module.at_work = noted
    before = time.perf_counter()
    try:
        evaluate(waits, GOLD[:n], metric, threads=threads, engine=engine, workers=workers, progress=False)
    finally:
        module.at_work = plain
    return ready[0] - before, time.perf_counter() - ready[0]


if __name__ == "__main__":
    main()

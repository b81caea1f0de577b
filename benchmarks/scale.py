"""Engines on a program that waits, as a model on the network does: how near to the ideal each comes.

The ideal is examples × seconds waited / examples in flight; seconds are the better of two runs, with the start of the
actors. A program that only sleeps shows what an engine costs; with ``dspy.Predict`` each example costs DSPy's own time
besides.

Before that, the memory of ``goldassay score`` and ``eval`` on gold of two sizes (``GOLDASSAY_EXAMPLES=1000000`` for
another largest); ``python -m benchmarks.scale memory`` stops there, ``… engines`` leaves it out.
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
from benchmarks.loop import Engine, examples

from goldassay import Metric
from goldassay.measures import classification
from goldassay.running.evaluate import evaluate

ENGINES = (  # engine, workers, in flight, seconds that each example waits, examples
    ("threads", None, 128, 0.05, 8192),
    ("ray", 1, 32, 0.05, 2048),
    ("ray", 2, 64, 0.05, 4096),
    ("ray", 4, 128, 0.05, 8192),
)
PREDICTORS = (
    ("threads", None, 32, 0.05, 2048),
    ("threads", None, 128, 0.05, 8192),
    ("threads", None, 128, 0.5, 2560),
    ("ray", 2, 128, 0.05, 8192),
)


def waiting(seconds: float) -> Any:
    """A program that takes so long."""

    def waits(text: str) -> Any:
        time.sleep(seconds)
        return dspy.Prediction(label="M")

    return waits


def memory(command: str, examples: int) -> None:
    """The peak memory and the CPU seconds of a whole ``goldassay score`` or ``eval``, in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        gold, pred = folder / "classification.jsonl", folder / "pred.jsonl"
        with gold.open("w") as out, pred.open("w") as predictions:
            for number in range(examples):
                text = f"Museum number {number} stands in a town by a river and keeps paintings."
                out.write(json.dumps({"id": f"d{number}", "text": text, "label": "MG"[number % 2]}) + "\n")
                predictions.write(json.dumps({"id": f"d{number}", "label": "MGL"[number % 3]}) + "\n")
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
    for command in ("score", "eval") if "engines" not in sys.argv else ():
        for n in (20_000, int(os.environ.get("GOLDASSAY_EXAMPLES", "200000"))):
            memory(command, n)
    if "memory" not in sys.argv:
        engines()


def engines() -> None:
    metric = Metric(classification.Accuracy())
    for what, table in (("sleep", ENGINES), ("Predict", PREDICTORS)):
        for engine, workers, threads, wait, n in table:
            lm = dspy.LM("fake/m", engine=Engine(wait), cache=False) if what == "Predict" else None
            program = waiting(wait) if lm is None else dspy.Predict("text -> label")
            how: dict[str, Any] = {"lm": lm, "threads": threads, "engine": engine, "workers": workers}

            def run(program: Any = program, n: int = n, how: Any = how) -> None:
                evaluate(program, examples(n), metric, progress=False, **how)

            seconds = []
            for _ in range(2):
                before = time.perf_counter()
                run()
                seconds.append(time.perf_counter() - before)
            net, ideal = min(seconds), n * wait / threads
            print(
                f"{what:<8} {engine:<10} {workers or '-':>2} workers {threads:>4} in flight {n:>5} examples of "
                f"{wait * 1000:3.0f} ms: {net:6.2f} s, ideal {ideal:5.2f} ({ideal / net:.0%}); "
                f"load {os.getloadavg()[0]:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""What each optimizer brings with a small local model: before and after on test, with interval, calls and minutes.

``python -m benchmarks.tuning [TASK …] [ARM …] [minutes=M] [dev=N] [test=N]``; without arms all of them, on
classification over ``gold/heritage``. ``GOLDASSAY_MODEL=FILE.gguf`` names a better model than the embedded one. Every
arm stops when its minutes are spent and gives the best program so far. Chosen on dev, measured once on test.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import Any

import dspy

from goldassay import lm, load, tune, workspace
from goldassay.exceptions import GoldassayError
from goldassay.measure import TASKS
from goldassay.reporting.terminal import quiet
from goldassay.tuning import OPTIMIZERS

SIZES = {"minutes": 5, "train": 160, "dev": 16, "test": 34}


def arm(task: str, name: str, gold: dict[str, list[Any]], minutes: int) -> str:
    """One optimizer: its row of the table."""
    model = lm.resolve(f"local:{os.environ['GOLDASSAY_MODEL']}" if "GOLDASSAY_MODEL" in os.environ else None)
    started = time.monotonic()
    program = workspace.target(task).load()
    try:
        with quiet():
            found = tune(
                program,
                gold,
                workspace.metric(task),
                name,
                lm=model,
                adapter=lm.adapter(model),
                budget=f"minutes={minutes}",
                progress=False,
            )
    except GoldassayError as error:
        return f"{name:<12} {error}"
    trial = found.test
    if trial is None:
        return f"{name:<12} there is no test split"
    difference = trial.difference
    cost = found.cost
    return (
        f"{name:<12} {trial.before.value:.3f} → {trial.after.value:.3f}  {difference.difference:+.3f} "
        f"[{difference.interval.low:+.3f}, {difference.interval.high:+.3f}]  p {difference.p:.3f}  n {difference.n}  "
        f"{cost['calls']:.0f} calls to tune, {(time.monotonic() - started) / 60:.1f} min in all"
        f"{'  (' + found.stopped + ')' if found.stopped else ''}"
    )


def main() -> None:
    """Print the table."""
    logging.disable(logging.CRITICAL)
    dspy.configure_cache(enable_disk_cache=False)
    words = sys.argv[1:]
    sizes = SIZES | {key: int(value) for key, _, value in (word.partition("=") for word in words) if key in SIZES}
    tasks = [word for word in words if word in TASKS] or ["classification"]
    arms = [word for word in words if word in OPTIMIZERS] or ["labeled", "knn", "bootstrap", "gepa", "mipro", "patches"]
    for task in tasks:
        data = getattr(load("heritage", task=task), task)
        gold = {split: list(getattr(data, split))[: sizes[split]] for split in ("train", "dev", "test")}
        print(f"{task}: test value of the metric, zero-shot → tuned; {', '.join(f'{k} {v}' for k, v in sizes.items())}")
        for name in arms:
            print(arm(task, name, gold, sizes["minutes"]), flush=True)


if __name__ == "__main__":
    main()

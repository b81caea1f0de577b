"""What single edits are worth to a small model, before any campaign: each on the same train examples, paired.

    python -m benchmarks.edits TASK [--n 40] [--tokens 80] EDIT…

An EDIT is parts joined by ``+``: ``lines``, ``json`` or ``types`` (the form of the answer), ``nearK`` (K nearest
demonstrations of the other train examples), ``free`` (names are not copied), ``baseline`` (the task's own, without a
model, fitted on the train examples that are not measured). The first EDIT is what the others are compared with. Dev and
test are not looked at.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
from collections.abc import Sequence
from typing import Any

import dspy

from goldassay import lm as models
from goldassay import workspace
from goldassay.gold import load
from goldassay.lm import TerseAdapter
from goldassay.running.evaluate import evaluate
from goldassay.statistics import compare
from goldassay.tuning.wrappers import NearestDemos, demonstrations

USUAL = ("extraction", "lines", "near4+lines", "near4+json", "near2+lines", "baseline")


def main(arguments: Sequence[str] = USUAL) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.edits")
    parser.add_argument("task")
    parser.add_argument("edits", nargs="+")
    parser.add_argument("--n", type=int, default=40, help="train examples, drawn with seed 7")
    parser.add_argument("--tokens", type=int, default=80, help="the longest answer")
    parser.add_argument("--lm")
    given = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    dspy.configure_cache(enable_disk_cache=False)
    part = getattr(load("heritage", task=given.task), given.task)
    train = list(part.train)
    some = random.Random(7).sample(train, len(train))[: given.n]
    metric, model = workspace.metric(given.task), models.resolve(given.lm, max_tokens=given.tokens)
    first: Any = None
    for name in given.edits:
        made, adapter = edited(given.task, name.split("+"), part, some)
        lm = model if adapter is not None else None
        run = evaluate(made, some, metric, lm=lm, adapter=adapter, folder=None, progress=False, max_failures=1.0)
        tokens = [run.cost.get(key, 0) / len(some) for key in ("prompt_tokens", "completion_tokens")]
        said = f"{name:24} {run.value:.3f}, tokens a call {tokens[0]:.0f} + {tokens[1]:.0f}"
        if first is not None:
            found = compare(run.evidence, first.evidence, run.zero, resamples=2000)
            said += f", {found.difference:+.3f} [{found.interval.low:+.3f}, {found.interval.high:+.3f}] p {found.p:.3f}"
        first = first or run
        print(said, flush=True)


def edited(task: str, parts: Sequence[str], gold: Any, measured: Sequence[Any]) -> tuple[Any, Any]:
    """The program with these edits, and the adapter that asks; none for the baseline."""
    train = list(gold.train)
    if "baseline" in parts:
        made = workspace.load(workspace.target(task).file).baseline
        made = made.index(gold.passages) if hasattr(made, "index") and gold.passages else made
        return (made.fit([one for one in train if one not in measured]) if hasattr(made, "fit") else made), None
    made = workspace.target(task).tunable()
    made = made.deepcopy().index(gold.passages) if hasattr(made, "index") and gold.passages else made
    form = next((part for part in parts if part in ("json", "lines")), "auto")
    for part in parts:
        if part.startswith("near"):
            made = NearestDemos(int(part[4:])).compile(made, trainset=demonstrations(made, train))
    return made, TerseAdapter(form, copied="free" not in parts)


if __name__ == "__main__":
    main(sys.argv[1:] or USUAL)

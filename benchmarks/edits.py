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

from goldassay import workspace
from goldassay.gold import load
from goldassay.models import lm as models
from goldassay.models.lm import TerseAdapter
from goldassay.results.view import signed
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
    args = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    dspy.configure_cache(enable_disk_cache=False)
    part = getattr(load("heritage", task=args.task), args.task)
    train = list(part.train)
    some = random.Random(7).sample(train, len(train))[: args.n]
    metric, model = workspace.metric(args.task), models.resolve(args.lm, max_tokens=args.tokens)
    first: Any = None
    for name in args.edits:
        program, adapter = edited(args.task, name.split("+"), part, some)
        lm = model if adapter is not None else None
        run = evaluate(program, some, metric, lm=lm, adapter=adapter, folder=None, progress=False, max_failures=1.0)
        tokens = [run.cost.get(key, 0) / len(some) for key in ("prompt_tokens", "completion_tokens")]
        text = f"{name:24} {run.value:.3f}, tokens a call {tokens[0]:.0f} + {tokens[1]:.0f}"
        if first is not None:
            comparison = compare(run.evidence, first.evidence, run.zero, resamples=2000)
            text += f", {signed(comparison.difference, comparison.interval)} p {comparison.p:.3f}"
        first = first or run
        print(text, flush=True)


def edited(task: str, parts: Sequence[str], gold: Any, measured: Sequence[Any]) -> tuple[Any, Any]:
    """The program with these edits, and the adapter that asks; none for the baseline."""
    train = list(gold.train)
    if "baseline" in parts:
        program = workspace.load(workspace.target(task).file).baseline
        program = program.index(gold.passages) if hasattr(program, "index") and gold.passages else program
        others = [example for example in train if example not in measured]
        return (program.fit(others) if hasattr(program, "fit") else program), None
    program = workspace.target(task).tunable()
    program = program.deepcopy().index(gold.passages) if hasattr(program, "index") and gold.passages else program
    form = next((part for part in parts if part in ("json", "lines")), "auto")
    for part in parts:
        if part.startswith("near"):
            program = NearestDemos(int(part[4:])).compile(program, trainset=demonstrations(program, train))
    return program, TerseAdapter(form, copied="free" not in parts)


if __name__ == "__main__":
    main(sys.argv[1:] or USUAL)

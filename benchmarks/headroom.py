"""Does the plan separate the programs that gain from those that do not? ``python -m benchmarks.headroom [--seeds N]``.

``--real [--lm NAME] [--task T …] --out pairs.jsonl`` asks it of real pairs, the tasks of `benchmarks.tuning` and a
model: a pilot of 16 examples of dev, then labeled and knn as the two arms of a tuning, proven or not on 48 examples of
test. Each pair is a line of the file, and none is run twice.

Without it:

Scripted programs of known headroom, each planned with a pilot of 16 examples of dev and then tuned with labeled, knn,
bootstrap and patches, which share one budget; it gained if the verdict on 120 examples of test, corrected for the
optimizers, is proven. *strong* and *weak* gain by demonstrations; *form* fails to answer two of five times unless it is
shown an example; *spread* is right in half of all tries, whatever its prompt; *none* knows half of the answers;
*right* knows nearly all. The table has one line a kind.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dspy
from benchmarks.tuning import TASKS

from goldassay.core.metric import Metric
from goldassay.models import lm as models
from goldassay.running.options import RunOptions
from goldassay.tuning import tune
from goldassay.tuning.plan import Plan, from_pilot, from_sizes

KINDS = {  # the chance of a right answer without and with demonstrations, of no answer without them, of its own noise
    "strong": (0.4, 0.85, 0.0, False),
    "weak": (0.4, 0.6, 0.0, False),
    "form": (0.8, 0.8, 0.4, False),
    "spread": (0.5, 0.5, 0.0, True),
    "none": (0.5, 0.5, 0.0, False),
    "right": (0.95, 0.95, 0.0, False),
}


class Scripted(dspy.Module):  # type: ignore[misc]
    """Right with a chance that depends on whether its prompt shows examples."""

    def __init__(self, kind: str, seed: int) -> None:
        super().__init__()
        self.answer = dspy.Predict("text -> labels: list[str]")
        self.kind, self.seed = kind, seed

    def forward(self, text: str) -> Any:
        plain, shown, silent, noisy = KINDS[self.kind]
        demos = bool(self.answer.demos)
        luck = f"{self.seed} {text}"
        if not demos and random.Random(f"form {luck}").random() < silent:
            raise ValueError("no answer")
        if noisy:
            luck += f" {dspy.settings.lm.kwargs.get('rollout_id')} {len(self.answer.demos)}"
        right = random.Random(luck).random() < (shown if demos else plain)
        return dspy.Prediction(labels=["x"] if right else ["y"])


def trial(kind: str, seed: int) -> tuple[bool, bool, bool]:
    """Whether the plan says that tuning can pay, whether any headroom is shown, and whether the tuning gained."""
    rng = random.Random(f"{kind} {seed}")

    def examples(count: int) -> list[Any]:
        texts = ["".join(rng.choices("abcdefghijklmnopqrst ", k=30)) for _ in range(count)]
        return [dspy.Example(id=text, text=text, labels=["x"]).with_inputs("text") for text in texts]

    splits = {"train": examples(40), "dev": examples(40), "test": examples(120)}
    metric = Metric.of(lambda gold, pred: gold["labels"] == pred["labels"])
    program = Scripted(kind, seed)
    lm = dspy.LM("scripted/none")
    plan = from_pilot(from_sizes("best", splits), program, splits, metric, RunOptions(lm=lm, progress=False))
    arms = ["labeled", "knn", "bootstrap", "patches"]
    tuned = tune(program, splits, metric, arms, lm=lm, progress=False)
    return bool(plan.pays), is_shown(plan), tuned.verdict == "proven on test"


def is_shown(plan: Plan) -> bool:
    """Whether the interval of any kind of edit is above 0."""
    return any(each.low > 0 and not each.ceiling for each in (*plan.probes, *plan.headroom))


def pair(task: str, name: str | None, tokens: int) -> dict[str, Any]:
    """What the plan says of a task with a model, and what a tuning shows then."""
    started = time.perf_counter()
    program, splits, metric = TASKS[task]()
    chosen = {part: splits[part][:size] for part, size in {"train": 60, "dev": 24, "test": 48}.items()}
    lm = models.resolve(name, max_tokens=tokens)
    options = RunOptions(lm=lm, adapter=models.adapter(lm), threads=1, progress=False)
    plan = from_pilot(from_sizes("labeled,knn", chosen), program, chosen, metric, options)
    asked = {"lm": lm, "adapter": models.adapter(lm), "threads": 1, "progress": False}
    tuned = tune(program, chosen, metric, ["labeled", "knn"], **asked)
    test: Any = tuned.test
    return {
        "task": task,
        "lm": name or "local/smollm2-135m",
        "baseline": plan.baseline,
        "kinds": {each.name: [each.gain, each.low, each.high] for each in (*plan.probes, *plan.headroom)},
        "pays": bool(plan.pays),
        "headroom": is_shown(plan),
        "gained": tuned.verdict == "proven on test",
        "chosen": tuned.chosen,
        "before": test.before.value,
        "after": test.after.value,
        "minutes": (time.perf_counter() - started) / 60,
    }


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.headroom")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--lm")
    parser.add_argument("--task", nargs="*", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--tokens", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("pairs.jsonl"))
    args = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    if args.real:
        done = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
        for task in args.task:
            if (task, args.lm or "local/smollm2-135m") not in [(each["task"], each["lm"]) for each in done]:
                with args.out.open("a") as file:
                    file.write(json.dumps(pair(task, args.lm, args.tokens)) + "\n")
                print(args.out.read_text().splitlines()[-1], flush=True)
        return
    print("| program | pairs | can pay | headroom shown | gained | plan right | headroom right |")
    print("|---|---|---|---|---|---|---|")
    totals = [0] * 6
    for kind in KINDS:
        trials = [trial(kind, seed) for seed in range(args.seeds)]
        row = [len(trials), *(sum(column) for column in zip(*trials, strict=True))]
        row += [sum(each[index] == each[2] for each in trials) for index in (0, 1)]
        totals = [total + value for total, value in zip(totals, row, strict=True)]
        print(f"| {kind} | {' | '.join(map(str, row))} |", flush=True)
    print(f"| all | {' | '.join(map(str, totals))} |")


if __name__ == "__main__":
    main(sys.argv[1:])

"""How often an arena proves a gain that is not there, finds one that is, and calls a worse system not worse.

``python -m benchmarks.arena null|gain|margin|accept|patches [--draws N] [--seed S] [--out FILE]`` writes a line of JSON
a draw.

*null*: `goldassay.tune` with five optimizers whose programs answer as the program as it is does. *gain*: one of them
gains ten points. The model is scripted: an example is right with the chance that the instructions name. *margin*:
`cheapest_not_worse` over four systems, of which the cheapest is worse than the best by exactly the margin, on a grid of
30 to 1,000 examples and margins of .02 to .1, of which the table has a line a cell. *accept*:
`Accept` beside GEPA's own rule on candidates that are as good as their parents, and on candidates that gain .2.
*patches*: a campaign of six edits whose true gains have mean 0 and standard deviation .1, on 100 examples; *below* is a
program that is truly worse than the start.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dspy
import numpy as np
from dspy.teleprompt import Teleprompter

from goldassay.statistics import wilson
from goldassay.statistics.noninferiority import cheapest_not_worse
from goldassay.tuning import tune
from goldassay.tuning.campaign import strongest_first
from goldassay.tuning.edits import Diagnosis
from goldassay.tuning.optimizers import Accept

DEV, TEST, BASE, GAIN, ARMS = 60, 150, 0.5, 0.1, 5


class Chance(dspy.Module):  # type: ignore[misc]
    """Right with the example's own chance, moved by the gain that its instructions name."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.answer = dspy.Predict(dspy.Signature("text -> label", "gain 0 arm 0"))
        self.seed = seed

    def forward(self, text: str) -> Any:
        _, gain, _, arm = self.answer.signature.instructions.split()
        chance = random.Random(f"{self.seed} {text}").betavariate(2, 2) + float(gain)
        right = random.Random(f"{self.seed} {text} {arm}").random() < chance
        return dspy.Prediction(label="yes" if right else "no")


class Named(Teleprompter):
    """Writes the gain of its program into the instructions."""

    def __init__(self, arm: int, gain: float) -> None:
        self.arm, self.gain = arm, gain

    def compile(self, student: Any, *, trainset: Any, **_: Any) -> Any:
        program = student.deepcopy()
        signature = program.answer.signature
        program.answer.signature = signature.with_instructions(f"gain {self.gain} arm {self.arm}")
        return program


def arena(seed: int, gain: float) -> dict[str, Any]:
    """One tuning with five optimizers, the third of which gains."""

    def examples(name: str, count: int) -> list[Any]:
        texts = [f"{name} {seed} {index}" for index in range(count)]
        return [dspy.Example(id=text, text=text, label="yes").with_inputs("text") for text in texts]

    gold = {"train": examples("train", 8), "dev": examples("dev", DEV), "test": examples("test", TEST)}
    arms = [Named(number + 1, gain if number == 2 else 0.0) for number in range(ARMS)]
    tuned = tune(Chance(seed), gold, lambda gold, pred, *_: gold.label == pred.label, arms, progress=False)
    assert tuned.test is not None
    right = tuned.chosen == "Named-3"
    alone = tuned.test.difference
    return {
        "seed": seed,
        "chosen": tuned.chosen,
        "right": right,
        "proven": tuned.verdict == "proven on test",
        "one_look": alone.p <= 0.05 and alone.difference > 0,
    }


def margin(seed: int, systems: int = 4) -> dict[str, Any]:
    """One matrix: the cheapest system is worse than the best by the margin, the others lie between."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([30, 100, 300, 1000]))
    tolerated = float(rng.choice([0.02, 0.05, 0.1]))
    agree = float(rng.choice([0.0, 0.5, 0.9]))  # the share of examples on which all systems do alike
    losses = np.array([tolerated, *rng.choice([0.0, tolerated], systems - 2), 0.0])
    shared = rng.random((1, n)) < agree
    draws = np.where(shared, rng.random((1, n)), rng.random((systems, n)))
    right = (draws < (0.7 - losses)[:, None]).astype(float)
    gains = [[right[i] - right[j] for j in range(systems)] for i in range(systems)]
    chosen, _ = cheapest_not_worse(gains, range(systems), tolerated)
    wrong = chosen is not None and bool(losses[chosen] >= tolerated)
    return {"seed": seed, "n": n, "margin": tolerated, "chosen": chosen, "wrong": wrong}


def accept(seed: int, batch: int = 8) -> dict[str, Any]:
    """One candidate of each kind on up to four minibatches, by `Accept` and by GEPA's sum over the first one."""
    rng = np.random.default_rng(seed)
    outcome: dict[str, Any] = {"seed": seed}
    for name, gain in (("null", 0.0), ("gain", 0.2)):
        rule = Accept()
        for look in range(1, 5):
            before = (rng.random(batch) < 0.5).astype(float)
            after = (rng.random(batch) < 0.5 + gain).astype(float)
            proposal = SimpleNamespace(
                candidate={"answer": name},
                parent_program_ids=[0],
                subsample_scores_before=before.tolist(),
                subsample_scores_after=after.tolist(),
            )
            if look == 1:
                outcome[f"{name}_sum"] = bool(after.sum() > before.sum())
                outcome[f"{name}_first"] = False
            if rule.should_accept(proposal, None):
                outcome[f"{name}_first"] = outcome[f"{name}_first"] or look == 1
                outcome[f"{name}_accepted"] = True
                break
    return outcome


class Moved(Chance):
    """Right with the chance that its prompt's own luck moves, as often down as up."""

    def forward(self, text: str) -> Any:
        words = self.answer.signature.instructions
        moved = random.Random(f"{self.seed} {words} {bool(self.answer.demos)}").gauss(0, 0.1)
        plain = "gain" in words and not self.answer.demos
        chance = random.Random(f"{self.seed} {text}").betavariate(2, 2) + (0 if plain else moved)
        right = random.Random(f"{self.seed} {text} {words} {len(self.answer.demos)}").random() < chance
        return dspy.Prediction(label="yes" if right else "no", chance=min(1.0, max(0.0, chance)))


def patches(seed: int) -> dict[str, Any]:
    """One tuning with patches whose edits help as often as they harm: is the program truly below the start?"""

    def examples(name: str, count: int) -> list[Any]:
        rng = random.Random(f"{name} {seed}")
        texts = ["".join(rng.choices("abcdefghijklmnopqrst ", k=30)) for _ in range(count)]
        return [dspy.Example(id=text, text=text, label="yes").with_inputs("text") for text in texts]

    def worded(number: int) -> Any:
        def edit(diagnosis: Diagnosis) -> Any:
            return {"words": [diagnosis.draft(action="add_instruction", text=f"rule {number}")]}

        return edit

    gold = {"train": examples("train", 60), "dev": examples("dev", 40), "test": examples("test", 400)}
    bundles = [*strongest_first()[:2], *([worded(number)] for number in range(4))]
    program = Moved(seed)
    tuned = tune(
        program,
        gold,
        lambda gold, pred, *_: gold.label == pred.label,
        "patches",
        settings={"bundles": bundles},
        test=False,
        progress=False,
    )
    values = [float(np.mean([each(text=row.text).chance for row in gold["test"]])) for each in (program, tuned.program)]
    gain = values[1] - values[0]
    return {"seed": seed, "gain": gain, "changed": gain != 0, "below": gain < 0, "better": gain > 0}


KINDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "null": lambda seed: arena(seed, 0.0),
    "gain": lambda seed: arena(seed, GAIN),
    "margin": margin,
    "accept": accept,
    "patches": patches,
}


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arena")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    lines = args.out.read_text(encoding="utf-8").splitlines() if args.out and args.out.is_file() else []
    drawn = {row["seed"]: row for row in map(json.loads, lines)}
    for seed in range(args.seed, args.seed + args.draws):
        if seed in drawn:
            continue
        drawn[seed] = KINDS[args.kind](seed)
        if args.out:
            with args.out.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(drawn[seed])}\n")
    counts = Counter(key for row in drawn.values() for key, value in row.items() if value is True)
    for key, count in counts.items():
        low, high = wilson(count, len(drawn))
        print(f"{args.kind}: {key} {count / len(drawn):.3f} [{low:.3f}, {high:.3f}] of {len(drawn)}")
    for n, tolerated in sorted({(row["n"], row["margin"]) for row in drawn.values() if "margin" in row}):
        cell = [row["wrong"] for row in drawn.values() if (row["n"], row["margin"]) == (n, tolerated)]
        low, high = wilson(sum(cell), len(cell))
        print(f"n {n}, margin {tolerated}: wrong {sum(cell) / len(cell):.3f} [{low:.3f}, {high:.3f}] of {len(cell)}")
    if not counts:
        print(f"{args.kind}: nothing in {len(drawn)} draws")


if __name__ == "__main__":
    main(sys.argv[1:])

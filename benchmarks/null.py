"""Patches under the null: 200 simulated tunings in which no edit helps; how many accept anything?

The program is a model that errs at random: each answer is drawn anew for every prompt, with the same error rates
whatever the prompt says. What is accepted is accepted by chance. At most 5 % of the tunings should accept anything.

``python -m benchmarks.null [TUNINGS [EXAMPLES]]``
"""

from __future__ import annotations

import logging
import random
import sys
import time
from typing import Any

import dspy

from goldassay import Metric
from goldassay.measures import extraction
from goldassay.statistics import wilson
from goldassay.tuning import Patches

TYPES = ("TOP", "MUS", "TMP")
PLACES = ("Delft", "Gouda", "Breda", "Tiel", "Hoorn", "Venlo", "Sneek", "Assen", "Emmen", "Leiden")


def examples(n: int, seed: int) -> list[Any]:
    """Texts of three names each, with their types by chance."""
    draw = random.Random(seed)
    out = []
    for number in range(n):
        words = draw.sample(PLACES, 3)
        text = f"{' '.join(words)} {number}"
        spans = [{"start": text.index(w), "end": text.index(w) + len(w), "text": w} for w in words]
        entities = [{**span, "type": draw.choice(TYPES)} for span in spans]
        one = dspy.Example(id=f"{seed}-{number}", text=text, entities=entities, mentions=words)
        out.append(one.with_inputs("text"))
    return out


class Errs(dspy.Module):  # type: ignore[misc]
    """Misses 15 % of the names and mistypes 20 %, drawn anew for every prompt; no prompt is better than another."""

    def __init__(self, gold: dict[str, list[dict[str, Any]]], seed: int) -> None:
        super().__init__()
        self.extract = dspy.Predict("text -> mentions")
        self.gold, self.seed = gold, seed

    def forward(self, text: str) -> Any:
        prompt = f"{self.extract.signature.instructions}{[demo.get('text') for demo in self.extract.demos]}"
        draw = random.Random(f"{self.seed}|{prompt}|{text}")
        found = []
        for entity in self.gold[text]:
            chance = draw.random()
            if chance >= 0.15:
                found.append({**entity, "type": draw.choice(TYPES)} if chance < 0.35 else entity)
        return dspy.Prediction(entities=found)


def tuning(seed: int, n: int) -> tuple[int, int]:
    """One tuning: how many patches were tried and how many accepted."""
    train, dev = examples(n, 2 * seed), examples(n, 2 * seed + 1)
    program = Errs({one["text"]: one["entities"] for one in [*train, *dev]}, seed)
    optimizer = Patches(Metric(extraction.StrictF1()), seed=seed, resamples=1000)
    optimizer.compile(program, trainset=train, valset=dev)
    return len(optimizer.ledger.patches), len(optimizer.ledger.accepted)


def main() -> None:
    """Print the share of tunings that accepted anything, with its 95 % interval."""
    logging.disable(logging.CRITICAL)
    given = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    tunings, n = (given + [200, 60][len(given) :])[:2]
    started, tried, accepting = time.monotonic(), 0, 0
    for seed in range(tunings):
        patches, accepted = tuning(seed, n)
        tried, accepting = tried + patches, accepting + (accepted > 0)
    low, high = wilson(accepting, tunings)
    print(
        f"{tunings} tunings under the null, {n} dev examples, {tried} patches tried: {accepting} accepted anything, "
        f"{accepting / tunings:.3f} [{low:.3f}, {high:.3f}] (at most 0.05 wanted), {time.monotonic() - started:.0f} s"
    )


if __name__ == "__main__":
    main()

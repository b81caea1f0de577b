"""Under the null: how often does ``Patches`` accept anything when no edit helps? At most 5 % of tunings should.

A tuning is simulated whole: a program whose answers are drawn anew at every call, with the same chances whatever its
prompt says, so that every edit changes nothing but the noise; real patches proposed from its real errors, tested on
dev, corrected. ``python -m benchmarks.null [TUNINGS]`` (default 200 for each size of dev) prints the share of tunings
that accepted any patch, with its Wilson interval.
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

TYPES = ("MUS", "TOP", "TMP")
METRIC = Metric({extraction.StrictF1(): 0.7, extraction.PartialF1(): 0.3})


class Noisy(dspy.Module):  # type: ignore[misc]
    """Finds each entity with the example's own chance, calls it something else now and then, invents some."""

    def __init__(self, rng: random.Random, known: dict[str, tuple[list[dict[str, Any]], float]]) -> None:
        super().__init__()
        self.extract = dspy.Predict(dspy.Signature("text -> entities", "Find the names."))
        self.rng, self.known = rng, known

    def deepcopy(self) -> Noisy:
        """The noise goes on: a copy that drew the same answers again would be no other run of the model."""
        copy = Noisy(self.rng, self.known)
        copy.extract = self.extract.deepcopy()
        return copy

    def forward(self, text: str) -> Any:
        entities, chance = self.known[text]
        found = [dict(entity) for entity in entities if self.rng.random() < chance]
        for entity in found:
            if self.rng.random() < 0.15:
                entity["type"] = self.rng.choice(TYPES)
            if self.rng.random() < 0.1:
                entity["end"] -= 1
        if self.rng.random() < 0.2:
            start = self.rng.randrange(len(text) - 4)
            found.append({"start": start, "end": start + 4, "type": self.rng.choice(TYPES), "text": "?"})
        return dspy.Prediction(entities=found)


def example(rng: random.Random, name: str) -> Any:
    words = ["".join(rng.choices("abcdefghijklmnopqrst", k=rng.randint(4, 9))) for _ in range(rng.randint(6, 20))]
    text, entities = "", []
    for word in words:
        if rng.random() < 0.25:
            entity = {"start": len(text), "end": len(text) + len(word), "type": rng.choice(TYPES), "text": word}
            entities.append(entity)
        text += f"{word} "
    demo = [{"text": one["text"], "type": one["type"]} for one in entities]
    return dspy.Example(id=name, text=text.strip(), entities=entities, mentions=demo).with_inputs("text")


def tuning(seed: int, dev: int) -> tuple[int, int]:
    """One simulated tuning: how many patches were tested, how many accepted."""
    rng = random.Random(seed)
    examples = [example(rng, f"e{index}") for index in range(30 + dev)]
    known = {one["text"]: (one["entities"], rng.betavariate(3, 2)) for one in examples}
    optimizer = Patches(METRIC, seed=seed)
    optimizer.compile(Noisy(rng, known), trainset=examples[:30], valset=examples[30:])
    return len(optimizer.ledger.entries), len(optimizer.ledger.accepted)


def main(tunings: int = 200) -> None:
    logging.disable(logging.CRITICAL)
    for dev in (20, 60):
        started = time.perf_counter()
        results = [tuning(seed, dev) for seed in range(tunings)]
        hits = sum(accepted > 0 for _, accepted in results)
        low, high = wilson(hits, tunings)
        tested = sum(count for count, _ in results)
        print(
            f"null, dev of {dev}: {hits} of {tunings} tunings accepted anything: {hits / tunings:.1%} "
            f"[{low:.1%}, {high:.1%}], {tested} tests of patches, {time.perf_counter() - started:.0f} s",
            flush=True,
        )
        if low > 0.05:
            raise SystemExit("more than 5 %: the correction does not hold")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

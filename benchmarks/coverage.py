"""How often 95 % intervals hold the truth: ``python -m benchmarks coverage`` writes the table of docs/coverage.md.

Four kinds of values, four sizes, four truths. A draw is a sample of n examples from a population whose value is known:

* accuracy: a share p is right;
* F1: documents of 1 + Poisson(2) entities, each found with a chance that differs between documents (a beta
  distribution with mean p, concentration 4), wrong ones predicted as often as entities are missed: micro-F1 is p;
* macro-F1: four labels (40, 30, 20, 10 %), a wrong one drawn from the others; p is set so that macro-F1 is the truth;
* MRR: the right one first in a share of queries, of the rest half at ranks 2 to 10 and half nowhere (half or fewer).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from goldassay import Counts, Mean
from goldassay.statistics import interval
from goldassay.tally import By

SIZES, TRUTHS, DRAWS = (10, 20, 40, 150), (0.05, 0.5, 0.9, 0.98), 1000
SHARES = np.array([0.4, 0.3, 0.2, 0.1])
LABELS = "ABCD"
PAGE = Path(__file__).parent.parent / "docs" / "coverage.md"
LEAST, MOST = 0.93, 0.97


class Macro(By[str, Counts]):
    """Counts by label; ``value`` is macro-F1 over the labels seen."""

    @property
    def value(self) -> Any:
        return self.macro


Sample = Callable[[np.random.Generator, float, int], tuple[Any, Any]]


def accuracy(rng: np.random.Generator, truth: float, n: int) -> tuple[Any, Any]:
    return Mean((rng.random(n) < truth).astype(float), np.ones(n)), Mean()


def f1(rng: np.random.Generator, truth: float, n: int) -> tuple[Any, Any]:
    entities, chance = 1 + rng.poisson(2, n), rng.beta(4 * truth, 4 * (1 - truth), n)
    found, wrong = rng.binomial(entities, chance), rng.binomial(entities, 1 - chance)
    return Counts(*(column.astype(float) for column in (found, wrong, entities - found))), Counts()


def macro_f1(rng: np.random.Generator, truth: float, n: int) -> tuple[Any, Any]:
    gold = rng.choice(4, n, p=SHARES)
    pred = np.where(rng.random(n) < _right(truth), gold, (gold + rng.integers(1, 4, n)) % 4)
    by = {
        label: Counts(
            ((gold == at) & (pred == at)).astype(float),
            ((gold != at) & (pred == at)).astype(float),
            ((gold == at) & (pred != at)).astype(float),
        )
        for at, label in enumerate(LABELS)
    }
    return Macro(by), Macro({label: Counts() for label in LABELS})


def _right(truth: float) -> float:
    """The share of right labels at which macro-F1 is the truth, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        p = (low + high) / 2
        table = np.outer(SHARES, np.full(4, (1 - p) / 3))
        np.fill_diagonal(table, SHARES * p)
        value = (2 * np.diag(table) / (table.sum(0) + table.sum(1))).mean()
        low, high = (p, high) if value < truth else (low, p)
    return low


def mrr(rng: np.random.Generator, truth: float, n: int) -> tuple[Any, Any]:
    later = float(np.mean(1 / np.arange(2, 11)))
    first = max(0.0, (truth - later / 2) / (1 - later / 2))
    somewhere = 0.5 if first else truth / later
    ranks = np.where(rng.random(n) < somewhere, 1 / rng.integers(2, 11, n), 0.0)
    return Mean(np.where(rng.random(n) < first, 1.0, ranks), np.ones(n)), Mean()


KINDS: dict[str, Sample] = {"accuracy": accuracy, "F1": f1, "macro-F1": macro_f1, "MRR": mrr}


def covered(sample: Sample, truth: float, n: int, draws: int, method: str, seed: int = 0) -> tuple[float, float]:
    """The share of intervals that hold the truth, and their mean width."""
    rng, held, width = np.random.default_rng(seed), 0, 0.0
    for _ in range(draws):
        tallies, zero = sample(rng, truth, n)
        found = interval(tallies, zero, method=method, bounds=(0.0, 1.0), resamples=400)
        held += found.low - 1e-9 <= truth <= found.high + 1e-9
        width += found.high - found.low
    return held / draws, width / draws


def rows(draws: int) -> Iterator[str]:
    for name, sample in KINDS.items():
        for n in SIZES:
            cells = []
            for truth in TRUTHS:
                (now, wide), (before, _) = (
                    covered(sample, truth, n, draws, method) for method in ("auto", "bootstrap")
                )
                shown = f"{now:.3f}" if LEAST <= now <= MOST else f"**{now:.3f}**"
                cells.append(f"{shown} ({wide:.2f}; {before:.3f})")
            yield f"| {name} | {n} | {' | '.join(cells)} |"


def main() -> None:
    draws = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else DRAWS
    table = ["| value | n | " + " | ".join(f"truth {truth}" for truth in TRUTHS) + " |", "|---|---|" + "---|" * 4]
    for row in rows(draws):
        table.append(row)
        print(row, flush=True)
    if PAGE.is_file():
        before, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- table -->\n")
        after = rest.partition("<!-- end -->")[2]
        body = "\n".join(table)
        PAGE.write_text(f"{before}<!-- table -->\n{body}\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()

"""How honest the audit's verdict is: simulated optimizers whose truth is known, on the code that users run.

``python -m benchmarks.audit [--repetitions 500] [--quick] [--write]``. An optimizer scores a program and K candidates
on n examples and returns the best. The grid: binary scores and scores like an example's F1; n of 30, 100, 300; K of 2,
5, 20, 60; correlations of 0, .5, .8; a best candidate that gains 0, .05, .1, .2 (one candidate gains, or they rise to
it evenly). Then the same with candidates that are bred from the best so far on the same examples, where no correction
holds. ``--write`` puts the tables into ``docs/audit-results.md``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from goldassay.statistics.selection import select
from goldassay.tuning.verdict import judge

DOCS = Path(__file__).resolve().parents[1] / "docs" / "audit-results.md"
BASE = 0.5
KINDS, SIZES, CANDIDATES = ("binary", "f1"), (30, 100, 300), (2, 5, 20, 60)
CORRELATIONS, GAINS = (0.0, 0.5, 0.8), (0.0, 0.05, 0.1, 0.2)
LIMITS = {"null": 0.06, "null in a cell": 0.08, "coverage": 0.94, "bias": 0.03}
CLOSE = 0.02  # of a bias
BATCH, FLIPS = 20, 400
GRID = ndtri((np.arange(20_000) + 0.5) / 20_000)
Row = dict[str, Any]


def steps(latent: Any) -> Any:
    """Scores like an example's F1: a third 0, a third 1, and a few steps between."""
    return np.round(np.clip(latent, 0, 1) * 6) / 6


def shift(mean: float) -> float:
    """Where the latent ability has to stand for this mean of `steps`."""
    low, high = -3.0, 3.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if steps(0.5 + middle - 1.1 * GRID).mean() < mean else (low, middle)
    return (low + high) / 2


def scores(kind: str, n: int, means: list[float], rho: float, batch: int, rng: np.random.Generator) -> Any:
    """(batch, n, 1 + K) scores with these true means; ``rho`` is the correlation of the latent abilities."""
    shared = rng.standard_normal((batch, n, 1), dtype=np.float32) * np.sqrt(np.float32(rho))
    own = rng.standard_normal((batch, n, len(means)), dtype=np.float32) * np.sqrt(np.float32(1 - rho))
    latent = shared + own
    if kind == "binary":
        return (latent < ndtri(np.array(means)).astype(np.float32)).astype(np.float32)
    return steps(0.5 + np.array([shift(mean) for mean in means], np.float32) - np.float32(1.1) * latent)


def cell(kind: str, n: int, k: int, rho: float, gain: float, spread: str, repetitions: int) -> Row:
    """One cell of the grid: what the verdict would have said, against the truth."""
    rng = np.random.default_rng([n, k, round(rho * 10), round(gain * 100), kind == "binary", spread == "even"])
    gains = np.linspace(0, gain, k) if spread == "even" else np.array([0.0] * (k - 1) + [gain])
    parts = []
    for start in range(0, repetitions, BATCH):
        x = scores(kind, n, [BASE, *(BASE + gains)], rho, min(BATCH, repetitions - start), rng)
        result = select(x[:, :, 1:] - x[:, :, :1], flips=FLIPS, seed=start)
        true = np.where(result.chosen >= 0, gains[np.maximum(result.chosen, 0)], 0.0)
        parts.append(np.stack([result.chosen >= 0, true, result.estimate, result.naive, result.low, result.high]))
    claim, true, estimate, naive, low, high = np.concatenate(parts, axis=1)
    chosen = claim > 0
    return {
        "kind": kind, "n": n, "k": k, "rho": rho, "gain": gain, "spread": spread,
        "better": float((chosen & (low > 0)).mean()), "worse": float((chosen & (high < 0)).mean()),
        "coverage": float(((low <= true) & (true <= high))[chosen].mean()) if chosen.any() else float("nan"),
        "width": float((high - low)[chosen].mean()) if chosen.any() else float("nan"),
        "bias": float((estimate - true).mean()), "naive bias": float((naive - true).mean()),
    }  # fmt: skip


def bred(n: int, k: int, redrawn: float, repetitions: int) -> Row:
    """All candidates are equal; a child redraws the luck of a share of the examples of the best so far.

    ``unaware`` is the share that would be said to help, were the candidates taken for independent ones.
    """
    rng = np.random.default_rng([n, k, round(redrawn * 10)])
    easy = np.where(rng.random((repetitions, n)) < 0.5, 0.15, 0.85)
    best = (rng.random((repetitions, n)) < easy).astype(np.float32)
    columns = [best]
    for _ in range(k):
        redraw = (rng.random((repetitions, n)) < easy).astype(np.float32)
        child = np.where(rng.random((repetitions, n)) < redrawn, redraw, best)
        columns.append(child)
        best = np.where((child.mean(1) > best.mean(1))[:, None], child, best)
    x = np.stack(columns, 2)
    parts = [x[start : start + BATCH] for start in range(0, repetitions, BATCH)]
    results = [select(part[:, :, 1:] - part[:, :, :1], flips=FLIPS) for part in parts]
    verdicts = [judge(matrix[:, 1:] - matrix[:, :1], selection="bred").verdict for matrix in x[:100]]
    return {
        "n": n, "k": k, "redrawn": redrawn, "naive": float(np.mean([r.naive.mean() for r in results])),
        "unaware": float(np.concatenate([(r.chosen >= 0) & (r.low > 0) for r in results]).mean()),
        "better": float(np.mean([word == "better" for word in verdicts])),
    }  # fmt: skip


def grid(repetitions: int, quick: bool) -> list[Row]:
    """All cells; those whose bias is near the limit have ten times the repetitions."""
    sizes, candidates, correlations = (SIZES, CANDIDATES, CORRELATIONS) if not quick else ((30, 100), (5, 20), (0.5,))
    rows = []
    for rho in correlations:
        for n in sizes:
            for k in candidates:
                for gain in GAINS:
                    for kind in KINDS:
                        for spread in ("one", "even") if gain else ("one",):
                            row = cell(kind, n, k, rho, gain, spread, repetitions)
                            close = abs(row["bias"]) > CLOSE  # too near the limit for so few repetitions
                            rows.append(cell(kind, n, k, rho, gain, spread, 10 * repetitions) if close else row)
    return rows


def mean(rows: list[Row], key: str) -> float:
    """The mean over cells; cells where nothing was claimed have no coverage."""
    return float(np.nanmean([row[key] for row in rows]))


def where(row: Row) -> str:
    """A cell in words."""
    return f"{row['kind']}, n {row['n']}, K {row['k']}, correlation {row['rho']:g}, gain {row['gain']:+g}"


def tables(rows: list[Row], breeds: list[Row], repetitions: int) -> list[str]:
    """The tables of the documentation."""
    null, some = [row for row in rows if not row["gain"]], [row for row in rows if row["gain"]]
    worst = max(rows, key=lambda row: abs(row["bias"]))
    least = min((row for row in rows if row["coverage"] == row["coverage"]), key=lambda row: row["coverage"])
    lines = [
        f"{len(rows)} cells, {repetitions} repetitions each (ten times as many where the bias came near its limit).",
        "",
        "| figure | measured | required |",
        "|---|---|---|",
        f'| "better" where nothing helps, mean of {len(null)} cells | {mean(null, "better"):.3f} | .06 at most |',
        f'| "better" where nothing helps, worst cell | {max(r["better"] for r in null):.3f} | .08 at most |',
        f"| coverage of the 95 % interval, mean | {mean(rows, 'coverage'):.3f} | .94 at least |",
        f"| coverage, worst cell ({where(least)}) | {least['coverage']:.3f} | |",
        f"| bias of the estimate, mean | {mean(rows, 'bias'):+.3f} | |",
        f"| bias of the estimate, worst cell ({where(worst)}) | {worst['bias']:+.3f} | .03 at most |",
        f"| bias of the naive gain, mean where nothing helps | {mean(null, 'naive bias'):+.3f} | |",
        f"| width of the interval, mean | {mean(rows, 'width'):.3f} | |",
        f'| "worse", share | {mean(rows, "worse"):.4f} | |',
        "",
        'How often it says "better" (power), one candidate gaining, and all rising evenly to the gain:',
        "",
        "| n | +.05 | +.1 | +.2 |",
        "|---|---|---|---|",
    ]
    for n in sorted({row["n"] for row in rows}):
        shares = [
            [
                mean([r for r in some if (r["n"], r["gain"], r["spread"]) == (n, g, s)], "better")
                for s in ("one", "even")
            ]
            for g in GAINS[1:]
        ]
        lines.append(f"| {n} | " + " | ".join(f"{rate:.2f}, {even:.2f}" for rate, even in shares) + " |")
    lines += [
        "",
        "Candidates bred from the best so far, all equally good: the naive gain, how often the correction would say "
        '"better" if it took them for independent ones, and how often the verdict says it.',
        "",
        "| n | candidates | redrawn | naive gain | unaware | verdict |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['n']} | {r['k']} | {r['redrawn']:g} | {r['naive']:+.3f} | {r['unaware']:.2f} | {r['helped']:.2f} |"
        for r in breeds
    ]
    return lines


def put(name: str, lines: list[str]) -> None:
    """Write a table between its two marks in the documentation."""
    text = DOCS.read_text(encoding="utf-8")
    marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
    start, end = text.index(marks[0]) + len(marks[0]), text.index(marks[1])
    DOCS.write_text(f"{text[:start]}\n\n{chr(10).join(lines)}\n\n{text[end:]}", encoding="utf-8")


def main(arguments: Sequence[str] = ()) -> None:
    """Run the grid, print it, and fail if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--quick", action="store_true", help="a few cells")
    parser.add_argument("--write", action="store_true", help=f"write {DOCS.name}")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    rows = grid(options.repetitions, options.quick)
    breeds = [bred(n, k, redrawn, options.repetitions) for n in (30, 100) for k in (8, 20) for redrawn in (0.3, 1.0)]
    lines = tables(rows, breeds, options.repetitions)
    print("\n".join(lines), f"\n{time.perf_counter() - started:.0f} s")
    if options.write:
        put("simulation", lines)
    null = [row["better"] for row in rows if not row["gain"]]
    missed = [
        np.mean(null) > LIMITS["null"],
        max(null) > LIMITS["null in a cell"],
        mean(rows, "coverage") < LIMITS["coverage"],
        max(abs(row["bias"]) for row in rows) > LIMITS["bias"],
        any(row["better"] for row in breeds),
    ]
    if any(missed):
        raise SystemExit("the audit misses a limit")


if __name__ == "__main__":
    main(sys.argv[1:])

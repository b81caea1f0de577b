"""The table of `benchmarks.tuning`: every arm, what acceptance is worth, gains by task, patches beside the best."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from goldassay.tuning import OPTIMIZERS


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as Markdown: each arm, then what acceptance is worth, then the best of each task."""
    good = [row for row in rows if not row.get("error")]
    out = ["# What tuning brought", "", f"{len(rows)} arms, {len(rows) - len(good)} of them not available. Gain: the "
           "paired difference to the program as it was, on test, with its 95 % interval. Kept: on train and dev; "
           "proven: on test, one look at .05.", ""]  # fmt: skip
    out += ["| task | model | optimizer | seed | n test | before | after | gain [95 %] | p | kept | proven | calls | "
            "minutes |", "|---" * 13 + "|"]  # fmt: skip
    for row in sorted(rows, key=lambda one: (one["task"], one["lm"], one["optimizer"], one["seed"])):
        head = f"| {row['task']} | {row['lm']} | {row['optimizer']} | {row['seed']} |"
        if row.get("error"):
            out.append(f"{head} | | | not available: {row['error']} | | | | | |")
            continue
        out.append(
            f"{head} {row['examples']['test']} | {row['before']:.3f} | {row['after']:.3f} | "
            f"{row['gain']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}] | "
            f"{'<.001' if row['p'] < 0.001 else format(row['p'], '.3f')} | "
            f"{'yes' if row['kept'] else ''} | {'yes' if row['proven'] else ''} | {row['calls']:.0f} | "
            f"{row['minutes']:.1f} |"
        )
    by: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in good:
        by[row["optimizer"]].append(row)
    out += ["", "## With and without acceptance", "", "| optimizer | arms | below zero-shot on test | of those kept | "
            "mean gain | mean gain of what is kept (else 0) | proven | proven and below |", "|---" * 8
            + "|"]  # fmt: skip
    for name, some in sorted(by.items()):
        kept_rows = [row for row in some if row["kept"]]
        below, worse = (sum(row["gain"] < 0 for row in part) for part in (some, kept_rows))
        mean, guarded = (sum(row["gain"] for row in part) / len(some) for part in (some, kept_rows))
        proven = [row for row in some if row["proven"]]
        out.append(
            f"| {name} | {len(some)} | {below} | {worse} of {len(kept_rows)} | {mean:+.3f} | {guarded:+.3f} | "
            f"{len(proven)} | {sum(row['gain'] < 0 for row in proven)} |"
        )
    out += pivot(good)
    out += ["", "## Patches beside the best of the others", "", "On the same test examples, each with the mean over "
            "the seeds of what it adds to the gain (linearised); paired, with Student's interval.", ""]  # fmt: skip
    for task, lm in sorted({(row["task"], row["lm"]) for row in good}):
        arms = {name: mean_parts(some) for name, some in of(good, task, lm).items() if "parts" in some[0]}
        mine = arms.pop("patches", None)
        best = max(arms, key=lambda name: float(arms[name].sum()), default=None)
        if mine is not None and best is not None:
            out.append(f"* {task}, {lm}: {beside(mine, arms[best], best)}")
    return "\n".join(out) + "\n"


def of(rows: Sequence[dict[str, Any]], task: str, lm: str) -> dict[str, list[dict[str, Any]]]:
    """The arms of a task and a model, by optimizer."""
    by_task: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if (row["task"], row["lm"]) == (task, lm):
            by_task[row["optimizer"]].append(row)
    return by_task


def pivot(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The mean gain of each optimizer on each task, over its seeds, with the lowest and the highest of them."""
    out: list[str] = []
    for lm in sorted({row["lm"] for row in rows}):
        tasks = list(dict.fromkeys(row["task"] for row in rows if row["lm"] == lm))
        out += ["", f"## Mean gain on test, {lm}", "", "Over the seeds, with the lowest and the highest where they "
                "differ; ● an arm was proven.", "", f"| optimizer | {' | '.join(tasks)} |"]  # fmt: skip
        out.append("|---" * (len(tasks) + 1) + "|")
        for name in OPTIMIZERS:
            some = [of(rows, task, lm).get(name, []) for task in tasks]
            if any(some):
                out.append(f"| {name} | {' | '.join(map(cell, some))} |")
    return out


def cell(arms: Sequence[dict[str, Any]]) -> str:
    """The arms of one optimizer on one task."""
    if not arms:
        return ""
    gains = [float(row["gain"]) for row in arms]
    low, high = f"{min(gains):+.3f}", f"{max(gains):+.3f}"
    span = "" if low == high else f" ({low} … {high})"
    return f"{sum(gains) / len(gains):+.3f}{span}{' ●' * any(row['proven'] for row in arms)}"


def mean_parts(arms: Sequence[dict[str, Any]]) -> Any:
    """What each test example adds to the gain, over the seeds."""
    return np.mean([row["parts"] for row in arms], axis=0)


def beside(mine: Any, other: Any, name: str) -> str:
    """How an arm stands beside another, in words."""
    parts = mine - other
    difference = f"{parts.sum():+.3f} against {name}"
    error = float(np.std(parts, ddof=1) * len(parts) ** 0.5)
    if not error:
        return f"{difference}, the same on every example"
    half = float(stats.t.ppf(0.975, len(parts) - 1)) * error
    p = 2 * float(stats.t.sf(abs(parts.sum()) / error, len(parts) - 1))
    verdict = "not shown to differ" if p > 0.05 else "better" if parts.sum() > 0 else "worse"
    return f"{difference} [{parts.sum() - half:+.3f}, {parts.sum() + half:+.3f}], p {p:.3f}: {verdict}"

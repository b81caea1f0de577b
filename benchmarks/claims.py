"""What a tuning says of its result, on simulated programs whose true values are known.

``python -m benchmarks.claims [--campaigns 150] [--pilots 200] [--write]`` runs the real `Patches` and the real plan.
The program is right by a latent difficulty of the example, which all prompts share (ρ of the variance), and by noise of
the prompt. Two questions:

*Stamps*: nearest examples gain ``gain``; the set that may take their place gains as much, so the swap gains nothing,
and six rules gain nothing. Which patches are called proven, and would the interval of what was kept have been right?

*Pilots*: nearest examples gain ``gain``, the other form of the answer nothing. How often does the plan say "can pay"?

``--write`` puts the tables into ``docs/power.md``.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from statistics import NormalDist
from typing import Any

import dspy
import numpy as np
from scipy import stats

from goldassay import Metric
from goldassay.models.lm import TerseAdapter
from goldassay.results.comparison import ComparisonVerdict
from goldassay.running.options import RunOptions
from goldassay.statistics import compare, wilson
from goldassay.tuning import Patches
from goldassay.tuning.acceptance import MARGIN, CampaignVerdict, Status
from goldassay.tuning.edits import nearest_examples, selected_examples
from goldassay.tuning.measuring import evaluated
from goldassay.tuning.patches import Patch
from goldassay.tuning.plan import Plan, from_pilot, from_sizes

PAGE = Path(__file__).resolve().parents[1] / "docs" / "power.md"
METRIC = Metric.of(lambda gold, pred: float(gold["labels"] == pred["labels"]))
RULES = [f"Take care of matter {number}." for number in range(6)]
NORMAL = NormalDist()
CELLS = ((0.1, 0.5), (0.3, 0.5), (0.5, 0.5), (0.5, 0.8))  # the value as it is, and rho


def normal(*key: object) -> float:
    """A standard normal number that belongs to this key."""
    number = int.from_bytes(blake2b(repr(key).encode(), digest_size=7).digest(), "big")
    return NORMAL.inv_cdf((number + 0.5) / 2**56)


class Scripted(dspy.Module):  # type: ignore[misc]
    """Right with the chance ``base``, and ``gain`` more if it is shown examples."""

    def __init__(self, seed: int, base: float, gain: float, rho: float) -> None:
        super().__init__()
        self.predict = dspy.Predict(dspy.Signature("text -> labels: list[str]", "Name the labels."))
        self.settings = seed, base, gain, rho

    def forward(self, text: str) -> Any:
        seed, base, gain, rho = self.settings
        has_demos = bool(self.predict.demos)
        same = len(self.predict.demos or []) and self.predict.demos[0].get("text")  # sets differ, prompts of one do not
        prompt = self.predict.signature.instructions, has_demos, same, getattr(dspy.settings.adapter, "form", "")
        noise = rho**0.5 * normal(seed, text) + (1 - rho) ** 0.5 * normal(seed, text, prompt)
        return dspy.Prediction(labels=["x"] * bool(noise < NORMAL.inv_cdf(base + gain * has_demos)))


def examples(seed: int, count: int, start: int) -> list[Any]:
    rng = np.random.default_rng((seed, start))
    texts = ["".join(rng.choice(list("abcdefghijklmnopqrst "), 30)) for _ in range(count)]
    return [
        dspy.Example(id=f"{start}-{index}", text=text, labels=["x"]).with_inputs("text")
        for index, text in enumerate(texts)
    ]


def rule(diagnosis: Any, text: str) -> dict[str, list[Patch]]:
    """An edit that gains nothing."""
    return {text: [diagnosis.draft(proposer="rule", action="add_instruction", text=text)]}


def campaign(seed: int, n: int, gain: float) -> dict[str, float]:
    """One tuning on n examples of train and dev, with n of test: what is kept, proven and stamped."""
    start = Scripted(seed, 0.35, gain, 0.8)
    bundles: list[list[Any]] = [
        [nearest_examples],
        [selected_examples],
        *([partial(rule, text=text)] for text in RULES),
    ]
    optimizer = Patches(METRIC, bundles=bundles, seed=seed, resamples=1000, most=n)
    final = optimizer.compile(start, trainset=examples(seed, n // 2 + 40, 0), valset=examples(seed, n - n // 2, 1))
    ledger, test = optimizer.ledger, examples(seed, n, 2)
    crossed = ledger.verdict
    by_cross = stamps(ledger.patches, crossed, gain)
    before, after = (evaluated(program, test, METRIC) for program in (start, final))
    comparison = compare(after.evidence, before.evidence, after.zero, resamples=1000)
    proven = crossed.kept and ComparisonVerdict.of_gain(*comparison.interval.ends, MARGIN) == ComparisonVerdict.BETTER
    ledger.conclude(replace(crossed, proven=proven, by="test, one look"))
    out = {
        "kept": crossed.kept,
        "interval": 0.0,
        "crossed": crossed.proven,
        "proven": proven,
        "estimate": np.nan,
        "covers": np.nan,
    }
    out |= {f"crossed {name}": value for name, value in by_cross.items()} | stamps(ledger.patches, ledger.verdict, gain)
    if crossed.kept and crossed.effect is not None:
        effect, true = crossed.effect, gain * any(patch.action == "show_nearest" for patch in ledger.kept)
        error = effect.difference / max(float(stats.t.isf(effect.p / 2, effect.n - 1)), 1e-9)
        reach = float(stats.t.isf(0.025, effect.n - 1)) * error  # the interval that was printed, from its p
        out |= {
            "estimate": effect.difference,
            "covers": abs(effect.difference - true) <= reach,
            "interval": effect.low is not None,
        }
    return {name: float(value) for name, value in out.items()}


def stamps(patches: Sequence[Patch], verdict: CampaignVerdict, gain: float) -> dict[str, bool]:
    """Whether a patch without any gain is kept in a proven program (stamped before), and is called proven (now)."""
    kept_patches = [patch for patch in patches if patch.status in (Status.KEPT, Status.PROVEN)]
    useless = [patch for patch in kept_patches if patch.action != "show_nearest"]
    swapped = any(patch.proposer == "selected" for patch in kept_patches) and any(
        "took its place" in patch.reason for patch in patches
    )
    wrong = [patch for patch in kept_patches if patch.status == Status.PROVEN and (patch in useless or not gain)]
    return {
        "useless in proven": bool(useless and verdict.proven),
        "swap in proven": swapped and verdict.proven,
        "useless proven": bool(wrong),
    }


def stamped(times: int) -> list[str]:
    lines = [
        "| n | gain | kept | proven: crossed / test | useless edit in it | swap in it | called proven for nothing: "
        "before / now [95 %] | mean estimate of what is kept | its usual interval covers | shown |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for n in (34, 60):
        for gain in (0.0, 0.15, 0.3):
            campaigns = [campaign(seed, n, gain) for seed in range(times)]
            mean = {name: float(np.nanmean([each[name] for each in campaigns])) for name in campaigns[0]}
            before = float(np.mean([each["useless in proven"] or each["swap in proven"] for each in campaigns]))
            low, high = wilson(int(sum(each["useless proven"] for each in campaigns)), times)
            lines.append(
                f"| {n} | {gain:+.2f} | {mean['kept']:.2f} | {mean['crossed']:.3f} / {mean['proven']:.3f} | "
                f"{mean['useless in proven']:.3f} | {mean['swap in proven']:.3f} | {before:.3f} / "
                f"{mean['useless proven']:.3f} [{low:.3f}, {high:.3f}] | {mean['estimate']:+.3f} | "
                f"{mean['covers']:.2f} | {mean['interval'] or 'never'} |"
            )
            print(lines[-1], f"(without test: {mean['crossed useless proven']:.3f})", flush=True)
    return lines


def pilot(seed: int, gain: float, base: float, rho: float) -> Plan:
    """The plan after a pilot, with 100 examples of test."""
    splits = {"train": examples(seed, 8, 0), "dev": examples(seed, 16, 1), "test": examples(seed, 100, 2)}
    sizes, adapter = from_sizes("patches", splits), TerseAdapter("json")
    return from_pilot(sizes, Scripted(seed, base, gain, rho), splits, METRIC, options=RunOptions(adapter=adapter))


def pilots(times: int) -> list[str]:
    head = " | ".join(f"value {base:g}, ρ {rho:g}" for base, rho in CELLS)
    lines = [f"| gain of the nearest | {head} | all [95 %] |", "|---|" + "---|" * (len(CELLS) + 1)]
    for gain in (0.0, 0.1, 0.2, 0.35):
        hits = [sum(bool(pilot(seed, gain, *cell).pays) for seed in range(times)) for cell in CELLS]
        low, high = wilson(sum(hits), times * len(CELLS))
        shares = " | ".join(f"{hit / times:.2f}" for hit in hits)
        lines.append(f"| {gain:+.2f} | {shares} | {sum(hits) / times / len(CELLS):.3f} [{low:.3f}, {high:.3f}] |")
        print(lines[-1], flush=True)
    return lines


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims")
    parser.add_argument("--campaigns", type=int, default=150, help="a size and gain")
    parser.add_argument("--pilots", type=int, default=200, help="a gain and cell")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/power.md")
    args = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    tables = {
        "## When the plan says": pilots(args.pilots) if args.pilots else [],
        "## What is called proven": stamped(args.campaigns) if args.campaigns else [],
    }
    text = PAGE.read_text(encoding="utf-8")
    for title, lines in tables.items() if args.write else ():
        start = text.index("\n\n|", text.index(f"\n{title}")) + 2  # a table that was not made stays as it is
        end = (text.find("\n\n", start) + 1 or len(text) + 1) - 1
        text = text[:start] + "\n".join(lines) + text[end:] if lines else text
    PAGE.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

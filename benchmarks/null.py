"""How often a campaign proves anything when no edit helps, and how often it finds a gain that is there.

``python -m benchmarks.null [--campaigns 1000] [--tunings 200] [--write]`` measures two things.

*Campaigns* are the rule of acceptance on real score rows: two programs that need no model are run on ``heritage``
(extraction: patterns, and patterns with a gazetteer; classification: keywords, and the nearest documents) and on HIPE
(``shared/data``, where it is there), and each example's two rows are handed to "before" and "after" by a fair coin, so
that nothing helps. For the power, the rows after are mended at random examples until the corpus value is higher by the
gain. Each campaign looks at stages, as `goldassay.tuning.measuring.Bench` does, and decides as
`goldassay.tuning.acceptance` says; beside it stands what Holm over six candidates at .05/3 would have done.

*Tunings* are whole: a scripted model whose answers are drawn anew at every call, with the same chances whatever its
prompt says; real edits from its real errors, folds, bundles and leave-one-out. ``--write`` puts the tables into
``docs/power.md``.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dspy
import numpy as np

from goldassay import Metric, workspace
from goldassay.core.tally import Evidence
from goldassay.gold import load
from goldassay.gold.reading import read
from goldassay.measures import extraction
from goldassay.running.evaluate import evaluate
from goldassay.statistics import compare, holm, sequential_test, wilson
from goldassay.statistics.sequential import stages
from goldassay.tuning import Patches
from goldassay.tuning.acceptance import ALPHA, EARLY, CandidateResult, Effect, Outcome, is_kept, is_proven

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
SIZES, GAINS = (14, 40, 60, 150), (0.0, 0.1, 0.2)
TYPES = ("MUS", "TOP", "TMP")
METRIC = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})
Pairs = tuple[list[Evidence], list[Evidence], Evidence]


def rows() -> dict[str, Pairs]:
    """The evidence of two programs on the same real examples, by data set."""
    pairs: dict[str, Pairs] = {}
    for task, other in (("extraction", "plain"), ("classification", "keywords")):
        part = getattr(load("heritage", task=task), task)
        module = workspace.load(workspace.target(task).file)
        metric = workspace.metric(task)
        fitted = module.baseline.fit(list(part.train))
        second = module.PatternExtraction() if other == "plain" else module.baselines["keywords"]
        runs = [evaluate(candidate, list(part.all), metric, progress=False) for candidate in (second, fitted)]
        pairs[f"heritage {task}"] = runs[0].evidence, runs[1].evidence, runs[0].zero
    file = DATA / "hipe2022" / "ajmc-dev-en.tsv"
    if file.is_file():
        pages = [dspy.Example(**page).with_inputs("text") for page in read(file, format="hipe", task="extraction")]
        module = workspace.load(workspace.target("extraction").file)
        names = {"GRP.HER.MUS": "pers", "TOP": "loc", "TMP": "date", "IDENTIFIER": "scope"}
        runs = []
        for keep in (1.0, 0.5):
            rng = random.Random(0)

            def program(text: str, keep: float = keep, rng: random.Random = rng) -> Any:
                spans = module.PatternExtraction()(text=text).entities
                entities = [{**span, "type": names.get(span["type"], "work")} for span in spans if rng.random() < keep]
                return dspy.Prediction(entities=entities)

            runs.append(evaluate(program, pages, METRIC, progress=False))
        pairs["HIPE ajmc"] = runs[1].evidence, runs[0].evidence, runs[0].zero
    return pairs


def campaign(
    pairs: Pairs, n: int, gain: float, rng: np.random.Generator
) -> tuple[list[Evidence], list[Evidence], Evidence]:
    """n examples with a row before and a row after: by a coin, then mended until the value is higher by the gain."""
    first, two, zero = pairs
    chosen = rng.choice(len(first), n, replace=n > len(first))
    before, after = [], []
    for index in chosen:
        sides = [first[index], two[index]] if rng.random() < 0.5 else [two[index], first[index]]
        before.append(sides[0])
        after.append(sides[1])
    if gain:
        mended(before, after, zero, gain, rng)
    return before, after, zero


def mended(
    before: list[Evidence], after: list[Evidence], zero: Evidence, gain: float, rng: np.random.Generator
) -> None:
    """Examples that are wrong after are made right, each with the same chance, which gives the gain in expectation."""
    perfect = [_perfect(evidence) for evidence in after]
    value = [float(sum(some, zero).value) for some in (after, perfect)]
    room = value[1] - value[0]
    share = min(1.0, gain / room) if room > 0 else 0.0
    for index, right in enumerate(perfect):
        if rng.random() < share:
            after[index] = right


def _perfect(one: Evidence) -> Evidence:
    """The evidence of an example, had nothing been wrong."""
    from goldassay.core.measure import Error
    from goldassay.tuning.patterns import repair

    errors = [Error("wrong_type", "", "a", "a")] * 99
    return Evidence(one + repair(one, errors, errors), one.weights, one.worst)


def decided(
    before: Sequence[Evidence], after: Sequence[Evidence], zero: Evidence, resamples: int = 500
) -> CandidateResult:
    """The outcome of one candidate, looked at as a campaign looks."""
    n, p, ended, effect = len(before), 1.0, "full", None
    looks = stages(n)
    for look in looks:
        comparison = compare(after[:look], before[:look], zero, resamples=resamples)
        sequential = sequential_test(after[:look], before[:look], zero, looks=[x for x in looks if x <= look],
                               clusters=list(range(look)), alpha=ALPHA * EARLY)  # fmt: skip
        p = sequential.p
        effect = Effect(split="train+dev", before=0, after=comparison.difference, difference=comparison.difference,
                        low=comparison.interval.low, high=comparison.interval.high, p=comparison.p, n=look)  # fmt: skip
        if look == n:
            break
        if sequential.decision != "continue":
            ended = sequential.decision
            break
        if comparison.difference <= 0 and comparison.interval.high < 0.01:
            ended = "reject"
            break
    return CandidateResult({}, effect, Outcome(ended), p)


def six(pairs: Pairs, n: int, gain: float, rng: np.random.Generator) -> bool:
    """What was done before: Holm over six candidates at .05/3, of which one helps."""
    comparisons = []
    for number in range(6):
        before, after, zero = campaign(pairs, n, gain if number == 0 else 0.0, rng)
        comparisons.append(compare(after, before, zero, resamples=500))
    adjusted = holm([comparison.p for comparison in comparisons])
    return any(p <= 0.05 / 3 and comparison.difference > 0 for p, comparison in zip(adjusted, comparisons, strict=True))


def power(campaigns: int) -> list[str]:
    """The table: for each data set, n and gain the shares of campaigns that keep, that prove, and what Holm found."""
    lines = [
        "| rows | n | gain | kept | proven [95 %] | mean examples | six, Holm at .05/3 |",
        "|---|---|---|---|---|---|---|",
    ]
    pairs_by_name = rows()
    each = -(-campaigns // (len(pairs_by_name) * len(SIZES)))  # without a gain, so many of each size add up to all
    hits = 0
    for name, pairs in pairs_by_name.items():
        for gain in GAINS:
            for n in SIZES:
                rng = np.random.default_rng(n * 1000 + round(gain * 100))
                times = each if gain == 0 else 40
                outcomes = [decided(*campaign(pairs, n, gain, rng)) for _ in range(times)]
                kept_count = sum(map(is_kept, outcomes))
                proven = sum(map(is_proven, outcomes))
                low, high = wilson(proven, times)
                used = sum(outcome.effect.n for outcome in outcomes if outcome.effect) / times
                old = sum(six(pairs, n, gain, rng) for _ in range(40)) / 40 if gain else float("nan")
                lines.append(
                    f"| {name} | {n} | {gain:+.1f} | {kept_count / times:.2f} | {proven / times:.3f} "
                    f"[{low:.3f}, {high:.3f}] | {used:.0f} | {'–' if not gain else f'{old:.2f}'} |"
                )
                print(lines[-1], flush=True)
                hits += proven * (gain == 0)
    whole = each * len(pairs_by_name) * len(SIZES)
    low, high = wilson(hits, whole)
    lines.append(f"| all | 14–150 | +0.0 | | {hits / whole:.3f} [{low:.3f}, {high:.3f}] of {whole} campaigns | | – |")
    print(lines[-1], flush=True)
    if low > ALPHA:
        raise SystemExit("more than 5 % of campaigns are proven though nothing helps")
    return lines


class Noisy(dspy.Module):  # type: ignore[misc]
    """Finds each entity with the example's own chance, calls it something else now and then, invents some."""

    def __init__(self, rng: random.Random, known: dict[str, tuple[list[dict[str, Any]], float]]) -> None:
        super().__init__()
        self.extract = dspy.Predict(dspy.Signature("text -> entities", "Find the names."))
        self.rng = rng
        self.known = known

    def deepcopy(self) -> Noisy:
        """The noise goes on: a copy that drew the same answers again would be no other run of the model."""
        copy = Noisy(self.rng, self.known)
        copy.extract = self.extract.deepcopy()
        return copy

    def forward(self, text: str) -> Any:
        entities, chance = self.known[text]
        predicted = [dict(entity) for entity in entities if self.rng.random() < chance]
        for entity in predicted:
            if self.rng.random() < 0.15:
                entity["type"] = self.rng.choice(TYPES)
            if self.rng.random() < 0.1:
                entity["end"] -= 1
        if self.rng.random() < 0.2:
            start = self.rng.randrange(len(text) - 4)
            predicted.append({"start": start, "end": start + 4, "type": self.rng.choice(TYPES), "text": "?"})
        return dspy.Prediction(entities=predicted)


def example(rng: random.Random, name: str) -> Any:
    words = ["".join(rng.choices("abcdefghijklmnopqrst", k=rng.randint(4, 9))) for _ in range(rng.randint(6, 20))]
    text, entities = "", []
    for word in words:
        if rng.random() < 0.25:
            entity = {"start": len(text), "end": len(text) + len(word), "type": rng.choice(TYPES), "text": word}
            entities.append(entity)
        text += f"{word} "
    return dspy.Example(id=name, text=text.strip(), entities=entities).with_inputs("text")


def tuning(seed: int, n: int) -> tuple[int, bool, bool]:
    """One simulated tuning of n examples, with n more in train to race and to show: how many candidates were tested,
    whether anything was kept, and proven."""
    rng = random.Random(seed)
    examples = [example(rng, f"e{index}") for index in range(2 * n)]
    entities = {each["text"]: (each["entities"], rng.betavariate(3, 2)) for each in examples}
    optimizer = Patches(METRIC, seed=seed, resamples=1000, most=n)
    optimizer.compile(Noisy(rng, entities), trainset=examples[n // 2 :], valset=examples[: n // 2])
    return len(optimizer.ledger.entries), optimizer.ledger.verdict.kept, optimizer.ledger.verdict.proven


def tunings(times: int) -> list[str]:
    """The table of whole tunings in which no edit helps."""
    lines = ["| examples | tunings | kept something | proven [95 %] | tests |", "|---|---|---|---|---|"]
    for n in (40,):
        results = [tuning(seed, n) for seed in range(times)]
        kept_count, proven = sum(result[1] for result in results), sum(result[2] for result in results)
        low, high = wilson(proven, times)
        tests = sum(result[0] for result in results)
        lines.append(
            f"| {n} | {times} | {kept_count / times:.2f} | {proven / times:.3f} [{low:.3f}, {high:.3f}] | {tests} |"
        )
        print(lines[-1], flush=True)
        if low > ALPHA:
            raise SystemExit("more than 5 % of tunings are proven though nothing helps")
    return lines


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.null")
    parser.add_argument("--campaigns", type=int, default=1000, help="in which nothing helps, together")
    parser.add_argument("--tunings", type=int, default=200)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/power.md")
    args = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    started = time.perf_counter()
    whole = tunings(args.tunings) if args.tunings else []
    table = power(args.campaigns) if args.campaigns else []
    print(f"{time.perf_counter() - started:.0f} s")
    if args.write:
        page = ROOT / "docs" / "power.md"
        text = page.read_text(encoding="utf-8")
        for title, lines in (("## Campaigns on real rows", table), ("## Whole tunings of", whole)):
            start = text.index("\n\n", text.index(f"\n{title}")) + 2  # a table that was not made stays as it is
            end = (text.find("\n\n", start) + 1 or len(text) + 1) - 1
            text = text[:start] + "\n".join(lines) + text[end:] if lines else text
        page.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

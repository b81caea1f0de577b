"""Before and after, on real gold: each optimizer with a real model, tuned on train, chosen on dev, reported on test.

``python -m benchmarks.tuning [--gold hipe2022|extraction|classification] [--train N --dev N --test N] [--budget …]
[--arms zero-shot,labeled,…] [--tokens N] [--seed N]``. The model is ``GOLDASSAY_MODEL=FILE.gguf``, else the embedded
one, at about a second a call. Every arm has the same budget; an arm that fails says why and is no zero. Calls and
minutes are those of tuning, without the evaluation before and after. Answers are cached in memory, so what an arm
before asked already costs no time again (it still counts as a call).
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import dspy
from pydantic import BaseModel

from goldassay import lm as models
from goldassay import workspace
from goldassay.exceptions import GoldassayError
from goldassay.gold import load
from goldassay.gold.reading import read
from goldassay.reporting import terminal
from goldassay.text.locate import locate
from goldassay.tuning import tune

HIPE = Path(__file__).resolve().parents[2] / "shared" / "data" / "hipe2022"
SMALL: dict[str, dict[str, Any]] = {
    "labeled": {"k": 2},
    "knn": {"k": 2},
    "bootstrap": {"num_candidate_programs": 1, "max_bootstrapped_demos": 2, "max_labeled_demos": 2},
    "gepa": {"reflection_minibatch_size": 3, "max_metric_calls": 60},
    "mipro": {"num_candidates": 2, "num_trials": 3, "max_bootstrapped_demos": 1, "max_labeled_demos": 1},
    "patches": {"rounds": 1, "candidates": 4},
}


class Mention(BaseModel):
    text: str
    type: Literal["pers", "work", "scope", "loc", "date", "object"]


class Commentary(dspy.Signature):
    """List the names and references in this commentary on Sophocles, copied exactly, each with its type.
    pers person, work title of a work, scope place in a work (a number), loc place, date date, object manuscript."""

    text: str = dspy.InputField()
    mentions: list[Mention] = dspy.OutputField()


class Reader(dspy.Module):  # type: ignore[misc]
    """Names by a model, offsets by code."""

    def __init__(self) -> None:
        super().__init__()
        self.extract = dspy.Predict(Commentary)

    def forward(self, text: str) -> Any:
        found = self.extract(text=text).mentions or []
        places = locate(text, [one.text for one in found])
        return dspy.Prediction(
            entities=[
                {"start": at and at[0], "end": at and at[1], "type": one.type, "text": one.text}
                for one, at in zip(found, places, strict=True)
            ]
        )

    def to_demo(self, example: Any) -> dict[str, Any]:
        return {"mentions": [{"text": one["text"], "type": one["type"]} for one in example["entities"]]}


def passages(split: str, longest: int = 200) -> list[Any]:
    """English pages of HIPE-2022 cut into passages of whole entities; one passage a page, the fullest."""
    out = []
    for page in read(HIPE / f"ajmc-{split}-en.tsv", format="hipe", task="extraction", repeated="number"):
        starts = range(0, max(1, len(page["text"]) - longest), longest)
        inside = {
            start: [one for one in page["entities"] if start <= one["start"] and one["end"] <= start + longest]
            for start in starts
        }
        start = max(starts, key=lambda at: (len(inside[at]), -at))
        entities = [{**one, "start": one["start"] - start, "end": one["end"] - start} for one in inside[start]]
        text = page["text"][start : start + longest]
        out.append(dspy.Example(id=f"{page['id']}-{start}", text=text, entities=entities).with_inputs("text"))
    return out


def job(name: str, sizes: dict[str, int]) -> tuple[Any, dict[str, list[Any]], Any]:
    """The program, its splits and its metric."""
    task = "extraction" if name == "hipe2022" else name
    if name == "hipe2022":
        program: Any = Reader()
        splits = {split: passages(split) for split in sizes}
    else:
        program = workspace.target(name).load()
        part = getattr(load("heritage"), name)
        splits = {split: list(getattr(part, split)) for split in sizes}
    return program, {split: found[: sizes[split]] for split, found in splits.items()}, workspace.metric(task)


def row(arm: str, *columns: str) -> None:
    print(f"{arm:<10} " + " ".join(f"{column:>22}" for column in columns), flush=True)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning")
    parser.add_argument("--gold", default="hipe2022", choices=("hipe2022", "extraction", "classification"))
    for split, count in (("train", 12), ("dev", 8), ("test", 13)):
        parser.add_argument(f"--{split}", type=int, default=count)
    parser.add_argument("--budget", default="calls=120,minutes=3")
    parser.add_argument("--arms", default=",".join(["zero-shot", *SMALL]))
    parser.add_argument("--tokens", type=int, default=100, help="the longest answer")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    dspy.configure_cache(enable_disk_cache=False)
    program, splits, metric = job(given.gold, {split: getattr(given, split) for split in ("train", "dev", "test")})
    model = models.resolve(max_tokens=given.tokens)
    print(f"{given.gold}, {model.model}, " + ", ".join(f"{name} {len(part)}" for name, part in splits.items()))
    row("arm", "dev", "test [95 %]", "gain on test [95 %]", "p on test", "calls", "minutes")
    shown = False
    for arm in given.arms.split(","):
        started = time.perf_counter()
        if arm == "zero-shot":
            shown = True
            continue
        try:
            with terminal.quiet():
                done = tune(
                    program, splits, metric, arm, lm=model, adapter=models.adapter(model), budget=given.budget,
                    seed=given.seed, progress=False, options=SMALL[arm],
                )  # fmt: skip
        except GoldassayError as error:
            row(arm, f"not available after {(time.perf_counter() - started) / 60:.1f} minutes: {str(error)[:200]}")
            continue
        if shown:
            row("zero-shot", f"{done.dev.before.value:.3f}", value(done, "before"), "", "", "0", "0.0")
            shown = False
        if done.test is None:
            raise SystemExit("the benchmark needs test examples")
        gain = done.test.difference
        row(
            arm + ("*" if done.stopped else ""),
            f"{done.dev.after.value:.3f}",
            value(done, "after"),
            f"{gain.difference:+.3f} [{gain.interval.low:+.3f}, {gain.interval.high:+.3f}]",
            f"{gain.p:.3f}",
            f"{done.cost['calls']:.0f}",
            f"{done.cost['seconds'] / 60:.1f}",
        )
    print("* stopped by the budget: the best so far. One p an arm, not corrected for their number.")


def value(done: Any, which: str) -> str:
    """The metric on test with its interval."""
    from goldassay.statistics import interval

    run = getattr(done.test, which)
    found = interval(run.evidence, run.zero, resamples=2000)
    return f"{run.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


if __name__ == "__main__":
    main(sys.argv[1:])

"""A program before and after tuning on one split."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.running import Run
from goldassay.statistics import Comparison, compare
from goldassay.tuning.racing import clusters, evaluated, failure


@dataclass(frozen=True)
class Trial:
    """A program before and after on one split, and the paired difference."""

    before: Run
    after: Run
    difference: Comparison


def trial(
    before: Any, after: Any, examples: Sequence[Any], metric: Any, split: str, folder: Path | None, **options: Any
) -> Trial:
    """Both programs on the same examples, and the paired difference of the metric.

    A program that fails on all of them has no value there, and is no loss or tie by 0: that is an error.
    """
    runs: list[Run] = []
    for name, program in (("before", before), ("after", after)):
        place = folder / f"{split}-{name}" if folder is not None else None
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)  # of an earlier part of this tuning
        done = evaluated(program, examples, metric, folder=place, name=f"{split}-{name}", **options)
        if failure(done):
            which = "the program" if name == "before" else "the tuned program"
            raise GoldassayError(f"{which} {failure(done).replace('examples', f'{split} examples', 1)}")
        runs.append(done)
    seed = options.get("seed", 0)
    difference = compare(runs[1].evidence, runs[0].evidence, runs[1].zero, clusters=clusters(examples), seed=seed)
    return Trial(runs[0], runs[1], difference)

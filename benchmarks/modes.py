"""What a judge of a failure mode can tell: ``python -m benchmarks.modes`` writes the table of docs/labels.md.

A number says how many draws a cell has; ``--quick`` makes 50 and writes nothing. A draw is a stream of 400 traces of
which a share has the failure, and a draft of 40 or 100 that is read: at random, or for errors
(`goldassay.gold.drafts`: two thirds from likely failures, which are .6 of those with it and .1 of the others). The
judge is shown traces as `goldassay.judges.modes` chooses them, and gives verdicts by chance: yes on .8 of the failures
and .1 of the others, or yes on .3 of all. What is printed is the corrected share, or where the judge is not better than
chance (or could not be made: fewer than two failures were read) the share by the labels alone. The truth is that of the
stream.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import dspy
import numpy as np
from benchmarks.labels import DRAWS, HIGH, LOW, PAGE, Random, marked

from goldassay.exceptions import DataError
from goldassay.gold.drafts import LIKELY, turns
from goldassay.gold.modes import Mode, ReviewedTrace, mode_shares
from goldassay.judges.judge import Judge
from goldassay.judges.modes import alignment, mode_judge
from goldassay.statistics.design import Sampling
from goldassay.statistics.intervals import Interval

TRACES = 400
FLAGGED = {True: 0.6, False: 0.1}  # the share of traces with the failure, and of the others, that look like failures
JUDGES = {"sensitivity .8, specificity .9": (0.8, 0.1), "useless: yes on .3 of all": (0.3, 0.3)}
MODE = Mode("missing total")
JUDGE = Judge(dspy.LM("scripted/judge"))
USELESS = 0.95  # the least share of useless judges that are called so


def read(rng: Random, failed: np.ndarray, errors: bool, n: int) -> list[ReviewedTrace]:
    """The traces of a draft, with what a person said of them."""
    flagged = rng.random(TRACES) < np.where(failed, FLAGGED[True], FLAGGED[False])
    stratum_of = np.where(flagged, "low confidence", "rest") if errors else np.full(TRACES, "all")
    order = {str(name): rng.permutation(np.flatnonzero(stratum_of == name)).tolist() for name in {*stratum_of}}
    sizes = {name: len(places) for name, places in order.items()}
    shares = {"low confidence": LIKELY, "rest": 1 - LIKELY} if len(order) > 1 else dict.fromkeys(order, 1.0)
    taken = dict.fromkeys(order, 0)
    traces = []
    for name in turns(shares, sizes, {}, n):
        place = order[name][taken[name]]
        sampling = Sampling(
            question="errors" if errors else "level",
            stratum=name,
            size=sizes[name],
            population=TRACES,
            position=taken[name],
        )
        modes = (MODE.name,) if failed[place] else ()
        traces.append(ReviewedTrace(str(place), {"text": str(place)}, modes=modes, sampling=sampling))
        taken[name] += 1
    return traces


@dataclass(frozen=True)
class Draw:
    """What is printed of a draft, what the labels alone say, and whether the judge is called better than chance."""

    printed: Interval
    labels: Interval
    better: bool


def drawn(rng: Random, share: float, errors: bool, n: int, rates: tuple[float, float]) -> Draw:
    """A draft and its judge."""
    failed = rng.random(TRACES) < share
    traces = read(rng, failed, errors, n)
    yes = rng.random(TRACES) < np.where(failed, *rates)
    verdicts: dict[str, bool | None] = {str(place): bool(verdict) for place, verdict in enumerate(yes)}
    labels = next(each.share for each in mode_shares(traces, [MODE]))
    assert labels is not None
    try:
        learnt = mode_judge(MODE, traces, JUDGE, seed=int(rng.integers(1000))).learnt
    except DataError:
        return Draw(labels, labels, False)
    unseen = {name: verdict for name, verdict in verdicts.items() if name not in learnt}
    result = alignment(MODE.name, traces, unseen, verdicts.keys())
    return Draw(result.share or labels, labels, result.better_than_chance)


def row(cell: tuple[float, bool, int], judge: str, draws: int, seed: int) -> str:
    """A row of the table; a cell outside its limits is drawn again with another seed and four times the draws."""
    share, errors, n = cell
    for mark in ("", "†"):
        times = 4 * draws if mark else draws
        start = seed + 1_000_000 if mark else seed
        draw = [drawn(np.random.default_rng(start + at), share, errors, n, JUDGES[judge]) for at in range(times)]
        covered = np.mean([each.printed.low <= share <= each.printed.high for each in draw])
        alone = np.mean([each.labels.low <= share <= each.labels.high for each in draw])
        better = np.mean([each.better for each in draw])
        useless = "useless" in judge
        inside = bool(LOW <= covered <= HIGH) and not (useless and 1 - better < USELESS)
        if inside:
            break
    width, width_alone = np.mean([(e.printed.high - e.printed.low, e.labels.high - e.labels.low) for e in draw], axis=0)
    used = [(e.printed.high - e.printed.low) / (e.labels.high - e.labels.low) for e in draw if e.better]
    gain = f"{np.mean(used):.2f}" if len(used) > draws / 20 else "–"
    return (
        f"| {judge} | {share} | {'errors' if errors else 'random'} | {n} | {better:.3f} "
        f"| {marked(f'{covered:.3f}{mark}', inside)} ({width:.3f}) | {alone:.3f} ({width_alone:.3f}) | {gain} |"
    )


def table(draws: int) -> Iterator[str]:
    """All cells."""
    yield "| judge | share | draft | labels | used | printed: coverage (width) | labels alone | width where used |"
    yield "|---|---|---|---|---|---|---|---|"
    for seed, (judge, share, errors, n) in enumerate(product(JUDGES, (0.05, 0.2), (False, True), (40, 100))):
        yield row((share, errors, n), judge, draws, 10_000 * seed)


def main() -> None:
    quick = "--quick" in sys.argv
    draws = next((int(word) for word in sys.argv[1:] if word.isdigit()), 50 if quick else DRAWS)
    rows = []
    for line in table(draws):
        rows.append(line)
        print(line, flush=True)
    if not quick:
        before, mark, rest = PAGE.read_text(encoding="utf-8").partition("<!-- modes -->\n")
        after = rest.partition("<!-- end -->")[2]
        PAGE.write_text(f"{before}{mark}{chr(10).join(rows)}\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()

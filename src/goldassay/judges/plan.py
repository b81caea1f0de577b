"""Which items to label next, and how far two versions of a judge differ on the same items.

A rate from labels of each verdict, weighted by how many items have it, has the variance Σ W² p (1 − p) / n over the
verdicts (W: the share of the items, p: the rate among them, n: the labels). With a fixed number of labels it is least
where n is proportional to W √(p (1 − p)) (Neyman 1934): more labels go where the judge says less. Within a verdict the
items are drawn at random. Such labels are read with ``origin="verdict"`` (`goldassay.statistics.ppi`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldassay.exceptions import DataError
from goldassay.judges.agreement import Report, coefficient, rate
from goldassay.judges.labels import Labels
from goldassay.judges.panel import Vote
from goldassay.statistics import compare
from goldassay.statistics.intervals import Interval

WIDTH = 2 * 1.96  # of a 95 % interval, in standard errors


@dataclass(frozen=True, slots=True)
class LabelPlan(Report):
    """The ``items`` to label next, with how many have each verdict, and the width of the interval to expect.

    ``width`` is expected with them, ``at_random`` with as many labels on items taken at random.
    """

    items: Sequence[str]
    verdicts: Mapping[str, int]
    width: float
    at_random: float


def plan(labels: Labels, votes: Sequence[Vote], count: int, *, seed: int = 0) -> LabelPlan:
    """The items to label next, so that the rate gets the narrowest interval.

    Labels that are there count: they were chosen at random or by the verdict, too.

    Args:
        labels: The items, labelled or not.
        votes: The judge's verdicts on them.
        count: How many labels people can give.
        seed: Of the draw.

    >>> from goldassay.judges import panel
    >>> from goldassay.judges.labels import JudgedItem
    >>> from goldassay.judges.questions import question
    >>> items = [JudgedItem(str(n), labels={"ann": "yes" if n % 2 else "no"} if n < 20 else {}) for n in range(200)]
    >>> votes = [panel.count(["yes" if n < 10 or n > 150 else "no"]) for n in range(200)]
    >>> dict(plan(Labels(items, question("criterion")), votes, 40).verdicts)       # 59 items and 141, p is 1/2 for both
    {'yes': 8, 'not yes': 32}
    """
    positive, rng = labels.question.positive, random.Random(seed)
    known = [(item, vote) for item, vote in zip(labels.items, votes, strict=True) if vote.label is not None]
    shares, chances, labelled, free = [], [], [], []  # of the items with a positive verdict, and of the others
    for side in (True, False):
        mine = [item for item, vote in known if (vote.label == positive) == side]
        truths = [item.label == positive for item in mine if item.label is not None]
        shares.append(len(mine) / max(1, len(known)))
        chances.append((sum(truths) + 1) / (len(truths) + 2))
        labelled.append(len(truths))
        free.append([item.id for item in mine if not item.labels])
        rng.shuffle(free[-1])
    if not any(free):
        raise DataError("every item with a verdict has a label already", file=labels.source or None)
    count = min(count, sum(map(len, free)))
    total = count + sum(labelled)
    share, variance = np.array(shares), np.array(chances) * (1 - np.array(chances))
    spread = share * np.sqrt(variance)
    first = round(float(total * spread[0] / spread.sum())) - labelled[0]
    first = min(len(free[0]), count, max(0, count - len(free[1]), first))
    sizes = [first, count - first]
    chosen = [name for size, names in zip(sizes, free, strict=True) for name in names[:size]]
    rng.shuffle(chosen)
    width = WIDTH * math.sqrt((spread**2 / np.maximum(np.add(labelled, sizes), 1)).sum())
    at_random = WIDTH * math.sqrt(share @ variance / total)
    return LabelPlan(chosen, dict(zip((positive, f"not {positive}"), sizes, strict=True)), width, at_random)


@dataclass(frozen=True, slots=True)
class JudgeDrift(Report):
    """Two versions of a judge on the same items: ``difference`` is new less old, of the share of positive verdicts.

    ``flips`` holds the ids of the items by ``old → new`` verdict. ``accuracy`` is the same difference of the share of
    verdicts that agree with people's labels; None without labels.
    """

    positive: str
    n: int
    unknown: int
    agreement: Interval | None
    kappa: Interval | None
    difference: Mapping[str, Any]
    flips: Mapping[str, Sequence[str]]
    accuracy: Mapping[str, Any] | None = None


def drift(old: Labels, new: Labels, before: Sequence[Vote], after: Sequence[Vote], *, seed: int = 0) -> JudgeDrift:
    """How far the verdicts of a judge's new version differ from those of its old one.

    Args:
        old: The items of the old version; people's labels may stand in either.
        new: The items of the new version.
        before: The verdicts of the old version.
        after: The verdicts of the new one.
        seed: Of the permutation test.

    Raises:
        DataError: The two have no item in common with a known verdict.
    """
    places = {item.id: place for place, item in enumerate(new.items)}
    shared = [(item, vote, places[item.id]) for item, vote in zip(old.items, before, strict=True) if item.id in places]
    rows = [
        (item.label or new.items[at].label, vote.label, after[at].label, item.id)
        for item, vote, at in shared
        if vote.label is not None and after[at].label is not None
    ]
    if not rows:
        raise DataError("the two versions have no item in common with a known verdict", file=new.source or None)
    positive, flips = old.question.positive, dict[str, list[str]]()
    for _, then, now, name in rows:
        if then != now:
            flips.setdefault(f"{then} → {now}", []).append(name)

    def paired(pairs: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
        earlier, later = ([float(pair[side]) for pair in pairs] for side in (0, 1))
        return compare(later, earlier, bounds=(0.0, 1.0), seed=seed).state()

    labelled = [(then == label, now == label) for label, then, now, _ in rows if label is not None]
    return JudgeDrift(
        positive,
        len(rows),
        len(shared) - len(rows),
        rate([then == now for _, then, now, _ in rows]),
        coefficient([(then, now) for _, then, now, _ in rows], "cohen"),
        paired([(then == positive, now == positive) for _, then, now, _ in rows]),
        flips,
        paired(labelled) if labelled else None,
    )

"""Iterative stratification: groups go to sides so that several factors keep their proportions at once.

Stratifying on the product of four factors leaves strata of one. The factors are taken side by side instead: the rarest
value first, and each of the groups that hold it goes where this value is most wanted. A value that is too rare to be
shared is always most wanted on the largest side; it goes there while there is room.

Source: Sechidis, Tsoumakas and Vlahavas, *On the stratification of multi-label data*, 2011.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

Key = tuple[str, str]  # a factor and its value


def iterative(
    wanted: Sequence[Mapping[Key, int]], sizes: Sequence[int], shares: Mapping[str, float], seed: int = 0
) -> list[str]:
    """A side for each group. ``wanted`` has for each group how many records of each (factor, value) it holds."""
    rng = random.Random(seed)
    order = list(range(len(sizes)))
    rng.shuffle(order)
    order.sort(key=lambda index: -sizes[index])  # large groups first, while there is room for them
    totals: Counter[Key] = Counter()
    for keys in wanted:
        totals.update(keys)
    room = {side: share * sum(sizes) for side, share in shares.items()}
    need = {side: {key: share * count for key, count in totals.items()} for side, share in shares.items()}
    tie = {side: rng.random() for side in shares}
    sides: dict[int, str] = {}
    holders: dict[Key, list[int]] = defaultdict(list)
    for index in order:
        for key in wanted[index]:
            holders[key].append(index)
    left = Counter(totals)
    rarest = [(count, key) for key, count in left.items()]
    heapify(rarest)
    while rarest:
        count, rare = heappop(rarest)
        if count != left[rare]:  # said before some of its records were placed
            continue
        few = totals[rare] * min(shares.values()) < 0.5
        changed: set[Key] = set()
        for index in holders[rare]:
            if index not in sides:
                side = max(
                    shares, key=lambda name: (not few or room[name] > 0, need[name][rare], room[name], tie[name])
                )
                sides[index] = side
                room[side] -= sizes[index]
                for key, held in wanted[index].items():
                    need[side][key] -= held
                    left[key] -= held
                    changed.add(key)
        for key in changed - {rare}:
            if left[key] > 0:
                heappush(rarest, (left[key], key))
    for index in order:  # what has no value of any factor
        if index not in sides:
            sides[index] = max(shares, key=lambda name: (room[name], tie[name]))
            room[sides[index]] -= sizes[index]
    return [sides[index] for index in range(len(sizes))]


def filled(sides: Sequence[str], sizes: Sequence[int], shares: Mapping[str, float]) -> list[str]:
    """The same sides, but none left empty: it takes the smallest group of the side that has most for its share.

    >>> filled(["train", "train", "train"], [1, 1, 1], {"train": 0.7, "dev": 0.15, "test": 0.15})
    ['train', 'test', 'dev']
    """
    out = list(sides)
    for side in shares:
        counts = Counter(out)
        if side not in counts and max(counts.values()) > 1:
            held = Counter[str]()
            for index, name in enumerate(out):
                held[name] += sizes[index]
            giver = max((name for name in counts if counts[name] > 1), key=lambda name: held[name] / shares[name])
            out[min((index for index in range(len(out)) if out[index] == giver), key=lambda at: (sizes[at], -at))] = (
                side
            )
    return out

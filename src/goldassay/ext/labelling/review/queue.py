"""Which record a reviewer sees next.

Records come in the order of the draft, which makes any prefix of it a valid sample. A random one in ten is shown
without suggestions (anchoring), a random one in twenty again after other records (slips), and a share to two reviewers
(agreement). Both are chosen inside blocks of ten and of twenty, so that even forty labels hold their part of them.
Records on which reviewers disagree, or of which one was unsure, come at the end, blind.
"""

from __future__ import annotations

import random
import time
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from goldassay._support import jsonl
from goldassay._support.exceptions import DataError, StorageError
from goldassay.ext.labelling.review.journal import Journal

APART = 20  # decisions between a record and its repeat
AHEAD = 8  # records that a page may fetch before they are decided
IDLE = 30.0  # seconds without a request after which a page's records go to others


def one_in(block: int, count: int, rng: random.Random) -> set[int]:
    """A random place of each block of places.

    >>> sorted(place // 10 for place in one_in(10, 40, random.Random(0)))
    [0, 1, 2, 3]
    """
    return {start + rng.randrange(block) for start in range(0, count - block + 1, block)}


@dataclass
class Lease:
    """The items that an open page has fetched, and when it was last heard of."""

    who: str
    items: list[str]
    seen: float


class Queue:
    """The order of the records for every reviewer.

    Args:
        journal: The decisions on the records of a folder, whose seed chooses which are blind, repeated, or for two.
        file: Where the leases are kept, so that after a restart open pages have their records still.
    """

    def __init__(self, journal: Journal, file: Path | None = None) -> None:
        self.journal = journal
        self.file = file
        self.leases: dict[str, Lease] = {}
        if file and file.exists():  # open pages have their records still, as if they had been heard of just now
            with suppress(DataError, TypeError, ValueError, AttributeError):  # a courtesy, whoever edited the file
                held = jsonl.value(file.read_bytes())
                now = time.monotonic()
                self.leases = {name: Lease(str(who), list(map(str, items)), now) for name, (who, items) in held.items()}
        folder = journal.folder
        self.count = len(folder.records)
        seed = folder.design.first.seed
        self.blind = one_in(10, self.count, random.Random(f"{seed} blind"))
        self.repeated = one_in(20, self.count, random.Random(f"{seed} repeated"))
        draws = random.Random(f"{seed} overlap")
        self.shared = {index for index in range(self.count) if draws.random() < folder.settings.overlap}

    def next(self, who: str, sitting: str, count: int = AHEAD) -> list[str]:
        """The items that a reviewer's page shows next; until it is silent, no other page gets them."""
        now = time.monotonic()
        self.leases = {name: lease for name, lease in self.leases.items() if now - lease.seen < IDLE}
        taken: set[str] = set()  # by other open pages; a record for two is taken by the same reviewer's pages alone
        for name, lease in self.leases.items():
            for item in lease.items if name != sitting else ():
                is_shared = item.endswith("repeat") or item in map(str, self.shared)
                if lease.who == who or not is_shared:
                    taken.add(item)
        items = list(islice(self._items(who, taken), count))
        self.leases[sitting] = Lease(who, items, now)
        if self.file:
            held = {name: [lease.who, lease.items] for name, lease in self.leases.items()}
            with suppress(StorageError):  # a decision is safe without
                jsonl.replace(self.file, jsonl.dumps(held))
        return items

    def keep(self, sitting: str) -> None:
        """Note that a page is still open."""
        if sitting in self.leases:
            self.leases[sitting].seen = time.monotonic()

    def _items(self, who: str, taken: set[str]) -> Iterator[str]:
        order = self.journal.order
        lines = {index: line for index in range(self.count) if (line := self.journal.current(index, who))}
        moments = {index: order[line.decision] for index, line in lines.items()}
        skipped = [index for index, line in lines.items() if line.kind == "skip"]
        unseen = (index for index in range(self.count) if index not in lines)
        open_indices: list[int] = []
        for index in (*unseen, *sorted(skipped, key=moments.__getitem__)):
            reviewers = {name for name, visit in self.journal.decisions(index) if visit == "first" and name != who}
            # nobody else decided on it, or it is for two
            if str(index) not in taken and (not reviewers or (index in self.shared and len(reviewers) < 2)):
                open_indices.append(index)
        ordered = sorted(moments.values())
        for index in sorted(self.repeated & lines.keys()):
            since = len(ordered) - bisect_right(ordered, moments[index])
            is_due = self.journal.current(index, who, "repeat") is None and (since >= APART or not open_indices)
            if lines[index].kind == "label" and is_due and f"{index}:repeat" not in taken:
                yield f"{index}:repeat"
        yield from map(str, open_indices)

        def moment(index: int) -> int:
            """When the reviewer decided on a conflict; what was skipped last comes last."""
            line = self.journal.current(index, who, "conflict")
            return -1 if line is None else order[line.decision]

        for index in sorted(self.journal.conflicts(), key=moment):
            decisions = self.journal.decisions(index)
            line = decisions.get((who, "conflict"))
            disputed = len({item.meaning for item in decisions.values() if item.kind == "label"}) > 1
            mine = any(name == who for name, _ in decisions)
            is_unsure = line and line.kind == "unsure"
            if f"{index}:conflict" not in taken and not is_unsure and (disputed or not mine):
                yield f"{index}:conflict"
                return  # the others are for whoever is at work

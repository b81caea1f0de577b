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
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from goldassay._support import jsonl
from goldassay._support.exceptions import DataError, StorageError
from goldassay.ext.labelling.review.journal import Journal, Line

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


@dataclass
class Queue:
    """The order of the records for every reviewer.

    Args:
        count: How many records there are.
        journal: The decisions.
        seed: Of the choices: which are blind, repeated, or for two.
        overlap: The share of the records that two reviewers see.
        file: Where the leases are kept, so that after a restart open pages have their records still.
    """

    count: int
    journal: Journal
    seed: int = 0
    overlap: float = 0.0
    file: Path | None = None
    leases: dict[str, Lease] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (
            self.file and self.file.exists()
        ):  # open pages have their records still, as if they had been heard of just now
            with suppress(DataError, TypeError, ValueError, AttributeError):  # a courtesy, whoever edited the file
                held = jsonl.value(self.file.read_bytes())
                now = time.monotonic()
                self.leases = {name: Lease(str(who), list(map(str, items)), now) for name, (who, items) in held.items()}

        def rng(purpose: str) -> random.Random:
            return random.Random(f"{self.seed} {purpose}")

        self.blind = one_in(10, self.count, rng("blind"))
        self.repeated = one_in(20, self.count, rng("repeated"))
        draws = rng("overlap")
        self.shared = {index for index in range(self.count) if draws.random() < self.overlap}

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
        lines = {index: line for index in range(self.count) if (line := self.journal.current(index, who))}
        skipped = sorted(
            (index for index, line in lines.items() if line.kind == "skip"), key=self._moment(who, "first")
        )
        waiting = [*(index for index in range(self.count) if index not in lines), *skipped]
        open_indices: list[int] = []
        for index in waiting:  # nobody else decided on it, or it is for two
            reviewers = {name for name, visit in self.journal.decisions(index) if visit == "first" and name != who}
            if str(index) not in taken and (not reviewers or (index in self.shared and len(reviewers) < 2)):
                open_indices.append(index)
        moment = self._moment(who, "first")
        moments = sorted(map(moment, lines))
        for index in self.repeats(who):
            since = len(moments) - bisect_right(moments, moment(index))
            is_due = self.journal.current(index, who, "repeat") is None and (since >= APART or not open_indices)
            if is_due and f"{index}:repeat" not in taken:
                yield f"{index}:repeat"
        yield from map(str, open_indices)
        for index in sorted(self.conflicts(), key=self._moment(who, "conflict")):
            decisions = self.journal.decisions(index)
            line = decisions.get((who, "conflict"))
            disputed = len({item.meaning for item in decisions.values() if item.kind == "label"}) > 1
            mine = any(name == who for name, _ in decisions)
            is_unsure = line and line.kind == "unsure"
            if f"{index}:conflict" not in taken and not is_unsure and (disputed or not mine):
                yield f"{index}:conflict"
                return  # the others are for whoever is at work

    def _moment(self, who: str, visit: str) -> Callable[[int], int]:
        """When a reviewer decided on a record, for sorting: what was skipped last comes last."""

        def moment(index: int) -> int:
            line = self.journal.current(index, who, visit)
            return -1 if line is None else self.journal.order[line.decision]

        return moment

    def repeats(self, who: str) -> list[int]:
        """The records that a reviewer labelled and sees again."""
        lines = ((index, self.journal.current(index, who)) for index in sorted(self.repeated))
        return [index for index, line in lines if line and line.kind == "label"]

    def conflicts(self) -> list[int]:
        """The records on which decisions differ, or somebody was unsure, and that nobody has settled."""
        return [index for index in range(self.count) if self.is_conflict(index)]

    def settled(self, index: int) -> Line | None:
        """The decision that is the gold of a record: what settled a conflict, or what all said; None if none is."""
        labels = [line for line in self.journal.decisions(index).values() if line.kind == "label"]
        if not labels or self.is_conflict(index):
            return None
        return next((line for line in labels if line.visit == "conflict"), labels[0])

    def all_settled(self) -> list[Line | None]:
        """The decision that is the gold of each record, or None."""
        return [self.settled(index) for index in range(self.count)]

    def is_conflict(self, index: int) -> bool:
        """Whether the decisions on a record are to be settled."""
        lines = list(self.journal.decisions(index).values())
        if len(lines) < 2:
            return any(line.kind == "unsure" for line in lines)
        labels = [line for line in lines if line.kind == "label"]
        if any(line.visit == "conflict" for line in labels):
            return False
        return len({line.meaning for line in labels}) > 1 or any(line.kind == "unsure" for line in lines)

"""A table of labels, and the best labels for a mention: brute force, exact, and fast.

Every mention is compared with every name (labels and aliases, without regard to case) by rapidfuzz's ``ratio``,
200 · LCS / (length + length), where LCS is the longest common subsequence. The LCS of a chunk of mentions is taken with
``cdist``, which compares many names in one instruction; up to about 10⁹ pairs this is faster than any index that would
have to be right. Whoever may be among the best is scored again in full, so that the result is that of
``rapidfuzz.process.extract``, ties in table order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz import fuzz, process
from rapidfuzz.distance import LCSseq

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError

CHUNK = 100  # mentions scored at once: with 100,000 names a block of 10 MB
SLACK = 1e-3  # single precision rounds scores of 0–100 by less


class Match(NamedTuple):
    """An entry of the table, the name that was nearest, and how near (0–100)."""

    id: str
    name: str
    score: float


@dataclass(frozen=True)
class LabelEntry:
    """One line of the table."""

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    kind: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The label and the aliases."""
        return (self.label, *self.aliases)


@dataclass(frozen=True)
class LabelTable:
    """Entries by id; `exact` finds names as they are, `best` the nearest.

    >>> table = LabelTable.of({"Q190804": ["Rijksmuseum"], "Q19675": ["Louvre", "Musée du Louvre"]})
    >>> table.exact("musée du louvre"), table.best(["Rijksmusem"], 1)[0][0].id
    (['Q19675'], 'Q190804')
    """

    entries: tuple[LabelEntry, ...]
    workers: int = field(default=1, compare=False)

    @classmethod
    def of(cls, names: Mapping[str, Sequence[str]], workers: int = 1) -> LabelTable:
        """A table from ids with their names, the label first."""
        return cls(tuple(LabelEntry(one, next(iter(all_)), tuple(all_)[1:]) for one, all_ in names.items()), workers)

    @classmethod
    def load(cls, path: str | Path, workers: int = 1) -> LabelTable:
        """A table from JSON lines: ``{"id", "label", "aliases", "description", "kind"}``."""
        return cls(tuple(_entries(path)), workers)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, one: str) -> LabelEntry:
        return self._by_id[one]

    def __contains__(self, one: object) -> bool:
        return one in self._by_id

    @cached_property
    def _by_id(self) -> dict[str, LabelEntry]:
        return {entry.id: entry for entry in self.entries}

    @cached_property
    def _names(self) -> tuple[list[str], list[int]]:
        """All names, folded, with the index of their entry."""
        pairs = [(fold(name), i) for i, entry in enumerate(self.entries) for name in dict.fromkeys(entry.names) if name]
        return [name for name, _ in pairs], [i for _, i in pairs]

    @cached_property
    def _exact(self) -> dict[str, list[str]]:
        out: dict[str, list[str]] = {}
        for name, index in zip(*self._names, strict=True):
            ids = out.setdefault(name, [])
            if self.entries[index].id not in ids:
                ids.append(self.entries[index].id)
        return out

    @cached_property
    def longest(self) -> int:
        """The most words that a name has."""
        return max((len(name.split()) for name in self._names[0]), default=0)

    def exact(self, mention: str) -> list[str]:
        """The ids of the entries that have this name, whatever its case, in table order."""
        return list(self._exact.get(fold(mention), ()))

    def best(self, mentions: Sequence[str], k: int = 1) -> list[list[Match]]:
        """For each mention the ``k`` nearest entries, best first; equal scores in the order of the table.

        An entry counts with its nearest name. A mention that comes again is compared once.
        """
        if k < 1:
            raise GoldassayError(f"k is a whole number from 1, not {k!r}")
        folded = [fold(mention) for mention in mentions]
        each = list(dict.fromkeys(folded))
        found: dict[str, list[Match]] = {}
        for start in range(0, len(each), CHUNK):
            chunk = each[start : start + CHUNK]
            for mention, row in zip(chunk, self._scores(chunk), strict=True):
                found[mention] = self._nearest(mention, row, k)
        return [list(found[mention]) for mention in folded]

    @cached_property
    def _lengths(self) -> Any:
        return np.array([len(name) for name in self._names[0]], np.float32)

    def _scores(self, chunk: Sequence[str]) -> Iterator[Any]:
        """The ratio with every name, in single precision, a mention at a time."""
        size = np.uint8 if max(map(len, chunk)) < 256 else np.uint32
        common = process.cdist(chunk, self._names[0], scorer=LCSseq.similarity, dtype=size, workers=self.workers)
        for mention, row in zip(chunk, common, strict=True):
            yield row * np.float32(200) / np.maximum(self._lengths + np.float32(len(mention)), 1)

    def _nearest(self, mention: str, row: Any, k: int) -> list[Match]:
        """The ``k`` best entries of one row; more names are looked at until there are enough different entries."""
        names, owners = self._names
        wanted = k
        while True:
            near = np.flatnonzero(row >= _bound(row, wanted) - SLACK).tolist()
            ids = {owners[i] for i in near}
            if len(ids) >= min(k, len(self.entries)) or len(near) == len(names):
                break
            wanted = min(2 * wanted, len(names))
        best: dict[int, tuple[float, int]] = {}
        for i in near:
            score = fuzz.ratio(mention, names[i])
            if owners[i] not in best or score > best[owners[i]][0]:
                best[owners[i]] = (score, i)
        order = sorted(best.items(), key=lambda item: (-item[1][0], item[1][1]))[:k]
        return [Match(self.entries[owner].id, names[i], score) for owner, (score, i) in order]


BLOCK = 256


def _bound(row: Any, k: int) -> float:
    """A score that at least ``k`` of the row reach and few others do: the k-th best of the maxima of blocks."""
    n = len(row)
    if n <= k:
        return 0.0
    if k == 1:
        return float(row.max())
    whole = n // BLOCK
    if whole < 4 * k:
        return float(np.partition(row, n - k)[n - k])
    tops = row[: whole * BLOCK].reshape(whole, BLOCK).max(axis=1)
    return float(np.partition(tops, whole - k)[whole - k])


def fold(name: str) -> str:
    """A name without differences of case and spacing."""
    return " ".join(name.casefold().split())


def _entries(path: str | Path) -> Iterator[LabelEntry]:
    seen: set[str] = set()
    for number, row in files.json_lines(path):
        if not isinstance(row, dict) or not row.get("id") or not isinstance(row.get("label"), str):
            raise DataError("an entry is an object with an id and a label", file=path, line=number)
        aliases = row.get("aliases") or []
        if not isinstance(aliases, list) or not all(isinstance(one, str) for one in aliases):
            raise DataError(f"aliases are a list of texts, not {aliases!r}", file=path, line=number, record=row["id"])
        if str(row["id"]) in seen:
            raise DataError("this id stands in the table twice", file=path, line=number, record=row["id"])
        seen.add(str(row["id"]))
        about = (str(row.get(key) or "") for key in ("description", "kind"))
        yield LabelEntry(str(row["id"]), row["label"], tuple(aliases), *about)

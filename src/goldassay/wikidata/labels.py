"""A table of labels, and an exact search for the labels that are nearest to a mention.

Every mention is compared with every name (labels and aliases, ignoring case) by rapidfuzz's ``ratio``. `cdist` compares
several names in one SIMD instruction, so comparing everything beats an index. The result is that of
``rapidfuzz.process.extract``, with ties in table order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz import fuzz, process

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError

CHUNK = 100  # mentions that are scored at once: with 100,000 names a block of 80 MB


class Match(NamedTuple):
    """An entry of the table, its name nearest to the mention, and their similarity (0–100)."""

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


@dataclass(frozen=True)
class LabelTable:
    """Entries by id; `exact` looks names up, `best` finds the nearest.

    >>> table = LabelTable.of({"Q190804": ["Rijksmuseum"], "Q19675": ["Louvre", "Musée du Louvre"]})
    >>> table.exact("musée du louvre"), table.best(["Rijksmusem"], 1)[0][0].id
    (['Q19675'], 'Q190804')
    """

    entries: tuple[LabelEntry, ...]

    @classmethod
    def of(cls, names: Mapping[str, Sequence[str]]) -> LabelTable:
        """A table from ids with their names, the label first."""
        return cls(tuple(LabelEntry(qid, label, tuple(aliases)) for qid, (label, *aliases) in names.items()))

    @classmethod
    def load(cls, path: str | Path) -> LabelTable:
        """A table from JSON Lines: ``{"id", "label", "aliases", "description", "kind"}``."""
        return cls(tuple(_read_entries(path)))

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, qid: str) -> LabelEntry:
        return self._by_id[qid]

    def __contains__(self, qid: object) -> bool:
        return qid in self._by_id

    @cached_property
    def _by_id(self) -> dict[str, LabelEntry]:
        return {entry.id: entry for entry in self.entries}

    @cached_property
    def _names(self) -> tuple[list[str], list[int]]:
        """All names, folded, with the index of their entry."""
        pairs = [
            (fold(name), index)
            for index, entry in enumerate(self.entries)
            for name in dict.fromkeys((entry.label, *entry.aliases))
            if name
        ]
        return [name for name, _ in pairs], [index for _, index in pairs]

    @cached_property
    def _ids_by_name(self) -> dict[str, dict[str, None]]:
        ids: dict[str, dict[str, None]] = {}
        for name, index in zip(*self._names, strict=True):
            ids.setdefault(name, {})[self.entries[index].id] = None
        return ids

    @cached_property
    def longest(self) -> int:
        """The number of words of the longest name."""
        return max((len(name.split()) for name in self._names[0]), default=0)

    def exact(self, mention: str) -> list[str]:
        """The ids of the entries with this name, ignoring case, in table order."""
        return list(self._ids_by_name.get(fold(mention), ()))

    def best(self, mentions: Sequence[str], k: int = 1) -> list[list[Match]]:
        """For each mention the ``k`` nearest entries, best first; equal scores in table order.

        An entry counts with its nearest name.
        """
        if k < 1:
            raise GoldassayError(f"k must be a whole number from 1, got {k!r}")
        if not self.entries:
            return [[] for _ in mentions]
        folded, nearest = list(map(fold, mentions)), dict[str, list[Match]]()
        unique = list(dict.fromkeys(folded))
        for start in range(0, len(unique), CHUNK):
            chunk = unique[start : start + CHUNK]
            scores = process.cdist(chunk, self._names[0], scorer=fuzz.ratio, dtype=np.float64)
            nearest |= {mention: self._nearest(row, k) for mention, row in zip(chunk, scores, strict=True)}
        return [list(nearest[mention]) for mention in folded]

    def _nearest(self, scores: Any, k: int) -> list[Match]:
        """The ``k`` best entries; as many names are looked at as k entries with the most names have."""
        names, owners = self._names
        count = min(len(names), k * max(len(entry.aliases) + 1 for entry in self.entries))
        cut = np.partition(scores, len(names) - count)[len(names) - count]
        near = np.flatnonzero(scores >= cut)
        best: dict[int, Match] = {}
        for index in near[np.argsort(-scores[near], kind="stable")].tolist():
            match = Match(self.entries[owners[index]].id, names[index], float(scores[index]))
            best.setdefault(owners[index], match)
        return list(best.values())[:k]


def fold(name: str) -> str:
    """A name without differences of case and spacing."""
    return " ".join(name.casefold().split())


def _read_entries(path: str | Path) -> Iterator[LabelEntry]:
    seen: set[str] = set()
    for line, row in files.json_lines(path):
        if not isinstance(row, dict) or not row.get("id") or not isinstance(row.get("label"), str):
            raise DataError("an entry is an object with an id and a label", file=path, line=line)
        qid, aliases = str(row["id"]), row.get("aliases") or []
        if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
            raise DataError(f"aliases must be a list of texts, got {aliases!r}", file=path, line=line, record=qid)
        if qid in seen:
            raise DataError("this id appears twice", file=path, line=line, record=qid)
        seen.add(qid)
        yield LabelEntry(
            qid, row["label"], tuple(aliases), str(row.get("description") or ""), str(row.get("kind") or "")
        )

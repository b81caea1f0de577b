"""A table of labels, and an exact search for the labels that are nearest to a mention.

Every mention is compared with every name (labels and aliases, ignoring case) by rapidfuzz's ``ratio``. `cdist` compares
several names in one SIMD instruction, so comparing everything beats an index. The result is that of
``rapidfuzz.process.extract``, with ties in table order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError
from rapidfuzz import fuzz, process

from goldassay import files
from goldassay.exceptions import DataError

CHUNK = 100  # mentions that are scored at once: with 100,000 names a block of 80 MB


class Match(NamedTuple):
    """An entry of the table, its name nearest to the mention, and their similarity (0–100)."""

    id: str
    name: str
    score: float


class LabelEntry(BaseModel):
    """One line of the table."""

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    kind: str = ""


class LabelTable(dict[str, LabelEntry]):
    """Entries by id; `exact` looks names up, `best` finds the nearest.

    >>> table = LabelTable.of({"Q190804": ["Rijksmuseum"], "Q19675": ["Louvre", "Musée du Louvre"]})
    >>> table.exact("musée du louvre"), table.best(["Rijksmusem"], 1)[0][0].id
    (['Q19675'], 'Q190804')
    """

    @classmethod
    def of(cls, names: Mapping[str, Sequence[str]]) -> LabelTable:
        """A table from ids with their names, the label first."""
        return cls((id_, LabelEntry(id=id_, label=label, aliases=tuple(more))) for id_, (label, *more) in names.items())

    @classmethod
    def load(cls, path: str | Path) -> LabelTable:
        """A table from JSON Lines: ``{"id", "label", "aliases", "description", "kind"}``."""
        table = cls()
        for line, row in files.json_lines(path):
            try:
                entry = LabelEntry.model_validate(row)
            except ValidationError as error:
                problem = error.errors()[0]
                message = f"an entry is an object with an id and a label: {problem['msg']}, got {problem['input']!r}"
                raise DataError(message, file=path, line=line) from None
            if table.setdefault(entry.id, entry) is not entry:
                raise DataError("this id appears twice", file=path, line=line, record=entry.id)
        return table

    @cached_property
    def _names(self) -> list[tuple[str, str]]:
        """All names, folded, each with the id of its entry."""
        return [
            (fold(name), id_)
            for id_, entry in self.items()
            for name in dict.fromkeys((entry.label, *entry.aliases))
            if name
        ]

    @cached_property
    def _ids(self) -> dict[str, list[str]]:
        """The ids of a name."""
        ids: dict[str, list[str]] = {}
        for name, id_ in dict.fromkeys(self._names):
            ids.setdefault(name, []).append(id_)
        return ids

    @cached_property
    def longest(self) -> int:
        """The number of words of the longest name."""
        return max((len(name.split()) for name, _ in self._names), default=0)

    def exact(self, mention: str) -> list[str]:
        """The ids of the entries with this name, ignoring case, in table order."""
        return self._ids.get(fold(mention), [])

    def best(self, mentions: Sequence[str], k: int = 1) -> list[list[Match]]:
        """For each mention the ``k`` nearest entries, best first; equal scores in table order.

        An entry counts with its nearest name.
        """
        names, nearest = [name for name, _ in self._names], []
        # the k best entries are among so many best names
        most = min(len(names), k * max((len(entry.aliases) + 1 for entry in self.values()), default=0))
        for start in range(0, len(mentions), CHUNK):
            chunk = [fold(mention) for mention in mentions[start : start + CHUNK]]
            for scores in process.cdist(chunk, names, scorer=fuzz.ratio, dtype=np.float64):
                near = np.flatnonzero(scores >= np.partition(scores, -most)[-most]) if most else np.zeros(0, int)
                best: dict[str, Match] = {}
                for index in sorted(near, key=lambda index: -scores[index]):
                    name, id_ = self._names[index]
                    best.setdefault(id_, Match(id_, name, float(scores[index])))
                nearest.append(list(best.values())[:k])
        return nearest


def fold(name: str) -> str:
    """A name without differences of case and spacing."""
    return " ".join(name.casefold().split())

"""What Wikidata says of an item: labels, aliases, sitelinks and statements, and those as gold triples.

A statement's value stands as `measures.triples` reads it: an item as its id, a time as Wikibase's own (``time``,
``precision``, ``calendarmodel``), a quantity (``amount``, ``unit``), a coordinate (``latitude``, ``longitude``), a
text (``text``, ``language``) or a string.

Source: Wikibase's data model, https://www.mediawiki.org/wiki/Wikibase/DataModel
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

RANKS = ("preferred", "normal", "deprecated")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an item."""

    property: str
    value: Any
    type: str
    """Wikidata's data type: ``wikibase-item``, ``time``, ``quantity``, ``globe-coordinate``, ``external-id`` …"""
    rank: str = "normal"
    qualifiers: tuple[tuple[str, Any], ...] = ()
    references: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """One item as a source holds it, with the day on which it was fetched."""

    id: str
    labels: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sitelinks: Mapping[str, str] = field(default_factory=dict)
    statements: tuple[Statement, ...] = ()
    fetched: str = ""
    merged: tuple[str, ...] = ()
    """Ids that were merged into it."""

    def names(self, languages: Iterable[str] | None = None) -> tuple[str, ...]:
        """Labels first, then aliases, each once; of these languages only, or of all.

        >>> Item("Q1", labels={"en": "universe", "nl": "heelal"}, aliases={"en": ["cosmos"]}).names(["en"])
        ('universe', 'cosmos')
        """
        wanted = None if languages is None else set(languages)
        labels = [name for code, name in self.labels.items() if wanted is None or code in wanted]
        aliases = [name for code, names in self.aliases.items() if wanted is None or code in wanted for name in names]
        return tuple(dict.fromkeys([*labels, *aliases]))

    def triples(self, names: Mapping[str, Sequence[str]] | None = None) -> list[dict[str, Any]]:
        """The statements as gold triples; ``names`` gives the labels and aliases of items that are values.

        >>> item = Item("Q42", labels={"en": "Douglas Adams"}, statements=(Statement("P31", "Q5", "wikibase-item"),))
        >>> item.triples({"Q5": ["human"]})[0]["object"], item.triples({"Q5": ["human"]})[0]["object_labels"]
        ('human', ['human'])
        """
        known = names or {}
        own = self.names()
        found = []
        for statement in self.statements:
            triple: dict[str, Any] = {
                "subject": own[0] if own else self.id,
                "subject_id": self.id,
                "predicate": statement.property,
                "object": statement.value,
                "object_type": statement.type,
                "rank": statement.rank,
            }
            if statement.type == "wikibase-item":
                labels = list(known.get(statement.value, ()))
                triple["object_id"] = statement.value
                triple["object"] = labels[0] if labels else statement.value
                triple["object_labels"] = labels
            found.append(triple)
        return found

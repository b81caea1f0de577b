"""The alignment table: which Wikidata property a predicate means, for this subject and this object.

A table is a YAML file, ours (``data/property-alignment.yaml``) or one in riverbank's format. A row lists the predicates
that mean a property, in its own direction or inverted, the kinds of subject that have it, the type of its values, and
the words that mean a value; riverbank's notes (``Q6581097=male``) are read as such words.

A predicate may mean several properties ("born": P19 and P569; "founded": P571, and P112 inverted). The kind of the
subject (domain) and of the object (type) decide; if they leave it open, the matching of triples accepts either. A
predicate that means a property in the other direction swaps subject and object.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from goldassay._support import files
from goldassay.gold.formats import kits
from goldassay.measures.triples.objects import NAMESPACES, NamePairs, canonical
from goldassay.measures.triples.objects import kind as value_type
from goldassay.measures.triples.times import read as read_time
from goldassay.text.normal import normal

OUR_TABLE = Path(__file__).with_name("property-alignment.yaml")
NOTED_VALUE = re.compile(r"\b(Q[1-9]\d*)\s*=\s*([^,;]+)")

Term = str | float | Mapping[str, Any] | None
"""The object of a triple: a name, a number, or a value with parts such as ``time`` or ``amount``."""
Kind = Literal["person", "organization", "place", "work", "event", "taxon"]
PropertyId = Annotated[str, Field(pattern=r"^P[1-9]\d*$")]
ItemId = Annotated[str, Field(pattern=r"^Q[1-9]\d*$")]


class PropertyRow(BaseModel):
    """A property and the predicates that mean it."""

    model_config = ConfigDict(frozen=True)

    id: PropertyId = Field(alias="wikidata_pid")
    label: str = Field("", alias="wikidata_label")
    predicates: tuple[str, ...] = Field((), validation_alias=AliasChoices("predicates", "riverbank_predicates"))
    inverse_predicates: tuple[str, ...] = ()
    inverse: PropertyId | None = None
    domain: frozenset[Kind] = frozenset()
    type: Literal["", "item", "time", "quantity", "coordinate", "text"] = ""
    range: frozenset[Kind] = frozenset()
    values: dict[str, ItemId] = {}
    confidence: float = Field(1.0, ge=0, le=1, alias="alignment_confidence")
    notes: str = ""

    @cached_property
    def items(self) -> dict[str, str]:
        """Folded words and the item that each means."""
        noted = {words: qid for qid, words in NOTED_VALUE.findall(self.notes)}
        return {normal(words): qid for words, qid in {**noted, **self.values}.items()}


class Meaning(NamedTuple):
    """The properties that a predicate may mean, in their own direction and inverted; none if the table lacks it."""

    properties: frozenset[str]
    inverted: frozenset[str] = frozenset()


class PropertyAlignmentTable:
    """A table of properties.

    >>> table = PropertyAlignmentTable.of()
    >>> sorted(table.meaning("http://schema.org/birthDate").properties), sorted(table.meaning("born").properties)
    (['P569'], ['P19', 'P569'])
    >>> sorted(table.meaning("born", value="1867").properties), sorted(table.meaning("ex:hobby").properties)
    (['P569'], [])
    >>> table.meaning("founded", kinds={"person"}, value="Curie Institute").inverted
    frozenset({'P112'})
    """

    def __init__(self, rows: Iterable[PropertyRow], prefixes: NamePairs = (), declared: int | None = None) -> None:
        self.rows = tuple(rows)
        self.prefixes = prefixes
        self.declared = declared
        self.by_id = {row.id: row for row in reversed(self.rows)}
        self._forward: dict[str, list[PropertyRow]] = {}
        self._inverted: dict[str, list[PropertyRow]] = {}
        for row in self.rows:
            for names, index in ((row.predicates, self._forward), (row.inverse_predicates, self._inverted)):
                for name in names:
                    index.setdefault(self.canonical(name), []).append(row)
        for row in self.rows:
            for name in (row.id, canonical(row.label)):
                self._forward.setdefault(name, [row])

    @classmethod
    def of(cls, path: str | Path = OUR_TABLE) -> PropertyAlignmentTable:
        """Reads a table from its file; without one it is goldassay's own, which is read once."""
        if path == OUR_TABLE:
            return _our_table()
        return cls._read(path)

    @classmethod
    def _read(cls, path: str | Path) -> PropertyAlignmentTable:
        _, head, entries = kits.load(path, "alignment")
        rows = [
            files.validated(PropertyRow, entry, path, f"alignments[{number}]") for number, entry in enumerate(entries)
        ]
        return cls(rows, tuple((head.get("prefixes") or {}).items()), head.get("count"))

    @property
    def pairs(self) -> NamePairs:
        """Pairs of predicate and property, as the measures of triples take them."""
        return tuple((name, row.id) for row in self.rows for name in (*row.predicates, row.id))

    def canonical(self, predicate: str) -> str:
        """One name for a predicate, its prefix expanded."""
        return canonical(predicate, self.prefixes)

    def label(self, property: str) -> str:
        """A property's label, or the id if the table has none."""
        return self.by_id[property].label if property in self.by_id else property

    def predicates(self, property: str) -> list[str]:
        """The predicates that mean a property."""
        return [name for row in self.rows if row.id == property for name in row.predicates]

    def meaning(self, predicate: str, kinds: Iterable[str] = (), value: Term = None) -> Meaning:
        """The properties that a predicate means, for a subject of these kinds and this object."""
        key = self.canonical(predicate)
        subject = frozenset(kinds)
        candidates = self._forward.get(key, [])
        inverted = self._inverted.get(key, [])
        forward = [row for row in candidates if not row.domain or not subject or row.domain & subject]
        forward = forward or ([] if inverted else candidates)
        if value is not None and len(forward) + len(inverted) > 1:
            kind = value_kind(value)
            fitting = [row for row in forward if not row.type or row.type == kind]
            back = inverted if kind == "item" else []  # an inverted object becomes a subject
            if fitting or back:
                forward = fitting
                inverted = back
        if forward and inverted and subject:  # both directions: the one whose subject is of this kind
            of_kind = [row for row in forward if row.domain & subject]
            if of_kind:
                forward = of_kind
                inverted = []
            else:
                forward = [row for row in forward if not row.domain]
        return Meaning(frozenset(row.id for row in forward), frozenset(row.id for row in inverted))


_our_table = cache(partial(PropertyAlignmentTable._read, OUR_TABLE))


def value_kind(value: Term) -> str:
    """The kind of a value by its form: item (any name), time, quantity or coordinate.

    >>> value_kind("7 November 1867"), value_kind("Warsaw"), value_kind("1867"), value_kind("12,000")
    ('time', 'item', 'time', 'quantity')
    """
    kind = value_type(value if isinstance(value, Mapping) and "object" in value else {"object": value})
    if kind in ("text", "quantity") and not isinstance(value, (int, float, Mapping)) and read_time(value) is not None:
        return "time"
    return "item" if kind == "text" else kind


def problems(table: PropertyAlignmentTable) -> Iterator[dict[str, str]]:
    """Every defect of a table: its kind (``count``, ``duplicate``, ``unreachable``, ``prefix``), name and a sentence.

    >>> list(problems(PropertyAlignmentTable.of()))
    []
    """

    def problem(kind: str, name: str, message: str) -> dict[str, str]:
        return {"kind": kind, "name": name, "message": message}

    if table.declared not in (None, len(table.rows)):
        yield problem("count", "count", f"{table.declared} rows declared, {len(table.rows)} counted")
    for id_, count in Counter(row.id for row in table.rows).items():
        if count > 1:
            yield problem("duplicate", id_, f"{id_} has {count} rows; keep one with all predicates")
    names = [name for row in table.rows for name in (*row.predicates, *row.inverse_predicates)]
    prefixes = Counter(name.partition(":")[0] for name in names if ":" in name and "://" not in name)
    for prefix, count in prefixes.items():
        if prefix not in {*NAMESPACES, *dict(table.prefixes)}:
            message = f"the prefix {prefix!r} ({count} predicates) is not declared, so their IRIs do not match"
            yield problem("prefix", prefix, message)
    for row in table.rows:
        if not (row.predicates or row.inverse_predicates):
            yield problem("unreachable", row.id, f"{row.id} ({row.label}) has no predicate, so nothing reaches it")

"""The alignment table: which property a predicate means, for this subject and this object.

It is a table of properties as a YAML file: ours (``data/property-alignment.yaml``), or one of the founding kit's shape.

A row says which predicates mean a property, in its own direction or the other way round, which kinds of subject have
it, what its values are, and which words stand for which value. The kit's rows have no columns for the latter; what
their notes say (``Q6581097=male``) is taken.

A predicate may mean several properties ("born": P19 and P569; "founded": P571, and P112 the other way round). The kind
of the subject (domain) and of the object (range) decide; what they leave open stays open, and the matching of triples
takes either. A predicate that says a property the other way round turns the triple round.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path

from goldassay.exceptions import DataError
from goldassay.gold.formats import kits
from goldassay.measures.triples.objects import kind as looks_like
from goldassay.measures.triples.terms import Alignment, NamePairs, canonical
from goldassay.measures.triples.times import read as read_time
from goldassay.text.normal import normal
from goldassay.wikidata.resolver import ROOTS

OURS = Path(__file__).resolve().parents[1] / "data" / "property-alignment.yaml"
KINDS = ("", "item", "time", "quantity", "coordinate", "text")
EXCLUDED_PROPERTIES = {"P856": "Url", "P154": "CommonsMedia", "P18": "CommonsMedia", "P1036": "ExternalId"}
"""Properties of the kit's table whose values are of a type that an evaluation leaves out."""
NOTED = re.compile(r"\b(Q[1-9]\d*)\s*=\s*([^,;]+)")
QID = re.compile(r"Q[1-9]\d*")
PID = re.compile(r"P[1-9]\d*")


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """A property and what means it."""

    id: str
    label: str
    predicates: tuple[str, ...]
    inverse_predicates: tuple[str, ...] = ()
    inverse: str = ""
    domain: frozenset[str] = frozenset()
    type: str = ""
    range: frozenset[str] = frozenset()
    values: Mapping[str, str] = field(default_factory=dict)
    confidence: float = 1.0
    notes: str = ""


@dataclass(frozen=True, slots=True)
class AlignmentFile:
    """The rows of a file, its prefixes, and the number of rows that its head declares."""

    rows: tuple[PropertyRow, ...]
    prefixes: tuple[tuple[str, str], ...] = ()
    declared: int | None = None


def read_table(path: str | Path = OURS) -> AlignmentFile:
    """The table of a file.

    >>> table = read_table()
    >>> len(table.rows) >= 60, next(row.values["male"] for row in table.rows if row.id == "P21")
    (True, 'Q6581097')
    """
    _, head, entries = kits.load(path, "alignment")
    rows = tuple(_row(entry, path, f"alignments[{number}]") for number, entry in enumerate(entries))
    declared = head.get("count")
    return AlignmentFile(rows, _prefixes(head, path), declared if isinstance(declared, int) else None)


def _row(entry: Mapping[str, object], path: str | Path, where: str) -> PropertyRow:
    name = kits.text(entry, "wikidata_pid", path, where)
    if not PID.fullmatch(name):
        raise DataError(f"a property id is P and a number, not {name!r}", file=path, field=f"{where}.wikidata_pid")
    inverse = str(entry.get("inverse") or "")
    if inverse and not PID.fullmatch(inverse):
        raise DataError(f"an inverse is a property id, not {inverse!r}", file=path, field=f"{where}.inverse")
    kind = str(entry.get("type") or "")
    if kind not in KINDS:
        raise DataError(f"a type is one of {', '.join(KINDS[1:])}, not {kind!r}", file=path, field=f"{where}.type")
    sure = entry.get("alignment_confidence", 1.0)
    if isinstance(sure, bool) or not isinstance(sure, (int, float)) or not 0 <= sure <= 1:
        raise DataError(
            f"a confidence is from 0 to 1, found {sure!r}", file=path, field=f"{where}.alignment_confidence"
        )
    return PropertyRow(
        id=name,
        label=str(entry.get("wikidata_label") or ""),
        predicates=_names(entry, "predicates" if "predicates" in entry else "riverbank_predicates", path, where),
        inverse_predicates=_names(entry, "inverse_predicates", path, where),
        inverse=inverse,
        domain=_kinds(entry, "domain", path, where),
        type=kind,
        range=_kinds(entry, "range", path, where),
        values=_values(entry, path, where),
        confidence=float(sure),
        notes=str(entry.get("notes") or ""),
    )


def _prefixes(head: Mapping[str, object], path: str | Path) -> tuple[tuple[str, str], ...]:
    found = head.get("prefixes") or {}
    if not isinstance(found, Mapping) or not all(isinstance(one, str) for one in found.values()):
        raise DataError("the prefixes map a prefix to an IRI", file=path, field="prefixes")
    return tuple((str(name), iri) for name, iri in found.items())


def _names(entry: Mapping[str, object], key: str, path: str | Path, where: str) -> tuple[str, ...]:
    found = entry.get(key) or []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise DataError(f"this is a list of names, not {found!r}", file=path, field=f"{where}.{key}")
    return tuple(found)


def _kinds(entry: Mapping[str, object], key: str, path: str | Path, where: str) -> frozenset[str]:
    found = frozenset(_names(entry, key, path, where))
    wrong = sorted(found - set(ROOTS.values()))
    if wrong:
        known = ", ".join(ROOTS.values())
        raise DataError(f"a kind is one of {known}, not {wrong[0]!r}", file=path, field=f"{where}.{key}")
    return found


def _values(entry: Mapping[str, object], path: str | Path, where: str) -> dict[str, str]:
    """Folded words and the item that each stands for."""
    found = entry.get("values") or {}
    if not isinstance(found, Mapping) or not all(QID.fullmatch(str(one)) for one in found.values()):
        raise DataError("values map words to items (male: Q6581097)", file=path, field=f"{where}.values")
    noted = {words: name for name, words in NOTED.findall(str(entry.get("notes") or ""))}
    return {normal(str(words)): str(name) for words, name in {**noted, **found}.items()}


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a predicate means: properties in its direction, and properties that hold the other way round."""

    properties: frozenset[str]
    turned: frozenset[str] = frozenset()

    @property
    def aligned(self) -> bool:
        """Whether the table knows the predicate."""
        return bool(self.properties or self.turned)


class PropertyAlignmentTable:
    """A table of properties.

    >>> table = PropertyAlignmentTable.ours()
    >>> sorted(table.meaning("http://schema.org/birthDate").properties), sorted(table.meaning("born").properties)
    (['P569'], ['P19', 'P569'])
    >>> sorted(table.meaning("born", value="1867").properties), sorted(table.meaning("ex:hobby").properties)
    (['P569'], [])
    >>> table.meaning("founded", kinds={"person"}, value="Curie Institute").turned
    frozenset({'P112'})
    """

    def __init__(self, table: AlignmentFile) -> None:
        self.rows = table.rows
        self.prefixes = table.prefixes
        self.declared = table.declared
        self.by_id: dict[str, PropertyRow] = {}
        self._meant: dict[str, list[PropertyRow]] = {}
        self._turned: dict[str, list[PropertyRow]] = {}
        for row in table.rows:
            self.by_id.setdefault(row.id, row)
            for names, kept in ((row.predicates, self._meant), (row.inverse_predicates, self._turned)):
                for name in names:
                    kept.setdefault(self.canonical(name), []).append(row)
        for row in table.rows:
            self._meant.setdefault(row.id, [row])
            self._meant.setdefault(canonical(row.label), [row])
        self.alignment = Alignment(self.pairs, self.prefixes)

    @classmethod
    def of(cls, path: str | Path = OURS) -> PropertyAlignmentTable:
        """The table of a file."""
        return cls(read_table(path))

    @classmethod
    def ours(cls) -> PropertyAlignmentTable:
        """The table that comes with goldassay."""
        return cls.of(OURS)

    @property
    def pairs(self) -> NamePairs:
        """Predicate and property, pair by pair, as the measures of triples take them."""
        return tuple((name, row.id) for row in self.rows for name in (*row.predicates, row.id))

    @property
    def fingerprint(self) -> str:
        """A hash of what the table says, the same in every process."""
        rows = [
            [*(sorted(part) if isinstance(part, frozenset) else part for part in astuple(row)[:-1])]
            for row in self.rows
        ]
        return hashlib.sha256(json.dumps([rows, self.prefixes]).encode()).hexdigest()[:16]

    def canonical(self, predicate: str) -> str:
        """One name for a predicate, its prefix expanded."""
        return canonical(predicate, self.prefixes)

    def label(self, property: str) -> str:
        """A property's label; the id where the table has none."""
        row = self.by_id.get(property)
        return row.label if row else property

    def predicates(self, property: str) -> list[str]:
        """What the table says for a property."""
        return [name for row in self.rows if row.id == property for name in row.predicates]

    def meaning(self, predicate: str, kinds: Iterable[str] = (), value: object = None) -> Meaning:
        """The properties of a predicate whose subject is of these kinds and whose object is this value."""
        key = self.canonical(predicate)
        known = frozenset(kinds)
        forward = [row for row in self._meant.get(key, ()) if _has(row, known)]
        turned = list(self._turned.get(key, ()))
        forward = forward or ([] if turned else list(self._meant.get(key, ())))
        if value is not None and len(forward) + len(turned) > 1:
            kind = value_kind(value)
            fitting = [row for row in forward if not row.type or row.type == kind]
            back = turned if kind == "item" else []  # what is turned round becomes a subject
            if fitting or back:
                forward, turned = fitting, back
        if forward and turned and known:
            # said in both directions: the one whose subject is of this kind
            own = [row for row in forward if row.domain & known]
            forward, turned = (own, []) if own else ([row for row in forward if not row.domain], turned)
        return Meaning(frozenset(row.id for row in forward), frozenset(row.id for row in turned))

    def value(self, property: str, words: object) -> str | None:
        """The item that words for a value of this property stand for.

        >>> PropertyAlignmentTable.ours().value("P21", "Woman")
        'Q6581072'
        """
        row = self.by_id.get(property)
        return row.values.get(normal(str(words))) if row and row.values else None

    def inverse(self, property: str) -> str | None:
        """The property that says the same the other way round."""
        row = self.by_id.get(property)
        return row.inverse or None if row else None


def _has(row: PropertyRow, kinds: frozenset[str]) -> bool:
    """Whether things of these kinds have the property; yes where either side is not known."""
    return not row.domain or not kinds or bool(row.domain & kinds)


def value_kind(value: object) -> str:
    """What a value looks like: item (any name), time, quantity or coordinate.

    >>> value_kind("7 November 1867"), value_kind("Warsaw"), value_kind("1867"), value_kind("12,000")
    ('time', 'item', 'time', 'quantity')
    """
    found = looks_like(value if isinstance(value, Mapping) and "object" in value else {"object": value})
    if found in ("text", "quantity") and not isinstance(value, (int, float, Mapping)) and read_time(value) is not None:
        return "time"
    return "item" if found == "text" else found

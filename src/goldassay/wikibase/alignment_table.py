"""A table of properties as a YAML file: ours (``data/property-alignment.yaml``), or one of the founding kit's shape.

A row says which predicates mean a property, in its own direction or the other way round, which kinds of subject have
it, what its values are, and which words stand for which value. The kit's rows have no columns for the latter; what
their notes say (``Q6581097=male``) is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError
from goldassay.gold.formats import kits
from goldassay.text.fuzzy import normal
from goldassay.wikibase.classes import ROOTS

OURS = Path(__file__).resolve().parents[1] / "data" / "property-alignment.yaml"
KINDS = ("", "item", "time", "quantity", "coordinate", "text")
EXCLUDED_PROPERTIES = {"P856": "Url", "P154": "CommonsMedia", "P18": "CommonsMedia", "P1036": "ExternalId"}
"""Properties of the kit's table whose values are of a type that an evaluation leaves out."""
NOTED = re.compile(r"\b(Q[1-9]\d*)\s*=\s*([^,;]+)")
QID = re.compile(r"Q[1-9]\d*")
PID = re.compile(r"P[1-9]\d*")


@dataclass(frozen=True, slots=True)
class Row:
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
class Table:
    """The rows of a file, its prefixes, and the number of rows that its head declares."""

    rows: tuple[Row, ...]
    prefixes: tuple[tuple[str, str], ...] = ()
    declared: int | None = None


def read_table(path: str | Path = OURS) -> Table:
    """The table of a file.

    >>> table = read_table()
    >>> len(table.rows) >= 60, next(row.values["male"] for row in table.rows if row.id == "P21")
    (True, 'Q6581097')
    """
    kit = kits.load(path, "alignment")
    rows = tuple(_row(entry, path, f"alignments[{number}]") for number, entry in enumerate(kit.entries))
    declared = kit.head.get("count")
    return Table(rows, _prefixes(kit.head, path), declared if isinstance(declared, int) else None)


def _row(entry: Mapping[str, Any], path: str | Path, where: str) -> Row:
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
    return Row(
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


def _prefixes(head: Mapping[str, Any], path: str | Path) -> tuple[tuple[str, str], ...]:
    found = head.get("prefixes") or {}
    if not isinstance(found, Mapping) or not all(isinstance(one, str) for one in found.values()):
        raise DataError("the prefixes map a prefix to an IRI", file=path, field="prefixes")
    return tuple((str(name), iri) for name, iri in found.items())


def _names(entry: Mapping[str, Any], key: str, path: str | Path, where: str) -> tuple[str, ...]:
    found = entry.get(key) or []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise DataError(f"this is a list of names, not {found!r}", file=path, field=f"{where}.{key}")
    return tuple(found)


def _kinds(entry: Mapping[str, Any], key: str, path: str | Path, where: str) -> frozenset[str]:
    found = frozenset(_names(entry, key, path, where))
    wrong = sorted(found - set(ROOTS.values()))
    if wrong:
        known = ", ".join(ROOTS.values())
        raise DataError(f"a kind is one of {known}, not {wrong[0]!r}", file=path, field=f"{where}.{key}")
    return found


def _values(entry: Mapping[str, Any], path: str | Path, where: str) -> dict[str, str]:
    """Folded words and the item that each stands for."""
    found = entry.get("values") or {}
    if not isinstance(found, Mapping) or not all(QID.fullmatch(str(one)) for one in found.values()):
        raise DataError("values map words to items (male: Q6581097)", file=path, field=f"{where}.values")
    noted = {words: name for name, words in NOTED.findall(str(entry.get("notes") or ""))}
    return {normal(str(words)): str(name) for words, name in {**noted, **found}.items()}

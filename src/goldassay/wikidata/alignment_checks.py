"""What is wrong with an alignment table: rows that repeat, that nothing reaches, that contradict each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from goldassay.measures.triples.terms import PREFIXES
from goldassay.wikidata.alignment import EXCLUDED_PROPERTIES, PropertyAlignmentTable, PropertyRow


@dataclass(frozen=True, slots=True)
class Problem:
    """One defect: its kind, the property or predicate, and a sentence."""

    kind: str
    name: str
    message: str


def problems(table: PropertyAlignmentTable) -> list[Problem]:
    """Every defect of a table: ``count``, ``duplicate``, ``unreachable``, ``ambiguous``, ``prefix``, ``inverse``.

    >>> [one.message for one in problems(PropertyAlignmentTable.ours())]
    []
    """
    found = list(_counted(table))
    for check in (_repeated, _unreachable, _ambiguous, _prefixes, _inverses):
        found += check(table)
    return found


def contradictions(table: PropertyAlignmentTable, other: PropertyAlignmentTable) -> list[Problem]:
    """Predicates that ``other`` gives to another property, or to the same one the other way round."""
    found = []
    for row in table.rows:
        for name in row.predicates:
            meant = other.meaning(name)
            if meant.aligned and row.id not in meant.properties and row.id in other.by_id:
                way = " the other way round" if not meant.properties else ""
                also = ", ".join(sorted(meant.properties | meant.turned))
                message = f"{name!r} stands for {row.id} ({row.label}); elsewhere it means {also}{way}"
                found.append(Problem("contradiction", row.id, message))
    return found


def _counted(table: PropertyAlignmentTable) -> Iterator[Problem]:
    if table.declared is not None and table.declared != len(table.rows):
        yield Problem("count", "count", f"{table.declared} rows declared, {len(table.rows)} counted")


def _repeated(table: PropertyAlignmentTable) -> Iterator[Problem]:
    for name, count in Counter(row.id for row in table.rows).items():
        if count > 1:
            yield Problem("duplicate", name, f"{name} has {count} rows; keep one with all predicates")


def _unreachable(table: PropertyAlignmentTable) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for row in table.rows:
        keys = {(row.id, table.canonical(name)) for name in row.predicates}
        if not keys and not row.inverse_predicates:
            yield Problem("unreachable", row.id, f"{row.id} ({row.label}) has no predicate, so nothing reaches it")
        elif keys and keys <= seen:
            yield Problem("unreachable", row.id, f"every predicate of this row of {row.id} stands in an earlier row")
        if row.id in EXCLUDED_PROPERTIES and (row.id, "") not in seen:
            kind = EXCLUDED_PROPERTIES[row.id]
            message = f"{row.id} ({row.label}) has values of the excluded type {kind}: no gold can match it"
            yield Problem("unreachable", row.id, message)
        seen |= keys | {(row.id, "")}


def _ambiguous(table: PropertyAlignmentTable) -> Iterator[Problem]:
    """Predicates of several properties that neither the subject's nor the object's kind tells apart."""
    meant: dict[str, dict[str, PropertyRow]] = {}
    for row in table.rows:
        for name in row.predicates:
            meant.setdefault(table.canonical(name), {}).setdefault(row.id, row)
    for name, by_id in meant.items():
        rows = list(by_id.values())
        for at, row in enumerate(rows):
            for other in rows[at + 1 :]:
                apart = row.type and other.type and row.type != other.type
                disjoint = row.domain and other.domain and not row.domain & other.domain
                one_for_the_rest = bool(row.domain) != bool(other.domain)
                if not (apart or disjoint or one_for_the_rest):
                    message = f"{name!r} means {row.id} and {other.id}, and nothing tells them apart"
                    yield Problem("ambiguous", name, message)


def _prefixes(table: PropertyAlignmentTable) -> Iterator[Problem]:
    known = {*PREFIXES, *dict(table.prefixes)}
    used = Counter(
        name.partition(":")[0]
        for row in table.rows
        for name in (*row.predicates, *row.inverse_predicates)
        if ":" in name and "://" not in name
    )
    for prefix, count in used.items():
        if prefix not in known:
            message = f"the prefix {prefix!r} ({count} predicates) is not declared, so their IRIs do not match"
            yield Problem("prefix", prefix, message)


def _inverses(table: PropertyAlignmentTable) -> Iterator[Problem]:
    for row in table.rows:
        other = table.by_id.get(row.inverse)
        if other is not None and other.inverse and other.inverse != row.id:
            yield Problem(
                "inverse", row.id, f"{row.id} has the inverse {row.inverse}, whose inverse is {other.inverse}"
            )

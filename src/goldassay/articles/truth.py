"""A ground truth of the founding kit's form: statements about an article with the predicates that may say them.

A line is ``{id, subject, predicates, object, object_type, importance, wikidata_property, notes}``; any of its
predicates says it, and so does its property where it has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.measures.triples import items
from goldassay.measures.triples.predicates import PROPERTY, Pairs
from goldassay.text.fuzzy import normal
from goldassay.wikibase.alignment import PropertyAlignmentTable
from goldassay.wikibase.alignment_checks import Problem

TYPES = {"iri": "item", "literal": ""}


@dataclass(frozen=True)
class Truth:
    """The statements as one gold record, and which predicates say them, as the measures of triples take both."""

    record: dict[str, Any]
    alignment: Pairs
    lines: tuple[dict[str, Any], ...]


def read_truth(path: str | Path) -> Truth:
    """The truth of a file; a predicate that stands for several properties may mean each."""
    lines, triples, pairs = [], [], dict[tuple[str, str], None]()
    for number, found in files.json_lines(path):
        line = _line(found, path, number)
        name = line["wikidata_property"] or line["predicates"][0]
        pairs |= dict.fromkeys((said, name) for said in (*line["predicates"], name))
        subject, value = items.label(line["subject"]), str(line["object"])
        triple = {"subject": subject.replace("_", " "), "predicate": name}
        kind = TYPES[line["object_type"]]
        triple["object"] = value.replace("_", " ") if kind else value
        triples.append({**triple, "object_type": kind} if kind else triple)
        lines.append(line)
    if not lines:
        raise DataError("there are no statements", file=path)
    record = {"id": Path(path).stem, "triples": triples}
    return Truth(record, tuple(pairs), tuple(lines))


def _line(line: Any, path: str | Path, number: int) -> dict[str, Any]:
    name = line.get("id") if isinstance(line, dict) else None
    if not isinstance(line, dict) or not all(isinstance(line.get(key), str) for key in ("subject", "object")):
        raise DataError("a statement has a subject and an object", file=path, line=number, record=name)
    predicates = line.get("predicates")
    if not isinstance(predicates, list) or not predicates or not all(isinstance(one, str) for one in predicates):
        raise DataError("the predicates are a list of names", file=path, line=number, record=name, field="predicates")
    found = line.setdefault("wikidata_property", None)
    if found is not None and not PROPERTY.fullmatch(str(found)):
        raise DataError(f"not a property id: {found!r}", file=path, line=number, record=name, field="wikidata_property")
    if line.setdefault("object_type", "literal") not in TYPES:
        raise DataError(f"not iri or literal: {line['object_type']!r}", file=path, line=number, field="object_type")
    return dict(line)


def problems(truth: Truth, table: PropertyAlignmentTable) -> list[Problem]:
    """What the table makes of the truth: another property, the other direction, or the same statement twice."""
    return [*_meanings(truth, table), *_repeats(truth)]


def _meanings(truth: Truth, table: PropertyAlignmentTable) -> Iterator[Problem]:
    for line in truth.lines:
        name, where = line["wikidata_property"], str(line.get("id") or "")
        row = table.by_id.get(name or "")
        if row is None:
            continue
        meant = [table.meaning(one, (), line["object"]) for one in line["predicates"]]
        said = " / ".join(line["predicates"])
        if any(name in one.properties for one in meant):
            continue
        if any(name in one.turned for one in meant):
            message = f"{said!r} says {name} ({row.label}) the other way round: {line['object']} is its subject"
            yield Problem("direction", where, message)
        else:
            yield Problem("property", where, f"{said!r} does not mean {name} ({row.label})")


def _repeats(truth: Truth) -> Iterator[Problem]:
    seen: dict[tuple[str, str, str], str] = {}
    for line, triple in zip(truth.lines, truth.record["triples"], strict=True):
        key = (normal(triple["subject"]), triple["predicate"], normal(triple["object"]))
        where = str(line.get("id") or "")
        if key in seen:
            yield Problem("duplicate", where, f"says again what {seen[key]} says")
        seen.setdefault(key, where)

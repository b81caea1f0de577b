"""A YAML table that aligns Wikidata's properties with the predicates of a system. No gold, but what gold needs.

``{wikidata_pid, wikidata_label, riverbank_predicates: [...], alignment_confidence, notes}``
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from goldassay.exceptions import DataError
from goldassay.gold.formats import kits


@dataclass(frozen=True, slots=True)
class Property:
    """A property, and the predicates that mean it."""

    id: str
    label: str
    predicates: tuple[str, ...]
    confidence: float
    notes: str = ""


def read_properties(path: str | Path) -> list[Property]:
    """The rows of the table."""
    found = []
    for number, entry in enumerate(kits.load(path, "alignment").entries):
        where = f"alignments[{number}]"
        predicates = entry.get("riverbank_predicates", entry.get("predicates"))
        confidence = entry.get("alignment_confidence", 1.0)
        if not isinstance(predicates, list) or not all(isinstance(one, str) for one in predicates):
            raise DataError("the predicates are a list of names", file=path, field=where)
        if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
            raise DataError(f"a confidence is from 0 to 1, found {confidence!r}", file=path, field=where)
        pid = kits.text(entry, "wikidata_pid", path, where)
        label, notes = str(entry.get("wikidata_label") or ""), str(entry.get("notes") or "")
        found.append(Property(pid, label, tuple(predicates), float(confidence), notes))
    return found


def write_properties(path: str | Path, rows: Iterable[Property], head: Mapping[str, object] | None = None) -> None:
    """Write the table under ``head`` (version, description, …) with its true count."""
    entries = [
        {
            "wikidata_pid": row.id,
            "wikidata_label": row.label,
            "riverbank_predicates": list(row.predicates),
            "alignment_confidence": row.confidence,
            "notes": row.notes,
        }
        for row in rows
    ]
    kits.save(path, {**(head or {"version": 1}), "count": len(entries), "alignments": entries})


def mapping(path: str | Path) -> list[tuple[str, str]]:
    """Predicate and property, pair by pair: the ``alignment`` that the measures of triples take."""
    return [(predicate, row.id) for row in read_properties(path) for predicate in row.predicates]

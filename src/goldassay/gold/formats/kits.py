"""The YAML files of an evaluation kit against Wikidata, as far as they share a shape: a head, and a list of entries.

One of them is no gold, but what gold needs: the table that aligns Wikidata's properties with a system's predicates.

``{wikidata_pid, wikidata_label, riverbank_predicates: [...], alignment_confidence, notes}``
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from goldassay import files
from goldassay.exceptions import DataError

LISTS = {"benchmark": "articles", "annotations": "annotations", "alignment": "alignments"}


@dataclass(frozen=True, slots=True)
class Kit:
    """A file of a kit: its kind, what stands before its list, and the list."""

    kind: str
    head: Mapping[str, Any]
    entries: list[dict[str, Any]]


def load(path: str | Path, kind: str | None = None) -> Kit:
    """A kit file; ``kind`` is what it must be."""
    found = files.yaml_value(path)
    keys = found if isinstance(found, dict) else {}
    name = next((name for name, key in LISTS.items() if isinstance(keys.get(key), list)), None)
    if name is None or kind not in (None, name):
        wanted = ", ".join(LISTS.values()) if kind is None else LISTS[kind]
        raise DataError(f"not a file of this kind: it has no list under {wanted}", file=path)
    entries = keys[LISTS[name]]
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise DataError("an entry is a mapping", file=path, field=f"{LISTS[name]}[{number}]")
    return Kit(name, {key: value for key, value in keys.items() if key != LISTS[name]}, entries)


def save(path: str | Path, content: Mapping[str, object]) -> None:
    """Write a kit file."""
    files.save(path, yaml.safe_dump(dict(content), allow_unicode=True, sort_keys=False, width=1000))


def text(entry: Mapping[str, object], key: str, path: str | Path, where: str) -> str:
    """A field that must be text."""
    if not isinstance(entry.get(key), str) or not entry[key]:
        raise DataError(f"this field must be text, found {entry.get(key)!r}", file=path, field=f"{where}.{key}")
    return str(entry[key])


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
    for number, entry in enumerate(load(path, "alignment").entries):
        where = f"alignments[{number}]"
        predicates = entry.get("riverbank_predicates", entry.get("predicates"))
        confidence = entry.get("alignment_confidence", 1.0)
        if not isinstance(predicates, list) or not all(isinstance(one, str) for one in predicates):
            raise DataError("the predicates are a list of names", file=path, field=where)
        if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
            raise DataError(f"a confidence is from 0 to 1, found {confidence!r}", file=path, field=where)
        pid = text(entry, "wikidata_pid", path, where)
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
    save(path, {**(head or {"version": 1}), "count": len(entries), "alignments": entries})


def mapping(path: str | Path) -> list[tuple[str, str]]:
    """Predicate and property, pair by pair: the ``alignment`` that the measures of triples take."""
    return [(predicate, row.id) for row in read_properties(path) for predicate in row.predicates]

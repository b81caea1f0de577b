"""The YAML files of an evaluation kit against Wikidata, as far as they share a shape: a head, and a list of entries."""

from __future__ import annotations

from collections.abc import Mapping
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


def save(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write a kit file."""
    files.save(path, yaml.safe_dump(dict(content), allow_unicode=True, sort_keys=False, width=1000))


def text(entry: Mapping[str, object], key: str, path: str | Path, where: str) -> str:
    """A field that must be text."""
    if not isinstance(entry.get(key), str) or not entry[key]:
        raise DataError(f"this field must be text, found {entry.get(key)!r}", file=path, field=f"{where}.{key}")
    return str(entry[key])

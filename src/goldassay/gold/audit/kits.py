"""The audit of a Wikidata kit's YAML files: declared counts, repeated ids, and the rate of discovery."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError
from goldassay.gold import sets
from goldassay.gold.audit import records
from goldassay.gold.audit.findings import Audit, Finding, located, unreadable
from goldassay.gold.formats import kits
from goldassay.measures.triples import VERDICTS, novel_discovery_rate

TOTAL = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d+)[- ](?=articles?\b)")
KEYS = {"benchmark": ("qid", "title"), "annotations": ("id", "id"), "alignment": ("wikidata_pid", "wikidata_pid")}
"""Of each kind of file, what identifies an entry, and what it is about."""


def files_of(place: Path) -> list[Path]:
    """The YAML files of a kit: the file itself, or those of a folder that is no gold set."""
    if place.is_dir() and (sets.is_set(place) or sets.standoff(place)):
        return []
    return sorted(
        file for file in ([place] if place.is_file() else place.glob("*")) if file.suffix in (".yaml", ".yml")
    )


def audit(name: str, paths: Sequence[Path]) -> Audit:
    """The findings of kit files."""
    findings: list[Finding] = []
    counts: dict[str, int] = {}
    figures: dict[str, float] = {}
    for path in paths:
        try:
            kind, head, entries = kits.load(path)
        except DataError as error:
            findings.append(unreadable(error, path.name))
            continue
        counts[path.name] = len(entries)
        findings += _recounted(kind, head, entries, path.name)
        if kind in kits.TASK_OF_KIND:
            rows, faults = located(path, kits.TASK_OF_KIND[kind], path.name, format="kit")
            findings += [*faults, *(finding for row in rows for finding in records.check(row))]
        key, about = KEYS[kind]
        first: dict[str, int] = {}
        for number, entry in enumerate(entries):
            other = first.setdefault(str(entry.get(key)), number)
            if other != number:
                message = f"{entry.get(key)} is also {kits.LISTS[kind]}[{other}], {entries[other].get(about)}"
                field = f"{kits.LISTS[kind]}[{number}].{key}"
                findings.append(Finding("id", message, path.name, record=str(entry.get(about)), field=field))
        if kind == "annotations" and (rate := _rate(entries)) is not None:
            figures["discovery_rate"] = rate
    return Audit(name, findings, counts, figures)


def _rate(entries: Sequence[Mapping[str, Any]]) -> float | None:
    verdicts = (str(entry.get("verdict")) for entry in entries)
    return novel_discovery_rate(verdict for verdict in verdicts if verdict in VERDICTS)["novel_discovery_rate"]


def _recounted(
    kind: str, head: Mapping[str, Any], entries: Sequence[Mapping[str, Any]], name: str
) -> Iterator[Finding]:
    """What a head declares against what its list holds."""
    of_kind = Counter(str(entry.get("domain" if kind == "benchmark" else "verdict")) for entry in entries)
    declared: dict[str, tuple[Any, int]] = {"count": (head.get("count"), len(entries))}
    if total := TOTAL.search(str(head.get("description", ""))):
        declared["description"] = (int(total[1].replace(",", "")), len(entries))
    for part, of_part in head.items():
        for key, number in of_part.items() if isinstance(of_part, Mapping) else ():
            if key == "total_annotations":
                declared[f"{part}.{key}"] = (number, len(entries))
            elif part == "stratified_sampling" or key in VERDICTS:
                declared[f"{part}.{key}"] = (number, of_kind[key])
    for field, (number, count) in declared.items():
        if isinstance(number, int) and number != count:
            yield Finding("count", f"{number:,} declared, {count:,} counted", name, field=field)
    stated, rate = (head.get("metadata") or {}).get("validated_ndr"), _rate(entries)
    if isinstance(stated, float) and rate is not None and abs(stated - rate) > 0.0005:
        counts = f"({of_kind['correct']} correct, {of_kind['incorrect']} not)"
        message = f"{stated:.3f} declared, {rate:.3f} from the verdicts {counts}"
        yield Finding("count", message, name, field="metadata.validated_ndr")

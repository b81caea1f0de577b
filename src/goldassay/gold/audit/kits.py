"""The audit of the YAML files of a Wikidata kit: declared counts, repeated items, a rate recomputed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from goldassay._support.exceptions import DataError
from goldassay.gold.audit import records
from goldassay.gold.audit.findings import Finding, GoldAudit, differences, located_records, mapping, unreadable
from goldassay.gold.formats import kits
from goldassay.gold.shapes import Record
from goldassay.measures.triples import VERDICTS, novel_discovery_rate

TOTAL = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d+)[- ](?=articles?\b)")


def audit_kit(name: str, paths: Sequence[Path]) -> GoldAudit:
    """The findings of the YAML files of a Wikidata kit."""
    # what identifies an entry of a kit's files, and what it is about
    keys_of_kind = {
        "benchmark": ("qid", "title"),
        "annotations": ("id", "id"),
        "alignment": ("wikidata_pid", "wikidata_pid"),
    }
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
        verdicts = [verdict for entry in entries if (verdict := str(entry.get("verdict"))) in VERDICTS]
        rate = novel_discovery_rate(verdicts)["novel_discovery_rate"] if kind == "annotations" else None
        if rate is not None:
            figures["discovery_rate"] = rate
        findings += _recounted(kind, head, entries, path.name, rate)
        if kind in kits.TASK_OF_KIND:
            rows, faults = located_records(path, kits.TASK_OF_KIND[kind], path.name, format="kit")
            findings += [*faults, *(finding for row in rows for finding in records.check(row))]
        key, about = keys_of_kind[kind]
        first: dict[str, int] = {}
        for number, entry in enumerate(entries):
            other = first.setdefault(str(entry.get(key)), number)
            if other != number:
                message = f"{entry.get(key)} is also {kits.KIT_LISTS[kind]}[{other}], {entries[other].get(about)}"
                field = f"{kits.KIT_LISTS[kind]}[{number}].{key}"
                findings.append(Finding("id", message, path.name, record=str(entry.get(about)), field=field))
    return GoldAudit(name, findings, counts, figures)


def _recounted(kind: str, head: Record, entries: Sequence[Record], name: str, rate: float | None) -> Iterator[Finding]:
    """The counts that the head of a kit's file declares, against its list."""
    of_kind = Counter(str(entry.get("domain" if kind == "benchmark" else "verdict")) for entry in entries)
    declared = {"count": head.get("count")}
    if total := TOTAL.search(str(head.get("description", ""))):
        declared["description"] = int(total[1].replace(",", ""))
    counts = {"count": len(entries), "description": len(entries)}
    for section, of_part in head.items():
        for key, number in mapping(of_part).items():
            if key == "total_annotations" or section == "stratified_sampling" or key in VERDICTS:
                declared[f"{section}.{key}"] = number
                counts[f"{section}.{key}"] = len(entries) if key == "total_annotations" else of_kind[key]
    yield from differences(declared, counts, "", name)
    stated = (head.get("metadata") or {}).get("validated_ndr")
    if isinstance(stated, float) and rate is not None and abs(stated - rate) > 0.0005:
        verdicts = f"{of_kind['correct']} correct, {of_kind['incorrect']} not"
        message = f"{stated:.3f} declared, {rate:.3f} from the verdicts ({verdicts})"
        yield Finding("count", message, name, field="metadata.validated_ndr")

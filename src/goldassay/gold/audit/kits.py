"""The audit of a Wikidata kit's YAML files: declared counts, ids, verdicts, statements, and the rate of discovery."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError
from goldassay.gold.audit.findings import Audit, Finding, unreadable
from goldassay.gold.audit.records import PROPERTY, malformed
from goldassay.gold.formats import kits
from goldassay.measures.triples import VERDICTS, novel_discovery_rate

YAML = (".yaml", ".yml")
TOTAL = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d+)[- ](?=articles?\b)")
Head = Mapping[str, Any]
Entries = Sequence[Mapping[str, Any]]


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
        check = {"benchmark": _benchmark, "annotations": _annotations, "alignment": _alignment}[kind]
        findings += check(head, entries, path.name)
        counts[path.name] = len(entries)
        rate = _discovery_rate(str(entry.get("verdict")) for entry in entries) if kind == "annotations" else None
        figures |= {} if rate is None else {"discovery_rate": rate}
    return Audit(name, findings, counts, figures)


def _discovery_rate(verdicts: Iterable[str]) -> float | None:
    return novel_discovery_rate(verdict for verdict in verdicts if verdict in VERDICTS)["novel_discovery_rate"]


def _benchmark(head: Head, entries: Entries, name: str) -> Iterator[Finding]:
    domains = Counter(str(entry.get("domain")) for entry in entries)
    total, declared = TOTAL.search(str(head.get("description", ""))), head.get("stratified_sampling")
    if total:
        yield from _count("description", int(total[1].replace(",", "")), len(entries), name)
    for domain in dict.fromkeys((*map(str, declared), *domains)) if isinstance(declared, Mapping) else ():
        yield from _count(f"stratified_sampling.{domain}", (declared or {}).get(domain, 0), domains[domain], name)
    yield from _repeated("articles", entries, "qid", "title", name)
    for number, entry in enumerate(entries):
        message = malformed("wikidata", str(entry.get("qid")))
        if message:
            yield Finding("identifier", message, name, record=str(entry.get("title")), field=f"articles[{number}].qid")


def _annotations(head: Head, entries: Entries, name: str) -> Iterator[Finding]:
    metadata = head.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    verdicts = Counter(str(entry.get("verdict")) for entry in entries)
    yield from _count("metadata.total_annotations", metadata.get("total_annotations"), len(entries), name)
    for verdict in VERDICTS:
        yield from _count(f"metadata.{verdict}", metadata.get(verdict), verdicts[verdict], name)
    rate, declared = _discovery_rate(verdicts.elements()), metadata.get("validated_ndr")
    if isinstance(declared, float) and rate is not None and abs(declared - rate) > 0.0005:
        counts = f"({verdicts['correct']} correct, {verdicts['incorrect']} not)"
        message = f"{declared:.3f} declared, {rate:.3f} from the verdicts {counts}"
        yield Finding("count", message, name, field="metadata.validated_ndr")
    yield from _repeated("annotations", entries, "id", "id", name)
    statements: dict[tuple[str, ...], str] = {}
    for number, entry in enumerate(entries):
        where, key, triple = f"annotations[{number}]", str(entry.get("id")), entry.get("triple")
        if entry.get("verdict") not in VERDICTS:
            message = f"{entry.get('verdict')!r} is not a verdict: {', '.join(VERDICTS)}"
            yield Finding("label", message, name, record=key, field=f"{where}.verdict")
        if not isinstance(triple, list) or len(triple) != 3:
            yield Finding("schema", "a triple is a list of three", name, record=key, field=f"{where}.triple")
            continue
        other = statements.setdefault(tuple(" ".join(str(part).split()).casefold() for part in triple), key)
        if other != key:
            yield Finding("duplicate", f"the same statement as {other}", name, record=key, field=f"{where}.triple")


def _alignment(head: Head, entries: Entries, name: str) -> Iterator[Finding]:
    yield from _count("count", head.get("count"), len(entries), name)
    yield from _repeated("alignments", entries, "wikidata_pid", "wikidata_pid", name)
    for number, entry in enumerate(entries):
        pid, where = str(entry.get("wikidata_pid")), f"alignments[{number}].wikidata_pid"
        if not PROPERTY.fullmatch(pid):
            yield Finding("identifier", f"a property is P and a number, found {pid!r}", name, record=pid, field=where)


def _repeated(part: str, entries: Entries, key: str, about: str, name: str) -> Iterator[Finding]:
    """Entries with an id that an earlier one has."""
    first: dict[str, int] = {}
    for number, entry in enumerate(entries):
        other = first.setdefault(str(entry.get(key)), number)
        if other != number:
            message = f"{entry.get(key)} is also {part}[{other}], {entries[other].get(about)}"
            yield Finding("id", message, name, record=str(entry.get(about)), field=f"{part}[{number}].{key}")


def _count(where: str, declared: Any, counted: int, name: str) -> Iterator[Finding]:
    if isinstance(declared, int) and declared != counted:
        yield Finding("count", f"{declared:,} declared, {counted:,} counted", name, field=where)

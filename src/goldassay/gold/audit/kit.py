"""The audit of a Wikidata kit's YAML files: declared counts, repeated items, ids, verdicts, a rate recomputed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay.gold.audit.records import PROPERTY, malformed
from goldassay.gold.audit.rows import Finding
from goldassay.gold.formats import kits
from goldassay.gold.formats.judged import VERDICTS, discovery

THOUSANDS = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d+)[- ](?=articles?\b)")


def kit_file(path: Path, name: str) -> tuple[list[Finding], int, dict[str, float]]:
    """The findings of a kit file, how many entries it has, and what could be computed."""
    kit = kits.load(path)
    figures: dict[str, float] = {}
    if kit.kind == "annotations":
        rate = discovery(str(entry.get("verdict")) for entry in kit.entries)
        figures = {} if rate is None else {"discovery_rate": rate}
    return list(CHECKS[kit.kind](kit, name)), len(kit.entries), figures


def _benchmark(kit: kits.Kit, name: str) -> Iterator[Finding]:
    domains = Counter(str(entry.get("domain")) for entry in kit.entries)
    declared = kit.head.get("stratified_sampling")
    total = THOUSANDS.search(str(kit.head.get("description", "")))
    if total:
        yield from _count("description", int(total[1].replace(",", "")), len(kit.entries), name)
    if isinstance(declared, Mapping):
        for domain in dict.fromkeys((*map(str, declared), *domains)):
            yield from _count(f"stratified_sampling.{domain}", declared.get(domain, 0), domains[domain], name)
    seen: dict[str, tuple[int, str]] = {}
    for number, entry in enumerate(kit.entries):
        qid, title = str(entry.get("qid")), str(entry.get("title"))
        where = f"articles[{number}].qid"
        wrong = malformed("wikidata", qid)
        if wrong:
            yield Finding("identifier", wrong, name, record=title, field=where)
        first = seen.setdefault(qid, (number, title))
        if first[0] != number:
            yield Finding("id", f"{qid} is also articles[{first[0]}], {first[1]}", name, record=title, field=where)


def _annotations(kit: kits.Kit, name: str) -> Iterator[Finding]:
    head = kit.head.get("metadata")
    head = head if isinstance(head, Mapping) else {}
    found = Counter(str(entry.get("verdict")) for entry in kit.entries)
    yield from _count("metadata.total_annotations", head.get("total_annotations"), len(kit.entries), name)
    for verdict in VERDICTS:
        yield from _count(f"metadata.{verdict}", head.get(verdict), found[verdict], name)
    rate, said = discovery(found.elements()), head.get("validated_ndr")
    if isinstance(said, float) and rate is not None and abs(said - rate) > 0.0005:
        message = (
            f"{said:.3f} declared, {rate:.3f} from the verdicts ({found['correct']} correct, {found['incorrect']} not)"
        )
        yield Finding("count", message, name, field="metadata.validated_ndr")
    ids: Counter[str] = Counter()
    statements: dict[tuple[str, ...], str] = {}
    for number, entry in enumerate(kit.entries):
        where, key = f"annotations[{number}]", str(entry.get("id"))
        ids[key] += 1
        if ids[key] > 1:
            yield Finding("id", "another annotation has this id", name, record=key, field=f"{where}.id")
        if entry.get("verdict") not in VERDICTS:
            message = f"{entry.get('verdict')!r} is not a verdict: {', '.join(VERDICTS)}"
            yield Finding("label", message, name, record=key, field=f"{where}.verdict")
        triple = entry.get("triple")
        if not isinstance(triple, list) or len(triple) != 3:
            yield Finding("schema", "a triple is a list of three", name, record=key, field=f"{where}.triple")
            continue
        statement = tuple(" ".join(str(part).split()).casefold() for part in triple)
        other = statements.setdefault(statement, key)
        if other != key:
            yield Finding("duplicate", f"the same statement as {other}", name, record=key, field=f"{where}.triple")


def _alignment(kit: kits.Kit, name: str) -> Iterator[Finding]:
    yield from _count("count", kit.head.get("count"), len(kit.entries), name)
    seen: set[str] = set()
    for number, entry in enumerate(kit.entries):
        pid, where = str(entry.get("wikidata_pid")), f"alignments[{number}].wikidata_pid"
        if not PROPERTY.fullmatch(pid):
            yield Finding("identifier", f"a property is P and a number, found {pid!r}", name, record=pid, field=where)
        if pid in seen:
            yield Finding("id", "another row has this property", name, record=pid, field=where)
        seen.add(pid)


def _count(where: str, declared: Any, found: int, name: str) -> Iterator[Finding]:
    if isinstance(declared, int) and declared != found:
        yield Finding("count", f"{declared:,} declared, {found:,} counted", name, field=where)


CHECKS: dict[str, Callable[[kits.Kit, str], Iterator[Finding]]] = {
    "benchmark": _benchmark,
    "annotations": _annotations,
    "alignment": _alignment,
}

"""``audit`` a gold set: everything that is off in it, found at once and told with its place.

Of a Wikidata kit's YAML files: declared counts, repeated items, ids, verdicts, a rate recomputed.

>>> import json, tempfile
>>> from pathlib import Path
>>> file = Path(tempfile.mkdtemp()) / "extraction.jsonl"
>>> span = {"start": 4, "end": 9, "type": "TOP", "text": "Delft"}
>>> _ = file.write_text(json.dumps({"id": "a", "text": "In Delft", "entities": [span]}))
>>> found = audit(file).findings[0]
>>> found.kind, found.message, found.fix
('offset', '4:9 reaches beyond the text, which has 8 characters; it stands at 3:8', {'start': 3, 'end': 8})
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Unpack

from goldassay.exceptions import DataError
from goldassay.gold import sets
from goldassay.gold.audit.across import across_tasks, collection, duplicates, own_task, slips
from goldassay.gold.audit.card import absent, parts, promised, recounted, shared, stated
from goldassay.gold.audit.records import PROPERTY, content, identifiers, malformed, spans
from goldassay.gold.audit.rows import KINDS, Audit, Finding, LocatedRecord, repaired, rows, unreadable
from goldassay.gold.formats import ReadOptions, kits
from goldassay.measure import TASKS
from goldassay.measures.triples.tally import VERDICTS, novel_discovery_rate
from goldassay.text.similarity import NEAR

YAML = (".yaml", ".yml")


def audit(
    name_or_path: str | Path,
    *,
    task: str | None = None,
    format: str | None = None,
    near: float = NEAR,
    agreement: Mapping[str, float] | None = None,
    column: str | None = None,
    **reading: Unpack[ReadOptions],
) -> Audit:
    """All that is off in a set, a file of gold, or a YAML file (or folder) of a Wikidata kit.

    Gold of a task of one's own may have any fields; what is off in it is told by `own_task`.

    ``near`` is from how many per cent of similar characters two texts are nearly the same; ``agreement`` is what was
    measured between annotators, by task; ``reading`` are options of the reader, such as ``map``.

    Args:
        name_or_path: A set's name, its folder, or a file.
        format: The format; told by the file without one.
        column: The column of tags of that file.
    """
    place = sets.find(name_or_path)
    if place.is_file() and place.suffix in YAML:
        return _kits(place.name, [place])
    if place.is_dir() and not _is_set(place, format):
        yamls = [] if sets.standoff(place) else sorted(file for file in place.iterdir() if file.suffix in YAML)
        if yamls:
            return _kits(place.name, yamls)
    if task is not None and place.is_dir() and _is_set(place, format) and format is None:
        return _part(audit(place, near=near, agreement=agreement), task, place)
    about: dict[str, Any] = {}
    by: dict[str, list[LocatedRecord]] = {}
    findings: list[Finding] = []
    for job, file, options in _files(place, task, format, column, reading):
        shown = file.relative_to(place).as_posix() if place.is_dir() and file.is_relative_to(place) else file.name
        made, wrong = _rows(file, job, shown, options)
        by.setdefault(job, []).extend(made)
        findings += wrong
    passages = None
    if place.is_dir():
        about = sets.card(place)
        try:
            if (place / "passages.jsonl").exists():
                collected = sets.passages(place / "passages.jsonl")
                passages = {row["id"]: row["text"] for row in collected}
                findings += collection(collected, by)
        except DataError as error:
            findings.append(unreadable(error, "passages.jsonl"))
    for job, found in by.items():
        if job in TASKS:
            for row in found:
                for check in (spans, identifiers, content):
                    findings += check(row)
            findings += duplicates(found, near)
        else:
            findings += own_task(found, near)
        findings += slips(found)
        if about and job in TASKS:
            findings += recounted(about, job, found)
    findings += across_tasks(about, by, passages)
    if about:
        findings += shared(about, place, by, passages or {})
        for job, said in parts(about).items():
            if job in TASKS:
                findings += stated(job, said, place)
    findings += absent(about, by)
    findings += promised(about, agreement or {})
    return Audit(place.name, findings, {job: len(found) for job, found in by.items()})


def _part(whole: Audit, task: str, place: Path) -> Audit:
    """What a set's audit says of one task: of its files, and of its part of the card.

    The set is read as a whole, for a card counts what tasks share, and a fact stands in another task's document.
    """
    files = {
        source["path"].relative_to(place).as_posix()
        for found in sets.load(place, task=task).tasks.values()
        for source in found.sources
    }
    ours = [
        found
        for found in whole.findings
        if found.file in files or (found.file == sets.CARD and str(found.field).startswith(f"tasks.{task}"))
    ]
    return Audit(whole.name, ours, {task: whole.records.get(task, 0)}, whole.figures)


def _rows(file: Path, job: str, shown: str, options: Mapping[str, Any]) -> tuple[list[LocatedRecord], list[Finding]]:
    split = options.get("split")
    made, wrong = rows(file, job, shown, **{key: value for key, value in options.items() if key != "split"})
    for row in made:
        if split:
            row.record.setdefault("split", split)
    return made, wrong


def _is_set(folder: Path, format: str | None) -> bool:
    return (
        format is not None or (folder / sets.CARD).exists() or any((folder / f"{job}.jsonl").exists() for job in TASKS)
    )


def _files(
    place: Path, task: str | None, format: str | None, column: str | None, reading: ReadOptions
) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """The files of a set with their tasks and options."""
    loaded = sets.load(place, task=task, format=format or None, column=column, **reading)
    for job, found in loaded.tasks.items():
        for source in found.sources:
            yield job, Path(source["path"]), {key: value for key, value in source.items() if key != "path"}


def _kits(name: str, paths: list[Path]) -> Audit:
    findings: list[Finding] = []
    counts: dict[str, int] = {}
    figures: dict[str, float] = {}
    for path in paths:
        try:
            found, counts[path.name], made = kit_file(path, path.name)
        except DataError as error:
            found, made = [unreadable(error, path.name)], {}
        findings += found
        figures |= made
    return Audit(name, findings, counts, figures)


THOUSANDS = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d+)[- ](?=articles?\b)")


def kit_file(path: Path, name: str) -> tuple[list[Finding], int, dict[str, float]]:
    """The findings of a kit file, how many entries it has, and what could be computed."""
    kit = kits.load(path)
    figures: dict[str, float] = {}
    if kit.kind == "annotations":
        rate = _discovery(str(entry.get("verdict")) for entry in kit.entries)
        figures = {} if rate is None else {"discovery_rate": rate}
    return list(CHECKS[kit.kind](kit, name)), len(kit.entries), figures


def _discovery(verdicts: Iterable[str]) -> float | None:
    """The rate of novel discovery; what is no verdict is told by itself."""
    return novel_discovery_rate(one for one in verdicts if one in VERDICTS)["novel_discovery_rate"]


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
    rate, said = _discovery(found.elements()), head.get("validated_ndr")
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


__all__ = ["KINDS", "Audit", "Finding", "audit", "repaired"]

"""``audit`` a gold set: everything that is wrong in it, found in one pass and reported with its place.

`records` has the findings and the faults of records. Here are the declarations of cards and kits, recounted: numbers,
label sets, languages, and promises of size.

A card has one of two layouts: that of goldassay (``tasks: {extraction: {records, entities, types, …}}``), or the
founding schema (``gold_standard_dataset: {metadata, ner_annotations: {entity_types, samples_per_type, …}, …}``). What
the tasks share (documents, and the tables with them) is recounted too. A kit is the YAML files of an evaluation
against Wikidata: their heads declare counts and a rate, and no entry is there twice.

>>> import json, tempfile
>>> from pathlib import Path
>>> file = Path(tempfile.mkdtemp()) / "extraction.jsonl"
>>> span = {"start": 4, "end": 9, "type": "TOP", "text": "Delft"}
>>> _ = file.write_text(json.dumps({"id": "a", "text": "In Delft", "entities": [span]}))
>>> finding = audit(file).findings[0]
>>> finding.kind, finding.message, finding.fix
('offset', '4:9 reaches beyond the text, which has 8 characters; it is at 3:8', {'start': 3, 'end': 8})
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from goldassay._support import files, jsonl
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import JsonObject, Record
from goldassay.core.measure import TASKS
from goldassay.gold import sets
from goldassay.gold.audit import records
from goldassay.gold.audit.records import (
    FINDING_KINDS,
    TABLES,
    Finding,
    GoldAudit,
    LocatedRecord,
    RowsByTask,
    differences,
    located_records,
    mapping,
    unreadable,
)
from goldassay.gold.formats import ReadOptions, kits
from goldassay.gold.records import labels_of
from goldassay.gold.sets import CARD, counted, tally
from goldassay.measures.triples import VERDICTS, novel_discovery_rate

__all__ = ["FINDING_KINDS", "Finding", "GoldAudit", "audit", "repaired"]

TOLERANCE = 0.02  # a promised NIL ratio of 0.15 is kept by 0.13 to 0.17
TOTAL = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d+)[- ](?=articles?\b)")
ENTRY_KEYS = {
    "benchmark": ("qid", "title"),
    "annotations": ("id", "id"),
    "alignment": ("wikidata_pid", "wikidata_pid"),
}
"""The keys that identify an entry of a kit's files, and its subject."""


def audit(
    name_or_path: str | Path, *, task: str | None = None, format: str | None = None, **options: Unpack[ReadOptions]
) -> GoldAudit:
    """The faults of a set, a file of gold, or a YAML file (or folder) of a Wikidata kit.

    Args:
        name_or_path: A set's name, its folder, or a file.
        task: The task of a file; of a set, the one that is wanted.
        format: The format of a file; guessed if not given.
        options: How a file is read (`goldassay.gold.formats.ReadOptions`).
    """
    path = sets.find(name_or_path)
    if format is None and not (path.is_dir() and (sets.is_set(path) or sets.standoff(path))):
        of_kit = [path] if path.is_file() else sorted(path.glob("*"))
        if of_kit := [file for file in of_kit if file.suffix in (".yaml", ".yml")]:
            return audit_kit(path.name, of_kit)
    gold = sets.load(path, task=task, format=format, **options)
    rows: dict[str, list[LocatedRecord]] = {name: [] for name in gold.tasks}
    findings: list[Finding] = []
    for name, task_set in gold.tasks.items():
        for source in task_set.sources:
            how = {**source}
            file = how.pop("path")
            split = how.pop("split", None)
            label = file.relative_to(path).as_posix() if path.is_dir() and file.is_relative_to(path) else file.name
            of_file, faults = located_records(file, name, label, **how)
            for row in of_file if split else ():
                row.record.setdefault("split", split)
            rows[name] += of_file
            findings += faults
    passages: dict[str, str] | None = None
    if (path / "passages.jsonl").exists():
        try:
            passages = {row["id"]: row["text"] for row in sets.passages(path / "passages.jsonl")}
        except DataError as error:
            findings.append(unreadable(error, "passages.jsonl"))
    findings += (finding for name in rows if name in TASKS for row in rows[name] for finding in records.check(row))
    inputs = {name: task_set.content([row.record for row in rows[name]]) for name, task_set in gold.tasks.items()}
    findings += records.compare(rows, passages, inputs)
    if gold.card:
        findings += check_card(gold.card, path, rows, whole=task is None)
    return GoldAudit(path.name, findings, {name: len(of_task) for name, of_task in rows.items()})


def repaired(source: Path, target: Path, findings: Iterable[Finding]) -> int:
    """Write a copy of a set or a JSON Lines file with the offsets that have one right answer; returns how many.

    Lines without a fix stay byte for byte.

    Raises:
        GoldassayError: The target exists, or is inside of the source.
    """
    if target.exists() or target.resolve().is_relative_to(source.resolve()):
        raise GoldassayError(f"the repaired copy needs a new place of its own, not {target}")
    fixes: dict[Path, list[tuple[int, str, Mapping[str, object]]]] = {}
    for finding in findings:
        if finding.fix and finding.line:
            file = Path(finding.file) if source.is_dir() else Path()
            fixes.setdefault(file, []).append((finding.line - 1, str(finding.field), finding.fix))
    with jsonl.writing(target):
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for name, of_file in fixes.items():
        lines = files.text(target / name).split("\n")
        for line, location, fix in of_file:
            record = json.loads(lines[line])
            field, index = re.split(r"[\[\]]", location)[:2]
            if field == "answers":
                record["answer_starts"][int(index)] = fix["start"]
            else:
                record[field][int(index)].update(fix)
            lines[line] = json.dumps(record, ensure_ascii=False)
        files.save(target / name, "\n".join(lines))
    return sum(map(len, fixes.values()))


def check_card(card: Record, folder: Path, rows: RowsByTask, *, whole: bool) -> Iterator[Finding]:
    """Everything in a card that the records do not keep.

    Args:
        card: The card.
        folder: The folder of the set.
        rows: The records of each task.
        whole: Whether these are all tasks of the set, so that what they share can be counted.
    """
    founding = mapping(card.get("gold_standard_dataset"))
    parts = {task: founding[key] for key, task in TABLES["founding_parts"].items() if key in founding}
    parts |= mapping(card.get("tasks"))
    for task, declared in parts.items():
        if not isinstance(declared, Mapping):
            continue
        if task in rows:
            yield from _recounted_task(declared, task, rows[task])
        elif whole and task in TASKS and ("file" in declared or isinstance(declared.get("records"), int)):
            message = f"{declared.get('file') or f'{task}.jsonl'} is listed in the card, but it is missing"
            yield Finding("reference", message, CARD, field=f"tasks.{task}")
    for task, of_task in rows.items():  # types, labels and grades that the card does not name, if it names any
        field, key = TABLES["top_level"].get(task, ("", ""))
        declared = mapping(parts.get(task))
        lists = [card.get(field), *(declared.get(name) for name in TABLES["allowed"].get(task, ()))]
        names = next((names for names in lists if isinstance(names, list)), None)
        if names is None:
            continue
        allowed = {str(item.get(key) if isinstance(item, Mapping) else item) for item in names}
        for row in of_task:
            record = row.record
            labels: list[tuple[str, str]] = []
            if task == "extraction":
                labels = [(f"entities[{index}].type", span["type"]) for index, span in enumerate(record["entities"])]
            elif task == "classification":
                labels = labels_of(record)
            elif task == "answering" and record.get("answer_type"):
                labels = [("answer_type", record["answer_type"])]
            elif task == "retrieval" and isinstance(record["relevant"], Mapping):
                labels = [(f"relevant.{name}", f"{grade:g}") for name, grade in record["relevant"].items()]
            for location, value in labels:
                if value not in allowed:
                    yield row.finding("label", f"{value!r} is not among those that the card names", location)
    languages = (founding.get("metadata") or card).get("languages")
    if isinstance(languages, list):
        used: dict[str, LocatedRecord] = {}
        for row in (row for of_task in rows.values() for row in of_task):
            if language := row.record.get("language"):
                used.setdefault(language, row)
        for language, row in used.items():
            if language not in languages:
                message = f"{language!r} is not declared; the card has {', '.join(map(str, languages))}"
                yield row.finding("language", message, "language")
        for language in languages if used and whole else ():
            if language not in used:
                message = f"{language!r} is declared, and no record has it"
                yield Finding("language", message, CARD, field="languages")
    if not whole:
        return
    by_id = {str(row.record["id"]): row.record for row in reversed(list(records.documents(rows)))}
    counts: JsonObject = {"records": len(by_id)}
    for name in ("splits", "languages"):
        counts[name] = tally(filter(None, (record.get(name[:-1]) for record in by_id.values())))
    yield from differences(card.get("documents"), counts, "documents")
    for name, table in mapping(card.get("tables")).items():
        if isinstance(file := mapping(table).get("file"), str):
            try:
                size = sum(1 for _ in files.json_lines(folder / file))
            except DataError as error:
                yield unreadable(error, file)
            else:
                yield from differences(table, {"records": size}, f"tables.{name}")


def _recounted_task(declared: Record, task: str, rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    """A task's part of the card against its records."""
    counts = counted(task, [row.record for row in rows])
    where = f"tasks.{task}"
    names = {name: TABLES["count_names"].get(name, name) for name in declared}
    yield from differences(declared, {name: counts.get(ours) for name, ours in names.items()}, where)
    groups: Mapping[str, int] = counts.get("types" if task == "extraction" else "labels") or {}
    least = declared.get("samples_per_type", declared.get("samples_per_label"))
    types = declared.get("entity_types")
    for key in dict.fromkeys((*(map(str, types) if isinstance(types, list) else ()), *groups)):
        if isinstance(least, int) and groups.get(key, 0) < least:
            message = f"{least} samples a type are promised, and {key} has {groups.get(key, 0)}"
            yield Finding("promise", message, CARD, field=f"{where}.samples_per_type")
    if declared.get("balanced") is True and len(set(groups.values())) > 1:
        low = min(groups, key=groups.__getitem__)
        high = max(groups, key=groups.__getitem__)
        message = f"balanced is promised, and {low} has {groups[low]}, {high} {groups[high]}"
        yield Finding("promise", message, CARD, field=f"{where}.balanced")
    ratio = declared.get("nil_ratio")
    actual = counts["nil"] / counts["links"] if counts.get("links") else None
    if isinstance(ratio, (int, float)) and (actual is None or abs(actual - ratio) > TOLERANCE):
        what = "there are no links" if actual is None else f"it is {actual:.3f}"
        message = f"a NIL ratio of {ratio} is promised, and {what}"
        yield Finding("promise", message, CARD, field=f"{where}.nil_ratio")
    least = declared.get("judgements_per_query", declared.get("judgments_per_query"))
    for row in rows if task == "retrieval" and isinstance(least, int) else ():
        if (judged := len(row.record["relevant"])) < (least or 0):
            message = f"{least} judgements a query are promised, and this has {judged}"
            yield row.finding("promise", message, "relevant")


def audit_kit(name: str, paths: Sequence[Path]) -> GoldAudit:
    """The findings of the YAML files of a Wikidata kit."""
    findings: list[Finding] = []
    sizes: dict[str, int] = {}
    figures: dict[str, float] = {}
    for path in paths:
        try:
            kind, head, entries = kits.load(path)
        except DataError as error:
            findings.append(unreadable(error, path.name))
            continue
        sizes[path.name] = len(entries)
        verdicts = [verdict for entry in entries if (verdict := str(entry.get("verdict"))) in VERDICTS]
        rate = novel_discovery_rate(verdicts)["novel_discovery_rate"] if kind == "annotations" else None
        if rate is not None:
            figures["discovery_rate"] = rate
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
        findings += differences(declared, counts, "", path.name)
        stated = (head.get("metadata") or {}).get("validated_ndr")
        if isinstance(stated, float) and rate is not None and abs(stated - rate) > 0.0005:
            judged = f"{of_kind['correct']} correct, {of_kind['incorrect']} not"
            message = f"{stated:.3f} declared, {rate:.3f} from the verdicts ({judged})"
            findings.append(Finding("count", message, path.name, field="metadata.validated_ndr"))
        if kind in kits.TASK_OF_KIND:
            rows, faults = located_records(path, kits.TASK_OF_KIND[kind], path.name, format="kit")
            findings += [*faults, *(finding for row in rows for finding in records.check(row))]
        key, about = ENTRY_KEYS[kind]
        first: dict[str, int] = {}
        for number, entry in enumerate(entries):
            other = first.setdefault(str(entry.get(key)), number)
            if other != number:
                message = f"{entry.get(key)} is also {kits.KIT_LISTS[kind]}[{other}], {entries[other].get(about)}"
                field = f"{kits.KIT_LISTS[kind]}[{number}].{key}"
                findings.append(Finding("id", message, path.name, record=str(entry.get(about)), field=field))
    return GoldAudit(name, findings, sizes, figures)

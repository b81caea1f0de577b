"""The declarations of cards and kits, recounted: numbers, label sets, languages, and promises of size.

A card has one of two layouts: that of goldassay (``tasks: {extraction: {records, entities, types, …}}``), or the
founding schema (``gold_standard_dataset: {metadata, ner_annotations: {entity_types, samples_per_type, …}, …}``). What
the tasks share (documents, and the tables with them) is recounted too. A kit is the YAML files of an evaluation
against Wikidata: their heads declare counts and a rate, and no entry is there twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay.core.fields import JsonObject, Record
from goldassay.core.measure import TASKS
from goldassay.gold.audit import records
from goldassay.gold.audit.findings import (
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
from goldassay.gold.formats import kits
from goldassay.gold.records import labels_of
from goldassay.gold.sets import CARD, counted, tally
from goldassay.measures.triples import VERDICTS, novel_discovery_rate

TOLERANCE = 0.02  # a promised NIL ratio of 0.15 is kept by 0.13 to 0.17
TOTAL = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d+)[- ](?=articles?\b)")
ENTRY_KEYS = {
    "benchmark": ("qid", "title"),
    "annotations": ("id", "id"),
    "alignment": ("wikidata_pid", "wikidata_pid"),
}
"""The keys that identify an entry of a kit's files, and its subject."""


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

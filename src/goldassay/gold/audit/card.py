"""A card against the records: declared counts recounted, label sets, languages, and promises of size and agreement.

Two layouts of cards are read: a card of goldassay (``tasks: {extraction: {records, entities, types, …}}``) and the
founding schema (``gold_standard_dataset: {metadata, ner_annotations: {entity_types, samples_per_type, …}, …}``).

What the tasks share (documents, and the tables beside them) is recounted too, and agreement that a card states as
measured is measured again between the two or more passes that it names. A card may state figures, where a bare promise
(``">0.85"``) says only what is to be::

    inter_annotator_agreement:
      passes: [first/extraction.jsonl, second/extraction.jsonl]
      records: 60
      strict_f1: {value: 0.9727, low: 0.9527, high: 0.9893}

The passes lie in the set. Each figure is measured again from them: values and bounds must agree to four places (the
bootstrap is seeded), and so must the number of records that all annotators have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay import files, jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.audit.rows import Finding, LocatedRecord, unreadable
from goldassay.gold.sets import CARD
from goldassay.gold.stats import counted, nil_ratio, tally
from goldassay.measure import TASKS

Card = Mapping[str, Any]
PARTS = {
    "ner_annotations": "extraction",
    "type_classification": "classification",
    "entity_linking": "linking",
    "retrieval": "retrieval",
    "qa": "answering",
    "triples": "triples",
}
NOT_COUNTS = ("samples_per_type", "samples_per_label", "judgements_per_query", "judgments_per_query", "nil_ratio")
ALLOWED = {
    "extraction": ("entity_types", "types"),
    "classification": ("label_set",),
    "answering": ("question_types", "answer_types"),
    "retrieval": ("graded_relevance",),
}
TOLERANCE = 0.02  # a promised NIL ratio of 0.15 is kept by 0.13 to 0.17
NUMBER = re.compile(r"(\d*\.\d+|\d+)")


def parts(card: Card) -> dict[str, Mapping[str, Any]]:
    """What the card says of each task."""
    inner = card.get("gold_standard_dataset")
    named = {task: inner[key] for key, task in PARTS.items() if key in inner} if isinstance(inner, Mapping) else {}
    own = card.get("tasks")
    found = {**named, **own} if isinstance(own, Mapping) else named
    return {str(task): said for task, said in found.items() if isinstance(said, Mapping)}


def languages(card: Card) -> list[str]:
    """The languages that the card declares."""
    inner = card.get("gold_standard_dataset")
    about = inner.get("metadata", {}) if isinstance(inner, Mapping) else card
    found = about.get("languages") or []
    return [str(one) for one in found] if isinstance(found, list) else []


def recounted(card: Card, task: str, rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    """A task's part of the card against its records."""
    records = [row.record for row in rows]
    said = parts(card).get(task, {})
    found = counted(task, records)
    for name, declared in said.items():
        yield from _count(f"tasks.{task}.{name}", declared, found.get(_known(name)), name in NOT_COUNTS)
    yield from _sizes(task, said, found)
    if task == "linking" and isinstance(said.get("nil_ratio"), (int, float)):
        measured = nil_ratio(records)
        if measured is None or abs(measured - said["nil_ratio"]) > TOLERANCE:
            ratio = "there are no links" if measured is None else f"it is {measured:.3f}"
            yield _promise(f"a NIL ratio of {said['nil_ratio']} is promised, and {ratio}", f"tasks.{task}.nil_ratio")
    if task == "retrieval":
        yield from _judgements(said, rows)


def allowed(card: Card, task: str) -> set[str] | None:
    """The types, labels or grades that the card names for a task; None where it names none."""
    top = {"extraction": ("tag_set", "type"), "classification": ("label_set", "label")}.get(task)
    if top and isinstance(card.get(top[0]), list):
        return {str(item.get(top[1]) if isinstance(item, Mapping) else item) for item in card[top[0]]}
    said = parts(card).get(task, {})
    for name in ALLOWED.get(task, ()):
        if isinstance(said.get(name), list):
            return {str(one) for one in said[name]}
    return None


def absent(card: Card, there: Iterable[str]) -> Iterator[Finding]:
    """Tasks whose file the card names, or whose records it counts, and that are not in the set."""
    for task, said in parts(card).items():
        if task in TASKS and task not in there and ("file" in said or isinstance(said.get("records"), int)):
            what = f"{said.get('file') or f'{task}.jsonl'} is not there, and the card tells of it"
            yield Finding("reference", what, CARD, field=f"tasks.{task}")


def promised(card: Card, measured: Mapping[str, float]) -> Iterator[Finding]:
    """Agreement that is promised (``inter_annotator_agreement: ">0.85 …"``) against what was measured."""
    for task, said in parts(card).items():
        wanted = said.get("inter_annotator_agreement")
        number = NUMBER.search(str(wanted)) if wanted is not None and not isinstance(wanted, Mapping) else None
        if number is None:
            continue
        where = f"tasks.{task}.inter_annotator_agreement"
        if task not in measured:
            yield _promise(f"agreement of {wanted} is promised, and none was measured (--annotations)", where)
        elif measured[task] < float(number[0]) or (">" in str(wanted) and measured[task] == float(number[0])):
            yield _promise(f"agreement of {wanted} is promised, and {measured[task]:.3f} was measured", where)


def _known(name: str) -> str:
    return {"samples": "records", "judgments": "judgements"}.get(name, name)


def _count(where: str, declared: Any, found: Any, other: bool) -> Iterator[Finding]:
    """A declared number, or a table of numbers, against the counted one."""
    if other or isinstance(declared, bool) or found is None:
        return
    if isinstance(declared, int) and isinstance(found, int) and declared != found:
        yield Finding("count", f"{declared:,} declared, {found:,} counted", CARD, field=where)
    if isinstance(declared, Mapping) and isinstance(found, Mapping):
        table = {str(key): value for key, value in declared.items()}
        for key in dict.fromkeys((*table, *found)):
            if table.get(key, 0) != found.get(key, 0):
                message = f"{table.get(key, 0)} declared, {found.get(key, 0)} counted"
                yield Finding("count", message, CARD, field=f"{where}.{key}")


def _sizes(task: str, said: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[Finding]:
    """Samples that are promised for each type or label."""
    groups = found.get("types" if task == "extraction" else "labels") or {}
    names = said.get("entity_types") if isinstance(said.get("entity_types"), list) else None
    wanted = said.get("samples_per_type", said.get("samples_per_label"))
    if isinstance(wanted, int):
        for key in dict.fromkeys((*(str(name) for name in names or ()), *groups)):
            if groups.get(key, 0) < wanted:
                message = f"{wanted} samples a type are promised, and {key} has {groups.get(key, 0)}"
                yield _promise(message, f"tasks.{task}.samples_per_type")
    if said.get("balanced") is True and len(set(groups.values())) > 1:
        low, high = min(groups, key=groups.__getitem__), max(groups, key=groups.__getitem__)
        message = f"balanced is promised, and {low} has {groups[low]}, {high} {groups[high]}"
        yield _promise(message, f"tasks.{task}.balanced")


def _judgements(said: Mapping[str, object], rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    wanted = said.get("judgements_per_query", said.get("judgments_per_query"))
    if isinstance(wanted, int):
        for row in rows:
            judged = len(row.record["relevant"])
            if judged < wanted:
                message = f"{wanted} judgements a query are promised, and this has {judged}"
                yield row.finding("promise", message, "relevant")


def _promise(message: str, field: str) -> Finding:
    return Finding("promise", message, CARD, field=field)


Tables = Mapping[str, Sequence[LocatedRecord]]


def shared(card: Mapping[str, Any], folder: Path, rows: Tables, passages: Mapping[str, str]) -> Iterator[Finding]:
    """Documents and tables, recounted."""
    said = card.get("documents")
    if isinstance(said, Mapping):
        documents: dict[str, LocatedRecord] = {}
        for task in rows:
            if task not in ("retrieval", "answering"):
                for row in rows[task]:
                    documents.setdefault(str(row.record["id"]), row)
        found = {"records": len(documents)} | {
            name: tally(row.record[key] for row in documents.values() if row.record.get(key))
            for name, key in (("splits", "split"), ("languages", "language"))
        }
        yield from _against(said, found, "documents")
    yield from _tables(card, folder, rows)
    retrieval = (card.get("tasks") or {}).get("retrieval") if isinstance(card.get("tasks"), Mapping) else None
    if isinstance(retrieval, Mapping) and "cross_lingual" in retrieval and passages:
        yield from _against(retrieval, {"cross_lingual": _cross_lingual(rows)}, "tasks.retrieval")


def _tables(card: Mapping[str, object], folder: Path, rows: Tables) -> Iterator[Finding]:
    tables = card.get("tables")
    for name, said in (tables if isinstance(tables, Mapping) else {}).items():
        if not isinstance(said, Mapping) or not isinstance(said.get("file"), str):
            continue
        try:
            lines = [line for line in files.lines(folder / said["file"]) if line.strip()]
        except DataError as error:
            yield unreadable(error, said["file"])
            continue
        found = {"records": len(lines)}
        if "used" in said:
            used = {
                one
                for row in rows.get("linking", ())
                for link in row.record["links"]
                for ids in link["ids"].values()
                for one in ids
            }
            known = sum(_id(line) in used for line in lines)
            found |= {"used": known, "distractors": len(lines) - known}
        yield from _against(said, found, f"tables.{name}")


def _id(line: str) -> str | None:
    try:
        found = jsonl.value(line)
    except DataError:
        return None
    return str(found["id"]) if isinstance(found, dict) and "id" in found else None


def _cross_lingual(rows: Tables) -> int:
    """Queries with a relevant document in another language than their own."""
    languages = {
        str(row.record["id"]): row.record.get("language")
        for task in rows
        if task not in ("retrieval", "answering")
        for row in rows[task]
    }
    return sum(
        any(
            grade > 0 and languages.get(key) not in (None, row.record.get("language"))
            for key, grade in row.record["relevant"].items()
        )
        for row in rows.get("retrieval", ())
        if isinstance(row.record["relevant"], Mapping)
    )


def _against(said: Mapping[str, object], found: Mapping[str, object], where: str) -> Iterator[Finding]:
    for name, here in found.items():
        declared = said.get(name)
        if isinstance(declared, int) and isinstance(here, int) and declared != here:
            yield Finding("count", f"{declared:,} declared, {here:,} counted", CARD, field=f"{where}.{name}")
        if isinstance(declared, Mapping) and isinstance(here, Mapping):
            for key in dict.fromkeys((*map(str, declared), *here)):
                if declared.get(key, 0) != here.get(key, 0):
                    message = f"{declared.get(key, 0)} declared, {here.get(key, 0)} counted"
                    yield Finding("count", message, CARD, field=f"{where}.{name}.{key}")


FIELD = "inter_annotator_agreement"
ROUNDING = 0.5e-4 + 1e-9


def stated(task: str, said: Mapping[str, object], folder: Path) -> Iterator[Finding]:
    """What a card states of a task's agreement, measured again; a card that states no figures is left alone."""
    stated = said.get(FIELD)
    if not isinstance(stated, Mapping):
        return
    where = f"tasks.{task}.{FIELD}"
    passes = stated.get("passes")
    if not isinstance(passes, list) or len(passes) < 2 or not all(isinstance(one, str) for one in passes):
        yield _finding("agreement is stated without 'passes', the list of files that it was measured on", where)
        return
    files = [folder / one for one in passes]
    for one, file in zip(passes, files, strict=True):
        if not file.resolve().is_relative_to(folder.resolve()):
            yield _finding(f"{one!r} lies outside the set", f"{where}.passes")
            return
    try:
        from goldassay.gold.agreement import agree_files

        found = agree_files(files, task)
    except (GoldassayError, OSError) as error:
        yield _finding(f"agreement is stated, and its passes cannot be compared: {error}", f"{where}.passes")
        return
    measured: dict[str, dict[str, float]] = {}
    for figure in found.figures:
        if figure.type is None and figure.interval is not None:
            bounds = figure.interval
            known = {"value": bounds.value, "low": bounds.low, "high": bounds.high}
            # Of several pairs the lowest counts, as for promises.
            if figure.name not in measured or known["value"] < measured[figure.name]["value"]:
                measured[figure.name] = known
    for name, value in stated.items():
        at = f"{where}.{name}"
        if name == "records":
            if value != found.records:
                yield _finding(f"{value} records are stated, and the passes share {found.records}", at)
        elif isinstance(value, Mapping):
            yield from _figure(str(name), value, measured, at)


def _figure(
    name: str, stated: Mapping[str, object], measured: Mapping[str, Mapping[str, float]], at: str
) -> Iterator[Finding]:
    if name not in measured:
        yield _finding(f"{name} is stated, and the passes give {', '.join(measured)}", at)
        return
    for part, value in measured[name].items():
        number = stated.get(part)
        if number is None:
            continue
        if not isinstance(number, (int, float)) or not abs(number - value) <= ROUNDING:
            yield _finding(f"{name} {part} {number} is stated, and {value:.4f} was measured between the passes", at)


def _finding(message: str, field: str) -> Finding:
    return Finding("promise", message, CARD, field=field)

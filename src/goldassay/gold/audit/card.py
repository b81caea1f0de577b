"""A card against the records: declared counts recounted, label sets, languages, and promises of size and agreement.

Two layouts of cards are read: a card of goldassay (``tasks: {extraction: {records, entities, types, …}}``) and the
founding schema (``gold_standard_dataset: {metadata, ner_annotations: {entity_types, samples_per_type, …}, …}``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import Row
from goldassay.gold.sets import CARD
from goldassay.gold.stats import counted, nil_ratio
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


def audit(card: Card, task: str, rows: Sequence[Row]) -> Iterator[Finding]:
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


def agreement(card: Card, measured: Mapping[str, float]) -> Iterator[Finding]:
    """Agreement that is promised (``inter_annotator_agreement: ">0.85 …"``) against what was measured."""
    for task, said in parts(card).items():
        promised = said.get("inter_annotator_agreement")
        number = NUMBER.search(str(promised)) if promised is not None and not isinstance(promised, Mapping) else None
        if number is None:
            continue
        where = f"tasks.{task}.inter_annotator_agreement"
        if task not in measured:
            yield _promise(f"agreement of {promised} is promised, and none was measured (--annotator)", where)
        elif measured[task] < float(number[0]) or (">" in str(promised) and measured[task] == float(number[0])):
            yield _promise(f"agreement of {promised} is promised, and {measured[task]:.3f} was measured", where)


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


def _judgements(said: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[Finding]:
    wanted = said.get("judgements_per_query", said.get("judgments_per_query"))
    if isinstance(wanted, int):
        for row in rows:
            judged = len(row.record["relevant"])
            if judged < wanted:
                message = f"{wanted} judgements a query are promised, and this has {judged}"
                yield row.finding("promise", message, "relevant")


def _promise(message: str, field: str) -> Finding:
    return Finding("promise", message, CARD, field=field)

"""What there is in gold: records, spans, links, judgements, by split, language, type and stratum.

>>> records = [{"id": "a", "language": "nl", "split": "train", "text": "Delft", "entities":
...     [{"start": 0, "end": 5, "type": "TOP"}]}]
>>> counted("extraction", records)
{'records': 1, 'splits': {'train': 1}, 'languages': {'nl': 1}, 'entities': 1, 'types': {'TOP': 1}}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from goldassay.gold import anyfields
from goldassay.gold.sets import GoldSet
from goldassay.gold.shapes import Record


@dataclass(frozen=True, slots=True)
class TaskStats:
    """The counts of one task; ``by`` is facet, then key, then records and what they hold (``unit``)."""

    task: str
    counts: Mapping[str, Any]
    unit: str
    by: Mapping[str, Mapping[str, tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Stats:
    """The counts of a gold set."""

    name: str
    tasks: Mapping[str, TaskStats]

    def state(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


def stats(gold: GoldSet) -> Stats:
    """The counts of a gold set, task by task."""
    return Stats(gold.name, {task: of(task, found.records) for task, found in gold.tasks.items()})


def of(task: str, records: Sequence[Record]) -> TaskStats:
    """The counts of one task's records."""
    unit, size = UNITS.get(task, ("records", lambda record: 1))
    by: dict[str, dict[str, tuple[int, int]]] = {}
    for record in records:
        keys = {"split": record.get("split"), "language": record.get("language"), **(record.get("strata") or {})}
        if task == "classification":
            keys["label"] = record["label"]
        for facet, key in keys.items():
            group = by.setdefault(facet, {})
            seen, held = group.get(_name(key), (0, 0))
            group[_name(key)] = (seen + 1, held + size(record))
    absent = [facet for facet, group in by.items() if list(group) == ["–"]]
    return TaskStats(
        task, counted(task, records), unit, {facet: group for facet, group in by.items() if facet not in absent}
    )


def counted(task: str, records: Sequence[Record]) -> dict[str, object]:
    """All that can be counted of a task, by the names that cards use."""
    found: dict[str, Any] = {"records": len(records)}
    for name, key in (("splits", "split"), ("languages", "language")):
        if any(record.get(key) for record in records):
            found[name] = tally(record.get(key) for record in records if record.get(key))
    count = COUNTERS.get(task)
    return found | (count(records) if count else anyfields.counted(records))


def tally(values: Iterable[object]) -> dict[str, int]:
    """How often each value occurs; the keys are text, in the order of first use."""
    return dict(Counter(_name(value) for value in values))


def nil_ratio(records: Sequence[Record]) -> float | None:
    """The share of mentions without an identifier."""
    links = [link for record in records for link in record["links"]]
    return sum(not any(link["ids"].values()) for link in links) / len(links) if links else None


def _name(value: Any) -> str:
    if value is None:
        return "–"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _extraction(records: Sequence[Record]) -> dict[str, Any]:
    found = [span["type"] for record in records for span in record["entities"]]
    return {"entities": len(found), "types": tally(found)}


def _classification(records: Sequence[Record]) -> dict[str, Any]:
    second = sum(len(record.get("secondary_labels") or ()) for record in records)
    return {"labels": tally(record["label"] for record in records), "secondary_labels": second}


def _linking(records: Sequence[Record]) -> dict[str, Any]:
    links = [link for record in records for link in record["links"]]
    return {
        "links": len(links),
        "nil": sum(not any(link["ids"].values()) for link in links),
        "identifiers": tally(base for link in links for base, ids in link["ids"].items() for _ in ids),
        "checked": sum(bool(link.get("checked")) for link in links),
    }


def _retrieval(records: Sequence[Record]) -> dict[str, Any]:
    grades = [
        grade
        for record in records
        for grade in (
            record["relevant"].values() if isinstance(record["relevant"], Mapping) else [1] * len(record["relevant"])
        )
    ]
    return {"queries": len(records), "judgements": len(grades), "grades": dict(sorted(tally(grades).items()))}


def _answering(records: Sequence[Record]) -> dict[str, Any]:
    types = [record["answer_type"] for record in records if record.get("answer_type")]
    return {"questions": len(records), "unanswerable": sum(not record["answers"] for record in records)} | (
        {"answer_types": tally(types)} if types else {}
    )


def _triples(records: Sequence[Record]) -> dict[str, Any]:
    triples = [triple for record in records for triple in record["triples"]]
    found: dict[str, Any] = {"triples": len(triples), "predicates": tally(triple["predicate"] for triple in triples)}
    for name, key in (("object_types", "object_type"), ("verdicts", "verdict")):
        if any(triple.get(key) for triple in triples):
            found[name] = tally(triple[key] for triple in triples if triple.get(key))
    return found


COUNTERS: dict[str, Callable[[Sequence[Record]], dict[str, Any]]] = {
    "extraction": _extraction,
    "classification": _classification,
    "linking": _linking,
    "retrieval": _retrieval,
    "answering": _answering,
    "triples": _triples,
}
UNITS: dict[str, tuple[str, Callable[[Record], int]]] = {
    "extraction": ("entities", lambda record: len(record["entities"])),
    "classification": ("secondary labels", lambda record: len(record.get("secondary_labels") or ())),
    "linking": ("links", lambda record: len(record["links"])),
    "retrieval": ("judgements", lambda record: len(record["relevant"])),
    "answering": ("answers", lambda record: len(record["answers"])),
    "triples": ("triples", lambda record: len(record["triples"])),
}

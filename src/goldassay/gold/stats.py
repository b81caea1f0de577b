"""What a gold set holds: records, spans, links, judgements, by split, language, type and stratum.

>>> records = [{"id": "a", "language": "nl", "split": "train", "text": "Delft", "entities":
...     [{"start": 0, "end": 5, "type": "TOP"}]}]
>>> counted("extraction", records)
{'records': 1, 'splits': {'train': 1}, 'languages': {'nl': 1}, 'entities': 1, 'types': {'TOP': 1}}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from goldassay.gold import anyfields
from goldassay.gold.records import grades, labels_of
from goldassay.gold.sets import GoldSet
from goldassay.gold.shapes import Record

UNITS = {
    "extraction": ("entities", "entities"),
    "classification": ("secondary labels", "secondary_labels"),
    "linking": ("links", "links"),
    "retrieval": ("judgements", "relevant"),
    "answering": ("answers", "answers"),
    "triples": ("triples", "triples"),
    "records": ("fields", "record"),
}
"""What is counted in a record beside the record itself: its name and its field."""


def stats(gold: GoldSet) -> dict[str, Any]:
    """The counts of a gold set, task by task: ``{name, tasks: {task: {task, counts, unit, by}}}``.

    ``by`` is facet, then key, then the numbers of records and of what they hold (``unit``).
    """
    return {"name": gold.name, "tasks": {task: of_task(task, part.records) for task, part in gold.tasks.items()}}


def of_task(task: str, records: Sequence[Record]) -> dict[str, Any]:
    """The counts of one task's records."""
    unit, field = UNITS.get(task, ("records", ""))
    by: dict[str, dict[str, tuple[int, int]]] = {}
    for record in records:
        keys = {"split": record.get("split"), "language": record.get("language"), **(record.get("strata") or {})}
        if task == "classification" and "label" in record:
            keys["label"] = record["label"]
        for facet, key in keys.items():
            group = by.setdefault(facet, {})
            several, items = group.get(_name(key), (0, 0))
            group[_name(key)] = (several + 1, items + (len(record.get(field) or ()) if field else 1))
    by = {facet: group for facet, group in by.items() if list(group) != ["–"]}
    return {"task": task, "counts": counted(task, records), "unit": unit, "by": by}


def counted(task: str, records: Sequence[Record]) -> dict[str, Any]:
    """How many records there are, and what they hold; the counts that a card declares have these names."""
    counts: dict[str, Any] = {"records": len(records)}
    for name, key in (("splits", "split"), ("languages", "language")):
        if any(record.get(key) for record in records):
            counts[name] = tally(record[key] for record in records if record.get(key))
    if task not in UNITS:
        return counts | anyfields.counted(records)
    field = UNITS[task][1]
    items = [item for record in records for item in record.get(field) or ()]
    if task == "extraction":
        return counts | {"entities": len(items), "types": tally(span["type"] for span in items)}
    if task == "classification":
        labels = (label for record in records for name, label in labels_of(record) if not name.startswith("secondary"))
        return counts | {"labels": tally(labels), "secondary_labels": len(items)}
    if task == "linking":
        return counts | {
            "links": len(items),
            "nil": sum(not any(link["ids"].values()) for link in items),
            "identifiers": tally(base for link in items for base, ids in link["ids"].items() for _ in ids),
            "checked": sum(bool(link.get("checked")) for link in items),
        }
    if task == "retrieval":
        judged = tally(grade for record in records for grade in grades(record).values())
        return counts | {"queries": len(records), "judgements": len(items), "grades": dict(sorted(judged.items()))}
    if task == "answering":
        counts |= {"questions": len(records), "unanswerable": sum(not record["answers"] for record in records)}
        optional = {"answer_types": [record.get("answer_type") for record in records]}
    elif task == "records":
        return counts | {"fields": tally(name for record in records for name in leaf_fields(record["record"]))}
    else:
        counts |= {"triples": len(items), "predicates": tally(triple["predicate"] for triple in items)}
        optional = {f"{key}s": [triple.get(key) for triple in items] for key in ("object_type", "verdict")}
    return counts | {name: tally(filter(None, values)) for name, values in optional.items() if any(values)}


def leaf_fields(value: Any, path: str = "") -> Iterator[str]:
    """The dotted path of each leaf of a record, without indices.

    >>> list(leaf_fields({"no": "7", "lines": [{"qty": 2}, {"qty": 1}]}))
    ['no', 'lines.qty', 'lines.qty']
    """
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaf_fields(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for item in value:
            yield from leaf_fields(item, path)
    elif value is not None:
        yield path


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

"""``json``: whole entries, as in the founding example: a text with everything annotated in it.

``{id, text, ner_annotations, type_classification, entity_linking, qa_pairs}``, one object or a list of them. There,
links are keyed by the mention's surface; here each becomes a link at every annotated place with this surface, or else
wherever it occurs in the text. Questions are named ``ID-q1``, ``ID-q2``, … A list of records, or lists by split, is
read by `goldassay.gold.formats.tables`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold import anyfields
from goldassay.gold.formats import Row, Source, is_by_split, tables, task_of_record
from goldassay.gold.records import SPANS, as_prediction, prove
from goldassay.measure import TASKS as TASKS

OPTIONS = ()
KEYS = {"wikidata": "wikidata_id", "viaf": "viaf_id", "isil": "isil_code", "ghcid": "ghcid"}
KEYS |= {base: base for base in ("gnd", "isni", "orcid", "ror", "geonames")}  # which the founding sample does not name
ABOUT_LINK = ("checked", "rests_on")
ABOUT_ENTRY = ("document", "language", "split", "strata")
ABOUT_QUESTION = ("answer_type", "supporting_facts", "reference")
PARTS = {
    "extraction": "ner_annotations",
    "classification": "type_classification",
    "linking": "entity_linking",
    "answering": "qa_pairs",
}
LABELS = {"primary_type": "label", "secondary_types": "secondary_labels", "rationale": "rationale"}
Entry = Mapping[str, Any]


def is_flat(content: Any) -> bool:
    """Whether a JSON file is a list of a task's records, or such lists by split, and holds no whole entries."""
    if is_by_split(content):
        return all(map(is_flat, content.values()))
    return isinstance(content, list) and not any(part in entry for part in PARTS.values() for entry in content)


def task_of(file: Path) -> str | None:
    """The task of a file: SQuAD has paragraphs, whole entries a part for each task, and records the fields of one."""
    content = files.json_value(file)
    if is_flat(content):
        return task_of_record(next(iter(anyfields.objects(content)), None))
    text = file.read_text(encoding="utf-8-sig")
    if '"paragraphs"' in text:
        return "answering"
    tasks = [task for task, part in PARTS.items() if f'"{part}"' in text]
    return tasks[0] if len(tasks) == 1 else None


def rows(source: Source) -> Iterator[Row]:
    """The records of a task, from the entries that have its part."""
    content, part = files.json_value(source.path), PARTS.get(source.task)
    if part is None or is_flat(content):
        yield from tables.rows(source)
        return
    entries = content if isinstance(content, list) else [content]
    for number, entry in enumerate(entries):
        with source.checking(field=f"[{number}]"):
            if not isinstance(entry["text"], str):
                raise DataError(f"the text of an entry is {entry['text']!r}")
            if part in entry:
                with source.checking(record=entry["id"], field=part):
                    yield from map(Row, _records(entry, source))
    if not any(isinstance(entry, dict) and part in entry for entry in entries):
        raise DataError(f"no entry has {part}", file=source.path)


def _records(entry: Entry, source: Source) -> Iterator[dict[str, Any]]:
    about = {"id": entry["id"], **{key: entry[key] for key in ABOUT_ENTRY if key in entry}}
    part = entry[PARTS[source.task]]
    document = {**about, "text": entry["text"]}
    if source.task == "extraction":
        records = [{**document, "entities": part}]
    elif source.task == "classification":
        labels = {field: part[key] for key, field in LABELS.items() if key == "primary_type" or key in part}
        records = [{**document, **labels}]
    elif source.task == "linking":
        records = [{**document, "links": _links(entry)}]
    else:
        records = [_question(entry, about, pair, number) for number, pair in enumerate(part, start=1)]
    for record in records:
        if source.side == "pred" and source.task in SPANS:  # predictions have no text to prove spans by later
            prove(record["text"], record[SPANS[source.task]], SPANS[source.task])
        yield record if source.side == "gold" else as_prediction(record, source.task)


def _links(entry: Entry) -> list[dict[str, Any]]:
    links: list[dict[str, Any]] = []
    for mention, about in entry["entity_linking"].items():
        values = {base: about[key] for base, key in KEYS.items() if about.get(key)}
        ids = {
            base: list(map(str, value)) if isinstance(value, list) else [str(value)] for base, value in values.items()
        }
        places = _places(entry, mention)
        if not places:
            raise DataError(f"mention {mention!r} does not stand in the text", field="entity_linking")
        links += [{**place, "ids": ids} | {key: about[key] for key in ABOUT_LINK if key in about} for place in places]
    return sorted(links, key=lambda link: (link["start"], link["end"]))


def _places(entry: Entry, mention: str) -> list[dict[str, Any]]:
    annotated = [span for span in entry.get("ner_annotations", []) if span.get("text") == mention]
    if annotated:
        return [{key: span[key] for key in ("start", "end", "text", "type") if key in span} for span in annotated]
    places, start = [], entry["text"].find(mention) if mention else -1
    while start >= 0:
        places.append({"start": start, "end": start + len(mention), "text": mention})
        start = entry["text"].find(mention, start + len(mention))
    return places


def _question(entry: Entry, about: Mapping[str, Any], pair: Mapping[str, Any], number: int) -> dict[str, Any]:
    answer = pair["answer"] if "answer" in pair else pair["gold_answer"]
    record = {
        **about,
        "id": f"{entry['id']}-q{number}" if pair.get("id") in (None, "") else pair["id"],
        "question": pair["question"],
        "answers": answer if isinstance(answer, list) else [answer] if answer else [],
        "documents": [entry["id"]],
        "context": entry["text"],
    }
    return record | {key: pair[key] for key in ABOUT_QUESTION if key in pair}

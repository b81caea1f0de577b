"""``json``: whole entries, as in the founding example: a text with everything annotated in it.

``{id, text, ner_annotations, type_classification, entity_linking, qa_pairs}``, one object or a list of them. There,
links are keyed by the mention's surface; here each becomes a link at every annotated place with this surface, or else
wherever it occurs in the text. Questions are named ``ID-q1``, ``ID-q2``, … A list of records, or lists by split, is
read by `goldassay.gold.formats.tables`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay._support.exceptions import DataError
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.core.measure import TASKS
from goldassay.gold import anyfields
from goldassay.gold.formats import Format, Source, SourceRecord, is_by_split, tables, task_of_record
from goldassay.gold.records import SPANS, as_prediction, prove

ID_KEYS = {"wikidata": "wikidata_id", "viaf": "viaf_id", "isil": "isil_code", "ghcid": "ghcid"}
ID_KEYS |= {name: name for name in ("gnd", "isni", "orcid", "ror", "geonames")}  # the founding sample has none of these
ENTRY_PARTS = {
    "extraction": "ner_annotations",
    "classification": "type_classification",
    "linking": "entity_linking",
    "answering": "qa_pairs",
}


def _is_flat(content: Any) -> bool:
    """Whether a JSON file is a list of a task's records, or such lists by split, and holds no whole entries."""
    if is_by_split(content):
        return all(map(_is_flat, content.values()))
    return isinstance(content, list) and not any(
        isinstance(entry, Mapping) and key in entry for key in ENTRY_PARTS.values() for entry in content
    )


def _task_of(file: Path) -> str | None:
    """The task of a file: SQuAD has paragraphs, whole entries a part for each task, and records the fields of one."""
    content = tables.json_rows(file)
    if _is_flat(content):
        return task_of_record(next(iter(anyfields.objects(content)), None))
    entries = [entry for entry in (content if isinstance(content, list) else [content]) if isinstance(entry, Mapping)]
    if isinstance(content, Mapping) and "data" in content:
        return "answering"
    tasks = [task for task, key in ENTRY_PARTS.items() if any(key in entry for entry in entries)]
    return tasks[0] if len(tasks) == 1 else None


def _task_records(source: Source) -> Iterator[SourceRecord]:
    """The records of a task, from the entries that have its part."""
    content = tables.json_rows(source.path)
    key = ENTRY_PARTS.get(source.task)
    if key is None or _is_flat(content):
        yield from tables.rows(source)
        return
    entries = content if isinstance(content, list) else [content]
    if not any(isinstance(entry, dict) and key in entry for entry in entries):
        names = ", ".join({name: None for entry in entries if isinstance(entry, dict) for name in entry}) or "none"
        message = f"records are a list, [{{…}}, {{…}}], or entries with {key}; the fields of this file are {names}"
        raise DataError(message, file=source.path)
    for number, entry in enumerate(entries):
        with source.checking(field=f"[{number}]"):
            if not isinstance(entry["text"], str):
                raise DataError(f"the text of an entry is {entry['text']!r}")
            if key in entry:
                with source.checking(record=entry["id"], field=key):
                    for record in _records(entry, source.task):
                        if source.side == "gold":
                            yield SourceRecord(record)
                            continue
                        if spans := SPANS.get(source.task):  # predictions have no text to prove spans by later
                            prove(record["text"], record[spans], spans)
                        yield SourceRecord(as_prediction(record, source.task))


def _records(entry: Record, task: str) -> list[Fields]:
    """The records of a task in an entry."""
    about = {"id": entry["id"], **_chosen(entry, "document", "language", "split", "strata")}
    document = {**about, "text": entry["text"]}
    content = entry[ENTRY_PARTS[task]]
    if task == "extraction":
        return [{**document, "entities": content}]
    if task == "classification":
        names = {"primary_type": "label", "secondary_types": "secondary_labels", "rationale": "rationale"}
        labels = {field: content[key] for key, field in names.items() if key == "primary_type" or key in content}
        return [{**document, **labels}]
    if task == "linking":  # a link at each place of each mention
        links = []
        for mention, about_mention in content.items():
            ids: dict[str, list[str]] = {}
            for base, key in ID_KEYS.items():
                if value := about_mention.get(key):
                    ids[base] = list(map(str, value)) if isinstance(value, list) else [str(value)]
            places = [span for span in entry.get("ner_annotations", []) if span.get("text") == mention]
            if not places and mention:
                starts = [match.start() for match in re.finditer(re.escape(mention), entry["text"])]
                places = [{"start": start, "end": start + len(mention), "text": mention} for start in starts]
            if not places:
                raise DataError(f"mention {mention!r} is not in the text", field="entity_linking")
            link = {"ids": ids, **_chosen(about_mention, "checked", "rests_on")}
            links += [_chosen(span, "start", "end", "text", "type") | link for span in places]
        return [{**document, "links": sorted(links, key=lambda link: (link["start"], link["end"]))}]
    records = []
    for number, pair in enumerate(content, start=1):
        answers = pair["answer"] if "answer" in pair else pair["gold_answer"]
        if not isinstance(answers, list):
            answers = [answers] if answers else []
        question = {
            "id": f"{entry['id']}-q{number}" if pair.get("id") in (None, "") else pair["id"],
            "question": pair["question"],
            "answers": answers,
            "documents": [entry["id"]],
            "context": entry["text"],
        }
        records.append({**about, **question, **_chosen(pair, "answer_type", "supporting_facts", "reference")})
    return records


def _chosen(fields: Mapping[str, object], *names: str) -> JsonObject:
    return {name: fields[name] for name in names if name in fields}


JSON_FORMAT = Format(TASKS, _task_records, task_of=_task_of)

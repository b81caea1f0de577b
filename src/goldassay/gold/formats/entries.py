"""``json``: whole entries, as in the founding example: a text with all that is known of it.

``{id, text, ner_annotations, type_classification, entity_linking, qa_pairs}``, one object or a list of them. There,
links are keyed by the mention's surface; here each becomes a link at every annotated place that has this surface, or
else wherever it stands in the text. Questions are named ``ID-q1``, ``ID-q2``, … A list of questions alone, or of
answers, is read as well: see `questions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Wrong, stop
from goldassay.gold.formats import questions
from goldassay.gold.records import SPANS, Side, check, prove

TASKS = ("extraction", "classification", "linking", "answering")
OTHERS = ("gnd", "isni", "orcid", "ror", "geonames")  # bases that the founding sample does not name
KEYS = {
    "wikidata": "wikidata_id",
    "viaf": "viaf_id",
    "isil": "isil_code",
    "ghcid": "ghcid",
    **{kb: kb for kb in OTHERS},
}
ABOUT = ("checked", "rests_on")  # what is said of a link beside its identifiers
PART = {
    "extraction": "ner_annotations",
    "classification": "type_classification",
    "linking": "entity_linking",
    "answering": "qa_pairs",
}
Entry = Mapping[str, Any]


def read(path: str | Path, task: str, side: Side = "gold", *, wrong: Wrong = stop) -> list[dict[str, object]]:
    """The records of a task, from the entries that have its part."""
    if task not in TASKS:
        raise GoldassayError(f"format json holds {', '.join(TASKS)}, not {task}")
    found = files.json_value(path)
    if task == questions.TASK and questions.flat(found):
        return questions.from_objects(found, path, side, wrong)
    records = []
    for number, entry in enumerate(found if isinstance(found, list) else [found]):
        if not isinstance(entry, dict) or "id" not in entry or not isinstance(entry.get("text"), str):
            wrong(DataError("an entry is an object with an 'id' and a 'text'", file=path, field=f"[{number}]"))
            continue
        if PART[task] not in entry:
            continue
        try:
            for record in READERS[task](entry):
                if task in SPANS:
                    prove(entry["text"], record[SPANS[task]], SPANS[task], entry["id"])
                records.append(check(record if side == "gold" else predicted(record, task), task, side))
        except DataError as error:
            wrong(error.at(file=path, record=entry["id"]))
        except (AttributeError, KeyError, TypeError) as error:
            wrong(DataError(f"not as in the format: {error}", file=path, record=entry["id"], field=PART[task]))
    if not records:
        raise DataError(f"no entry has {PART[task]}", file=path)
    return records


def _common(entry: Entry) -> dict[str, Any]:
    return {"id": entry["id"], **{key: entry[key] for key in ("language", "split", "strata") if key in entry}}


def _extraction(entry: Entry) -> list[dict[str, Any]]:
    return [{**_common(entry), "text": entry["text"], "entities": entry["ner_annotations"]}]


def _classification(entry: Entry) -> list[dict[str, Any]]:
    found = entry["type_classification"]
    record = {**_common(entry), "text": entry["text"], "label": found["primary_type"]}
    if "secondary_types" in found:
        record["secondary_labels"] = found["secondary_types"]
    if "rationale" in found:
        record["rationale"] = found["rationale"]
    return [record]


def _linking(entry: Entry) -> list[dict[str, Any]]:
    links = []
    for mention, known in entry["entity_linking"].items():
        ids = {kb: _several(known[key]) for kb, key in KEYS.items() if known.get(key)}
        places = _places(entry, mention)
        if not places:
            raise DataError(f"mention {mention!r} does not stand in the text", field="entity_linking")
        about = {key: known[key] for key in ABOUT if key in known}
        links += [{**place, "ids": ids, **about} for place in places]
    return [
        {**_common(entry), "text": entry["text"], "links": sorted(links, key=lambda link: (link["start"], link["end"]))}
    ]


def _several(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _places(entry: Entry, mention: str) -> list[dict[str, Any]]:
    marked = [span for span in entry.get("ner_annotations", []) if span.get("text") == mention]
    if marked:
        return [{key: span[key] for key in ("start", "end", "text", "type") if key in span} for span in marked]
    places, start = [], entry["text"].find(mention) if mention else -1
    while start >= 0:
        places.append({"start": start, "end": start + len(mention), "text": mention})
        start = entry["text"].find(mention, start + len(mention))
    return places


def _answering(entry: Entry) -> list[dict[str, Any]]:
    records = []
    for number, pair in enumerate(entry["qa_pairs"], start=1):
        answer = pair["answer"] if "answer" in pair else pair["gold_answer"]
        record = {
            **_common(entry),
            "id": pair.get("id") or f"{entry['id']}-q{number}",
            "question": pair["question"],
            "answers": answer if isinstance(answer, list) else [answer] if answer else [],
            "documents": [entry["id"]],
            "context": entry["text"],
        }
        records.append(
            record | {key: pair[key] for key in ("answer_type", "supporting_facts", "reference") if key in pair}
        )
    return records


READERS: dict[str, Callable[[Entry], list[dict[str, Any]]]] = {
    "extraction": _extraction,
    "classification": _classification,
    "linking": _linking,
    "answering": _answering,
}


def predicted(record: Mapping[str, Any], task: str) -> dict[str, Any]:
    """A gold record as the prediction that would say the same."""
    base = {"id": record["id"]}
    if task == "extraction":
        return {**base, "entities": record["entities"]}
    if task == "classification":
        return {**base, "label": record["label"], "secondary_labels": record.get("secondary_labels", [])}
    if task == "linking":
        return {
            **base,
            "links": [
                {key: link[key] for key in ("start", "end", "text") if key in link}
                | {"candidates": [{"id": one, "kb": kb} for kb, ids in link["ids"].items() for one in ids]}
                for link in record["links"]
            ],
        }
    return {**base, "answer": (record["answers"] or [""])[0]}


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write entries that hold this task's part; questions on one document become one entry."""
    if task not in TASKS:
        raise GoldassayError(f"format json holds {', '.join(TASKS)}, not {task}")
    if side == "pred":
        if task != questions.TASK:
            raise GoldassayError("format json is written for gold; write predictions as jsonl")
        files.save_json(path, list(records))
        return
    entries: dict[str, dict[str, Any]] = {}
    for record in records:
        document = record["id"] if task != "answering" else (record.get("documents") or [record["id"]])[0]
        text = record.get("text", record.get("context", ""))
        common = {key: record[key] for key in ("language", "split", "strata") if key in record}
        entry = entries.setdefault(document, {"id": document, "text": text, **common})
        WRITERS[task](entry, record)
    files.save_json(path, list(entries.values()))


def _put_entities(entry: dict[str, Any], record: Mapping[str, object]) -> None:
    entry["ner_annotations"] = record["entities"]


def _put_label(entry: dict[str, Any], record: Mapping[str, object]) -> None:
    part = {"primary_type": record["label"], "secondary_types": record.get("secondary_labels")}
    part["rationale"] = record.get("rationale")
    entry["type_classification"] = {key: value for key, value in part.items() if value is not None}


def _put_links(entry: dict[str, Any], record: Mapping[str, Any]) -> None:
    linked: dict[str, dict[Any, Any]] = {}
    spans = []
    for link in record["links"]:
        mention = entry["text"][link["start"] : link["end"]]
        ids: dict[Any, Any] = {
            KEYS.get(kb, kb): found[0] if len(found) == 1 else found for kb, found in link["ids"].items() if found
        }
        ids |= {key: link[key] for key in ABOUT if key in link}
        if linked.setdefault(mention, ids) != ids:
            raise DataError(
                f"{mention!r} has two meanings here, which json keys by surface; write jsonl", record=record["id"]
            )
        spans.append({key: link[key] for key in ("start", "end", "type") if key in link} | {"text": mention})
    entry["ner_annotations"], entry["entity_linking"] = spans, linked


def _put_question(entry: dict[str, Any], record: Mapping[str, Any]) -> None:
    answers = record["answers"]
    pair = {"id": record["id"], "question": record["question"], "answer": answers[0] if len(answers) == 1 else answers}
    pair |= {key: record[key] for key in ("answer_type", "supporting_facts", "reference") if key in record}
    entry.setdefault("qa_pairs", []).append(pair)


WRITERS: dict[str, Callable[[dict[str, Any], Mapping[str, Any]], None]] = {
    "extraction": _put_entities,
    "classification": _put_label,
    "linking": _put_links,
    "answering": _put_question,
}

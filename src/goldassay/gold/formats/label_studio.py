"""``label-studio``: tasks of Label Studio, as it exports them (JSON) and as it imports them.

Gold is the first annotation of a task that was not cancelled, a prediction the first of its predictions. Regions of
type ``labels`` are entities, ``choices`` are the label and, if several were ticked, the secondary ones. The other
fields of a record are in ``data`` and come back; what a record has no field for goes to ``meta``. A task that nobody
annotated is left out.

Label Studio counts offsets in a browser, where a character beyond the first plane (an emoji) counts twice: a region
whose words stand at such offsets is read so.

Source: https://labelstud.io/guide/export and https://labelstud.io/guide/predictions
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay.core.fields import JsonObject, Record
from goldassay.gold.formats import Format, Source, SourceRecord
from goldassay.gold.records import is_labelled
from goldassay.gold.shapes import SHAPES, Side

ANNOTATED = ("entities", "label", "secondary_labels")
SHOWN_FIELDS = ("errors", "score")  # what `goldassay runs export --format label-studio` shows people with the text


def _tasks(source: Source) -> Iterator[SourceRecord]:
    """One record a task that was annotated (or, as predictions, that has one)."""
    content = files.json_value(source.path)
    if not isinstance(content, list):
        raise DataError("not Label Studio's: a list of tasks is needed", file=source.path)
    section = "predictions" if source.side == "pred" else "annotations"
    shape = SHAPES[source.side][source.task].__annotations__
    empty = bool(content)
    for number, task in enumerate(content, start=1):
        with source.checking(record=number):
            data = task["data"]
            name = str(data.get("id", task.get("id", number)))
            with source.checking(record=name):
                if "text" not in data:
                    raise DataError(f"its data has no text; there are {', '.join(data) or 'none'}", field="data")
                results = [item for item in task.get(section) or () if not item.get("was_cancelled")]
                if not results and not source.drafts:
                    continue
                fields = {key: value for key, value in data.items() if key in shape and key not in (*ANNOTATED, "id")}
                unknown = {key: value for key, value in data.items() if key not in shape and key not in SHOWN_FIELDS}
                if unknown:
                    fields["meta"] = {**unknown, **fields.get("meta", {})}
                if results:
                    empty = False
                    fields |= _annotations(results[0].get("result") or [], data["text"], source.task)
                yield SourceRecord({"id": name, **fields})
    if empty and source.side == "pred":
        raise DataError("no task has a prediction", file=source.path)


def _annotations(regions: Sequence[Record], text: str, task: str) -> JsonObject:
    """The entities or labels of regions; the offsets of an entity are proved by its words if it has them."""
    if task == "extraction":
        spans = []
        for value in (region["value"] for region in regions if region["type"] == "labels"):
            start = int(value["start"])
            end = int(value["end"])
            words = value.get("text")
            if isinstance(words, str) and text[start:end] != words:
                # A browser counts UTF-16 units: the characters of the first `start` units are the real offset.
                start = len(text.encode("utf-16-le")[: 2 * start].decode("utf-16-le", "replace"))
                end = start + len(words)
            if not 0 <= start < end <= len(text) or words not in (None, text[start:end]):
                message = f"{words!r} is not at {value['start']}–{value['end']} of the text"
                raise DataError(message, field="result.value")
            if not value["labels"]:
                raise DataError(f"the region at {value['start']}–{value['end']} has no label", field="result.value")
            spans.append({"start": start, "end": end, "type": str(value["labels"][0]), "text": text[start:end]})
        return {"entities": sorted(spans, key=lambda span: (span["start"], span["end"]))}
    choices = [region["value"]["choices"] for region in regions if region["type"] == "choices"]
    labels = [str(label) for chosen in choices for label in chosen]
    if not labels:
        raise DataError("nobody chose a label", field="result")
    return {"label": labels[0], **({"secondary_labels": labels[1:]} if labels[1:] else {})}


def _write(path: str | Path, records: Iterable[Record], task: str, side: Side) -> None:
    """Tasks with an annotation each, or with a prediction each; those of a draft have what each system suggested."""
    section = "predictions" if side == "pred" else "annotations"
    tasks = []
    for record in records:
        text = str(record.get("text", ""))
        exported: JsonObject = {"data": {key: value for key, value in record.items() if key not in ANNOTATED}}
        if suggestions := record.get("suggestions"):
            exported["predictions"] = [
                {"model_version": name, "result": _regions(answer, text)} for name, answer in suggestions.items()
            ]
        labelled = side == "pred" or is_labelled(record, task)
        exported[section] = [{"result": _regions(record, text)}] if labelled else []
        tasks.append(exported)
    files.save(path, json.dumps(tasks, ensure_ascii=False, indent=1) + "\n")


def _regions(record: Record, text: str) -> list[JsonObject]:
    """The regions of a record's entities and labels; an entity that is not in the text has none."""
    regions: list[JsonObject] = []
    for span in record.get("entities") or ():
        if span["start"] is not None:
            start = span["start"]
            end = span["end"]
            value = {"start": start, "end": end, "text": span.get("text") or text[start:end]}
            value["labels"] = [str(span.get("type", ""))]
            names = {"from_name": "entities", "to_name": "text", "type": "labels"}
            regions.append({"id": f"p{len(regions)}", **names, "value": value})
    if isinstance(record.get("label"), str):
        value = {"choices": [record["label"], *(record.get("secondary_labels") or ())]}
        names = {"from_name": "choice", "to_name": "text", "type": "choices"}
        regions.append({"id": "label", **names, "value": value})
    return regions


LABEL_STUDIO_FORMAT = Format(("extraction", "classification"), _tasks, _write)

"""``label-studio``: tasks of Label Studio, as it exports them (JSON) and as it imports them.

Gold is the first annotation of a task that was not cancelled, a prediction the first of its predictions. Regions of
type ``labels`` are entities, ``choices`` are the label and, where several were ticked, the secondary ones. Everything
else that is known of a record stands in ``data`` and comes back. A task that nobody annotated is left out.

Label Studio counts offsets in a browser, where a character beyond the first plane (an emoji) counts twice: a region
whose words stand at such offsets is read so.

Source: https://labelstud.io/guide/export and https://labelstud.io/guide/predictions
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Wrong, stop
from goldassay.gold.records import Side

TASKS = ("extraction", "classification")
OURS = ("entities", "label", "secondary_labels")
NOTES = ("errors", "score")  # what `goldassay runs export --format label-studio` tells people beside the text


def read(path: str | Path, task: str, side: Side = "gold", *, wrong: Wrong = stop) -> list[dict[str, object]]:
    """One record a task that was annotated (or, as predictions, that has one)."""
    if task not in TASKS:
        raise GoldassayError(f"format label-studio holds {' and '.join(TASKS)}, not {task}")
    found = files.json_value(path)
    if not isinstance(found, list):
        raise DataError("not Label Studio's: a list of tasks is needed", file=path)
    out = []
    for number, one in enumerate(found, start=1):
        try:
            record = _record(one, number, task, side)
        except DataError as error:
            wrong(error.at(file=path), "schema")
            continue
        if record is not None:
            out.append(record)
    if found and not out and side == "pred":
        raise DataError("no task has a prediction", file=path)
    return out


def _record(one: Any, number: int, task: str, side: Side) -> dict[str, Any] | None:
    data = one.get("data") if isinstance(one, Mapping) else None
    if not isinstance(data, Mapping):
        raise DataError("a task has no data", record=number, field="data")
    name = str(data.get("id", one.get("id", number)))
    text = data.get("text")
    if not isinstance(text, str):
        raise DataError("a task has no text", record=name, field="data.text")
    made = one.get("predictions" if side == "pred" else "annotations") or ()
    if not isinstance(made, (list, tuple)):
        raise DataError(f"annotations are a list, not {made!r:.40}", record=name, field="annotations")
    first = next((each for each in made if isinstance(each, Mapping) and not each.get("was_cancelled")), None)
    if first is None:
        return None
    kept = {key: value for key, value in data.items() if key not in (*NOTES, "id")}
    found = first.get("result") or []
    if not isinstance(found, list):
        raise DataError(f"a result is a list of regions, not {found!r:.40}", record=name, field="result")
    regions = [each for each in found if isinstance(each, Mapping)]
    if task == "extraction":
        spans = [_entity(each.get("value"), text, name) for each in regions if each.get("type") == "labels"]
        return {"id": name, **kept, "entities": sorted(spans, key=lambda span: (span["start"], span["end"]))}
    ticked = [str(label) for each in regions if each.get("type") == "choices" for label in _choices(each, name)]
    if not ticked:
        raise DataError("nobody chose a label", record=name, field="result")
    return {"id": name, **kept, "label": ticked[0], **({"secondary_labels": ticked[1:]} if ticked[1:] else {})}


def _choices(region: Mapping[str, object], name: str) -> list[Any]:
    value = region.get("value")
    found = value.get("choices") if isinstance(value, Mapping) else None
    if not isinstance(found, list) or not found:
        raise DataError("a choice without choices", record=name, field="result.value.choices")
    return found


def _entity(value: Any, text: str, name: str) -> dict[str, Any]:
    """An entity of a region; its offsets are proved by its words where it has them."""
    try:
        start, end, label = int(value["start"]), int(value["end"]), str(value["labels"][0])
    except (KeyError, TypeError, ValueError, IndexError):
        raise DataError(f"a region needs start, end and labels, not {value!r}"[:200], record=name) from None
    words = value.get("text")
    if isinstance(words, str) and text[start:end] != words:
        units = text.encode("utf-16-le")
        first = len(units[: 2 * start].decode("utf-16-le", "replace"))
        if text[first : first + len(words)] != words:
            said = f"{words!r} does not stand at {start}–{end}, where the text has {text[start:end]!r}"
            raise DataError(said, record=name, field="result.value")
        start, end = first, first + len(words)
    if not 0 <= start < end <= len(text):
        raise DataError(f"{start}–{end} is outside the text of {len(text)} characters", record=name)
    return {"start": start, "end": end, "type": label, "text": text[start:end]}


def write(path: str | Path, records: Iterable[Mapping[str, object]], task: str, side: Side = "gold") -> None:
    """Tasks with an annotation each, or with a prediction each."""
    if task not in TASKS:
        raise GoldassayError(f"format label-studio holds {' and '.join(TASKS)}, not {task}")
    made = []
    for record in records:
        data = {key: value for key, value in record.items() if key not in OURS}
        made.append({"data": data, "predictions" if side == "pred" else "annotations": [{"result": result(record)}]})
    files.save(path, json.dumps(made, ensure_ascii=False, indent=1) + "\n")


def result(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A record's entities and labels as regions."""
    out: list[dict[str, Any]] = []
    for place, one in enumerate(record.get("entities") or ()):
        value = {key: one[key] for key in ("start", "end", "text")} | {"labels": [str(one.get("type", ""))]}
        out.append({"id": f"p{place}", "from_name": "entities", "to_name": "text", "type": "labels", "value": value})
    if isinstance(record.get("label"), str):
        value = {"choices": [record["label"], *(record.get("secondary_labels") or ())]}
        out.append({"id": "label", "from_name": "choice", "to_name": "text", "type": "choices", "value": value})
    return out

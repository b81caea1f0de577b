"""``text2kgbench``: ground truth (``id sent triples``) and model outputs (``id response triples``) of Text2KGBench.

Its training and validation sentences state one triple each, in fields of their own, with Wikidata's ids (``sub_label
rel_label obj_label sent sub rel obj``); a record of one triple with a ``predicate_id`` is written so.

A repeated id among the outputs is legal there, and its last line counts (one of the published systems has every id
twice); ``pairs`` says so in a warning. An output without ``triples`` is read from its ``response``, by the
benchmark's own pattern: ``relation(subject,object)``.

Source: https://github.com/cenguix/Text2KGBench
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldassay import files, jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Wrong, stop
from goldassay.gold.records import Side

TASKS = ("triples",)
STATEMENT = re.compile(r"(\w+)\((.*?),(.*?)\)", re.DOTALL)
PARTS = (("subject", "sub"), ("predicate", "rel"), ("object", "obj"))
TRAINING = {
    "subject": "sub_label",
    "predicate": "rel_label",
    "object": "obj_label",
    "subject_id": "sub",
    "predicate_id": "rel",
    "object_id": "obj",
}


def read(path: str | Path, task: str, side: Side = "gold", *, wrong: Wrong = stop) -> list[dict[str, object]]:
    """One record a sentence."""
    return _read(path, task, side, wrong)[0]


def pairs(
    task: str, gold: str | Path, pred: str | Path
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Both sides, and a warning when the outputs repeat ids, or are gold."""
    right, repeated = _read(pred, task, "pred")
    warnings = [f"{repeated} outputs repeat an id; the last line of each counts"] if repeated else []
    if any(_stated(jsonl.value(line)) for line in files.lines(pred) if line.strip()):
        warnings.append(f"{pred} holds gold, not predictions; each record counts as its own prediction")
    return read(gold, task), right, warnings


def _read(path: str | Path, task: str, side: Side, wrong: Wrong = stop) -> tuple[list[dict[str, Any]], int]:
    if task not in TASKS:
        raise GoldassayError(f"format text2kgbench holds triples, not {task}")
    found: dict[str, dict[str, Any]] = {}
    repeated = 0
    for number, line in enumerate(files.lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = jsonl.value(line, file=path, line=number)
        except DataError as error:
            wrong(error)
            continue
        try:
            record = _gold(row) if side == "gold" else _pred(row)
        except DataError as error:
            wrong(error.at(file=path, line=number), "schema")
            continue
        if record["id"] in found:
            if side == "gold":
                wrong(DataError("duplicate document id", file=path, line=number, record=record["id"]), "id")
                continue
            repeated += 1
        found[record["id"]] = record
    return list(found.values()), repeated


def _gold(row: Any) -> dict[str, Any]:
    name = _id(row)
    if not isinstance(row.get("sent"), str):
        raise DataError("no text", record=name, field="sent")
    if "triples" not in row and "rel_label" in row:
        found = {field: row.get(key) for field, key in TRAINING.items()}
        if not all(isinstance(found[field], str) for field, _ in PARTS):
            raise DataError("a training line has sub_label, rel_label and obj_label", record=name)
        triple = {field: said for field, said in found.items() if said is not None}
        return {"id": name, "text": row["sent"], "triples": [triple]}
    return {"id": name, "text": row["sent"], "triples": _triples(row.get("triples"), name)}


def _pred(row: Any) -> dict[str, Any]:
    name = _id(row)
    if _stated(row):  # gold as its own prediction: its relations are written as those of outputs are
        said = _gold(row)["triples"]
        return {"id": name, "triples": [{**one, "predicate": one["predicate"].replace(" ", "_")} for one in said]}
    if "triples" in row:
        return {"id": name, "triples": _triples(row["triples"], name)}
    if not isinstance(row.get("response"), str):
        raise DataError("neither 'triples' nor 'response'", record=name)
    return {"id": name, "triples": parse(row["response"])}


def _stated(row: Any) -> bool:
    """Whether a line is one of gold: its statements are objects with a ``rel``, or stand in fields of their own."""
    said = row.get("triples", [row])
    some = said if isinstance(said, list) else []
    return "sent" in row and any(isinstance(one, dict) and ("rel" in one or "rel_label" in one) for one in some)


def parse(response: str) -> list[dict[str, object]]:
    """The statements in a model's answer, as the benchmark's scripts read them.

    >>> parse("author(Inkspell,Cornelia Funke), genre(Inkspell,)")
    [{'subject': 'Inkspell', 'predicate': 'author', 'object': 'Cornelia Funke'}]
    """
    return [
        {"subject": subject, "predicate": relation, "object": value}
        for relation, subject, value in STATEMENT.findall(response.replace("\\_", "_"))
        if subject and value
    ]


def _id(row: Any) -> str:
    if not isinstance(row, dict) or not row.get("id"):
        raise DataError("a line is an object with an 'id'")
    return str(row["id"])


def _triples(found: Any, name: str) -> list[dict[str, Any]]:
    if not isinstance(found, list):
        raise DataError("a list of triples is needed", record=name, field="triples")
    return [_triple(item, name, index) for index, item in enumerate(found)]


def _triple(item: Any, name: str, index: int) -> dict[str, Any]:
    if isinstance(item, dict):
        parts = [item.get(short, item.get(long)) for long, short in PARTS]
    else:
        parts = list(item) if isinstance(item, list) else []
    if len(parts) != 3 or not all(isinstance(part, str) for part in parts):
        raise DataError(
            f"a triple is a subject, a relation and an object, not {item!r}", record=name, field=f"triples[{index}]"
        )
    return {long: part for (long, _), part in zip(PARTS, parts, strict=True)}


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write ground truth, or outputs without their ``response``."""
    if task not in TASKS:
        raise GoldassayError(f"format text2kgbench holds triples, not {task}")
    lines = []
    for record in records:
        row: dict[str, Any] = {"id": record["id"]}
        parts = [[_text(triple[long], record) for long, _ in PARTS] for triple in record["triples"]]
        if side == "gold" and len(parts) == 1 and "predicate_id" in record["triples"][0]:
            said = {key: record["triples"][0].get(field) for field, key in TRAINING.items()}
            labels, ids = dict(list(said.items())[:3]), dict(list(said.items())[3:])
            row |= {**labels, "sent": record.get("text", ""), **ids}
        elif side == "gold":
            row["sent"] = record.get("text", "")
            row["triples"] = [dict(zip([short for _, short in PARTS], part, strict=True)) for part in parts]
        else:
            row["triples"] = parts
        lines.append(json.dumps(row) + "\n")
    files.save(path, "".join(lines))


def _text(part: Any, record: Mapping[str, object]) -> str:
    if not isinstance(part, str):
        raise DataError(f"text2kgbench holds text, not {part!r}; write jsonl", record=record["id"])
    return part

"""Validation of records: pydantic checks the shape, `prove` checks the offsets.

A record that passes is a plain dict. Offsets are proved: ``text[start:end] == span["text"]``, or the error says where
the text really is.

>>> check({"id": 7, "text": "Rijksmuseum", "entities": []}, "extraction")["id"]
'7'
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from goldassay._support.exceptions import DataError
from goldassay._support.files import resource
from goldassay.core.fields import Fields, JsonObject, Record, as_text, message_path
from goldassay.core.measure import ANSWER_FIELDS, FAILURE, NO_PREDICTION, TASKS
from goldassay.core.shape import UNKNOWN_SHAPE
from goldassay.gold.shapes import SHAPES, Side

SAMPLING = "sampling"  # the field of `goldassay.statistics.design`, which loads numpy
SPANS = {"extraction": "entities", "linking": "links"}
TABLE: dict[str, Fields] = resource("tasks.json")
"""Of each task what differs: its ``input``; the ``labels`` (fields that labelling adds, one of which gold has); the
``empty`` prediction, and whether it has ``failed`` (no answer is not the same as an answer that abstains); the ``unit``
that is counted in a record, its name and its field; the values by which files are ``compared`` (each one more costs
power, since the tests are corrected for their number)."""
COLUMN_NAMES: dict[str, dict[str, dict[str, list[str]]]] = resource("columns.json")
"""The fields of each task's gold and predictions with the names that their columns may have, the usual one first."""
INPUT_FIELDS: dict[str, str] = {task: row["input"] for task, row in TABLE.items()}
LABEL_FIELDS: dict[str, Sequence[str]] = {task: row["labels"] for task, row in TABLE.items()}
# The names of alternatives in the locations of pydantic's errors.
UNION_STEPS = re.compile(r"dict\[|list\[|function-|constrained-|(str|int|float|bool|none)$")


@cache
def adapter(task: str, side: Side = "gold") -> TypeAdapter[JsonObject]:
    """The validator of a task's records; raises unless the task is a built-in one."""
    if task not in TASKS:
        raise DataError(f"no task {task!r}; the tasks are {', '.join(TASKS)}")
    return TypeAdapter(SHAPES[side][task])


def schema(task: str, side: Side = "gold") -> Fields:
    """The JSON Schema of a task's records.

    >>> schema("retrieval")["required"]
    ['id', 'query', 'relevant']
    """
    return adapter(task, side).json_schema()


def check(record: object, task: str, side: Side = "gold") -> JsonObject:
    """One record, validated; an error is one line with the field.

    Raises:
        DataError: The record does not have the shape of its task.

    >>> check({"id": "a", "text": "x", "entities": [{"start": "0", "end": 1, "type": "TOP"}]}, "extraction")
    Traceback (most recent call last):
    goldassay._support.exceptions.DataError: record a, entities[0].start: input should be a valid integer, found '0'
    """
    errors = problems(record, task, side)
    if isinstance(errors, list):
        raise errors[0]
    return errors


def problems(
    record: object, task: str, side: Side = "gold", extra: Literal["ignore"] | None = None
) -> Fields | list[DataError]:
    """The validated record with its fields in the order of its shape, or all that is wrong with it.

    Fields that the shape does not have are wrong, or left out with ``extra="ignore"``; a prediction may repeat its
    input (question, query), which is left out. Null where the shape has none is an absent field, and in place of an
    answer an empty one. Gold of trajectories may have ``messages`` in place of ``calls``. Of your own task only
    ``strata`` and ``meta`` have a shape.
    """
    if task not in TASKS and isinstance(record, dict):
        odd = [name for name in ("strata", "meta") if side == "gold" and not isinstance(record.get(name) or {}, dict)]
        faults = []
        for name in odd:
            hint = f'; give the column another name (`map={{"my_{name}": "{name}"}}`)'
            what = f"expected an object, found {record[name]!r:.80}{hint}"
            faults.append(DataError(what, record=record["id"], field=name))
        return faults or record
    input_field = INPUT_FIELDS.get(task, "text")
    if side == "pred" and isinstance(record, dict) and input_field != "text":
        record = {name: value for name, value in record.items() if name != input_field}
    filled = record
    try:
        if side == "gold" and task == "trajectories" and isinstance(record, dict):
            filled = record = _with_calls(record)
        if side == "gold" and task == "answering" and isinstance(record, dict) and record.get("reference"):
            filled = {"answers": [record["reference"]], **record}  # a question with a long answer alone
        checked = adapter(task, side).validate_python(filled, extra=extra)
        if task == "classification" and not any(name in checked for name in ("label", "labels", "score")):
            what = 'this field is missing (or labels, or score); name its column (`map={"label": "COLUMN"}`)'
            return [DataError(what, record=checked["id"], field="label")]
        return checked
    except DataError as error:
        return [error]
    except ValidationError as error:
        fields = record if isinstance(record, dict) else {}
        labels = LABEL_FIELDS[task]
        details = error.errors(include_url=False, include_context=False)
        present = record
        for detail in details:
            if detail["input"] is None:
                empty = {**TABLE[task]["empty"], "answer": ""} if side == "pred" else {}
                present = _without(present, detail["loc"], empty)
        if present != record and isinstance(again := problems(present, task, side, extra), dict):
            return again
        errors: dict[str, DataError] = {}
        for detail in details:
            field = ""
            for step in detail["loc"]:
                if isinstance(step, int):
                    field += f"[{step}]"
                elif not UNION_STEPS.match(step):
                    field += f".{step}" if field else step
            if any(field.startswith(other) or other.startswith(field) for other in errors):
                continue  # of the alternatives of one field only the first is reported
            what = f"{detail['msg'][:1].lower()}{detail['msg'][1:]}, found {_short(repr(detail['input']), 80)}"
            hint = ""  # how to name a field that has another name
            if detail["type"] == "extra_forbidden":
                label = next((name for name in labels if name in fields), "")
                what = "no such field in this record; put what is your own under 'meta'"
                pair = (label or labels[0], label or field)
                if side == "pred" and task == "trajectories":
                    pair = (
                        "trajectory",
                        next(filter(fields.__contains__, ("trajectory", "calls", "messages")), "COLUMN"),
                    )
                mapping = f'`map={{"{pair[0]}": "{pair[1]}"}}`'
                is_own = pair[0] == pair[1]  # with any mapping, the fields that it does not name are the user's
                hint = f", or let {mapping} do that" if is_own else f", or name the fields that count ({mapping})"
            elif detail["type"] == "missing":
                what = "this field is missing"
                if detail["loc"][-1] == "start" and len(detail["loc"]) == 3:
                    what += "; `goldassay.text.spans.locate(text, quotes)` finds start and end of quoted words"
                columns = COLUMN_NAMES.get(task, {}).get(side, {})
                near = [name for name in columns.get(field, ()) if name in fields]
                near = near or get_close_matches(field, fields, 1)
                is_answer = side == "gold" and near[:1] == [ANSWER_FIELDS[task]]  # predictions may have theirs there
                name = f"gold.{field}" if is_answer else field
                hint = f'; name its column (`map={{"{name}": "{message_path(fields, next(iter(near), "COLUMN"))}"}}`)'
                if field == "id" and not near:  # with any mapping, records without ids are numbered
                    usual = {name: columns.get(name, [name]) for name in schema(task, side)["properties"]}
                    pairs = [(name, column) for name, known in usual.items() for column in known if column in fields]
                    for name, column in pairs[:1]:
                        hint = f'; number the records with `map={{"{name}": "{column}"}}`'
            elif detail["type"] == "dict_type" and len(detail["loc"]) == 2:
                shapes = schema(task, side)
                item = shapes["properties"][detail["loc"][0]].get("items", {}).get("$ref", "").rpartition("/")[2]
                what += f"; it is an object with {', '.join(shapes['$defs'][item]['required'])}" if item else ""
            what += hint if len(detail["loc"]) <= 1 else ""
            errors[field] = DataError(what, record=fields.get("id"), field=field or None)
        return list(errors.values())


def _without(value: object, path: Sequence[str | int], empty: JsonObject) -> object:
    """A value without the null at a path, in whose place its ``empty`` value is, if it has one."""
    step, *inside = path
    if isinstance(value, dict) and step in value and value[step] is None:
        fields = {name: inner for name, inner in value.items() if name != step}
        return {**fields, step: empty[step]} if step in empty else fields
    if not inside:
        return value
    if isinstance(value, dict) and step in value:
        return {**value, step: _without(value[step], inside, {})}
    if isinstance(value, list) and isinstance(step, int):
        return [*value[:step], _without(value[step], inside, {}), *value[step + 1 :]]
    return _without(value, inside, empty)  # the step is the name of an alternative


def _with_calls(record: JsonObject) -> JsonObject:
    """Gold with the calls of its messages, if it has no calls of its own."""
    messages = record.get("messages")
    if not isinstance(messages, list) or "calls" in record:
        return record
    from goldassay.measures.trajectories.records import of_messages

    steps = of_messages(messages, strict=True)
    return {**record, "calls": [{"name": step.name, "args": step.args} for step in steps if step.kind == "tool"]}


def is_labelled(record: object, task: str) -> bool:
    """Whether a record has gold, which only one of a draft may lack; of your own task any field that was suggested.

    >>> is_labelled({"id": "a", "text": "x", "sampling": {}}, "extraction"), is_labelled({"id": "a"}, "extraction")
    (False, True)
    """
    if not isinstance(record, Mapping) or record.get(SAMPLING) is None:
        return True
    names = LABEL_FIELDS.get(task, ())
    suggestions = record.get("suggestions")
    if task not in TASKS and isinstance(suggestions, Mapping):
        names = tuple(name for answer in suggestions.values() for name in answer)
    return not names or any(record.get(name) is not None for name in names)


def prove(text: str, spans: Sequence[Mapping[str, object]], field: str, record: object = None) -> None:
    """Raise for the first span that is not where it says.

    >>> prove("ISIL: NL-AmRM)", [{"start": 6, "end": 13, "text": "NL-AmRM"}], "entities")
    >>> prove("(ISIL: NL-AmRM)", [{"start": 6, "end": 13, "text": "NL-AmRM"}], "entities")
    Traceback (most recent call last):
    goldassay._support.exceptions.DataError: entities[0]: text[6:13] is ' NL-AmR', not 'NL-AmRM', which is at 7:14
    """
    for index, span in enumerate(spans if text else ()):  # some benchmarks' files have no text
        message = span_fault(text, span)
        if message:
            raise DataError(message, record=record, field=f"{field}[{index}]")


def span_fault(text: str, span: Record) -> str | None:
    """The fault of a span; None if its text is where it says.

    A predicted span that its system did not find in the text has ``null`` for both offsets, and its words.
    """
    start = span["start"]
    end = span["end"]
    expected = span.get("text")
    if start is None or end is None:
        if start is not None or end is not None:
            return "start and end are both numbers or both null"
        is_complete = expected and not span.get("fragments")
        return None if is_complete else "a span without offsets has its words under 'text', and no fragments"
    if end <= start:
        return f"the end ({end}) is not after the start ({start})"
    actual = covered(text, span)
    if end <= len(text) and expected in (None, actual):
        return None
    offset = nearest(text, expected, start) if expected else None
    hint = "does not occur in it" if offset is None else f"is at {offset}:{offset + len(expected or '')}"
    if end > len(text):
        message = f"{start}:{end} reaches beyond the text, which has {len(text)} characters"
        return message if expected is None else f"{message}; it {hint}"
    return f"text[{start}:{end}] is {_short(repr(actual))}, not {_short(repr(expected))}, which {hint}"


def covered(text: str, span: Record) -> str:
    """The text under a span; the pieces of a discontinuous one are joined by a space, as in brat."""
    fragments = span.get("fragments")
    if fragments:
        return " ".join(text[start:end] for start, end in fragments)
    return text[span["start"] : span["end"]]


def nearest(text: str, words: str, start: int) -> int | None:
    """Where ``words`` occur closest to ``start``; None if they do not occur."""
    offsets = (text.rfind(words, 0, start + len(words)), text.find(words, start))
    places = [offset for offset in offsets if offset >= 0 and words]
    return min(places, key=lambda offset: abs(offset - start), default=None)


def _short(text: str, most: int = 64) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def empty_prediction(name: str, task: str) -> Fields:
    """The prediction of a gold record that has none."""
    has_failed = TABLE.get(task, {"failed": True}).get("failed")
    return {"id": name, **empty_fields(task), **({FAILURE: NO_PREDICTION} if has_failed else {})}


def empty_fields(task: str) -> Fields:
    """The answer of a prediction that says nothing; of your own task it has no field."""
    fields: Fields = deepcopy(TABLE.get(task, {"empty": {}})["empty"])
    return fields


def as_prediction(record: Record, task: str) -> Fields:
    """The prediction that says what a gold record says, which every measure gives its best value.

    >>> as_prediction({"id": "q", "query": "x", "relevant": {"a": 1, "b": 2, "c": 0}}, "retrieval")["results"]
    [{'doc_id': 'b', 'score': 2.0}, {'doc_id': 'a', 'score': 1.0}]
    """
    if task == "records" or task not in TASKS:
        return dict(record)
    if task == "classification":
        label_fields = ("label", "labels", "secondary_labels", "score")
        return {name: record[name] for name in ("id", *label_fields) if record.get(name) is not None}
    answer = {"id": record["id"]}
    if task == "retrieval":
        order = sorted(grades(record).items(), key=lambda judged: -judged[1])
        return answer | {"results": [{"doc_id": name, "score": float(grade)} for name, grade in order if grade > 0]}
    if task == "answering":
        return answer | {"answer": next(iter(record["answers"]), "")}
    if task == "trajectories":
        steps = []
        for call in first_acceptable(record["calls"]):
            args = {}
            for name, value in (call.get("args") or {}).items():
                has_alternatives = isinstance(value, list) and bool(value)
                first = value[0] if has_alternatives else value
                if not has_alternatives or first not in ("", None):
                    args[name] = first
            steps.append({"kind": "tool", "name": call["name"], "args": args})
        return answer | {"trajectory": steps, "answer": next(iter(record.get("answers") or ()), None)}
    if task == "linking":
        links = []
        for link in record["links"]:
            ids = dict(link.get("ids") or {})
            mention = {name: link[name] for name in ("start", "end", "text", "fragments", "type") if name in link}
            links.append({**mention, "candidates": candidates(ids), "ids": ids})
        return answer | {"links": links}
    field = SPANS.get(task, task)
    return answer | {field: [dict(item) for item in record[field]]}


def first_acceptable(calls: Sequence[Any]) -> Sequence[Fields]:
    """The calls of gold, of several acceptable lists the first.

    >>> first_acceptable([[{"name": "search"}], [{"name": "search"}, {"name": "read"}]])
    [{'name': 'search'}]
    """
    return calls[0] if calls and isinstance(calls[0], list) else calls


def as_gold(output: Record, task: str) -> JsonObject:
    """The answer of a system in the fields of gold, for a person to accept or correct.

    What gold cannot have (a span that is not in the text) is left out, and no document is judged. So are working notes
    (``reasoning``, ``trajectory``): nobody is asked for them, and gold of another answer never has them.

    >>> as_gold({"answer": "1800"}, "answering"), as_gold({"results": [{"doc_id": "a"}]}, "retrieval")
    ({'answers': ['1800']}, {'relevant': {}})
    """
    if task not in TASKS:
        return {name: output[name] for name in UNKNOWN_SHAPE.answer(output)}
    if task == "retrieval":
        return {"relevant": {}}
    answer = as_text(output.get("answer"))
    if task == "answering":
        return {"answers": [answer] if answer else []}
    if task == "trajectories":
        from goldassay.measures.trajectories.records import trajectory

        answers = {"answers": [answer]} if answer else {}
        return {"calls": [{"name": call.name, "args": dict(call.args)} for call in trajectory(output).calls], **answers}
    names = (*LABEL_FIELDS[task], "secondary_labels")
    value = {name: output[name] for name in names if output.get(name) is not None}
    if task in (*SPANS, "triples"):
        field = SPANS.get(task, task)
        items = []
        for item in value.get(field, ()):
            if item.get("start", 0) is None:
                continue
            items.append({name: item[name] for name in item if name not in ("confidence", "form", "candidates")})
            if task == "linking" and not item.get("ids"):  # a mention has the identifiers of its best candidate
                best = next(iter(item.get("candidates") or ()), {"id": "NIL"})
                items[-1]["ids"] = {} if best["id"] == "NIL" else candidate_ids(best)
        value[field] = items
    return value


def candidate_ids(candidate: Mapping[str, object]) -> dict[str, list[str]]:
    """The identifiers of a candidate by knowledge base.

    >>> candidate_ids({"id": "Q190804"})
    {'wikidata': ['Q190804']}
    """
    return {str(candidate.get("kb") or "wikidata"): [str(candidate["id"])]}


def candidates(ids: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """The ids of a link, by knowledge base, as the candidates of a prediction.

    >>> candidates({"wikidata": ["Q190804"], "viaf": ["7"]})
    [{'id': 'Q190804', 'kb': 'wikidata'}, {'id': '7', 'kb': 'viaf'}]
    """
    return [{"id": identifier, "kb": base} for base, identifiers in ids.items() for identifier in identifiers]


def labels_of(record: Record) -> list[tuple[str, str]]:
    """Each label of a record of classification, with its field.

    >>> labels_of({"label": "M", "secondary_labels": ["G"]}), labels_of({"labels": ["a"]})
    ([('label', 'M'), ('secondary_labels[0]', 'G')], [('labels[0]', 'a')])
    """
    single = [("label", record["label"])] if record.get("label") is not None else []
    lists = ((name, enumerate(record.get(name) or ())) for name in ("labels", "secondary_labels"))
    return [*single, *((f"{name}[{index}]", label) for name, labels in lists for index, label in labels)]


def folded_answers(record: Record) -> list[str]:
    """The answers of a question without case; the spans of one are joined."""
    texts = (answer if isinstance(answer, str) else " | ".join(answer) for answer in record["answers"])
    return [" ".join(text.split()).casefold() for text in texts]


def grades(record: Record) -> dict[str, float]:
    """The judged documents of a query with their grades; those of a list have grade 1.

    >>> grades({"relevant": ["a"]})
    {'a': 1}
    """
    judged = record["relevant"]
    return dict(judged) if isinstance(judged, Mapping) else dict.fromkeys(judged, 1)


def leaves(record: object) -> list[tuple[str, object]]:
    """The leaf fields of a structured record with their values, as records are compared.

    >>> leaves({"no": "7", "lines": [{"qty": 2}, {"qty": 1}]})
    [('no', '7'), ('lines.qty', 2), ('lines.qty', 1)]
    """
    from goldassay.measures.records import matching, records

    item = matching.FieldItem(records.record_of(record))
    return [(leaf.field, leaf.value) for leaf in matching.RecordComparison().leaves(item)]

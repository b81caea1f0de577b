"""Texts, languages, and what a record says twice or against itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from unicodedata import category

from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import Row
from goldassay.gold.formats.judged import VERDICTS
from goldassay.gold.offsets import nearest
from goldassay.gold.records import INPUTS

TAG = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?(-[0-9A-Za-z]{4,8})*")
REPLACED = "\ufffd"


def audit(row: Row) -> Iterator[Finding]:
    """The text, the language and the sense of a record."""
    yield from _text(row)
    language = row.record.get("language")
    if language and not TAG.fullmatch(language):
        yield row.finding("language", f"not a language tag as in BCP 47 (nl, en-GB), found {language!r}", "language")
    yield from {"classification": _labels, "answering": _answers, "triples": _triples, "retrieval": _grades}.get(
        row.task, _nothing
    )(row)


def _text(row: Row) -> Iterator[Finding]:
    field = INPUTS[row.task]
    text = row.record.get(field)
    if text is None:
        return
    if not text.strip():
        yield row.finding("text", "the text is empty", field)
    if REPLACED in text:
        at = text.index(REPLACED)
        yield row.finding("text", f"U+FFFD at {at}: a character was lost when this was decoded", field)
    control = next(
        (at for at, char in enumerate(text) if category(char) in ("Cc", "Cs") and char not in "\n\t\r"), None
    )
    if control is not None:
        yield row.finding("text", f"the control character U+{ord(text[control]):04X} at {control}", field)


def _labels(row: Row) -> Iterator[Finding]:
    second = row.record.get("secondary_labels") or []
    if row.record["label"] in second:
        yield row.finding("conflict", f"{row.record['label']!r} is both label and secondary label", "secondary_labels")
    if len(set(second)) < len(second):
        yield row.finding("repeated", "a secondary label stands here twice", "secondary_labels")


def _answers(row: Row) -> Iterator[Finding]:
    record: Mapping[str, Any] = row.record
    unanswerable = record.get("answer_type") == "unanswerable"
    if unanswerable and record["answers"]:
        yield row.finding("conflict", "unanswerable, and yet it has an answer", "answers")
    if not unanswerable and record.get("answer_type") and not record["answers"]:
        yield row.finding("conflict", f"no answer, and yet the type is {record['answer_type']}", "answers")
    folded = [" ".join(answer.split()).casefold() for answer in record["answers"]]
    if "" in folded:
        yield row.finding("text", "an answer is empty; an unanswerable question has no answers", "answers")
    if len(set(folded)) < len(folded) and "answer_starts" not in record:
        yield row.finding("repeated", "an answer stands here twice", "answers")
    context, starts = record.get("context"), record.get("answer_starts")
    if context is not None and starts is not None:
        for index, (answer, start) in enumerate(zip(record["answers"], starts, strict=False)):
            if context[start : start + len(answer)] != answer:
                stands = context[start : start + len(answer)]
                place = nearest(context, answer, min(start, len(context)))
                where = "which does not occur in it" if place is None else f"which stands at {place}"
                fix = None if place is None else {"start": place, "end": place + len(answer)}
                said = f"context[{start}:] is {stands!r}, not {answer!r}, {where}"
                yield row.finding("offset", said, f"answers[{index}]", fix)
        if len(starts) != len(record["answers"]):
            said = f"{len(starts)} starts for {len(record['answers'])} answers; each answer needs its own"
            yield row.finding("schema", said, "answer_starts")


def _triples(row: Row) -> Iterator[Finding]:
    keys = [(repr(t["subject"]), t["predicate"], repr(t["object"])) for t in row.record["triples"]]
    for key, count in Counter(keys).items():
        if count > 1:
            index = len(keys) - 1 - keys[::-1].index(key)
            yield row.finding("repeated", "the same statement as another one here", f"triples[{index}]")
    for index, triple in enumerate(row.record["triples"]):
        for part in ("subject", "predicate", "object"):
            if _empty(triple[part]):
                yield row.finding("text", f"the {part} is empty", f"triples[{index}].{part}")
        verdict = triple.get("verdict")
        if verdict is not None and verdict not in VERDICTS:
            said = f"{verdict!r} is not a verdict: {', '.join(VERDICTS)}"
            yield row.finding("label", said, f"triples[{index}].verdict")


def _empty(value: Any) -> bool:
    """Whether a part of a statement says nothing: an empty text, or a typed value without content."""
    if isinstance(value, Mapping):
        return not any(one not in (None, "", [], {}) for key, one in value.items() if key not in ("type", "datatype"))
    return isinstance(value, str) and not value.strip()


def _grades(row: Row) -> Iterator[Finding]:
    judged = row.record["relevant"]
    if isinstance(judged, list) and len(set(judged)) < len(judged):
        yield row.finding("repeated", "a document stands here twice", "relevant")
    if not (any(grade > 0 for grade in judged.values()) if isinstance(judged, Mapping) else judged):
        yield row.finding("promise", "no document is relevant to this query", "relevant")


def _nothing(row: Row) -> Iterator[Finding]:
    return iter(())

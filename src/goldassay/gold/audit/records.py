"""Faults of one record: its spans, identifiers, text, repetitions and contradictions.

Identifiers are checked for their form alone (Wikidata, VIAF, ISIL, GND, ORCID and a few more), not for existence. ISIL
is ISO 15511: a country code (or one, three or four letters for what is no country), a hyphen, and up to eleven letters,
digits, ``:``, ``/`` and ``-``; sixteen characters at most.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unicodedata import category

from goldassay.gold.audit.findings import Finding, LocatedRecord
from goldassay.gold.records import INPUTS, SPANS, covered, folded_answers, grades, nearest, span_fault
from goldassay.measures.triples import VERDICTS


def check(row: LocatedRecord) -> Iterator[Finding]:
    """Everything that is wrong with a record."""
    yield from _spans(row) if row.task in SPANS else ()
    yield from _identifiers(row)
    yield from _text(row)
    language = row.record.get("language")
    if language and not TAG.fullmatch(language):
        yield row.finding("language", f"not a language tag as in BCP 47 (nl, en-GB), found {language!r}", "language")
    checks = {"classification": _labels, "answering": _answers, "triples": _triples, "retrieval": _grades}
    yield from checks[row.task](row) if row.task in checks else ()


def _spans(row: LocatedRecord) -> Iterator[Finding]:
    name, text = SPANS[row.task], row.record["text"]
    end = 0
    for index, (first, last) in enumerate(row.record.get("tokens") or []):
        if not end <= first < last <= len(text):
            message = f"{first}:{last} is no token of the text behind the one before, which ends at {end}"
            yield row.finding("offset", message, f"tokens[{index}]")
            break
        end = last
    sound: list[tuple[int, Mapping[str, Any]]] = []
    for index, span in enumerate(row.record[name]):
        problem = span_fault(text, span)
        if problem:
            place = nearest(text, span.get("text") or "", min(span["start"], len(text)))
            fixable = place is not None and not span.get("fragments")
            fix: dict[str, Any] | None = {"start": place, "end": (place or 0) + len(span["text"])} if fixable else None
            yield row.finding("offset", problem, f"{name}[{index}]", fix)
            continue
        sound.append((index, span))
        words = covered(text, span)
        trimmed = words.strip()
        if words != trimmed and "fragments" not in span:
            start = span["start"] + len(words) - len(words.lstrip())
            fix = {"start": start, "end": start + len(trimmed), "text": trimmed} if trimmed else None
            yield row.finding("edge", f"{words!r} begins or ends with a space", f"{name}[{index}]", fix)
    yield from _pairs(row, name, sound)


def _pairs(row: LocatedRecord, name: str, spans: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Finding]:
    """Crossing and repeated spans; sorted by start, so that only neighbours that can overlap are compared."""
    overlapping: list[tuple[int, Mapping[str, Any]]] = []
    for index, span in sorted(spans, key=lambda item: (item[1]["start"], -item[1]["end"])):
        overlapping = [other for other in overlapping if other[1]["end"] > span["start"]]
        for number, other in overlapping:
            a, b, c, d = other["start"], other["end"], span["start"], span["end"]
            if (a, b) == (c, d):
                if span.get("fragments") == other.get("fragments") and span.get("type") == other.get("type"):
                    yield row.finding("repeated", f"the same span as {name}[{number}]", f"{name}[{index}]")
            elif a < c < b < d and not (span.get("fragments") or other.get("fragments")):
                message = f"{c}:{d} crosses {name}[{number}], {a}:{b}; nest them, or end one earlier"
                yield row.finding("crossing", message, f"{name}[{index}]")
        overlapping.append((index, span))


PATTERNS = {
    "wikidata": (re.compile(r"Q[1-9][0-9]*"), "a Wikidata item is Q and a number"),
    "viaf": (re.compile(r"[1-9][0-9]{0,21}"), "a VIAF id is digits alone, at most 22"),
    "isil": (
        re.compile(r"(?=.{1,16}\Z)(?:[A-Z]{2}|[A-Za-z]|[A-Za-z]{3,4})-[A-Za-z0-9:/-]{1,11}"),
        "an ISIL is a prefix, a hyphen and up to eleven letters, digits or :/-",
    ),
    "gnd": (re.compile(r"[0-9]{1,11}-?[0-9X]"), "a GND id is digits, with a check digit or X"),
    "orcid": (re.compile(r"(?:[0-9]{4}-){3}[0-9]{3}[0-9X]"), "an ORCID is four groups of four digits"),
    "ror": (re.compile(r"0[a-hj-km-np-tv-z0-9]{6}[0-9]{2}"), "a ROR id is 0, six letters or digits and two digits"),
    "isni": (re.compile(r"[0-9]{15}[0-9X]"), "an ISNI is sixteen digits, the last one perhaps X"),
    "geonames": (re.compile(r"[1-9][0-9]*"), "a GeoNames id is a number"),
}
PROPERTY = re.compile(r"P[1-9][0-9]*")
LOOKS_LIKE_PROPERTY = re.compile(r"[Pp]\s*[0-9]\w*")


def malformed(base: str, value: str) -> str | None:
    """What is wrong with an identifier; None where nothing is, or where the base is not known here.

    >>> malformed("wikidata", "Q190804"), malformed("isil", "NL-AmRM"), malformed("isil", "OCLC-DLC")
    (None, None, None)
    >>> malformed("wikidata", "190804")
    "a Wikidata item is Q and a number, found '190804'"
    """
    pattern, rule = PATTERNS.get(base.casefold(), (None, ""))
    return None if pattern is None or pattern.fullmatch(value) else f"{rule}, found {value!r}"


def _identifiers(row: LocatedRecord) -> Iterator[Finding]:
    for index, link in enumerate(row.record["links"] if row.task == "linking" else ()):
        for base, ids in link["ids"].items():  # pyright: ignore[reportGeneralTypeIssues]
            where = f"links[{index}].ids.{base}"
            for message in filter(None, (malformed(base, identifier) for identifier in ids)):
                yield row.finding("identifier", message, where)
            if len(set(ids)) < len(ids):
                yield row.finding("repeated", "an identifier stands here twice", where)
    for index, triple in enumerate(row.record["triples"] if row.task == "triples" else ()):
        for key in ("predicate", "predicate_id"):
            name = triple.get(key)
            if name and LOOKS_LIKE_PROPERTY.fullmatch(name) and not PROPERTY.fullmatch(name):
                message = f"a property is P and a number, found {name!r}"
                yield row.finding("identifier", message, f"triples[{index}].{key}")
        for key in ("subject_id", "object_id"):
            problem = malformed("wikidata", triple[key]) if triple.get(key) else None
            if problem:
                yield row.finding("identifier", problem, f"triples[{index}].{key}")


TAG = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?(-[0-9A-Za-z]{4,8})*")
REPLACED = "\ufffd"


def _text(row: LocatedRecord) -> Iterator[Finding]:
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


def _labels(row: LocatedRecord) -> Iterator[Finding]:
    second = row.record.get("secondary_labels") or []
    if (label := row.record.get("label")) in second:
        yield row.finding("conflict", f"{label!r} is both label and secondary label", "secondary_labels")
    if len(set(second)) < len(second):
        yield row.finding("repeated", "a secondary label stands here twice", "secondary_labels")


def _answers(row: LocatedRecord) -> Iterator[Finding]:
    record: Mapping[str, Any] = row.record
    unanswerable = record.get("answer_type") == "unanswerable"
    if unanswerable and record["answers"]:
        yield row.finding("conflict", "unanswerable, and yet it has an answer", "answers")
    if not unanswerable and record.get("answer_type") and not record["answers"]:
        yield row.finding("conflict", f"no answer, and yet the type is {record['answer_type']}", "answers")
    folded = folded_answers(record)
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
                message = f"context[{start}:] is {stands!r}, not {answer!r}, {where}"
                yield row.finding("offset", message, f"answers[{index}]", fix)
        if len(starts) != len(record["answers"]):
            message = f"{len(starts)} starts for {len(record['answers'])} answers; each answer needs its own"
            yield row.finding("schema", message, "answer_starts")


def _triples(row: LocatedRecord) -> Iterator[Finding]:
    keys = [(repr(t["subject"]), t["predicate"], repr(t["object"])) for t in row.record["triples"]]
    last = {key: index for index, key in enumerate(keys)}
    for key, count in Counter(keys).items():
        if count > 1:
            yield row.finding("repeated", "the same statement as another one here", f"triples[{last[key]}]")
    for index, triple in enumerate(row.record["triples"]):
        for part in ("subject", "predicate", "object"):
            value = triple[part]
            if isinstance(value, Mapping):  # a typed value; its type says nothing by itself
                content: Any = [
                    v for k, v in value.items() if k not in ("type", "datatype") and v not in (None, "", [], {})
                ]
            else:
                content = value.strip() if isinstance(value, str) else True
            if not content:
                yield row.finding("text", f"the {part} is empty", f"triples[{index}].{part}")
        verdict = triple.get("verdict")
        if verdict is not None and verdict not in VERDICTS:
            message = f"{verdict!r} is not a verdict: {', '.join(VERDICTS)}"
            yield row.finding("label", message, f"triples[{index}].verdict")


def _grades(row: LocatedRecord) -> Iterator[Finding]:
    judged = row.record["relevant"]
    if isinstance(judged, list) and len(set(judged)) < len(judged):
        yield row.finding("repeated", "a document stands here twice", "relevant")
    if not any(grade > 0 for grade in grades(row.record).values()):
        yield row.finding("promise", "no document is relevant to this query", "relevant")

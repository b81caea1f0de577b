"""What is off in one record: its spans, its identifiers, its text, and what it says twice or against itself.

Identifiers are looked at for their form alone (Wikidata, VIAF, ISIL, GND, ORCID and a few more); whether they exist is
not asked. ISIL is ISO 15511: a country code (or one, three or four letters for what is no country), a hyphen, and up to
eleven letters, digits, ``:``, ``/`` and ``-``; sixteen characters at most.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unicodedata import category

from goldassay.gold.audit.rows import Finding, LocatedRecord
from goldassay.gold.records import INPUTS, SPANS, covered, fault, nearest
from goldassay.gold.tokens import Place
from goldassay.measures.triples.tally import VERDICTS


def spans(row: LocatedRecord) -> Iterator[Finding]:
    """What is wrong with the spans of a record."""
    if row.task not in SPANS:
        return
    name, text = SPANS[row.task], row.record["text"]
    end = 0
    for index, (first, last) in enumerate(row.record.get("tokens") or []):
        if not end <= first < last <= len(text):
            said = f"{first}:{last} is no token of the text behind the one before, which ends at {end}"
            yield row.finding("offset", said, f"tokens[{index}]")
            break
        end = last
    sound: list[tuple[int, Mapping[str, Any]]] = []
    for index, span in enumerate(row.record[name]):
        where = f"{name}[{index}]"
        wrong = fault(text, span)
        if wrong:
            yield row.finding("offset", wrong, where, mended(text, span))
            continue
        sound.append((index, span))
        words = covered(text, span)
        trimmed = words.strip()
        if words != trimmed and "fragments" not in span:
            start = span["start"] + len(words) - len(words.lstrip())
            fix = {"start": start, "end": start + len(trimmed), "text": trimmed} if trimmed else None
            yield row.finding("edge", f"{words!r} begins or ends with a space", where, fix)
    yield from _pairs(row, name, sound)


def mended(text: str, span: Mapping[str, Any]) -> dict[str, object] | None:
    """Where the text of a span really stands, closest to where it should be."""
    wanted = span.get("text")
    place = nearest(text, wanted, min(span["start"], len(text))) if wanted else None
    if place is None or not wanted or span.get("fragments"):
        return None
    return {"start": place, "end": place + len(wanted)}


def _pairs(row: LocatedRecord, name: str, spans: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Finding]:
    """Crossing and repeated spans; sorted by start, so that only neighbours that can overlap are compared."""
    ordered = sorted(spans, key=lambda item: (item[1]["start"], -item[1]["end"]))
    open_: list[tuple[int, Mapping[str, Any]]] = []
    for index, span in ordered:
        open_ = [other for other in open_ if other[1]["end"] > span["start"]]
        for number, other in open_:
            (a, b), (c, d) = _place(other), _place(span)
            where = f"{name}[{index}]"
            if (a, b) == (c, d):
                if span.get("fragments") == other.get("fragments") and span.get("type") == other.get("type"):
                    yield row.finding("repeated", f"the same span as {name}[{number}]", where)
            elif a < c < b < d and not (span.get("fragments") or other.get("fragments")):
                yield row.finding(
                    "crossing", f"{c}:{d} crosses {name}[{number}], {a}:{b}; nest them, or end one earlier", where
                )
        open_.append((index, span))


def _place(span: Mapping[str, Any]) -> Place:
    return span["start"], span["end"]


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


def identifiers(row: LocatedRecord) -> Iterator[Finding]:
    """The identifiers of a record."""
    if row.task == "linking":
        for index, link in enumerate(row.record["links"]):
            yield from _ids(row, link["ids"], f"links[{index}].ids")
    if row.task == "triples":
        for index, triple in enumerate(row.record["triples"]):
            where = f"triples[{index}]"
            for key in ("predicate", "predicate_id"):
                name = triple.get(key)
                if name and LOOKS_LIKE_PROPERTY.fullmatch(name) and not PROPERTY.fullmatch(name):
                    yield row.finding("identifier", f"a property is P and a number, found {name!r}", f"{where}.{key}")
            for key in ("subject_id", "object_id"):
                wrong = malformed("wikidata", triple[key]) if triple.get(key) else None
                if wrong:
                    yield row.finding("identifier", wrong, f"{where}.{key}")


def _ids(row: LocatedRecord, ids: Mapping[str, list[str]], where: str) -> Iterator[Finding]:
    for base, found in ids.items():
        for value in found:
            wrong = malformed(base, value)
            if wrong:
                yield row.finding("identifier", wrong, f"{where}.{base}")
        if len(set(found)) < len(found):
            yield row.finding("repeated", "an identifier stands here twice", f"{where}.{base}")


TAG = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?(-[0-9A-Za-z]{4,8})*")
REPLACED = "\ufffd"


def content(row: LocatedRecord) -> Iterator[Finding]:
    """The text, the language and the sense of a record."""
    yield from _text(row)
    language = row.record.get("language")
    if language and not TAG.fullmatch(language):
        yield row.finding("language", f"not a language tag as in BCP 47 (nl, en-GB), found {language!r}", "language")
    yield from {"classification": _labels, "answering": _answers, "triples": _triples, "retrieval": _grades}.get(
        row.task, _nothing
    )(row)


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
    if row.record["label"] in second:
        yield row.finding("conflict", f"{row.record['label']!r} is both label and secondary label", "secondary_labels")
    if len(set(second)) < len(second):
        yield row.finding("repeated", "a secondary label stands here twice", "secondary_labels")


def _answers(row: LocatedRecord) -> Iterator[Finding]:
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


def _triples(row: LocatedRecord) -> Iterator[Finding]:
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


def _grades(row: LocatedRecord) -> Iterator[Finding]:
    judged = row.record["relevant"]
    if isinstance(judged, list) and len(set(judged)) < len(judged):
        yield row.finding("repeated", "a document stands here twice", "relevant")
    if not (any(grade > 0 for grade in judged.values()) if isinstance(judged, Mapping) else judged):
        yield row.finding("promise", "no document is relevant to this query", "relevant")


def _nothing(row: LocatedRecord) -> Iterator[Finding]:
    return iter(())

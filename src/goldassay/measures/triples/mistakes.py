"""The errors of one example, in words: which statement was missed although the text says it, and in which words."""

from __future__ import annotations

import re

from goldassay.fields import read
from goldassay.measure import Error, Review
from goldassay.measures.triples import numeric, objects, terms, times
from goldassay.measures.triples.matching import Matching, related
from goldassay.measures.triples.records import Triple
from goldassay.text.normal import normal
from goldassay.text.words import around

AROUND = 30
YEAR = re.compile(r"(?<!\d)\d{3,4}(?!\d)")


def errors(matching: Matching, gold: object) -> Review:
    """The errors of one example, and what is right."""
    text = str(read(gold, "text", None) or "")
    rest = list(matching.unmatched)
    rows: list[Error] = []
    for index in matching.missed:
        wanted = matching.gold[index]
        for same in (related, _same_value):  # a prediction with another object, else one with another subject
            near = next((i for i in rest if same(wanted, matching.pred[i])), None)
            if near is not None:
                rest.remove(near)
                rows.append(_wrong(wanted, matching.pred[near], text, same is related))
                break
        else:
            rows.append(_error("missed", f"Missed {wanted.words}.", wanted, None, text))
    rows += [_spurious(matching, matching.pred[index], text) for index in rest]
    return tuple(rows), tuple(matching.pred[index].words for index in sorted(matching.pairs))


def place(statement: Triple, text: str) -> tuple[int, int] | None:
    """Where the text says the object: its words, or for a time its year, for a quantity its number."""
    folded, value = text.casefold(), statement.value
    for form in (terms.label(statement.key[2]), *map(str, statement.triple.get("object_labels") or ())):
        at = folded.find(form.casefold()) if form.strip() else -1
        if at >= 0:
            return at, at + len(form)
    if isinstance(value, times.Time):
        return next((year.span() for year in YEAR.finditer(text) if int(year[0]) == abs(value.year)), None)
    if isinstance(value, numeric.Quantity):
        for number in numeric.NUMBER.finditer(text):
            said = numeric.quantity(number["number"])
            if said and set(said.readings) & set(value.readings):
                return number.span("number")
    return None


def _error(kind: str, message: str, wanted: Triple | None, said: Triple | None, text: str) -> Error:
    """The error, with the place where the text says the gold statement, else the predicted one."""
    at = place(wanted or said, text) if wanted or said else None  # type: ignore[arg-type]
    words = " ".join(around(text, *at, AROUND).split()) if at else ""
    if wanted and text:
        message += f" The text says it: “…{words}…”." if at else " The text does not say it in these words."
    gold, pred = wanted.key if wanted else ("", "", ""), said.key if said else ("", "", "")
    start, end = at or (None, None)
    return Error(kind, message, gold[2], pred[2], gold[1], pred[1], start, end, words, "triples")


def _wrong(wanted: Triple, said: Triple, text: str, same_subject: bool) -> Error:
    subject, predicate, value = wanted.key
    if same_subject:
        message = f"{predicate} of {subject} is {value}, not {said.key[2]}."
        return _error("wrong_object", message, wanted, said, text)
    message = f"{predicate} {value} belongs to {subject}, not to {said.key[0]}."
    return _error("wrong_subject", message, wanted, said, text)


def _spurious(matching: Matching, said: Triple, text: str) -> Error:
    if any(_same_value(gold, said) and normal(gold.key[0]) == normal(said.key[0]) for gold in matching.gold):
        return _error("duplicate", f"{said.words} says again what is already said.", None, said, text)
    if not said.aligned:
        message = f"{said.words} is unknown: the alignment table does not have {said.key[1]!r}."
        return _error("unaligned", message, None, said, text)
    where = "" if not text or place(said, text) else f" and the text does not contain {said.key[2]!r}"
    return _error("spurious", f"Gold does not have {said.words}{where}.", None, said, text)


def _same_value(gold: Triple, said: Triple) -> bool:
    """Whether property and object are right, whoever the subject is."""
    return bool(gold.properties & said.properties) and objects.same(gold.value, objects.read(said.triple, gold.kind))

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
    rest = [matching.pred[index] for index in matching.unmatched]
    rows: list[Error] = []
    for expected in (matching.gold[index] for index in matching.missed):
        subject, predicate, value = expected.key
        # a prediction with another object, else one with another subject
        if near := next((other for other in rest if related(expected, other)), None):
            message = f"{predicate} of {subject} is {value}, not {near.key[2]}."
            rows.append(_error("wrong_object", message, expected, near, text))
        elif near := next((other for other in rest if _same_value(expected, other)), None):
            message = f"{predicate} {value} belongs to {subject}, not to {near.key[0]}."
            rows.append(_error("wrong_subject", message, expected, near, text))
        else:
            rows.append(_error("missed", f"Missed {expected.words}.", expected, None, text))
        rest = [other for other in rest if other is not near]
    rows += [_spurious(matching, prediction, text) for prediction in rest]
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
            quantity = numeric.quantity(number["number"])
            if quantity and set(quantity.readings) & set(value.readings):
                return number.span("number")
    return None


def _error(kind: str, message: str, expected: Triple | None, prediction: Triple | None, text: str) -> Error:
    """The error, with the place where the text says the gold statement, else the predicted one."""
    at = place(expected or prediction, text) if expected or prediction else None  # type: ignore[arg-type]
    words = " ".join(around(text, *at, AROUND).split()) if at else ""
    if expected and text:
        message += f" The text says it: “…{words}…”." if at else " The text does not say it in these words."
    gold, pred = expected.key if expected else ("", "", ""), prediction.key if prediction else ("", "", "")
    start, end = at or (None, None)
    return Error(kind, message, gold[2], pred[2], gold[1], pred[1], start, end, words, "triples")


def _spurious(matching: Matching, prediction: Triple, text: str) -> Error:
    if any(
        _same_value(gold, prediction) and normal(gold.key[0]) == normal(prediction.key[0]) for gold in matching.gold
    ):
        return _error("duplicate", f"{prediction.words} says again what is already said.", None, prediction, text)
    if not prediction.aligned:
        message = f"{prediction.words} is unknown: the alignment table does not have {prediction.key[1]!r}."
        return _error("unaligned", message, None, prediction, text)
    where = "" if not text or place(prediction, text) else f" and the text does not contain {prediction.key[2]!r}"
    return _error("spurious", f"Gold does not have {prediction.words}{where}.", None, prediction, text)


def _same_value(gold: Triple, prediction: Triple) -> bool:
    """Whether property and object are right, whoever the subject is."""
    return bool(gold.properties & prediction.properties) and objects.same(
        gold.value, objects.read(prediction.triple, gold.kind)
    )

"""The errors of one example, in words: which statement was missed although the text says it, and in which words."""

from __future__ import annotations

from functools import lru_cache

from goldassay.fields import read
from goldassay.measure import Error, Review
from goldassay.measures.triples import objects
from goldassay.measures.triples.matching import Matching, related
from goldassay.measures.triples.places import TextIndex
from goldassay.measures.triples.records import Triple
from goldassay.text.normal import normal
from goldassay.text.words import around

AROUND = 30


def errors(matching: Matching, gold: object) -> Review:
    """The errors of one example, and what is right."""
    text = _indexed(str(read(gold, "text", None) or ""))
    rest = [matching.pred[index] for index in matching.unmatched]
    rows: list[Error] = []
    for expected in (matching.gold[index] for index in matching.missed):
        subject, predicate, value = expected.key
        # a prediction with another object, else one with another subject
        if near := next((other for other in rest if related(expected, other)), None):
            message = f"{predicate} of {subject} is {value}, not {near.key[2]}."
            rows.append(_error("wrong_object", message, text, expected, near))
        elif near := next((other for other in rest if _same_value(expected, other)), None):
            message = f"{predicate} {value} belongs to {subject}, not to {near.key[0]}."
            rows.append(_error("wrong_subject", message, text, expected, near))
        else:
            rows.append(_error("missed", f"Missed {expected.words}.", text, expected))
        rest = [other for other in rest if other is not near]
    rows += [_spurious(matching, prediction, text) for prediction in rest]
    return tuple(rows), tuple(matching.pred[index].words for index in sorted(matching.pairs))


@lru_cache(maxsize=64)
def _indexed(text: str) -> TextIndex:
    return TextIndex(text)


def _error(
    kind: str, message: str, text: TextIndex, expected: Triple | None = None, prediction: Triple | None = None
) -> Error:
    """The error, with the place where the text says the gold statement, else the predicted one."""
    statement = expected or prediction
    place = text.find(statement) if statement else None
    start, end = place if isinstance(place, tuple) else (None, None)
    words = " ".join(around(text.text, *place, AROUND).split()) if isinstance(place, tuple) else ""
    if expected and text.text:
        message += f" The text says it: “…{words}…”." if words else " The text does not say it in these words."
    gold, pred = expected.key if expected else ("", "", ""), prediction.key if prediction else ("", "", "")
    return Error(kind, message, gold[2], pred[2], gold[1], pred[1], start, end, words, "triples")


def _spurious(matching: Matching, prediction: Triple, text: TextIndex) -> Error:
    subject, predicate, value = prediction.key
    kind, message = "spurious", f"Gold does not have {prediction.words}"
    if any(_same_value(gold, prediction) and normal(gold.key[0]) == normal(subject) for gold in matching.gold):
        kind, message = "duplicate", f"{prediction.words} says again what is already said"
    elif not prediction.aligned:
        kind, message = "unaligned", f"{prediction.words} is unknown: the alignment table does not have {predicate!r}"
    elif text.text and text.find(prediction) is False:
        message += f" and the text does not contain {value!r}"
    return _error(kind, f"{message}.", text, prediction=prediction)


def _same_value(gold: Triple, prediction: Triple) -> bool:
    """Whether property and object are right, whoever the subject is."""
    shared = not gold.properties.isdisjoint(prediction.properties)
    return shared and objects.same(gold.value, objects.read(prediction.triple, gold.kind))

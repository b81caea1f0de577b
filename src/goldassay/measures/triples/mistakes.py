"""The errors of one example, in words, and where its text says a value: which statement was missed, in which words.

A text says a value if one of its names occurs as whole words; a time if its date does (or the month, year, decade or
century, as precisely as it is known); a quantity if its number does. Coordinates are not looked for, since texts write
them in too many ways.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import Any

from goldassay._support.jsonl import JSON
from goldassay.core.measure import Error, Review
from goldassay.measures.triples import numeric, objects, times
from goldassay.measures.triples.objects import EXACTLY
from goldassay.measures.triples.records import MatchedTriples, Triple, related
from goldassay.text.normal import normal
from goldassay.text.words import around

AROUND = 30  # characters on either side, in a message
SENTENCE_CONTEXT = 60  # and of a sentence
ERA = rf"\s?(?:{times.BEFORE}|{times.AFTER})(?!\w)"
YEARS = rf"(?:\d{{1,4}}{ERA}|\d{{3,4}})"
MONTH = r"\b[^\W\d_]{3,12}"  # bounded, so that a text without spaces is not searched again from every letter
TIME_IN_TEXT = re.compile(
    rf"(?<!\w)(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|de\s+)?{MONTH}\.?,?\s+{YEARS}|"
    rf"{MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+{YEARS}|{MONTH}\s+{YEARS}|"
    rf"(?:{times.AGES.pattern}|{times.DECADES.pattern})(?:{ERA})?|\d{{1,4}}{ERA}|ad\s\d{{1,4}})(?!\w)",
    re.IGNORECASE,
)
WORD = re.compile(r"\w")
NUMBER_IN_TEXT = re.compile(r"\d+(?:[.,\s'’]\d{3})*(?:[.,]\d+)?")
Span = tuple[int, int]
NO_KEY = ("", "", "")


class TextIndex:
    """A text that is searched for many values; its dates and numbers are read once.

    >>> text = TextIndex("Marie Curie was born in Warsaw on 7 November 1867.")
    >>> text.find_date(times.read("1867")), text.sentence((24, 30))
    ((34, 49), 'Marie Curie was born in Warsaw on 7 November 1867.')
    """

    def __init__(self, text: str) -> None:
        self.folded = text.casefold()
        self.text = text if len(text) == len(self.folded) else self.folded  # offsets are those of the folded text

    def find(self, statement: Triple) -> Span | bool | None:
        """Where the text says a value; False if it does not; None if that cannot be decided."""
        value = statement.value
        if isinstance(value, numeric.Coordinate):
            return None
        if isinstance(value, times.Time):
            return self.find_date(value) or False
        if isinstance(value, numeric.Quantity):
            return next((self._numbers[number] for number in value.readings if number in self._numbers), False)
        label = objects.label(statement.key[2])
        names = [*(statement.triple.get("object_labels") or ()), label]
        if len(names) == 1 and objects.QID.fullmatch(label):
            return None
        for name in filter(WORD.search, dict.fromkeys(name.casefold().strip() for name in names)):
            start = self.folded.find(name)
            while start >= 0:
                end = start + len(name)
                if not WORD.search(self.folded[start - 1 : start] + self.folded[end : end + 1]):
                    return start, end
                start = self.folded.find(name, start + 1)
        return False

    def find_date(self, value: times.Time) -> Span | None:
        """Where a time occurs, at least as precisely as it is known; a year may occur without its era."""
        span = next((span for time, span in self._times if times.same(value, time)), None)
        bare = times.DECADE <= value.precision <= times.YEAR
        return span or (self._numbers.get(abs(value.year)) if bare else None)

    def has(self, value: JSON) -> bool | None:
        """Whether the text has the words, year or number of a value; None for an id, which cannot be looked for.

        >>> [TextIndex("Curie stormed the party in 1789").has(value) for value in ("ex:Curie", "Q90", "14 July 1789")]
        [True, None, True]
        >>> TextIndex("the party of a thousand").has("art"), TextIndex("1,500,000 visitors").has(1500000)
        (False, True)
        """
        words = objects.label(objects.written(value))
        if objects.QID.fullmatch(words):
            return None
        looked = normal(words)
        if f" {looked} " in self._words if looked else words and words in self.text:  # "&" is a value, too
            return True
        if time := times.read(value if isinstance(value, dict) else words):
            return re.search(rf"(?<!\d)0*{abs(time.year)}(?!\d)", self.text) is not None
        number = numeric.quantity(value if isinstance(value, (dict, int, float)) else words)
        return number is not None and not self._numbers.keys().isdisjoint(number.readings)

    def sentence(self, span: Span) -> str:
        """The sentence around a place, or the part of it that is near."""
        start, end = span
        *_, before = re.split(r"\. |\n", around(self.text[:start], start, start, SENTENCE_CONTEXT))
        after, *_ = re.split(r"(?<=\.) |\n", around(self.text[end:], 0, 0, SENTENCE_CONTEXT))
        return " ".join((before + self.text[start:end] + after).split())

    @cached_property
    def _words(self) -> str:
        return f" {normal(self.text)} "

    @cached_property
    def _times(self) -> list[tuple[times.Time, Span]]:
        read = ((times.read(match[0]), match.span()) for match in TIME_IN_TEXT.finditer(self.folded))
        return [(time, span) for time, span in read if time]

    @cached_property
    def _numbers(self) -> dict[float, Span]:
        matches = [(numeric.quantity(match[0]), match.span()) for match in NUMBER_IN_TEXT.finditer(self.folded)]
        return {n: span for quantity, span in reversed(matches) if quantity for n in quantity.readings}


@lru_cache(maxsize=4096)
def indexed(text: str) -> TextIndex:
    """The index of a text."""
    return TextIndex(text)


def errors(matching: MatchedTriples) -> Review:
    """The errors of one example, and what is right."""
    text = indexed(matching.text)
    unexplained = matching.unmatched
    rows: list[Error] = []
    for expected in matching.missed:
        subject, predicate, value = expected.key
        # a prediction with another object, else one with another subject
        kind = "missed"
        message = f"Missed {expected.words}."
        if near := next((other for other in unexplained if related(expected, other)), None):
            kind = "wrong_object"
            message = f"{predicate} of {subject} is {value}, not {near.key[2]}."
        elif near := next((other for other in unexplained if _same_value(expected, other)), None):
            kind = "wrong_subject"
            message = f"{predicate} {value} belongs to {subject}, not to {near.key[0]}."
        rows.append(_error(kind, message, text, expected, near))
        unexplained = [other for other in unexplained if other is not near]
    for prediction in unexplained:
        subject, predicate, value = prediction.key
        kind = "spurious"
        message = f"Gold does not have {prediction.words}"
        if any(_same_value(gold, prediction) and normal(gold.key[0]) == normal(subject) for gold in matching.gold):
            kind = "duplicate"
            message = f"{prediction.words} repeats a statement"
        elif not prediction.aligned:
            kind = "unaligned"
            message = f"{prediction.words} is unknown: the alignment table does not have {predicate!r}"
        elif text.text and text.find(prediction) is False:
            message += f" and the text does not contain {value!r}"
        rows.append(_error(kind, f"{message}.", text, None, prediction))
    return tuple(rows), tuple(matching.pred[index].words for index in sorted(matching.pairs))


def _error(kind: str, message: str, text: TextIndex, expected: Triple | None, prediction: Triple | None) -> Error:
    """The error, with the place where the text says the gold statement, else the predicted one."""
    statement: Any = expected or prediction
    offset = text.find(statement)
    start, end = offset if isinstance(offset, tuple) else (None, None)
    words = " ".join(around(text.text, *offset, AROUND).split()) if isinstance(offset, tuple) else ""
    if expected and text.text:
        message += f" The text says it: “…{words}…”." if words else " The text does not say it in these words."
    gold = expected.key if expected else NO_KEY
    pred = prediction.key if prediction else NO_KEY
    return Error(kind, message, gold[2], pred[2], gold[1], pred[1], start, end, words, "triples")


def _same_value(gold: Triple, prediction: Triple) -> bool:
    """Whether property and object are right, whoever the subject is."""
    shared = not gold.properties.isdisjoint(prediction.properties)
    return shared and EXACTLY.same(gold.value, objects.read(prediction.triple, gold.kind))

"""Finds the values of Wikidata statements in the text of an article.

A text says a value if one of its names occurs as whole words; a time if its date does (or the month, year, decade or
century, as precisely as it is known); a quantity if its number does. Coordinates are not looked for, since texts write
them in too many ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from goldassay.measures.triples import numeric, terms, times
from goldassay.measures.triples.records import Triple

CONTEXT = 60  # characters on either side
ERA = rf"\s?(?:{times.BEFORE}|{times.AFTER})(?!\w)"
MONTH = r"\b[^\W\d_]{3,12}"  # bounded, so that a text without spaces is not searched again from every letter
DATE = re.compile(
    rf"\d{{4}}-\d\d-\d\d|\b\d{{1,2}}(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|de\s+)?{MONTH}\.?,?\s+"
    rf"(?:\d{{1,4}}{ERA}|\d{{3,4}})|"
    rf"{MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+(?:\d{{1,4}}{ERA}|\d{{3,4}})|"
    rf"{MONTH}\s+(?:\d{{1,4}}{ERA}|\d{{3,4}})"
)
PERIOD = re.compile(
    rf"(?<!\w)(?:(?:{times.AGES.pattern}|{times.DECADES.pattern})(?:{ERA})?|\d{{1,4}}{ERA}|ad\s\d{{1,4}})(?!\w)",
    re.IGNORECASE,
)
NUMBER = re.compile(r"\d+(?:[.,\s'’]\d{3})*(?:[.,]\d+)?")
Span = tuple[int, int]


class ArticleText:
    """A text that is searched for many values; its dates and numbers are read once.

    >>> text = ArticleText("Marie Curie was born in Warsaw on 7 November 1867.")
    >>> text.find_name(["Warszawa", "Warsaw"]), text.find_name(["War"]), text.sentence((24, 30))
    ((24, 30), None, 'Marie Curie was born in Warsaw on 7 November 1867.')
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
            return next((span for number in value.readings if (span := self._numbers.get(float(number)))), False)
        names = [str(name) for name in statement.triple.get("object_labels") or ()]
        label = terms.label(statement.key[2])
        if not names and terms.QID.fullmatch(label):
            return None
        return self.find_name([*names, label]) or False

    def find_name(self, names: Iterable[str]) -> Span | None:
        """Where the first of these names occurs as whole words."""
        for name in names:
            folded = name.casefold().strip()
            start = self.folded.find(folded) if re.search(r"\w", folded) else -1
            while start >= 0:
                end = start + len(folded)
                if not (self._inside_word(start) or self._inside_word(end)):
                    return start, end
                start = self.folded.find(folded, start + 1)
        return None

    def find_date(self, value: times.Time) -> Span | None:
        """Where a time occurs, at least as precisely as it is known; a year may occur without its era."""
        if value.precision >= times.MONTH:
            return self._dates.get((value.year, value.month, value.day if value.precision >= times.DAY else 0))
        period = next((span for time, span in self._periods if times.same(value, time)), None)
        return period or (self._numbers.get(float(abs(value.year))) if value.precision >= times.DECADE else None)

    def sentence(self, span: Span) -> str:
        """The sentence around a place, or the part of it that is near."""
        low, high = max(0, span[0] - CONTEXT), min(len(self.text), span[1] + CONTEXT)
        before, after = self.text[low : span[0]], self.text[span[1] : high]
        start = max(before.rfind(". ") + 1, before.rfind("\n") + 1)
        if not start and low:
            start = before.find(" ") + 1
        ends = [place + 1 for place in (after.find(". "), after.find("\n")) if place >= 0]
        if not ends and high < len(self.text) and " " in after:
            ends = [after.rfind(" ")]
        return " ".join((before[start:] + self.text[span[0] : span[1]] + after[: min(ends, default=None)]).split())

    @cached_property
    def _dates(self) -> dict[tuple[int, int, int], Span]:
        dates: dict[tuple[int, int, int], Span] = {}
        for match in DATE.finditer(self.folded):
            if (time := times.read(match[0])) is not None:
                dates.setdefault((time.year, time.month, 0), match.span())
                dates.setdefault((time.year, time.month, time.day), match.span())
        return dates

    @cached_property
    def _periods(self) -> list[tuple[times.Time, Span]]:
        read = ((times.read(match[0]), match.span()) for match in PERIOD.finditer(self.folded))
        return [(time, span) for time, span in read if time is not None]

    @cached_property
    def _numbers(self) -> dict[float, Span]:
        numbers: dict[float, Span] = {}
        for match in NUMBER.finditer(self.folded):
            quantity = numeric.quantity(match[0])
            for number in quantity.readings if quantity else ():
                numbers.setdefault(float(number), match.span())
        return numbers

    def _inside_word(self, place: int) -> bool:
        return self.folded[max(0, place - 1) : place].isalnum() and self.folded[place : place + 1].isalnum()

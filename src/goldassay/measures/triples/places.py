"""Where a text says a value, for its errors and for recall over what texts say.

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
YEARS = rf"(?:\d{{1,4}}{ERA}|\d{{3,4}})"
MONTH = r"\b[^\W\d_]{3,12}"  # bounded, so that a text without spaces is not searched again from every letter
TIMES = re.compile(
    rf"(?<!\w)(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|de\s+)?{MONTH}\.?,?\s+{YEARS}|"
    rf"{MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+{YEARS}|{MONTH}\s+{YEARS}|"
    rf"(?:{times.AGES.pattern}|{times.DECADES.pattern})(?:{ERA})?|\d{{1,4}}{ERA}|ad\s\d{{1,4}})(?!\w)",
    re.IGNORECASE,
)
NUMBER = re.compile(r"\d+(?:[.,\s'’]\d{3})*(?:[.,]\d+)?")
Span = tuple[int, int]


class TextIndex:
    """A text that is searched for many values; its dates and numbers are read once.

    >>> text = TextIndex("Marie Curie was born in Warsaw on 7 November 1867.")
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
            return next((span for number in value.readings if (span := self._numbers.get(number))), False)
        names, label = list(statement.triple.get("object_labels") or ()), terms.label(statement.key[2])
        if not names and terms.QID.fullmatch(label):
            return None
        return self.find_name([*names, label]) or False

    def find_name(self, names: Iterable[str]) -> Span | None:
        """Where the first of these names occurs as whole words."""
        for name in (name.casefold().strip() for name in names):
            there = name in self.folded and re.search(r"\w", name)
            if there and (match := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.folded)):
                return match.span()
        return None

    def find_date(self, value: times.Time) -> Span | None:
        """Where a time occurs, at least as precisely as it is known; a year may occur without its era."""
        span = next((span for time, span in self._times if times.same(value, time)), None)
        bare = times.DECADE <= value.precision <= times.YEAR
        return span or (self._numbers.get(float(abs(value.year))) if bare else None)

    def sentence(self, span: Span) -> str:
        """The sentence around a place, or the part of it that is near."""
        low, high = max(0, span[0] - CONTEXT), span[1] + CONTEXT
        *earlier, before = re.split(r"\. |\n", self.text[low : span[0]])
        after, *later = re.split(r"(?<=\.) |\n", self.text[span[1] : high])
        if low and not earlier:
            before = before.partition(" ")[2]
        if high < len(self.text) and not later:
            after = after.rpartition(" ")[0]
        return " ".join((before + self.text[slice(*span)] + after).split())

    @cached_property
    def _times(self) -> list[tuple[times.Time, Span]]:
        read = ((times.read(match[0]), match.span()) for match in TIMES.finditer(self.folded))
        return [(time, span) for time, span in read if time is not None]

    @cached_property
    def _numbers(self) -> dict[float, Span]:
        numbers: dict[float, Span] = {}
        for match in NUMBER.finditer(self.folded):
            quantity = numeric.quantity(match[0])
            for number in quantity.readings if quantity else ():
                numbers.setdefault(number, match.span())
        return numbers

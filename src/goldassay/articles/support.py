"""Whether an article's text says a statement's value, and in which words: recall over what could be found there.

A value is said when one of its names stands in the text as whole words, a time when its date does (or its month, year,
decade or century: as exactly as it is known), a quantity when its number does. Coordinates are not looked for: texts
give them in too many ways; they count as not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from goldassay.measures.triples import coordinates, items, quantities, times
from goldassay.measures.triples.records import Statement

AROUND = 60
ERA = rf"\s?(?:{times.BEFORE}|{times.AFTER})(?!\w)"
MONTH_NAME = r"\b[^\W\d_]{3,12}"  # bounded, so that a text without spaces is not searched again from every letter
DATE = re.compile(
    rf"\d{{4}}-\d\d-\d\d|\b\d{{1,2}}(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|de\s+)?{MONTH_NAME}\.?,?\s+"
    rf"(?:\d{{1,4}}{ERA}|\d{{3,4}})|"
    rf"{MONTH_NAME}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+(?:\d{{1,4}}{ERA}|\d{{3,4}})|"
    rf"{MONTH_NAME}\s+(?:\d{{1,4}}{ERA}|\d{{3,4}})"
)
AGE = re.compile(
    rf"(?<!\w)(?:(?:{times.AGES.pattern}|{times.DECADES.pattern})(?:{ERA})?|\d{{1,4}}{ERA}|ad\s\d{{1,4}})(?!\w)",
    re.IGNORECASE,
)
WORD = re.compile(r"\w+")
NUMBER = re.compile(r"\d+(?:[.,\s'’]\d{3})*(?:[.,]\d+)?")


class ArticleText:
    """A text that is asked many times; what is looked up is made once.

    >>> text = ArticleText("Marie Curie was born in Warsaw on 7 November 1867.")
    >>> text.place(["Warszawa", "Warsaw"]), text.place(["War"]), text.around((24, 30))
    ((24, 30), None, 'Marie Curie was born in Warsaw on 7 November 1867.')
    """

    def __init__(self, text: str) -> None:
        folded = text.casefold()
        self.text = text if len(text) == len(folded) else folded  # offsets count in what is searched
        self.folded = folded
        self.words = frozenset(WORD.findall(folded))
        self._dates: dict[tuple[int, int, int], tuple[int, int]] | None = None
        self._ages: list[tuple[times.Time, tuple[int, int]]] | None = None
        self._numbers: dict[float, tuple[int, int]] | None = None

    def says(self, statement: Statement) -> tuple[int, int] | bool | None:
        """Where the text says the value; False where it does not; None where that cannot be told."""
        value = statement.value
        if isinstance(value, coordinates.Coordinate):
            return None
        if isinstance(value, times.Time):
            return self.date(value) or False
        if isinstance(value, quantities.Quantity):
            return next((at for number in value.readings if (at := self.number(float(number)))), False)
        names = [str(name) for name in statement.triple.get("object_labels") or ()]
        words = items.label(statement.key[2])
        if not names and items.QID.fullmatch(words):
            return None
        return self.place([*names, words]) or False

    def place(self, names: Iterable[str]) -> tuple[int, int] | None:
        """Where the first of these names stands as whole words."""
        for name in names:
            wanted = name.casefold().strip()
            words = WORD.findall(wanted)
            if not words or not self.words.issuperset(words):
                continue
            for start in self._starts(wanted):
                end = start + len(wanted)
                if not (self._inside(start - 1, start) or self._inside(end - 1, end)):
                    return start, end
        return None

    def date(self, value: times.Time) -> tuple[int, int] | None:
        """Where a time stands, at least as exactly as it is known."""
        if value.precision < times.MONTH:
            return self.age(value)
        if self._dates is None:
            self._dates = {}
            for found in DATE.finditer(self.folded):
                read = times.read(found[0])
                if read is not None:
                    self._dates.setdefault((read.year, read.month, 0), found.span())
                    self._dates.setdefault((read.year, read.month, read.day), found.span())
        return self._dates.get((value.year, value.month, value.day if value.precision >= times.DAY else 0))

    def age(self, value: times.Time) -> tuple[int, int] | None:
        """Where a year stands, or a decade, century or millennium in words; a year may stand without its era."""
        if self._ages is None:
            read = ((times.read(found[0]), found.span()) for found in AGE.finditer(self.folded))
            self._ages = [(time, at) for time, at in read if time is not None]
        said = next((at for time, at in self._ages if times.same(value, time)), None)
        return said or (self.number(float(abs(value.year))) if value.precision >= times.DECADE else None)

    def number(self, value: float) -> tuple[int, int] | None:
        """Where a number stands, in any of the ways to write it."""
        if self._numbers is None:
            self._numbers = {}
            for found in NUMBER.finditer(self.folded):
                read = quantities.read(found[0])
                for one in read.readings if read else ():
                    self._numbers.setdefault(float(one), found.span())
        return self._numbers.get(value)

    def around(self, at: tuple[int, int]) -> str:
        """The words around a place: its sentence, or what of it is near."""
        low, high = max(0, at[0] - AROUND), min(len(self.text), at[1] + AROUND)
        before, after = self.text[low : at[0]], self.text[at[1] : high]
        cut = max(before.rfind(". ") + 1, before.rfind("\n") + 1)
        if not cut and low:
            cut = before.find(" ") + 1
        ends = [place + 1 for place in (after.find(". "), after.find("\n")) if place >= 0]
        if not ends and high < len(self.text) and " " in after:
            ends = [after.rfind(" ")]
        return " ".join((before[cut:] + self.text[at[0] : at[1]] + after[: min(ends, default=len(after))]).split())

    def _starts(self, wanted: str) -> Iterator[int]:
        at = self.folded.find(wanted)
        while at >= 0:
            yield at
            at = self.folded.find(wanted, at + 1)

    def _inside(self, left: int, right: int) -> bool:
        """Whether two neighbours are of one word."""
        if left < 0 or right >= len(self.folded):
            return False
        return self.folded[left].isalnum() and self.folded[right].isalnum()

"""One article scored: what was matched, how, and the counts of it; everything as data, so that it can be kept.

Kinds of match: ``exact`` covers a statement; ``partial``: Wikidata has other values for this property of this subject;
``duplicate`` says again what is covered; ``novel``: the property is aligned and Wikidata has no value for it here;
``no_match``: the table does not know the predicate. The last two are what people annotate as discoveries.

Recall is also taken over what the article's text says, and in which words. A value is said when one of its names stands
in the text as whole words, a time when its date does (or its month, year, decade or century: as exactly as it is
known), a quantity when its number does. Coordinates are not looked for: texts give them in too many ways; they count as
not known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from goldassay.measures.triples import numeric, objects, terms, times
from goldassay.measures.triples import tally as evidence
from goldassay.measures.triples.matching import AS_USUAL, EXACT, NO_MATCH, PARTIAL, Matching, match, related
from goldassay.measures.triples.objects import Comparing
from goldassay.measures.triples.records import Triple
from goldassay.text.normal import normal
from goldassay.wikidata import subject as preparing
from goldassay.wikidata.alignment import PropertyAlignmentTable
from goldassay.wikidata.resolver import ClassHierarchy
from goldassay.wikidata.subject import Subject

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

    def says(self, statement: Triple) -> tuple[int, int] | bool | None:
        """Where the text says the value; False where it does not; None where that cannot be told."""
        value = statement.value
        if isinstance(value, numeric.Coordinate):
            return None
        if isinstance(value, times.Time):
            return self.date(value) or False
        if isinstance(value, numeric.Quantity):
            return next((at for number in value.readings if (at := self.number(float(number)))), False)
        names = [str(name) for name in statement.triple.get("object_labels") or ()]
        words = terms.label(statement.key[2])
        if not names and terms.QID.fullmatch(words):
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
                read = numeric.quantity(found[0])
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


DUPLICATE, NOVEL = "duplicate", "novel"
KINDS = (EXACT, PARTIAL, DUPLICATE, NOVEL, NO_MATCH)
VerdictsByTriple = Mapping[tuple[str, str, str, str], str]


@dataclass(frozen=True)
class Scoring:
    """The conventions of a run: the table, the class tree, how values compare, the verdicts of people."""

    table: PropertyAlignmentTable = field(default_factory=PropertyAlignmentTable.ours)
    hierarchy: ClassHierarchy = field(default_factory=ClassHierarchy)
    comparing: Comparing = field(default_factory=Comparing)
    excluded: tuple[str, ...] = objects.EXCLUDED
    verdicts: VerdictsByTriple = field(default_factory=dict)

    def score(self, subject: Subject, triples: Iterable[object]) -> dict[str, Any]:
        """The counts and the evidence of one article, as JSON."""
        said = preparing.predictions(triples, subject, self.table, self.hierarchy)
        for one in said:
            one["verdict"] = self.verdicts.get(verdict_key(subject.title, *one["spoken"]))
        gold = {"id": subject.title, "triples": preparing.gold(subject)}
        found = match(gold, {"triples": said}, self.table.alignment, self.comparing, subject.redirects, self.excluded)
        text = ArticleText(subject.text) if subject.text else None
        places = [text.says(statement) if text else None for statement in found.gold]
        for statement, at in zip(found.gold, places, strict=True):
            statement.triple["supported"] = None if at is None else bool(at)  # type: ignore[index]
        kinds = [kind(found, index, self.comparing) for index in range(len(found.pred))]
        return {
            **_counts(found, kinds, subject.item.id),
            "kinds": dict(Counter(kinds)),
            "triples": [self._said(found, index, kinds[index]) for index in range(len(found.pred))],
            "missed": [_missed(found.gold[index], places[index], text) for index in found.missed],
        }

    def _said(self, found: Matching, index: int, kind: str) -> dict[str, Any]:
        """The evidence of one prediction."""
        statement = found.pred[index]
        triple = statement.triple
        out: dict[str, Any] = {
            "triple": triple["spoken"],
            "kind": kind,
            "confidence": triple["confidence"],
            "property": triple["predicate_id"] or sorted(statement.properties),
            "subject": triple["subject_found"].state(),
            "object": triple["object_found"].state(),
        }
        out |= {name: triple[name] for name in ("turned", "verdict") if triple[name]}
        if triple["said"] > 1:
            out["said"] = triple["said"]
        if kind == EXACT:
            out["statement"] = shown(found.gold[found.pairs[index]])
        elif kind in (PARTIAL, DUPLICATE):
            out["statement"] = shown(next(gold for gold in found.gold if related(gold, statement)))
        return out


def kind(found: Matching, index: int, comparing: Comparing = AS_USUAL) -> str:
    """Which kind of match a prediction is."""
    if index in found.pairs:
        return EXACT
    said = found.pred[index]
    if not said.triple["aligned"]:
        return NO_MATCH
    near = [gold for gold in found.gold if related(gold, said)]
    if any(objects.same(gold.value, objects.read(said.triple, gold.kind), comparing) for gold in near):
        return DUPLICATE
    return PARTIAL if near else NOVEL


def verdict_key(article: str, subject: str, predicate: str, value: str) -> tuple[str, str, str, str]:
    """What an annotation is found by: the article and the statement as it was said."""
    return normal(article), normal(subject), predicate.strip(), normal(value) or value.strip()


def shown(statement: Triple) -> dict[str, object]:
    """A statement of Wikidata as data."""
    triple = statement.triple
    return {
        "property": str(triple["predicate"]),
        "value": objects.written(triple["object"]),
        **({"value_id": triple["object_id"]} if triple.get("object_id") else {}),
        "type": str(triple.get("object_type") or ""),
        "rank": str(triple.get("rank") or ""),
        "aligned": statement.aligned,
    }


def _missed(statement: Triple, at: Any, text: ArticleText | None) -> dict[str, Any]:
    """A statement that no prediction covers, with the words in which the text says it."""
    out = {**shown(statement), "supported": statement.triple["supported"]}
    if text and isinstance(at, tuple):
        out["context"] = text.around(at)
        out["surface"] = text.text[at[0] : at[1]]
    return out


def _counts(found: Matching, kinds: list[str], item: str) -> dict[str, Any]:
    """Everything that adds up: by property, over what the text says, verdicts, confidence."""
    known, novel = evidence.known(found), evidence.novel(found)
    confidences = evidence.confidences(found)
    own = [index for index, one in enumerate(found.pred) if one.triple["subject_id"] in (item, None)]
    supported = [statement.triple["supported"] for statement in found.gold if statement.aligned]
    return {
        "properties": _plain(evidence.by_property(found)),
        "supported": _plain(evidence.by_property(found, supported=True)),
        "support": {"said": supported.count(True), "unsaid": supported.count(False), "unknown": supported.count(None)},
        "known": [known.true, known.false, known.unknown],
        "judged": [novel.tp, novel.fp],
        "verdicts": dict(Counter(one.triple["verdict"] for one in found.pred if one.triple["verdict"])),
        "bins": {str(name): list(values) for name, values in evidence.bins(confidences).items()},
        "brier": [sum((c - k) ** 2 for c, k in confidences), float(len(confidences))],
        "about_others": len(found.pred) - len(own),
        "own_aligned": [
            sum(kinds[index] == EXACT for index in own),
            sum(kinds[index] != EXACT and found.pred[index].aligned for index in own),
        ],
        "said_again": sum(one.triple["said"] - 1 for one in found.pred),
        "predicted": len(found.pred),
        "statements": len(found.gold),
        "unaligned_statements": sum(not one.aligned for one in found.gold),
    }


def _plain(by: evidence.ByProperty) -> dict[str, list[float]]:
    return {name: [float(c.tp), float(c.fp), float(c.fn)] for name, c in by.items()}

"""Which item a name means: by id, article title, redirect, label or alias, whole or nearly, and by its kind.

Names compare after NFKC, case folding and removal of punctuation; nearly alike means rapidfuzz's ratio of at least
``threshold`` with the same numbers. Ids are compared with ids alone: a name is never held against the letters of an id.
Where several items answer to a name, the wanted kind (P31, followed upwards) decides; where it does not, nothing is
guessed. Every answer says how it was found, how sure that is, and why.

A `ClassHierarchy` says what kind of thing an item is, by its classes (P31) followed upwards (P279) to a few broad
kinds: person, organization, place, work, event and taxon. A handful of the classes that benchmarks hold is built in; a
source's own pairs of class and superclass (P279) can be given and are added.

Source: Wikidata's class tree, https://www.wikidata.org/wiki/Wikidata:WikiProject_Ontology
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from goldassay.measures.triples import terms
from goldassay.measures.triples.objects import written
from goldassay.text.normal import normal, numbers

ROOTS = {
    "Q215627": "person",
    "Q43229": "organization",
    "Q2221906": "place",
    "Q17537576": "work",
    "Q1656682": "event",
    "Q16521": "taxon",
}
"""Broad classes: person, organization, geographic location, creative work, event, taxon."""

BROADER: Mapping[str, tuple[str, ...]] = {
    "Q5": ("Q215627",),  # human
    "Q95074": ("Q215627",),  # fictional character: read as a person, for its properties are a person's
    "Q4830453": ("Q43229",),  # business
    "Q6881511": ("Q4830453",),  # enterprise
    "Q891723": ("Q4830453",),  # public company
    "Q783794": ("Q4830453",),  # company
    "Q163740": ("Q43229",),  # nonprofit organization
    "Q79913": ("Q163740",),  # non-governmental organization
    "Q484652": ("Q43229",),  # international organization
    "Q245065": ("Q484652",),  # intergovernmental organization
    "Q7278": ("Q43229",),  # political party
    "Q3918": ("Q43229",),  # university
    "Q875538": ("Q3918",),  # public university
    "Q33506": ("Q43229", "Q2221906"),  # museum: an institution and a building
    "Q207694": ("Q33506",),  # art museum
    "Q166118": ("Q43229",),  # archive
    "Q7075": ("Q43229", "Q2221906"),  # library
    "Q476028": ("Q43229",),  # association football club
    "Q215380": ("Q43229",),  # musical group
    "Q486972": ("Q2221906",),  # human settlement
    "Q515": ("Q486972",),  # city
    "Q1549591": ("Q515",),  # big city
    "Q5119": ("Q515",),  # capital city
    "Q3957": ("Q486972",),  # town
    "Q532": ("Q486972",),  # village
    "Q6256": ("Q2221906",),  # country
    "Q3624078": ("Q6256",),  # sovereign state
    "Q82794": ("Q2221906",),  # region
    "Q10864048": ("Q2221906",),  # first-level administrative division
    "Q56061": ("Q2221906",),  # administrative territorial entity
    "Q8502": ("Q2221906",),  # mountain
    "Q4022": ("Q2221906",),  # river
    "Q23397": ("Q2221906",),  # lake
    "Q23442": ("Q2221906",),  # island
    "Q5107": ("Q2221906",),  # continent
    "Q41176": ("Q2221906",),  # building
    "Q570116": ("Q2221906",),  # tourist attraction
    "Q11424": ("Q17537576",),  # film
    "Q5398426": ("Q17537576",),  # television series
    "Q7725634": ("Q17537576",),  # literary work
    "Q47461344": ("Q17537576",),  # written work
    "Q8261": ("Q7725634",),  # novel
    "Q571": ("Q17537576",),  # book
    "Q3305213": ("Q17537576",),  # painting
    "Q860861": ("Q17537576",),  # sculpture
    "Q482994": ("Q17537576",),  # album
    "Q7366": ("Q17537576",),  # song
    "Q7889": ("Q17537576",),  # video game
    "Q198": ("Q1656682",),  # war
    "Q178561": ("Q1656682",),  # battle
    "Q8068": ("Q1656682",),  # flood
    "Q7944": ("Q1656682",),  # earthquake
    "Q27020041": ("Q1656682",),  # sports season
    "Q40231": ("Q1656682",),  # public election
    "Q1190554": ("Q1656682",),  # occurrence
}

DOMAINS = {
    "biography_living": "person",
    "biography_historical": "person",
    "organization": "organization",
    "geographic": "place",
    "creative_work": "work",
    "creative_works": "work",
    "event": "event",
    "events": "event",
}
"""The kind that a benchmark's domain speaks of."""


class ClassHierarchy:
    """The class tree.

    >>> tree = ClassHierarchy({"Q1": ("Q515",)})
    >>> sorted(tree.kinds(["Q1"])), sorted(tree.kinds(["Q33506"])), tree.kinds(["Q999"])
    (['place'], ['organization', 'place'], frozenset())
    """

    def __init__(self, broader: Mapping[str, Iterable[str]] | None = None) -> None:
        self.broader: dict[str, tuple[str, ...]] = dict(BROADER)
        for name, above in (broader or {}).items():
            self.broader[name] = tuple(dict.fromkeys([*self.broader.get(name, ()), *above]))
        self._known: dict[str, frozenset[str]] = {}

    def above(self, name: str) -> frozenset[str]:
        """A class with all that it is a subclass of; a circle in the data ends nowhere, it does not hang."""
        if name not in self._known:
            seen, queue = {name}, [name]
            while queue:
                for one in self.broader.get(queue.pop(), ()):
                    if one not in seen:
                        seen.add(one)
                        queue.append(one)
            self._known[name] = frozenset(seen)
        return self._known[name]

    def kinds(self, types: Iterable[str], domain: str | None = None) -> frozenset[str]:
        """The broad kinds of a thing with these classes; where they tell nothing, that of the benchmark's domain."""
        found = {ROOTS[one] for name in types for one in self.above(name) if one in ROOTS}
        if not found and domain in DOMAINS:
            found = {DOMAINS[domain]}
        return frozenset(found)


CONFIDENCE = {"id": 1.0, "sitelink": 1.0, "redirect": 0.98, "label": 0.95, "alias": 0.9, "context": 0.8}
APART = 2.0
"""Two nearly alike names this close in ratio are as good as each other."""
QUALIFIED = re.compile(r"(.+?)\s*\(([^()]+)\)\s*$")


@dataclass(frozen=True, slots=True)
class CandidateItem:
    """An item that a name may mean: its label first, then its aliases; its classes (P31)."""

    id: str
    names: tuple[str, ...]
    types: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a name means; ``id`` is None where that is not known."""

    id: str | None
    kind: str
    confidence: float
    reason: str

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {"id": self.id, "kind": self.kind, "confidence": round(self.confidence, 4), "reason": self.reason}


class EntityResolver:
    """Resolves names against candidates.

    ``titles`` are article titles of items; ``redirects`` lead from an id or a title to another.

    Args:
        hierarchy: Classes and their superclasses, for kinds.
        threshold: From which ratio (0 to 1) names are nearly alike.

    >>> curie = CandidateItem("Q7186", ("Marie Curie", "Maria Skłodowska"), frozenset(["Q5"]))
    >>> resolver = EntityResolver([curie], titles={"Marie Curie": "Q7186"}, redirects={"Madame Curie": "Marie Curie"})
    >>> [resolver.resolve(name).kind for name in ("ex:Marie_Curie", "Madame Curie", "MARIA SKŁODOWSKA", "Paris")]
    ['sitelink', 'redirect', 'alias', 'none']
    """

    def __init__(
        self,
        candidates: Iterable[CandidateItem],
        *,
        titles: Mapping[str, str] | None = None,
        redirects: Mapping[str, str] | None = None,
        hierarchy: ClassHierarchy | None = None,
        threshold: float = 0.9,
    ) -> None:
        self.hierarchy = hierarchy or ClassHierarchy()
        self.threshold = threshold
        self.redirects = {_key(name): target for name, target in (redirects or {}).items()}
        self.titles = {normal(title): name for title, name in (titles or {}).items()}
        self.types: dict[str, frozenset[str]] = {}
        self.ids: set[str] = set()
        self._named: dict[str, dict[str, str]] = {}
        for one in candidates:
            self.ids.add(one.id)
            self.types[one.id] = self.types.get(one.id, frozenset()) | one.types
            for place, name in enumerate(one.names):
                key = normal(name)
                if key:
                    self._named.setdefault(key, {}).setdefault(one.id, "alias" if place else "label")
        self._names = list(self._named)
        self._known: dict[tuple[str, frozenset[str]], Resolution] = {}

    def resolve(self, name: object, kinds: Iterable[str] = ()) -> Resolution:
        """The item that ``name`` means; ``kinds`` (person, place, …) are those that are wanted."""
        wanted = frozenset(kinds)
        read = terms.item(name)
        text = read.id if read and read.id else terms.label(written(name).strip())
        key = (text, wanted)
        if key not in self._known:
            self._known[key] = self._resolved(text, read.id if read else None, wanted)
        return self._known[key]

    def _resolved(self, text: str, known: str | None, wanted: frozenset[str]) -> Resolution:
        if known:
            target = self._followed(known)
            why = f"{known} redirects to {target}" if target != known else f"the id {target} itself"
            return _found(target, "redirect" if target != known else "id", why)
        folded = normal(text)
        if not folded:
            return Resolution(None, "none", 0.0, "there is no name")
        if folded in self.titles:
            return _found(self._followed(self.titles[folded]), "sitelink", f"{text!r} is the title of its article")
        target = self._followed(text)
        if _key(target) != _key(text):
            end = target if terms.QID.fullmatch(target) else self.titles.get(normal(target))
            if end:
                return _found(self._followed(end), "redirect", f"{text!r} redirects to {target!r}")
        named = self._named.get(folded)
        if named is None and (bare := QUALIFIED.fullmatch(text)):
            # "Drake (musician)" names what is labelled "Drake"
            named = self._named.get(normal(bare[1]))
        if named:
            return self._chosen(named, text, wanted, 1.0)
        return self._near(folded, text, wanted)

    def _near(self, folded: str, text: str, wanted: frozenset[str]) -> Resolution:
        """Names that are nearly alike, with the same numbers in them."""
        cut = 100 * self.threshold
        hits = process.extract(folded, self._names, scorer=fuzz.ratio, score_cutoff=cut, limit=8)
        hits = [hit for hit in hits if numbers(hit[0]) == numbers(folded)]
        if not hits:
            return Resolution(None, "none", 0.0, f"no label or alias is like {text!r}")
        best = hits[0][1]
        named: dict[str, str] = {}
        for name, score, _ in hits:
            if score >= best - APART:
                for one in self._named[name]:
                    named.setdefault(one, "fuzzy")
        return self._chosen(named, text, wanted, best / 100, hits[0][0])

    def _chosen(
        self, named: Mapping[str, str], text: str, wanted: frozenset[str], likeness: float, like: str = ""
    ) -> Resolution:
        ids = sorted({self._followed(one) for one in named})
        fitting = [one for one in ids if wanted & self.hierarchy.kinds(self.types.get(one, frozenset()))]
        labelled = [one for one in ids if named.get(one) == "label"]
        if len(ids) > 1 and len(fitting) == 1:
            others = ", ".join(one for one in ids if one != fitting[0])
            why = f"of those called {text!r} it is a {' or '.join(sorted(wanted))}; {others} is not"
            return Resolution(fitting[0], "context", CONFIDENCE["context"] * likeness, why)
        if len(ids) > 1 and len(labelled) == 1:
            why = f"{text!r} is its label, and only an alias of {', '.join(o for o in ids if o != labelled[0])}"
            return Resolution(labelled[0], "label", CONFIDENCE["context"], why)
        if len(ids) > 1:
            return Resolution(None, "ambiguous", 0.0, f"{text!r} may be {', '.join(ids)}")
        kind = named.get(ids[0]) or next(iter(named.values()))
        if kind == "fuzzy":
            return Resolution(ids[0], kind, 0.9 * likeness, f"{text!r} is {likeness:.2f} like {like!r}")
        return _found(ids[0], kind, f"{text!r} is its {kind}")

    def _followed(self, name: str) -> str:
        """The end of a chain of redirects; a circle ends where it began."""
        seen = {_key(name)}
        while (target := self.redirects.get(_key(name))) is not None and _key(target) not in seen:
            seen.add(_key(target))
            name = target
        return name


def _found(name: str, kind: str, why: str) -> Resolution:
    return Resolution(name, kind, CONFIDENCE[kind], why)


def _key(name: str) -> str:
    return name if terms.QID.fullmatch(name) else normal(name)

"""What kind of thing an item is: its classes (P31) followed upwards (P279) to a few broad kinds.

Kinds are person, organization, place, work, event and taxon. A handful of the classes that benchmarks hold is built
in; a source's own pairs of class and superclass (P279) can be given and are added.

Source: Wikidata's class tree, https://www.wikidata.org/wiki/Wikidata:WikiProject_Ontology
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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


class Hierarchy:
    """The class tree.

    >>> tree = Hierarchy({"Q1": ("Q515",)})
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

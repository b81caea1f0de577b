"""What the measures on the one-to-one matching share: the conventions of the comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure
from goldassay.measures.triples import mistakes, objects
from goldassay.measures.triples.matching import Matching, match
from goldassay.measures.triples.objects import Comparing
from goldassay.measures.triples.predicates import Pairs, alignment
from goldassay.measures.triples.texts import normal
from goldassay.tally import T

MATCHING = "one-to-one on subject, aligned predicate and object by type"
SOURCE = "Wikidata's data types (https://www.wikidata.org/wiki/Help:Data_type), matched one to one"


@dataclass(frozen=True, kw_only=True)
class Matched(Measure[T]):
    """A measure on the one-to-one matching.

    ``alignment``: pairs of predicate and property. ``equivalents``: pairs of ids (or folded names) that are one thing.
    ``threshold``: the least similarity of texts. ``tolerance``: the greatest relative difference of quantities.
    ``kilometres``: the greatest distance of coordinates. ``times``: ``gold`` or ``coarser`` (see `times`).
    ``excluded``: value types that are left out.
    """

    task: ClassVar[str] = "triples"
    gold_fields: ClassVar[tuple[str, ...]] = ("triples",)
    pred_fields: ClassVar[tuple[str, ...]] = ("triples",)
    fixed: ClassVar[dict[str, str]] = {"match": "one-to-one", "ranks": "not deprecated", "unaligned": "left out"}
    source: ClassVar[str] = SOURCE

    alignment: Pairs = ()
    prefixes: Pairs = ()
    equivalents: Pairs = ()
    threshold: float = 0.9
    tolerance: float = 0.0
    kilometres: float = 1.0
    times: str = "gold"
    excluded: tuple[str, ...] = objects.EXCLUDED

    def __post_init__(self) -> None:
        if self.times not in ("gold", "coarser"):
            raise GoldassayError(f"times is 'gold' or 'coarser', not {self.times!r}")
        if not 0.0 < self.threshold <= 1.0 or self.tolerance < 0 or self.kilometres < 0:
            raise GoldassayError("threshold lies in (0, 1]; tolerance and kilometres are not negative")

    def match(self, gold: Any, pred: Any) -> Matching:
        """The matching under this measure's conventions."""
        table = alignment(self.alignment, self.prefixes)
        comparing = Comparing(self.threshold, self.tolerance, self.kilometres, self.times)
        return match(gold, pred, table, comparing, _table(self.equivalents), self.excluded)

    def tally(self, found: Matching) -> T:
        """The evidence that a matching gives."""
        raise GoldassayError(f"{type(self).__name__} does not say what it counts")

    def assess(self, gold: Any, pred: Any) -> Assessment[T]:
        found = self.match(gold, pred)
        errors, right = mistakes.found(found, gold)
        return Assessment(self.tally(found), errors, right)

    @property
    def conventions(self) -> str:
        """As for every measure, with tables by their number of rows."""
        text = super().conventions
        for name in ("alignment", "prefixes", "equivalents"):
            pairs = getattr(self, name)
            shown = "+".join(map(str, pairs))
            text = text.replace(f"{name}={shown}", f"{name}={f'{len(pairs)} rows' if pairs else 'none'}", 1)
        return text


def _table(pairs: Pairs) -> dict[str, str]:
    """Equivalent ids and names, both folded as items are."""
    out: dict[str, str] = {}
    for one, other in pairs:
        out[one], out[normal(one)] = other, normal(other)
    return out

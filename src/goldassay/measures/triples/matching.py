"""One-to-one matching of predicted and gold statements: same subject, aligned predicate, same object.

A gold statement is covered once; the matching with the most pairs is taken, so neither the order of statements nor a
first near miss decides. Where predictions compete for a statement, the more confident one is served first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from goldassay.fields import read
from goldassay.measures.triples import objects, records, terms
from goldassay.measures.triples.objects import Comparing, Value
from goldassay.measures.triples.records import NO_TABLE, Triple
from goldassay.measures.triples.terms import Alignment

AS_USUAL = Comparing()
EXACT, PARTIAL, NO_MATCH = "exact", "partial", "no_match"


@dataclass(slots=True)
class Matching:
    """The statements of one example and which prediction covers which gold statement."""

    gold: list[Triple]
    pred: list[Triple]
    pairs: dict[int, int] = field(default_factory=dict)
    """From the index of a prediction to that of the gold statement that it covers."""

    @property
    def missed(self) -> list[int]:
        """Gold statements that nothing covers."""
        covered = set(self.pairs.values())
        return [index for index in range(len(self.gold)) if index not in covered]

    @property
    def unmatched(self) -> list[int]:
        """Predictions that cover nothing."""
        return [index for index in range(len(self.pred)) if index not in self.pairs]

    def kind(self, index: int) -> str:
        """``exact``: covers gold; ``partial``: gold has other objects for it; ``no_match``: gold is silent."""
        if index in self.pairs:
            return EXACT
        said = self.pred[index]
        return PARTIAL if any(related(gold, said) for gold in self.gold) else NO_MATCH


def related(gold: Triple, pred: Triple, equivalents: Mapping[str, str] | None = None) -> bool:
    """Whether both speak of one property of one subject."""
    return bool(gold.properties & pred.properties) and _one_subject(gold, pred, equivalents)


def _one_subject(gold: Triple, pred: Triple, equivalents: Mapping[str, str] | None) -> bool:
    return (
        gold.subject is not None
        and pred.subject is not None
        and terms.same_item(gold.subject, pred.subject, equivalents)
    )


def match(
    gold: object,
    pred: object,
    table: Alignment = NO_TABLE,
    comparing: Comparing = AS_USUAL,
    equivalents: Mapping[str, str] | None = None,
    excluded: Iterable[str] = objects.EXCLUDED,
) -> Matching:
    """The matching of one example; statements of the ``excluded`` value types are left out on both sides.

    Args:
        table: Which predicates mean a property.
        comparing: How objects compare: thresholds and tolerances.
        equivalents: Ids that are counted as another one.

    >>> gold = {"triples": [{"subject": "Rijksmuseum", "predicate": "P571", "object": "1798-11-19"}]}
    >>> pred = {"triples": [{"subject": "rijksmuseum", "predicate": "wdt:P571", "object": "19 November 1798"}]}
    >>> match(gold, pred).pairs
    {0: 0}
    """
    name = read(gold, "id", None)
    found = Matching(records.wanted(gold, table, excluded), records.said(pred, table, excluded, name))
    found.pairs = _assign(_candidates(found, comparing, equivalents), len(found.gold))
    return found


def _candidates(found: Matching, comparing: Comparing, equivalents: Mapping[str, str] | None) -> list[list[int]]:
    """Per prediction, the gold statements that it could cover."""
    by_property: dict[str, list[int]] = {}
    for index, statement in enumerate(found.gold):
        for name in statement.properties:
            by_property.setdefault(name, []).append(index)
    out: list[list[int]] = []
    for said in found.pred:
        read_as: dict[str, Value | None] = {}
        near = sorted({index for name in said.properties for index in by_property.get(name, ())})
        fits = []
        for index in near:
            gold = found.gold[index]
            if gold.kind not in read_as:
                read_as[gold.kind] = objects.read(said.triple, gold.kind)
            if _one_subject(gold, said, equivalents) and objects.same(
                gold.value, read_as[gold.kind], comparing, equivalents
            ):
                fits.append(index)
        out.append(fits)
    return out


def _assign(candidates: Sequence[Sequence[int]], n: int) -> dict[int, int]:
    """The largest one-to-one assignment, by augmenting paths; an earlier prediction keeps a place once it has one."""
    holder: list[int | None] = [None] * n
    place: dict[int, int] = {}
    for start in range(len(candidates)):
        parent: dict[int, int] = {}  # gold statement -> the prediction from which it was reached
        queue, end = [start], None
        while queue and end is None:
            said = queue.pop(0)
            for index in candidates[said]:
                if index in parent:
                    continue
                parent[index] = said
                other = holder[index]
                if other is None:
                    end = index
                    break
                queue.append(other)
        while end is not None:
            said = parent[end]
            previous = place.get(said)
            holder[end], place[said] = said, end
            end = previous if said != start else None
    return place

"""Counting as the official HIPE scorer does: predictions are taken in the order of the text.

A prediction that equals a gold span (boundaries, type and words) is correct in every schema. Otherwise the first gold
span decides that has the same boundaries and another type, or that overlaps and was not taken before, with or without
the same type; the same boundaries and type in other words are an overlap. A prediction that no gold span decides is
spurious; a gold span that none took is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from goldassay.measure import pred_field
from goldassay.measures.extraction.records import PRED, Span, entities, sides, spans

COARSE = "pers per loc org prod humanprod time work object scope date building street comp"
FINE = (
    "pers.ind pers.coll pers.ind.articleauthor pers.author per.author pers.editor pers.myth pers.other org.adm org.ent "
    "org.ent.pressagency prod.media prod.doctr time.date.abs time.hour.abs loc.add loc.add.phys loc.add.elec loc.adm "
    "loc.adm.town loc.adm.reg loc.adm.nat loc.adm.sup loc.admin.sup loc.phys loc.phys.geo loc.phys.hydro "
    "loc.phys.astro loc.oro loc.fac loc.unk work.primlit work.seclit work.fragm object.manuscr object.museum "
    "comp.demonym comp.function comp.name comp.qualifier comp.title"
)
HIPE_TYPES = frozenset(f"{COARSE} {FINE}".split())  # of 2020 and 2022

CORRECT, INCORRECT, PARTIAL, MISSING, SPURIOUS = range(5)  # the fields of SemEvalCounts, in their order
Outcome = tuple[int, ...]  # a field for each of `SCHEMAS`
EQUAL: Outcome = (CORRECT,) * 4
OTHER_TYPE: Outcome = (INCORRECT, CORRECT, CORRECT, INCORRECT)
OVERLAPS: tuple[Outcome, Outcome] = (  # of another type, of the same
    (INCORRECT, INCORRECT, PARTIAL, INCORRECT),
    (INCORRECT, INCORRECT, PARTIAL, CORRECT),
)
MISSED_ALL: Outcome = (MISSING,) * 4
SPURIOUS_ALL: Outcome = (SPURIOUS,) * 4
Fit = tuple[bool, bool, bool, bool]  # one place, as it should be, not as it should be, some overlap


def known_types(gold: Sequence[Sequence[Span]]) -> frozenset[str]:
    """The types that count, in small letters: gold's and those of HIPE's tag sets."""
    return HIPE_TYPES | {span.type.casefold() for document in gold for span in document}


def known(gold: Sequence[object], pred: Sequence[object]) -> tuple[list[dict[str, list[Span]]], int]:
    """The predictions without those of types that do not count, and how many those are."""
    types = known_types([sides(record, [])[0] for record in gold])
    predicted = [spans(entities(prediction, pred_field), PRED) for prediction in pred]
    counted = [[span for span in document if span.type.casefold() in types] for document in predicted]
    return [{"entities": document} for document in counted], sum(map(len, predicted)) - sum(map(len, counted))


def decisions(gold: Sequence[Span], pred: Sequence[Span]) -> list[tuple[str, Outcome]]:
    """The outcome of each prediction of a document, and of each gold span that none took, with the type it counts for.

    >>> [outcome[3] for _, outcome in decisions([Span(0, 5, "loc")], [Span(0, 4, "loc"), Span(4, 5, "loc")])]
    [0, 4]
    """

    def fit(span: Span, other: Span) -> Fit:
        same, there = span.type == other.type, other.start >= 0
        return span.place == other.place, same and there, not same, there and span.overlaps(other)

    left, right = (sorted(side, key=lambda span: (span.start, span.end)) for side in (gold, pred))
    return decided(left, right, fit, lambda span: span.type)


def decided(
    gold: Sequence[Any], pred: Sequence[Any], fit: Callable[[Any, Any], Fit], name: Callable[[Any], str]
) -> list[tuple[str, Outcome]]:
    """The same for whatever has a place and a ``form`` (other words than gold's): ``fit`` compares two of them."""
    taken: set[int] = set()
    outcomes: list[tuple[str, Outcome]] = []
    for answer in pred:
        fits = [(at, *fit(other, answer)) for at, other in enumerate(gold)]
        ways = chain(
            ((at, EQUAL) for at, placed, right, _, _ in fits if placed and right and not answer.form),
            (
                (at, OTHER_TYPE if placed and wrong else OVERLAPS[right])
                for at, placed, right, wrong, overlaps in fits
                if (placed and wrong) or (overlaps and at not in taken)
            ),
            [(-1, SPURIOUS_ALL)],
        )
        index, outcome = next(ways)
        taken.add(index)
        outcomes.append((name(answer if index < 0 else gold[index]), outcome))
    return outcomes + [(name(other), MISSED_ALL) for index, other in enumerate(gold) if index not in taken]

"""Counting as the official HIPE scorer does: predictions are taken in the order of the text.

A prediction that equals a gold span (boundaries, type and words) is correct in every schema. Otherwise the first gold
span decides that has the same boundaries and another type, or that overlaps and was not taken before, with or without
the same type; the same boundaries and type in other words are an overlap. A prediction that no gold span decides is
spurious; a gold span that none took is missed.
"""

from __future__ import annotations

from collections.abc import Sequence

from goldassay.measures.extraction.records import GOLD, PRED, Span, fields, name, spans

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
SCHEMAS = ("strict", "exact", "partial", "type")
Outcome = tuple[int, int, int, int]  # a field for each schema
EQUAL: Outcome = (CORRECT,) * 4  # pyright: ignore[reportAssignmentType]
OTHER_TYPE: Outcome = (INCORRECT, CORRECT, CORRECT, INCORRECT)
OVERLAP: Outcome = (INCORRECT, INCORRECT, PARTIAL, CORRECT)
OVERLAP_OTHER_TYPE: Outcome = (INCORRECT, INCORRECT, PARTIAL, INCORRECT)


def known_types(gold: Sequence[Sequence[Span]]) -> frozenset[str]:
    """The types that count, in small letters: gold's and those of HIPE's tag sets."""
    return HIPE_TYPES | {span.type.casefold() for document in gold for span in document}


def known(
    gold: Sequence[object], pred: Sequence[object]
) -> tuple[list[dict[str, object]], list[dict[str, object]], int]:
    """Both sides as records without predictions of types that do not count, and how many those are."""
    left, right, texts = fields(gold, pred)
    annotated = [spans(entities, GOLD, placed=True) for entities in left]
    types = known_types(annotated)
    predicted = [spans(entities, PRED) for entities in right]
    counted = [[span for span in document if span.type.casefold() in types] for document in predicted]
    records: list[dict[str, object]] = [
        {"id": name(record), "text": text, "entities": entities}
        for record, text, entities in zip(gold, texts, annotated, strict=True)
    ]
    return records, [{"entities": entities} for entities in counted], sum(map(len, predicted)) - sum(map(len, counted))


def decisions(gold: Sequence[Span], pred: Sequence[Span]) -> list[tuple[str, Outcome]]:
    """The outcome of each prediction of a document, and of each gold span that none took, with the type it counts for.

    >>> [outcome[3] for _, outcome in decisions([Span(0, 5, "loc")], [Span(0, 4, "loc"), Span(4, 5, "loc")])]
    [0, 4]
    """
    left, right = (sorted(side, key=lambda span: (span.start, span.end)) for side in (gold, pred))
    taken: set[int] = set()
    outcomes = []
    for span in right:
        index, outcome = _decision(span, left, taken)
        taken.add(index)
        outcomes.append((span.type if index < 0 else left[index].type, outcome))
    return outcomes + [(span.type, (MISSING,) * 4) for index, span in enumerate(left) if index not in taken]


def _decision(span: Span, gold: Sequence[Span], taken: set[int]) -> tuple[int, Outcome]:
    for index, other in enumerate(gold):
        if span.start >= 0 and span.place == other.place and span.type == other.type and not span.form:
            return index, EQUAL
    for index, other in enumerate(gold):
        if span.place == other.place and span.type != other.type:
            return index, OTHER_TYPE
        if index not in taken and span.start >= 0 and span.overlaps(other):
            return index, OVERLAP if span.type == other.type else OVERLAP_OTHER_TYPE
    return -1, (SPURIOUS,) * 4  # pyright: ignore[reportReturnType]

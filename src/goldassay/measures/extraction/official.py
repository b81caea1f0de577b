"""Counting as the official HIPE scorer does, where it differs from one-to-one matching with the most pairs.

Predictions are taken in the order of the text. One that equals a gold span (boundaries and type) is correct in every
scheme. Otherwise the first gold span decides that has the same boundaries, or that overlaps and was not taken before:
same boundaries and another type, or an overlap with or without the same type. A prediction that no gold span decides is
spurious; a gold span that none took is missed. Predicted types that neither gold nor HIPE's tag set know are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from goldassay.measures.extraction.spans import Span
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.tally import Counts

SCHEMES = ("strict", "exact", "partial", "type")
COARSE = "pers loc org prod time work object scope date building street"
FINE = (
    "pers.ind pers.coll pers.ind.articleauthor pers.author pers.editor pers.myth pers.other org.adm org.ent "
    "org.ent.pressagency prod.media prod.doctr time.date.abs loc.adm.town loc.adm.reg loc.adm.nat loc.adm.sup "
    "loc.phys.geo loc.phys.hydro loc.phys.astro loc.oro loc.fac loc.add.phys loc.add.elec loc.unk work.primlit "
    "work.seclit work.fragm object.manuscr scope"
)
HIPE_TYPES = frozenset(f"{COARSE} {FINE}".split())

Scheme = dict[str, SemEvalCounts]


def known_types(gold: Sequence[Sequence[Span]]) -> frozenset[str]:
    """The types that count: gold's and those of HIPE's tag set."""
    return HIPE_TYPES | {span.type for spans in gold for span in spans}


def hipe(gold: Sequence[Span], pred: Sequence[Span], types: frozenset[str]) -> dict[str, Scheme]:
    """SemEval counts of one document by type (``ALL`` for all) and scheme, counted in the official order.

    >>> found = hipe([Span(0, 5, "loc")], [Span(0, 4, "loc"), Span(4, 5, "loc")], frozenset(["loc"]))["ALL"]["type"]
    >>> found.correct, found.spurious
    (1, 1)
    """
    out: dict[str, Scheme] = {"ALL": _zero()}
    left = sorted(gold, key=lambda span: (span.start, span.end))
    right = sorted((span for span in pred if span.type in types), key=lambda span: (span.start, span.end))
    taken: set[int] = set()
    for span in right:
        index, how = _decided(span, left, taken)
        if index is None:
            _count(out, span.type, {scheme: "spurious" for scheme in SCHEMES})
            continue
        taken.add(index)
        _count(out, left[index].type, how)
    for index, span in enumerate(left):
        if index not in taken:
            _count(out, span.type, {scheme: "missed" for scheme in SCHEMES})
    return out


RIGHT = dict.fromkeys(SCHEMES, "correct")
OTHER_TYPE = {"strict": "incorrect", "exact": "correct", "partial": "correct", "type": "incorrect"}
OVERLAP = {"strict": "incorrect", "exact": "incorrect", "partial": "partial", "type": "correct"}
OVERLAP_OTHER_TYPE = {**OVERLAP, "type": "incorrect"}


def _decided(span: Span, gold: Sequence[Span], taken: set[int]) -> tuple[int | None, dict[str, str]]:
    for index, other in enumerate(gold):
        if span.start >= 0 and span.place == other.place and span.type == other.type:
            return index, RIGHT
    for index, other in enumerate(gold):
        if span.place == other.place:
            return index, OTHER_TYPE
        if index not in taken and span.start >= 0 and span.overlaps(other):
            return index, OVERLAP if span.type == other.type else OVERLAP_OTHER_TYPE
    return None, {}


def _zero() -> Scheme:
    return {scheme: SemEvalCounts(0, 0, 0, 0, 0) for scheme in SCHEMES}


def _count(out: dict[str, Scheme], kind: str, how: dict[str, str]) -> None:
    for key in ("ALL", kind):
        into = out.setdefault(key, _zero())
        for scheme, what in how.items():
            into[scheme] += SemEvalCounts(**{**dict.fromkeys(("correct", "incorrect", "partial", "missed", "spurious"), 0), what: 1})


def as_counts(found: SemEvalCounts) -> Counts:
    """TP is what is correct, FP the rest of what was predicted, FN the rest of gold."""
    return Counts(found.correct, found.actual - found.correct, found.possible - found.correct)

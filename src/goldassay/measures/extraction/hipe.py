"""Counting as the official HIPE scorer does, where it differs from one-to-one matching with the most pairs.

Predictions are taken in the order of the text. One that equals a gold span (boundaries, type and words) is correct in
every schema. Otherwise the first gold span decides that has the same boundaries and another type, or that overlaps and
was not taken before, with or without the same type; the same boundaries and type in other words are an overlap. A
prediction that no gold span decides is spurious; a gold span that none took is missed. Predicted types that neither
gold nor HIPE's tag sets of 2020 and 2022 know are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from goldassay.measures.extraction.matching import SCHEMAS
from goldassay.measures.extraction.records import GOLD, PRED, Span, fields, name, spans
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.tally import Counts

COARSE = "pers per loc org prod humanprod time work object scope date building street comp"
FINE = (
    "pers.ind pers.coll pers.ind.articleauthor pers.author per.author pers.editor pers.myth pers.other org.adm org.ent "
    "org.ent.pressagency prod.media prod.doctr time.date.abs time.hour.abs loc.add loc.add.phys loc.add.elec loc.adm "
    "loc.adm.town loc.adm.reg loc.adm.nat loc.adm.sup loc.admin.sup loc.phys loc.phys.geo loc.phys.hydro "
    "loc.phys.astro loc.oro loc.fac loc.unk work.primlit work.seclit work.fragm object.manuscr object.museum "
    "comp.demonym comp.function comp.name comp.qualifier comp.title"
)
HIPE_TYPES = frozenset(f"{COARSE} {FINE}".split())

CountsBySchema = dict[str, SemEvalCounts]


def known_types(gold: Sequence[Sequence[Span]]) -> frozenset[str]:
    """The types that count, in small letters: gold's and those of HIPE's tag sets."""
    return HIPE_TYPES | {span.type.casefold() for spans in gold for span in spans}


def known(
    gold: Sequence[object], pred: Sequence[object]
) -> tuple[list[dict[str, object]], list[dict[str, object]], int]:
    """Both sides as records without predictions of types that do not count, and how many those were."""
    left, right, texts = fields(gold, pred)
    wanted = [spans(entities, GOLD, placed=True) for entities in left]
    made: list[dict[str, object]] = [
        {"id": name(one), "text": text, "entities": each} for one, text, each in zip(gold, texts, wanted, strict=True)
    ]
    types = known_types(wanted)
    found = [spans(entities, PRED) for entities in right]
    kept = [[span for span in each if span.type.casefold() in types] for each in found]
    return made, [{"entities": each} for each in kept], sum(map(len, found)) - sum(map(len, kept))


def hipe(gold: Sequence[Span], pred: Sequence[Span], types: frozenset[str] | None = None) -> dict[str, CountsBySchema]:
    """SemEval counts of one document by type (``ALL`` for all) and schema, counted in the official order.

    Where ``types`` are given, predictions of other types are left out.

    >>> found = hipe([Span(0, 5, "loc")], [Span(0, 4, "loc"), Span(4, 5, "loc")])["ALL"]["type"]
    >>> found.correct, found.spurious
    (1, 1)
    """
    out: dict[str, CountsBySchema] = {"ALL": _zero()}
    left = sorted(gold, key=lambda span: (span.start, span.end))
    counted = pred if types is None else [span for span in pred if span.type.casefold() in types]
    right = sorted(counted, key=lambda span: (span.start, span.end))
    taken: set[int] = set()
    for span in right:
        index, how = _decided(span, left, taken)
        if index is None:
            _count(out, span.type, dict.fromkeys(SCHEMAS, "spurious"))
            continue
        taken.add(index)
        _count(out, left[index].type, how)
    for index, span in enumerate(left):
        if index not in taken:
            _count(out, span.type, dict.fromkeys(SCHEMAS, "missed"))
    return out


RIGHT: dict[str, str] = dict.fromkeys(SCHEMAS, "correct")
OTHER_TYPE = {"strict": "incorrect", "exact": "correct", "partial": "correct", "type": "incorrect"}
OVERLAP = {"strict": "incorrect", "exact": "incorrect", "partial": "partial", "type": "correct"}
OVERLAP_OTHER_TYPE = {**OVERLAP, "type": "incorrect"}


def _decided(span: Span, gold: Sequence[Span], taken: set[int]) -> tuple[int | None, dict[str, str]]:
    for index, other in enumerate(gold):
        if span.start >= 0 and span.place == other.place and span.type == other.type and not span.form:
            return index, RIGHT
    for index, other in enumerate(gold):
        if span.place == other.place and span.type != other.type:
            return index, OTHER_TYPE
        if index not in taken and span.start >= 0 and span.overlaps(other):
            return index, OVERLAP if span.type == other.type else OVERLAP_OTHER_TYPE
    return None, {}


def _zero() -> CountsBySchema:
    return {schema: SemEvalCounts(0, 0, 0, 0, 0) for schema in SCHEMAS}


def _count(out: dict[str, CountsBySchema], kind: str, how: dict[str, str]) -> None:
    for key in ("ALL", kind):
        into = out.setdefault(key, _zero())
        for schema, what in how.items():
            into[schema] += SemEvalCounts(
                **{**dict.fromkeys(("correct", "incorrect", "partial", "missed", "spurious"), 0), what: 1}
            )


def as_counts(found: SemEvalCounts) -> Counts:
    """TP is what is correct, FP the rest of what was predicted, FN the rest of gold."""
    return Counts(found.correct, found.actual - found.correct, found.possible - found.correct)


SCHEMA = {"strict": "strict", "partial": "type", "type": "type", "exact": "exact"}


def counts(gold: Sequence[Span], pred: Sequence[Span], match: str) -> Counts:
    """Counts of one document; ``match`` is strict, partial, exact or type.

    >>> counts([Span(0, 5, "loc")], [Span(0, 4, "loc"), Span(4, 5, "loc")], "partial")
    Counts(tp=1, fp=1, fn=0)
    """
    return as_counts(hipe(gold, pred)["ALL"][SCHEMA[match]])


def by_type(gold: Sequence[Span], pred: Sequence[Span], match: str) -> dict[str, Counts]:
    """The same by type; a prediction that a gold span decides counts for the type of that span."""
    found = hipe(gold, pred).items()
    return {kind: as_counts(schemas[SCHEMA[match]]) for kind, schemas in sorted(found) if kind != "ALL"}


def semeval(gold: Sequence[Span], pred: Sequence[Span]) -> CountsBySchema:
    """COR, INC, PAR, MIS and SPU of one document in the four schemas."""
    return hipe(gold, pred)["ALL"]

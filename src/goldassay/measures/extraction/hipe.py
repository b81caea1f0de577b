"""Counting as the official HIPE scorer does, where it differs from one-to-one matching with the most pairs.

Predictions are taken in the order of the text. One that equals a gold span (boundaries, type and words) is correct in
every schema. Otherwise the first gold span decides that has the same boundaries and another type, or that overlaps and
was not taken before, with or without the same type; the same boundaries and type in other words are an overlap. A
prediction that no gold span decides is spurious; a gold span that none took is missed. Predicted types that neither
gold nor HIPE's tag sets of 2020 and 2022 know are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goldassay.measures.extraction.corpus import SCHEMAS, Corpus
from goldassay.measures.extraction.records import Span, spans
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.tally import Counts

COARSE = "pers per loc org prod humanprod time work object scope date building street"
FINE = (
    "pers.ind pers.coll pers.ind.articleauthor pers.author pers.editor pers.myth pers.other org.adm org.ent "
    "org.ent.pressagency prod.media prod.doctr time.date.abs loc.adm.town loc.adm.reg loc.adm.nat loc.adm.sup "
    "loc.phys.geo loc.phys.hydro loc.phys.astro loc.oro loc.fac loc.add.phys loc.add.elec loc.unk work.primlit "
    "work.seclit work.fragm object.manuscr scope comp.demonym comp.function comp.name comp.qualifier comp.title"
)
HIPE_TYPES = frozenset(f"{COARSE} {FINE}".split())

Schema = dict[str, SemEvalCounts]


def known_types(gold: Sequence[Sequence[Span]]) -> frozenset[str]:
    """The types that count, in small letters: gold's and those of HIPE's tag sets."""
    return HIPE_TYPES | {span.type.casefold() for spans in gold for span in spans}


def hipe(gold: Sequence[Span], pred: Sequence[Span], types: frozenset[str]) -> dict[str, Schema]:
    """SemEval counts of one document by type (``ALL`` for all) and schema, counted in the official order.

    >>> found = hipe([Span(0, 5, "loc")], [Span(0, 4, "loc"), Span(4, 5, "loc")], frozenset(["loc"]))["ALL"]["type"]
    >>> found.correct, found.spurious
    (1, 1)
    """
    out: dict[str, Schema] = {"ALL": _zero()}
    left = sorted(gold, key=lambda span: (span.start, span.end))
    right = sorted((span for span in pred if span.type.casefold() in types), key=lambda span: (span.start, span.end))
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


def _zero() -> Schema:
    return {schema: SemEvalCounts(0, 0, 0, 0, 0) for schema in SCHEMAS}


def _count(out: dict[str, Schema], kind: str, how: dict[str, str]) -> None:
    for key in ("ALL", kind):
        into = out.setdefault(key, _zero())
        for schema, what in how.items():
            into[schema] += SemEvalCounts(
                **{**dict.fromkeys(("correct", "incorrect", "partial", "missed", "spurious"), 0), what: 1}
            )


def as_counts(found: SemEvalCounts) -> Counts:
    """TP is what is correct, FP the rest of what was predicted, FN the rest of gold."""
    return Counts(found.correct, found.actual - found.correct, found.possible - found.correct)


OFFICIAL = {"strict": "strict", "partial": "type", "exact": "exact"}


def replace(found: Corpus, gold: Sequence[Any], pred: Sequence[Any]) -> None:
    """Put the official scorer's counts in the place of ours."""
    sides = [(spans(g, "gold entities"), spans(p, "predicted entities")) for g, p in zip(gold, pred, strict=True)]
    types = known_types([g for g, _ in sides])
    documents = [hipe(g, p, types) for g, p in sides]
    zero = Counts(0, 0, 0)
    for match, schema in OFFICIAL.items():
        counted = [as_counts(document["ALL"][schema]) for document in documents]
        found.micro[match] = sum(counted, zero)
        found.documents[match] = Counts(*(np.array([getattr(c, part) for c in counted]) for part in ("tp", "fp", "fn")))
        if match in found.types:
            by_type = [{kind: as_counts(per[schema]) for kind, per in document.items()} for document in documents]
            kinds = {kind for document in by_type for kind in document} - {"ALL"}
            found.types[match] = {kind: sum((d.get(kind, zero) for d in by_type), zero) for kind in sorted(kinds)}
    for schema in SCHEMAS:
        found.semeval[schema] = sum((d["ALL"][schema] for d in documents), SemEvalCounts(0, 0, 0, 0, 0))

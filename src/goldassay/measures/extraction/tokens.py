r"""Token level: ``\S+`` with true offsets; a token has the type of every span that overlaps it.

Splitting on spaces and adding one per token misaligns at the first double space or line break. Without a text each
character stands for a token. Words that a program gave and that do not stand in the text are one token that nothing
matches.

`evaluate_tags` scores tag sequences at once: what seqeval's report holds, without a Python loop over tags. Every
distinct tag becomes a small number; a table over (previous tag, tag) says where a chunk begins; chunks of gold and
prediction are joined on where they begin. Sentences with the same tags on both sides are only counted. In the reading
``conlleval`` every chunk is an entity. In the reading ``strict`` only those are that begin and end as the scheme says,
and in IOB1 and IOE1 a B or an E that separates nothing is no part of one. `goldassay.text.tagging` says the same for
one sequence.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, compress, repeat
from operator import not_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import GoldassayError
from goldassay.measures.extraction.columns import SpanColumns
from goldassay.measures.extraction.records import Span
from goldassay.statistics.evidence import Flags, Ints
from goldassay.tally import Counts
from goldassay.text.tagging import named, split

TOKEN = re.compile(r"\S+")


def tokens(text: str) -> list[tuple[int, int]]:
    r"""The offsets of the tokens of a text.

    >>> tokens("a  b\nc")
    [(0, 1), (3, 4), (5, 6)]
    """
    return [match.span() for match in TOKEN.finditer(text)]


def token_counts(gold: Sequence[Span], pred: Sequence[Span], text: str) -> dict[str, Counts]:
    """Counts of the tokens of one document by type."""
    end = max((span.end for span in (*gold, *pred)), default=0)
    places = tokens(text) if text else [(i, i + 1) for i in range(end)]
    left, right = _covered(gold, places), _covered(pred, places)
    return {
        kind: Counts(len(a & b), len(b - a), len(a - b))
        for kind in sorted({*left, *right})
        for a, b in [(left.get(kind, set()), right.get(kind, set()))]
        if a or b
    }


def _covered(items: Sequence[Span], places: Sequence[tuple[int, int]]) -> dict[str, set[int]]:
    starts, ends = [start for start, _ in places], [end for _, end in places]
    out: dict[str, set[int]] = {}
    for span in items:
        found = out.setdefault(span.type, set())
        if span.start < 0:
            found.add(-1 - len(found))  # nothing else has this number
            continue
        for start, end in span.fragments or ((span.start, span.end),):
            found.update(range(bisect_right(ends, start), bisect_left(starts, end)))
    return out


def token_columns(gold: SpanColumns, pred: SpanColumns, texts: Sequence[str], types: int) -> tuple[Ints, Ints, Ints]:
    """The same for many documents at once: the tokens that both sides have, that gold has, that pred has.

    Each token is the number document · ``types`` + type.
    """
    if not texts or not types:
        none = np.zeros(0, np.int64)
        return none, none, none
    reach = np.fromiter(map(len, texts), np.int64, len(texts))
    bare = reach == 0
    for side in (gold, pred):
        within = bare[side.document]
        np.maximum.at(reach, side.document[within], side.end[within])
    base = np.cumsum(reach + 1) - reach - 1  # one place between documents, which holds no token
    inside = _characters(texts, reach, bare)
    before = np.concatenate(([False], inside[:-1]))
    single = np.repeat(bare, reach + 1)  # without a text every character is a token
    starts = np.flatnonzero(inside & (~before | single))
    ends = np.flatnonzero(np.concatenate((before & (~inside | single), inside[-1:])))
    wanted, missing = _tokens(gold, base, reach, starts, ends, types)
    given, unlocated = _tokens(pred, base, reach, starts, ends, types)
    both = np.intersect1d(wanted, given, assume_unique=True)
    document = (np.searchsorted(base, starts, "right") - 1) * types

    def cells(found: Ints) -> Ints:
        return document[found // types] + found % types

    return cells(both), np.concatenate((cells(wanted), missing)), np.concatenate((cells(given), unlocated))


def _tokens(side: SpanColumns, base: Ints, reach: Ints, starts: Ints, ends: Ints, types: int) -> tuple[Ints, Ints]:
    """Distinct (token, type) as one number, and (document, type) of spans that are not in the text."""
    rows = np.flatnonzero(side.start >= 0)
    start, end = side.start[rows], side.end[rows]
    if side.fragments:
        parts = [
            (row, a, b)
            for row in rows.tolist()
            for a, b in side.fragments.get(row, ((side.start[row], side.end[row]),))
        ]
        rows, start, end = (np.array(column, np.int64) for column in zip(*parts, strict=True))
    here, last = base[side.document[rows]], reach[side.document[rows]]
    first = np.searchsorted(ends, here + np.minimum(start, last), "right")
    many = np.maximum(np.searchsorted(starts, here + np.minimum(end, last), "left") - first, 0)
    token = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many - first, many)
    lost = side.start < 0
    found = np.sort(token * types + np.repeat(side.type[rows], many))  # nearly in order: faster than np.unique
    distinct = np.concatenate((np.ones(len(found[:1]), bool), found[1:] != found[:-1]))
    return found[distinct], side.document[lost] * types + side.type[lost]


def _characters(texts: Sequence[str], reach: Ints, bare: Flags) -> Flags:
    """For every place on the axis whether a token stands there."""
    if bare.any():
        joined = "".join(text + "\n" if text else "x" * n + "\n" for text, n in zip(texts, reach.tolist(), strict=True))
    else:
        joined = "".join(chain.from_iterable(zip(texts, repeat("\n"))))
    letters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    return np.logical_not(_spaces()[letters])


@cache
def _spaces() -> Flags:
    """Which characters are white space for ``re``."""
    out = np.zeros(sys.maxunicode + 1, bool)
    out[[code for code in range(0x3001) if chr(code).isspace()]] = True
    return out


Tags = Sequence[Sequence[str]]

WHOLE = {  # first and last letter of a chunk that the scheme allows
    "IOB2": ("BB", "BI"),
    "IOE": ("EE", "IE"),
    "IOE2": ("EE", "IE"),
    "IOBES": ("SS", "BE"),
    "BILOU": ("UU", "BL"),
}


def evaluate_tags(
    gold: Tags, pred: Tags, *, scheme: str | None = None, mode: str = "conlleval"
) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and support by type, with ``micro avg``, ``macro avg`` (all types seen), ``weighted avg``.

    ``scheme`` is IOB1, IOB2, IOE1, IOE2, IOBES or BILOU, guessed from the tags without one; ``mode`` is the reading of
    malformed tags: ``conlleval`` (an orphan I- opens an entity) or ``strict`` (it is nothing).

    >>> evaluate_tags([["B-TOP", "I-TOP", "O"]], [["B-TOP", "I-TOP", "I-TMP"]])["micro avg"]["precision"]
    0.5
    >>> evaluate_tags([["B-TOP", "I-TOP", "O"]], [["B-TOP", "I-TOP", "I-TMP"]], mode="strict")["micro avg"]["precision"]
    1.0
    """
    if mode not in ("conlleval", "strict"):
        raise GoldassayError(f"no reading {mode!r} of malformed tags; there are conlleval and strict")
    _same_lengths(gold, pred)
    ids = _Ids(O=0)
    codes = [_coded(sentences, ids) for sentences in _apart(gold, pred)]
    name = named(scheme, ids)
    tagset = _tagset([split(tag, name) for tag in ids])
    left, right, both = (_entities(code, tagset, name if mode == "strict" else None) for code in codes)
    shared = np.bincount(both.type, minlength=len(tagset.types))
    return _report(tagset.types, *(found + shared for found in _joined(left, right, len(tagset.types))))


class _Ids(dict[str, int]):
    def __missing__(self, tag: str) -> int:
        found = self[tag] = len(self)
        return found


class _Tagset(NamedTuple):
    types: list[str]
    letter: NDArray[np.str_]
    type: Ints
    same: Flags  # [before, tag]: both inside, of one type
    begins: Flags  # [before, tag]


class _Entities(NamedTuple):
    start: Ints
    end: Ints
    type: Ints


def _same_lengths(gold: Tags, pred: Tags) -> None:
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold sentences against {len(pred)} predicted ones; they must be aligned")
    for number, (a, b) in enumerate(zip(map(len, gold), map(len, pred), strict=True)):
        if a != b:
            raise GoldassayError(
                f"sentence {number + 1} has {a} gold tags and {b} predicted ones; it must have as many"
            )


def _apart(gold: Tags, pred: Tags) -> tuple[Tags, Tags, Tags]:
    """Both sides where they differ, and the sentences that have the same tags on both sides."""
    differ = [not (type(a) is type(b) is list and a == b) for a, b in zip(gold, pred, strict=True)]
    return list(compress(gold, differ)), list(compress(pred, differ)), list(compress(gold, map(not_, differ)))


def _coded(sentences: Tags, ids: _Ids) -> Ints:
    """One number a tag, with an O after each sentence."""
    n = sum(map(len, sentences)) + len(sentences)
    flat = chain.from_iterable(chain.from_iterable(zip(sentences, repeat(("O",)))))
    return np.fromiter(map(ids.__getitem__, flat), np.int64, n)


def _tagset(parts: Sequence[tuple[str, str]]) -> _Tagset:
    types = sorted({kind for letter, kind in parts if letter != "O"})
    number = {kind: index for index, kind in enumerate(types)}
    letter = np.array([letter for letter, _ in parts])
    kind = np.array([number.get(kind, -1) for _, kind in parts], np.int64)
    same = (kind[:, None] == kind) & (kind >= 0)
    goes_on = same & np.isin(letter, list("BI"))[:, None] & np.isin(letter, list("IEL"))
    return _Tagset(types, letter, kind, same, (kind >= 0) & ~goes_on)


def _entities(codes: Ints, tagset: _Tagset, scheme: str | None) -> _Entities:
    if scheme in ("IOB1", "IOE1"):
        codes = np.where(_separates_nothing(codes, tagset, scheme[2:] == "E1"), 0, codes)
    before = _shifted(codes)
    opens = tagset.begins[before, codes]
    start = np.flatnonzero(opens)
    inside = tagset.type >= 0
    end = np.flatnonzero(inside[before] & (~inside[codes] | opens))
    kind = tagset.type[codes[start]]
    if scheme in WHOLE:
        first, last = tagset.letter[codes[start]], tagset.letter[codes[end - 1]]
        whole = np.isin(np.char.add(first, last), WHOLE[scheme]) if len(start) else np.zeros(0, bool)
        return _Entities(start[whole], end[whole], kind[whole])
    return _Entities(start, end, kind)


def _separates_nothing(codes: Ints, tagset: _Tagset, ending: bool) -> Flags:
    """IOB1 has B, and IOE1 has E, only between two entities of one type."""
    joins: Flags = tagset.same[codes, np.append(codes[1:], 0)] if ending else tagset.same[_shifted(codes), codes]
    mark: Flags = tagset.letter[codes] == ("E" if ending else "B")
    return mark & ~joins


def _shifted(codes: Ints) -> Ints:
    return np.concatenate((np.zeros(1, np.int64), codes[:-1]))[: len(codes)]


def _joined(left: _Entities, right: _Entities, n: int) -> tuple[Ints, Ints, Ints]:
    """True positives, gold and predicted entities by type; entities of one sequence do not overlap."""
    place = np.minimum(np.searchsorted(right.start, left.start), max(len(right.start) - 1, 0))
    hit = np.zeros(len(left.start), bool)
    if len(right.start):
        hit = (right.start[place] == left.start) & (right.end[place] == left.end) & (right.type[place] == left.type)
    tp, gold, pred = (np.bincount(kind, minlength=n) for kind in (left.type[hit], left.type, right.type))
    return tp, gold, pred


def _report(types: Iterable[str], tp: Ints, gold: Ints, pred: Ints) -> dict[str, dict[str, float]]:
    seen = gold + pred > 0
    types = [kind for kind, here in zip(types, seen.tolist(), strict=True) if here]
    tp, gold, pred = tp[seen], gold[seen], pred[seen]
    rates = {"precision": _ratio(tp, pred), "recall": _ratio(tp, gold), "f1": _ratio(2 * tp, gold + pred)}
    columns = zip(*(values.tolist() for values in rates.values()), strict=True)
    support = int(gold.sum())
    out: dict[str, dict[str, float]] = {
        kind: {**dict(zip(rates, row, strict=True)), "support": int(n)}
        for kind, row, n in zip(types, columns, gold, strict=True)
    }
    micro = _ratio(tp.sum(), pred.sum()), _ratio(tp.sum(), support), _ratio(2 * tp.sum(), support + pred.sum())
    weights = _ratio(gold, np.full(len(gold), support))
    out["micro avg"] = {**dict(zip(rates, map(float, micro), strict=True)), "support": support}
    out["macro avg"] = {key: float(values.mean()) if types else 0.0 for key, values in rates.items()}
    out["weighted avg"] = {key: float(values @ weights) for key, values in rates.items()}
    for average in ("macro avg", "weighted avg"):
        out[average]["support"] = support
    return out


def _ratio(above: Any, below: Any) -> Any:
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=np.asarray(below) > 0)

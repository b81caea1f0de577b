"""Precision, recall and F1 of tag sequences: what seqeval's report holds, without a Python loop over tags.

How it is fast: every distinct tag becomes a small number; tables over (previous tag, tag) say where an entity begins,
goes on and ends (`goldassay.text.tagging.step`, which reads one sequence too); the entities of gold and prediction are
joined on where they begin. Sentences with the same tags on both sides are only counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, compress, repeat
from operator import not_
from typing import Any, NamedTuple

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measure import check_choice
from goldassay.statistics.evidence import Flags, Ints
from goldassay.tally import Counts
from goldassay.text.tagging import named, split, step

RATES = ("precision", "recall", "f1")
Tags = Sequence[Sequence[str]]


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
    check_choice("mode", mode, ("conlleval", "strict"))
    _same_lengths(gold, pred)
    ids = _Ids(O=0)
    codes = [_coded(sentences, ids) for sentences in _apart(gold, pred)]
    name = named(scheme, ids)
    tagset = _tagset([split(tag, name) for tag in ids], name, mode)
    left, right, both = (_entities(code, tagset) for code in codes)
    shared = np.bincount(both.type, minlength=len(tagset.types))
    return _report(tagset.types, *(counts + shared for counts in _joined(left, right, len(tagset.types))))


class _Ids(dict[str, int]):
    def __missing__(self, tag: str) -> int:
        self[tag] = len(self)
        return self[tag]


class _Tagset(NamedTuple):
    types: list[str]
    type: Ints
    opens: Flags  # [before, tag], as the next two
    inside: Flags
    ends: Flags


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


def _tagset(parts: Sequence[tuple[str, str]], scheme: str, mode: str) -> _Tagset:
    types = sorted({kind for letter, kind in parts if letter != "O"})
    number = {kind: index for index, kind in enumerate(types)}
    kind = np.array([number.get(kind, -1) for _, kind in parts], np.int64)
    letters, letter = np.unique([letter for letter, _ in parts], return_inverse=True)
    steps = [[[step(scheme, mode, a, b, same) for same in (False, True)] for b in letters] for a in letters]
    table = np.array(steps)[letter[:, None], letter, (kind[:, None] == kind).astype(int)]
    return _Tagset(types, kind, *np.moveaxis(table, -1, 0))


def _entities(codes: Ints, tagset: _Tagset) -> _Entities:
    before = _shifted(codes)
    inside, may_open = tagset.inside[before, codes], tagset.opens[before, codes]
    start = np.flatnonzero(may_open & ~(inside & _shifted(may_open)))  # in IOB1 an I opens behind a B that opens none
    breaks = np.flatnonzero(~inside)
    end = np.append(breaks, len(codes))[np.searchsorted(breaks, start, side="right")]
    well = tagset.ends[codes[end - 1], codes[end]]
    return _Entities(start[well], end[well], tagset.type[codes[start[well]]])


def _shifted(codes: Any) -> Any:
    return np.concatenate((np.zeros(1, codes.dtype), codes[:-1]))[: len(codes)]


def _joined(left: _Entities, right: _Entities, n: int) -> tuple[Ints, Ints, Ints]:
    """True positives, gold and predicted entities by type; entities of one sequence do not overlap."""
    place = np.minimum(np.searchsorted(right.start, left.start), max(len(right.start) - 1, 0))
    hit = np.zeros(len(left.start), bool)
    if len(right.start):
        hit = (right.start[place] == left.start) & (right.end[place] == left.end) & (right.type[place] == left.type)
    tp, gold, pred = (np.bincount(kind, minlength=n) for kind in (left.type[hit], left.type, right.type))
    return tp, gold, pred


def _report(types: Iterable[str], tp: Ints, gold: Ints, pred: Ints) -> dict[str, dict[str, float]]:
    rows = zip(types, tp.tolist(), gold.tolist(), pred.tolist(), strict=True)
    counts = {kind: Counts(hits, given - hits, n - hits) for kind, hits, n, given in rows if n or given}
    report = {kind: _row(tally) for kind, tally in counts.items()}
    total = _row(sum(counts.values(), Counts(0, 0, 0)))
    support = [row["support"] for row in report.values()]
    averages = {"micro avg": total}
    for name, weights in (("macro avg", [1] * len(report)), ("weighted avg", support)):
        whole = sum(weights) or 1
        averages[name] = {
            rate: sum(weight * row[rate] for weight, row in zip(weights, report.values(), strict=True)) / whole
            for rate in RATES
        } | {"support": total["support"]}
    return {**report, **averages}


def _row(counts: Counts) -> dict[str, float]:
    return {rate: float(getattr(counts, rate)) for rate in RATES} | {"support": int(counts.tp + counts.fn)}

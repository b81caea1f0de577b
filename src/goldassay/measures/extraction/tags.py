"""Precision, recall and F1 of tag sequences: what seqeval's report holds, without a Python loop over tags.

How it is fast: every distinct tag becomes a small number; a table over (previous tag, tag) says where an entity opens,
goes on and ends (`goldassay.text.tagging.step`, which reads one sequence too); an entity is one number on both sides.
Sentences with the same tags on both sides are only counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress, repeat
from operator import not_
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measure import check_choice
from goldassay.statistics.evidence import Ints
from goldassay.tally import Counts
from goldassay.text.tagging import named, split, step

RATES = ("precision", "recall", "f1")
Tags = Sequence[Sequence[str]]


class _Ids(dict[str, int]):
    def __missing__(self, tag: str) -> int:
        self[tag] = len(self)
        return self[tag]


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
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold sentences against {len(pred)} predicted ones; they must be aligned")
    for number, (a, b) in enumerate(zip(map(len, gold), map(len, pred), strict=True), 1):
        if a != b:
            raise GoldassayError(f"sentence {number} has {a} gold tags and {b} predicted ones; it must have as many")
    differ = [not (type(a) is type(b) is list and a == b) for a, b in zip(gold, pred, strict=True)]
    same, ids = list(map(not_, differ)), _Ids(O=0)
    codes = [_coded(list(compress(*side)), ids) for side in ((gold, differ), (pred, differ), (gold, same))]
    name = named(scheme, ids)
    parts = [split(tag, name) for tag in ids]
    steps = np.array([step(name, mode, a, b, kind == other) for a, kind in parts for b, other in parts]).T.copy()
    types = sorted({kind for letter, kind in parts if letter != "O"})
    kinds = np.array([types.index(kind) if kind in types else -1 for _, kind in parts])
    left, right, both = (_entities(code, steps, kinds) for code in codes)
    hits = np.intersect1d(left, right, assume_unique=True)
    tp, annotated, predicted = (
        np.bincount(np.concatenate((side, both)) % max(1, len(types)), minlength=len(types)).tolist()
        for side in (hits, left, right)
    )
    rows = zip(types, tp, annotated, predicted, strict=True)
    return _report({kind: Counts(hit, p - hit, g - hit) for kind, hit, g, p in rows if g or p})


def _coded(sentences: Tags, ids: _Ids) -> Ints:
    """One number a tag, with an O after each sentence."""
    tags = chain.from_iterable(chain.from_iterable(zip(sentences, repeat(("O",)))))
    return np.fromiter(map(ids.__getitem__, tags), np.int64, sum(map(len, sentences)) + len(sentences))


def _entities(codes: Ints, steps: Any, kinds: Ints) -> Ints:
    """Each entity as one number: where it begins, where it ends, and its type."""
    after = np.concatenate((np.zeros(1, int), codes))[: len(codes)] * len(kinds) + codes  # behind which tag which tag
    opens, inside = steps[0][after], steps[1][after]
    opened = np.concatenate(([False], opens))[: len(codes)]
    start = np.flatnonzero(opens & ~(inside & opened))  # in IOB1 an I opens behind a B that opens none
    breaks = np.flatnonzero(~inside)
    end = np.append(breaks, len(codes))[np.searchsorted(breaks, start, side="right")]
    well = steps[2][codes[end - 1] * len(kinds) + codes[end]]
    numbers = (start * (len(codes) + 1) + end) * (kinds.max() + 1) + kinds[codes[start]]
    entities: Ints = numbers[well]
    return entities


def _report(counts: dict[str, Counts]) -> dict[str, dict[str, float]]:
    report = {kind: _row(tally) for kind, tally in counts.items()}
    total = _row(sum(counts.values(), Counts(0, 0, 0)))
    averages = {"micro avg": total}
    support = [row["support"] for row in report.values()]
    for average, weights in (("macro avg", [1.0] * len(report)), ("weighted avg", support)):
        means = {
            rate: sum(weight * row[rate] for weight, row in zip(weights, report.values(), strict=True))
            / (sum(weights) or 1)
            for rate in RATES
        }
        averages[average] = {**means, "support": total["support"]}
    return {**report, **averages}


def _row(counts: Counts) -> dict[str, float]:
    return {rate: float(getattr(counts, rate)) for rate in RATES} | {"support": int(counts.tp + counts.fn)}

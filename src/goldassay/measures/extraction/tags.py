"""Precision, recall and F1 of tag sequences (IOB2 and the like), by type and averaged.

How it is fast: every distinct tag becomes a small number; a table over (previous tag, tag) says where an entity opens,
goes on and ends (`goldassay.text.spans.step`, which reads one sequence too); an entity is one number on both sides.
Sentences with the same tags on both sides are only counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, compress, repeat
from operator import not_

import numpy as np

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Flags, Ints
from goldassay.core.measure import check_choice
from goldassay.core.tally import Counts, Macro
from goldassay.results.result import RATE_NAMES
from goldassay.text.spans import named, split, step

Tags = Sequence[Sequence[str]]
"""The tags of each sentence."""


def evaluate_tags(
    gold: Tags, pred: Tags, *, scheme: str | None = None, mode: str = "conlleval"
) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and support by type, with ``micro avg``, ``macro avg`` (all types seen), ``weighted avg``.

    Args:
        gold: The tags of each sentence.
        pred: The predicted tags, as many.
        scheme: IOB1, IOB2, IOE1, IOE2, IOBES or BILOU, guessed from the tags without one.
        mode: The reading of malformed tags: ``conlleval`` (an orphan I- opens an entity) or ``strict`` (it is nothing).

    Raises:
        GoldassayError: The sides have different numbers of sentences or tags, or there is no such mode or scheme.

    >>> evaluate_tags([["B-TOP", "I-TOP", "O"]], [["B-TOP", "I-TOP", "I-TMP"]])["micro avg"]["precision"]
    0.5
    >>> evaluate_tags([["B-TOP", "I-TOP", "O"]], [["B-TOP", "I-TOP", "I-TMP"]], mode="strict")["micro avg"]["precision"]
    1.0
    """
    check_choice("mode", mode, ("conlleval", "strict"))
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold sentences against {len(pred)} predicted ones; they must be aligned")
    for number, (a, b) in enumerate(zip(gold, pred, strict=True), 1):
        if len(a) != len(b):
            message = f"sentence {number} has {len(a)} gold tags and {len(b)} predicted ones; it must have as many"
            raise GoldassayError(message)
    differ = [not (type(a) is type(b) is list and a == b) for a, b in zip(gold, pred, strict=True)]
    ids: defaultdict[str, int] = defaultdict(lambda: len(ids), O=0)
    gold_codes = _coded(list(compress(gold, differ)), ids)
    pred_codes = _coded(list(compress(pred, differ)), ids)
    same_codes = _coded(list(compress(gold, map(not_, differ))), ids)
    name = named(scheme, ids)
    parts = [split(tag, name) for tag in ids]
    types = sorted({kind for letter, kind in parts if letter != "O"})
    steps = np.array([step(name, mode, a, b, kind == other) for a, kind in parts for b, other in parts]).T.copy()
    kinds = np.array([types.index(kind) if kind in types else -1 for _, kind in parts])
    left = _entities(gold_codes, steps, kinds)
    right = _entities(pred_codes, steps, kinds)
    same = _entities(same_codes, steps, kinds)

    def by_type(entities: Ints) -> list[int]:
        numbers = np.concatenate((entities, same)) % max(1, len(types))
        return np.bincount(numbers, minlength=len(types)).tolist()  # type: ignore[no-any-return]

    hits = by_type(np.intersect1d(left, right, assume_unique=True))
    rows = zip(types, hits, by_type(left), by_type(right), strict=True)
    counts = {kind: Counts(hit, p - hit, g - hit) for kind, hit, g, p in rows if g or p}
    total = sum(counts.values(), Counts(0, 0, 0))
    report = {
        kind: {**{rate: float(getattr(tally, rate)) for rate in RATE_NAMES}, "support": int(tally.support)}
        for kind, tally in [*counts.items(), ("micro avg", total)]
    }
    for average, share in (("macro avg", "seen"), ("weighted avg", "support")):
        macro = Macro(counts, share=share)
        means = {rate: macro.mean_of(rate) if macro.weight else 0.0 for rate in RATE_NAMES}
        report[average] = {**means, "support": int(total.support)}
    return report


def _coded(sentences: Tags, ids: defaultdict[str, int]) -> Ints:
    """One number a tag, with an O after each sentence."""
    tags = chain.from_iterable(chain.from_iterable(zip(sentences, repeat(("O",)))))
    return np.fromiter(map(ids.__getitem__, tags), np.int64, sum(map(len, sentences)) + len(sentences))


def _entities(codes: Ints, steps: Flags, kinds: Ints) -> Ints:
    """Each entity as one number: where it begins, where it ends, and its type.

    Args:
        codes: The tags of all sentences, one after the other.
        steps: Three rows (whether it opens, is inside of, and well ends an entity), a column for each tag behind each
            other one: number of the other × number of tags + its own number.
        kinds: The type of each tag; -1 for none.

    Returns:
        A number an entity, in the order of the text.
    """
    tags = len(kinds)
    # Each tag with the one before it, as one number that looks up the table; the first is behind an O (0).
    pairs = np.concatenate((np.zeros(1, int), codes))[: len(codes)] * tags + codes
    opens = steps[0][pairs]
    inside = steps[1][pairs]
    # In IOB1 an I also opens behind a B that opened nothing; behind a tag that opened an entity it goes on with it.
    opened_before = np.concatenate(([False], opens))[: len(codes)]
    start = np.flatnonzero(opens & ~(inside & opened_before))
    # An entity ends at the first tag after its start that is not inside of one, found by binary search; every sentence
    # is followed by an O, so there always is one but at the very end.
    breaks = np.flatnonzero(~inside)
    end = np.append(breaks, len(codes))[np.searchsorted(breaks, start, side="right")]
    # Whether it is well formed is a matter of its last tag and the one after it (strict readings of E, S, L and U).
    well = steps[2][codes[end - 1] * tags + codes[end]]
    numbers = (start * (len(codes) + 1) + end) * (kinds.max() + 1) + kinds[codes[start]]
    entities: Ints = numbers[well]
    return entities

"""The scorecard of extraction: its measures, folded, and what stands behind them by type; and that of tag sequences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain, compress, product, repeat
from operator import not_
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measure import Measure, check_choice
from goldassay.measures import Examples
from goldassay.measures.extraction.batch import MISSED_LABEL, Batch
from goldassay.measures.extraction.matching import SCHEMAS, known
from goldassay.measures.extraction.measures import AVERAGED, AVERAGES, MATCHES, SemEval, SpanF1
from goldassay.scorecard import Batches, Scorecard, fold, rates
from goldassay.statistics.evidence import Ints
from goldassay.tally import Counts, Macro
from goldassay.text.spans import named, split, step

PROTOCOLS = (None, "hipe", "hipe2020")
UNDEFINED = ("type_anywhere_", "token_", "_macro_", "_weighted_")  # what the HIPE scorer does not count
SEEN = "_seen"  # but for its averages over the types that either side has (its F1_macro)
RATES = ("precision", "recall", "f1")
Tags = Sequence[Sequence[str]]


def listed(matching: str = "one-to-one", bounds: str = "given") -> list[Measure[Any]]:
    """Every measure of the scorecard, in its order; ``matching`` for those that match spans."""
    options = {"bounds": bounds, "matching": matching}
    return [
        *(
            SpanF1(match, rate, **({"bounds": bounds} if match in ("type_anywhere", "token") else options))
            for match, rate in product(MATCHES, RATES)
        ),
        *(SemEval(*names, **options) for names in product(SCHEMAS, RATES)),
        *(SpanF1(*names, **options) for names in product(AVERAGED, RATES, AVERAGES)),
        *(SpanF1(*names, **options) for names in product(AVERAGED, RATES, ["document"])),
    ]


def scorecard(gold: Examples, pred: Examples, *, protocol: str | None = None, bounds: str = "given") -> Scorecard:
    """All values over aligned records; ``protocol="hipe"`` counts in the order of the official HIPE scorer.

    ``bounds="word"`` widens spans of both sides to whole words of their text first, as ELEVANT does.

    >>> card = scorecard([{"text": "Het Rijksmuseum", "entities": [(4, 15, "MUS")]}], [{"entities": [(4, 15, "MUS")]}])
    >>> card.values["strict_f1"], card.counts["strict"]
    (1.0, {'tp': 1, 'fp': 0, 'fn': 0})
    """
    if protocol not in PROTOCOLS:
        raise GoldassayError(f"no protocol {protocol!r} for extraction; there are hipe, hipe2020")
    measures = listed("hipe" if protocol else "one-to-one", bounds)
    unknown = 0
    if protocol:
        pred, unknown = known(gold, pred)
    confused, unlocated = Counter[tuple[str, str]](), 0

    def look(part: Batches) -> None:
        nonlocal unlocated
        batch: Batch = part.of(measures[0])
        confused.update(batch.confusion)
        unlocated += int((batch.pred.start < 0).sum())

    card = fold("extraction", measures, Batches(gold, pred), look)
    if protocol:
        card.protocol = protocol
        card.undefined = tuple(
            name for name in card.values if not name.endswith(SEEN) and any(part in name for part in UNDEFINED)
        )
    strict, partial = (card.totals[f"{match}_macro_f1"] for match in AVERAGED)
    card.by["type"] = {
        kind: {
            **rates(counts.state(), "strict_"),
            **rates(partial.get(kind, Counts(0, 0, 0)).state(), "partial_"),
            "support": counts.support,
            "predicted": counts.predicted,
            "ratio": counts.predicted / counts.support if counts.support else None,
        }
        for kind, counts in sorted(strict.items())
    }
    card.by["confusion"] = {}
    for kind, predicted in sorted(confused, key=lambda cell: (cell[0], cell[1] == MISSED_LABEL, cell[1])):
        card.by["confusion"].setdefault(kind, {})[predicted] = confused[kind, predicted]
    if unlocated:
        card.warnings.append(f"{unlocated} predicted spans do not stand in their text and count as spurious")
    if unknown:
        card.warnings.append(f"{unknown} predicted spans have a type that neither gold nor HIPE knows and are left out")
    return card


def evaluate_tags(
    gold: Tags, pred: Tags, *, scheme: str | None = None, mode: str = "conlleval"
) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and support by type, with ``micro avg``, ``macro avg`` (all types seen), ``weighted avg``.

    How it is fast: every distinct tag becomes a small number; a table over (previous tag, tag) says where an entity
    opens, goes on and ends (`goldassay.text.spans.step`, which reads one sequence too); an entity is one number on
    both sides. Sentences with the same tags on both sides are only counted.

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
    for number, (a, b) in enumerate(zip(gold, pred, strict=True), 1):
        if len(a) != len(b):
            message = f"sentence {number} has {len(a)} gold tags and {len(b)} predicted ones; it must have as many"
            raise GoldassayError(message)
    differ = [not (type(a) is type(b) is list and a == b) for a, b in zip(gold, pred, strict=True)]
    same = list(map(not_, differ))
    ids: defaultdict[str, int] = defaultdict(lambda: len(ids), O=0)
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
    counts = {kind: Counts(hit, p - hit, g - hit) for kind, hit, g, p in rows if g or p}
    total = sum(counts.values(), Counts(0, 0, 0))
    report = {
        kind: {**{rate: float(getattr(tally, rate)) for rate in RATES}, "support": int(tally.support)}
        for kind, tally in [*counts.items(), ("micro avg", total)]
    }
    for average, share in (("macro avg", "seen"), ("weighted avg", "support")):
        macro = Macro(counts, share=share)
        means = {rate: macro.mean_of(rate) if macro.weight else 0.0 for rate in RATES}
        report[average] = {**means, "support": int(total.support)}
    return report


def _coded(sentences: Tags, ids: defaultdict[str, int]) -> Ints:
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

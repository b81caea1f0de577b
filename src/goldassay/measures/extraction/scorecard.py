"""The scorecard of extraction: its measures, folded, and what stands behind them by type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measure import Measure
from goldassay.measures.extraction import hipe
from goldassay.measures.extraction.batch import MISSED_LABEL, Batch
from goldassay.measures.extraction.matching import SCHEMAS
from goldassay.measures.extraction.measures import AVERAGED, AVERAGES, MATCHES, SemEval, SpanF1
from goldassay.scorecard import Batches, Scorecard, fold, rates
from goldassay.tally import Counts

PROTOCOLS = (None, "hipe", "hipe2020")
UNDEFINED = ("type_anywhere_", "token_", "_macro_", "_weighted_")  # what the HIPE scorer does not count
SEEN = "_seen"  # but for its averages over the types that either side has (its F1_macro)
RATES = ("precision", "recall", "f1")


def listed(matching: str = "one-to-one", bounds: str = "given") -> list[Measure[Any]]:
    """Every measure of the scorecard, in its order; ``matching`` for those that match spans."""
    options = {"matching": matching, "bounds": bounds}
    measures: list[Measure[Any]] = []
    for match in MATCHES:
        unmatched = match in ("type_anywhere", "token")
        measures += [SpanF1(match, rate, **({"bounds": bounds} if unmatched else options)) for rate in RATES]
    measures += [SemEval(schema, rate, **options) for schema in SCHEMAS for rate in RATES]
    measures += [
        SpanF1(match, rate, average, **options) for match in AVERAGED for rate in RATES for average in AVERAGES
    ]
    return measures + [SpanF1(match, rate, "document", **options) for match in AVERAGED for rate in RATES]


def scorecard(
    gold: Sequence[object], pred: Sequence[object], *, protocol: str | None = None, bounds: str = "given"
) -> Scorecard:
    """All values over aligned records; ``protocol="hipe"`` counts in the order of the official HIPE scorer.

    ``bounds="word"`` widens spans of both sides to whole words of their text first, as ELEVANT does.

    >>> card = scorecard([{"text": "Het Rijksmuseum", "entities": [(4, 15, "MUS")]}], [{"entities": [(4, 15, "MUS")]}])
    >>> card.values["strict_f1"], card.counts["strict"]
    (1.0, {'tp': 1, 'fp': 0, 'fn': 0})
    """
    if protocol not in PROTOCOLS:
        raise GoldassayError(f"no protocol {protocol!r} for extraction; there are hipe, hipe2020")
    matching = "hipe" if protocol else "one-to-one"
    measures = listed(matching, bounds)
    unknown = 0
    if protocol:
        pred, unknown = hipe.known(gold, pred)
    confused, unlocated = Counter[tuple[str, str]](), 0

    def look(part: Batches) -> None:
        nonlocal unlocated
        batch: Batch = part.of(measures[0])
        confused.update(batch.confusion)
        unlocated += batch.unlocated

    card = fold("extraction", measures, Batches(gold, pred), look)
    if protocol:
        card.protocol = protocol
        card.undefined = tuple(
            name for name in card.values if not name.endswith(SEEN) and any(part in name for part in UNDEFINED)
        )
    card.by["type"] = by_type(card)
    card.by["confusion"] = {}
    for kind, predicted in sorted(confused, key=lambda cell: (cell[0], cell[1] == MISSED_LABEL, cell[1])):
        card.by["confusion"].setdefault(kind, {})[predicted] = confused[kind, predicted]
    if unlocated:
        card.warnings.append(f"{unlocated} predicted spans do not stand in their text and count as spurious")
    if unknown:
        card.warnings.append(f"{unknown} predicted spans have a type that neither gold nor HIPE knows and are left out")
    return card


def by_type(card: Scorecard) -> dict[str, dict[str, float | None]]:
    """Each type by itself, strict and partial, how often it occurs in gold and how often it was predicted."""
    strict, partial = (card.totals[f"{match}_macro_f1"] for match in AVERAGED)
    table: dict[str, dict[str, float | None]] = {}
    for kind, counts in sorted(strict.items()):
        support, predicted = counts.tp + counts.fn, counts.tp + counts.fp
        table[kind] = {
            **rates(counts.state(), "strict_"),
            **rates(partial.get(kind, Counts(0, 0, 0)).state(), "partial_"),
            "support": support,
            "predicted": predicted,
            "ratio": predicted / support if support else None,
        }
    return table

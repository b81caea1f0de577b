"""The scorecard of extraction: its measures, folded, and what stands behind them by type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measure import Measure
from goldassay.measures.extraction import averages, hipe, measures, schemas
from goldassay.measures.extraction.batch import MISSED, Batch
from goldassay.measures.extraction.matching import SCHEMAS
from goldassay.scorecard import Batches, Scorecard, fold, rates
from goldassay.tally import Counts

PROTOCOLS = (None, "hipe", "hipe2020")
UNDEFINED = ("type_anywhere_", "token_", "_macro_", "_weighted_")  # what the HIPE scorer does not count
SEEN = "_seen"  # but for its averages over the types that either side has (its F1_macro)
RATES = ("Precision", "Recall", "F1")


def listed(matching: str = "one-to-one", bounds: str = "given") -> list[Measure[Any]]:
    """Every measure of the scorecard, in its order; ``matching`` for those that match spans."""
    how = {"matching": matching, "bounds": bounds}
    out: list[Measure[Any]] = []
    for match in ("Strict", "Partial", "Exact"):
        out += [getattr(measures, f"{match}{rate}")(**how) for rate in RATES]
    out += [getattr(schemas, f"Type{rate}")(**how) for rate in RATES]
    out += [getattr(schemas, f"Type{rate}")(within="document", bounds=bounds) for rate in RATES]
    out += [getattr(measures, f"Token{rate}")(bounds=bounds) for rate in RATES]
    out += [schemas.SemEval(schema, rate.lower(), **how) for schema in SCHEMAS for rate in RATES]
    for match in averages.MATCHES:
        for rate in RATES:
            macro = getattr(averages, f"Macro{rate}")
            out += [macro(match, **how), macro(match, over="seen", **how)]
            out.append(getattr(averages, f"Weighted{rate}")(match, **how))
    out += [getattr(averages, f"MacroDoc{rate}")(match, **how) for match in averages.MATCHES for rate in RATES]
    return out


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
    asked = listed(matching, bounds)
    unknown = 0
    if protocol:
        gold, pred, unknown = hipe.known(gold, pred)
    confused, unlocated = Counter[tuple[str, str]](), 0

    def look(part: Batches) -> None:
        nonlocal unlocated
        batch: Batch = part.of(asked[0])
        confused.update({(kind, said): n for kind, row in batch.confusion.items() for said, n in row.items()})
        unlocated += batch.unlocated

    card = fold("extraction", asked, Batches(gold, pred), look)
    if protocol:
        card.protocol = protocol
        card.undefined = tuple(
            name for name in card.values if not name.endswith(SEEN) and any(part in name for part in UNDEFINED)
        )
    card.by["type"] = by_type(card)
    card.by["confusion"] = {}
    for (kind, said), n in sorted(confused.items(), key=lambda cell: (cell[0][0], cell[0][1] == MISSED, cell[0][1])):
        card.by["confusion"].setdefault(kind, {})[said] = n
    if unlocated:
        card.warnings.append(f"{unlocated} predicted spans do not stand in their text and count as spurious")
    if unknown:
        card.warnings.append(f"{unknown} predicted spans have a type that neither gold nor HIPE knows and are left out")
    return card


def by_type(card: Scorecard) -> dict[str, dict[str, float | None]]:
    """Each type by itself, strict and partial, how often it stands in gold and how often it was predicted."""
    strict, partial = (card.totals[f"{match}_macro_f1"] for match in averages.MATCHES)
    out: dict[str, dict[str, float | None]] = {}
    for kind, counts in sorted(strict.items()):
        support, predicted = counts.tp + counts.fn, counts.tp + counts.fp
        out[kind] = {
            **rates(counts.state(), "strict_"),
            **rates(partial.get(kind, Counts(0, 0, 0)).state(), "partial_"),
            "support": support,
            "predicted": predicted,
            "ratio": predicted / support if support else None,
        }
    return out

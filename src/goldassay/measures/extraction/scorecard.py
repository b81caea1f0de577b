"""The scorecard of extraction: its measures, folded, and the same by type."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

from goldassay.core.measure import Batches, Measure
from goldassay.core.tally import Counts
from goldassay.measures import Examples
from goldassay.measures.extraction.matching import MISSED_LABEL, SCHEMAS, SpanBatch, drop_unknown_types
from goldassay.measures.extraction.measures import AVERAGED, SPAN_AVERAGES, SPAN_MATCHES, SemEval, SpanF1
from goldassay.measures.protocols import official_result
from goldassay.results.result import RATE_NAMES, Result, Sections, Values, fold, rates


def listed(matching: str = "one-to-one", bounds: str = "given") -> list[Measure]:
    """Every measure of the scorecard, in its order; ``matching`` for those that match spans."""
    options = {"bounds": bounds, "matching": matching}
    return [
        *(
            SpanF1(match, rate, **({"bounds": bounds} if match in ("type_anywhere", "token") else options))
            for match, rate in product(SPAN_MATCHES, RATE_NAMES)
        ),
        *(SemEval(*names, **options) for names in product(SCHEMAS, RATE_NAMES)),
        *(SpanF1(*names, **options) for names in product(AVERAGED, RATE_NAMES, SPAN_AVERAGES)),
        *(SpanF1(*names, **options) for names in product(AVERAGED, RATE_NAMES, ["document"])),
    ]


def scorecard(gold: Examples, pred: Examples, *, protocol: str | None = None, bounds: str = "given") -> Result:
    """All values over aligned records; ``protocol="hipe"`` counts in the order of the official HIPE scorer.

    ``bounds="word"`` widens spans of both sides to whole words of their text first, as ELEVANT does.

    Raises:
        GoldassayError: There is no such protocol.

    >>> card = scorecard([{"text": "Het Rijksmuseum", "entities": [(4, 15, "MUS")]}], [{"entities": [(4, 15, "MUS")]}])
    >>> card.values["strict_f1"], card.counts["strict"]
    (1.0, {'tp': 1, 'fp': 0, 'fn': 0})
    """
    if official := official_result("extraction", Batches(gold, pred), protocol, bounds=bounds):
        return official
    dropped = 0
    if protocol:
        pred, dropped = drop_unknown_types(gold, pred)
    measures = listed("hipe" if protocol else "one-to-one", bounds)
    card = fold("extraction", measures, Batches(gold, pred), sections=SPAN_SECTIONS)
    if protocol:
        card.protocol = protocol
        # what the HIPE scorer does not count, but for its averages over the types that either side has (its F1_macro)
        undefined = re.compile(r"(?:type_anywhere_|token_|_macro_|_weighted_).*(?<!_seen)$")
        card.undefined = tuple(filter(undefined.search, card.measures))
    if dropped:
        card.notes.append(f"{dropped} predicted spans have a type that neither gold nor HIPE knows and are left out")
    return card


def _facts(chunk: Batches, first: SpanF1) -> Counter[tuple[str, str] | str]:
    """How often each type was given for each other one, and how many predicted spans are not in their text."""
    batch: SpanBatch = chunk.of(first)
    return batch.confusion + Counter(unlocated=int((batch.pred.start < 0).sum()))


def _by_type(card: Result) -> dict[str, Values]:
    partial = card.totals["partial_macro_f1"]
    return {
        kind: {
            **rates(counts.state(), "strict_"),
            **rates(partial.get(kind, Counts(0, 0, 0)).state(), "partial_"),
            "support": counts.support,
            "predicted": counts.predicted,
            "ratio": counts.predicted / counts.support if counts.support else None,
        }
        for kind, counts in sorted(card.totals["strict_macro_f1"].items())
    }


def _confusions(card: Result) -> dict[str, dict[str, int]]:
    pairs = [pair for pair in card.facts if isinstance(pair, tuple)]
    table: dict[str, dict[str, int]] = {}
    for gold, pred in sorted(pairs, key=lambda pair: (pair[0], pair[1] == MISSED_LABEL, pair[1])):
        table.setdefault(gold, {})[pred] = card.facts[gold, pred]
    return table


SPAN_SECTIONS = Sections(
    facts=_facts,
    by={"type": _by_type, "confusion": _confusions},
    warnings={"unlocated": "{n} predicted spans are not in their text and count as spurious"},
)


def breakdown(shared: Batches) -> Result:
    """The values by type alone, and the confusions."""
    measures = [SpanF1(match, average="macro") for match in ("strict", "partial")]
    return fold("extraction", measures, shared, sections=SPAN_SECTIONS)

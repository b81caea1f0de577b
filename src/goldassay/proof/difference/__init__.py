"""Two numbers that should be one: which convention makes the number that somebody claims.

``explain`` computes a value anew under every convention that we know, one change at a time and then two, and keeps
those that give the claimed number, the likeliest first:

* another measure of the scorecard (macro for micro, overlap for the same span, recall for F1 …),
* another choice of a convention (ties, missing queries, gain, the protocol's order of counting …),
* another average (the mean of the examples' own values, F1 of averaged precision and recall),
* other data (types left out, case, examples without gold left out, one language, tags read as they are written …),
* rounding, or cutting off.

Read in this order: `explanation` (the claim, the ways, the conventions that can be chosen, and what is said of them),
`changes` (of the data).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import combinations
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measure import Measure
from goldassay.proof.difference.changes import DataChange, Sides, changes
from goldassay.proof.difference.explanation import TOOLS, Claim, Explanation, Way, chosen, differences
from goldassay.scorecard import Batches, Scorecard, fold

AT_MOST = 500_000  # examples that are scored again for two changes of the data at once, the commonest changes first
EMPTY = ("those without evidence left out", "those without evidence counted 1", "those without evidence counted 0")


def explain(
    card: Scorecard,
    gold: Sequence[object],
    pred: Sequence[object],
    claimed: str,
    *,
    tool: str | None = None,
    readings: Mapping[str, Sides] | None = None,
) -> Explanation:
    """Which conventions give ``claimed`` (``strict_f1=.7435``) for the value of that name on the card.

    ``card`` is the scorecard of ``gold`` and ``pred``; ``tool`` puts first what that tool computes, and gives its name
    for it; ``readings`` are the same files read otherwise, by a sentence that says how.

    >>> from goldassay.measures import extraction
    >>> gold = [{"entities": [(0, 3, "A"), (4, 5, "A"), (6, 7, "B")]}]
    >>> pred = [{"entities": [(0, 3, "A"), (4, 5, "A"), (6, 8, "B")]}]
    >>> found = explain(extraction.scorecard(gold, pred), gold, pred, "strict_f1=.5000")
    >>> found.value, found.ways[0].name
    (0.6666666666666666, 'strict_macro_f1')
    >>> print(found.ways[0].sentence)
    0.5 is strict_macro_f1: the mean over types instead of one value over everything; over the types that stand in gold.
    """
    claim = Claim.read(claimed)
    if claim.name not in card.measures:
        near = get_close_matches(claim.name, card.values, 3) or list(card.values)[:5]
        raise GoldassayError(f"no value {claim.name!r} to explain; there are {', '.join(near)} and others")
    if tool is not None and tool not in TOOLS:
        raise GoldassayError(f"no tool {tool!r}; there are {', '.join(TOOLS)}")
    search = _Search(card, claim, TOOLS[tool] if tool else {})
    search.under(gold, pred)
    for says, sides in (readings or {}).items():
        search.under(*sides, (says,), ("reading",))
    plain: list[DataChange] = [*changes(card.task, gold, pred)]
    for change in plain:
        search.under(*change(gold, pred), (change.says,), (change.kind,))
    order = {id(one): place for place, one in enumerate(plain)}
    twos = sorted(combinations(plain, 2), key=lambda two: order[id(two[0])] + order[id(two[1])])
    for one, two in twos[: AT_MOST // max(1, len(gold))]:
        search.own(*two(*one(gold, pred)), (one.says, two.says), (one.kind, two.kind))
    return Explanation.of(claim, card.values[claim.name], search.tried)


class _Search:
    """Values under changed conventions: every one that was tried."""

    def __init__(self, card: Scorecard, claim: Claim, names: Mapping[str, str]) -> None:
        self.card, self.claim, self.names = card, claim, names
        self.measure = card.measures[claim.name]
        self.chosen = dict(chosen(self.measure))
        self.tried: list[Way] = []

    def under(
        self, gold: Sequence[Any], pred: Sequence[Any], says: tuple[str, ...] = (), kinds: tuple[str, ...] = ()
    ) -> None:
        """Every measure that shares its work with the claimed one, on these data."""
        if says:
            same = type(self.measure).batch
            every = {**self.card.measures, **self.chosen}
            family = {name: one for name, one in every.items() if type(one).batch is same}
        else:  # the card has its own values already
            family = dict(self.chosen)
        found = self._fold({**family, self.claim.name: self.measure}, gold, pred)
        if found is None:
            return
        if not says:
            family |= self.card.measures
            found.values |= self.card.values
        for name, measure in family.items():
            differs = differences(self.measure, measure)
            kind = "convention" if name in self.chosen else "measure"
            if says or differs:
                self._try(found.values[name], measure.key, (*says, *differs), (*kinds, kind) if differs else kinds)
        for value, key, words in (*self._means(found), *self._of_averages(found)):
            self._try(value, key, (*says, words), (*kinds, "average"))

    def own(self, gold: Sequence[Any], pred: Sequence[Any], says: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        """The claimed measure itself, on these data."""
        found = self._fold({self.claim.name: self.measure}, gold, pred)
        if found is not None:
            self._try(found.values[self.claim.name], self.claim.name, says, kinds)

    def _fold(self, family: Mapping[str, Measure[Any]], gold: Sequence[Any], pred: Sequence[Any]) -> Scorecard | None:
        try:
            return fold(self.card.task, family, Batches(gold, pred)) if len(gold) else None
        except (GoldassayError, ValueError):
            return None  # what was changed cannot be read so

    def _means(self, found: Scorecard) -> Iterator[tuple[float, str, str]]:
        """The mean of the examples' own values, with what has no evidence counted in three ways."""
        tallies = found.tallies[self.claim.name]
        values, weights = (np.atleast_1d(np.asarray(one, float)) for one in (tallies.value, tallies.weight))
        if not len(values) == len(weights) > 1:
            return
        some = weights > 0
        each = values[some], np.where(some, values, 1.0), np.where(some, values, 0.0)
        for empty, kept in zip(EMPTY, each, strict=True):
            if len(kept):
                yield float(kept.mean()), self.claim.name, f"the mean of the examples' own values, {empty}"

    def _of_averages(self, found: Scorecard) -> Iterator[tuple[float, str, str]]:
        """F1 of a precision and a recall that were averaged first; and of those rounded to two places."""
        for key in found.values:
            micro = key.replace("_macro", "").replace("macro_doc", "strict").removesuffix("_seen")
            if "macro" not in key or micro != self.claim.name or key.count("f1") != 1:
                continue
            rates = [found.values.get(key.replace("f1", rate)) for rate in ("precision", "recall")]
            if None in rates:
                continue
            p, r = (float(rate or 0.0) for rate in rates)
            words = f"F1 of the precision and the recall of {key}"
            yield _f1(p, r), key, f"{words}, not the mean of F1"
            yield _f1(round(p, 2), round(r, 2)), key, f"{words}, rounded to two places first"

    def _try(self, value: float | None, name: str, says: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        if value is not None:
            self.tried.append(Way(value, name, says, kinds, self.claim.fits(value), self.names.get(name, "")))


def _f1(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r else 0.0


__all__ = ["Claim", "Explanation", "Way", "explain"]

"""Two numbers that should be one: which convention makes the number that somebody claims.

``explain`` computes a value anew under every convention that we know, one change at a time and then two, and keeps
those that give the claimed number, the fewest changes first:

* another measure of the scorecard (macro for micro, overlap for the same span, recall for F1 …),
* another choice of a convention (ties, missing queries, gain, the protocol's order of counting …),
* another average (the mean of the examples' own values, F1 of averaged precision and recall),
* other data (types left out, case, examples without gold left out, one language, tags read as they are written …),
* rounding, or cutting off.

A number that agrees to its last digit may still agree by chance: the more digits, the less so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from itertools import combinations
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measure import Measure
from goldassay.proof.changes import Change, Sides, changes
from goldassay.scorecard import Batches, Scorecard, fold

CHOICES: Mapping[str, tuple[Any, ...]] = {
    "matching": ("one-to-one", "hipe"),
    "within": ("overlap", "document"),
    "over": ("gold", "seen", "all", "supported", "inkb", "nil"),
    "ties": ("docno_desc", "stable", "best", "worst"),
    "missing": (0, "skip"),
    "gain": ("linear", "exponential"),
    "ideal": ("judged", "retrieved"),
    "rel": (1, 2, 3),
    "k": (1, 3, 5, 10, 20, 100, None),
    "labels": ("seen", "institutions"),
}
"""The conventions that are fields of measures, and what each may be; a measure refuses what it does not know."""

WORDS = {
    "average=micro": "one value over everything",
    "average=macro by type": "the mean over types",
    "average=weighted by gold support": "the mean over types, weighted by how often each stands in gold",
    "average=macro by document": "the mean over documents",
    "over=supported": "over the labels that stand in gold",
    "over=all": "over all",
    "labels=institutions": "over the 19 institution types",
    "labels=seen": "over the labels seen",
    "over=gold": "over the types that stand in gold",
    "over=seen": "over all types seen",
    "match=span+type": "the same span and type",
    "match=overlap+type": "an overlap of the same type",
    "match=span": "the same span, whatever the type",
    "match=type": "the same type anywhere in the document",
    "match=type+overlap": "an overlap of the same type",
    "match=token+type": "tokens",
    "matching=hipe": "counted in the order of the HIPE scorer",
    "matching=one-to-one": "matched one-to-one",
    "missing=skip": "queries without results left out",
    "missing=0": "queries without results counted 0",
    "gain=exponential": "gain 2^grade − 1",
    "gain=linear": "gain as graded",
    "ideal=retrieved": "the ideal taken from what was retrieved",
    "ideal=judged": "the ideal taken from all judged documents",
    "ties=stable": "equal scores in the order given",
    "ties=best": "equal scores in the best order",
    "ties=worst": "equal scores in the worst order",
    "ties=docno_desc": "equal scores by document id",
}

AT_MOST = 500_000  # examples that are scored again for two changes of the data at once, the commonest changes first
RATES = ("precision", "recall", "f1")
TOOLS: Mapping[str, Mapping[str, str]] = {
    "seqeval": {
        **{f"strict_{rate}": "micro avg" for rate in RATES},
        **{f"strict_macro_{rate}_seen": "macro avg" for rate in RATES},
        **{f"strict_weighted_{rate}": "weighted avg" for rate in RATES},
    },
    "conlleval": {f"strict_{rate}": "overall" for rate in RATES},
    "nervaluate": {
        f"semeval_{schema}_{rate}": "ent_type" if schema == "type" else schema
        for schema in ("strict", "exact", "partial", "type")
        for rate in RATES
    },
    "hipe": {
        **{f"strict_{rate}": "strict micro" for rate in RATES},
        **{f"partial_{rate}": "ent_type micro (fuzzy)" for rate in RATES},
        **{f"macro_doc_{rate}": "strict macro_doc" for rate in RATES},
        **{f"link_{rate}": "ent_type micro (fuzzy)" for rate in RATES},
        **{f"strong_link_{rate}": "strict micro" for rate in RATES},
    },
    "scikit-learn": {
        "accuracy": "accuracy",
        "macro_f1": "macro avg, labels given",
        "macro_f1_supported": "macro avg",
        "weighted_f1": "weighted avg",
        "kappa": "cohen_kappa_score",
    },
    "trec_eval": {"AP": "map", "RR": "recip_rank", "P@10": "P_10", "nDCG@10": "ndcg_cut_10", "R@10": "recall_10"},
    "squad": {"exact_match": "exact", "f1": "f1"},
}
"""What tools call the values that they print, by our names."""


@dataclass(frozen=True)
class Claim:
    """A number that somebody printed: between which bounds it was rounded, or cut off, from."""

    name: str
    text: str
    value: float
    unit: float

    @classmethod
    def read(cls, word: str) -> Claim:
        """``strict_f1=.7435``, or ``strict_f1=74.35`` in per cent.

        >>> Claim.read("strict_f1=74.35").value, Claim.read("strict_f1=74.35").fits(0.743549)
        (0.7435, 'rounded')
        """
        name, _, text = word.partition("=")
        try:
            number = Decimal(text.strip().rstrip("%"))
        except InvalidOperation:
            raise GoldassayError(f"--claimed needs NAME=VALUE, such as strict_f1=.7435, not {word!r}") from None
        unit = Decimal(1).scaleb(int(number.as_tuple().exponent))
        if abs(number) > 1 or text.strip().endswith("%"):
            number, unit = number / 100, unit / 100
        return cls(name.strip(), text.strip(), float(number), float(unit))

    def fits(self, value: float) -> str:
        """How the value became the claim: ``rounded``, ``cut off``, or not at all."""
        if abs(value - self.value) <= self.unit / 2 + 1e-9:
            return "rounded"
        return "cut off" if 0 <= value - self.value < self.unit - 1e-9 else ""


@dataclass(frozen=True)
class Way:
    """A value under other conventions: what was changed, how many changes that is, and which measure it is."""

    value: float
    name: str
    says: tuple[str, ...]
    steps: int
    rounding: str = "rounded"
    called: str = ""

    @property
    def sentence(self) -> str:
        """In words: ``0.7435 is strict_macro_f1: the mean over types instead of one value over everything.``"""
        said = "; ".join(self.says) or "the same conventions"
        end = f' (the tool calls it "{self.called}")' if self.called else ""
        cut = ", cut off and not rounded" if self.rounding == "cut off" else ""
        return f"{self.value:.6g} is {self.name}: {said}{cut}{end}."

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "value": self.value,
            "name": self.name,
            "changes": list(self.says),
            "rounding": self.rounding,
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class Explanation:
    """What the value is here, the ways that give the claimed number, and where there is none the nearest."""

    claim: Claim
    value: float | None
    ways: tuple[Way, ...]
    nearest: tuple[Way, ...]
    tried: int

    def lines(self, most: int = 5) -> list[str]:
        """In sentences, the fewest changes first."""
        here = "no value" if self.value is None else f"{self.value:.6g}"
        first = f"{self.claim.name} is {here} here; {self.claim.text} is claimed"
        if self.value is not None and self.claim.fits(self.value):
            return [f"{first}: the same number."]
        if not self.ways:
            near = [f"nearest: {way.sentence}" for way in self.nearest]
            return [f"{first}; none of {self.tried} other ways gives that.", *near]
        more = len(self.ways) - most
        said = [f"{number}. {way.sentence}" for number, way in enumerate(self.ways[:most], start=1)]
        return [f"{first}; {len(self.ways)} of {self.tried} other ways give that, the nearest first:", *said] + (
            [f"… and {more} more (all with --json)"] if more > 0 else []
        )

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.claim.name,
            "claimed": self.claim.value,
            "value": self.value,
            "same": self.value is not None and bool(self.claim.fits(self.value)),
            "ways": [way.state() for way in self.ways],
            "nearest": [way.state() for way in self.nearest],
            "tried": self.tried,
        }


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
    >>> found = explain(extraction.scorecard(gold, pred), gold, pred, "strict_f1=.5")
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
    names = TOOLS[tool] if tool else {}
    search = _Search(card, claim)
    search.under(gold, pred)
    plain: list[Change] = [*changes(card.task, gold, pred)]
    made: list[tuple[str, Sides]] = [*(readings or {}).items()]
    made += [(change.says, change(gold, pred)) for change in plain]
    for says, sides in made:
        search.under(*sides, (says,))
    order = {id(one): place for place, one in enumerate(plain)}
    twos = sorted(combinations(plain, 2), key=lambda two: order[id(two[0])] + order[id(two[1])])
    for one, two in twos[: AT_MOST // max(1, len(gold))]:
        search.own(*two(*one(gold, pred)), (one.says, two.says))
    ways = [replace(way, called=names.get(way.name, "")) for way in search.ways]
    ways.sort(key=lambda way: (bool(tool) and not way.called, way.rounding != "rounded", way.steps))
    closest = sorted(search.others, key=lambda way: (abs(way.value - claim.value), way.steps))[:3]
    return Explanation(claim, card.values[claim.name], tuple(ways), () if ways else tuple(closest), search.tried)


class _Search:
    """Values under changed conventions, kept where they fit the claim."""

    def __init__(self, card: Scorecard, claim: Claim) -> None:
        self.card, self.claim = card, claim
        self.measure = card.measures[claim.name]
        self.variants = {**card.measures, **dict(_chosen(self.measure))}
        self.ways: list[Way] = []
        self.others: list[Way] = []
        self.tried = 0

    def under(self, gold: Sequence[object], pred: Sequence[object], says: tuple[str, ...] = ()) -> None:
        """Every measure that shares its work with the claimed one, on these data."""
        if says:
            same = type(self.measure).batch
            family = {name: one for name, one in self.variants.items() if type(one).batch is same}
        else:  # the card has its own values already
            family = {name: one for name, one in self.variants.items() if name not in self.card.measures}
        found = self._fold({**family, self.claim.name: self.measure}, gold, pred)
        if found is None:
            return
        if not says:
            family |= self.card.measures
            found.values |= self.card.values
        for name, measure in family.items():
            differs = _differences(self.measure, measure)
            if says or differs:
                self._try(found.values[name], measure.key, (*says, *differs), len(says) + len(differs))
        self._averages(found, says)

    def own(self, gold: Sequence[object], pred: Sequence[object], says: tuple[str, ...]) -> None:
        """The claimed measure itself, on these data."""
        found = self._fold({self.claim.name: self.measure}, gold, pred)
        if found is not None:
            self._try(found.values[self.claim.name], self.claim.name, says, len(says))

    def _fold(self, family: Mapping[str, Measure[Any]], gold: Sequence[Any], pred: Sequence[Any]) -> Scorecard | None:
        try:
            return fold(self.card.task, family, Batches(gold, pred)) if len(gold) else None
        except (GoldassayError, ValueError):
            return None  # what was changed cannot be read so

    def _averages(self, found: Scorecard, says: tuple[str, ...]) -> None:
        """Means of the examples' own values, and F1 of precision and recall that were averaged first."""
        name = self.claim.name
        tallies = found.tallies[name]
        values, weights = (np.atleast_1d(np.asarray(one, float)) for one in (tallies.value, tallies.weight))
        if len(values) == len(weights) > 1:
            some = weights > 0
            for empty, kept in (
                ("those without evidence left out", values[some]),
                ("those without evidence counted 1", np.where(some, values, 1.0)),
                ("those without evidence counted 0", np.where(some, values, 0.0)),
            ):
                if len(kept):
                    words = f"the mean of the examples' own values, {empty}"
                    self._try(float(kept.mean()), name, (*says, words), len(says) + 1)
        for key in found.values:
            if (
                "macro" not in key
                or key.replace("_macro", "").replace("macro_doc", "strict").removesuffix("_seen") != name
            ):
                continue
            parts = [found.values.get(key.replace("f1", rate)) for rate in ("precision", "recall")]
            if key.count("f1") == 1 and None not in parts:
                p, r = (float(part or 0.0) for part in parts)
                words = f"F1 of the precision and the recall of {key}, not the mean of F1"
                self._try(2 * p * r / (p + r) if p + r else 0.0, key, (*says, words), len(says) + 2)
                p, r = round(p, 2), round(r, 2)
                words = f"F1 of the precision and the recall of {key}, rounded to two places first"
                self._try(2 * p * r / (p + r) if p + r else 0.0, key, (*says, words), len(says) + 2)

    def _try(self, value: float | None, name: str, says: tuple[str, ...], steps: int) -> None:
        if value is None:
            return
        self.tried += 1
        how = self.claim.fits(value)
        way = Way(value, name, says, steps, how or "rounded")
        (self.ways if how else self.others).append(way)


def _chosen(measure: Measure[Any]) -> Iterator[tuple[str, Measure[Any]]]:
    """The measure with one convention chosen otherwise."""
    for one in fields(measure):
        for choice in CHOICES.get(one.name, ()):
            if choice == getattr(measure, one.name):
                continue
            try:
                made = replace(measure, **{one.name: choice})
            except GoldassayError:
                continue
            yield f"{made.key} {one.name}={choice}", made


def _differences(measure: Measure[Any], other: Measure[Any]) -> tuple[str, ...]:
    """What another measure does otherwise, in words."""
    mine, theirs = _conventions(measure), _conventions(other)
    out = []
    for key in sorted(theirs, key=lambda key: key not in mine):
        if mine.get(key) != theirs[key] and key not in ("empty", "rate"):
            before = f" instead of {_say(key, mine[key])}" if key in mine else ""
            out.append(f"{_say(key, theirs[key])}{before}")
    rates = [next((rate for rate in RATES if rate in one.key), "") for one in (measure, other)]
    if rates[0] != rates[1] and all(rates):
        out.append(f"{rates[1]} instead of {rates[0]}")
    if not out and measure.key != other.key:
        out.append(f"{other.key} instead of {measure.key}")
    return tuple(out)


def _conventions(measure: Measure[Any]) -> dict[str, str]:
    """A measure's conventions by name.

    >>> from goldassay.measures.extraction import ExactF1
    >>> _conventions(ExactF1())["match"]
    'span'
    """
    inner = measure.conventions.partition("[")[2].removesuffix("]")
    pairs = (part.partition("=") for part in inner.split(", "))
    return {key: value for key, sign, value in pairs if sign}


def _say(key: str, value: str) -> str:
    return WORDS.get(f"{key}={value}", f"{key}={value}")

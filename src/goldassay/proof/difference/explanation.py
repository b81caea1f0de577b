"""A claim, the ways in which a value can be computed, and what is said of those that give the claim.

A claim of few digits agrees with many ways by chance. So each way that agrees has a share: how often such a change is
why two numbers differ (``PRIORS``), over how many ways of its kind were tried, since thirty ways of leaving a type out
give thirty values, and one of them may well be the claim. Against them all stands that the claim was made in a way that
is not known here and agrees by chance, which is the likelier the closer the tried values lie around it. A way that does
more than another to get the same value is left out.

In words: the conventions that a measure can be given (`chosen`), what each is called, and what tools call the values
that they print (``TOOLS``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measure import Measure
from goldassay.tally import T

PRIORS = {"measure": 0.4, "convention": 0.2, "reading": 0.1, "average": 0.01, "data": 0.03, "part": 0.015}
"""How often a change of this kind is the reason: another measure, a convention chosen otherwise, files read otherwise,
another mean, data folded or left out, one type (label, stratum) left out or alone. They are set by hand, in the order
in which such differences are usually met; those of two changes are multiplied."""
DETAIL = 0.5  # for each more thing that a measure does otherwise
CUT, TOOL, UNKNOWN = 0.2, 20.0, 0.25  # cut off and not rounded; the tool prints it; none of these ways
NAMED, STANDS_OUT = 0.1, 0.5  # the share from which on a way is named; that of its value, where some agree by chance
NEAR = 5.5  # units of the claim around it that tell how close together values lie


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
    """A value under other conventions: what was changed, of which kinds the changes are, and which measure it is.

    ``rounding`` says how the value becomes the claim; nothing if it does not. ``share`` is what speaks for this way.
    """

    value: float
    name: str
    says: tuple[str, ...]
    kinds: tuple[str, ...]
    rounding: str = ""
    called: str = ""
    share: float = 0.0

    @property
    def sentence(self) -> str:
        """In words: ``0.7435 is strict_macro_f1: the mean over types instead of one value over everything.``"""
        said = "; ".join(self.says) or "the same conventions"
        end = f' (the tool calls it "{self.called}")' if self.called else ""
        cut = ", cut off and not rounded" if self.rounding == "cut off" else ""
        return f"{self.value:.6g} is {self.name}: {said}{cut}{end}."

    def prior(self, tried: int) -> float:
        """What speaks for this way before its value is seen: ``tried`` ways are of its kinds."""
        found = TOOL if self.called else 1.0
        for kind in self.kinds:
            found *= PRIORS[kind]
        details = max(0, len(self.says) - len(self.kinds))
        return found * DETAIL**details / tried

    def does_more_than(self, other: Way) -> bool:
        """Whether this way makes all the changes of another, and more, for the same value."""
        return set(other.says) < set(self.says) and abs(other.value - self.value) < 1e-12

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {
            "value": self.value,
            "name": self.name,
            "changes": list(self.says),
            "rounding": self.rounding,
            "share": self.share,
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class Explanation:
    """What the value is here, the ways that give the claimed number, and where there is none the nearest.

    ``by_chance`` is about how many ways would agree if the claim were any number near this one.
    """

    claim: Claim
    value: float | None
    ways: tuple[Way, ...]
    nearest: tuple[Way, ...]
    tried: int
    by_chance: float

    @classmethod
    def of(cls, claim: Claim, value: float | None, tried: Sequence[Way]) -> Explanation:
        """The ways that agree, by their share; and how many would by chance."""
        sizes = Counter(way.kinds for way in tried)
        apart = [abs(way.value - claim.value) for way in tried]
        around = sum(claim.unit / 2 < gap <= NEAR * claim.unit for gap in apart) / (2 * NEAR - 1)
        fit = [way for way in tried if way.rounding]
        agree = [
            (way.prior(sizes[way.kinds]) * (CUT if way.rounding == "cut off" else 1.0), way)
            for way in tried
            if way.rounding and not any(map(way.does_more_than, fit))
        ]
        total = sum(weight for weight, _ in agree) + UNKNOWN * around / max(1, len(tried))
        ways = [replace(way, share=weight / total) for weight, way in sorted(agree, key=lambda pair: -pair[0])]
        nearest = [] if ways else sorted(tried, key=lambda way: (abs(way.value - claim.value), len(way.kinds)))[:3]
        return cls(claim, value, tuple(ways), tuple(nearest), len(tried), around)

    def lines(self, most: int = 5) -> list[str]:
        """In sentences, the likeliest way first."""
        here = "no value" if self.value is None else f"{self.value:.6g}"
        first = f"{self.claim.name} is {here} here; {self.claim.text} is claimed"
        if self.value is not None and (how := self.claim.fits(self.value)):
            return [f"{first}: the same number{'' if how == 'rounded' else ', cut off and not rounded'}."]
        if not self.ways:
            near = [f"nearest: {way.sentence}" for way in self.nearest]
            return [f"{first}; none of {self.tried} other ways gives that.", *near]
        out = [f"{first}; {len(self.ways)} of {self.tried} other ways give that, about {self.by_chance:.0f} by chance."]
        least = STANDS_OUT if self.by_chance >= 1 else NAMED
        of_value: dict[float, float] = defaultdict(float)
        for way in self.ways:
            of_value[round(way.value, 12)] += way.share
        named = [way for way in self.ways[:most] if way.share >= NAMED and of_value[round(way.value, 12)] >= least]
        if not named:
            out.append("None of them stands out; claim the number with more digits (all of them with --json).")
        out += [f"{at}. ({way.share:.0%}) {way.sentence}" for at, way in enumerate(named, start=1)]
        more = len(self.ways) - len(named)
        return out + ([f"… and {more} more (all with --json)"] if named and more else [])

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {
            "name": self.claim.name,
            "claimed": self.claim.value,
            "value": self.value,
            "same": self.value is not None and bool(self.claim.fits(self.value)),
            "ways": [way.state() for way in self.ways],
            "nearest": [way.state() for way in self.nearest],
            "tried": self.tried,
            "by_chance": self.by_chance,
        }


RATES = ("precision", "recall", "f1")
CHOICES: Mapping[str, tuple[Any, ...]] = {
    "bounds": ("given", "word"),
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
    "bounds=word": "spans widened to whole words",
    "bounds=given": "spans as given",
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


def chosen(measure: Measure[T]) -> Iterator[tuple[str, Measure[T]]]:
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


def differences(measure: Measure[Any], other: Measure[Any]) -> tuple[str, ...]:
    """What another measure does otherwise, in words."""
    mine, theirs = named(measure), named(other)
    out = []
    for key in sorted(theirs, key=lambda key: key not in mine):
        if mine.get(key) != theirs[key] and key not in ("empty", "rate"):
            before = f" instead of {say(key, mine[key])}" if key in mine else ""
            out.append(f"{say(key, theirs[key])}{before}")
    rates = [next((rate for rate in RATES if rate in one.key), "") for one in (measure, other)]
    if rates[0] != rates[1] and all(rates):
        out.append(f"{rates[1]} instead of {rates[0]}")
    if not out and measure.key != other.key:
        out.append(f"{other.key} instead of {measure.key}")
    return tuple(out)


def named(measure: Measure[Any]) -> dict[str, str]:
    """A measure's conventions by name.

    >>> from goldassay.measures.extraction import SpanF1
    >>> named(SpanF1("exact"))["match"]
    'span'
    """
    inner = measure.conventions.partition("[")[2].removesuffix("]")
    pairs = (part.partition("=") for part in inner.split(", "))
    return {key: value for key, sign, value in pairs if sign}


def say(key: str, value: str) -> str:
    """A convention in words, or as it is written."""
    return WORDS.get(f"{key}={value}", f"{key}={value}")

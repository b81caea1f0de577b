"""Why two tools give different numbers for the same predictions (``goldassay score --claimed NAME=VALUE``).

`explain` computes a value again under every other convention that we know: another measure, another choice of a
convention, another average, other data (a type left out, labels without case, …), files read differently. Those that
give the claimed number are the candidates, the likeliest first.

A claim of few digits agrees with many of them by chance. So candidates are ordered by how often such a change is the
reason (``KINDS``), and the number of values that lie close to the claim says how many agree by chance. A candidate that
changes more than another for the same value is dropped.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.fields import names, read
from goldassay.measure import Measure
from goldassay.scorecard import Batches, Scorecard, fold

KINDS = ("measure", "convention", "reading", "data", "part", "average")
"""The kinds of changes, the most frequent reason for a difference first."""
NEAR = 5.5  # the neighbourhood of a claim, in units of its last digit
MOST = 30  # types, labels, languages that are tried one by one
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
"""The conventions that are fields of measures, and their values; a measure refuses what it does not know."""
FIELDS = {
    "extraction": ("entities", "entities"),
    "classification": ("label", "label"),
    "linking": ("links", "links"),
    "retrieval": ("relevant", "results"),
    "answering": ("answers", "answer"),
    "triples": ("triples", "triples"),
}
Record = dict[str, Any]
Sides = tuple[Sequence[Any], Sequence[Any]]
Edit = Callable[[Record, Record], "tuple[Record, Record] | None"]


@dataclass(frozen=True)
class Claim:
    """A reported number, and the size of its last digit."""

    name: str
    text: str
    value: float
    unit: float

    @classmethod
    def read(cls, text: str) -> Claim:
        """``strict_f1=.7435``, or ``strict_f1=74.35`` in percent.

        >>> Claim.read("strict_f1=74.35").value, Claim.read("strict_f1=74.35").fits(0.743549)
        (0.7435, 'rounded')
        """
        name, _, digits = text.partition("=")
        try:
            number = Decimal(digits.strip().rstrip("%"))
        except InvalidOperation:
            raise GoldassayError(f"--claimed expects NAME=VALUE such as strict_f1=.7435, got {text!r}") from None
        percent = 100 if abs(number) > 1 or digits.strip().endswith("%") else 1
        unit = Decimal(1).scaleb(int(number.as_tuple().exponent))
        return cls(name.strip(), digits.strip(), float(number / percent), float(unit / percent))

    def fits(self, value: float) -> str:
        """How the value becomes the claim: ``rounded``, ``cut off``, or not at all."""
        if abs(value - self.value) <= self.unit / 2 + 1e-9:
            return "rounded"
        return "cut off" if 0 <= value - self.value < self.unit - 1e-9 else ""


@dataclass(frozen=True)
class Candidate:
    """A value under changed conventions: the changes, their kinds, and how the value becomes the claim."""

    value: float
    name: str
    changes: tuple[str, ...]
    kinds: tuple[str, ...]
    rounding: str

    @property
    def sentence(self) -> str:
        """In words: ``0.7435 is strict_macro_f1: average=macro by type instead of average=micro.``"""
        cut = ", cut off and not rounded" if self.rounding == "cut off" else ""
        return f"{self.value:.6g} is {self.name}: {'; '.join(self.changes)}{cut}."

    @property
    def rank(self) -> tuple[object, ...]:
        """Sorts the likeliest first: rounded, few kinds of changes, frequent ones, few changes."""
        kinds = [KINDS.index(kind) for kind in self.kinds]
        return self.rounding != "rounded", len(kinds), sorted(kinds), len(self.changes)


@dataclass(frozen=True)
class Explanation:
    """Our value, the candidates that give the claimed number, and the nearest ones if none does.

    ``by_chance`` estimates how many candidates would agree with any number near the claim.
    """

    claim: Claim
    value: float | None
    candidates: tuple[Candidate, ...]
    nearest: tuple[Candidate, ...]
    tried: int
    by_chance: float

    @classmethod
    def of(cls, claim: Claim, value: float | None, tried: Sequence[Candidate]) -> Explanation:
        """The candidates that agree, the likeliest first."""
        gaps = [abs(each.value - claim.value) for each in tried]
        around = sum(claim.unit / 2 < gap <= NEAR * claim.unit for gap in gaps) / (2 * NEAR - 1)
        agree = [each for each in tried if each.rounding]
        simplest = [
            each
            for each in agree
            if not any(set(o.changes) < set(each.changes) and abs(o.value - each.value) < 1e-12 for o in agree)
        ]
        nearest = sorted(tried, key=lambda each: (abs(each.value - claim.value), len(each.kinds)))[:3]
        candidates = sorted(simplest, key=lambda each: each.rank)
        return cls(claim, value, tuple(candidates), tuple([] if agree else nearest), len(tried), around)

    def lines(self, most: int = 5) -> list[str]:
        """In sentences, the likeliest candidate first."""
        ours = "no value" if self.value is None else f"{self.value:.6g}"
        first = f"{self.claim.name} is {ours} here; {self.claim.text} is claimed"
        if self.value is not None and (how := self.claim.fits(self.value)):
            return [f"{first}: the same number{'' if how == 'rounded' else ', cut off and not rounded'}."]
        if not self.candidates:
            near = [f"nearest: {each.sentence}" for each in self.nearest]
            return [f"{first}; none of {self.tried} other conventions gives it.", *near]
        several = f"{len(self.candidates)} of {self.tried} other conventions give it"
        out = [f"{first}; {several}, about {self.by_chance:.0f} by chance."]
        if self.by_chance > len(self.candidates) / 2:
            return [*out, "None of them stands out; claim the number with more digits (all of them with --json)."]
        out += [f"{at}. {each.sentence}" for at, each in enumerate(self.candidates[:most], start=1)]
        more = len(self.candidates) - most
        return out + ([f"… and {more} more (all of them with --json)"] if more > 0 else [])

    def state(self) -> dict[str, object]:
        """As JSON."""
        rows = [
            [asdict(each) | {"sentence": each.sentence} for each in part] for part in (self.candidates, self.nearest)
        ]
        return {
            "name": self.claim.name,
            "claimed": self.claim.value,
            "value": self.value,
            "same": self.value is not None and bool(self.claim.fits(self.value)),
            "ways": rows[0],
            "nearest": rows[1],
            "tried": self.tried,
            "by_chance": self.by_chance,
        }


def explain(
    card: Scorecard,
    gold: Sequence[object],
    pred: Sequence[object],
    claimed: str,
    *,
    readings: Mapping[str, Sides] | None = None,
) -> Explanation:
    """Find the conventions that give a claimed value.

    Args:
        card: The scorecard of ``gold`` and ``pred``.
        gold: The gold examples.
        pred: The predictions, aligned.
        claimed: ``NAME=VALUE``.
        readings: The same files read differently, by a description of the difference.

    Raises:
        GoldassayError: The card has no value of that name.

    >>> from goldassay.measures import extraction
    >>> gold = [{"entities": [(0, 3, "A"), (4, 5, "A"), (6, 7, "B")]}]
    >>> pred = [{"entities": [(0, 3, "A"), (4, 5, "A"), (6, 8, "B")]}]
    >>> explanation = explain(extraction.scorecard(gold, pred), gold, pred, "strict_f1=.5000")
    >>> explanation.value, explanation.candidates[0].name
    (0.6666666666666666, 'strict_macro_f1')
    >>> print(explanation.candidates[0].sentence)
    0.5 is strict_macro_f1: average=macro by type instead of average=micro; over=gold.
    """
    claim = Claim.read(claimed)
    if claim.name not in card.measures:
        near = get_close_matches(claim.name, card.values, 3) or list(card.values)[:5]
        raise GoldassayError(f"no value {claim.name!r} to explain; there are {', '.join(near)} and others")
    tried = [*_candidates(card, claim, gold, pred, (), ())]
    for description, sides in (readings or {}).items():
        tried += _candidates(card, claim, *sides, (description,), ("reading",))
    plain = [_plain(record) for record in gold], [_plain(record) for record in pred]
    for description, kind, edit in _edits(card.task, *plain):
        edited = [pair for records in zip(*plain, strict=True) if (pair := edit(*records)) is not None]
        sides = [record for record, _ in edited], [record for _, record in edited]
        if edited and sides != plain:
            tried += _candidates(card, claim, *sides, (description,), (kind,))
    return Explanation.of(claim, card.values[claim.name], tried)


def _candidates(
    card: Scorecard, claim: Claim, gold: Sequence[Any], pred: Sequence[Any], changes: tuple[str, ...], kinds: Any
) -> Iterator[Candidate]:
    """The claimed measure, its relatives and other averages, on these data; ``changes`` made the data."""
    measure = card.measures[claim.name]
    chosen = dict(_with_other_conventions(measure))
    every = {**card.measures, **chosen}
    family = {name: each for name, each in every.items() if not changes or type(each).batch is type(measure).batch}
    try:
        values = fold(card.task, {**family, claim.name: measure}, Batches(gold, pred))
    except (GoldassayError, ValueError):
        return  # the changed data cannot be measured

    def candidate(value: float | None, name: str, more: tuple[str, ...], kind: str) -> Iterator[Candidate]:
        if value is not None and (changes or more):
            both = (*kinds, kind) if more else kinds
            yield Candidate(value, name, (*changes, *more), both, claim.fits(value))

    for name, each in family.items():
        kind = "convention" if name in chosen else "measure"
        yield from candidate(values.values[name], each.key, _differences(measure, each), kind)
    for value, name, description in (*_means(values, claim.name), *_f1_of_averages(values, claim.name)):
        yield from candidate(value, name, (description,), "average")


def _means(card: Scorecard, name: str) -> Iterator[tuple[float, str, str]]:
    """The mean of the values of the examples."""
    tallies = card.tallies[name]
    values, weights = (np.atleast_1d(np.asarray(each, float)) for each in (tallies.value, tallies.weight))
    some = weights > 0
    if len(values) == len(weights) > 1 and some.any():
        for empty, each in (
            ("left out", values[some]),
            ("counted 1", np.where(some, values, 1.0)),
            ("counted 0", np.where(some, values, 0.0)),
        ):
            yield float(each.mean()), name, f"the mean of the examples' own values, those without evidence {empty}"


def _f1_of_averages(card: Scorecard, name: str) -> Iterator[tuple[float, str, str]]:
    """F1 of a precision and a recall that were averaged first, also rounded to two places."""
    for key in card.values:
        micro = key.replace("_macro", "").replace("macro_doc", "strict").removesuffix("_seen")
        rates = [card.values.get(key.replace("f1", rate)) for rate in RATES[:2]]
        if "macro" in key and micro == name and key.count("f1") == 1 and None not in rates:
            for places, rounded in ((17, "not the mean of F1"), (2, "rounded to two places first")):
                p, r = (round(float(rate or 0.0), places) for rate in rates)
                f1 = 2 * p * r / (p + r) if p + r else 0.0
                yield f1, key, f"F1 of the precision and the recall of {key}, {rounded}"


def _with_other_conventions(measure: Measure[Any]) -> Iterator[tuple[str, Measure[Any]]]:
    """The measure with one convention chosen differently."""
    for each in fields(measure):
        for choice in CHOICES.get(each.name, ()):
            if choice != getattr(measure, each.name):
                try:
                    other = replace(measure, **{each.name: choice})
                except GoldassayError:
                    continue
                yield f"{other.key} {each.name}={choice}", other


def _differences(measure: Measure[Any], other: Measure[Any]) -> tuple[str, ...]:
    """What another measure does differently, in words."""
    ours, theirs = conventions(measure), conventions(other)
    out = []
    for key in sorted(theirs, key=lambda key: key not in ours):
        if ours.get(key) != theirs[key] and key not in ("empty", "rate"):
            out.append(f"{key}={theirs[key]}" + (f" instead of {key}={ours[key]}" if key in ours else ""))
    rates = [next((rate for rate in RATES if rate in each.key), "") for each in (measure, other)]
    if rates[0] != rates[1] and all(rates):
        out.append(f"{rates[1]} instead of {rates[0]}")
    if not out and measure.key != other.key:
        out.append(f"{other.key} instead of {measure.key}")
    return tuple(out)


def conventions(measure: Measure[Any]) -> dict[str, str]:
    """A measure's conventions by name.

    >>> from goldassay.measures.retrieval import named
    >>> conventions(named("nDCG@10"))["gain"]
    'linear'
    """
    pairs = (part.partition("=") for part in measure.conventions.partition("[")[2].removesuffix("]").split(", "))
    return {key: value for key, sign, value in pairs if sign}


def _plain(record: Any) -> Record:
    """A record as a dict, its spans too."""
    if isinstance(record, list):  # bare spans
        record = {"entities": record}
    out = {} if record is None else {name: read(record, name) for name in names(record)}
    spans = out.get("entities")
    if spans:
        out["entities"] = [
            dict(zip(("start", "end", "type"), span, strict=False)) if isinstance(span, tuple) else dict(span)
            for span in spans
        ]
    return out


def _edits(task: str, gold: Sequence[Record], pred: Sequence[Record]) -> Iterator[tuple[str, str, Edit]]:
    """Changes of the data that people make: description, kind, and the edit of a pair (None drops it)."""
    ours, theirs = FIELDS[task]
    yield "without the examples that have nothing in gold", "data", _keep(lambda g, p: g.get(ours))
    yield "without the examples that have no prediction", "data", _keep(lambda g, p: p.get(theirs))
    either = _keep(lambda g, p: g.get(ours) or p.get(theirs))
    yield "without the examples that have nothing on either side", "data", either
    if task in ("extraction", "triples"):
        yield from _item_edits(task, gold, pred)
    if task == "classification":
        yield "labels compared without case", "data", lambda g, p: (_folded(g), _folded(p))
        for label, _ in Counter(str(record.get("label")) for record in gold).most_common(MOST):
            without = _keep(lambda g, p, label=label: str(g.get("label")) != label)
            yield f"without the examples whose label is {label}", "part", without
    if task == "retrieval" and all(isinstance(record.get("relevant"), Mapping) for record in gold):
        flat: Edit = lambda g, p: ({**g, "relevant": {d: float(v > 0) for d, v in g["relevant"].items()}}, p)  # noqa: E731
        yield "grades flattened to 0 and 1", "data", flat
    if task == "answering":
        yield "only the first answer of gold", "data", lambda g, p: ({**g, "answers": (g.get("answers") or [])[:1]}, p)
    for name in dict.fromkeys(name for record in gold for name in record):
        values = Counter(record[name] for record in gold if isinstance(record.get(name), str))
        if name != ours and 1 < len(values) <= min(MOST, len(gold) // 2):
            for value in values:
                alone = _keep(lambda g, p, name=name, value=value: g.get(name) == value)
                yield f"only the examples whose {name} is {value}", "part", alone


def _folded(record: Record) -> Record:
    return {**record, "label": str(record.get("label")).casefold()}


def _item_edits(task: str, gold: Sequence[Record], pred: Sequence[Record]) -> Iterator[tuple[str, str, Edit]]:
    """Changes of spans and triples: types or properties left out, folded or cut."""
    field, kind, noun = ("entities", "type", "type") if task == "extraction" else ("triples", "predicate", "property")
    in_gold = Counter(str(read(item, kind)) for record in gold for item in record.get(field) or ())
    in_pred = Counter(str(read(item, kind)) for record in pred for item in record.get(field) or ())

    def both(edit: Callable[[list[Any]], list[Any]], *sides: str) -> Edit:
        def change(g: Record, p: Record) -> tuple[Record, Record]:
            new = [{**record, field: edit(record.get(field) or [])} for record in (g, p)]
            return new[0] if "gold" in sides else g, new[1] if "pred" in sides else p

        return change

    def renamed(rename: Callable[[str], str]) -> Edit:
        return both(lambda items: [_item(item, kind, rename(str(read(item, kind)))) for item in items], "gold", "pred")

    def among(wanted: Callable[[str], bool], *sides: str) -> Edit:
        return both(lambda items: [item for item in items if wanted(str(read(item, kind)))], *sides)

    yield f"{noun}s compared without case", "data", renamed(str.casefold)
    yield f"{noun}s cut at the first dot", "data", renamed(lambda name: name.partition(".")[0])
    yield f"{noun}s cut before the last dot", "data", renamed(lambda name: name.rpartition(".")[0] or name)
    extra = among(lambda name: name in in_gold, "pred")
    yield f"predictions of a {noun} that gold does not have left out", "data", extra
    unique = both(lambda items: list({repr(item): item for item in items}.values()), "gold", "pred")
    yield "duplicates counted once", "data", unique
    if task == "extraction":
        later = [
            both(lambda items: [_item(item, "end", item["end"] + 1) for item in items], side)
            for side in ("gold", "pred")
        ]
        yield "ends of gold read as inclusive", "data", later[0]
        yield "ends of predictions read as inclusive", "data", later[1]
    for name, _ in (in_gold + in_pred).most_common(MOST):
        yield f"without the {noun} {name}", "part", among(partial(operator.ne, name), "gold", "pred")
        yield f"only the {noun} {name}", "part", among(partial(operator.eq, name), "gold", "pred")


def _item(item: Any, name: str, value: Any) -> Any:
    return {**{key: read(item, key) for key in names(item)}, name: value}


def _keep(wanted: Callable[..., Any]) -> Edit:
    return lambda g, p: (g, p) if wanted(g, p) else None

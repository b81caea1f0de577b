"""Why two tools give different numbers for the same predictions (``goldassay score --claimed NAME=VALUE``).

`explain` computes a value again under every other convention of the same quantity that we know: one parameter of the
measure chosen differently, another average, other data (a type left out, labels without case, …), files read
differently. Those that give the claimed number are the candidates. An F1 is never explained by a precision or a ROUGE.

A claim of few digits agrees with many of them by chance. So candidates stand in the order in which such changes are the
reason, those that change least first, and the number of values close to the claim says how many agree by chance.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.fields import names, read
from goldassay.measure import Measure
from goldassay.scorecard import Batches, Scorecard, fold

NEAR = 5.5  # the neighbourhood of a claim, in units of its last digit
MOST = 30  # types, labels, languages that are tried one by one
QUANTITY = ("rate", "statistic", "value", "part", "kind", "bound", "score")  # another choice is another quantity
OPEN = {"k": (1, 3, 5, 10, 20, 100, None), "rel": (1, 2, 3), "labels": ("seen", "institutions")}
"""What parameters may be that have no closed list of choices."""
FIELDS = {
    "extraction": ("entities", "entities", "type"),
    "classification": ("label", "label", ""),
    "linking": ("links", "links", ""),
    "retrieval": ("relevant", "results", ""),
    "answering": ("answers", "answer", ""),
    "triples": ("triples", "triples", "predicate"),
    "records": ("record", "record", ""),
}
"""What gold and a prediction hold, and the type of each item of it."""
Record = dict[str, Any]
Sides = tuple[Sequence[Any], Sequence[Any]]
Change = Callable[..., Any]
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
        (0.7435, True)
        """
        name, _, digits = (part.strip() for part in text.partition("="))
        try:
            number = Decimal(digits.rstrip("%"))
        except InvalidOperation:
            raise GoldassayError(f"a claim is NAME=VALUE such as strict_f1=.7435, got {text!r}") from None
        percent = 100 if abs(number) > 1 or digits.endswith("%") else 1
        unit = Decimal(1).scaleb(int(number.as_tuple().exponent))
        return cls(name, digits, float(number / percent), float(unit / percent))

    def fits(self, value: float | None) -> bool:
        """Whether the value becomes the claim, rounded or cut off."""
        return value is not None and -self.unit / 2 - 1e-9 <= value - self.value < self.unit - 1e-9


class Candidate(NamedTuple):
    """A value under changed conventions, and the changes."""

    value: float
    name: str
    changes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.value:.6g} is {self.name}: {'; '.join(self.changes)}."


@dataclass(frozen=True)
class Explanation:
    """A claim, our value, and what other conventions give."""

    claim: Claim
    value: float | None
    tried: tuple[Candidate, ...]

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Those that agree, least changes first; one that changes more than another one is left out."""
        agree = sorted((one for one in self.tried if self.claim.fits(one.value)), key=lambda one: len(one.changes))
        return [one for one in agree if not any(set(other.changes) < set(one.changes) for other in agree)]

    @property
    def by_chance(self) -> float:
        """How many candidates would agree with any number near the claim."""
        gaps, unit = [abs(one.value - self.claim.value) for one in self.tried], self.claim.unit
        return sum(unit / 2 < gap <= NEAR * unit for gap in gaps) / (2 * NEAR - 1)

    def lines(self, most: int = 5) -> list[str]:
        """In sentences, the likeliest candidate first."""
        ours = "no value" if self.value is None else f"{self.value:.6g}"
        first, count = f"{self.claim.name} is {ours} here; {self.claim.text} is claimed", len(self.candidates)
        if self.claim.fits(self.value):
            return [f"{first}: the same number."]
        if not count:
            why = "the data differ, or the other tool computes something else"
            return [f"{first}; none of {len(self.tried)} other conventions gives it: {why}."]
        out = [
            f"{first}; {count} of {len(self.tried)} other conventions give it, about {self.by_chance:.0f} by chance."
        ]
        if self.by_chance > count / 2:
            return [*out, "None of them stands out; claim the number with more digits (the JSON has all of them)."]
        out += [f"{at}. {one}" for at, one in enumerate(self.candidates[:most], start=1)]
        return out + ([f"… and {count - most} more (the JSON has all of them)"] if count > most else [])

    def state(self) -> dict[str, object]:
        """As JSON."""
        ways = [one._asdict() | {"sentence": str(one)} for one in self.candidates]
        about = {"name": self.claim.name, "claimed": self.claim.value, "value": self.value}
        return about | {"same": self.claim.fits(self.value), "ways": ways, "tried": len(self.tried)}


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
    >>> print(explanation.candidates[0])
    0.5 is strict_macro_f1: over=gold; average=macro by type.
    """
    claim = Claim.read(claimed)
    if claim.name not in card.measures:
        near = get_close_matches(claim.name, card.values, 3) or list(card.values)[:5]
        raise GoldassayError(f"no value {claim.name!r} to explain; there are {', '.join(near)} and others")
    measure = card.measures[claim.name]
    others = {"": measure} | {repr(other): other for other in _other_conventions(measure)}
    plain: Any = [_plain(record) for record in gold], [_plain(record) for record in pred]
    data = {"": (gold, pred), **(readings or {})}
    for description, edit in _edits(card.task, *plain):
        pairs = [pair for records in zip(*plain, strict=True) if (pair := edit(*records)) is not None]
        sides: Any = [record for record, _ in pairs], [record for _, record in pairs]
        data |= {description: sides} if pairs and sides != plain else {}
    tried: list[Candidate] = []
    for change, sides in data.items():
        try:
            values = fold(card.task, others, Batches(*sides))
        except (GoldassayError, ValueError):
            continue  # the changed data cannot be measured
        changes = (change,) if change else ()
        tried += [Candidate(value, name, (*changes, *more)) for name, value, more in _values(values, measure)]
    return Explanation(claim, card.values[claim.name], tuple(one for one in tried if one.changes))


def _other_conventions(measure: Measure[Any]) -> Iterator[Measure[Any]]:
    """The measure with one parameter chosen differently, so that it is still the same quantity."""
    for name in [each.name for each in fields(measure) if each.name not in QUANTITY]:
        for choice in OPEN.get(name, measure.choices.get(name, ())):
            if choice != getattr(measure, name):
                with suppress(GoldassayError):
                    yield replace(measure, **{name: choice})


def _values(card: Scorecard, measure: Measure[Any]) -> Iterator[tuple[str, float, tuple[str, ...]]]:
    """The measure's value, those of its other conventions, and other averages; with what is different."""
    averages: list[tuple[str, float, tuple[str, ...]]] = []
    ours = _parts(measure)
    for name, other in card.measures.items():
        total: Any = card.totals[name]
        if (value := card.values[name]) is not None:
            different = "; ".join(part for part in _parts(other) if part not in ours) or repr(other)
            yield other.key, value, (different,) if name else ()
        if total and hasattr(total, "mean_of") and getattr(other, "rate", "") == "f1":
            p, r = total.mean_of("precision"), total.mean_of("recall")
            what = f"F1 of the precision and the recall of {other.key}, not the mean of F1"
            averages.append((other.key, 2 * p * r / (p + r) if p + r else 0.0, (what,)))
    yield from averages
    values, weights = (np.asarray(getattr(card.tallies[""], part), float) for part in ("value", "weight"))
    if values.shape == weights.shape == (card.examples,) and (weights > 0).any():
        mean = float(values[weights > 0].mean())
        yield measure.key, mean, ("the mean of the examples' own values, those without evidence left out",)


def _parts(measure: Measure[Any]) -> list[str]:
    """A measure's conventions one by one."""
    return measure.conventions.partition("[")[2].removesuffix("]").split(", ")


def _plain(record: Any) -> Record:
    """A record as a dict, its spans too."""
    if isinstance(record, list):  # bare spans
        record = {"entities": record}
    out = {} if record is None else {name: read(record, name) for name in names(record)}
    if out.get("entities"):
        out["entities"] = [
            dict(zip(("start", "end", "type"), span, strict=False)) if isinstance(span, tuple) else dict(span)
            for span in out["entities"]
        ]
    return out


def _edits(task: str, gold: Sequence[Record], pred: Sequence[Record]) -> Iterator[tuple[str, Edit]]:
    """A description, and the edit of a pair (None drops it)."""
    ours, theirs, kind = FIELDS[task]
    yield "without the examples that have nothing in gold", lambda g, p: (g, p) if g.get(ours) else None
    yield "without the examples that have no prediction", lambda g, p: (g, p) if p.get(theirs) else None
    if kind:
        yield from _item_edits(ours, kind, gold, pred)
    if task == "classification":
        fold_case: Change = lambda label: str(label).casefold()  # noqa: E731
        yield "labels compared without case", lambda g, p: (_with(g, ours, fold_case), _with(p, theirs, fold_case))
    if task == "retrieval" and all(isinstance(record.get(ours), Mapping) for record in gold):
        flat: Change = lambda grades: {key: float(grade > 0) for key, grade in grades.items()}  # noqa: E731
        yield "grades flattened to 0 and 1", lambda g, p: (_with(g, ours, flat), p)
    if task == "answering":
        yield "only the first answer of gold", lambda g, p: (_with(g, ours, lambda golds: golds[:1]), p)


def _with(record: Record, name: str, change: Change) -> Record:
    return {**record, name: change(record[name])} if record.get(name) else record


def _item_edits(field: str, kind: str, gold: Sequence[Record], pred: Sequence[Record]) -> Iterator[tuple[str, Edit]]:
    """Changes of spans and triples: types left out or folded, duplicates, ends."""
    types, in_gold = (
        Counter(str(read(item, kind)) for record in side for item in record.get(field) or ())
        for side in ((*gold, *pred), gold)
    )

    def both(change: Change) -> Edit:
        return lambda g, p: (_with(g, field, change), _with(p, field, change))

    def among(test: Change) -> Change:
        return lambda items: [item for item in items if test(str(read(item, kind)))]

    def each(name: str, change: Change) -> Change:
        return lambda items: [{**_plain(item), name: change(read(item, name))} for item in items]

    yield f"{kind}s compared without case", both(each(kind, str.casefold))
    yield f"{kind}s cut at the first dot", both(each(kind, lambda name: name.partition(".")[0]))
    known = among(in_gold.__contains__)
    yield f"predictions of a {kind} that gold does not have left out", lambda g, p: (g, _with(p, field, known))
    yield "duplicates counted once", both(lambda items: list({repr(item): item for item in items}.values()))
    if field == "entities":
        later = each("end", lambda end: end + 1)
        yield "ends of gold read as inclusive", lambda g, p: (_with(g, field, later), p)
        yield "ends of predictions read as inclusive", lambda g, p: (g, _with(p, field, later))
    for name, _ in types.most_common(MOST):
        yield f"without the {kind} {name}", both(among(partial(operator.ne, name)))
        yield f"only the {kind} {name}", both(among(partial(operator.eq, name)))

"""Why another tool gives another number for the same predictions (``score --claimed NAME=VALUE``).

`explain` computes a value again under every other convention of the same quantity that we know: one parameter of the
measure chosen differently, another average, other data (a type left out, labels without case, …), files read
differently. Those that give the claimed number are the alternatives. An F1 is never explained by a precision or a
ROUGE.

A claim of few digits agrees with many of them by chance. So alternatives are listed in the order in which such changes
are the reason, those that change least first, and the number of values close to the claim says how many agree by
chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from functools import partial
from operator import eq, ne
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import Fields, JsonObject
from goldassay.core.measure import Batches, Measure
from goldassay.core.tally import Macro
from goldassay.gold import formats, pairs
from goldassay.gold.outputs import OUTPUT_FIELDS
from goldassay.gold.records import LABEL_FIELDS
from goldassay.results.result import Result, fold

QUANTITY = ("rate", "statistic", "value", "part", "kind", "bound", "score")  # another choice is another quantity
OPEN = {"k": (1, 3, 5, 10, 20, 100, None), "rel": (1, 2, 3), "labels": ("seen", "institutions")}
"""Values to try of parameters that have no closed list of choices."""
Sides = tuple[Sequence[Any], Sequence[Any]]
Change = Callable[..., Any]
Edit = tuple[Change | None, Change | None]


class Claim(NamedTuple):
    """A reported number, and the size of its last digit."""

    name: str
    text: str
    value: float
    unit: float

    @classmethod
    def read(cls, text: str) -> Claim:
        """``strict_f1=.7435``, or ``strict_f1=74.35`` in percent.

        Raises:
            GoldassayError: It is not a name and a number.

        >>> Claim.read("strict_f1=74.35").value, Claim.read("strict_f1=74.35").fits(0.743549)
        (0.7435, True)
        """
        before, _, after = text.partition("=")
        digits = after.strip()
        try:
            number = Decimal(digits.rstrip("%"))
        except InvalidOperation:
            raise GoldassayError(f"a claim is NAME=VALUE such as strict_f1=.7435, got {text!r}") from None
        percent = 100 if abs(number) > 1 or digits.endswith("%") else 1
        return cls(before.strip(), digits, float(number / percent), 10.0 ** int(number.as_tuple().exponent) / percent)

    def fits(self, value: float | None) -> bool:
        """Whether the value becomes the claim, rounded or cut off."""
        return value is not None and -self.unit / 2 - 1e-9 <= value - self.value < self.unit - 1e-9


class Alternative(NamedTuple):
    """A value under changed conventions, and the changes."""

    value: float
    name: str
    changes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.value:.6g} is {self.name}: {'; '.join(self.changes)}."


@dataclass(frozen=True)
class ClaimedValue:
    """A claim, our value, and what other conventions give."""

    claim: Claim
    value: float | None
    tried: tuple[Alternative, ...]

    @property
    def alternatives(self) -> list[Alternative]:
        """Those that agree, least changes first; one that changes more than another one is left out."""
        agree = [way for way in self.tried if self.claim.fits(way.value)]
        agree.sort(key=lambda way: len(way.changes))
        return [way for way in agree if not any(set(other.changes) < set(way.changes) for other in agree)]

    def lines(self) -> list[str]:
        """In sentences, the likeliest alternative first."""
        claim = self.claim
        ways = self.alternatives
        ours = "no value" if self.value is None else f"{self.value:.6g}"
        first = f"{claim.name} is {ours} here; {claim.text} is claimed"
        if claim.fits(self.value):
            return [f"{first}: the same number."]
        if not ways:
            why = "the data differ, or the other tool computes something else"
            return [f"{first}; none of {len(self.tried)} other conventions gives it: {why}."]
        # Values that miss the claim by a few units of its last digit agree with other numbers near it. They spread over
        # 2 reach - 1 units (on both sides, without the claim's own unit), so that their mean number per unit is the
        # number that agrees with any one number there by chance.
        reach = 5.5
        near = sum(0.5 < abs(way.value - claim.value) / claim.unit <= reach for way in self.tried)
        by_chance = near / (2 * reach - 1)
        count = f"{len(ways)} of {len(self.tried)} other conventions give it, about {by_chance:.0f} by chance"
        lines = [f"{first}; {count}."]
        if by_chance > len(ways) / 2:
            return [*lines, "No single one is likely: claim the number with more digits (the JSON has all of them)."]
        lines += [f"{at}. {way}" for at, way in enumerate(ways[:5], start=1)]
        if len(ways) > 5:
            lines.append(f"… and {len(ways) - 5} more (the JSON has all of them)")
        return lines

    def state(self) -> JsonObject:
        """As JSON."""
        return {
            "name": self.claim.name,
            "claimed": self.claim.value,
            "value": self.value,
            "same": self.claim.fits(self.value),
            "ways": [way._asdict() | {"sentence": str(way)} for way in self.alternatives],
            "tried": len(self.tried),
        }


def readings(
    task: str,
    gold: Path,
    pred: Path,
    *,
    format: str | None = None,
    protocol: str | None = None,
    column: str | None = None,
) -> dict[str, Sides]:
    """The same files read differently, by a description of the difference, for `explain`.

    Args:
        task: The task.
        gold: The file of gold.
        pred: The file of predictions.
        format: Their format; guessed if not given.
        protocol: The protocol under which they were read.
        column: The column that was read.
    """
    layout = format or formats.guess(gold, task)
    other_options: dict[str, Fields] = {}
    if task == "extraction" and layout in ("iob2", "conll", "hipe"):
        same_protocol = {"protocol": protocol} if layout == "hipe" else {}
        by_scheme = "tags read as their scheme is written (an I- that nothing opens is nothing)"
        other_options[by_scheme] = {"malformed": "strict", **same_protocol}
    if task in ("extraction", "linking") and layout == "hipe":
        if protocol:
            other_options["read without the protocol"] = {"protocol": None}
        else:
            other_options["read under the protocol hipe"] = {"protocol": "hipe"}
    sides: dict[str, Sides] = {}
    for description, options in other_options.items():
        with suppress(GoldassayError):  # the files may not be readable this way
            aligned = pairs(task, gold, pred, format=layout, column=column, **options)
            sides[description] = (aligned.gold, aligned.pred)
    return sides


def explain(
    card: Result,
    gold: Sequence[Any],
    pred: Sequence[Any],
    claimed: str,
    *,
    readings: Mapping[str, Sides] | None = None,
) -> ClaimedValue:
    """Find the conventions that give a claimed value.

    Args:
        card: The scorecard of ``gold`` and ``pred``.
        gold: The gold examples, as mappings.
        pred: The predictions, aligned.
        claimed: ``NAME=VALUE``.
        readings: The same files read differently, by a description of the difference.

    Raises:
        GoldassayError: The card has no value of that name, or none that comes from measures.

    >>> from goldassay.measures import extraction
    >>> rows = [(0, 3, "A"), (4, 5, "A"), (6, 7, "B")], [(0, 3, "A"), (4, 5, "A"), (6, 8, "B")]
    >>> gold, pred = ([{"entities": [dict(zip(("start", "end", "type"), row)) for row in side]}] for side in rows)
    >>> explanation = explain(extraction.scorecard(gold, pred), gold, pred, "strict_f1=.5000")
    >>> explanation.value, explanation.alternatives[0].name
    (0.6666666666666666, 'strict_macro_f1')
    >>> print(explanation.alternatives[0])
    0.5 is strict_macro_f1: over=gold; average=macro by type.
    """
    if card.batches is None:
        raise GoldassayError(f"a claim is explained by other measures, and the values of {card.task} have none")
    claim = Claim.read(claimed)
    if claim.name not in card.measures:
        raise GoldassayError(f"no value {claim.name!r} to explain; there are {', '.join(card.measures)}")
    measure = card.measures[claim.name]
    conventions = {"": measure}  # and those with one parameter chosen differently, which are still the same quantity
    for parameter in [item.name for item in fields(measure) if item.name not in QUANTITY]:
        for choice in OPEN.get(parameter, measure.choices.get(parameter, ())):
            if choice != getattr(measure, parameter):
                with suppress(GoldassayError):
                    other = replace(measure, **{parameter: choice})
                    conventions[repr(other)] = other
    tried: list[Alternative] = []
    for change, data in {"": (gold, pred), **(readings or {}), **dict(_other_data(card.task, gold, pred))}.items():
        with suppress(GoldassayError, ValueError):  # the changed data cannot be measured
            for name, value, different in _values(fold(card.task, conventions, Batches(*data)), measure):
                if changes := tuple(filter(None, (change, different))):
                    tried.append(Alternative(value, name, changes))
    return ClaimedValue(claim, card.values[claim.name], tuple(tried))


def _values(card: Result, measure: Measure) -> Iterator[tuple[str, float, str]]:
    """The measure's value, those of its other conventions, and other averages; with what is different."""
    ours = _conventions(measure)
    averages: list[tuple[str, float, str]] = []
    for name, other in card.measures.items():
        if (value := card.values[name]) is not None:
            different = "; ".join(item for item in _conventions(other) if item not in ours) or repr(other)
            yield other.key, value, different if name else ""
        total = card.totals[name]
        if isinstance(total, Macro) and total and getattr(other, "rate", "") == "f1":
            p = total.mean_of("precision")
            r = total.mean_of("recall")
            what = f"F1 of the precision and the recall of {other.key}, not the mean of F1"
            averages.append((other.key, 2 * p * r / (p + r) if p + r else 0.0, what))
    yield from averages
    values = np.asarray(card.columns[""].value, float)
    weights = np.asarray(card.columns[""].weight, float)
    if values.shape == weights.shape == (card.examples,) and (weights > 0).any():
        mean = float(values[weights > 0].mean())
        yield measure.key, mean, "the mean of the examples' own values, those without evidence left out"


def _conventions(measure: Measure) -> list[str]:
    """A measure's conventions one by one."""
    return measure.conventions.partition("[")[2].removesuffix("]").split(", ")


def _other_data(task: str, gold: Sequence[JsonObject], pred: Sequence[JsonObject]) -> Iterator[tuple[str, Sides]]:
    """The examples with a change in them, by its description."""
    ours = LABEL_FIELDS[task][0]
    theirs = OUTPUT_FIELDS[task][0]
    pairs = list(zip(gold, pred, strict=True))
    changed = {
        "without the examples that have nothing in gold": [pair for pair in pairs if pair[0].get(ours)],
        "without the examples that have no prediction": [pair for pair in pairs if pair[1].get(theirs)],
    }
    edits = _span_edits(pairs) if task == "extraction" else EDITS_OF_TASK.get(task, {})
    for description, (of_gold, of_pred) in edits.items():
        changed[description] = [(_with(left, ours, of_gold), _with(right, theirs, of_pred)) for left, right in pairs]
    for description, changed_pairs in changed.items():
        if changed_pairs and changed_pairs != pairs:
            yield description, ([left for left, _ in changed_pairs], [right for _, right in changed_pairs])


def _with(record: JsonObject, name: str, change: Change | None) -> JsonObject:
    return {**record, name: change(record[name])} if change and record.get(name) else record


def _fold(label: str | int) -> str:
    return str(label).casefold()


def _flat(relevant: Mapping[str, float] | Sequence[str]) -> Mapping[str, float] | Sequence[str]:
    return {name: float(grade > 0) for name, grade in relevant.items()} if isinstance(relevant, Mapping) else relevant


EDITS_OF_TASK: dict[str, dict[str, Edit]] = {
    "classification": {"labels compared without case": (_fold, _fold)},
    "retrieval": {"grades flattened to 0 and 1": (_flat, None)},
    "answering": {"only the first answer of gold": (lambda answers: answers[:1], None)},
}
"""The changes of gold and predictions, by task and description."""


def _span_edits(pairs: Sequence[tuple[Any, Any]]) -> dict[str, Edit]:
    """Types left out or folded, duplicates, ends."""
    in_gold = Counter(span["type"] for gold, _ in pairs for span in gold.get("entities") or ())
    in_pred = Counter(span["type"] for _, pred in pairs for span in pred.get("entities") or ())

    def among(test: Change) -> Change:
        return lambda spans: [span for span in spans if test(span["type"])]

    def each(name: str, change: Change) -> Change:
        return lambda spans: [{**span, name: change(span[name])} for span in spans]

    later = each("end", lambda end: end + 1)
    changes = {
        "types compared without case": each("type", _fold),
        "types cut at the first dot": each("type", lambda name: name.partition(".")[0]),
        "duplicates counted once": lambda spans: list({repr(span): span for span in spans}.values()),
    }
    for name, _ in (in_gold + in_pred).most_common(30):
        changes |= {
            f"without the type {name}": among(partial(ne, name)),
            f"only the type {name}": among(partial(eq, name)),
        }
    return {description: (change, change) for description, change in changes.items()} | {
        "predictions of a type that gold does not have left out": (None, among(in_gold.__contains__)),
        "ends of gold read as inclusive": (later, None),
        "ends of predictions read as inclusive": (None, later),
    }

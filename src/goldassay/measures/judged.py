"""What measures with a judge share: how a judge is held, what it has to say, evidence of verdicts, its correction.

A judge is an object with the methods of the questions that it answers: `ClaimJudge` splits texts into claims and says
what supports them, `RelevanceJudge` says whether an answer answers. `goldassay.judges` has judges by language models;
nothing here imports them. The measure keeps the judge, and its repr names it.

One convention for a verdict that did not come back: it is *unknown*, stays in the denominator, and is never dropped.
The value counts what is certain; ``highest`` is what it would be if every unknown verdict went its way.

A judge errs, and how much is known where people have judged some of the same answers. Their labels and the judge's
verdicts on these, with its verdicts on all other rows, give the value that people would find, with its interval
(`corrected`; `goldassay.statistics.ppi`: Student's for means; for rates Wilson's, of as many labels as the estimate is
worth). Verdicts that did not come back are left out there; the value as it is keeps them in the denominator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, Self
from weakref import WeakValueDictionary

from goldassay.exceptions import GoldassayError
from goldassay.measure import Error, Measure, plain
from goldassay.statistics.ppi import Corrected
from goldassay.statistics.ppi import corrected as by_labels
from goldassay.tally.sums import Number, Sums, divide

UNKNOWN = "in the denominator, not counted as true"
NOBODY = "what stands with the prediction"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said: ``label`` (``None`` is unknown), and the quote that it rests on, which stands in the text."""

    label: str | None
    quote: str = ""
    reason: str = ""


class ClaimJudge(Protocol):
    """Splits texts into claims and says what supports them; ``None`` where it cannot say."""

    def claims(self, text: str, /) -> Sequence[str] | None:
        """The claims of a text."""

    def support(self, text: str, claim: str, /) -> Verdict:
        """``supported``, ``contradicted`` or ``not_stated``."""
        ...


class RelevanceJudge(Protocol):
    """Says whether an answer answers its question."""

    def relevance(self, question: str, answer: str, /) -> Verdict:
        """``full``, ``partial``, ``none`` or ``evasion``."""
        ...


@dataclass(frozen=True, slots=True)
class JudgedMean(Sums):
    """Sums over ``weight`` judged items: of certain values, of the highest possible ones, and unknown verdicts.

    >>> found = JudgedMean.of(1.0) + JudgedMean.of(0.5) + JudgedMean.of(None)
    >>> found.value, found.highest, found.unknown        # (1 + 0.5 + 0) / 3 and (1 + 0.5 + 1) / 3
    (0.5, 0.8333333333333334, 1.0)
    """

    total: Number = 0.0
    weight: Number = 0.0
    most: Number = 0.0
    unknown: Number = 0.0

    @classmethod
    def of(cls, value: float | None) -> Self:
        """The evidence of one verdict; ``None`` is unknown."""
        return cls(0.0, 1.0, 1.0, 1.0) if value is None else cls(value, 1.0, value, 0.0)

    @property
    def value(self) -> Number:
        """The mean of what is certain, over all items."""
        return divide(self.total, self.weight, empty=1.0)

    @property
    def highest(self) -> Number:
        """The mean if every unknown verdict went the value's way."""
        return divide(self.most, self.weight, empty=1.0)

    @property
    def band(self) -> tuple[Number, Number]:
        """The value, and the highest that it could be: the truth lies between."""
        return self.value, self.highest


LIVE: WeakValueDictionary[str, Any] = WeakValueDictionary()


class JudgedMeasure(Measure[JudgedMean]):
    """A measure with a field ``judge``, its last or its first; in the repr, and stored, it is the judge's name.

    A measure that is read back from its repr knows its conventions; it judges again only while a judge of that name is
    in use. ``optional`` measures work without a judge, from verdicts that stand with the prediction.
    """

    judge: Any  # each measure declares it as a field of its own, so that its conventions can stand before it
    zero: ClassVar[JudgedMean] = JudgedMean()
    fixed: ClassVar[Mapping[str, str]] = {"unknown": UNKNOWN}
    optional: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Keep the judge, and put its name in its place.

        Raises:
            GoldassayError: there is no judge, and the measure needs one.
        """
        if self.judge is None and self.optional:
            return
        if self.judge is None or self.judge == "":
            raise GoldassayError(f"{type(self).__name__} needs a judge: {type(self).__name__}(Judge(lm=…))")
        if not isinstance(self.judge, str):
            live, name = self.judge, called(self.judge)
            LIVE[name] = live
            object.__setattr__(self, "_live", live)
            object.__setattr__(self, "judge", name)

    @property
    def bound(self) -> Any:
        """The judge itself; ``None`` for a measure without one.

        Raises:
            GoldassayError: the measure was read back, and no judge of that name is in use.
        """
        if self.judge is None:
            return None
        live = self.__dict__.get("_live") or LIVE.get(self.judge)
        if live is None:
            raise GoldassayError(f"no judge {self.judge!r} is in use; give {type(self).__name__} a Judge(lm=…)")
        return live

    @property
    def conventions(self) -> str:
        """The judge's name first (or where the verdicts come from without one), then every other convention."""
        chosen = {one.name: getattr(self, one.name) for one in fields(self) if one.repr}
        told = {"judge": chosen.pop("judge") or NOBODY, **chosen, **self.fixed}
        return f"{self.key}[{', '.join(f'{name}={plain(value)}' for name, value in told.items())}]"


def called(judge: object) -> str:
    """The name of a judge, or of a function in its place.

    >>> called(len), called(type("Mine", (), {"name": "mine"})())
    ('builtins.len', 'mine')
    """
    if callable(judge) and hasattr(judge, "__qualname__"):
        return f"{judge.__module__}.{judge.__qualname__}"
    return str(getattr(judge, "name", None) or judge)


def unknown(what: str, field: str = "answer") -> Error:
    """The error of a verdict that did not come back."""
    return Error("unknown", f"{what} is not known: the judge's verdict did not come back.", field=field)


JudgeLabels = Mapping[str, Mapping[str, float | Sequence[float]]]
"""By the name of a value and the id of an example: what people say of it, from 0 to 1. With a second number, what the
judge says of the answer that people saw, where that is not the answer of this run."""


def corrected(
    labels: JudgeLabels, ids: Sequence[str], tallies: Mapping[str, Sequence[JudgedMean]], level: float = 0.95
) -> dict[str, Corrected]:
    """The corrected value of each judged measure that people have labelled.

    Args:
        labels: people's labels.
        ids: the id of each row.
        tallies: the evidence of each row, by measure.
        level: of the intervals.

    Raises:
        GoldassayError: a label is of no value that a judge gives here, or is no number from 0 to 1.

    >>> said = [JudgedMean.of(one) for one in (1.0, 1.0, 0.0, 1.0, 1.0, 1.0)]
    >>> found = corrected({"relevance": {"a": 1, "b": 0, "c": 0}}, list("abcdef"), {"relevance": said})["relevance"]
    >>> round(found.naive.value, 3), found.corrected.value     # λ is 0.5: 0.5 · 1 + 1/3 − 0.5 · 2/3
    (0.833, 0.5)
    """
    out = {}
    for name, several in labels.items():
        rows = tallies.get(name)
        if rows is None or not all(isinstance(tally, JudgedMean) for tally in rows):
            judged = [key for key, found in tallies.items() if all(isinstance(one, JudgedMean) for one in found)]
            raise GoldassayError(f"labels are for {name}, which no judge gives here; {', '.join(judged) or 'none is'}")
        if any(tally.weight > 1 for tally in rows):
            raise GoldassayError(f"{name} has several verdicts an example; labels correct values with one")
        people, verdicts = [], []
        known = {
            one: float(tally.value)
            for one, tally in zip(map(str, ids), rows, strict=True)
            if tally.weight and not tally.unknown
        }
        for one, label in several.items():
            pair = [label, known.get(one)] if isinstance(label, (int, float)) else list(label)
            if pair[1] is not None:
                people.append(_share(pair[0], name, one))
                verdicts.append(_share(pair[1], name, one))
        own = {one for one, label in several.items() if isinstance(label, (int, float))}
        others = [verdict for one, verdict in known.items() if one not in own]
        if len(people) > 1 and others:
            out[name] = by_labels(people, verdicts, others, level=level, bounds=(0.0, 1.0))
    return out


def _share(found: Any, name: str, one: str) -> float:
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found <= 1:
        raise GoldassayError(f"a label of {name} is a number from 0 to 1, not {found!r} (example {one})")
    return float(found)

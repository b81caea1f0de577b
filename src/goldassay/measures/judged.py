"""The common part of measures with a judge: the judge, its verdicts as evidence, and their correction by people.

A judge is an object with a method ``verdict(question, **inputs)``, which gives a `Verdict` on a named question
(`goldassay.judges.questions`): ``verdict("support", text=…, claim=…)``; and with ``claims(text)``, a list or ``None``,
for measures of claims. A judge that answers some questions only names them in ``questions``. `goldassay.judges` has
judges by language models; nothing here imports them. The measure keeps the judge, and its repr names it.

A missing verdict is *unknown*: it stays in the denominator and is never dropped. The value counts what
is certain; ``highest`` is what it would be if every unknown verdict went its way.

A judge makes errors; people's labels of some of the same answers show how many. Together with the judge's verdicts on
these and on all other rows they give the value that people would find, with its interval (`corrected`, by
prediction-powered inference; see `goldassay.statistics.ppi`). Unknown verdicts are left out of the correction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self
from weakref import WeakValueDictionary

from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import Assessment, Conventions, Error, Measure
from goldassay.core.tally import Number, Sums, divide
from goldassay.statistics.ppi import Corrected
from goldassay.statistics.ppi import corrected as by_labels

UNKNOWN_COUNTS = "in the denominator, not counted as true"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's answer: ``label`` (``None`` is unknown), the quote of the text that it rests on, and the reason."""

    label: str | None
    quote: str = ""
    reason: str = ""


class ClaimJudge(Protocol):
    """A judge that splits a text into claims and says what supports them."""

    def claims(self, text: str) -> list[str] | None: ...
    def verdict(self, question: str, /, **inputs: Any) -> Verdict: ...


def can_answer(judge: object, question: str) -> bool:
    """Whether there is a judge, and it answers this question."""
    return judge is not None and question in getattr(judge, "questions", (question,))


@dataclass(frozen=True, slots=True)
class JudgedMean(Sums):
    """Sums over ``weight`` judged items: of certain values, of the highest possible ones, and unknown verdicts.

    >>> verdicts = JudgedMean.of(1.0) + JudgedMean.of(0.5) + JudgedMean.of(None)
    >>> verdicts.value, verdicts.highest, verdicts.unknown        # (1 + 0.5 + 0) / 3 and (1 + 0.5 + 1) / 3
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


LIVE: WeakValueDictionary[str, object] = WeakValueDictionary()


class JudgedMeasure(Measure[JudgedMean]):
    """A measure with a field ``judge``, its last or its first; in the repr, and stored, it is the judge's name.

    A measure that is read back from its repr knows its conventions; it judges again only while a judge of that name is
    in use. ``optional`` measures work without a judge, from verdicts that come with the prediction.
    """

    judge: Any  # each measure declares it as a field of its own, so that its conventions can come before it
    zero: ClassVar[JudgedMean] = JudgedMean()
    optional = False

    @property
    def fixed(self) -> Conventions:
        """How an unknown verdict counts."""
        return {"unknown": UNKNOWN_COUNTS}

    @property
    def of_failed(self) -> dict[str, str]:
        """How a failed program counts: a judge reads it as an empty answer; without a judge it has no verdicts."""
        return {"failed": "left out" if self.judge is None else "an empty answer, no passages"}

    def __post_init__(self) -> None:
        """Keep the judge, and put its name in its place.

        Raises:
            GoldassayError: there is no judge, and the measure needs one.
        """
        super().__post_init__()
        if self.judge is None and self.optional:
            return
        if self.judge is None or self.judge == "":
            raise GoldassayError(f"{type(self).__name__} needs a judge: {type(self).__name__}(Judge(lm=…))")
        if not isinstance(self.judge, str):
            live = self.judge
            name = str(getattr(live, "name", None) or live)
            if callable(live) and hasattr(live, "__qualname__"):  # a function in the place of a judge
                name = f"{live.__module__}.{live.__qualname__}"
            LIVE[name] = live
            object.__setattr__(self, "_live", live)
            object.__setattr__(self, "judge", name)

    def __call__(self, gold: object, pred: object, /, batch: object = None) -> Assessment[JudgedMean]:
        """The evidence and the errors of one pair; the judge is asked once."""
        return self.assess(gold, pred)

    @property
    def bound(self) -> Any:
        """The judge itself; ``None`` for a measure without one.

        Raises:
            GoldassayError: the measure was read back from its repr, and no judge of that name is in use.
        """
        if self.judge is None:
            return None
        live = self.__dict__.get("_live") or LIVE.get(self.judge)
        if live is None:
            raise GoldassayError(f"no judge {self.judge!r} is in use; give {type(self).__name__} a Judge(lm=…)")
        return live

    @property
    def chosen(self) -> Mapping[str, object]:
        """The judge's name first (or where the verdicts come from without one), then every other convention."""
        first = {"judge": self.judge or "what comes with the prediction"}
        return {**first, **super().chosen, **first}


def unknown(what: str, field: str = "answer") -> Error:
    """The error of a missing verdict."""
    return Error("unknown", f"{what} is not known: the judge's verdict is missing.", field=field)


JudgeLabels = Mapping[str, Mapping[str, float | Sequence[float]]]
"""People's labels by the name of a value and the id of an example, from 0 to 1. With a second number, what the
judge says of the answer that people saw, where that is not the answer of this run."""


def corrected(
    labels: JudgeLabels, ids: Sequence[str], tallies: Mapping[str, Sequence[JudgedMean]]
) -> dict[str, Corrected]:
    """The corrected value of each judged measure that people have labelled.

    Args:
        labels: people's labels.
        ids: the id of each row.
        tallies: the evidence of each row, by measure.

    Raises:
        GoldassayError: a label is of no value that a judge gives here, or is not a number from 0 to 1.

    >>> rows = [JudgedMean.of(value) for value in (1.0, 1.0, 0.0, 1.0, 1.0, 1.0)]
    >>> result = corrected({"relevance": {"a": 1, "b": 0, "c": 0}}, list("abcdef"), {"relevance": rows})["relevance"]
    >>> round(result.naive.value, 3), result.corrected.value     # λ is 0.5: 0.5 · 1 + 1/3 − 0.5 · 2/3
    (0.833, 0.5)
    """
    values = {}
    for name, by_id in labels.items():
        rows = tallies.get(name, ())
        if not rows or not all(isinstance(row, JudgedMean) and row.weight <= 1 for row in rows):
            raise GoldassayError(f"labels are for {name}, which no judge gives here with one verdict an example")
        pairs = zip(map(str, ids), rows, strict=True)
        judgements = {id_: float(row.value) for id_, row in pairs if row.weight and not row.unknown}
        people: list[float] = []
        verdicts: list[float] = []
        for id_, label in by_id.items():
            human, verdict = (label, judgements.pop(id_, None)) if isinstance(label, (int, float)) else tuple(label)
            for number in (human, verdict):
                if number is not None and not 0 <= number <= 1:
                    raise GoldassayError(f"a label of {name} is a number from 0 to 1, not {number!r} (example {id_})")
            if verdict is not None:
                people.append(float(human))
                verdicts.append(float(verdict))
        if len(people) > 1 and judgements:
            unlabelled = list(judgements.values())
            values[name] = by_labels(people, verdicts, unlabelled, bounds=(0.0, 1.0))
    return values

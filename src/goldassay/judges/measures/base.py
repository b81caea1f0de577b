"""The evidence of judged measures: a mean of what is known, and a band for what is not.

An unknown verdict is neither dropped nor scored 0. It is left out of the value (total / weight) and counted in
``unknown``; the ``band`` says what the value would be with every unknown verdict against it and with every one for it.

What all judged measures share: a judge that is bound to the measure, and stands in its repr by its name.

What measures with one verdict an answer share: its worth from 0 to 1, the judge's reason where it is not 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self
from weakref import WeakValueDictionary

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.judges.ask.signatures import Verdict
from goldassay.measure import Assessment, Error, Measure, failed
from goldassay.measures.answering.claims import Share
from goldassay.measures.answering.records import answer as answered
from goldassay.measures.answering.records import answers, reference
from goldassay.tally.base import Number, Sums, divide


@dataclass(frozen=True, slots=True)
class Judged(Sums):
    """Sums over ``n`` judged items: of known values, of the lowest and of the highest possible ones.

    >>> found = Judged.of(1.0) + Judged.of(0.5) + Judged.of(None)
    >>> found.value, found.unknown, found.band        # (1 + 0.5) / 2; (1 + 0.5 + 0) / 3 to (1 + 0.5 + 1) / 3
    (0.75, 1, (0.5, 0.8333333333333334))
    >>> Judged.of(None).value, Judged().value
    (0.5, 1.0)
    """

    total: Number = 0.0
    weight: Number = 0.0
    low: Number = 0.0
    high: Number = 0.0
    n: Number = 0.0
    unknown: Number = 0

    @classmethod
    def of(cls, value: float | None) -> Self:
        """The evidence of one verdict; ``None`` is unknown."""
        return cls(0.0, 0.0, 0.0, 1.0, 1.0, 1) if value is None else cls(value, 1.0, value, value, 1.0, 0)

    @classmethod
    def between(cls, low: float, high: float, known: float | None, unknown: int) -> Self:
        """The evidence of one answer whose value lies between two, over its ``known`` claims."""
        return cls(known or 0.0, float(known is not None), low, high, 1.0, unknown)

    @property
    def value(self) -> Number:
        """The mean over what is known; the middle of the band where nothing is: an optimizer must not want that."""
        return divide(self.total, self.weight, empty=divide(self.low + self.high, 2 * self.n, empty=1.0))

    @property
    def band(self) -> tuple[Number, Number]:
        """The mean with every unknown verdict against it, and with every one for it."""
        return divide(self.low, self.n, empty=0.0), divide(self.high, self.n, empty=1.0)


def known(share: Share) -> float | None:
    """A share over those of its claims whose standing is known; ``None`` where none is.

    >>> known(Share(0.5, 0.75, 4)), known(Share(0.0, 1.0, 2))     # of 4 claims 2 hold, 1 does not, 1 is unknown: 2/3
    (0.6666666666666666, None)
    """
    if share.value == share.most:
        return share.value
    settled = share.value + 1 - share.most
    return share.value / settled if settled > 1e-12 else None


KNOWN: WeakValueDictionary[str, Any] = WeakValueDictionary()
UNKNOWN = "left out, counted, with a band"
SHORT = 4  # an answer of fewer words says something only together with its question


@dataclass(frozen=True)
class JudgedMeasure(Measure[Judged]):
    """A measure whose evidence a judge gives. ``judge`` is one; in the repr, and stored, it is the judge's name.

    A measure that is read back from its repr knows its conventions; it judges again only while a judge of that name
    is in use.
    """

    task: ClassVar[str] = "judges"
    zero: ClassVar[Judged] = Judged()
    fixed: ClassVar[dict[str, str]] = {"unknown": UNKNOWN}

    judge: Any

    def __post_init__(self) -> None:
        if self.judge is None or self.judge == "":
            raise GoldassayError(f"{type(self).__name__} needs a judge: {type(self).__name__}(Judge(lm=…))")
        if not isinstance(self.judge, str):
            live, name = self.judge, called(self.judge)
            KNOWN[name] = live
            object.__setattr__(self, "_live", live)
            object.__setattr__(self, "judge", name)

    @property
    def bound(self) -> Any:
        """The judge itself."""
        live = self.__dict__.get("_live") or KNOWN.get(self.judge)
        if live is None:
            raise GoldassayError(f"no judge {self.judge!r} is in use; give {type(self).__name__} a Judge(lm=…)")
        return live


def called(judge: Any) -> str:
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


def question(gold: Any) -> str:
    """The question, or an empty text."""
    return str(read(gold, "question", "") or "")


def answer_of(gold: Any, pred: Any) -> str:
    """The answer; empty where the program failed."""
    return "" if failed(pred) else answered(pred, gold)


def unanswerable(gold: Any) -> bool:
    """Whether gold says that there is no answer."""
    return read(gold, "answers", None) is not None and not answers(gold)


def gold_text(gold: Any) -> str | None:
    """What gold answers: its reference, else its first answer; ``None`` where it has neither."""
    if read(gold, "answers", None) is None and read(gold, "reference", None) is None:
        return None
    return reference(gold) or next(iter(answers(gold)), None)


def told(gold: Any, text: str) -> str:
    """An answer as a text that says something by itself: a short one with its question before it.

    >>> told({"question": "When did it open?"}, "1885"), told({"question": "When?"}, "It opened in 1885.")
    ('When did it open? 1885', 'It opened in 1885.')
    """
    asked = question(gold)
    return f"{asked} {text}" if asked and text and len(text.split()) < SHORT else text


@dataclass(frozen=True)
class Rated(JudgedMeasure):
    """One verdict an answer. Subclasses say how to ask, what a label is worth, and what is wrong with a low one."""

    gold_fields: ClassVar[tuple[str, ...]] = ("question",)
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    source: ClassVar[str] = "goldassay"
    about: ClassVar[str] = "How good the answer is"

    def verdict(self, gold: Any, pred: Any) -> Verdict | None:
        """What the judge says; ``None`` where there is nothing to judge."""
        raise GoldassayError(f"{type(self).__name__} does not say how to ask")

    def worth(self, label: str) -> float:
        """A label's value from 0 to 1."""
        return float(label == "yes")

    def says(self, label: str, gold: Any) -> str:
        """What is wrong, in words."""
        return f"The judge says {label!r}."

    def assess(self, gold: Any, pred: Any) -> Assessment[Judged]:
        """The worth of one answer, with the judge's reason where it is not the highest."""
        found = self.verdict(gold, pred)
        if found is None:
            return Assessment(Judged())
        if found.label is None:
            return Assessment(Judged.of(None), (unknown(self.about),))
        value = self.worth(found.label)
        if value == 1:
            return Assessment(Judged.of(value))
        why = f" The judge: {found.reason}" if found.reason else ""
        told = f"{self.says(found.label, gold)}{why}"
        return Assessment(Judged.of(value), (Error(self.key, told, pred=answer_of(gold, pred), field="answer"),))

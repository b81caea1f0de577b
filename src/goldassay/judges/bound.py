"""What all judged measures share: a judge that is bound to the measure, and stands in its repr by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.judges.evidence import Judged
from goldassay.measure import Error, Measure, failed
from goldassay.measures.answering.records import answer as answered
from goldassay.measures.answering.records import answers, reference

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

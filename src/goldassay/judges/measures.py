"""The measures that only a judge gives: ``Rubric(Judge(lm=…), LEVELS)``.

Is an answer good, by a scale of one's own (named levels that are described, a criterion that is met or not), or better
than another one? One verdict an answer, the mean over answers. Is a predicted type, or a predicted link, possible at
all? One verdict a mention, pooled over all mentions; it needs no gold annotation, and shows what is absurd (a year as a
museum, a river as a person), not what is missed.

Those of claims, relevance and entities stand in `goldassay.measures.answering`, where each also takes verdicts that are
there already; a judge makes the tables of verdicts that they count in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Error, failed, gold_field, pred_field
from goldassay.measures.answering.records import answer_or_nothing, question
from goldassay.measures.extraction.records import PRED, spans
from goldassay.measures.judged import JudgedMean, JudgedMeasure, Verdict, unknown
from goldassay.measures.linking import records as mentions
from goldassay.text.words import around

__all__ = ["Criterion", "LinkPlausibility", "Preference", "Rubric", "TypePlausibility"]


@dataclass(frozen=True)
class Rated(JudgedMeasure):
    """One verdict an answer. Subclasses say how to ask, what a label is worth, and what is wrong with a low one."""

    gold_fields: ClassVar[tuple[str, ...]] = ("question",)
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    task: ClassVar[str] = "judges"
    source: ClassVar[str] = "goldassay"
    about: ClassVar[str] = "How good the answer is"

    judge: Any

    def verdict(self, gold: object, pred: object) -> Verdict | None:
        """What the judge says; ``None`` where there is nothing to judge."""
        raise GoldassayError(f"{type(self).__name__} does not say how to ask")

    def worth(self, label: str) -> float:
        """A label's value from 0 to 1."""
        return float(label == "yes")

    def says(self, label: str, gold: object) -> str:
        """What is wrong, in words."""
        return f"The judge says {label!r}."

    def judged(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The worth of one answer, with the judge's reason where it is not the highest."""
        found = self.verdict(gold, pred)
        if found is None:
            return Assessment(JudgedMean())
        if found.label is None:
            return Assessment(JudgedMean.of(None), (unknown(self.about),))
        value = self.worth(found.label)
        if value == 1:
            return Assessment(JudgedMean.of(value))
        why = f" The judge: {found.reason}" if found.reason else ""
        told = f"{self.says(found.label, gold)}{why}"
        return Assessment(
            JudgedMean.of(value), (Error(self.key, told, pred=answer_or_nothing(pred, gold), field="answer"),)
        )


@dataclass(frozen=True)
class Preference(Rated):
    """Is the answer better than another one, asked in both orders? A win is 1, a tie 0.5, a loss 0.

    ``over`` is the field of gold that has the other answer; orders that disagree make a tie.

    >>> class Undecided:
    ...     name = "undecided"
    ...     def prefer(self, question, first, second):
    ...         return Verdict("tie")
    >>> Preference(Undecided())({"reference": "In 1885."}, {"answer": "In May."}).tally.value
    0.5
    """

    name: ClassVar[str] = "preference"
    fixed: ClassVar[Mapping[str, str]] = {**JudgedMeasure.fixed, "orders": "both", "orders disagree": "tie"}
    formula: ClassVar[str] = "(wins + ties / 2) / comparisons"
    about: ClassVar[str] = "Whether the answer is better than the other"

    over: str = "reference"

    def verdict(self, gold: object, pred: object) -> Verdict | None:
        """First, second or tie."""
        other = gold_field(gold, self.over, None)
        if not other:
            return None
        found: Verdict = self.bound.prefer(question(gold), answer_or_nothing(pred, gold), str(other))
        return found

    def worth(self, label: str) -> float:
        """Half for a tie."""
        return {"first": 1.0, "tie": 0.5, "second": 0.0}[label]

    def says(self, label: str, gold: object) -> str:
        """With the other answer."""
        return f"The answer is {'worse' if label == 'second' else 'no better'} than “{gold_field(gold, self.over)}”."


@dataclass(frozen=True)
class Rubric(Rated):
    """Named levels with what they mean, the worst first: their worths are even steps from 0 to 1.

    ``levels`` is a mapping or pairs of name and meaning; ``title`` names the value in a report.

    >>> class Middling:
    ...     name = "middling"
    ...     def rubric(self, levels, question, answer):
    ...         return Verdict("fair")
    >>> levels = {"poor": "says little", "fair": "says half", "good": "says all"}
    >>> Rubric(Middling(), levels, "depth")({}, {"answer": "In May."}).tally.value
    0.5
    """

    name: ClassVar[str] = "rubric"
    formula: ClassVar[str] = "mean over answers of the level's place from 0 (worst) to 1 (best)"

    levels: Any = ()
    title: str = "rubric"

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.levels.items() if hasattr(self.levels, "items") else self.levels
        pairs = tuple((str(name), str(meaning)) for name, meaning in given)
        if len({name.casefold() for name, _ in pairs}) < max(len(pairs), 2):
            raise GoldassayError("a rubric needs two or more levels with different names, the worst first")
        object.__setattr__(self, "levels", pairs)

    @property
    def key(self) -> str:
        """Its title."""
        return self.title

    @property
    def conventions(self) -> str:
        """The levels by name."""
        named = "<".join(name for name, _ in self.levels)
        return f"{self.key}[judge={self.judge}, levels={named}, unknown={self.fixed['unknown']}]"

    def verdict(self, gold: object, pred: object) -> Verdict | None:
        """The judge's level."""
        found: Verdict = self.bound.rubric(dict(self.levels), question(gold), answer_or_nothing(pred, gold))
        return found

    def worth(self, label: str) -> float:
        """Its place."""
        return [name for name, _ in self.levels].index(label) / (len(self.levels) - 1)

    def says(self, label: str, gold: object) -> str:
        """With the level's meaning and the best one's."""
        return (
            f"{self.title}: {label} ({dict(self.levels)[label]}); best is {self.levels[-1][0]} ({self.levels[-1][1]})."
        )


@dataclass(frozen=True)
class Criterion(Rated):
    """A yes/no criterion in words, such as ``"It names its source."``; ``title`` names the value in a report.

    >>> class Lenient:
    ...     name = "lenient"
    ...     def criterion(self, criterion, question, answer):
    ...         return Verdict("yes")
    >>> Criterion(Lenient(), "It names a month.")({}, {"answer": "In May."}).tally.value
    1.0
    """

    name: ClassVar[str] = "criterion"
    formula: ClassVar[str] = "answers that meet the criterion / answers"

    criterion: str = ""
    title: str = "criterion"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.criterion.strip():
            raise GoldassayError("a criterion needs words: Criterion(judge, 'It names its source.')")

    @property
    def key(self) -> str:
        """Its title."""
        return self.title

    def verdict(self, gold: object, pred: object) -> Verdict | None:
        """Yes or no."""
        found: Verdict = self.bound.criterion(self.criterion, question(gold), answer_or_nothing(pred, gold))
        return found

    def says(self, label: str, gold: object) -> str:
        """With the criterion."""
        return f"The answer does not meet the criterion “{self.criterion}”."


@dataclass(frozen=True)
class TypePlausibility(JudgedMeasure):
    """The share of predicted entities whose type their mention can have in this text.

    ``types`` says what codes mean, as pairs: ``(("MUS", "a museum"),)``. Words that do not stand in the text are left
    out: they are an error of another measure.

    >>> class NoNumbers:
    ...     name = "no numbers"
    ...     def type_plausible(self, text, mention, type):
    ...         return Verdict("no" if mention.isdigit() else "yes")
    >>> entities = [{"start": 0, "end": 5, "type": "TOP"}, {"start": 9, "end": 13, "type": "TOP"}]
    >>> TypePlausibility(NoNumbers())({"text": "Delft in 1885"}, {"entities": entities}).tally.value
    0.5
    """

    task: ClassVar[str] = "judges"
    name: ClassVar[str] = "type_plausibility"
    gold_fields: ClassVar[tuple[str, ...]] = ("text",)
    pred_fields: ClassVar[tuple[str, ...]] = ("entities",)
    fixed: ClassVar[Mapping[str, str]] = {**JudgedMeasure.fixed, "average": "micro"}
    formula: ClassVar[str] = "entities with a type that their mention can have / entities judged"
    source: ClassVar[str] = "goldassay"

    judge: Any
    types: tuple[tuple[str, str], ...] = ()

    def judged(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The entities of one text."""
        text = str(gold_field(gold, "text"))
        meant = dict(self.types)
        tally, errors = JudgedMean(), []
        for span in [] if failed(pred) else spans(pred_field(pred, "entities") or [], PRED):
            if span.start < 0:
                continue
            mention = text[span.start : span.end]
            kind = f"{span.type}: {meant[span.type]}" if span.type in meant else span.type
            found = self.bound.type_plausible(around(text, span.start, span.end), mention, kind)
            one, error = _judged(found, f"“{mention}” cannot be of type {kind} here.", "implausible_type", "entities")
            tally += one
            if error:
                errors.append(_placed(error, mention, span.type, span.start, span.end))
        return Assessment(tally, tuple(errors))


@dataclass(frozen=True)
class LinkPlausibility(JudgedMeasure):
    """The share of predicted links whose mention can mean the first candidate in this text.

    ``described`` turns an id into words: a function, or a table such as `goldassay.wikidata.labels.LabelTable`. An
    entity without a description cannot be judged and is unknown; the answer NIL is left out.

    >>> class Namesake:
    ...     name = "namesake"
    ...     def link_plausible(self, text, mention, entity):
    ...         return Verdict("yes" if mention in entity else "no")
    >>> links = [{"start": 0, "end": 5, "candidates": ["Q90"]}]
    >>> measure = LinkPlausibility(Namesake(), {"Q90": "Paris, capital of France"})
    >>> measure({"text": "Paris is big"}, {"links": links}).tally.value
    1.0
    """

    task: ClassVar[str] = "judges"
    name: ClassVar[str] = "link_plausibility"
    gold_fields: ClassVar[tuple[str, ...]] = ("text",)
    pred_fields: ClassVar[tuple[str, ...]] = ("links",)
    fixed: ClassVar[Mapping[str, str]] = {
        **JudgedMeasure.fixed,
        "average": "micro",
        "candidate": "first",
        "NIL": "skip",
    }
    formula: ClassVar[str] = "links whose mention can mean the first candidate / links judged"
    source: ClassVar[str] = "goldassay"

    judge: Any
    described: Any = field(default=None, repr=False, compare=False)

    def judged(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The links of one text."""
        if failed(pred):
            return Assessment(JudgedMean())
        text = str(gold_field(gold, "text"))
        tally, errors = JudgedMean(), []
        for answer in mentions.sides([], pred_field(pred, "links") or []).pred:
            if answer.start < 0 or answer.nil:
                continue
            mention, one = text[answer.start : answer.end], answer.candidates[0]
            words = description(self.described, one)
            found = (
                self.bound.link_plausible(around(text, answer.start, answer.end), mention, words)
                if words
                else Verdict(None)
            )
            told = f"“{mention}” cannot mean {one} ({words}) here."
            judged, error = _judged(found, told, "implausible_link", "links")
            tally += judged
            if error:
                errors.append(_placed(error, mention, one, answer.start, answer.end))
        return Assessment(tally, tuple(errors))


def description(described: Callable[[str], Any] | Any, one: str) -> str:
    """What an id means, in words; empty where nobody says.

    >>> description({"Q55": "the Netherlands, a country"}, "Q55"), description(None, "Q1")
    ('the Netherlands, a country', '')
    """
    if described is None:
        return ""
    if callable(described):
        return str(described(one) or "")
    if not hasattr(described, "__getitem__"):
        raise GoldassayError(f"described is a function or a table of ids, not {type(described).__name__}")
    entry = described[one] if one in described else ""  # noqa: SIM401  a LabelTable has no get
    if isinstance(entry, str):
        return entry
    parts = (getattr(entry, name, "") for name in ("label", "kind", "description"))
    return ", ".join(part for part in parts if part)


def _judged(found: Verdict, told: str, kind: str, where: str) -> tuple[JudgedMean, Error | None]:
    if found.label is None:
        return JudgedMean.of(None), unknown(f"Whether {told.replace('cannot', 'can').rstrip('.')}", where)
    if found.label == "yes":
        return JudgedMean.of(1.0), None
    return JudgedMean.of(0.0), Error(kind, f"{told} The judge: {found.reason}" if found.reason else told, field=where)


def _placed(error: Error, mention: str, kind: str, start: int, end: int) -> Error:
    return Error(error.kind, error.message, pred=mention, pred_type=kind, start=start, end=end, field=error.field)


def __getattr__(name: str) -> Any:
    if name == "PeopleAgreement":  # a judge is tuned by it; its room asks with the judges of this one
        from goldassay.judges.people.tuning import PeopleAgreement

        return PeopleAgreement
    raise AttributeError(f"module 'goldassay.judges.measures' has no attribute {name!r}")

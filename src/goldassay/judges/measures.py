"""The measures that only a judge gives: ``Rubric(Judge(lm=…), LEVELS)``.

Is an answer good, by named levels that are described or a criterion that is met or not, or better than another one? One
verdict an answer, the mean over answers. Is a predicted type, or a predicted link, possible at all? One verdict a
mention, pooled over all mentions; it needs no gold annotation, and shows what is absurd (a year as a museum, a river as
a person), not what is missed.

Those of claims, relevance and entities stand in `goldassay.measures.answering`, where each also takes stored verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.judges.questions import QUESTIONS, rubric
from goldassay.measure import Assessment, Error, failed, gold_field, pred_field
from goldassay.measures.answering.records import answer_or_nothing, question
from goldassay.measures.extraction.records import PRED, spans
from goldassay.measures.judged import JudgedMean, JudgedMeasure, Verdict, unknown
from goldassay.measures.linking import records as mentions
from goldassay.text.words import around

__all__ = ["Criterion", "LinkPlausibility", "Preference", "Rubric", "TypePlausibility"]


@dataclass(frozen=True)
class Rated(JudgedMeasure):
    """One verdict an answer: subclasses say what the judge is given, and what is wrong with a low label."""

    task: ClassVar[str] = "judges"
    source: ClassVar[str] = "goldassay"
    gold_fields: ClassVar[tuple[str, ...]] = ("question",)
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    about: ClassVar[str] = "How good the answer is"
    asks: ClassVar[str]  # the name of its question

    judge: Any

    @property
    def key(self) -> str:
        """Its title, if it has one."""
        return str(getattr(self, "title", self.name))

    def inputs(self, gold: object, answer: str) -> dict[str, Any] | None:
        """What the judge is given; None if there is nothing to judge."""
        raise NotImplementedError

    @property
    def worth(self) -> Mapping[str, float]:
        """The labels and what they are worth, from 0 to 1."""
        return QUESTIONS[self.asks].worth

    def complaint(self, label: str, gold: object) -> str:
        """What is wrong, in words."""
        raise NotImplementedError

    def judged(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The worth of one answer, with the judge's reason if it is not the highest."""
        answer = answer_or_nothing(pred, gold)
        if (inputs := self.inputs(gold, answer)) is None:
            return Assessment(JudgedMean())
        verdict = self.bound.verdict(self.asks, **inputs)
        if verdict.label is None:
            return Assessment(JudgedMean.of(None), (unknown(self.about),))
        value = self.worth[verdict.label]
        if value == 1:
            return Assessment(JudgedMean.of(value))
        message = _with_reason(self.complaint(verdict.label, gold), verdict)
        return Assessment(JudgedMean.of(value), (Error(self.key, message, pred=answer, field="answer"),))


@dataclass(frozen=True)
class Preference(Rated):
    """Is the answer better than another one, asked in both orders? A win is 1, a tie 0.5, a loss 0.

    ``over`` is the field of gold that has the other answer; orders that disagree make a tie.

    >>> class Undecided:
    ...     name = "undecided"
    ...     def verdict(self, asked, question, first, second):
    ...         return Verdict("tie")
    >>> Preference(Undecided())({"reference": "In 1885."}, {"answer": "In May."}).tally.value
    0.5
    """

    name: ClassVar[str] = "preference"
    asks: ClassVar[str] = "preference"
    fixed: ClassVar[Mapping[str, str]] = {**JudgedMeasure.fixed, "orders": "both", "orders disagree": "tie"}
    formula: ClassVar[str] = "(wins + ties / 2) / comparisons"
    about: ClassVar[str] = "Whether the answer is better than the other"

    over: str = "reference"

    def inputs(self, gold: object, answer: str) -> dict[str, Any] | None:
        """Both answers."""
        other = gold_field(gold, self.over, None)
        return {"question": question(gold), "first": answer, "second": str(other)} if other else None

    def complaint(self, label: str, gold: object) -> str:
        """Names the other answer."""
        return f"The answer is {'worse' if label == 'second' else 'no better'} than “{gold_field(gold, self.over)}”."


@dataclass(frozen=True)
class Rubric(Rated):
    """Named levels with what they mean, the worst first: their worths are even steps from 0 to 1.

    ``levels`` is a mapping or pairs of name and meaning; ``title`` names the value in a report.

    >>> class Middling:
    ...     name = "middling"
    ...     def verdict(self, asked, levels, question, answer):
    ...         return Verdict("fair")
    >>> levels = {"poor": "says little", "fair": "says half", "good": "says all"}
    >>> Rubric(Middling(), levels, "depth")({}, {"answer": "In May."}).tally.value
    0.5
    """

    name: ClassVar[str] = "rubric"
    asks: ClassVar[str] = "rubric"
    formula: ClassVar[str] = "mean over answers of the level's place from 0 (worst) to 1 (best)"

    levels: Any = ()
    title: str = "rubric"

    def __post_init__(self) -> None:
        super().__post_init__()
        levels = rubric(dict(self.levels)).levels
        object.__setattr__(self, "levels", tuple(levels.items()))

    @property
    def conventions(self) -> str:
        """The levels by name."""
        named = "<".join(name for name, _ in self.levels)
        return f"{self.key}[judge={self.judge}, levels={named}, unknown={self.fixed['unknown']}]"

    def inputs(self, gold: object, answer: str) -> dict[str, Any] | None:
        """The levels, too."""
        return {"levels": dict(self.levels), "question": question(gold), "answer": answer}

    @property
    def worth(self) -> Mapping[str, float]:
        """The levels' places."""
        return rubric(dict(self.levels)).worth

    def complaint(self, label: str, gold: object) -> str:
        """Names the level's meaning and the best one's."""
        best, meaning = self.levels[-1]
        return f"{self.title}: {label} ({dict(self.levels)[label]}); best is {best} ({meaning})."


@dataclass(frozen=True)
class Criterion(Rated):
    """A yes/no criterion in words, such as ``"It names its source."``; ``title`` names the value in a report.

    >>> class Lenient:
    ...     name = "lenient"
    ...     def verdict(self, asked, criterion, question, answer):
    ...         return Verdict("yes")
    >>> Criterion(Lenient(), "It names a month.")({}, {"answer": "In May."}).tally.value
    1.0
    """

    name: ClassVar[str] = "criterion"
    asks: ClassVar[str] = "criterion"
    formula: ClassVar[str] = "answers that meet the criterion / answers"

    criterion: str = ""
    title: str = "criterion"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.criterion.strip():
            raise GoldassayError("a criterion needs words: Criterion(judge, 'It names its source.')")

    def inputs(self, gold: object, answer: str) -> dict[str, Any] | None:
        """The criterion, too."""
        return {"criterion": self.criterion, "question": question(gold), "answer": answer}

    def complaint(self, label: str, gold: object) -> str:
        """Names the criterion."""
        return f"The answer does not meet the criterion “{self.criterion}”."


Guess = tuple[int, int, str, str | None]
"""A predicted type or link of a mention: where it stands, the type or the id, and what the judge is told that it is."""


@dataclass(frozen=True)
class Plausibility(JudgedMeasure):
    """One verdict a mention: whether it can be what is predicted of it."""

    task: ClassVar[str] = "judges"
    source: ClassVar[str] = "goldassay"
    gold_fields: ClassVar[tuple[str, ...]] = ("text",)
    fixed: ClassVar[Mapping[str, str]] = {**JudgedMeasure.fixed, "average": "micro"}
    asks: ClassVar[str]  # the name of its question
    given: ClassVar[str]  # the input that says what is predicted
    claim: ClassVar[str]  # what is asked of a mention, in words

    judge: Any

    def guesses(self, text: str, pred: object) -> Iterator[Guess]:
        """What is predicted of each mention; one that nobody describes is unknown."""
        raise NotImplementedError

    def judged(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The mentions of one text."""
        tally, errors, (field,), text = JudgedMean(), [], self.pred_fields, str(gold_field(gold, "text"))
        for start, end, kind, meaning in () if failed(pred) else self.guesses(text, pred):
            mention, verdict = text[start:end], Verdict(None)
            if meaning is not None:
                inputs = {"text": around(text, start, end), "mention": mention, self.given: meaning}
                verdict = self.bound.verdict(self.asks, **inputs)
            label = verdict.label
            tally += JudgedMean.of(None if label is None else float(label == "yes"))
            words = f"{self.claim} {kind} ({meaning or ''})" if self.given == "entity" else f"{self.claim} {meaning}"
            if label is None:
                error, message = "unknown", unknown(f"Whether “{mention}” can {words} here").message
            else:
                error = f"implausible_{self.asks}"
                message = _with_reason(f"“{mention}” cannot {words} here.", verdict)
            if label != "yes":
                place: Any = {"start": start, "end": end, "field": field}
                errors.append(Error(error, message, pred=mention, pred_type=kind, **place))
        return Assessment(tally, tuple(errors))


@dataclass(frozen=True)
class TypePlausibility(Plausibility):
    """The share of predicted entities whose type their mention can have in this text.

    ``types`` says what codes mean, as pairs: ``(("MUS", "a museum"),)``. A prediction without a place in the text is
    left out: it is an error of another measure.

    >>> class NoNumbers:
    ...     name = "no numbers"
    ...     def verdict(self, question, text, mention, type):
    ...         return Verdict("no" if mention.isdigit() else "yes")
    >>> entities = [{"start": 0, "end": 5, "type": "TOP"}, {"start": 9, "end": 13, "type": "TOP"}]
    >>> TypePlausibility(NoNumbers())({"text": "Delft in 1885"}, {"entities": entities}).tally.value
    0.5
    """

    name: ClassVar[str] = "type_plausibility"
    asks: ClassVar[str] = "type"
    given: ClassVar[str] = "type"
    claim: ClassVar[str] = "be of type"
    pred_fields: ClassVar[tuple[str, ...]] = ("entities",)
    formula: ClassVar[str] = "entities with a type that their mention can have / entities judged"

    types: tuple[tuple[str, str], ...] = ()

    def guesses(self, text: str, pred: object) -> Iterator[Guess]:
        """The type of each predicted entity."""
        meanings = dict(self.types)
        for span in spans(pred_field(pred, "entities") or [], PRED):
            if span.start >= 0:
                meaning = f"{span.type}: {meanings[span.type]}" if span.type in meanings else span.type
                yield span.start, span.end, span.type, meaning


@dataclass(frozen=True)
class LinkPlausibility(Plausibility):
    """The share of predicted links whose mention can mean the first candidate in this text.

    ``described`` turns an id into words: a function, or a table such as `goldassay.wikidata.labels.LabelTable`. An
    entity without a description cannot be judged and is unknown; the answer NIL is left out.

    >>> class Namesake:
    ...     name = "namesake"
    ...     def verdict(self, question, text, mention, entity):
    ...         return Verdict("yes" if mention in entity else "no")
    >>> links = [{"start": 0, "end": 5, "candidates": ["Q90"]}]
    >>> measure = LinkPlausibility(Namesake(), {"Q90": "Paris, capital of France"})
    >>> measure({"text": "Paris is big"}, {"links": links}).tally.value
    1.0
    """

    name: ClassVar[str] = "link_plausibility"
    asks: ClassVar[str] = "link"
    given: ClassVar[str] = "entity"
    claim: ClassVar[str] = "mean"
    pred_fields: ClassVar[tuple[str, ...]] = ("links",)
    fixed: ClassVar[Mapping[str, str]] = {**Plausibility.fixed, "candidate": "first", "NIL": "skip"}
    formula: ClassVar[str] = "links whose mention can mean the first candidate / links judged"

    described: Any = field(default=None, repr=False, compare=False)

    def guesses(self, text: str, pred: object) -> Iterator[Guess]:
        """The first candidate of each predicted link."""
        for answer in mentions.sides([], pred_field(pred, "links") or []).pred:
            if answer.start >= 0 and not answer.nil:
                candidate = answer.candidates[0]
                yield answer.start, answer.end, candidate, description(self.described, candidate) or None


def description(described: Any, id: str) -> str:
    """What an id means, in words; empty if nobody says.

    >>> description({"Q55": "the Netherlands, a country"}, "Q55"), description(None, "Q1")
    ('the Netherlands, a country', '')
    """
    if described is None:
        return ""
    if callable(described):
        return str(described(id) or "")
    if not hasattr(described, "__getitem__"):
        raise GoldassayError(f"described is a function or a table of ids, not {type(described).__name__}")
    entry = described[id] if id in described else ""  # noqa: SIM401  a LabelTable has no get
    if isinstance(entry, str):
        return entry
    parts = (getattr(entry, name, "") for name in ("label", "kind", "description"))
    return ", ".join(part for part in parts if part)


def _with_reason(message: str, verdict: Verdict) -> str:
    return f"{message} The judge: {verdict.reason}" if verdict.reason else message


def __getattr__(name: str) -> Any:
    if name == "PeopleAgreement":  # a judge is tuned by it; its module asks with the judges of this one
        from goldassay.judges.tuning import PeopleAgreement

        return PeopleAgreement
    raise AttributeError(f"module 'goldassay.judges.measures' has no attribute {name!r}")

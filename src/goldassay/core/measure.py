"""Measures: values that turn a (gold, prediction) pair into an assessment."""

from __future__ import annotations

import ast
import difflib
import importlib
import math
import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, ClassVar, Generic, cast

from typing_extensions import TypeVar

from goldassay._support import extensions
from goldassay._support.exceptions import DataError, FieldError, GoldassayError
from goldassay._support.jsonl import parse_field
from goldassay._support.workspace import nearest
from goldassay.core import tally
from goldassay.core.fields import ABSENT, JsonObject, Renamed, is_example, message_path, names, read, without_enums
from goldassay.core.tally import By, Confusion, Sums, T

ANSWER_FIELDS = {
    **{"extraction": "entities", "classification": "label", "linking": "links", "retrieval": "results"},
    **{"answering": "answer", "triples": "triples", "records": "record", "trajectories": "trajectory"},
}
"""The field of a prediction that is each task's answer: a prediction may also be its value alone."""
TASKS = tuple(ANSWER_FIELDS)
RAISED = "the metric raised"  # the first words of that error and its warning
OWN_TASK = "own"  # what a user's own functions and measures are stored as
JUDGES = "judges"  # the task of the measures whose evidence a judge gives
INVALID = "invalid_record"  # the kind of the error of a prediction that counts as none, with the reason as its message
RECORD_ERRORS = (
    *("missing_field", "invented_field", "wrong_value", "wrong_type", "wrong_format", "wrong_unit"),
    *("missing_item", "spurious_item", "swapped_items", INVALID),
)
"""The kinds of errors of records: their gold values need not be in a text word for word."""
ROUNDING = 1e-12  # the error of floating point that a value may be off its target
NO_EVIDENCE = "1/null"  # an example without evidence has the value 1 and weighs nothing, a corpus has no value


def raised_notes(failures: Sequence[tuple[str, str]], total: str) -> list[str]:
    """A warning that a metric raised, with the count and the first line of its traceback, if it did.

    Args:
        failures: The id and the reason of every failed example.
        total: How many examples there are, in words.
    """
    raised = [failure for failure in failures if failure[1].startswith(RAISED)]
    if not raised:
        return []
    first = ": ".join(raised[0]).partition("; found ")[0]
    return [f"{RAISED} on {len(raised)} of {total}, whose gold counts as missed; the first, {first}"]


@dataclass(frozen=True, slots=True)
class Error:
    """One typed mistake, with the gold value, the predicted one, and the place.

    ``kind`` is a short word such as ``missed``, ``spurious``, ``wrong_type``, ``wrong_boundary``, ``wrong_link``;
    ``message`` says it to a person in one sentence; ``field`` is the output field that carries it; ``start`` and
    ``end`` are character offsets in ``text`` of the gold example; ``context`` holds the words around; ``size`` is how
    many counts it costs (a missing item of four fields costs four). In a program of several steps, ``step`` is the
    number of the call, from 0, and ``predictor`` the name of the one that made it. In rows, ``measures`` are the names
    of the measures that found the error, if one that has a weight and found errors did not find this one.
    """

    kind: str
    message: str
    gold: str = ""
    pred: str = ""
    gold_type: str = ""
    pred_type: str = ""
    start: int | None = None
    end: int | None = None
    context: str = ""
    field: str = ""
    size: int = 1
    step: int | None = None
    predictor: str = ""
    measures: Names = ()

    def is_of(self, measure: str) -> bool:
        """Whether a measure names the error.

        >>> Error("missed", "", measures=("strict_f1",)).is_of("partial_f1")
        False
        """
        return not self.measures or measure in self.measures

    def state(self) -> JsonObject:
        """As JSON: only what is known."""
        return {spec.name: value for spec in fields(self) if (value := getattr(self, spec.name)) != spec.default}


@dataclass(frozen=True, slots=True)
class Assessment(Generic[T]):
    """The evidence of one example, the errors found in it, and what was right (in words, for feedback)."""

    tally: T
    errors: tuple[Error, ...] = ()
    right: tuple[str, ...] = ()


Review = tuple[tuple[Error, ...], tuple[str, ...]]
"""The errors of one example, and what is right in it."""
Conventions = Mapping[str, str]
"""The fixed options, by name: ``{"average": "micro"}``."""
Names = tuple[str, ...]
Limits = tuple[float, float]


B = TypeVar("B", default=Any)  # what `Measure.batch` returns; pairs, if a measure has no batch of its own


@dataclass(frozen=True)
class Measure(Generic[T, B]):
    """A definition, as a value: hashable; its repr names every convention and reads back as the same measure.

    Subclasses are frozen dataclasses whose fields are the conventions that can be chosen; they set ``task``, ``name``,
    ``zero`` and ``fixed`` (conventions that cannot be chosen), each as an attribute of the class or, where it follows
    from the fields, as a property; their docstring has the lines ``Formula:`` and ``Source:``. They count in
    ``tallies``, many examples at once, or in ``tally``, one pair at a time; ``errors`` names the errors of a pair. One
    example is a batch of one: there is no second way to a number.

    ``batch`` does the work that measures of a task share (matching, ranking) before ``tallies`` counts in it. Measures
    with the same ``batch`` function share its result where the conventions named in ``shares`` are equal.
    """

    task: ClassVar[str]
    name: ClassVar[str]  # of its value: see `key`
    shares: ClassVar[Names] = ()  # the conventions that ``batch`` depends on
    choices: ClassVar[Mapping[str, tuple[object, ...]]] = {}  # the values that a field may have

    @property
    def zero(self) -> T:
        """The tally of no evidence. Each measure has its own: a measure without one raises a NotImplementedError."""
        raise NotImplementedError(f"{type(self).__name__} needs a zero: the tally of no evidence")

    @property
    def fixed(self) -> Conventions:
        """The conventions that cannot be chosen."""
        return {}

    @property
    def in_key(self) -> Names:
        """The fields that the key states already; the conventions leave them out."""
        return ()

    @property
    def limits(self) -> Limits:
        """The least and the greatest value that there can be."""
        return (0.0, 1.0)

    @property
    def attains_one(self) -> bool:
        """Whether perfect predictions have the value 1; precision at 10 has not where fewer than 10 are relevant."""
        return True

    @property
    def lower_is_better(self) -> bool:
        """Whether the value is an error or a rate of mistakes: see `worst`."""
        return False

    @property
    def breakdown(self) -> Mapping[str, Measure]:
        """The measures of the same that count by key, by facet."""
        return {}

    def __post_init__(self) -> None:
        for name, choices in self.choices.items():
            check_choice(name, getattr(self, name, choices[0]), choices)

    def __call__(self, gold: object, pred: object, /, batch: B | None = None) -> Assessment[T]:
        """The evidence and the errors of one pair: a batch of one.

        Args:
            gold: The gold example.
            pred: The prediction.
            batch: The `batch` of this pair, if the caller has it already.
        """
        from goldassay.core.evidence import row  # loads numpy

        batch = self.batch([gold], [pred]) if batch is None else batch
        reviews = self.reviews(batch) or [self.errors(gold, pred)]
        return Assessment(row(self.tallies(batch), 0), *reviews[0])

    def reviews(self, batch: B) -> Sequence[Review] | None:
        """`errors` of every example, of a measure that takes them from a batch."""
        return None

    def errors(self, gold: object, pred: object) -> Review:
        """The errors of one pair and what is right in it, in words, for feedback."""
        return (), ()

    def notes(self, pred: Sequence[object]) -> list[str]:
        """What a person has to know of these predictions as they are, in sentences."""
        return []

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> B:
        """The work that measures share over aligned examples; without any, the list of pairs."""
        return cast("B", list(zip(gold, pred, strict=True)))

    def assess(self, *pair: Any, **options: Any) -> Assessment[T]:
        """The evidence and the errors of one pair, for a measure of the library that gets both from one reading.

        `tally` takes the evidence from it; the measure takes the errors, in `review` or in its call.

        Raises:
            GoldassayError: The measure defines neither this nor `tally` nor `tallies`.
        """
        raise GoldassayError(f"{type(self).__name__} defines neither tally nor tallies")

    def tally(self, *pair: Any, **options: Any) -> T:
        """The evidence of one (gold, prediction) pair, for a measure without a faster way over many."""
        return self.assess(*pair).tally

    def tallies(self, batch: B) -> T:
        """The evidence of every example of a batch: one tally whose fields are arrays, a number an example.

        By default it is made of the `tally` of each item: of the gold and the prediction of a pair, of anything else
        that a batch lists as it is.
        """
        from goldassay.core.evidence import stacked

        items = cast("Iterable[Any]", batch)
        return stacked([self.tally(*item) if type(item) is tuple else self.tally(item) for item in items], self.zero)

    @property
    def known_limits(self) -> Limits | None:
        """Between which values an interval may lie; None if that is not known, as of a function."""
        return None if self.task == OWN_TASK else self.limits

    @property
    def counted(self) -> str:
        """The name of its counts in a report; measures of one name have the same counts, "" has none."""
        return self.key

    @property
    def key(self) -> str:
        """The name of its value in a report, such as ``strict_f1`` or ``nDCG@10``; ``name`` may hold ``{fields}``."""
        return self.name.format_map(vars(self))

    @property
    def worst(self) -> float | None:
        """The worst value where lower is better (1 where there is no bound), else None.

        DSPy maximises what a metric returns, so such a value counts as ``1 - value / worst`` in a score
        (`goldassay.core.tally.Evidence.score`); in a report it stays what it is.
        """
        if not self.lower_is_better:
            return None
        return self.limits[1] if math.isfinite(self.limits[1]) else 1.0

    @property
    def chosen(self) -> Mapping[str, object]:
        """The conventions that can be chosen, as `conventions` shows them."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.in_key}

    @property
    def conventions(self) -> str:
        """The name with every convention, chosen or fixed: ``strict_f1[match=span+type, average=micro]``."""
        text = ", ".join(f"{key}={plain(value)}" for key, value in {**self.chosen, **self.fixed}.items())
        return f"{self.key}[{text}]"


EXAMPLES_AT_ONCE = 10_000  # examples whose matching is in memory at once


class Batches:
    """Aligned gold and predictions, and what measures share over them: computed once, when first needed."""

    def __init__(self, gold: Sequence[object], pred: Sequence[object]) -> None:
        if len(gold) != len(pred):
            raise DataError(f"{len(gold)} gold records against {len(pred)} predictions; they must be aligned")
        self.gold = gold
        self.pred = pred
        self._cache: dict[Hashable, object] = {}

    def of(self, measure: Measure) -> Any:
        """The batch that this measure counts in."""
        key = (type(measure).batch, tuple(getattr(measure, name) for name in measure.shares))
        if key not in self._cache:
            self._cache[key] = measure.batch(self.gold, self.pred)
        return self._cache[key]

    def chunks(self) -> Iterator[Batches]:
        """These examples, some thousands at a time."""
        if len(self.gold) <= EXAMPLES_AT_ONCE:
            yield self
            return
        for start in range(0, len(self.gold), EXAMPLES_AT_ONCE):
            end = start + EXAMPLES_AT_ONCE
            yield Batches(list(self.gold[start:end]), list(self.pred[start:end]))

    def assessed(self, measures: Mapping[str, Measure]) -> Iterator[dict[str, Assessment]]:
        """The evidence of each measure for each example, counted for many at once where that is possible."""
        from goldassay.core.evidence import rows

        for chunk in self.chunks():
            pairs = list(zip(chunk.gold, chunk.pred, strict=True))
            singles = [Batches([gold], [pred]) for gold, pred in pairs]
            columns: list[list[Assessment]] = []
            for measure in measures.values():
                if isinstance(measure.zero, (Sums, By, Confusion)) and type(measure).__call__ is Measure.__call__:
                    batch = chunk.of(measure)
                    tallies = rows(measure.tallies(batch), len(pairs))
                    reviews = measure.reviews(batch) or [measure.errors(*pair) for pair in pairs]
                    columns.append([Assessment(tally, *review) for tally, review in zip(tallies, reviews, strict=True)])
                else:
                    columns.append([measure(*pair, one.of(measure)) for pair, one in zip(pairs, singles, strict=True)])
            yield from (dict(zip(measures, assessments, strict=True)) for assessments in zip(*columns, strict=True))


def target_met(value: float, target: float, *, lower_is_better: bool = False) -> bool:
    """Whether a value meets its target: at least the target, or at most it where lower is better.

    >>> target_met(0.7, 0.1 + 0.6), target_met(0.2, 0.1, lower_is_better=True)     # 0.1 + 0.6 is 0.7 and a little less
    (True, False)
    """
    return value <= target + ROUNDING if lower_is_better else value >= target - ROUNDING


def check_choice(name: str, value: Hashable, choices: Collection[Hashable]) -> None:
    """Raise a `GoldassayError` unless a convention has one of its values.

    >>> check_choice("rate", "f2", ("f1", "precision"))
    Traceback (most recent call last):
    goldassay._support.exceptions.GoldassayError: rate is f1 or precision, not 'f2'
    """
    if value not in choices:
        *listed, last = map(str, choices)
        raise GoldassayError(f"{name} is {', '.join(listed)} or {last}, not {value!r}")


def check_tally(measure: Measure) -> None:
    """Raise a `GoldassayError` if the tally of a user's own measure cannot hold the evidence of many examples."""
    if type(measure).__module__.startswith("goldassay."):
        return
    from goldassay.core.evidence import stacked

    zero = measure.zero
    try:
        stacked([zero, zero], zero)
    except (TypeError, ValueError) as error:
        raise GoldassayError(
            f"{type(zero).__name__}.from_state takes numbers, and arrays of them (one an example), as they are: {error}"
        ) from None


def plain(value: object) -> str:
    """A convention as it is shown."""
    return "+".join(map(str, value)) if isinstance(value, (tuple, frozenset)) else str(value)


PARSED_FIELDS = ("label", "entities", "links", "triples", "results")
"""The fields that a model may write as JSON: a text of theirs is read."""


def gold_field(gold: object, name: str, default: object = ABSENT) -> Any:
    """A field of a gold example; a FieldError that lists what it has."""
    return _field(gold, "gold", name, default)


def pred_field(pred: object, name: str, default: object = ABSENT) -> Any:
    """A field of a prediction; empty where the program failed, else a FieldError that lists what it has."""
    return _field(pred, "pred", name, default)


def _field(record: object, side: str, name: str, default: object) -> Any:
    try:
        value = without_enums(read(record, name, default))
    except (FieldError, KeyError):
        if side == "pred" and failed(record):
            return None
        inner = record.record if isinstance(record, Renamed) else record
        is_answer = side == "pred" and name in (*ANSWER_FIELDS.values(), "labels")
        value = _bare_answer(inner, name) if is_answer else ABSENT
        if value is ABSENT:
            raise _no_field(record, inner, side, name) from None
    return parse_field(value, name) if side == "pred" and name in PARSED_FIELDS and isinstance(value, str) else value


def _bare_answer(pred: object, name: str) -> object:
    """The answer of a prediction that has nothing else: what a program returned in place of fields."""
    is_output = {*names(pred)} - {"id"} == {"output"}
    value = without_enums(read(pred, "output") if is_output else pred)
    kinds = (str, Real) if name in ("label", "answer") else (str, list, tuple)
    return value if isinstance(value, kinds) else ABSENT


def _no_field(record: object, inner: object, side: str, name: str) -> FieldError:
    noun = "gold example" if side == "gold" else "prediction"
    columns = {**record.absent, **record.columns} if isinstance(record, Renamed) else {}
    if isinstance(column := columns.get(name), str):
        there = nearest(column.partition(".")[0], names(inner))
        return FieldError(f"the {noun} has no field {column!r}, which columns names for {name!r}{there}")
    if close := difflib.get_close_matches(name, columns, n=1):
        return FieldError(f"the {noun} has no field {name!r}; columns names {close[0]!r}; did you mean {name!r}?")
    near = difflib.get_close_matches(name, names(inner), n=1)
    likely = near or [field for field in names(inner) if field == "output"] or names(inner)
    path = message_path(inner, likely[0] if len(likely) == 1 else "")
    advice = f"rename with Metric(…, columns={{'{side}.{name}': {repr(path) if path else '…'}}})"
    return FieldError(f"the {noun} has no field {name!r}; it has {', '.join(names(inner)) or 'none'}; {advice}")


@dataclass(frozen=True)
class Returned(Measure):
    """A value of a function, or of a measure of a user's own, under one name; ``kind`` is its tally.

    ``most`` is the largest value that it can have, if that is known.

    >>> Returned("overlap", "Counts").zero
    Counts(tp=0.0, fp=0.0, fn=0.0)
    """

    lower_is_better: bool = field(default=False, kw_only=True)
    called: str = "score"
    kind: str = "Mean"
    most: float | None = field(default=None, kw_only=True)
    task = OWN_TASK
    name = "{called}"

    @property
    def zero(self) -> Any:
        """No evidence of this kind."""
        return getattr(tally, self.kind)()

    @property
    def limits(self) -> Limits:
        return (-math.inf, math.inf) if self.most is None else (0.0, self.most)

    @property
    def conventions(self) -> str:
        return f"{self.called}[{'mean over the examples' if self.kind == 'Mean' else f'folded {self.kind}'}]"


FAILURE = "goldassay_failure"
NO_PREDICTION = "no prediction"


def failed(pred: object) -> str:
    """The error of the program that should have made this prediction; empty if it worked.

    A prediction of ``None`` and one without any field (what dspy puts where a program raised) count as failures.
    """
    if pred is None:
        return NO_PREDICTION
    empty = is_example(pred) and not names(pred)
    return str(read(pred, FAILURE, "") or ("empty prediction" if empty else ""))


HOMES = {task: f"goldassay.measures.{task}" for task in TASKS} | {
    JUDGES: "goldassay.judges.measures",
    OWN_TASK: "goldassay.core.measure",
}


def parse(text: str) -> Measure:
    """The measure that a stored ``task.Repr(...)`` names. Nothing is executed: only literal arguments are read.

    Raises:
        GoldassayError: The text names no measure.

    >>> parse("extraction.SpanF1()")
    SpanF1(bounds='given', matching='one-to-one', match='strict', rate='f1', average='micro')
    """
    task, _, call = text.partition(".")
    try:
        name, arguments, options = literal_call(call)
        module = importlib.import_module(HOMES[task])
        classes = {type(measure).__name__: type(measure) for measure in getattr(module, "MEASURES", ())}
        kind = classes.get(name) or vars(module).get(name)
        if kind is None:
            kind = next(type(measure) for measure in _of_extensions(task) if type(measure).__name__ == name)
        if issubclass(kind, Measure):
            return kind(*arguments, **options)  # type: ignore[no-any-return]
    except (SyntaxError, ValueError, AttributeError, TypeError, KeyError, StopIteration):
        pass
    raise GoldassayError(f"no measure reads as {text!r}; expected something like 'extraction.SpanF1()'")


def literal_call(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """The name and the literal arguments of a call, or of a name alone; nothing is executed.

    >>> literal_call("number(0.1, relative=0.01)"), literal_call("money")
    (('number', [0.1], {'relative': 0.01}), ('money', [], {}))
    """
    node = ast.parse(text, mode="eval").body
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    options = {str(option.arg): ast.literal_eval(option.value) for option in call.keywords}
    return call.func.id, [*map(ast.literal_eval, call.args)], options  # type: ignore[attr-defined]


def registered(task: str) -> tuple[Measure, ...]:
    """The measures of a task: the library's, then those that extensions have."""
    return (*importlib.import_module(HOMES[task]).MEASURES, *_of_extensions(task))


def spelled(name: str) -> str:
    """How the measure is written that a name means, by its class or the name of its value.

    >>> spelled("acuracy")
    'classification.Accuracy() (from goldassay.measures import classification)'
    """
    calls: dict[str, str] = {}
    for task in TASKS:
        for measure in registered(task):
            values = {spec.name: (getattr(measure, spec.name), spec.default) for spec in fields(measure)}
            chosen = [f"{key}={value!r}" for key, (value, default) in values.items() if value != default]
            kind = type(measure)
            ours = kind.__name__ in importlib.import_module(HOMES[task]).__all__
            source = f"goldassay.measures import {task}" if ours else f"{kind.__module__} import {kind.__name__}"
            call = f"{f'{task}.' if ours else ''}{kind.__name__}({', '.join(chosen)}) (from {source})"
            for alias in (measure.key, type(measure).__name__):
                calls.setdefault(_letters(alias), call)
    close = difflib.get_close_matches(_letters(name), list(calls), n=1, cutoff=0.5)
    return calls[close[0]] if close else f"a measure of goldassay.measures: {', '.join(TASKS)}"


def _letters(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def _of_extensions(task: str) -> list[Measure]:
    sets = extensions.of_kind("measures", within=f"{task}.").values()
    return [measure for measures in sets for measure in measures]


def stored(measure: Measure) -> str:
    """The text that ``parse`` reads back; of a measure of a user's own, or with a function, its name and tally."""
    text = f"{measure.task}.{measure!r}"
    if type(measure).__module__.startswith("goldassay.") and "<function " not in text:
        return text
    kind = type(measure.zero).__name__
    lower = measure.lower_is_better
    most = measure.limits[1] if lower and math.isfinite(measure.limits[1]) else None
    return f"{OWN_TASK}.{Returned(measure.key, kind, lower_is_better=lower, most=most)!r}"

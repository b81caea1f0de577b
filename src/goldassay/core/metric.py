"""A metric: the callable that DSPy gets; and any function as a metric."""

from __future__ import annotations

import inspect
import json
import math
import threading
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias

import dspy
from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError

from goldassay._support.dspy_compat import DSPY_ERRORS, is_unavailable
from goldassay._support.exceptions import (
    GoldassayError,
    MetricError,
    MissingExtra,
    ModelError,
    StorageError,
    line_of,
    one_line,
    short_repr,
)
from goldassay._support.jsonl import dumps
from goldassay.core import tally
from goldassay.core.feedback import ReviewNotes, differences, feedback
from goldassay.core.fields import Columns, Record, identity, names, read, sides
from goldassay.core.measure import (
    FAILURE,
    INVALID,
    RAISED,
    TASKS,
    Assessment,
    Batches,
    Measure,
    Returned,
    check_tally,
    failed,
    spelled,
    target_met,
)
from goldassay.core.score import Score
from goldassay.core.shape import fields_read
from goldassay.core.tally import Counts, Evidence, Mean, Tally, worst_values

Assessments = dict[str, Assessment]
BLAMELESS: tuple[type[Exception], ...] = (MetricError, ModelError, MissingExtra, StorageError, *DSPY_ERRORS)
"""Errors that are not the prediction's fault."""
PLAIN = {str, int, float, bool, NoneType}
"""Types of values that nothing can change."""


def failed_with(why: str) -> dspy.Prediction:
    """The prediction of a program that failed: no field but the reason."""
    return dspy.Prediction(**{FAILURE: why})


class ObjectPrediction(dspy.Prediction):
    """The fields of what a program returned in place of a prediction, which it equals.

    One that was stored equals each object that is stored in the same way.

    >>> ObjectPrediction.of({"tp": {1}}, {"tp": {1}}) == {"tp": {1}}
    True
    >>> ObjectPrediction({"tp": 1, "fp": 0, "fn": 2}) == Counts(1, 0, 2)
    True
    """

    _returned: object = None

    @classmethod
    def of(cls, returned: object, fields: Record) -> ObjectPrediction:
        """The answer of a program that returned this object."""
        answer = cls(dict(fields))
        answer._returned = returned
        return answer

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dspy.Example):
            return bool(super().__eq__(other))
        if self._returned is not None:
            return bool(self._returned == other)
        stored = json.loads(dumps(other))
        fields = dict(self.items())
        return isinstance(stored, dict) and stored in (fields, {**fields, "id": stored.get("id")})

    __hash__ = dspy.Prediction.__hash__


class Metric:
    """Measures with weights, as a DSPy metric.

    The score of an example is the weighted mean of the measures' values; the corpus value is the same mean of the
    measures' corpus values. DSPy maximises scores, so a measure whose lower values are better (an error) counts as
    ``1 - value / worst`` in them, in the objective scores too. Targets and reports have its own value.

    Args:
        measures: One measure, several, or a mapping from measures to weights.
        targets: The value that a measure should reach, by its name (see `met`).
        state_of_the_art: What the best systems reach, by the measure's name.
        pass_mark: The least score of an example that bootstrapping may learn from.
        columns: Renames fields (see `goldassay.core.fields`).
        feedback_from: The folder of a review whose notes appear in the feedback of the same or similar inputs
            (`goldassay.core.feedback.ReviewNotes`).

    >>> from goldassay.measures import extraction
    >>> metric = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})
    >>> gold = {"text": "Het Rijksmuseum", "entities": [{"start": 4, "end": 15, "type": "MUS"}]}
    >>> score = metric(gold, {"entities": [{"start": 0, "end": 15, "type": "MUS"}]})
    >>> score.score, bool(score), score.objective_scores
    (0.3, False, {'strict_f1': 0.0, 'partial_f1': 1.0})
    >>> from goldassay.measures import answering
    >>> brier = Metric(answering.Calibration(statistic="brier"), targets={"brier": 0.3})
    >>> brier({"answers": ["1885"]}, {"answer": "1885", "confidence": 0.5}).score, brier.met({"brier": 0.25})
    (0.75, {'brier': True})
    """

    raises = False
    """Whether a call raises if a prediction cannot be measured (see `assess_or_fail`)."""
    has_fixed_names: bool = True
    """Whether the names of the values are known before the first example."""

    def __init__(
        self,
        measures: Mapping[Measure, float] | Iterable[Measure] | Measure,
        *,
        targets: Mapping[str, float] | None = None,
        state_of_the_art: Mapping[str, float] | None = None,
        pass_mark: float = 1.0,
        columns: Columns | None = None,
        feedback_from: Path | str | None = None,
    ) -> None:
        if isinstance(measures, Measure | str | type) or not isinstance(measures, Iterable):
            measures = [measures]  # type: ignore[list-item]
        weights = dict(measures) if isinstance(measures, Mapping) else dict.fromkeys(measures, 1.0)
        if odd := next((entry for entry in weights if not isinstance(entry, Measure)), None):
            name = getattr(odd, "__name__", str(odd))
            if odd in TASKS:
                raise GoldassayError(f"{odd!r} is a task; its metric is goldassay.workspace.metric({odd!r})")
            if not isinstance(odd, str | type) and callable(odd):
                raise GoldassayError(f"a metric is made of measures, {name} is a function: write Metric.of({name})")
            if isinstance(odd, type) and issubclass(odd, Measure):
                raise GoldassayError(f"a metric is made of measures, and {name} is a class of them: write {name}()")
            raise GoldassayError(f"a metric is made of measures, not of {odd!r}; did you mean {spelled(name)}?")
        if min(weights.values(), default=0.0) < 0 or not any(weights.values()):
            raise GoldassayError("a metric needs measures whose weights are not negative and do not add to 0")
        self.measures: dict[str, Measure] = {measure.key: measure for measure in weights}
        if len(self.measures) < len(weights):
            raise GoldassayError(f"two measures of this metric have one name: {', '.join(m.key for m in weights)}")
        for measure in weights:
            check_tally(measure)
        self.weights = {measure.key: float(weight) for measure, weight in weights.items()}
        self.targets = dict(targets or {})
        self.state_of_the_art = dict(state_of_the_art or {})
        for key in [*self.targets, *self.state_of_the_art]:
            if key not in self.measures:
                raise GoldassayError(f"a target for {key!r}, which is not among {', '.join(self.measures)}")
        self.pass_mark = pass_mark
        self.columns = dict(columns or {})
        self.notes = None if feedback_from is None else ReviewNotes(feedback_from)

    @staticmethod
    def of(
        function: Callable[..., object],
        *,
        name: str = "score",
        pass_mark: float = 1.0,
        targets: Mapping[str, float] | None = None,
        lower_is_better: bool = False,
        worst: float | None = None,
        feedback_from: Path | str | None = None,
    ) -> FunctionMetric:
        """Any function of (gold, prediction) as a metric, with intervals and paired tests.

        It may return a number, a bool, a dict of either (each a value of its own; ``score`` is what counts, or their
        mean), a ``dspy.Prediction(score=…, feedback=…)``, or evidence that adds up: a function that is annotated
        ``-> Counts`` gives a true corpus F1, and one annotated ``-> dict[str, Counts]`` that of each field and of their
        sum. A number is reported as its mean over the examples. The names of a dict are those of the first example; a
        name that comes later is a `MetricError`.

        Args:
            function: The function. It may have DSPy's further parameters (``trace``, ``pred_name`` …).
            name: What the value is called.
            pass_mark: The least score of an example that bootstrapping may learn from.
            targets: The value that should be reached, by name.
            lower_is_better: The value is an error: a target is the most that it may be, and the score, which DSPy
                maximises, is ``1 - value / worst``.
            worst: The largest value of an error, which an example counts on which the program fails; by default 1.
            feedback_from: The folder of a review whose notes appear in the feedback, as in `Metric`.

        >>> import dspy
        >>> exact = Metric.of(lambda gold, pred: gold["label"] == pred["label"])
        >>> score = exact({"label": "M"}, {"label": "L"})
        >>> score.score, score.feedback.splitlines()[-1]
        (0.0, "- label: expected 'M', got 'L'.")
        >>> Metric.of(lambda gold, pred: {"right": True, "short": 0.5})({}, {"label": "M"}).objective_scores
        {'score': 0.75, 'right': 1.0, 'short': 0.5}
        >>> error = Metric.of(lambda gold, pred: abs(gold - pred), lower_is_better=True, worst=5, targets={"score": 2})
        >>> error(3.0, 2.0).score, error.met({"score": 1.0})
        (0.8, {'score': True})
        """
        returned = _return_type(function)
        if typing.get_origin(returned) in (dict, Mapping):
            returned = typing.get_args(returned)[-1]
        kind = getattr(returned, "__name__", "")  # the tally that is annotated, also as the values of a dict
        if returned is not getattr(tally, kind, None) or not (
            isinstance(returned, type) and issubclass(returned, Tally)
        ):
            kind = "Mean"
        measure = Returned(name, kind, lower_is_better=lower_is_better, most=worst)
        return FunctionMetric(function, measure, pass_mark, targets, feedback_from)

    @property
    def zero(self) -> Evidence:
        """No evidence yet, with the weights; its ``from_state`` reads stored rows back."""
        return Evidence.empty(self.measures, self.weights)

    @property
    def conventions(self) -> dict[str, str]:
        """Each measure's name with its conventions."""
        return {key: measure.conventions for key, measure in self.measures.items()}

    def met(self, values: Mapping[str, float]) -> dict[str, bool]:
        """Which targets are met (`target_met`)."""
        return {
            key: target_met(values[key], target, lower_is_better=self.measures[key].lower_is_better)
            for key, target in self.targets.items()
            if key in values
        }

    def record_notes(self, gold: Iterable[object], pred: Sequence[object]) -> list[str]:
        """What a person has to know of these records: what measures say of the first predictions, each once."""
        if any(map(callable, self.columns.values())):  # which read what a program returns, not its record
            return []
        read_as = [sides(self.columns, {}, prediction)[1] for prediction in pred[:20]]
        return list(dict.fromkeys(note for measure in self.measures.values() for note in measure.notes(read_as)))

    def assess(self, gold: object, pred: object) -> Assessments:
        """Each measure's assessment of one pair; measures share the work of a batch of one."""
        gold, pred = sides(self.columns, gold, pred)
        batches = Batches([gold], [pred])
        return {key: measure(gold, pred, batches.of(measure)) for key, measure in self.measures.items()}

    def assess_or_fail(self, gold: object, pred: object) -> tuple[Assessments, str]:
        """Each measure's assessment, and why the prediction cannot be measured, if so: its gold counts as missed.

        What is not the prediction's fault (gold that is wrong, a model that does not answer, a missing extra) is
        raised.

        >>> from goldassay.measures import extraction
        >>> gold = {"text": "in 1885", "entities": [(3, 7, "TMP")]}
        >>> assessments, why = Metric(extraction.SpanF1()).assess_or_fail(gold, {"entities": [1885]})
        >>> assessments["strict_f1"].tally, why.rpartition("; ")[2]
        (Counts(tp=0, fp=0, fn=1), "found {'entities': [1885]}")
        """
        try:
            assessments = self.assess(gold, pred)
            return assessments, next(
                (e.message for a in assessments.values() for e in a.errors if e.kind == INVALID), ""
            )
        except BLAMELESS as error:
            if isinstance(error, GoldassayError):
                raise
            # of a model that the function asks
            advice = "" if is_unavailable(error) else "; catch it there, and return what such an example counts"
            message = f"{RAISED} {one_line(error)}{line_of(error)}, on record {identity(gold, '')}{advice}"
            raise MetricError(message) from error
        except (Exception, SystemExit) as error:
            if failed(pred):
                raise
            why = " ".join(str(error).split())
            if not isinstance(error, GoldassayError):
                why = f"{RAISED} {one_line(error)}{line_of(error)}"
                if isinstance(error, (AttributeError, KeyError)):
                    why += f"; gold has {', '.join(names(gold))}"
            fields = dict(pred.items()) if isinstance(pred, dspy.Example) else pred
            why = f"{why}; found {short_repr(fields, 200)}"
            try:
                return self.assess(gold, failed_with(why)), why
            except Exception:  # noqa: BLE001  it is not the prediction that is wrong: the first error says more
                raise error from None

    def evidence(self, assessments: Assessments) -> Evidence:
        """The tallies of one example, with the weights and directions of the measures."""
        tallies = {key: assessment.tally for key, assessment in assessments.items()}
        return Evidence(tallies, self.weights, worst_values(self.measures))

    def __call__(
        self,
        gold: object,
        pred: object,
        trace: object = None,
        pred_name: str | None = None,
        pred_trace: object = None,
        program_trace: object = None,
    ) -> Score:
        """Score a prediction, as DSPy calls a metric.

        A prediction that cannot be measured (it lacks a field, or holds what no measure can read) is a failed example:
        its gold counts as missed, and a warning shows it.

        Args:
            gold: The gold example.
            pred: The prediction.
            trace: As optimizers hand it over; the score is the same with it.
            pred_name: The predictor that feedback is for.
            pred_trace: Its calls.
            program_trace: The whole program's calls.
        """
        assessments, why = (self.assess(gold, pred), "") if self.raises else self.assess_or_fail(gold, pred)
        if why:
            warnings.warn(f"an example whose gold counts as missed: {why}", stacklevel=2)
            pred = failed_with(why)
        evidence = self.evidence(assessments)
        value = float(evidence.value)
        errors = tuple(dict.fromkeys(error for assessment in assessments.values() for error in assessment.errors))
        note = self.notes.about(gold) if self.notes and (errors or failed(pred)) else ""
        return Score(
            value,
            feedback(gold, pred, assessments, evidence, pred_name, pred_trace, note, trace),
            {key: float(evidence.score(key)) for key in evidence},
            evidence=evidence,
            errors=errors,
            passed=target_met(value, self.pass_mark),
            failure=str(failed(pred) or ""),
        )

    def __repr__(self) -> str:
        return f"Metric({{{', '.join(f'{m!r}: {self.weights[k]:g}' for k, m in self.measures.items())}}})"


_NAMES_LOCK = threading.Lock()
RETURNS = "a metric returns a number, a bool, a dspy.Prediction with a score, a tally, or a dict of those"


class FunctionMetric(Metric):
    """A function as a metric (`Metric.of`). Its names are those of its first example, or of the run that is resumed.

    What the function itself raises is raised where DSPy calls it: only its author knows whose fault that is.

    Args:
        function: Takes (gold, prediction) and as many of DSPy's other arguments as it names.
        measure: What its value is called, and in which direction it is better.
        pass_mark: The least score of an example that bootstrapping may learn from.
        targets: The value wanted, by name.
        feedback_from: The folder of a review with notes.
    """

    raises = True
    types: Mapping[str, TypeAdapter[Any]] = {}

    def __init__(
        self,
        function: Callable[..., object],
        measure: Returned,
        pass_mark: float,
        targets: Mapping[str, float] | None,
        feedback_from: Path | str | None = None,
    ) -> None:
        if not callable(function) or isinstance(function, (Measure, type)):
            hint = f"; write Metric({function!r})" if isinstance(function, Measure) else ""
            hint = f"; write metric = {function.__name__}()" if isinstance(function, type) else hint
            raise GoldassayError(f"a metric is a Metric or a function of (gold, prediction), not {function!r}{hint}")
        super().__init__(measure, pass_mark=pass_mark, feedback_from=feedback_from)
        self.function = function
        self.main = measure.key
        self.targets = dict(targets or {})
        self.extra = [None] * extra_arguments(function)
        self.reads = fields_read(function)
        self.alone = ""  # the name of the one value in a dict
        self.has_fixed_names = _return_type(function) in (bool, float, int)

    def declare(self, outputs: Mapping[str, Any]) -> None:
        """Measure stored answers as the program returned them, by the declarations of its outputs."""
        with suppress(PydanticUserError):  # a type without a form in JSON
            self.types = {name: TypeAdapter(field.annotation) for name, field in outputs.items()}

    def fix_names(self, measures: Mapping[str, Measure], weights: Mapping[str, float]) -> None:
        """Measure these names from now on; a name that comes later is an error. Only the first call has an effect."""
        with _NAMES_LOCK:  # `dspy.Evaluate` measures the first examples at the same time
            if not self.has_fixed_names:
                self.measures = dict(measures)
                self.weights = dict(weights)
                self.has_fixed_names = True

    def record_notes(self, gold: Iterable[object], pred: Sequence[object]) -> list[str]:
        """A warning for each side on which no example has a field that the function asks for: `get` gives None then."""
        notes = []
        for side, (noun, records) in enumerate((("gold example", gold), ("prediction", pred))):
            absent = fields_read(self.function, side, optional=True)
            fields: dict[str, None] = {}
            for record in records:
                fields |= dict.fromkeys(names(record))
                absent -= fields.keys()
                if not absent:
                    break
            if absent and fields:
                listed = ", ".join(sorted(absent))
                notes.append(f"the metric asks for {listed}, which no {noun} has; there are {', '.join(fields)}")
        return notes

    def check_names(self, names: Iterable[str], known: Iterable[str] = ()) -> None:
        """Check that the values of an example have the names of the first one, which are ``known`` if they are given.

        Raises:
            MetricError: There is another name.
        """
        known = [*(known or self.measures)]
        if unknown := [name for name in names if name not in known]:
            raise MetricError(
                f"the metric returned {', '.join(unknown)}, which its first example did not have "
                f"({', '.join(known)}); return the same names for every example"
            )

    def assess(self, gold: object, pred: object) -> Assessments:
        """The evidence of one pair; a program that failed has the worst value of everything.

        Raises:
            MetricError: The function returned what is not a number, tally or dict of these.
        """
        if failed(pred):
            return {
                key: Assessment(Mean.of(measure.worst or 0.0) if isinstance(measure.zero, Mean) else measure.zero)
                for key, measure in self.measures.items()
            }
        example = dspy.Example(gold) if type(gold) is dict else gold  # a function reads gold.label, as DSPy calls it
        prediction = pred
        if type(pred) is dict:
            prediction = ObjectPrediction(pred)
            for name in self.types.keys() & pred.keys():
                with suppress(ValidationError):
                    prediction[name] = self.types[name].validate_python(pred[name])
        # what the program returned comes first, as DSPy hands it over
        forms = [prediction]
        if "output" not in self.reads and {*names(prediction)} - {"id"} == {"output"}:
            forms = [read(prediction, "output"), prediction]
        elif isinstance(prediction, ObjectPrediction) and not isinstance(prediction._returned, (Mapping, NoneType)):
            forms = [prediction._returned, prediction]
        try:
            value = self._call(example, forms[0], StoredObject)
        except (AttributeError, TypeError, LookupError) as error:
            # what is stored has no objects, which its program and `dspy.Evaluate` hand over
            others = [(form, StoredObject) for form in forms[1:]]
            if any(type(read(side, name)) in (dict, list) for side in (example, prediction) for name in names(side)):
                others.append((prediction, StoredFields))
            for form, stored in others:
                with suppress(AttributeError, TypeError, LookupError):
                    value = self._call(example, form, stored)
                    break
            else:
                raise error from None
        try:
            return self._assessments(value, gold, pred)
        except MetricError as error:
            code = getattr(inspect.unwrap(self.function), "__code__", None)
            file = f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code else repr(self)
            name = read(gold, "id", None)
            raise MetricError(f"{file}: {error}" if name is None else f"{file}, on record {name}: {error}") from None

    def _call(self, gold: object, pred: object, stored: type[StoredObject]) -> object:
        """What the function returns for copies of both, so that what it changes in them spoils nothing."""
        return self.function(_copy(gold, stored), _copy(pred, stored), *self.extra)

    def _assessments(self, value: Any, gold: object, pred: object) -> Assessments:
        """The evidence in what the function returned."""
        text = ""
        if isinstance(value, Score):
            # of a function that calls a `Metric`: its values and weights become this one's
            evidence = value.evidence
            first = next(iter(evidence), "")
            measures = {name: self._returned(name, item, evidence.worst) for name, item in evidence.items()}
            self.fix_names(measures, evidence.weights)
            self.check_names(evidence)
            return {name: Assessment(item, value.errors if name == first else ()) for name, item in evidence.items()}
        if isinstance(value, dspy.Prediction):
            text = str(value.get("feedback") or "")
            value = value.get("score")
        values = {self.main: value}
        if isinstance(value, Mapping):
            text = str(value.get("feedback") or "")
            parts = {}
            for key, entry in value.items():
                if key != "feedback":
                    parts[str(key)] = entry if isinstance(entry, Tally) else _number(entry)
            many = len(parts) > 1 or len(self.measures) > 1
            if parts and not many:
                self.alone = self.alone or next(iter(parts))
                self.check_names(parts, [self.alone])
            main = parts.pop(self.main) if self.main in parts else _overall([*parts.values()] or [_number(value)])
            values = {self.main: main} | (parts if many else {})
        if not self.has_fixed_names:
            worst = dict.fromkeys(values) if self.measures[self.main].lower_is_better else {}
            named = {key: self._returned(key, value, worst) for key, value in values.items() if key != self.main}
            self.fix_names({**self.measures, **named}, {**self.weights, **dict.fromkeys(named, 0.0)})
        self.check_names(values)
        tallies: dict[str, Tally] = {}
        for key, entry in values.items():
            tallies[key] = entry if isinstance(entry, Tally) else Mean.of(_number(entry))
            if isinstance(entry, Tally) and type(entry) is not type(self.measures[key].zero):
                kind = type(entry).__name__
                of_dict = f", or -> dict[str, {kind}] for a dict of them" if len(self.measures) == 1 else ""
                raise MetricError(f"the metric returned {kind}; say so: def metric(gold, pred) -> {kind}{of_dict}")
        score = float(Evidence(tallies, self.weights, worst_values(self.measures)).value)
        errors = () if target_met(score, self.pass_mark) else differences(gold, pred, text, score, self.reads)
        reported = Assessment(tallies[self.main], errors, (text,) if text and not errors else ())
        return {key: Assessment(entry) for key, entry in tallies.items()} | {self.main: reported}

    @staticmethod
    def _returned(key: str, value: Tally | float, worst: Mapping[str, float | None]) -> Returned:
        """The measure of a value that was returned under this name."""
        kind = type(value).__name__ if isinstance(value, Tally) else "Mean"
        return Returned(key, kind, lower_is_better=key in worst, most=worst.get(key))

    def __repr__(self) -> str:
        return f"Metric.of({getattr(self.function, '__name__', self.function)!s})"


AnyMetric: TypeAlias = Metric | Callable[..., Any]  # what may stand for a metric: see `Metric.of`


class StoredObject(dict[str, object]):
    """A dict or an object that was stored as JSON: it has its fields as attributes, too, and equals such an object.

    >>> from dataclasses import make_dataclass
    >>> stored = StoredObject({"name": "Ann"})
    >>> stored.name, stored == {"name": "Ann"}, stored == make_dataclass("Person", ["name"])("Ann")
    ('Ann', True, True)
    """

    def __getattr__(self, name: str) -> object:
        if name in self:
            return self[name]
        raise AttributeError(f"'dict' object has no attribute {name!r}")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dict) or not hasattr(other, "__dict__"):
            return super().__eq__(other)
        if isinstance(other, BaseModel):
            with suppress(ValidationError):
                return type(other).model_validate(self) == other
        stored: object = json.loads(dumps(other))
        return super().__eq__(stored)

    def model_dump(self, **_: object) -> StoredObject:
        """Itself, as metrics of pydantic models ask for their fields."""
        return self

    __hash__ = None  # type: ignore[assignment]


class StoredFields(StoredObject):
    """The same where a field has the name of a method of dicts: ``items`` are the invoice's."""

    def __getattribute__(self, name: str) -> object:
        return self[name] if name in self else super().__getattribute__(name)


def _copy(record: object, stored: type[StoredObject]) -> object:
    """A copy of a record in which dicts are stored objects; what cannot be copied, such as an open file, as it is."""
    if isinstance(record, dspy.Example) and type(record) in (dspy.Example, dspy.Prediction):
        has_more = isinstance(record, dspy.Prediction) and (record.completions or record.get_lm_usage())
        if not has_more and {*map(type, record.values())} <= PLAIN:  # a third of the time of a deep copy
            return record.copy()
    try:
        copy = deepcopy(record)
    except Exception:  # noqa: BLE001
        return record
    if not isinstance(copy, dspy.Example):
        return _objects(copy, stored)
    for name, value in copy.items():
        copy[name] = _objects(value, stored)
    return copy


def _objects(value: object, stored: type[StoredObject]) -> object:
    """A value in which dicts are stored objects."""
    if type(value) is list:
        return [_objects(item, stored) for item in value]
    return stored({key: _objects(item, stored) for key, item in value.items()}) if type(value) is dict else value


def _number(value: Any) -> float:
    try:
        number = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        returned = "a coroutine, since it is async" if inspect.iscoroutine(value) else repr(value)
        raise MetricError(f"the metric returned {returned}; {RETURNS}")
    return number


def as_metric(metric: AnyMetric) -> Metric:
    """A metric as it is, and any other function of gold and prediction as one (`Metric.of`).

    >>> as_metric(lambda gold, pred: gold == pred).zero.weighted
    ['score']
    """
    return metric if isinstance(metric, Metric) else Metric.of(metric)


def _overall(parts: Sequence[Tally | float]) -> Tally | float:
    """The value of a dict without one of its own: the sum of evidence of one kind, else the mean."""
    if isinstance(parts[0], Counts) and all(type(value) is type(parts[0]) for value in parts):
        return sum(parts[1:], parts[0])
    return sum(float(value.value) if isinstance(value, Tally) else value for value in parts) / len(parts)


def _return_type(function: Callable[..., object]) -> object:
    """The return annotation; None without one that can be read."""
    try:
        return typing.get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):
        return None


def extra_arguments(function: Callable[..., object]) -> int:
    """How many of DSPy's further arguments a metric takes besides gold and prediction.

    One that takes any number gets those two alone, as `Metric.of` calls it. A parameter with a default other than None
    is the metric's own, as ``frac=1.0`` of DSPy's ``answer_exact_match``.

    >>> extra_arguments(lambda gold, pred, trace=None: 1.0), extra_arguments(lambda *arguments: 1.0)
    (1, 0)
    >>> extra_arguments(dspy.evaluate.answer_exact_match)
    1
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return 0
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return 0
    count = 0
    for parameter in parameters[2:6]:
        is_positional = parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if not is_positional or not (parameter.default is None or parameter.default is inspect.Parameter.empty):
            break
        count += 1
    return count

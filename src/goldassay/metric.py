"""Weighted measures, targets and a pass mark: the callable that DSPy gets; and any function as a metric."""

from __future__ import annotations

import inspect
import math
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeAlias

import dspy

from goldassay import feedback as words
from goldassay import tally
from goldassay._dspy_compat import DSPY_ERRORS
from goldassay.exceptions import (
    GoldassayError,
    MetricError,
    MissingExtra,
    ModelError,
    StorageError,
    said,
    shown,
)
from goldassay.fields import Columns, sides
from goldassay.measure import FAILURE, Assessment, Measure, Returned, failed, target_met
from goldassay.score import Evidence, Score
from goldassay.scorecard import Batches
from goldassay.tally import Mean, Tally


def failed_with(why: str) -> dspy.Prediction:
    """The prediction of a program that failed: no field but why."""
    return dspy.Prediction(**{FAILURE: why})


class Metric:
    """Measures with weights, as a DSPy metric.

    ``measures`` is one measure, several, or a mapping from measures to weights. ``score`` of an example is the weighted
    mean of the measures' values; the corpus value is the same mean of the measures' corpus values. ``targets`` maps a
    measure's name to the value wanted (see `met`), ``state_of_the_art`` to what the best reach. ``pass_mark`` is the
    least score of an example that bootstrapping may learn from. ``columns`` renames fields (see `goldassay.fields`).

    Args:
        feedback_limit: The most characters of a feedback.

    >>> from goldassay.measures import extraction
    >>> metric = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})
    >>> gold = {"text": "Het Rijksmuseum", "entities": [{"start": 4, "end": 15, "type": "MUS"}]}
    >>> score = metric(gold, {"entities": [{"start": 0, "end": 15, "type": "MUS"}]})
    >>> score.score, bool(score), score.objective_scores
    (0.3, False, {'strict_f1': 0.0, 'partial_f1': 1.0})
    """

    raises: ClassVar[bool] = False
    """Whether a call raises where a prediction cannot be measured (`measured`)."""

    def __init__(
        self,
        measures: Mapping[Measure[Any], float] | Iterable[Measure[Any]] | Measure[Any],
        *,
        targets: Mapping[str, float] | None = None,
        state_of_the_art: Mapping[str, float] | None = None,
        pass_mark: float = 1.0,
        columns: Columns | None = None,
        feedback_limit: int = 1500,
    ) -> None:
        if isinstance(measures, Measure):
            measures = [measures]
        weights = dict(measures) if isinstance(measures, Mapping) else dict.fromkeys(measures, 1.0)
        if not weights or any(weight < 0 for weight in weights.values()) or sum(weights.values()) <= 0:
            raise GoldassayError("a metric needs measures whose weights are not negative and do not add to 0")
        self.measures: dict[str, Measure[Any]] = {}
        for measure in weights:
            if measure.key in self.measures:
                raise GoldassayError(f"two measures of this metric are called {measure.key!r}")
            self.measures[measure.key] = measure
        self.weights = {measure.key: float(weight) for measure, weight in weights.items()}
        self.targets = dict(targets or {})
        self.state_of_the_art = dict(state_of_the_art or {})
        for key in [*self.targets, *self.state_of_the_art]:
            if key not in self.measures:
                raise GoldassayError(f"a target for {key!r}, which is not among {', '.join(self.measures)}")
        self.pass_mark = pass_mark
        self.columns = dict(columns or {})
        self.feedback_limit = feedback_limit

    @staticmethod
    def of(
        function: Callable[..., Any],
        *,
        name: str = "",
        pass_mark: float = 1.0,
        targets: Mapping[str, float] | None = None,
    ) -> FunctionMetric:
        """Any function of (gold, prediction) as a metric, with intervals and paired tests.

        It may return a number, a bool, a dict of either (each a value of its own; ``score`` is what counts, or their
        mean), a ``dspy.Prediction(score=…, feedback=…)``, or evidence that adds up: a function that is annotated
        ``-> Counts`` gives a true corpus F1. A number is reported as its mean over the examples. ``name`` is what the
        value is called (``score``).

        >>> import dspy
        >>> exact = Metric.of(lambda gold, pred: gold["label"] == pred["label"])
        >>> score = exact({"label": "M"}, {"label": "L"})
        >>> score.score, score.feedback.splitlines()[-1]
        (0.0, "- label: 'M' was asked for, not 'L'.")
        >>> Metric.of(lambda gold, pred: {"right": True, "short": 0.5})({}, {"label": "M"}).objective_scores
        {'score': 0.75, 'right': 1.0, 'short': 0.5}
        """
        return FunctionMetric(function, name=name, pass_mark=pass_mark, targets=targets)

    @property
    def zero(self) -> Evidence:
        """No evidence yet, with the weights; its ``from_state`` reads stored rows back."""
        return Evidence({key: measure.zero for key, measure in self.measures.items()}, self.weights)

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

    def assess(self, gold: object, pred: object) -> dict[str, Assessment[Any]]:
        """Each measure's assessment of one pair."""
        gold, pred = sides(self.columns, gold, pred)
        batches = Batches([gold], [pred])
        return {
            key: measure(gold, pred, None if type(measure).assess is not Measure.assess else batches.of(measure))
            for key, measure in self.measures.items()
        }

    def measured(self, gold: object, pred: object) -> tuple[dict[str, Assessment[Any]], str]:
        """Each measure's assessment, and why the prediction could not be measured, if so: its gold counts as missed.

        What the prediction is not to blame for (gold that is wrong, a model that does not answer, a missing extra) is
        raised.

        >>> from goldassay.measures import extraction
        >>> gold = {"text": "in 1885", "entities": [(3, 7, "TMP")]}
        >>> found, why = Metric(extraction.SpanF1()).measured(gold, {"entities": [1885]})
        >>> found["strict_f1"].tally, why.rpartition("; ")[2]
        (Counts(tp=0, fp=0, fn=1), "found {'entities': [1885]}")
        """
        try:
            return self.assess(gold, pred), ""
        except (MetricError, ModelError, MissingExtra, StorageError, *DSPY_ERRORS):
            raise
        except Exception as error:
            if failed(pred):
                raise
            why = (
                " ".join(str(error).split())
                if isinstance(error, GoldassayError)
                else f"the metric raised {said(error)}"
            )
            found = f"{why}; found {shown(dict(pred.items()) if isinstance(pred, dspy.Prediction) else pred, 200)}"
            try:
                return self.assess(gold, failed_with(found)), found
            except Exception:  # noqa: BLE001  it is not the prediction that is wrong: the first error says more
                raise error from None

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

        One that cannot be measured (it lacks a field, or holds what no measure can read) is a failed example: its gold
        counts as missed, and a warning says what was found.

        Args:
            gold: The gold example.
            pred: The prediction.
            trace: As optimizers hand it over; the score is the same with it.
            pred_name: The predictor that feedback is for.
            pred_trace: Its calls.
            program_trace: The whole program's calls.
        """
        assessed, unmeasured = (self.assess(gold, pred), "") if self.raises else self.measured(gold, pred)
        if unmeasured:
            warnings.warn(f"an example whose gold counts as missed: {unmeasured}", stacklevel=2)
            pred = failed_with(unmeasured)
        evidence = Evidence({key: found.tally for key, found in assessed.items()}, self.weights)
        value = float(evidence.value)
        errors = tuple(dict.fromkeys(error for found in assessed.values() for error in found.errors))
        return Score(
            value,
            words.feedback(gold, pred, assessed, value, pred_name, pred_trace, self.feedback_limit),
            {key: float(found.tally.value) for key, found in assessed.items()},
            evidence=evidence,
            errors=errors,
            passed=target_met(value, self.pass_mark),
            failure=str(failed(pred) or ""),
        )

    def __repr__(self) -> str:
        return f"Metric({{{', '.join(f'{m!r}: {self.weights[k]:g}' for k, m in self.measures.items())}}})"


class FunctionMetric(Metric):
    """A function as a metric (`Metric.of`). The values of a dict become measures when they are first returned.

    What the function itself raises is raised where DSPy calls it: only its author knows whose fault that is.
    """

    raises: ClassVar[bool] = True

    def __init__(
        self, function: Callable[..., Any], *, name: str = "", pass_mark: float, targets: Mapping[str, float] | None
    ) -> None:
        if not callable(function):
            raise GoldassayError(f"a metric is a Metric or a function of (gold, prediction), not {function!r}")
        self.function, self.main = function, name or "score"
        super().__init__(Returned(self.main, _returned(function)), pass_mark=pass_mark)
        self.targets = dict(targets or {})
        self.wants = _positional(function)

    def assess(self, gold: object, pred: object) -> dict[str, Assessment[Any]]:
        """The evidence of one pair; a program that failed has 0 of everything."""
        if failed(pred):
            return {key: Assessment(_none(measure.zero)) for key, measure in self.measures.items()}
        given = (gold, pred, None, None, None, None)[: self.wants]
        found, said = self.function(*given), ""
        if isinstance(found, dspy.Prediction) and not isinstance(found, Score):
            found, said = _score(found), str(getattr(found, "feedback", None) or "")
        if isinstance(found, Score):
            return self._scored(found)
        values = {self.main: found}
        if isinstance(found, Mapping):
            numbers = {str(key): self._number(value) for key, value in found.items() if key != "feedback"}
            if not numbers:
                raise MetricError("the metric returned an empty dict; a metric returns a number, or numbers by name")
            said = str(found.get("feedback") or "")
            numbers = {self.main: next(iter(numbers.values()))} if len(numbers) == 1 else numbers  # it is the score
            values = {self.main: numbers.pop(self.main, None), **numbers}
            if values[self.main] is None:
                values[self.main] = sum(numbers.values()) / len(numbers)
        out = {key: Assessment(self._tally(key, value)) for key, value in values.items()}
        value = float(out[self.main].tally.value)
        if not target_met(value, self.pass_mark):
            out[self.main] = Assessment(out[self.main].tally, words.differences(gold, pred, said, value))
        elif said:
            out[self.main] = Assessment(out[self.main].tally, (), (said,))
        return out

    def _scored(self, found: Score) -> dict[str, Assessment[Any]]:
        """What a function returned that calls a `Metric` of measures: its values and weights are this one's."""
        evidence, first = found.evidence, next(iter(found.evidence), "")
        if set(evidence) != set(self.measures):
            self.measures = {key: Returned(key, type(one).__name__) for key, one in evidence.items()}
            self.weights = dict(evidence.weights)
        return {key: Assessment(one, found.errors if key == first else ()) for key, one in evidence.items()}

    def _tally(self, key: str, value: Any) -> Any:
        zero = self.measures[self.main].zero if key == self.main else Mean()
        if not isinstance(value, (float, int)) and isinstance(value, Tally):  # a protocol, which is slow to ask for
            if type(value) is not type(zero):
                kind = type(value).__name__
                raise MetricError(f"the metric returned {kind}; say so: def metric(gold, pred) -> {kind}")
            return value
        self._known(key, "Mean")
        return Mean.of(self._number(value))

    def _known(self, key: str, kind: str) -> None:
        if key not in self.measures:
            self.weights = {**self.weights, key: 0.0}
            self.measures = {**self.measures, key: Returned(key, kind)}

    def _number(self, value: Any) -> float:
        try:
            found = float(value)
            if not math.isfinite(found):
                raise ValueError
        except (TypeError, ValueError):
            raise MetricError(
                f"the metric returned {value!r}; a metric returns a number, a bool, a dict of those, a "
                "dspy.Prediction with a score, or a tally"
            ) from None
        return found

    def __repr__(self) -> str:
        return f"Metric.of({getattr(self.function, '__name__', self.function)!s})"


AnyMetric: TypeAlias = Metric | Callable[..., Any]  # what may stand for a metric: see `Metric.of`


def _score(found: Any) -> Any:
    """The score of a ``dspy.Prediction``, which has to have one."""
    if "score" not in found:
        raise MetricError(f"the metric returned a Prediction without a score; it has {', '.join(found.keys())}")
    return found["score"]


def _returned(function: Callable[..., Any]) -> str:
    """The tally that a function says it returns; a mean where it says nothing."""
    try:
        said = typing.get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):
        said = None
    name = getattr(said, "__name__", "")
    return name if getattr(tally, name, None) is said and hasattr(said, "from_state") else "Mean"


def _positional(function: Callable[..., Any]) -> int:
    """How many arguments a metric takes: gold and prediction, and as many of DSPy's others as it has."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    if any(one.kind is one.VAR_POSITIONAL for one in found):
        return 2
    return min(6, max(2, sum(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in found)))


def _none(zero: Any) -> Any:
    """What a failed example adds: a mean of 0; a function's tally is not known without a prediction."""
    return Mean(0.0, 1.0) if isinstance(zero, Mean) else zero

"""Weighted measures, targets and a pass mark: the callable that DSPy gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from goldassay import feedback as words
from goldassay.exceptions import GoldassayError
from goldassay.fields import Columns, sides
from goldassay.measure import Assessment, Measure
from goldassay.score import Evidence, Score


class Metric:
    """Measures with weights, as a DSPy metric.

    ``measures`` is one measure, several, or a mapping from measures to weights. ``score`` of an example is the weighted
    mean of the measures' values; the corpus value is the same mean of the measures' corpus values. ``targets`` maps a
    measure's name to the value wanted (see `met`), ``state_of_the_art`` to what the best reach. ``pass_mark`` is the
    least score of an example that bootstrapping may learn from. ``columns`` renames fields (see `goldassay.fields`).

    >>> from goldassay.measures import extraction
    >>> metric = Metric({extraction.StrictF1(): 0.7, extraction.PartialF1(): 0.3})
    >>> gold = {"text": "Het Rijksmuseum", "entities": [{"start": 4, "end": 15, "type": "MUS"}]}
    >>> score = metric(gold, {"entities": [{"start": 0, "end": 15, "type": "MUS"}]})
    >>> score.score, bool(score), score.objective_scores
    (0.3, False, {'strict_f1': 0.0, 'partial_f1': 1.0})
    """

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

    @property
    def zero(self) -> Evidence:
        """No evidence yet, with the weights; its ``from_state`` reads stored rows back."""
        return Evidence({key: measure.zero for key, measure in self.measures.items()}, self.weights)

    @property
    def conventions(self) -> dict[str, str]:
        """Each measure's name with its conventions."""
        return {key: measure.conventions for key, measure in self.measures.items()}

    def met(self, values: Mapping[str, float]) -> dict[str, bool]:
        """Which targets are reached."""
        return {key: values[key] >= target for key, target in self.targets.items() if key in values}

    def assess(self, gold: Any, pred: Any) -> dict[str, Assessment[Any]]:
        """Each measure's assessment of one pair."""
        gold, pred = sides(self.columns, gold, pred)
        return {key: measure(gold, pred) for key, measure in self.measures.items()}

    def __call__(
        self,
        gold: Any,
        pred: Any,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Any = None,
        program_trace: Any = None,
    ) -> Score:
        assessed = self.assess(gold, pred)
        evidence = Evidence({key: found.tally for key, found in assessed.items()}, self.weights)
        value = float(evidence.value)
        errors = tuple(dict.fromkeys(error for found in assessed.values() for error in found.errors))
        return Score(
            value,
            words.feedback(gold, pred, assessed, value, pred_name, pred_trace, self.feedback_limit),
            {key: float(found.tally.value) for key, found in assessed.items()},
            evidence=evidence,
            errors=errors,
            passed=value >= self.pass_mark - 1e-12,
        )

    def __repr__(self) -> str:
        return f"Metric({{{', '.join(f'{m!r}: {self.weights[k]:g}' for k, m in self.measures.items())}}})"

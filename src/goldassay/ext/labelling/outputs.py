"""Whether two predictions are the same output: no measure that is asked about tells them apart, whatever gold says.

Each prediction has a canonical form, a text (`goldassay.gold.outputs`); two agree if these are equal. It leaves out the
spelling of an answer only where the measure that is asked about does (SQuAD's normalisation).

What comes with the output (confidence, probabilities, contexts, citations) is compared only for measures that read it.

>>> spans = [{"start": 0, "end": 2, "type": "TOP"}, {"start": 5, "end": 9, "type": "TMP"}]
>>> OutputComparison("extraction").agree({"entities": spans}, {"entities": spans[::-1]})
True
>>> answers = {"answer": "the Louvre"}, {"answer": "Louvre."}
>>> OutputComparison("answering").agree(*answers), OutputComparison("answering", "exact_match").agree(*answers)
(False, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from goldassay._support.exceptions import GoldassayError
from goldassay._support.files import resource
from goldassay.core.fields import Fields
from goldassay.core.measure import TASKS, Measure, parse, registered
from goldassay.core.shape import UNKNOWN_SHAPE, ProgramShape
from goldassay.core.tally import Counts, Mean
from goldassay.gold.outputs import as_text, canonical_output
from goldassay.gold.records import empty_prediction
from goldassay.measures.retrieval.scorecard import named
from goldassay.measures.trajectories.records import trajectory
from goldassay.statistics.design import Design
from goldassay.text import normal

OUTPUTS: dict[str, Fields] = resource("outputs.json", "goldassay.ext.labelling")
"""Of each task what differs: the ``headline``, the measure that a draft is for if none is named; what is the ``same``
where outputs agree; gold without any item (``without_gold``), where measures count items; and the ``measures`` that
read nothing but the output, where others read more."""


def measure_named(task: str, name: str) -> Measure:
    """The measure of a built-in task with this key, or that reads as this text.

    Raises:
        GoldassayError: There is none.

    >>> measure_named("retrieval", "P@3").key, measure_named("extraction", "SpanF1('partial')").key
    ('P@3', 'partial_f1')
    """
    if task not in TASKS:
        raise GoldassayError(f"{task} is a task of your own, whose metric measures it; name no measure")
    measures = {measure.key: measure for measure in reversed(registered(task))}
    if name in measures:
        measure: Measure = measures[name]
        return measure
    if task == "retrieval":
        return named(name)
    if "(" in name:
        return parse(f"{task}.{name}")
    raise GoldassayError(f"{task} has no measure {name!r}; there are {', '.join(measures)}")


@dataclass(frozen=True)
class OutputComparison:
    """How the outputs of a task are compared.

    Args:
        task: The task.
        measure: The name of the measure that is asked about; without one, all that read the output alone.
        shape: The fields of the program of a task of your own, whose scored fields are the output.
    """

    task: str
    measure: str | None = None
    shape: ProgramShape = UNKNOWN_SHAPE

    @cached_property
    def asked(self) -> Measure | None:
        """The measure that is asked about."""
        return None if self.measure is None else measure_named(self.task, self.measure)

    @property
    def reads_output_alone(self) -> bool:
        """Whether what comes with the output (its confidence, say) makes no difference."""
        if self.task not in TASKS:
            return False
        name = type(self.asked).__name__
        return self.asked is None or name in OUTPUTS[self.task].get("measures", (name,))

    @cached_property
    def _normalise(self) -> Callable[[str], str]:
        """The normalization of an answer before the measure reads it."""
        measure: Any = self.asked
        if self.task != "answering" or type(measure).__name__ not in ("ExactMatch", "F1") or measure.empty != "skip":
            return str
        rules: dict[str, Callable[[str], str]] = {"squad": normal.squad}
        rules["unicode"] = partial(normal.unicode, articles=measure.articles)
        return rules.get(measure.normalisation, str)

    @property
    def words(self) -> str:
        """The definition of agreement."""
        if self.task not in TASKS:
            scored = ", ".join(self.shape.scored(self.shape.outputs))
            return f"the same {scored}" if scored else "the same value in every field but working notes"
        if not self.reads_output_alone:
            return f"the same prediction in every field, since {self.measure} reads more than the output"
        if self._normalise is not str:
            return f"the same answer as {self.measure} normalises it"
        return str(OUTPUTS[self.task]["same"])

    def canonical(self, prediction: Mapping[str, object] | None) -> str:
        """The text that is the same for predictions that agree; None is the prediction of a program that failed."""
        if prediction is None:
            return "null"
        if self.reads_output_alone:
            return canonical_output(prediction, self.task, self._normalise)
        if self.task not in TASKS:
            return canonical_output(prediction, self.task, shape=self.shape)
        if self.task == "trajectories":  # which take other times
            return as_text([canonical_output(prediction, self.task), trajectory(prediction).steps])
        extras = ("id", "meta", "trajectory")
        return as_text({name: value for name, value in prediction.items() if name not in extras})

    def agree(self, first: Mapping[str, object] | None, second: Mapping[str, object] | None) -> bool:
        """Whether two predictions are the same output."""
        return self.canonical(first) == self.canonical(second)

    def headline(self, predictions: Iterable[Mapping[str, object]]) -> Measure | None:
        """The measure that is asked about, or that of the task for such predictions; None of a task of your own."""
        if self.asked is not None or self.task not in TASKS:
            return self.asked
        first = next(iter(predictions), {})
        if self.task == "classification" and first.get("label") is None:
            return measure_named(self.task, "set_micro_f1" if first.get("labels") is not None else "mae")
        return measure_named(self.task, OUTPUTS[self.task]["headline"])


def drafted_shape(design: Design) -> ProgramShape:
    """The fields by which a draft compared the answers of a task of your own."""
    fields = design.first.scored or ()
    return ProgramShape(outputs=fields, measured=fields)


def of_corpus(measure: Measure | None) -> bool:
    """Whether a value has denominators that depend on gold, so that what agrees counts too.

    >>> of_corpus(measure_named("extraction", "strict_f1")), of_corpus(measure_named("answering", "f1"))
    (True, False)
    """
    if measure is None:
        return False
    return type(measure.zero) is not Mean or measure.task in ("linking", "triples")


def predicted(
    measure: Measure | None, inputs: Sequence[Mapping[str, object]], predictions: Sequence[Mapping[str, object] | None]
) -> list[int]:
    """How many items each prediction has as the measure counts them: its false positives against gold without any.

    Empty if the measure counts no items.

    >>> predictions = [{"entities": [{"start": 0, "end": 2, "type": "TOP"}]}, None]
    >>> predicted(measure_named("extraction", "strict_f1"), [{"id": "a", "text": "Ur"}, {"id": "b", "text": "?"}],
    ...     predictions)
    [1, 0]
    """
    empty = OUTPUTS.get(measure.task, {}).get("without_gold") if measure else None
    if measure is None or not isinstance(measure.zero, Counts) or empty is None:
        return []
    gold = [{**record, **empty} for record in inputs]
    pairs = zip(gold, predictions, strict=True)
    pred = [prediction or empty_prediction(record["id"], measure.task) for record, prediction in pairs]
    tallies = measure.tallies(measure.batch(gold, pred))
    return [round(number) for number in np.asarray(tallies.fp).tolist()]

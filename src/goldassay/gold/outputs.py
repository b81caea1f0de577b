"""Whether two predictions are the same output: no measure that is asked about tells them apart, whatever gold says.

Each prediction has a canonical form, a text; two agree if these are equal. The form holds all that the measures of the
task read of the output, and leaves out its spelling only where the measure that is asked about does (SQuAD's
normalisation). So agreement may miss pairs that score the same, and never takes two for the same that do not.

What is beside the output (confidence, probabilities, contexts, citations) is compared only for a measure that reads it.

>>> spans = [{"start": 0, "end": 2, "type": "TOP"}, {"start": 5, "end": 9, "type": "TMP"}]
>>> Comparison("extraction").agree({"entities": spans}, {"entities": spans[::-1]})
True
>>> answers = {"answer": "the Louvre"}, {"answer": "Louvre."}
>>> Comparison("answering").agree(*answers), Comparison("answering", "exact_match").agree(*answers)
(False, True)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.gold.records import LABELS, empty_prediction
from goldassay.gold.shapes import Fields, Record
from goldassay.measure import TASKS, Measure, parse, registered
from goldassay.measures.extraction.records import Span, spans
from goldassay.measures.linking.records import sides as link_sides
from goldassay.measures.retrieval.records import scores
from goldassay.measures.triples.records import statements
from goldassay.tally import Counts, Mean
from goldassay.text import normal

OUTPUTS = {
    **LABELS,
    "classification": (*LABELS["classification"], "secondary_labels"),
    "retrieval": ("results",),
    "answering": ("answer",),
}
"""The fields of a prediction that are its output."""
NO_OUTPUT = ("id", "document", "text", "latency_ms", "error", "meta")
"""What a prediction of a built-in task has beside its answer and what belongs to it."""
REASONING = "reasoning"  # what dspy.ChainOfThought adds to the fields of a program
SAME = {
    "extraction": "the same spans with the same types",
    "classification": "the same labels",
    "linking": "the same mentions with the same candidates in the same order",
    "retrieval": "the same documents in the same order",
    "answering": "the same answer, letter for letter",
    "triples": "the same statements",
    "records": "the same record, value for value",
}
HEADLINES = {
    "extraction": "strict_f1",
    "classification": "accuracy",
    "linking": "link_f1",
    "retrieval": "nDCG@10",
    "answering": "exact_match",
    "triples": "f1",
    "records": "field_f1",
}
"""The measure that a draft is for if none is named."""
OF_OUTPUT = {
    "classification": (
        *("Accuracy", "LabelF1", "HierarchyGap", "Kappa", "MCC", "OrdinalError", "Cost"),
        *("SetF1", "SubsetAccuracy", "HammingLoss", "Correlation", "GradedError"),
    ),
    "answering": ("ExactMatch", "F1", "ROUGE", "BLEU", "ChrF", "SemanticSimilarity", "BERTScore"),
    "triples": (
        *("F1", "MacroF1", "PrecisionBound", "NovelDiscovery"),
        *("OntologyConformance", "RelationHallucination", "Hallucination"),
    ),
}
"""The measures that read nothing but the output, of tasks that also have others."""
WITHOUT_GOLD: dict[str, Fields] = {
    "extraction": {"entities": []},
    "classification": {"labels": []},
    "linking": {"links": []},
    "triples": {"triples": []},
    "records": {"record": {}},
}


def output_of(prediction: Record, task: str) -> Fields:
    """What a prediction answers, without its id, and of a built-in task without what belongs to the id.

    >>> output_of({"id": "a", "text": "Ur", "label": "M"}, "classification")
    {'label': 'M'}
    """
    left_out = NO_OUTPUT if task in TASKS else ("id",)
    return {name: value for name, value in prediction.items() if name not in left_out}


def measure_named(task: str, name: str) -> Measure:
    """The measure of a built-in task with this key, or that reads as this text.

    Raises:
        GoldassayError: There is none.

    >>> measure_named("retrieval", "P@3").key, measure_named("extraction", "SpanF1('partial')").key
    ('P@3', 'partial_f1')
    """
    if task not in TASKS:
        raise GoldassayError(f"{task} is a task of your own, whose metric measures it; name no measure")
    measures = {measure.key: measure for measure in reversed(registered(f"goldassay.measures.{task}"))}
    if name in measures:
        measure: Measure = measures[name]
        return measure
    if task == "retrieval":
        from goldassay.measures.retrieval.scorecard import named

        return named(name)
    if "(" in name:
        return parse(f"{task}.{name}")
    raise GoldassayError(f"{task} has no measure {name!r}; there are {', '.join(measures)}")


@dataclass(frozen=True)
class Comparison:
    """How the outputs of a task are compared.

    Args:
        task: The task; of one of your own all fields of a prediction are its output.
        measure: The name of the measure that is asked about; without one, all that read the output alone.
    """

    task: str
    measure: str | None = None

    @cached_property
    def asked(self) -> Measure | None:
        """The measure that is asked about."""
        return None if self.measure is None else measure_named(self.task, self.measure)

    @property
    def reads_output_alone(self) -> bool:
        """Whether what is beside the output (its confidence, say) makes no difference."""
        if self.task not in TASKS:
            return False
        name = type(self.asked).__name__
        return self.asked is None or name in OF_OUTPUT.get(self.task, (name,))

    @cached_property
    def _normalise(self) -> Callable[[str], str]:
        """What the measure does to an answer before it reads it."""
        rules: dict[str, Callable[[str], str]] = {"squad": normal.squad}
        measure: Any = self.asked
        if self.task == "answering" and type(measure).__name__ in ("ExactMatch", "F1") and measure.empty == "skip":
            rules["unicode"] = partial(normal.unicode, articles=measure.articles)
            return rules.get(measure.normalisation, str)
        return str

    @property
    def words(self) -> str:
        """What counts as agreement."""
        if self.task not in TASKS:
            return f"the same value in every field but {REASONING}"
        if not self.reads_output_alone:
            return f"the same prediction in every field, since {self.measure} reads more than the output"
        if self._normalise is not str:
            return f"the same answer as {self.measure} normalises it"
        return SAME[self.task]

    def canonical(self, prediction: Record | None) -> str:
        """The text that is the same for predictions that agree; None is the prediction of a program that failed."""
        if prediction is None:
            return "null"
        if self.reads_output_alone:
            return as_text(CANONICAL[self.task](prediction, self._normalise))
        beside = ("id", "meta" if self.task in TASKS else REASONING)
        return as_text({name: value for name, value in prediction.items() if name not in beside})

    def agree(self, first: Record | None, second: Record | None) -> bool:
        """Whether two predictions are the same output."""
        return self.canonical(first) == self.canonical(second)

    def headline(self, predictions: Iterable[Record]) -> Measure | None:
        """The measure that is asked about, or that of the task for such predictions; None of a task of your own."""
        if self.asked is not None or self.task not in TASKS:
            return self.asked
        first: Record = next(iter(predictions), {})
        if self.task == "classification" and first.get("label") is None:
            return measure_named(self.task, "set_micro_f1" if first.get("labels") is not None else "mae")
        return measure_named(self.task, HEADLINES[self.task])


def of_corpus(measure: Measure | None) -> bool:
    """Whether a value has denominators that depend on gold, so that what agrees counts too.

    >>> of_corpus(measure_named("extraction", "strict_f1")), of_corpus(measure_named("answering", "f1"))
    (True, False)
    """
    if measure is None:
        return False
    return type(measure.zero) is not Mean or measure.task in ("linking", "triples")


def predicted(measure: Measure | None, inputs: Sequence[Record], predictions: Sequence[Record | None]) -> list[int]:
    """How many items each prediction has as the measure counts them: its false positives against gold without any.

    Empty if the measure counts no items.

    >>> predictions = [{"entities": [{"start": 0, "end": 2, "type": "TOP"}]}, None]
    >>> predicted(measure_named("extraction", "strict_f1"), [{"id": "a", "text": "Ur"}, {"id": "b", "text": "?"}],
    ...     predictions)
    [1, 0]
    """
    if measure is None or not isinstance(measure.zero, Counts) or measure.task not in WITHOUT_GOLD:
        return []
    gold = [{**record, **WITHOUT_GOLD[measure.task]} for record in inputs]
    pairs = zip(gold, predictions, strict=True)
    pred = [prediction or empty_prediction(record["id"], measure.task) for record, prediction in pairs]
    tallies = measure.tallies(measure.batch(gold, pred))
    return [round(number) for number in np.asarray(tallies.fp).tolist()]


def as_text(value: object) -> str:
    """A value as JSON with its keys in order."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _entities(prediction: Record, normalise: Callable[[str], str]) -> list[Span]:
    """The spans in an order of their own; their words count only where they are not in the text."""
    return sorted(span if span.start < 0 else span._replace(text="") for span in spans(prediction["entities"]))


def _links(prediction: Record, normalise: Callable[[str], str]) -> list[object]:
    """The mentions with their candidates as measures merge and rank them."""
    document = link_sides([], prediction, typed=True)
    mentions = [mention if mention.start < 0 else mention._replace(text="") for mention in document.pred]
    return [mentions, document.repeated]


def _results(prediction: Record, normalise: Callable[[str], str]) -> list[tuple[str, int]]:
    """The documents in their order, each with the place of its score (in 32 bits) among the scores."""
    scored = scores(prediction)
    _, places = np.unique(-np.array([*scored.values()], np.float32), return_inverse=True)
    return sorted(zip(scored, places.tolist(), strict=True), key=itemgetter(1))


def _triples(prediction: Record, normalise: Callable[[str], str]) -> list[Fields]:
    """The statements in the order in which they compete for one of gold: the most confident first."""
    matching = statements({"triples": []}, prediction)
    beside = ("confidence", "meta")
    return [{name: row.triple[name] for name in row.triple if name not in beside} for row in matching.pred]


def _labels(prediction: Record, normalise: Callable[[str], str]) -> list[object]:
    label = str("" if prediction.get("label") is None else prediction["label"]).strip()
    sets = [
        sorted({str(each).strip() for each in prediction.get(name) or ()}) for name in ("secondary_labels", "labels")
    ]
    return [label, *sets, prediction.get("labels") is None, prediction.get("score")]


def _answer(prediction: Record, normalise: Callable[[str], str]) -> object:
    answer = prediction["answer"]
    return normalise(answer) if isinstance(answer, str) else answer


def _record(prediction: Record, normalise: Callable[[str], str]) -> object:
    """The record; a text that is JSON is what it holds."""
    record = prediction["record"]
    if not isinstance(record, str):
        return record
    try:
        return json.loads(record)
    except ValueError:
        return record


CANONICAL: dict[str, Callable[[Record, Callable[[str], str]], object]] = {
    "extraction": _entities,
    "classification": _labels,
    "linking": _links,
    "retrieval": _results,
    "answering": _answer,
    "triples": _triples,
    "records": _record,
}

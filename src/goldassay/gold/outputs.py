"""The output of a prediction, and the text that is the same for predictions with the same output.

That text holds all that the measures of the task read of the output. It leaves out the spelling of an answer only if
its caller normalises it. So equality may miss pairs that score the same, and never takes two for the same that do not.

>>> spans = [{"start": 0, "end": 2, "type": "TOP"}, {"start": 5, "end": 9, "type": "TMP"}]
>>> canonical_output({"entities": spans}, "extraction") == canonical_output({"entities": spans[::-1]}, "extraction")
True
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from operator import itemgetter

import numpy as np

from goldassay._support.jsonl import without_fence
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.core.measure import TASKS
from goldassay.core.shape import UNKNOWN_SHAPE, ProgramShape
from goldassay.gold.records import LABEL_FIELDS
from goldassay.measures.extraction.records import spans
from goldassay.measures.linking.records import sides as link_sides
from goldassay.measures.retrieval.records import scores
from goldassay.measures.trajectories.records import trajectory
from goldassay.measures.triples.records import statements

OUTPUT_FIELDS = {
    **LABEL_FIELDS,
    "classification": (*LABEL_FIELDS["classification"], "secondary_labels"),
    "retrieval": ("results",),
    "answering": ("answer",),
    "trajectories": ("trajectory", "calls", "messages", "finished", "answer", "state"),
}
"""The fields of a prediction that are its output."""
NO_OUTPUT = ("id", "document", "text", "latency_ms", "error", "meta")
"""The fields of a prediction of a built-in task besides its answer."""


def output_of(prediction: JsonObject, task: str) -> JsonObject:
    """The answer of a prediction, without its id, and of a built-in task without what belongs to the id.

    >>> output_of({"id": "a", "text": "Ur", "label": "M"}, "classification")
    {'label': 'M'}
    """
    left_out = NO_OUTPUT if task in TASKS else ("id",)
    return {name: value for name, value in prediction.items() if name not in left_out}


def canonical_output(
    prediction: Record, task: str, normalise: Callable[[str], str] = str, shape: ProgramShape = UNKNOWN_SHAPE
) -> str:
    """The text that is the same for predictions with the same output.

    Args:
        prediction: The prediction; of a task of your own its scored fields are its output.
        task: The task.
        normalise: What is done to an answer before it is compared.
        shape: The fields of the program of a task of your own.
    """
    if task not in TASKS:
        names = shape.scored([name for name in prediction if name != "id"])
        fields = as_text({name: prediction[name] for name in names})
        return as_text(json.loads(fields, parse_float=_number, object_hook=filled))
    if task == "extraction":  # words count only where they are not in the text
        return as_text(
            sorted(span if span.start < 0 else span._replace(text="") for span in spans(prediction["entities"]))
        )
    if task == "linking":  # the candidates as measures merge and rank them
        document = link_sides([], prediction, typed=True)
        mentions = [mention if mention.start < 0 else mention._replace(text="") for mention in document.pred]
        return as_text([mentions, document.repeated])
    if task == "retrieval":  # the documents in their order, each with the rank of its score (in 32 bits)
        scored = scores(prediction)
        _, ranks = np.unique(-np.array([*scored.values()], np.float32), return_inverse=True)
        return as_text(sorted(zip(scored, ranks.tolist(), strict=True), key=itemgetter(1)))
    if task == "triples":  # in the order in which they compete for one of gold: the most confident first
        triples = [row.triple for row in statements({"triples": []}, prediction).pred]
        extras = ("confidence", "meta")
        return as_text([{name: triple[name] for name in triple if name not in extras} for triple in triples])
    if task == "classification":
        label = str("" if prediction.get("label") is None else prediction["label"]).strip()
        sets = []
        for name in ("secondary_labels", "labels"):
            sets.append(sorted({str(item).strip() for item in prediction.get(name) or ()}))
        return as_text([label, *sets, prediction.get("labels") is None, prediction.get("score")])
    if task == "records":  # a text that is JSON is what it holds
        record = prediction["record"]
        with suppress(ValueError):
            record = json.loads(without_fence(record)) if isinstance(record, str) else record
        return as_text(record)
    answer = prediction.get("answer") if task == "trajectories" else prediction["answer"]
    answer = normalise(answer) if isinstance(answer, str) else answer
    if task == "answering":
        return as_text(answer)
    steps = trajectory(prediction)
    calls = as_text([[call.name, dict(call.args)] for call in steps.calls])
    return as_text([json.loads(calls, parse_float=_number), steps.finished, prediction.get("state"), answer])


def filled(fields: Fields) -> Fields:
    """An object without its empty fields: a form leaves out what a program answers with null or an empty list."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def _number(digits: str) -> int | str:
    """A number as JSON writes it, of which 3.0 is 3."""
    return int(float(digits)) if float(digits).is_integer() else digits


def as_text(value: object) -> str:
    """A value as JSON with its keys in order."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)

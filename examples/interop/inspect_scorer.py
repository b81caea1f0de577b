"""A goldassay metric as a scorer of Inspect: inspect eval examples/interop/inspect_scorer.py --model openai/gpt-4o-mini

Each sample has its own score; the metric ``corpus`` adds the evidence up, so that Inspect shows the true micro-F1.
"""

import json

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import SampleScore, Score, metric, scorer
from inspect_ai.solver import generate

from goldassay import Metric
from goldassay.measures import extraction

METRIC = Metric(extraction.SpanF1())
TEXTS = {"Het Rijksmuseum in Delft": [(4, 15, "MUS"), (19, 24, "TOP")], "Geen naam": [], "in 1784": [(3, 7, "TMP")]}


@metric
def corpus():
    def value(scores: list[SampleScore]):
        tallies = (METRIC.zero.from_state(each.score.metadata["tallies"]) for each in scores)
        return float(sum(tallies, METRIC.zero).value)

    return value


@scorer(metrics=[corpus()])
def strict_f1():
    async def score(state, target):
        try:
            entities = json.loads(state.output.completion)
        except ValueError:
            entities = None  # an answer that cannot be read: its gold counts as missed
        result = METRIC({"text": state.input_text, "entities": json.loads(target.text)}, {"entities": entities})
        tallies = {"tallies": result.evidence.state()}
        return Score(value=float(result), answer=str(entities), explanation=result.feedback, metadata=tallies)

    return score


@task
def entities(solver=None):
    samples = [Sample(id=text, input=text, target=json.dumps(spans)) for text, spans in TEXTS.items()]
    return Task(dataset=samples, solver=solver or generate(), scorer=strict_f1())

"""A goldassay metric as a scorer of mlflow.genai.evaluate. Run it: python examples/interop/mlflow_scorer.py

MLflow averages the scores of the examples. Each trace has the evidence, and ``corpus`` adds it up to the true F1.
"""

import json

import mlflow
from mlflow.entities import Feedback
from mlflow.genai.scorers import scorer

from goldassay import Metric
from goldassay.measures import extraction

METRIC = Metric(extraction.SpanF1())
TEXTS = {"Het Rijksmuseum in Delft": [(4, 15, "MUS"), (19, 24, "TOP")], "Geen naam": [], "in 1784": [(3, 7, "TMP")]}


@scorer
def strict_f1(inputs, outputs, expectations):
    result = METRIC({**inputs, **expectations}, outputs)
    tallies = {"tallies": json.dumps(result.evidence.state())}
    return Feedback(value=float(result), rationale=result.feedback, metadata=tallies)


def corpus(traces):
    feedback = [each for trace in traces for each in trace.info.assessments if each.name == strict_f1.name]
    tallies = (METRIC.zero.from_state(json.loads(each.metadata["tallies"])) for each in feedback)
    return float(sum(tallies, METRIC.zero).value)


def years(text):
    return {"entities": [(text.index(word), len(text), "TMP") for word in text.split() if word.isdigit()]}


if __name__ == "__main__":
    data = [{"inputs": {"text": text}, "expectations": {"entities": spans}} for text, spans in TEXTS.items()]
    result = mlflow.genai.evaluate(data=data, predict_fn=years, scorers=[strict_f1])
    traces = mlflow.search_traces(run_id=result.run_id, return_type="list")
    print(f"mean of the examples {result.metrics['strict_f1/mean']:.4f}, corpus F1 {corpus(traces):.4f}")

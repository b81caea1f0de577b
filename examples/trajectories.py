"""Trajectories: the calls of an agent, measured one by one. Run it: python examples/trajectories.py"""

import dspy

from goldassay import Metric, evaluate
from goldassay.measures import trajectories


class Hasty(dspy.Module):
    """Searches, and reads the first passage whatever it is."""

    def forward(self, question):
        search = {"name": "search", "args": {"query": question.rstrip("?")}, "output": [1, 2]}
        return dspy.Prediction(trajectory=[search, {"name": "read", "args": {"id": 1}}])


wanted = {"Where is the Night Watch?": 1, "Who painted it?": 2, "When was it painted?": 1}
gold = [
    dspy.Example(
        question=question,
        calls=[{"name": "search", "args": {"query": question.rstrip("?")}}, {"name": "read", "args": {"id": passage}}],
    ).with_inputs("question")
    for question, passage in wanted.items()
]
run = evaluate(Hasty(), gold, Metric(trajectories.CallF1()), progress=False)
interval = run.intervals["call_f1"]
print(f"F1 {run.values['call_f1']:.3f} [{interval.low:.3f}, {interval.high:.3f}] on {len(gold)} questions")
print("An error:", next(error.message for case in run.cases for error in case.errors))

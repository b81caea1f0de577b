"""Linking: names to ids of a knowledge base, or to none (NIL). Run it: python examples/linking.py"""

import dspy

from goldassay import Metric, evaluate
from goldassay.measures import linking

KNOWN = {"Paris": ["Q90", "Q830149"], "Delft": ["Q690"], "Louvre": ["Q19675"]}  # Q830149 is Paris in Texas


class Lookup(dspy.Module):
    """The ids of each name that the table has, the commonest first."""

    def forward(self, text):
        places = [(text.index(name), name, ids) for name, ids in KNOWN.items() if name in text]
        return dspy.Prediction(
            links=[{"start": at, "end": at + len(n), "text": n, "candidates": ids} for at, n, ids in places]
        )


def example(text, names):
    """A gold example; a name with the id "" is in no knowledge base."""
    places = [(text.index(n), n, {"wikidata": [i]} if i else {}) for n, i in names.items()]
    links = [{"start": at, "end": at + len(n), "text": n, "ids": ids} for at, n, ids in places]
    return dspy.Example(text=text, links=links).with_inputs("text")


gold = [
    example("The Louvre stands in Paris.", {"Louvre": "Q19675", "Paris": "Q90"}),
    example("From Dallas to Paris is an hour.", {"Dallas": "Q16557", "Paris": "Q830149"}),
    example("The mill of Jan stands in Delft.", {"The mill of Jan": "", "Delft": "Q690"}),
]
metric = Metric({linking.HitsAt(1): 1.0, linking.MRR(): 0.0})
run = evaluate(Lookup(), gold, metric, progress=False)
interval = run.intervals["hits@1"]
print(f"hits@1 {run.values['hits@1']:.3f} [{interval.low:.3f}, {interval.high:.3f}] on {len(gold)} texts")
print("An error:", next(error.message for case in run.cases for error in case.errors))

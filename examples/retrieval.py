"""Retrieval: passages for a query, best first, nDCG@10 and MRR. Run it: python examples/retrieval.py"""

import dspy

from goldassay import Metric, evaluate
from goldassay.measures import retrieval

PASSAGES = {
    "p1": "the oldest museum of the country opened in 1784",
    "p2": "the archive keeps letters and maps of the city",
    "p3": "a museum of maps and globes",
    "p4": "the library lends books and scores",
}


class Overlap(dspy.Module):
    """Passages by the number of words that they share with the query."""

    def forward(self, query):
        shared = {name: len(set(query.split()) & set(text.split())) for name, text in PASSAGES.items()}
        return dspy.Prediction(results=sorted((name for name in shared if shared[name]), key=lambda n: -shared[n]))


queries = {
    "oldest museum": {"p1": 2, "p3": 1},
    "maps of the city": {"p2": 2, "p3": 1},
    "where to borrow music": {"p4": 2},
}
gold = [dspy.Example(query=query, relevant=grades).with_inputs("query") for query, grades in queries.items()]
metric = Metric({retrieval.nDCG(10): 0.7, retrieval.RR(): 0.3})
run = evaluate(Overlap(), gold, metric, progress=False)
interval = run.intervals["nDCG@10"]
print(f"nDCG@10 {run.values['nDCG@10']:.3f} [{interval.low:.3f}, {interval.high:.3f}] on {len(gold)} queries")
print("An error:", next(error.message for case in run.cases for error in case.errors))

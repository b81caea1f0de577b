"""Extraction: names with their place and type, strict F1 over the whole set. Run it: python examples/extraction.py"""

import re

import dspy

from goldassay import Metric, evaluate
from goldassay.measures import extraction


class Patterns(dspy.Module):
    """Years, and the capitalised word behind "in"; any DSPy module will do."""

    def forward(self, text):
        spans = [(*m.span(), "TIME") for m in re.finditer(r"\b\d{4}\b", text)]
        spans += [(*m.span(1), "PLACE") for m in re.finditer(r"\bin ([A-Z]\w+)", text)]
        return dspy.Prediction(
            entities=[{"start": a, "end": b, "type": kind, "text": text[a:b]} for a, b, kind in spans]
        )


def example(text, names):
    """A gold example; each name occurs once in the text."""
    spans = [{"start": (at := text.index(n)), "end": at + len(n), "type": kind, "text": n} for n, kind in names.items()]
    return dspy.Example(text=text, entities=spans).with_inputs("text")


gold = [
    example("The mill stands in Gouda since 1784.", {"Gouda": "PLACE", "1784": "TIME"}),
    example("The archive moved to The Hague in 1798.", {"The Hague": "PLACE", "1798": "TIME"}),
    example("A school opened in Delft.", {"Delft": "PLACE"}),
    example("In Leiden it burnt down in 1926.", {"Leiden": "PLACE", "1926": "TIME"}),
]
run = evaluate(Patterns(), gold, Metric(extraction.SpanF1()), progress=False)
interval = run.intervals["strict_f1"]
print(f"strict F1 {run.values['strict_f1']:.3f} [{interval.low:.3f}, {interval.high:.3f}] on {len(gold)} texts")
print("An error:", next(error.message for case in run.cases for error in case.errors))

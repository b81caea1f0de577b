"""Triples: facts from a text, matched one to one, F1. Run it: python examples/triples.py"""

import re

import dspy

from goldassay import Metric, evaluate
from goldassay.measures import triples

PATTERNS = {"P571": r"(?P<s>[A-Z]\w+) opened in (?P<o>\d{4})", "P131": r"(?P<s>[A-Z]\w+) stands in (?P<o>[A-Z]\w+)"}


class Patterns(dspy.Module):
    """Inception (P571) and place (P131), as the sentences say them."""

    def forward(self, text):
        triples = [(m["s"], key, m["o"]) for key, pattern in PATTERNS.items() for m in re.finditer(pattern, text)]
        return dspy.Prediction(triples=[{"subject": s, "predicate": p, "object": o} for s, p, o in triples])


facts = {
    "Rijksmuseum opened in 1885 by Cuypers.": [("Rijksmuseum", "P571", "1885"), ("Rijksmuseum", "P84", "Cuypers")],
    "Louvre stands in Paris.": [("Louvre", "P131", "Paris")],
    "Louvre opened in 1793, Prado in 1819.": [("Louvre", "P571", "1793"), ("Prado", "P571", "1819")],
}
gold = [
    dspy.Example(text=text, triples=[{"subject": s, "predicate": p, "object": o} for s, p, o in triples])
    for text, triples in facts.items()
]
gold = [example.with_inputs("text") for example in gold]
metric = Metric(triples.F1())
run = evaluate(Patterns(), gold, metric, progress=False)
interval = run.intervals["f1"]
print(f"F1 {run.values['f1']:.3f} [{interval.low:.3f}, {interval.high:.3f}] on {len(gold)} texts")
print("An error:", next(error.message for case in run.cases for error in case.errors))

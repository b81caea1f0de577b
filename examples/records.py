"""Records: a pydantic model from a text, measured field by field. Run it: python examples/records.py"""

import re

import dspy
from pydantic import BaseModel

from goldassay import Metric, evaluate
from goldassay.measures import records


class Line(BaseModel):
    what: str
    qty: int


class Order(BaseModel):
    number: str
    lines: list[Line]


class Patterns(dspy.Module):
    """The number, and the item after each amount."""

    def forward(self, text):
        lines = [{"what": what, "qty": qty} for qty, what in re.findall(r"(\d+) (\w+)", text)]
        return dspy.Prediction(record=Order(number=re.search(r"[A-Z]\d+", text)[0], lines=lines))


lamps, chairs = Line(what="lamps", qty=2), Line(what="chairs", qty=3)
orders = {"A7: 2 lamps, 3 chairs.": [lamps, chairs], "A8: 3 chairs and a rug.": [chairs, Line(what="rug", qty=1)]}
gold = [
    dspy.Example(text=text, record=Order(number=text[:2], lines=lines)).with_inputs("text")
    for text, lines in orders.items()
]
run = evaluate(Patterns(), gold, Metric(records.FieldF1(schema=Order)), progress=False)
interval = run.intervals["field_f1"]
print(f"F1 {run.values['field_f1']:.3f} [{interval.low:.3f}, {interval.high:.3f}] on {len(gold)} texts")
print("An error:", next(error.message for case in run.cases for error in case.errors))

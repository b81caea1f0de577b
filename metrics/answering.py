"""How answers are judged without a judge: the words, strictly and with some credit for nearness.

Exact match is what a reader of a table wants, F1 says how near a wrong answer was; half and half. On unanswerable
questions both ask for an empty answer. Faithfulness and relevance have targets too, but they need a judge or support
matrices: `goldassay.measures.answering.Faithfulness` is added where those are there. A demonstration must be all right.
"""

from goldassay import Metric
from goldassay.measures import answering

metric = Metric(
    {answering.ExactMatch(): 0.5, answering.F1(): 0.5},
    targets={"exact_match": 0.70, "f1": 0.75},
    pass_mark=1.0,
)

"""How extraction is judged: mostly the strict reading, a little credit for finding the place.

Strict F1 (boundaries and type) is what papers report and what a database needs, so it carries 0.7 of the weight.
Partial F1 (overlap and type) carries the rest: it tells an optimizer that a name found with one word too many is nearer
than a name missed. Targets and the state of the art are those of the project's design. A demonstration must be all
right (``pass_mark`` 1): what is shown is imitated.
"""

from goldassay import Metric
from goldassay.measures import extraction

metric = Metric(
    {extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3},
    targets={"strict_f1": 0.85, "partial_f1": 0.90},
    state_of_the_art={"strict_f1": 0.92, "partial_f1": 0.95},
    pass_mark=1.0,
)

"""How retrieval is judged: by nDCG at 10, and by the rank of the first relevant passage.

nDCG@10 uses the grades and carries 0.7 of the weight; the reciprocal rank (its mean is MRR) carries the rest, for a
reader who takes the first good passage. A query that the program did not answer counts 0. Targets and the state of the
art are those of the project's design. A demonstration must find a relevant passage high up, not all of them.
"""

from goldassay import Metric
from goldassay.measures import retrieval

metric = Metric(
    {retrieval.nDCG(10): 0.7, retrieval.RR(): 0.3},
    targets={"nDCG@10": 0.60, "RR": 0.55},
    state_of_the_art={"nDCG@10": 0.68, "RR": 0.62},
    pass_mark=0.6,
)

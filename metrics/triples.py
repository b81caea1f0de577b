"""How triples are judged: by F1 of one-to-one matching, with precision, recall and calibration beside it.

F1 alone makes the score; precision, recall and the correlation of confidence with correctness are measured for their
targets and weigh nothing. Identifiers count here, unlike in an evaluation against Wikidata, for the texts say them.
Targets are those of the project's design, which names no state of the art. A demonstration must be all right.
"""

from goldassay import Metric
from goldassay.measures import triples

EXCLUDED = tuple(kind for kind in triples.EXCLUDED if kind != "ExternalId")

metric = Metric(
    {
        triples.F1(excluded=EXCLUDED): 1.0,
        triples.F1(rate="precision", excluded=EXCLUDED): 0.0,
        triples.F1(rate="recall", excluded=EXCLUDED): 0.0,
        triples.Calibration(statistic="pearson", excluded=EXCLUDED): 0.0,
    },
    targets={"precision": 0.85, "recall": 0.60, "f1": 0.70, "calibration_pearson": 0.80},
    pass_mark=1.0,
)

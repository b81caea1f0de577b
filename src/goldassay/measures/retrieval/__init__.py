"""Retrieval: are the relevant documents at the top?

Results are put in order by score, descending, compared in 32 bits; equal scores by document id, descending; a rank
column is ignored (trec_eval's rules). Grades are used, not flattened; nDCG takes linear gain and its ideal from all
judged documents. A query in the judgements that the run lacks counts 0. Each of these is an argument of the measures
and is shown in their ``conventions``; the names are those of ir_measures (`named`).

Read in this order: `records` (judgements and results, and the ranks of the judged documents), `measures`, `mistakes`
(errors in words), `scorecard` (by the names of measures, everything over a set).

Measures: `nDCG`, `P`, `R`, `RR`, `AP`, `Bpref`, `RBP`, `Rprec`, `Judged`, `Success`. `scorecard` computes any of them
for many queries at once; `band` says between which values a mean lies over all orders of equal scores.

Source: trec_eval, https://github.com/usnistgov/trec_eval; ir_measures, https://ir-measur.es
"""

from __future__ import annotations

from goldassay.measures import misspelled
from goldassay.measures.retrieval.measures import (
    AP,
    MEASURES,
    RBP,
    RR,
    Bpref,
    Judged,
    P,
    R,
    Ranked,
    Rprec,
    Success,
    nDCG,
)
from goldassay.measures.retrieval.records import grades, scores
from goldassay.measures.retrieval.scorecard import DEFAULT_MEASURES, band, named, scorecard

__all__ = [
    "AP",
    "DEFAULT_MEASURES",
    "MEASURES",
    "RBP",
    "RR",
    "Bpref",
    "Judged",
    "P",
    "R",
    "Ranked",
    "Rprec",
    "Success",
    "band",
    "grades",
    "nDCG",
    "named",
    "scorecard",
    "scores",
]
__getattr__ = misspelled

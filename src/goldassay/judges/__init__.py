"""Judges: signatures, a bound judge, measures, panels, agreement with people, audit.

Read in this order: `signatures` and `quoting` (what is asked, and how texts stay data), `asking` and `judge` (a model
that is bound, asked once, and may be unknown), `store`, `named`, `evidence` (unknown verdicts as a band); the measures:
`claim_tables` with `claim_measures`, `answer_measures`, `rubric`, `entity_recall`, `plausibility`; support without a
language model: `entailment`, `nli`, `semantic`; `evaluator`; `panel`, `align`, `audit`, `programs`.
"""

from goldassay.judges.ask.judge import Judge, named
from goldassay.judges.ask.signatures import Verdict
from goldassay.judges.ask.store import Verdicts

__all__ = ["Judge", "Verdict", "Verdicts", "named"]

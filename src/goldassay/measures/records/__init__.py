"""Records: structured objects of any shape, as programs with a pydantic or JSON output give them.

Read in this order: `records` (what is read from a pair; JSON Schema from a model, a signature or gold), `comparators`
(when a value is right), `matching` (two records leaf by leaf, lists aligned one to one; Donut's tree edit distance),
`measures` (what counts), `mistakes` (errors in words), `scorecard` (everything over a set).
"""

from __future__ import annotations

from goldassay.measures import misspelled
from goldassay.measures.records.measures import MEASURES, FieldF1, RecordAccuracy, SchemaValid, TreeEdit
from goldassay.measures.records.scorecard import scorecard

__all__ = [
    "MEASURES",
    "FieldF1",
    "RecordAccuracy",
    "SchemaValid",
    "TreeEdit",
    "scorecard",
]
__getattr__ = misspelled

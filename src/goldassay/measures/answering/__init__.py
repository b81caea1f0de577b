"""Answering: is the answer right, is it grounded, and does the program know when it does not know?

Read in this order: `records` (what a question and an answer are), `normal` and `words` (when texts are equal), `squad`
(exact match and F1), `rouge` with `rouge_batch`, `card` (everything over a set).
"""

from __future__ import annotations

from typing import Any

from goldassay.measure import Measure
from goldassay.measures.answering.card import scorecard
from goldassay.measures.answering.records import answers
from goldassay.measures.answering.rouge import ROUGE, rouge
from goldassay.measures.answering.rouge_batch import rouge_batch
from goldassay.measures.answering.squad import F1, ExactMatch, UnicodeExactMatch, UnicodeF1, squad

MEASURES: tuple[Measure[Any], ...] = (
    ExactMatch(),
    F1(),
    UnicodeExactMatch(),
    UnicodeF1(articles=("de", "het", "een")),
    ROUGE("1"),
    ROUGE("2"),
    ROUGE("L"),
    ROUGE("Lsum"),
    ROUGE("1", part="r"),
    ROUGE("L", stem=True),
    ROUGE("L", tokenizer="unicode"),
)


def perfect(gold: Any) -> dict[str, Any]:
    """The prediction that gets everything right.

    >>> perfect({"answers": ["1800"]}), perfect({"answers": []})
    ({'answer': '1800', 'confidence': 1.0}, {'answer': '', 'confidence': 0.0})
    """
    expected = answers(gold)
    return {"answer": expected[0] if expected else "", "confidence": 1.0 if expected else 0.0}


__all__ = [
    "F1",
    "MEASURES",
    "ROUGE",
    "ExactMatch",
    "UnicodeExactMatch",
    "UnicodeF1",
    "perfect",
    "rouge",
    "rouge_batch",
    "scorecard",
    "squad",
]

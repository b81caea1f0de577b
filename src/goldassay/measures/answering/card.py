"""The scorecard of answering: every value of a set of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goldassay.measure import failed
from goldassay.measures.answering.records import aligned, answer, answers, references
from goldassay.measures.answering.rouge import ROUGE
from goldassay.measures.answering.rouge_batch import rouge_batch
from goldassay.measures.answering.squad import F1, ExactMatch, squad
from goldassay.scorecard import Scorecard


def scorecard(gold: Sequence[Any], pred: Sequence[Any]) -> Scorecard:
    """All values over aligned records.

    >>> card = scorecard([{"answers": ["1800"]}, {"answers": []}], [{"answer": "In 1800"}, {"answer": ""}])
    >>> card.values["exact_match"], round(card.values["f1"], 4)
    (0.5, 0.8333)
    """
    aligned(gold, pred)
    card = Scorecard("answering", len(gold))
    found = [answer(one, other) for one, other in zip(pred, gold, strict=True)]
    broken = [bool(failed(one)) for one in pred]
    _words(card, [answers(one) for one in gold], found, broken)
    _rouge(card, [references(one) for one in gold], found, broken)
    if any(broken):
        card.warnings.append(
            f"{sum(broken)} of {len(broken)} questions have no answer because the program failed; they count 0"
        )
    return card


def _words(card: Scorecard, expected: list[tuple[str, ...]], found: list[str], broken: list[bool]) -> None:
    for measure, values in zip((ExactMatch(), F1()), squad(found, expected), strict=True):
        kept = [0.0 if lost else value for value, lost in zip(values, broken, strict=True)]
        _put(card, measure, sum(kept), len(kept))


def _rouge(card: Scorecard, texts: list[tuple[str, ...]], found: list[str], broken: list[bool]) -> None:
    several = [text for each in texts for text in each]
    mine = ["" if lost else text for text, lost, each in zip(found, broken, texts, strict=True) for _ in each]
    starts = np.cumsum([0, *(len(each) for each in texts if each)])[:-1]
    made = rouge_batch(mine, several)
    for kind, rows in made.items():
        best = np.maximum.reduceat(rows[:, 2], starts) if len(starts) else rows[:, 2]
        _put(card, ROUGE(kind), float(best.sum()), len(starts))


def _put(card: Scorecard, measure: Any, total: float, n: int) -> None:
    card.values[measure.key] = total / n if n else None
    card.counts[measure.key] = {"total": total, "weight": float(n)}
    card.conventions[measure.key] = measure.conventions
    card.explain[measure.key] = f"{measure.formula}. Source: {measure.source}."

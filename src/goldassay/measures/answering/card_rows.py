"""What the parts of answering's scorecard share: both sides read once, and how a value is put down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goldassay.measure import Measure, failed
from goldassay.measures.answering.records import answer, answers, references
from goldassay.scorecard import Scorecard


class Rows:
    """Both sides, read once."""

    def __init__(self, gold: Sequence[Any], pred: Sequence[Any]) -> None:
        self.gold, self.pred = gold, pred
        self.broken = [bool(failed(one)) for one in pred]
        self.found = [answer(one, other) for one, other in zip(pred, gold, strict=True)]
        self.expected = [answers(one) for one in gold]
        self.texts = [references(one) for one in gold]
        self.starts = [0]  # of each answerable question's references among all references
        for each in self.texts:
            if each:
                self.starts.append(self.starts[-1] + len(each))
        self.starts.pop()

    @property
    def pairs(self) -> tuple[list[str], list[str]]:
        """Each answer beside each of its references."""
        mine = [
            "" if lost else text
            for text, lost, each in zip(self.found, self.broken, self.texts, strict=True)
            for _ in each
        ]
        return mine, [text for each in self.texts for text in each]

    def best(self, values: Any) -> Any:
        """Of each answerable question the best of its references' values."""
        return np.maximum.reduceat(values, self.starts) if self.starts else np.zeros(0)


def put(card: Scorecard, measure: Measure[Any], total: float, n: float) -> float | None:
    """Puts a measure's value on the card, with its sums."""
    card.values[measure.key] = float(total / n) if n else None
    card.counts[measure.key] = {"total": float(total), "weight": float(n)}
    say(card, measure)
    return card.values[measure.key]


def say(card: Scorecard, measure: Measure[Any]) -> None:
    """Puts a measure's conventions, definition and source on the card."""
    card.conventions[measure.key] = measure.conventions
    card.explain[measure.key] = f"{measure.formula}. Source: {measure.source}."


def absent(card: Scorecard, measure: Measure[Any], why: str) -> None:
    """Puts a measure on the card that has no value, and why."""
    card.values[measure.key] = None
    say(card, measure)
    card.explain[measure.key] += f" Not computed: {why}."


def each(card: Scorecard, rows: Rows, measures: Sequence[Measure[Any]]) -> None:
    """Measures that are computed pair by pair."""
    for measure in measures:
        tally = measure.zero
        for gold, pred in zip(rows.gold, rows.pred, strict=True):
            tally = tally + measure(gold, pred).tally
        if tally.weight:
            put(card, measure, tally.total, tally.weight)
        else:
            absent(card, measure, f"no record has the evidence ({', '.join(measure.pred_fields)})")

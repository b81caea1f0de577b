"""The ranking of several models by their final score: the founding document's table, with its columns.

The best stands first; models with the same final score share a rank, and the next one's counts them (1, 2, 2, 4). A
model that lacks one of the five values has no final score and no rank: it stands last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measures.answering.ranking import FIVE, WEIGHTS, final_score
from goldassay.scorecard import Scorecard

COLUMNS = ("Rank", "Model", "Accuracy", "Quality", "Confidence", "Speed", "Robustness", "Final_Score")
Values = Mapping[str, float | None]


def rankings(models: Mapping[str, Scorecard | Values], weights: Mapping[str, float] = WEIGHTS) -> list[dict[str, Any]]:
    """A row for each model with the keys `COLUMNS`; each model is given by its scorecard or by its five values.

    >>> five = {"accuracy": 0.847, "quality": 0.891, "confidence": 0.756, "speed": 0.823, "robustness": 0.95}
    >>> for row in rankings({"BERT-Tiny": {**five, "accuracy": 0.5}, "RoBERTa": five}):
    ...     print(row["Rank"], row["Model"], round(row["Final_Score"], 3))     # 0.852 − 0.25 · 0.347 = 0.765
    1 RoBERTa 0.852
    2 BERT-Tiny 0.765
    """
    made = {name: _row(name, given, weights) for name, given in models.items()}
    finals = [row["Final_Score"] for row in made.values() if row["Final_Score"] is not None]
    for row in made.values():
        if row["Final_Score"] is not None:
            row["Rank"] = 1 + sum(other > row["Final_Score"] for other in finals)
    return sorted(made.values(), key=lambda row: len(made) + 1 if row["Rank"] is None else row["Rank"])


def _row(name: str, given: Scorecard | Values, weights: Mapping[str, float]) -> dict[str, Any]:
    values = given.values if isinstance(given, Scorecard) else given
    lacking = [key for key in FIVE if key not in values]
    if lacking:
        raise GoldassayError(f"{name} has no {', '.join(lacking)}; a ranking needs {', '.join(FIVE)} (None: unknown)")
    five = {key.capitalize(): values[key] for key in FIVE}
    filled = {"Rank": None, "Model": name, **five, "Final_Score": final_score(values, weights)}
    return {column: filled[column] for column in COLUMNS}

"""BERTScore held to bert-score's own values, recorded with the token vectors that it had: no model is needed.

The file was made once with bert-score 0.3.13 (see its ``about``); `test_answering_semantic` compares with the package
itself where it is installed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldassay.measures.answering import BERTScore, bertscore
from goldassay.models.embedding import register

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "bert_score_minilm.json").read_text(encoding="utf-8"))
ONES, OTHERS = [row for row, _ in RECORDED["pairs"]], [other for _, other in RECORDED["pairs"]]


class Recorded:
    """Gives the recorded vectors; each was written without its last zeros."""

    name = "recorded-minilm"
    special = frozenset(RECORDED["special"])
    size = max(len(vector) for text in RECORDED["tokens"].values() for vector in text["vectors"])

    def __call__(self, texts: Sequence[str], /) -> list[tuple[Any, Any]]:
        scores = [RECORDED["tokens"][text] for text in texts]
        return [
            (np.array(row["ids"]), np.array([[*v, *[0.0] * (self.size - len(v))] for v in row["vectors"]]))
            for row in scores
        ]


@pytest.mark.parametrize(
    ("kind", "options", "within"),
    [
        ("plain", {}, 1e-6),
        ("rescaled", {"baseline": tuple(RECORDED["baseline"])}, 4e-6),  # 1e-6 / (1 − 0.7)
    ],
)
def test_the_values_are_bert_scores(kind: str, options: dict[str, Any], within: float) -> None:
    expected = np.array(RECORDED["values"][kind])
    scores = bertscore(ONES, OTHERS, Recorded(), **options)
    assert scores.shape == expected.shape == (5, 3)
    assert np.abs(scores - expected).max() < within
    assert len({round(value, 4) for value in expected.ravel().tolist()}) > 10  # and they are not all alike


def test_the_measure_takes_the_best_of_several_references() -> None:
    name = register(Recorded())
    expected = max(RECORDED["values"]["plain"][0][2], 0)
    scores = BERTScore(name)({"answers": [OTHERS[0]]}, {"answer": ONES[0]}).tally.value
    assert scores == pytest.approx(expected, abs=1e-6)
    with_other = BERTScore(name)({"answers": [OTHERS[0], ONES[0]]}, {"answer": ONES[0]}).tally.value
    assert with_other == pytest.approx(1, abs=1e-6)

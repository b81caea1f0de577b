"""Token level held to scikit-learn, where a token has one type: precision, recall and F1 of labels without O."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support
from tests.nightly import drawn

from goldassay.ext.compat import token_level_metrics
from goldassay.measures.extraction import scorecard

KINDS = ["MUS", "TMP", "TOP"]
label = st.sampled_from(["O", "O", *KINDS])
documents = st.lists(
    st.lists(st.tuples(label, label, st.sampled_from([" ", "  ", "\n"])), max_size=10), min_size=1, max_size=4
)


def oracle(truth: list[str], predicted: list[str], labels: list[str], average: str | None = None) -> list[Any]:
    """Precision, recall and F1, and support where there is no average."""
    options: dict[str, Any] = {"labels": labels, "average": average, "zero_division": 0}
    scores: list[Any] = list(precision_recall_fscore_support(truth, predicted, **options))
    return scores if average is None else scores[:3]


def document(cells: list[tuple[str, str, str]]) -> tuple[str, list[Any], list[Any]]:
    """A text of two-letter tokens, and a span for each that has a label."""
    text = ""
    sides: tuple[list[Any], list[Any]] = ([], [])
    for gold, pred, space in cells:
        for side, kind in zip(sides, (gold, pred), strict=True):
            if kind != "O":
                side.append((len(text), len(text) + 2, kind))
        text += f"ab{space}"
    return text, *sides


@drawn(40)
@given(documents)
def test_labels_of_tokens(data: list[list[tuple[str, str, str]]]) -> None:
    truth = [str(cell[0]) for cells in data for cell in cells]
    predicted = [str(cell[1]) for cells in data for cell in cells]
    assume({*truth, *predicted} - {"O"})
    read = [document(cells) for cells in data]
    card = scorecard([{"text": t, "entities": g} for t, g, _ in read], [{"entities": p} for _, _, p in read])
    micro = oracle(truth, predicted, KINDS, "micro")
    assert [card.values[f"token_{rate}"] for rate in ("precision", "recall", "f1")] == pytest.approx(micro)
    text, gold, pred = document([cell for cells in data for cell in cells])
    ours = token_level_metrics(pred, gold, text)
    for kind, *row in zip(KINDS, *oracle(truth, predicted, KINDS), strict=True):
        if kind in ours:
            assert list(ours[kind].values()) == pytest.approx([float(value) for value in row])
    seen = sorted({*truth, *predicted} - {"O"})
    assert list(ours["macro_avg"].values()) == pytest.approx(oracle(truth, predicted, seen, "macro"))

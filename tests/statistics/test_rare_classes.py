"""Intervals of means over classes that are rare, absent, or in few documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goldassay.core.tally import Counts, Macro
from goldassay.measures import classification
from goldassay.measures.classification.tally import Labelled
from goldassay.statistics import interval

NAMES = tuple("ABCDEFGHIJ")


def sample(cells: Any, zero: Labelled) -> Any:
    """The evidence of examples whose (gold, predicted) are numbered by row and column."""
    pairs = {(NAMES[c // 10], NAMES[c % 10]): (cells == c).astype(float) for c in np.unique(cells)}
    return zero.with_items(pairs)


@pytest.mark.parametrize("given", [NAMES, ()])
def test_rare_classes_are_covered(given: tuple[str, ...]) -> None:
    # Half of the labels have 3 % of the others' share, nine of ten examples are right: 40 examples lack about 4 labels.
    shares = np.where(np.arange(10) < 5, 1.0, 0.03)
    shares /= shares.sum()
    table = np.outer(shares * 0.1, shares) / (1 - shares)[:, None]
    np.fill_diagonal(table, shares * 0.9)
    right = np.diag(table)
    truth = 2 * right / (table.sum(0) + table.sum(1))
    rng, zero, held = np.random.default_rng(0), Labelled({}, given), []
    for _ in range(60):
        cells = rng.choice(100, 40, p=table.ravel())
        seen = range(10) if given else sorted({*(cells // 10), *(cells % 10)})
        result = interval(sample(cells, zero), zero, bounds=(0.0, 1.0))
        held.append(result.low <= truth[list(seen)].mean() <= result.high)
    assert np.mean(held) >= 0.9


def test_a_label_that_does_not_occur_leaves_the_upper_end_open() -> None:
    cells = np.repeat(np.arange(6) * 11, 20)  # six labels of ten, all right
    result = interval(sample(cells, Labelled({}, NAMES)), Labelled({}, NAMES), bounds=(0.0, 1.0))
    assert (result.value, result.high, result.method) == (0.6, 1.0, "macro")
    assert result.low > 0.5
    seen = interval(sample(cells, Labelled()), Labelled(), bounds=(0.0, 1.0))
    assert seen.value == seen.high == 1.0
    assert seen.low > 0.9


def test_each_end_is_the_wider_one() -> None:
    rng, zero = np.random.default_rng(1), Labelled()
    for n in (2, 3, 10, 60):
        for clusters in (None, [place // 2 for place in range(n)]):
            evidence = sample(rng.choice(100, n), zero)
            wide, narrow = (
                interval(evidence, zero, clusters=clusters, bounds=(0.0, 1.0), method=method)
                for method in ("auto", "effective")
            )
            assert 0 <= wide.low <= narrow.low <= wide.value <= narrow.high <= wide.high <= 1


def test_a_class_in_one_document_may_be_anything() -> None:
    # Class B stands in one document only, however often: its F1 of 1 says nothing of other documents.
    rows = [Macro({"A": Counts(3, 0, 0)})] * 19 + [Macro({"A": Counts(3, 0, 0), "B": Counts(8, 0, 0)})]
    result = interval(rows, Macro(), bounds=(0.0, 1.0))
    assert result.value == 1.0
    assert result.low < 0.55
    weighted = interval(rows, Macro(share="support"), bounds=(0.0, 1.0))
    assert weighted.method == "effective"


def test_the_scorecard_names_the_labels_that_do_not_occur() -> None:
    gold = [{"label": label} for label in "ABAB"]
    card = classification.scorecard(gold, gold, labels=NAMES)
    assert "8 of 10 labels of the list do not occur: macro_f1 counts them 0, and the upper" in card.warnings[0]
    assert "absent=0" in card.conventions["macro_f1"]
    assert card.intervals["macro_f1"].high == 1.0
    assert card.intervals["macro_f1"].method == "macro"

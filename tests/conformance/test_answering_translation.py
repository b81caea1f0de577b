"""BLEU and chrF held to what sacrebleu 2.6.0 gives with its defaults (recorded; 300 random corpora agreed, too)."""

from __future__ import annotations

from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay.core.measure import Batches
from goldassay.core.metric import failed_with
from goldassay.measures.answering import BLEU, ChrF
from goldassay.results.result import fold

ANSWERS = ["the museum opened in 1,800.5 (twice).", "a well-known B&amp;B in Delft", "", "yes"]
GOLDS = [
    ["The museum opened in 1,800.5, twice.", "it opened (twice) in 1800"],
    ["the well-known B&B of Delft", "a B&B in Delft"],
    ["Gouda", "nothing"],
    ["yes it did", "yes"],
]


@pytest.mark.parametrize(
    ("rows", "golds", "bleu", "chrf"),
    [
        (slice(0, 4), 2, 0.629332199391283, 0.6816316759086427),
        (slice(0, 2), 1, 0.374370107841621, 0.7055630179318384),
        (slice(3, 4), 1, 0.0, 0.32250580046403704),  # one word: no bigram, and so no BLEU
    ],
)
def test_what_sacrebleu_gives(rows: slice, golds: int, bleu: float, chrf: float) -> None:
    gold = [{"answers": texts[:golds]} for texts in GOLDS[rows]]
    pred = [{"answer": text} for text in ANSWERS[rows]]
    card = fold("answering", [BLEU(), ChrF()], Batches(gold, pred))
    assert card.values == pytest.approx({"bleu": bleu, "chrf": chrf})
    for interval in card.intervals.values():
        assert 0 <= interval.low <= interval.high <= 1


def test_the_corpus_value_in_evaluate_and_failed_answers() -> None:
    class Echo(dspy.Module):
        def forward(self, text: str) -> dspy.Prediction:
            return dspy.Prediction(answer=text)

    pairs = zip(ANSWERS, GOLDS, strict=True)
    gold = [dspy.Example(text=text, answers=texts).with_inputs("text") for text, texts in pairs]
    result = dspy.Evaluate(devset=gold, metric=Metric(BLEU()), display_progress=False)(Echo())
    assert result.score == pytest.approx(62.93, abs=0.01)
    for measure in (BLEU(), ChrF()):
        records: list[Any] = [{"answers": texts} for texts in GOLDS]
        right = [{"answer": texts[0]} for texts in GOLDS]
        failing: list[Any] = [failed_with("broke") if place % 2 else one for place, one in enumerate(right)]
        best, half = (fold("answering", [measure], Batches(records, side)) for side in (right, failing))
        assert best.values[measure.key] == pytest.approx(1.0)
        assert (half.values[measure.key] or 0.0) < 0.9


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_hyphen_at_the_end_of_a_text_is_a_word(end: str) -> None:
    gold = [{"answers": ["The gate is closed for cars and bikes."]}]
    card = fold("answering", [BLEU()], Batches(gold, [{"answer": f"The gate is closed for cars-{end}"}]))
    assert card.values == pytest.approx({"bleu": 0.4608636396914616})


def test_a_gold_text_without_characters_beside_others_is_not_the_best() -> None:
    gold = [{"answers": ["", "Rijksmuseum"]}, {"answers": ["Teylers Museum", " "]}]
    card = fold("answering", [ChrF()], Batches(gold, [{"answer": "Rijksmusea"}, {"answer": "Museum Teyler"}]))
    assert card.values == pytest.approx({"chrf": 0.6981116004027227})

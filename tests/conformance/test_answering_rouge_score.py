"""ROUGE held to rouge-score: nine values and Lsum, stemmed or not, exactly."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance import cases
from tests.nightly import drawn

from goldassay import Metric
from goldassay.measures import answering
from goldassay.measures.answering import ROUGE, rouge

KINDS = ("1", "2", "L", "Lsum")
WORD = st.sampled_from(
    [
        "the",
        "museum",
        "museums",
        "opened",
        "opening",
        "in",
        "1800",
        "Amsterdam",
        "é",
        "Москва",
        "l'été",
        "a.b",
        "İstanbul",
        "K",
    ]
)
TEXT = st.builds(
    lambda parts: "".join(word + gap for word, gap in parts),
    st.lists(st.tuples(WORD, st.sampled_from([" ", "  ", "\n", ", ", "-", ".\n", "_", "\x01"])), max_size=12),
)


def scorer_of(kinds: list[str], **options: bool) -> Any:
    """The package's own, loaded by the first test that asks: the NLTK in it takes seconds."""
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(kinds, **options)


def official(prediction: str, reference: str, stem: bool) -> dict[str, tuple[float, float, float]]:
    found = scorer_of([f"rouge{kind}" for kind in KINDS], use_stemmer=stem).score(reference, prediction)
    return {kind: (s.precision, s.recall, s.fmeasure) for kind in KINDS for s in [found[f"rouge{kind}"]]}


@pytest.mark.parametrize("stem", [False, True])
@drawn(60)
@given(pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_generated_pairs_are_equal_in_all_values(stem: bool, pairs: list[tuple[str, str]]) -> None:
    ours = rouge([text for text, _ in pairs], [other for _, other in pairs], KINDS, stem=stem)
    for row, (text, other) in enumerate(pairs):
        expected = official(text, other, stem)
        for kind in KINDS:
            assert tuple(ours[kind][row].tolist()) == expected[kind]


@pytest.mark.parametrize(
    ("text", "other"),
    [("", ""), ("", "museum"), ("museum", ""), ("Москва", "Москва"), ("...", "!"), ("a\n\nb c", "b c\na"), ("\n", "a")],
)
def test_the_edges_are_equal(text: str, other: str) -> None:
    ours = rouge([text], [other], KINDS)
    for kind, expected in official(text, other, False).items():
        assert tuple(ours[kind][0].tolist()) == expected


def test_the_best_reference_is_that_of_score_multi() -> None:
    texts, found = ["the museum opened in 1800", "it opened", "museum"], "the museum opened"
    expected = scorer_of(["rouge1", "rougeL"]).score_multi(texts, found)
    for kind in ("1", "L"):
        best = expected[f"rouge{kind}"]
        rows = rouge([found] * len(texts), texts, [kind])[kind]
        assert tuple(rows[rows[:, 2].argmax()].tolist()) == (best.precision, best.recall, best.fmeasure)
    gold = {"answers": texts[1:], "reference": texts[0]}
    assert ROUGE("1", part="r")(gold, {"answer": found}).tally.value == expected["rouge1"].recall


def test_real_texts_are_equal(real_data: Path) -> None:
    texts = [record["text"] for record in cases.heritage("triples")][:40]
    xquad = real_data / "xquad" / "xquad.en.json"
    if xquad.is_file():
        data = json.loads(xquad.read_text(encoding="utf-8"))["data"]
        texts += [paragraph["context"] for article in data for paragraph in article["paragraphs"]][:60]
    assert len(texts) >= 40
    pairs = list(pairwise(texts))
    ours = rouge([text for text, _ in pairs], [other for _, other in pairs], ("1", "2", "L"))
    scorer = scorer_of(["rouge1", "rouge2", "rougeL"])
    for row, (text, other) in enumerate(pairs):
        for kind, score in scorer.score(other, text).items():
            got = ours[kind.removeprefix("rouge")][row].tolist()
            assert got == [score.precision, score.recall, score.fmeasure]


def test_letters_that_the_tokenizer_drops_are_a_warning_and_the_number_stays() -> None:
    gold = [{"answers": ["Эрмитаж в Петербурге"]}, {"answers": ["the Hermitage"]}]
    pred = [{"answer": "Эрмитаж в Петербурге"}, {"answer": "the Hermitage"}]
    card = answering.scorecard(gold, pred)
    assert card.values["rougeL"] == 0.5  # as rouge-score
    assert [line for line in card.warnings if "tokenizer='unicode'" in line] == [
        line for line in card.warnings if line.startswith("1 of 2 questions have answers outside ASCII")
    ]
    assert not answering.scorecard(gold[1:], pred[1:]).warnings
    unicode = answering.ROUGE("L", tokenizer="unicode")
    assert Metric(unicode)(gold[0], pred[0]).score == 1.0
    assert answering.scorecard(gold, pred, measures=[unicode]).values == {"rougeL": 1.0}

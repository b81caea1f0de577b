"""SQuAD's exact match and F1: hand tables, generated cases, and what people get wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.measure import parse, stored
from goldassay.measures import answering
from goldassay.measures.answering import F1, ExactMatch, squad
from goldassay.models.embedding import Function
from goldassay.running.guard import failure
from goldassay.text import normal

# gold, answer, exact match, F1 (P and R over words in the comment)
TABLE = [
    (["Denver Broncos"], "The Denver Broncos!", 1, 1),
    (["Denver Broncos"], "Broncos", 0, 2 / 3),  # P 1/1, R 1/2
    (["in 1800"], "opened in 1800", 0, 4 / 5),  # P 2/3, R 2/2
    (["the the museum"], "museum museum", 0, 2 / 3),  # gold folds to one word: P 1/2, R 1/1
    (["a b b c"], "b b b", 0, 2 / 3),  # 'a' is an article: common b b; P 2/3, R 2/3
    (["1800", "in 1800"], "In 1800", 1, 1),  # the best gold counts
    (["Rijksmuseum"], "", 0, 0),
    ([], "", 1, 1),
    ([], "Rijksmuseum", 0, 0),
    (["The"], "an", 1, 1),  # both empty after normalisation: equal
    (["The"], "museum", 0, 0),
    (["The", "museum"], "", 0, 0),  # a gold without a word is none where another has one
    (["U.S."], "us", 1, 1),
    (["Москва"], "москва", 1, 1),
    (["«Москва»"], "Москва", 0, 0),  # the published rule knows ASCII punctuation only
]


@pytest.mark.parametrize(("golds", "prediction", "exact", "f1"), TABLE)
def test_the_hand_table(golds: list[str], prediction: str, exact: float, f1: float) -> None:
    gold, pred = {"answers": golds}, {"answer": prediction}
    assert ExactMatch()(gold, pred).tally.value == exact
    assert F1()(gold, pred).tally.value == pytest.approx(f1)
    (batched,), (batched_f1,) = squad([prediction], [golds])
    assert batched == exact
    assert batched_f1 == pytest.approx(f1)


def test_the_unicode_variant_is_another_measure_under_its_own_name() -> None:
    gold, pred = {"answers": ["«Москва»"]}, {"answer": "москва"}
    assert (ExactMatch()(gold, pred).tally.value, ExactMatch("unicode")(gold, pred).tally.value) == (0, 1)
    assert F1("unicode", articles=("het",))({"answers": ["het Rijks"]}, {"answer": "Rijks Amsterdam"}).tally.value == (
        pytest.approx(2 / 3)  # P 1/2, R 1/1
    )
    assert ExactMatch("unicode").key == "unicode_exact_match"
    assert parse(stored(F1("unicode", articles=("de", "het")))) == F1("unicode", articles=("de", "het"))


TEXTS = st.text(st.sampled_from("ab theAN.,'-«é\x00\n 1ΣσςİK"), max_size=14)


@drawn(120)
@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=3)), max_size=6))
def test_many_at_once_are_the_same_as_one_by_one(rows: list[tuple[str, list[str]]]) -> None:
    exact, f1 = squad([prediction for prediction, _ in rows], [golds for _, golds in rows])
    for (prediction, golds), em, f in zip(rows, exact, f1, strict=True):
        gold, pred = {"answers": golds}, {"answer": prediction}
        assert ExactMatch()(gold, pred).tally.value == em
        assert F1()(gold, pred).tally.value == f


@drawn(120)
@given(TEXTS, TEXTS)
def test_f1_is_the_formula_over_multisets(text: str, other: str) -> None:
    left, right = normal.squad(text).split(), normal.squad(other).split()
    common = sum((Counter(left) & Counter(right)).values())
    expected = 2 * common / (len(left) + len(right)) if left and right else float(left == right)
    assert F1()({"answers": [other]}, {"answer": text}).tally.value == pytest.approx(expected)


def test_a_program_that_failed_did_not_abstain() -> None:
    lost = failure(ValueError("no model"))
    assert ExactMatch()({"answers": []}, lost).tally.value == 0
    assert F1()({"answers": []}, lost).tally.state() == {"total": 0.0, "weight": 1.0}
    card = answering.scorecard([{"answers": []}], [lost])
    assert card.values["exact_match"] == 0
    assert "the program failed" in card.warnings[0]


def test_errors_say_what_was_asked_and_expected() -> None:
    gold = {"question": "Wanneer?", "answers": ["1800", "in 1800"]}
    (wrong,) = ExactMatch()(gold, {"answer": "1900"}).errors
    assert (wrong.kind, wrong.field) == ("wrong_answer", "answer")
    assert wrong.message == "Answered “1900” to “Wanneer?”; expected “1800” (or 1 other wordings)."
    assert ExactMatch()(gold, {"answer": " "}).errors[0].kind == "missed"
    assert ExactMatch()({"answers": []}, {"answer": "1900"}).errors[0].kind == "unanswerable"
    assert ExactMatch()(gold, {"answer": "1800"}).right == ("the answer “1800”",)


@pytest.mark.parametrize(
    ("gold", "pred", "message"),
    [
        ({"id": "q1", "answers": [[]]}, {"answer": ""}, r"record q1, answers\[0\]: expected text, found \[\]"),
        ({"id": "q1", "answers": {"a": 1}}, {"answer": ""}, "record q1, answers: expected a list of texts"),
        ({"id": "q1", "answers": ["a"]}, {"answer": ["a"]}, "record q1, answer: expected text .*, found .'a'."),
        ({"id": "q1", "answers": [None]}, {"answer": ""}, r"answers\[0\]: expected text, found None"),
        ({"id": "q1", "reference": [5]}, {"answer": ""}, r"record q1, reference: expected text, found \[5\]"),
    ],
)
def test_what_is_no_answer_is_one_line(gold: dict[str, object], pred: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        ExactMatch()(gold, pred)


def test_an_answer_of_none_abstains_and_gold_without_answers_is_said() -> None:
    assert ExactMatch()({"answers": []}, {"answer": None}).tally.value == 1
    with pytest.raises(GoldassayError, match="the gold example has no field 'answers'; it has question"):
        ExactMatch()({"question": "?"}, {"answer": ""})
    with pytest.raises(GoldassayError, match="the prediction has no field 'answer'; it has text, note"):
        ExactMatch()({"answers": []}, {"text": "", "note": ""})


def test_lengths_must_agree() -> None:
    with pytest.raises(GoldassayError, match="1 gold records against 0 predictions"):
        answering.scorecard([{"answers": []}], [])


# language, gold, answer, exact match, F1: characters are words in Chinese, Japanese and Thai; elsewhere MLQA's articles
MLQA = [
    ("zh", "阿姆斯特丹", "阿姆斯特丹。", 1, 1),
    ("zh", "阿姆斯特丹", "在阿姆斯特丹", 0, 10 / 11),  # P 5/6, R 5/5
    ("zh", "1800 年", "1800年", 1, 1),  # numbers and Latin words stay whole
    ("ja", "東京タワー", "東京", 0, 4 / 7),  # P 2/2, R 2/5
    ("th", "กรุงเทพ", "กรุง", 0, 8 / 11),  # P 4/4, R 4/7
    ("de", "das Museum", "Museum", 1, 1),
    ("es", "El Prado", "prado", 1, 1),
    ("en", "the museum", "museum", 1, 1),
    ("ar", "المتحف", "متحف", 1, 1),  # the article goes also inside a word, as published
    ("nl", "het museum", "museum", 0, 2 / 3),  # MLQA has no Dutch: no articles
]


@pytest.mark.parametrize(("language", "gold", "prediction", "exact", "f1"), MLQA)
def test_mlqas_rules(language: str, gold: str, prediction: str, exact: float, f1: float) -> None:
    question, pred = {"answers": [gold], "language": language}, {"answer": prediction}
    for where in (language, "gold"):
        assert ExactMatch("mlqa", language=where)(question, pred).tally.value == exact
        assert F1("mlqa", language=where)(question, pred).tally.value == pytest.approx(f1)


def test_words_that_are_not_separated_are_said() -> None:
    gold, pred = [{"answers": ["阿姆斯特丹"]}], [{"answer": "在阿姆斯特丹"}]
    card = answering.scorecard(gold, pred)
    assert card.values["f1"] == 0
    assert any("1 of 1 questions have answers outside ASCII" in warning for warning in card.warnings)
    card = answering.scorecard(gold, pred, measures=["mlqa_f1", "F1('mlqa', empty='equal')"])
    ours = pytest.approx(10 / 11)  # the script tells the language
    assert card.values == {"mlqa_f1": ours, "F1('mlqa', empty='equal')": ours}
    assert card.warnings == []
    chinese = answering.scorecard([{**gold[0], "language": "zh"}], pred, measures=["mlqa_f1"])
    assert chinese.by["language"]["zh"]["mlqa_f1"] == ours
    plain = answering.scorecard([{"answers": ["1800"]}], [{"answer": "1800"}])
    assert plain.warnings == []


def test_what_embeds_texts_is_asked_for_by_name() -> None:
    lengths: list[int] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        lengths.append(len(texts))
        return [[1.0, float(len(text))] for text in texts]

    gold, pred = [{"answers": ["1800"]}], [{"answer": "in 1800"}]
    unasked = answering.scorecard(gold, pred)
    assert (unasked.values["semantic_similarity"], unasked.values["final_score"]) == (None, None)
    card = answering.scorecard(gold, pred, measures=["quality", "f1"], embedder=Function(embed, "lengths of texts"))
    assert list(card.values) == ["quality", "f1"]
    assert card.values["quality"] is not None
    assert lengths == [2]
    with pytest.raises(GoldassayError, match="answering has no measure 'beauty'; it has .*exact_match"):
        answering.scorecard(gold, pred, measures=["beauty"])


def test_answers_are_read_as_squads_data_set_has_them() -> None:
    gold = {"answers": {"text": ["Denver Broncos", "Broncos"], "answer_start": [0, 7]}}
    assert ExactMatch()(gold, {"answer": "the Broncos"}).tally.value == 1
    assert F1()({"answers": {"text": [], "answer_start": []}}, {"answer": ""}).tally.value == 1


def test_answers_in_another_unicode_form_than_golds_are_counted() -> None:
    gold = [{"answers": ["Café"]}, {"answers": ["“De Hal”"]}, {"answers": ["Musée"]}]
    card = answering.scorecard(gold, [{"answer": "Cafe\u0301"}, {"answer": '"De Hal"'}, {"answer": "Louvre"}])
    assert card.values["exact_match"] == 0.0  # é is two characters, and SQuAD deletes “ of neither side
    assert [
        note for note in card.notes if note.startswith("2 of 3 answers differ from gold's in Unicode's forms alone")
    ]
    assert answering.scorecard(gold, [{"answer": text} for text in ("Café", "x", "y")]).notes == []

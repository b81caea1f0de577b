"""The ranking's five: every row of its rules, the example, and the weakness that calibration shows."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.ext.compat import rankings
from goldassay.measures import answering
from goldassay.measures.answering import Confidence, Robustness, Speed, final_score
from goldassay.models.embedding import Function
from goldassay.running.guard import failure

LONG = " ".join(["word"] * 51)
MEDIUM = " ".join(["word"] * 31)


@pytest.mark.parametrize(
    ("answerable", "text", "raw", "expected"),
    [
        (True, "", 0.9, 0.2),
        (True, "…", 0.9, 0.2),
        (True, "5", 0.9, 0.9),  # an answer of one character is an answer
        (True, "NL", 0.8, 0.8),
        (True, "In 1800.", 0.0, 0.0),
        (True, "In 1800.", None, None),
        (False, "", 0.9, 1.0),
        (False, "", None, 1.0),
        (False, "In 1800.", 0.0, 0.9),
        (False, "In 1800.", 0.299, 0.9),
        (False, "In 1800.", 0.3, 0.6),
        (False, "In 1800.", 0.5, 0.6),
        (False, "In 1800.", 0.501, 0.2),
        (False, "In 1800.", 1.0, 0.2),
    ],
)
def test_every_row_of_confidence(answerable: bool, text: str, raw: float | None, expected: float | None) -> None:
    gold, pred = {"answers": ["x"] if answerable else []}, {"answer": text, "confidence": raw}
    tally = Confidence()(gold, pred).tally
    assert (tally.value if tally.weight else None) == expected


@pytest.mark.parametrize(
    ("answerable", "text", "error", "expected"),
    [
        (True, "In 1800.", True, 0.0),
        (True, "", False, 0.3),
        (True, LONG, False, 0.7),
        (True, MEDIUM, False, 1.0),
        (True, " ".join(["word"] * 50), False, 1.0),
        (True, "5", False, 1.0),
        (False, "In 1800.", True, 0.0),
        (False, "", True, 0.0),
        (False, "", False, 1.0),
        (False, MEDIUM, False, 0.2),
        (False, " ".join(["word"] * 30), False, 0.6),
        (False, "In 1800.", False, 0.6),
    ],
)
def test_every_row_of_robustness(answerable: bool, text: str, error: bool, expected: float) -> None:
    gold = {"answers": ["x"] if answerable else []}
    pred = {"answer": text, "error": "boom" if error else None}
    assert Robustness()(gold, pred).tally.value == expected


@pytest.mark.parametrize(("ms", "expected"), [(0, 1.0), (500, 0.75), (2000, 0.0), (9000, 0.0)])
def test_every_row_of_speed(ms: float, expected: float) -> None:
    assert Speed()({}, {"latency_ms": ms}).tally.value == expected


def test_speed_leaves_out_the_warm_up_and_what_was_not_measured() -> None:
    assert Speed()({}, {"latency_ms": 9000, "meta": {"warmup": True}}).tally.weight == 0
    assert Speed()({}, {"answer": ""}).tally.weight == 0
    assert Speed(limit=1000)({}, {"latency_ms": 500}).tally.value == 0.5
    with pytest.raises(DataError, match="latency_ms: expected milliseconds, 0 or more, found -1"):
        Speed()({}, {"latency_ms": -1})


def test_a_failed_program_has_neither_confidence_nor_robustness() -> None:
    lost = failure(RuntimeError("boom"))
    assert Confidence()({"answers": []}, lost).tally.value == 0
    assert Robustness()({"answers": []}, lost).tally.value == 0


def test_the_example_comes_out() -> None:
    # 0.847·0.25 + 0.756·0.20 + 0.891·0.25 + 0.823·0.15 + 0.950·0.15 = 0.85165
    values = {"accuracy": 0.847, "confidence": 0.756, "quality": 0.891, "speed": 0.823, "robustness": 0.950}
    assert final_score(values) == pytest.approx(0.85165)
    assert round(final_score(values) or 0, 3) == 0.852
    assert final_score({**values, "speed": None}) is None
    assert final_score({**values, "speed": None}, {"accuracy": 1.0}) == 0.847
    with pytest.raises(GoldassayError, match="weights are for accuracy, quality"):
        final_score(values, {"beauty": 1.0})


class OneToken:
    """A token embedder in which every letter has its own direction."""

    name = "letters"
    special = frozenset({0})

    def __call__(self, texts: Sequence[str], /) -> list[tuple[Any, Any]]:
        rows: list[tuple[Any, Any]] = []
        for text in texts:
            ids = [0, *(1 + ord(c) % 7 for c in text), 0]
            rows.append((ids, [[float(i == number) for i in range(8)] for number in ids]))
        return rows


def test_the_scorecard_has_the_five_and_the_final_score() -> None:
    gold = [{"answers": ["1800"]}, {"answers": []}]
    pred = [
        {"answer": "1800", "confidence": 0.8, "latency_ms": 500},
        {"answer": "", "confidence": 0.1, "latency_ms": 1500},
    ]
    card = answering.scorecard(gold, pred, embedder=Function(lambda t: [[1.0]] * len(t), "one"), tokens=OneToken())
    five = {name: card.values[name] for name in ("accuracy", "quality", "confidence", "speed", "robustness")}
    # confidence (0.8 + 1.0)/2, speed (0.75 + 0.25)/2, robustness (1 + 1)/2
    assert five == {"accuracy": pytest.approx(1), "quality": 1, "confidence": 0.9, "speed": 0.5, "robustness": 1}
    # 0.25 + 0.25 + 0.2·0.9 + 0.15·0.5 + 0.15
    assert card.values["final_score"] == pytest.approx(0.905)
    assert answering.scorecard(gold, pred, embedder=None, tokens=None).values["final_score"] is None


def test_the_weakness_of_confidence_stands_beside_calibration() -> None:
    gold = [{"answers": ["1800"]}] * 2
    sure_and_wrong = [{"answer": "1900", "confidence": 1.0}, {"answer": "1800", "confidence": 1.0}]
    card = answering.scorecard(gold, sure_and_wrong, embedder=None, tokens=None)
    assert card.values["confidence"] == 1.0  # the rule never looks at the answer
    assert (card.values["brier"], card.values["ece"], card.values["aurc"]) == (0.5, 0.5, 0.5)


def calibrated(statistic: str, sure: list[float], right: list[float]) -> float:
    gold = [{"answers": ["1800"] if each else ["1900"]} for each in right]
    pred = [{"answer": "1800", "confidence": each} for each in sure]
    measure = answering.Calibration(statistic=statistic)
    return float(measure.tallies(measure.batch(gold, pred)).summed.value)


def test_calibration_by_hand() -> None:
    sure, right = [0.9, 0.8, 0.3, 0.2], [1.0, 0.0, 1.0, 0.0]
    assert calibrated("brier", sure, right) == pytest.approx((0.01 + 0.64 + 0.49 + 0.04) / 4)
    assert calibrated("ece", sure, right) == pytest.approx((0.1 + 0.8 + 0.7 + 0.2) / 4)
    assert calibrated("aurc", sure, right) == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4) / 4)
    assert calibrated("ece", [1.0], [1.0]) == 0


@drawn(60)
@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.booleans()), min_size=1, max_size=12), st.randoms()
)
def test_calibration_does_not_depend_on_the_order(rows: list[tuple[float, bool]], random: Random) -> None:
    swapped = list(rows)
    random.shuffle(swapped)
    for statistic in ("brier", "ece", "aurc"):
        statistic_value = calibrated(statistic, [c for c, _ in rows], [float(k) for _, k in rows])
        assert statistic_value == pytest.approx(
            calibrated(statistic, [c for c, _ in swapped], [float(k) for _, k in swapped])
        )
        assert 0 <= statistic_value <= 1


def test_what_cannot_be_calibrated_is_said() -> None:
    with pytest.raises(GoldassayError, match="statistic is brier, ece or aurc, not 'mce'"):
        answering.Calibration(statistic="mce")
    with pytest.raises(DataError, match="confidence: expected a number from 0 to 1, found 2"):
        Confidence()({"answers": ["x"]}, {"answer": "x", "confidence": 2})


def test_models_are_ranked_by_their_final_score() -> None:
    five = {"accuracy": 0.8, "quality": 0.8, "confidence": 0.5, "speed": 1.0, "robustness": 0.6}
    # 0.25·0.8 + 0.25·0.8 + 0.2·0.5 + 0.15·1 + 0.15·0.6 = 0.74; 0.2 less accuracy is 0.05 less
    low = {**five, "accuracy": 0.6}
    models: dict[str, Any] = {"low": low, "unknown": {**five, "quality": None}, "one": five, "two": five, "last": low}
    ranking = rankings(models)
    assert [(row["Rank"], row["Model"]) for row in ranking] == [
        (1, "one"), (1, "two"), (3, "low"), (3, "last"), (None, "unknown"),
    ]  # fmt: skip
    assert [row["Final_Score"] for row in ranking] == pytest.approx([0.74, 0.74, 0.69, 0.69, None])
    assert list(ranking[0]) == [
        "Rank",
        "Model",
        "Accuracy",
        "Quality",
        "Confidence",
        "Speed",
        "Robustness",
        "Final_Score",
    ]
    swift = rankings(models, {"speed": 1.0})
    assert {row["Rank"] for row in swift} == {1}  # quality weighs nothing, so its lack is none
    with pytest.raises(GoldassayError, match="nameless has no speed; a ranking needs accuracy"):
        rankings({"nameless": {key: value for key, value in five.items() if key != "speed"}})


def test_scorecards_are_ranked() -> None:
    gold = [{"answers": ["1800"]}, {"answers": []}]
    cards = {
        name: answering.scorecard(
            gold,
            [{"answer": wording, "confidence": 0.9, "latency_ms": 100}, {"answer": "", "latency_ms": 100}],
            embedder=Function(lambda texts: [[1.0, float(len(text))] for text in texts], "lengths"),
            tokens=None,
        )
        for name, wording in (("wrong", "1900 or so"), ("right", "1800"))
    }
    ranking = rankings(cards, {"quality": 0.5, "confidence": 0.5})
    assert [row["Model"] for row in ranking] == ["right", "wrong"]
    assert ranking[0]["Final_Score"] == pytest.approx((1 + (0.9 + 1) / 2) / 2)
    assert ranking[0]["Accuracy"] is None


def test_empty_answers_alone_are_no_confidence() -> None:
    gold = [{"answers": ["1800"]}, {"answers": ["1900"]}, {"answers": []}]
    silent = answering.scorecard(
        gold, [{"answer": "1800"}, {"answer": "1"}, {"answer": ""}], embedder=None, tokens=None
    )
    assert silent.values["confidence"] is None
    half = [{"answer": "1800", "confidence": 0.5}, {"answer": "1"}, {"answer": ""}]
    card = answering.scorecard(gold, half, embedder=None, tokens=None)
    assert card.values["confidence"] == 0.75  # (0.5 + 1.0) / 2
    abstains = answering.scorecard(gold, [{"answer": ""}] * 3, embedder=None, tokens=None)
    assert abstains.values["confidence"] == pytest.approx(1.4 / 3)  # 0.2, 0.2, 1.0: nothing needs one

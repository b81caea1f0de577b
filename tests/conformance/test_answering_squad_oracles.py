"""Exact match and F1 held to DSPy's own on real questions, to ``evaluate`` and torchmetrics where they load."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from dspy.evaluate.metrics import EM
from dspy.evaluate.metrics import F1 as F1_OF_DSPY
from tests.conformance import cases

from goldassay.gold import read
from goldassay.measures.answering import squad


@pytest.fixture(scope="module")
def answered(real_data: Path) -> tuple[list[str], list[str], list[list[str]]]:
    """Ids, answers of which many are damaged, golds: of the heritage questions, and of XQuAD where it is."""
    rows = [row for row in cases.heritage("answering") if row["answers"]]
    assert len(rows) > 100
    xquad = real_data / "xquad" / "xquad.en.json"
    rows += read(xquad, format="squad", task="answering") if xquad.is_file() else []
    rng, golds = random.Random(0), [list(row["answers"]) for row in rows]
    answers = [rng.choice([own[0], f"the {own[0]}!", own[0].split()[0], rng.choice(golds)[0]]) for own in golds]
    return [row["id"] for row in rows], answers, golds


def test_each_answer_has_the_value_that_dspy_gives(answered: tuple[list[str], list[str], list[list[str]]]) -> None:
    _, answers, golds = answered
    exact, f1 = squad(answers, golds)
    assert exact == [float(EM(text, own)) for text, own in zip(answers, golds, strict=True)]
    assert f1 == pytest.approx(
        [float(F1_OF_DSPY(text, own)) for text, own in zip(answers, golds, strict=True)], abs=1e-12
    )


def test_the_means_are_those_of_evaluate(answered: tuple[list[str], list[str], list[list[str]]]) -> None:
    evaluate = pytest.importorskip("evaluate", reason="evaluate is not installed")
    try:
        metric = evaluate.load("squad")
    except (OSError, ValueError) as error:  # its metrics are downloaded
        pytest.skip(f"evaluate's squad cannot be loaded here: {type(error).__name__}")
    ids, answers, golds = answered
    official = metric.compute(
        predictions=[{"id": key, "prediction_text": text} for key, text in zip(ids, answers, strict=True)],
        references=[
            {"id": key, "answers": {"text": own, "answer_start": [0] * len(own)}}
            for key, own in zip(ids, golds, strict=True)
        ],
    )
    exact, f1 = squad(answers, golds)
    assert 100 * sum(exact) / len(exact) == pytest.approx(official["exact_match"], abs=1e-9)
    assert 100 * sum(f1) / len(f1) == pytest.approx(official["f1"], abs=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_the_means_are_those_of_torchmetrics(answered: tuple[list[str], list[str], list[list[str]]]) -> None:
    """The official script again, in a package that downloads nothing."""
    text = pytest.importorskip("torchmetrics.functional.text", reason="torchmetrics is not installed")
    ids, answers, golds = answered
    official = text.squad(
        [{"id": key, "prediction_text": text} for key, text in zip(ids, answers, strict=True)],
        [
            {"id": key, "answers": {"text": own, "answer_start": [0] * len(own)}}
            for key, own in zip(ids, golds, strict=True)
        ],
    )
    exact, f1 = squad(answers, golds)
    # its sums are of 32 bits
    assert 100 * sum(exact) / len(exact) == pytest.approx(float(official["exact_match"]), abs=1e-4)
    assert 100 * sum(f1) / len(f1) == pytest.approx(float(official["f1"]), abs=1e-4)

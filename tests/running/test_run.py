"""Runs: rows as they are made, exceptions kept, resumed, without secrets."""

from __future__ import annotations

import json
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay._support.exceptions import ConventionError, GoldassayError, RunStopped
from goldassay._support.secrets import redact, remember
from goldassay.measures import extraction, trajectories
from goldassay.results.of_metric import fold_metric
from goldassay.running import Run, new_folder
from goldassay.running.evaluate import evaluate

METRIC = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})


def examples(n: int) -> list[Any]:
    return [
        dspy.Example(
            id=f"e{i}", text=f"in {1500 + i}", entities=[(3, 7, "TMP")], strata={"half": "low" if i < n / 2 else "high"}
        ).with_inputs("text")
        for i in range(n)
    ]


class Years(dspy.Module):  # type: ignore[misc]
    def forward(self, text: str) -> Any:
        if text.endswith("3"):
            raise ValueError("no threes, key sk-abcdefgh12345678")
        return dspy.Prediction(entities=[{"start": 3, "end": 7 if text.endswith("1") else 6, "type": "TMP"}])


def test_rows_are_in_order_with_errors_kept_and_strata_measured(tmp_path: Path) -> None:
    run = evaluate(Years(), examples(20), METRIC, threads=4, folder=tmp_path / "r", progress=False)
    again = Run.load(tmp_path / "r")
    assert [row.id for row in again.rows] == [f"e{i}" for i in range(20)]
    assert again.values == run.values
    assert again.value == pytest.approx(run.value)
    # 20 gold: 2 right, 2 raised (missed), 16 with a wrong boundary: strict tp 2 fp 16 fn 18; partial tp 18 fn 2
    assert again.values["strict_f1"] == pytest.approx(4 / (4 + 16 + 18))
    assert again.values["partial_f1"] == pytest.approx(36 / (36 + 2))
    assert again.by_stratum["half"]["low"]["examples"] == 10
    failed = [row for row in again.rows if row.error]
    assert [row.id for row in failed] == ["e3", "e13"]
    assert again.head.status == "finished"
    assert again.rows[0].errors[0].kind == "wrong_boundary"


def test_no_secret_reaches_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "hunter2-hunter2")

    class Leaky(dspy.Module):  # type: ignore[misc]
        def forward(self, text: str) -> Any:
            raise RuntimeError("hunter2-hunter2 at https://me:pw@host/ and sk-abcdefgh12345678, Bearer abcdefghijkl")

    about = {"url": "https://a:b@c/"}
    with pytest.raises(RunStopped, match="all 2 examples failed") as caught:
        evaluate(Leaky(), examples(2), METRIC, folder=tmp_path / "r", progress=False, settings=about)
    assert "hunter2" not in str(caught.value)
    written = "".join(file.read_text() for file in (tmp_path / "r").iterdir())
    for secret in ("hunter2", "sk-abcdefgh", "me:pw", "a:b@", "abcdefghijkl"):
        assert secret not in written
    assert "hunter2-hunter2" in remember()
    assert redact("nothing here") == "nothing here"


def test_an_interrupted_run_is_readable_and_goes_on(tmp_path: Path) -> None:
    gold, seen = examples(30), threading.Event()

    class Slow(dspy.Module):  # type: ignore[misc]
        def forward(self, text: str) -> Any:
            if text == "in 1509" and not seen.is_set():
                seen.set()
                raise KeyboardInterrupt
            return dspy.Prediction(entities=[(3, 7, "TMP")])

    program = Slow()
    with pytest.raises(KeyboardInterrupt):
        evaluate(program, gold, METRIC, folder=tmp_path / "r", progress=False)
    half = Run.load(tmp_path / "r")
    assert half.head.status == "interrupted"
    assert len(half.rows) == 9
    with pytest.raises(ConventionError, match="another gold"):
        evaluate(program, examples(29), METRIC, resume=tmp_path / "r", progress=False)
    with pytest.raises(ConventionError, match="another measure"):
        evaluate(program, gold, Metric(extraction.SpanF1("exact")), resume=tmp_path / "r", progress=False)
    whole = evaluate(program, gold, METRIC, resume=tmp_path / "r", progress=False)
    assert len(whole.rows) == 30
    assert whole.value == 1.0
    assert Run.load(tmp_path / "r").head.status == "finished"


def test_a_run_without_rows_has_no_value(tmp_path: Path) -> None:
    class Stopped(dspy.Module):  # type: ignore[misc]
        def forward(self, text: str) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(Stopped(), examples(3), METRIC, folder=tmp_path / "r", progress=False)
    assert Run.load(tmp_path / "r").summary()["value"] is None


def test_a_row_that_was_being_written_is_left_out_and_made_again(tmp_path: Path) -> None:
    gold = examples(6)
    evaluate(Years(), gold, METRIC, folder=tmp_path / "r", progress=False)
    file = tmp_path / "r" / "rows.jsonl"
    file.write_text(file.read_text()[:-30])
    assert len(Run.load(tmp_path / "r").rows) == 5
    assert len(evaluate(Years(), gold, METRIC, resume=tmp_path / "r", progress=False).rows) == 6
    assert [row.index for row in Run.load(tmp_path / "r").rows] == list(range(6))


def test_usage_is_counted_per_example(learner: Any, names_program: Any, names_gold: list[Any], tmp_path: Path) -> None:
    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    run = evaluate(names_program, names_gold[:5], METRIC, lm=lm, threads=2, folder=tmp_path / "r", progress=False)
    assert run.cost["calls"] == 5
    assert all(row.usage.calls == 1 for row in run.rows)
    assert run.cost["completion_tokens"] == 25
    assert repr(Run.load(tmp_path / "r").cost) == repr(run.cost)  # 5 calls, not 5.0


def test_folders_have_names_of_their_own_and_no_gold_is_an_error(tmp_path: Path) -> None:
    first = new_folder(tmp_path, "a/b c")
    assert first.is_dir()
    assert first.parent == tmp_path
    assert new_folder(tmp_path, "a/b c") != first
    with pytest.raises(GoldassayError, match="no gold examples"):
        evaluate(Years(), [], METRIC)
    with pytest.raises(GoldassayError, match="no run at"):
        Run.load(tmp_path / "nothing")
    json.dumps(evaluate(Years(), examples(4), METRIC, progress=False).summary())


def test_scores_beyond_one_and_below_a_failure_draw_a_warning() -> None:
    def percent(gold: Any, pred: Any) -> float:
        return 100.0 if pred.entities[0]["end"] == 7 else 30.0

    (warning,) = evaluate(Years(), examples(2), percent, progress=False).warnings
    assert warning.startswith(
        "scores go from 30 to 100; in error patterns, patches and demonstrations 1 is a right answer"
    )
    assert not evaluate(Years(), examples(2), lambda gold, pred: percent(gold, pred) / 100, progress=False).warnings
    # e3 fails, which counts 0 and so more than a wrong answer
    below = evaluate(Years(), examples(4), lambda gold, pred: percent(gold, pred) / 100 - 0.5, progress=False)
    assert [warning.split(";")[0] for warning in below.warnings] == ["scores go from -0.2 to 0.5"]
    assert not evaluate(
        Years(), examples(2), lambda gold, pred: percent(gold, pred) / 100 - 0.5, progress=False
    ).warnings


def test_errors_of_form_alone_are_counted() -> None:
    rows: list[Any] = [
        ("Delft", "Delft"),
        ("Gouda", "gouda."),
        ("Tiel", "Gouda"),
        ("Café", "Cafe\u0301"),
        ("1885", 1885),
    ]
    gold = [dspy.Example(text=city, city=city, note="a").with_inputs("text") for city, _ in rows]

    def program(text: str) -> dict[str, Any]:
        return {"city": dict(rows)[text], "note": "A"}

    def same(gold: Any, pred: Any) -> bool:
        return bool(gold.city == pred.city)

    run = evaluate(program, gold, same, progress=False)
    assert run.value == 0.2
    (warning,) = run.warnings
    first = "the first: city: expected 'Gouda', got 'gouda.'."
    assert warning == f"3 errors are of form alone (case, marks, Unicode, type or offsets); {first}"
    assert {error.field for row in run.rows for error in row.errors} == {"city"}  # the metric reads no note


@pytest.mark.parametrize(
    ("gold", "pred"), [(True, "yes"), ("", None), (None, ""), ("5.00", 5.0), ("5.00", Decimal(5)), ("a", "```\na\n```")]
)
def test_values_of_another_type_are_errors_of_form_alone(gold: object, pred: object) -> None:
    def same(gold: Any, pred: Any) -> bool:
        return bool(gold.value == pred.value)

    examples = [dspy.Example(text="a", value=gold).with_inputs("text")]
    run = evaluate(lambda text: {"value": pred}, examples, same, progress=False)
    result = fold_metric(Metric.of(same), [{"value": gold}], [{"value": pred}])
    first = f"the first: value: expected {gold!r}, got {pred!r}."
    for warnings in (run.warnings, result.notes):
        assert warnings == [f"1 error is of form alone (case, marks, Unicode, type or offsets); {first}"]


def test_a_spurious_none_is_not_an_empty_value() -> None:
    calls = [{"name": "none", "args": {}}]
    examples = [dspy.Example(text="a", calls=[]).with_inputs("text")]
    run = evaluate(lambda text: {"trajectory": calls}, examples, Metric(trajectories.CallF1()), progress=False)
    assert [error.pred for row in run.rows for error in row.errors] == ["none()"]
    assert not [warning for warning in run.warnings if "form alone" in warning]

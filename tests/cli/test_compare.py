"""``goldassay compare``: what it refuses, what is not available, and what it shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import numpy as np
import pytest
from typer.testing import CliRunner

from goldassay import Metric, workspace
from goldassay._support.exceptions import ConventionError
from goldassay.cli import app
from goldassay.measures import extraction
from goldassay.running import Run
from goldassay.running.evaluate import evaluate
from goldassay.statistics import compare

METRIC = Metric({extraction.SpanF1(): 1.0})
OTHER = Metric({extraction.SpanF1("partial"): 1.0})
GOLD = [
    dspy.Example(
        id=f"e{i}", text="Ada 1815", document=f"d{i // 4}", language="nl", entities=[(0, 3, "PER"), (4, 8, "TMP")]
    ).with_inputs("text")
    for i in range(16)
]


def names(text: str) -> Any:
    return dspy.Prediction(entities=[(0, 3, "PER")])


def every(text: str) -> Any:
    return dspy.Prediction(entities=[(0, 3, "PER"), (4, 8, "TMP")])


def broken(text: str) -> Any:
    raise TimeoutError("no answer")


Make = Callable[..., str]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes a run and gives its folder."""

    def made(program: Any, name: str, metric: Any = METRIC, gold: Any = GOLD) -> str:
        evaluate(program, gold, metric, folder=tmp_path / name, progress=False, name=name, max_failures=1)
        return str(tmp_path / name)

    return made


def found(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["compare", *words, "--json"])
    assert done.exit_code == 0, done.output
    body: dict[str, Any] = json.loads(done.stdout)
    return body


def test_documents_are_resampled_and_swapped_whole(make: Make) -> None:
    body = found(make(names, "a"), make(every, "b"))
    (comparison,) = body["comparisons"]
    runs = [Run.load(run["folder"]) for run in body["runs"]]
    documents = np.repeat(np.arange(4), 4).tolist()
    whole = compare(
        runs[1].tallies("strict_f1"), runs[0].tallies("strict_f1"), extraction.SpanF1().zero, clusters=documents
    )
    assert (comparison["n"], comparison["p"], comparison["difference"]) == (4, whole.p, pytest.approx(1 / 3))
    assert comparison["p"] > 0.1  # four documents cannot show more, however many sentences they have


def test_an_arm_that_failed_is_not_available_and_loses_nothing(make: Make) -> None:
    runs = make(broken, "a"), make(names, "b"), make(every, "c")
    body = found(*runs)
    assert body["not_available"] == [runs[0]]
    assert [run["available"] for run in body["runs"]] == [False, True, True]
    assert [comparison["run"] for comparison in body["comparisons"]] == [runs[2]]
    assert [run["by"]["language"]["nl"]["strict_f1"] for run in body["runs"][1:]] == [pytest.approx(2 / 3), 1.0]
    output = CliRunner().invoke(app, ["compare", *runs]).stdout
    assert "not available" in output
    assert "3 against 2, 16 examples" in output
    assert found(runs[0], runs[0])["comparisons"] == []


def test_a_run_without_rows_did_not_fail_on_every_example(make: Make) -> None:
    run = make(every, "run")
    empty = make(every, "empty")
    (Path(str(empty)) / "rows.jsonl").unlink()
    output = CliRunner().invoke(app, ["compare", str(run), str(empty)], catch_exceptions=False).stdout
    assert f"not available: {empty} has no rows: it was stopped before the first" in " ".join(output.split())


def test_what_was_won_and_lost_is_shown(make: Make) -> None:
    few, all_ = make(names, "a"), make(every, "b")
    won, lost = found(few, all_)["comparisons"][0], found(all_, few)["comparisons"][0]
    assert (won["won"][:2], won["lost"], lost["lost"][:2]) == (["e0", "e1"], [], ["e0", "e1"])
    assert "won e0, e1" in CliRunner().invoke(app, ["compare", few, all_]).stdout


def test_runs_of_one_name_are_told_apart(make: Make) -> None:
    run = make(names, "a")
    output = CliRunner().invoke(app, ["compare", run, run]).stdout
    assert "2 against 1, 16 examples" in output
    assert "–" in output  # nothing varies, so nothing is known of what could be detected


def test_runs_with_nothing_in_common_are_refused(make: Make, tmp_path: Path) -> None:
    def refused(*words: str) -> str:
        done = CliRunner().invoke(app, ["compare", *words])
        assert isinstance(done.exception, ConventionError)
        return str(done.exception)

    first = make(names, "a")
    assert "have no measure in common: strict_f1 and partial_f1" in refused(first, make(names, "b", OTHER))
    assert "are on different gold" in refused(first, make(names, "c", METRIC, GOLD[:8]))
    for name, part in (("d", slice(0, 8)), ("e", slice(4, 12))):  # as after Ctrl-C with several threads
        file = Path(make(names, name)) / "rows.jsonl"
        file.write_text("".join(file.read_text().splitlines(keepends=True)[part]))
    message = refused(str(tmp_path / "d"), str(tmp_path / "e"))
    assert "stopped at different examples; resume them first" in message
    assert "stopped at different examples" in refused(first, str(tmp_path / "d"))


METRICS = """
def strict(gold, pred):
    return gold["entities"] == pred["entities"]


def lenient(gold, pred):
    return gold["entities"][:1] == pred["entities"][:1]


def of_both(gold, pred):
    return {"score": strict(gold, pred), "first": lenient(gold, pred)}
"""


def test_runs_of_a_strict_and_a_lenient_metric_are_refused_or_measured_again(make: Make, tmp_path: Path) -> None:
    """Of one program they differ by nothing; in one file, and by an edit of the file, too."""
    file, commented, edited = (tmp_path / f"{name}.py" for name in ("own", "commented", "edited"))
    file.write_text(METRICS)
    commented.write_text(f"# mine\n{METRICS}\nUNUSED = 1\n")
    edited.write_text(METRICS.replace("[:1]", "[:2]"))

    def measured(name: str, place: str) -> str:
        return make(names, name, workspace.metric("own", place))

    strict, again = measured("strict", f"{file}:strict"), measured("again", f"{commented}:strict")
    lenient, other = measured("lenient", f"{file}:lenient"), measured("other", f"{edited}:lenient")
    for sides, first, second in (((strict, lenient), "strict (", "lenient ("), ((lenient, other), "lenient (", "t (")):
        done = CliRunner().invoke(app, ["compare", *sides])
        assert isinstance(done.exception, ConventionError)
        assert f"different metrics: {first}" in str(done.exception)
        assert second in str(done.exception).partition(" and ")[2]
    assert found(strict, again)["comparisons"][0]["difference"] == 0
    for name, value in (("strict", 0), ("lenient", 1)):
        body = found(strict, lenient, "--metric", f"{file}:{name}")
        assert [run["value"] for run in body["runs"]] == [value, value]


def test_a_metric_that_calls_another_function_is_that_function_too(make: Make, tmp_path: Path) -> None:
    files = tmp_path / "own.py", tmp_path / "edited.py"
    files[0].write_text(METRICS)
    files[1].write_text(METRICS.replace("[:1]", "[:2]"))
    runs = [make(names, file.stem, workspace.metric("own", f"{file}:of_both")) for file in files]
    assert isinstance(CliRunner().invoke(app, ["compare", *runs]).exception, ConventionError)


def test_the_headline_is_of_the_value_that_both_runs_have(make: Make) -> None:
    """Of two metrics with other weights nothing but a measure is the same on both sides."""
    strict, partial = extraction.SpanF1(), extraction.SpanF1("partial")
    before = make(names, "a", Metric({strict: 0.2, partial: 0.8}))
    after = make(every, "b", Metric({strict: 1.0}))
    body = found(before, after)
    (comparison,) = body["comparisons"]
    assert comparison["measure"] == "strict_f1"
    difference = f"{comparison['difference']:+.3f}"
    assert difference in body["verdicts"][0]["sentence"]
    assert "strict F1" in body["verdicts"][0]["sentence"]

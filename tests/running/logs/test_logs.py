"""Logs of other tools become runs: the files beside this one were written by the tools (``files/make.py``)."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting.pages import report, sources
from goldassay.running import Run
from goldassay.running.comparing import compare
from goldassay.running.logs import read_log, runs_at

FILES = Path(__file__).parent / "files"


def call(*words: object) -> Any:
    done = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout)


def inspect_means(file: str) -> dict[str, float]:
    """Inspect's own means."""
    means = {}
    for score in json.loads((FILES / file).read_bytes())["results"]["scores"]:
        name = score["name"] if score.get("reducer", "mean") == "mean" else f"{score['name']}_{score['reducer']}"
        means[name] = score["metrics"].get("accuracy", score["metrics"].get("mean"))["value"]
    return means


def test_inspect_gives_the_means_that_inspect_says() -> None:
    (reduced,) = read_log(FILES / "inspect_reduced.json")
    assert reduced.values == inspect_means("inspect_reduced.json")
    assert not reduced.warnings
    (archive,) = read_log(FILES / "inspect_good.eval")
    assert archive.values == {name: reduced.values[name] for name in ("match", "partly", "length")}
    assert (archive.repeats, archive.unit, archive.about["lm"]) == (2, "3 documents", "mockllm/model")
    assert archive.zero.weights == {"match": 1.0, "partly": 1.0, "length": 0.0}  # a length is no rate
    assert reduced.zero.weights["match_mode"] == 0.0  # the same scores seen in another way
    assert archive.rows[5]["errors"][0]["message"] == "match: expected 'Havana', got 'Cuba'; both: 4 letters"


def test_a_failed_sample_is_a_failed_row_and_counts() -> None:
    (run,) = read_log(FILES / "inspect_bad.json")
    own = inspect_means("inspect_bad.json")
    assert own["match"] == 2 / 5  # France and Norway of the five that did not fail
    assert (run.values["match"], run.folded.failed) == (2 / 6, 1)
    assert run.rows[4]["error"] == "ValueError('no answer')"
    (warning,) = run.warnings
    assert warning.startswith("Inspect leaves 1 failed sample out of its means (match 0.4")


def test_a_mean_that_the_rows_do_not_give_is_a_warning(tmp_path: Path) -> None:
    log = json.loads((FILES / "inspect_reduced.json").read_bytes())
    log["results"]["scores"][0]["metrics"]["accuracy"]["value"] = 0.9
    (tmp_path / "log.json").write_text(json.dumps(log))
    (run,) = read_log(tmp_path / "log.json")
    assert run.warnings == ["Inspect says match is 0.9, and the scores in its log give 0.75"]


def test_dspy_files_give_the_score_that_evaluate_says() -> None:
    (good,), (bad,) = (read_log(FILES / f"dspy_{name}.json") for name in ("good", "bad"))
    assert [round(100 * run.value, 2) for run in (good, bad)] == [83.33, 33.33]  # what dspy.Evaluate printed
    assert (bad.folded.failed, bad.rows[4]["error"]) == (1, "the program raised an error")
    assert good.rows[0]["gold"] == {"capital": "Paris"}
    assert good.rows[0]["prediction"] == {"capital": "Paris", "reasoning": "known"}
    (table,) = read_log(FILES / "dspy_good.csv")
    assert (table.values, table.unit, table.about["gold"]) == (good.values, "3 documents", good.about["gold"])


PAIRS = [("inspect_bad.json", "inspect_good.eval", "match"), ("dspy_bad.json", "dspy_good.csv", "exact")]


@pytest.mark.parametrize(("before", "after", "name"), PAIRS)
def test_logs_are_taken_where_runs_are(before: str, after: str, name: str, tmp_path: Path) -> None:
    body = call("compare", FILES / before, FILES / after)
    (first, *_) = body["comparisons"]
    assert (first["measure"], len(first["won"]) > len(first["lost"])) == (name, True)
    assert first["corrected_p"] >= first["p"]
    assert call("runs", "show", FILES / before)["failed"] == 1
    assert call("audit", FILES / before, FILES / after)["verdict"]
    page = report(sources([FILES / before, FILES / after]).runs)
    refused = CliRunner().invoke(app, ["audit", str(FILES / after), str(FILES / before), "--fail-unless-better"])
    assert refused.exit_code == 1
    assert "dspy_good" in page or "capitals-good" in page
    assert (
        CliRunner()
        .invoke(app, ["runs", "export", str(FILES / after), "--format", "csv", "--out", str(tmp_path / "rows.csv")])
        .exit_code
        == 0
    )
    assert compare(FILES / before, FILES / after)[0].measure == name


def test_a_field_of_the_metadata_can_name_the_document() -> None:
    (run,) = runs_at(FILES / "inspect_bad.json", document="country")
    assert run.unit == "6 examples"
    with pytest.raises(DataError, match="'town' in its metadata, which has document, country"):
        runs_at(FILES / "inspect_bad.json", document="town")


def test_logs_of_other_examples_are_not_compared() -> None:
    with pytest.raises(GoldassayError, match="different gold"):
        compare(FILES / "inspect_bad.json", FILES / "dspy_bad.json")


def archive(**members: bytes) -> bytes:
    """A zip; ``__`` in a name stands for a slash."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name.replace("__", "/").replace("_json", ".json"), data)
    return content.getvalue()


HEAD = b'{"version": 2, "status": "success", "eval": {"task": "t"}}'
SAMPLE = b'{"id": 1, "epoch": 1, "input": "?", "target": "a", "scores": {"match": {"value": "C"}}}'
BROKEN = {
    "empty.json": (b"", "not JSON"),
    "text.json": (b"no log at all", "not JSON"),
    "deep.json": (b"[" * 100_000, "nested too deeply"),
    "other.json": (b'{"a": 1}', "no log that can be read"),
    "list.json": (b"[1, 2]", "no log that can be read"),
    "words.json": (b'[{"text": "a", "label": "b"}]', "no log that can be read"),
    "mixed.json": (b'[{"text": "a", "f1": 1}, {"text": "b", "f1": "x"}]', "row 2 is 'x', which is no number"),
    "zip.eval": (archive(other_json=b"{}"), "has no header.json"),
    "cut.eval": ((FILES / "inspect_good.eval").read_bytes()[:9000], "not a readable log of Inspect"),
    "bad.eval": (archive(header_json=b"{"), "not a readable log of Inspect"),
    "none.eval": (archive(header_json=HEAD), "the log has no samples"),
    "unscored.eval": (archive(header_json=HEAD, samples__1_json=SAMPLE.replace(b'"C"', b"NaN")), "has no scores"),
    "shape.eval": (archive(header_json=HEAD, samples__1_json=b'{"scores": []}'), "a log of another shape"),
    "twice.eval": (archive(header_json=HEAD, samples__1_json=SAMPLE, samples__2_json=SAMPLE), "duplicate"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_one_line(name: str, tmp_path: Path) -> None:
    content, message = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(GoldassayError, match=message) as caught:
        Run.load(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_an_archive_is_read_in_memory_and_never_larger_than_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = archive(header_json=HEAD, samples__1_json=SAMPLE)
    slip = io.BytesIO(data)
    with zipfile.ZipFile(slip, "a") as file:
        file.writestr("samples/../../../slipped.json", SAMPLE.replace(b'"id": 1', b'"id": 2'))
    (tmp_path / "a").mkdir()
    place = tmp_path / "a" / "slip.eval"
    place.write_bytes(slip.getvalue())
    assert len(Run.load(place).rows) == 2
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["slip.eval"]
    monkeypatch.setattr("goldassay.running.logs.inspect.LARGEST", 100)
    with pytest.raises(DataError, match="unpacks to more than"):
        Run.load(place)

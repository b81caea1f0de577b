"""Logs of other tools become runs: the files beside this one were written by the tools (``files/make.py``)."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.files import lines
from goldassay.cli import app
from goldassay.ext.interop.logs import read_log
from goldassay.ext.interop.logs.tools import LARGEST_HEAD
from goldassay.reporting.pages import report, sources
from goldassay.running import Run
from goldassay.running.comparing import compare
from goldassay.running.rows import Usage
from goldassay.running.run import open_runs
from goldassay.tuning.audit import audit

FILES = Path(__file__).parent / "files"


def call(*words: object) -> Any:
    done = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout)


def inspect_means(file: str) -> dict[str, float]:
    """Inspect's own means."""
    data = (FILES / file).read_bytes()
    head = zipfile.ZipFile(io.BytesIO(data)).read("header.json") if file.endswith(".eval") else data
    metrics = {score["name"]: score["metrics"] for score in json.loads(head)["results"]["scores"]}
    return {name: (each.get("accuracy") or each["mean"])["value"] for name, each in metrics.items()}


def test_inspect_gives_the_means_that_inspect_says() -> None:
    (run,) = read_log(FILES / "inspect_good.eval")
    assert run.values == inspect_means("inspect_good.eval")
    assert (run.repeats, run.unit, run.head.lm, run.warnings) == (2, "3 documents", "mockllm/model", [])
    assert run.zero.weights == {"match": 1.0, "partly": 1.0, "length": 0.0}  # a length is no rate
    assert run.rows[5].errors[0].message == "both: 4 letters"
    assert run.rows[0].latency_s == 0.124  # its total_time


def test_a_failed_sample_is_a_failed_row_and_counts() -> None:
    (run,) = read_log(FILES / "inspect_bad.json")
    own = inspect_means("inspect_bad.json")
    assert own["match"] == 2 / 5  # France and Norway of the five that did not fail
    assert (run.values["match"], run.failed) == (2 / 6, 1)
    assert run.rows[4].error == "ValueError('no answer')"
    assert run.warnings == ["1 of 6 samples failed and count; Inspect may leave them out of its means"]


def test_dspy_files_give_the_score_that_evaluate_says() -> None:
    (good,), (bad,) = (read_log(FILES / f"dspy_{name}.json") for name in ("good", "bad"))
    assert [round(100 * run.value, 2) for run in (good, bad)] == [83.33, 33.33]  # what dspy.Evaluate printed
    assert (bad.failed, bad.rows[4].error) == (1, "the program raised")
    assert good.rows[0].gold == {"capital": "Paris"}
    assert good.rows[0].prediction == {"capital": "Paris", "reasoning": "known"}
    (table,) = read_log(FILES / "dspy_good.csv")
    assert (table.values, table.unit, table.head.gold) == (good.values, "3 documents", good.head.gold)


def test_a_shorter_row_of_dspy_with_a_prediction_did_not_fail(tmp_path: Path) -> None:
    rows = json.loads((FILES / "dspy_good.json").read_bytes())
    del rows[2]["reasoning"]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    assert Run.load(tmp_path / "log.json").failed == 0


def test_deepeval_gives_the_means_that_deepeval_says() -> None:
    for file in ("deepeval_bad.json", "deepeval_good.json"):
        (run,) = read_log(FILES / file)
        means = {each["metric"]: each["scores"] for each in json.loads((FILES / file).read_bytes())["metricsScores"]}
        whole = {name: sum(scores) / 6 for name, scores in means.items()}  # a metric that failed counts as 0
        assert run.values == pytest.approx(whole, rel=1e-15)
        assert run.zero.worst == {"Length": 1.0}  # it passes below its threshold
    (bad,), (result,) = (read_log(FILES / f"deepeval_bad{end}.json") for end in ("", "_result"))
    assert (result.values, result.head.gold, result.unit) == (bad.values, bad.head.gold, "3 documents")
    assert (bad.failed, bad.head.lm) == (1, "the bad one")
    assert bad.warnings == ["1 of 6 samples failed and count; deepeval may leave them out of its means"]
    assert bad.rows[1].errors[0].message.startswith("Exact Match: The actual and expected outputs are different")


def test_mlflow_gives_the_means_that_mlflow_says() -> None:
    good, bad = sorted(read_log(FILES / "mlflow_traces.json"), key=lambda run: -run.value)  # in the order of traces
    assert good.values == pytest.approx({"brevity": 0.55, "exact": 5 / 6, "grade": 5 / 6}, rel=1e-15)
    assert {name: bad.values[name] for name in ("exact", "grade")} == {"exact": 2 / 6, "grade": 2 / 6}
    assert bad.values["brevity"] == pytest.approx(0.46 * 5 / 6)  # MLflow: 0.46 of five, without the call that failed
    assert (bad.failed, bad.unit) == (1, "3 documents")
    peru = next(row for row in bad.rows if (row.inputs or {})["inputs"] == {"country": "Peru"})
    assert peru.error == "the traced call failed; brevity: object of type 'NoneType' has no len()"
    assert (peru.gold, good.rows[0].prediction) == ({"capital": "Lima"}, {"output": "Cuba"})
    (frame,) = read_log(FILES / "mlflow_bad_frame.json")
    assert (frame.values, frame.head.gold) == (bad.values, bad.head.gold)
    (table,) = read_log(FILES / "mlflow_table.json")
    assert (table.values, table.unit) == ({"equal": 0.5}, "3 documents")
    assert table.rows[1].errors[0].message == "The metric gives 0.000."


def test_mlflow_inputs_are_those_of_the_span_since_its_preview_is_cut(tmp_path: Path) -> None:
    traces = json.loads((FILES / "mlflow_traces.json").read_bytes())
    for place, trace in enumerate(traces):
        trace["info"]["trace_metadata"]["mlflow.traceInputs"] = '{"text": "' + "word " * 48  # 250 characters
        trace["data"]["spans"][0]["attributes"]["mlflow.spanInputs"] = json.dumps(
            {"text": "word " * 60 + str(place % 6)}
        )
        trace["info"]["assessments"].append(
            {**trace["info"]["assessments"][0], "feedback": {"value": 9}, "valid": False}
        )
    (tmp_path / "traces.json").write_text(json.dumps(traces))
    runs = read_log(tmp_path / "traces.json")
    assert [len(run.rows) for run in runs] == [6, 6]
    assert len({json.dumps(row.inputs) for row in runs[0].rows}) == 6
    assert max(runs[0].values.values()) <= 1  # a value that was replaced does not count


def test_promptfoo_gives_the_means_that_promptfoo_says() -> None:
    log = json.loads((FILES / "promptfoo.json").read_bytes())
    runs = read_log(FILES / "promptfoo.json")
    assert [run.name for run in runs] == ["good #1", "good #2", "bad #3", "bad #4"]
    for run, prompt in zip(runs, log["results"]["prompts"], strict=True):
        metrics = prompt["metrics"]
        own = {"pass": metrics["testPassCount"] / 12, "score": metrics["score"] / 12}
        own |= {name: total / 12 for name, total in metrics["namedScores"].items()}
        assert run.values == pytest.approx(own, rel=1e-15)
        assert (run.size, run.zero.weights["pass"], run.zero.weights["score"]) == ("12 examples in 3 documents", 1, 0)
    assert runs[2].warnings == ["2 of 12 samples failed and count; promptfoo may leave them out of its means"]
    assert [row.error for row in runs[2].rows if row.error] == ["no answer"] * 2
    assert runs[0].rows[0].usage == Usage(prompt_tokens=9, completion_tokens=3)
    assert runs[0].rows[0].latency_s == log["results"]["results"][0]["latencyMs"] / 1000


def test_a_log_of_several_systems_is_several_runs() -> None:
    file = FILES / "promptfoo.json"
    body = call("compare", file)
    assert len(body["runs"]) == 4
    passes = [each for each in body["comparisons"] if each["measure"] == "pass"]
    assert [each["corrected_p"] >= each["p"] for each in passes] == [True] * 3
    assert len(body["ranks"]["pass"]) == 4
    two = call("compare", f"{file}:good #1", f"{file}:bad #3")
    assert [run["name"] for run in two["runs"]] == ["good #1", "bad #3"]
    assert call("runs", "show", f"{file}:bad #3")["name"] == "bad #3"
    for place, message in ((f"{file}:third", "no system 'third'; it has good"), (file, "has several systems: good")):
        with pytest.raises(GoldassayError, match=message):
            Run.load(place)


PAIRS = [
    ("inspect_bad.json", "inspect_good.eval", "match"),
    ("dspy_bad.json", "dspy_good.csv", "exact"),
    ("deepeval_bad_result.json", "deepeval_good.json", "Exact Match"),
    ("promptfoo.json:bad #3", "promptfoo.json:good #1", "pass"),
]


@pytest.mark.parametrize(("before", "after", "name"), PAIRS)
def test_logs_are_taken_where_runs_are(before: str, after: str, name: str, tmp_path: Path) -> None:
    body = call("compare", FILES / before, FILES / after)
    (first, *_) = body["comparisons"]
    assert (first["measure"], len(first["won"]) > len(first["lost"])) == (name, True)
    assert first["corrected_p"] >= first["p"]
    assert call("runs", "show", FILES / before)["failed"] >= 1
    assert call("audit", FILES / before, FILES / after)["verdict"]
    page = report(**sources([FILES / before, FILES / after]))
    refused = CliRunner().invoke(app, ["audit", str(FILES / after), str(FILES / before), "--fail-unless-better"])
    assert refused.exit_code == 1
    assert Run.load(FILES / after).name in page
    assert (
        CliRunner()
        .invoke(app, ["runs", "export", str(FILES / after), "--format", "csv", "--out", str(tmp_path / "rows.csv")])
        .exit_code
        == 0
    )
    assert compare(FILES / before, FILES / after)[0].measure == name


def test_a_field_of_the_metadata_can_name_the_document() -> None:
    (run,) = open_runs(FILES / "inspect_bad.json", document="country")
    assert run.unit == "6 examples"
    with pytest.raises(DataError, match="no 'town' in the metadata, which has document, country"):
        open_runs(FILES / "inspect_bad.json", document="town")


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


HEAD = b'{"version": 2, "status": "success", "eval": {"task": "t", "dataset": {}}}'
SAMPLE = b'{"id": 1, "epoch": 1, "input": "?", "target": "a", "scores": {"match": {"value": "C"}}}'
BROKEN = {
    "empty.json": (b"", "not JSON"),
    "text.json": (b"no log at all", "not JSON"),
    "deep.json": (b"[" * 100_000, "not JSON that can be read"),
    "other.json": (b'{"a": 1}', "no log that can be read"),
    "list.json": (b"[1, 2]", "no log that can be read"),
    "words.json": (b'[{"text": "a", "label": "b"}]', "no log that can be read"),
    "mixed.json": (b'[{"text": "a", "f1": 1}, {"text": "b", "f1": "x"}]', "no log that can be read"),
    "zip.eval": (archive(other_json=b"{}"), "no item named .header.json"),
    "cut.eval": ((FILES / "inspect_good.eval").read_bytes()[:9000], "not a log that can be read"),
    "bad.eval": (archive(header_json=b"{"), "not a log that can be read"),
    "none.eval": (archive(header_json=HEAD), "the log has no samples"),
    "unscored.eval": (archive(header_json=HEAD, samples__1_json=SAMPLE.replace(b'"C"', b"NaN")), "has no scores"),
    "shape.eval": (
        archive(header_json=HEAD, samples__1_json=b'{"scores": []}'),
        "missing, or not of the type that the tool",
    ),
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
    monkeypatch.setattr("goldassay.ext.interop.logs.tools.LARGEST_SAMPLES", 100)
    with pytest.raises(DataError, match="unpacks to more than"):
        Run.load(place)


def test_an_archive_in_zstandard_names_the_extra(tmp_path: Path) -> None:
    """In a process of its own: where Inspect was imported, ``zipfile`` already reads Zstandard."""
    data = archive(header_json=HEAD, samples__1_json=SAMPLE)
    at = data.index(b"PK\x01\x02") + 10  # the method in the central directory
    (tmp_path / "log.eval").write_bytes(data[:8] + b"\x5d\x00" + data[10:at] + b"\x5d\x00" + data[at + 2 :])
    script = "import sys; sys.modules['zipfile_zstd'] = None; from goldassay.running import Run; Run.load('log.eval')"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "pip install 'goldassay[inspect]'" in done.stderr.splitlines()[-1]


def edited(change: Callable[[dict[str, Any]], object], folder: Path) -> Path:
    log = json.loads((FILES / "inspect_bad.json").read_bytes())
    change(log)
    (folder / "log.json").write_text(json.dumps(log))
    return folder / "log.json"


def test_what_a_log_leaves_out_is_absent_and_a_score_without_a_value_is_skipped(tmp_path: Path) -> None:
    def change(log: dict[str, Any]) -> None:
        del log["status"]
        for sample in log["samples"]:
            for score in (sample.get("scores") or {}).values():
                score.pop("explanation", None)
            sample["scores"] = {**(sample.get("scores") or {}), "empty": {"answer": "x"}}

    (run,) = read_log(edited(change, tmp_path))
    (whole,) = read_log(FILES / "inspect_bad.json")
    assert run.values == whole.values
    assert "6 scores of Inspect's empty have no value and are skipped" in run.warnings


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log["samples"][0].update(metadata="text"),
        lambda log: log["samples"][0].update(epoch="one"),
        lambda log: log["samples"][0].update(scores="text"),
        lambda log: log.update(samples={"a": 1}),
    ],
)
def test_a_damaged_log_is_one_line_with_its_file(tmp_path: Path, change: Any) -> None:
    with pytest.raises(DataError, match=r"^\S+log\.json: not a log that can be read: ") as caught:
        read_log(edited(change, tmp_path))
    assert "\n" not in str(caught.value)


def test_a_number_beyond_all_floats_is_one_line_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text('{"score": 1e999}')
    with pytest.raises(DataError, match=r"log\.json: 1e999 is larger than any number"):
        read_log(tmp_path / "log.json")


def test_a_score_of_400_digits_is_none_and_half_a_character_can_be_written(tmp_path: Path) -> None:
    def change(log: dict[str, Any]) -> None:
        log["samples"][0]["scores"]["match"]["value"] = 10**400
        log["samples"][0]["input"] = "half \ud800"

    (run,) = read_log(edited(change, tmp_path))
    report([run]).encode()
    assert math.isfinite(run.values["match"])


def test_a_flipped_byte_in_an_archive_is_one_line(tmp_path: Path) -> None:
    data = (FILES / "inspect_good.eval").read_bytes()
    for place in range(0, len(data), 487):
        (tmp_path / "x.eval").write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        with suppress(GoldassayError):
            read_log(tmp_path / "x.eval")


def test_an_archive_whose_head_unpacks_to_too_much_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", bytes(LARGEST_HEAD + 1))
    with pytest.raises(DataError, match="unpacks to more than"):
        read_log(tmp_path / "x.eval")


def test_folders_of_logs_are_read_and_what_is_not_there_is_no_run(tmp_path: Path) -> None:
    for file in ("inspect_good.eval", "inspect_bad.json"):
        (tmp_path / file).write_bytes((FILES / file).read_bytes())
    assert len(open_runs(tmp_path)) == 2
    assert len(call("compare", tmp_path)["runs"]) == 2
    with pytest.raises(DataError, match=r"^missing\.eval: no such file$"):
        open_runs("missing.eval")


def test_a_folder_of_logs_is_a_report_and_an_audit(tmp_path: Path) -> None:
    for name, file in (("1_before", "dspy_bad.json"), ("2_after", "dspy_good.json")):
        (tmp_path / f"{name}.json").write_bytes((FILES / file).read_bytes())
    assert len(sources([tmp_path])["runs"]) == 2
    result = audit(tmp_path)
    files = audit(tmp_path / "1_before.json", tmp_path / "2_after.json")
    assert (result.gain, result.examples) == (files.gain, files.examples)


PROMPT = {"raw": "Capital of {{country}}?", "label": "p"}
FIRST_LOGS: dict[str, Any] = {
    "Inspect of 2024, without epochs, with one score a sample": {
        "version": 1,
        "eval": {"task": "capitals", "model": "mockllm/model"},
        "samples": [
            {"id": 1, "input": "France", "output": {"completion": "Paris"}, "score": {"value": "C"}},
            {"id": 2, "input": "Italy", "output": {"completion": "Milan"}, "score": {"value": "I", "answer": "Milan"}},
        ],
    },
    "promptfoo before version 3, without places": {
        "results": {
            "version": 2,
            "table": {"head": {"prompts": [{**PROMPT, "provider": "echo"}], "vars": ["country"]}},
            "results": [
                {"prompt": PROMPT, "provider": {"id": "echo"}, "vars": {"country": c}, "success": c == "France"}
                for c in ("France", "Italy")
            ],
        }
    },
    "deepeval before 1.0, with metadata of metrics": {
        "testCases": [
            {
                "input": country,
                "actualOutput": "x",
                "order": at,
                "metricsMetadata": [{"metric": "Exact", "threshold": 0.5, "success": not at, "score": 1.0 - at}],
            }
            for at, country in enumerate(("France", "Italy"))
        ]
    },
    "MLflow with neither metadata, tags, spans nor previews": [
        {"info": {"assessments": [{"assessment_name": "exact", "feedback": {"value": value}}]}, "data": {}}
        for value in (True, False)
    ],
    "deepeval's result without optional fields": {
        "test_results": [{"index": at, "metrics_data": [{"name": "Exact", "score": 1.0 - at}]} for at in range(2)]
    },
}


@pytest.mark.parametrize("what", FIRST_LOGS)
def test_logs_of_other_versions_are_read_without_their_optional_fields(what: str, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(json.dumps(FIRST_LOGS[what]))
    (run,) = read_log(tmp_path / "log.json")
    assert len(run.rows) == 2
    assert set(run.values.values()) == {0.5}
    assert report([run])


def test_a_device_is_no_file() -> None:
    with pytest.raises(DataError, match="this is a device"):
        next(lines("/dev/zero"))


def test_samples_of_an_archive_are_unpacked_one_at_a_time(tmp_path: Path) -> None:
    events = [{"event": "state", "changes": "x" * 1_000_000}]
    with zipfile.ZipFile(tmp_path / "x.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", '{"eval": {"task": "museums"}}')
        for index in range(20):
            sample = {"id": index, "input": "?", "target": "M", "scores": {"match": {"value": "C"}}, "events": events}
            archive.writestr(f"samples/{index}_epoch_1.json", json.dumps(sample))
    tracemalloc.start()
    runs = read_log(tmp_path / "x.eval")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(runs[0].rows) == 20
    assert peak < 10_000_000  # a sample's bytes and its text twice, not the 20 MB of all

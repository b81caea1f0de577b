"""A run for other tools: data frames, csv, LaTeX, JUnit."""

from __future__ import annotations

import csv
import io
import json
import resource
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay._support.files import csv_of_records
from goldassay.cli import app
from goldassay.ext.interop import exports
from goldassay.running import Run

CLI = CliRunner()


def test_a_data_frame_has_a_row_an_example(two: list[Run]) -> None:
    pytest.importorskip("pandas", reason="no pandas here")
    frame = two[0].to_pandas()
    assert len(frame) == len(two[0].rows)
    assert list(frame["id"]) == [row.id for row in two[0].rows]
    assert frame["score"].tolist() == [row.score for row in two[0].rows]
    assert set(frame["stratum.half"]) == {"low", "high"}
    assert (frame["failed"] != "").sum() == 5


def test_csv_holds_the_same_and_no_formula(two: list[Run]) -> None:
    first = replace(two[0].rows[0], id="=1+1", strata={"\n=2": "a\rb"})
    text = str(exports.FORMS["csv"](Run(two[0].head, [first, *two[0].rows[1:]], two[0].zero)))
    records = list(csv.DictReader(io.StringIO(text)))
    assert records[0]["id"] == "'=1+1"
    assert records[0]["stratum.\n=2"] == "a\rb"
    assert json.loads(records[1]["gold.entities"]) == (two[0].rows[1].gold or {})["entities"]


def test_a_head_is_no_formula_either() -> None:
    assert csv_of_records([{"=cmd()": 1, "-1": -1}]) == "'=cmd(),-1\n1,-1\n"


def test_an_id_leads_out_of_no_archive(two: list[Run], tmp_path: Path) -> None:
    rows = [replace(row, id=f"../../{row.id}") for row in two[0].rows]
    file = tmp_path / "log.eval"
    file.write_bytes(exports.to_inspect(Run(two[0].head, rows, two[0].zero)))
    with zipfile.ZipFile(file) as archive:
        assert not [name for name in archive.namelist() if "../" in name]
    assert sorted(row.id for row in Run.load(file).rows) == sorted(row.id for row in rows)


def test_latex_has_each_value_with_its_interval(two: list[Run]) -> None:
    text = exports.to_latex(two, ["a_b", "c"])
    assert r"a\_b" in text
    assert rf"strict\_f1 & {two[0].values['strict_f1']:.3f} {{\small [" in text
    assert text.count(r"\\") == 1 + 3  # the head, the metric, two measures


def test_junit_counts_wrong_failed_and_missed_targets(two: list[Run]) -> None:
    suite = ElementTree.fromstring(exports.to_junit(two[0]).encode())
    wrong = sum(1 for row in two[0].rows if row.errors and not row.error)
    missed = int(two[0].values["strict_f1"] < 0.5)
    assert len(suite) == len(two[0].rows) + 1
    assert len(suite.findall("testcase/failure")) == wrong + missed
    assert len(suite.findall("testcase/error")) == 5


def test_the_command_writes_what_is_asked_for(two: list[Run], tmp_path: Path) -> None:
    place = str(two[0].folder)
    files = {form: tmp_path / form for form in exports.FORMS}
    for form, file in files.items():
        done = CLI.invoke(app, ["runs", "export", place, "--format", form, "--out", str(file)])
        assert done.exit_code == 0, done.output
        assert file.stat().st_size
    again = CLI.invoke(app, ["runs", "export", place, "--format", "mlflow", "--out", "sqlite:///x.db", "--force"])
    assert "--force writes over a file" in str(again.exception)
    unknown = CLI.invoke(app, ["runs", "export", place, "--format", "xls", "--out", "x"])
    assert isinstance(unknown.exception, GoldassayError)


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file can grow beyond 60 KB; a report is larger."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("command", ["report RUN --out OUT/report.html", "report RUNS --site OUT", "compare RUN RUN"])
@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_leaves_what_was_there(two: list[Run], tmp_path: Path, command: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    names = ("report.html", "index.html", "model_rankings.csv", "plotly.min.js")
    for name in names:
        (out / name).write_text("good")
    words = command.replace("OUT", str(out)).replace("RUNS", str(two[0].folder.parent if two[0].folder else ""))
    words = words.replace("RUN RUN", f"{two[0].folder} {two[1].folder} --out {out}").replace("RUN", str(two[0].folder))
    done = CLI.invoke(app, [*words.split(), "--force"])
    assert isinstance(done.exception, GoldassayError), done.output
    assert "cannot be written: File too large" in str(done.exception)
    assert sorted(file.name for file in out.iterdir()) == sorted(names)
    assert {file.read_text() for file in out.iterdir()} == {"good"}

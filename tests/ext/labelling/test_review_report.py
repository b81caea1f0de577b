"""The section of a report on what goes wrong: shares over waves, patches, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.ext.labelling.review.conftest import decision, write_draft
from typer.testing import CliRunner

from goldassay._support.exceptions import DataError
from goldassay.cli import app
from goldassay.ext.labelling.modes import read_modes
from goldassay.ext.labelling.review.folder import Folder
from goldassay.ext.labelling.review.journal import Decision, ModeChange
from goldassay.ext.labelling.review.session import Session, reviewed_traces
from goldassay.ext.labelling.review_report import folder_view, review_view
from goldassay.reporting import pages
from goldassay.reporting.pages.charts import figure
from goldassay.results.view import Chart, Table, View
from goldassay.running import Run

HOSTILE = "<b>no total</b></script><script>alert(1)</script>{{ 7*7 }}"
WEEKS = ("2026-03-02T09:00:00+00:00", "2026-03-09T09:00:00+00:00", "2026-03-16T09:00:00+00:00")


def record(place: int) -> dict[str, Any]:
    """One of 20 records a week, from 200 traces each."""
    about = {"question": "level", "stratum": "all", "size": 200, "population": 200, "position": place % 20}
    wave = {"wave": WEEKS[place // 20]} if place >= 20 else {}
    answer = {"week.jsonl": {"label": "museum"}}
    return {"id": f"r{place}", "text": f"trace {place}", "suggestions": answer, "sampling": {**about, **wave}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three weeks: the first failure of 10, then 6, then no records; the second of one in each; a patch after two."""
    folder = Folder.open([write_draft(tmp_path / "weeks.jsonl", [record(place) for place in range(60)])])
    settings = json.loads((folder.path / "review.json").read_text())
    (folder.path / "review.json").write_text(json.dumps({**settings, "created": WEEKS[0]}))
    session = Session(folder)
    for place in range(60):
        often = place % 20 < (10, 6, 0)[place // 20]
        names = [name for name, failed in ((HOSTILE, often), ("slow", place % 20 == 19)) if failed]
        sent = decision(str(place), value={"label": "museum"}, modes=names, grade=2 if often else None)
        session.decide(Decision.model_validate(sent), "ann", "")
    session.journal.change_modes(ModeChange(change="d", kind="describe", mode="slow", description=HOSTILE), "ann")
    session.close()
    patch = {"when": "2026-03-12T10:00:00+00:00", "patch": "rule: name the total", "mode": HOSTILE}
    back = {"when": "2026-03-17T10:00:00+00:00", "patch": "rule: name the total", "change": "reverted"}
    (folder.path / "patches.jsonl").write_text(f"{json.dumps(patch)}\n{json.dumps(back)}\n")
    return folder.path


def view(folder: Path) -> View:
    shown = folder_view(folder)
    assert shown is not None
    return shown


def charts_of(shown: View) -> list[Any]:
    return [figure(item) for item in shown if isinstance(item, Chart)]


def test_each_wave_is_a_point_and_a_patch_a_mark(folder: Path) -> None:
    review = view(folder)
    shares, _ = (item for item in review if isinstance(item, Table))
    assert [f"{week[:10]}, 20 read" for week in reversed(WEEKS[:-1])] == list(shares.columns[3:5])
    assert [row[1] for row in shares.rows] == [1, 0]  # the latest wave leads
    assert re.search(
        r"The most frequent failure is “.*”: 0.050 .{1,99} of 200\s+traces", pages.report([], views=[review])
    )
    (chart,) = charts_of(review)
    second, first = chart["data"]
    assert (first["y"], second["y"]) == ([0.5, 0.3, 0.0], [0.05, 0.05, 0.05])
    assert first["name"].startswith("&lt;b&gt;")
    assert all(above > 0 for above in first["error_y"]["array"])
    assert [shape["x0"] for shape in chart["layout"]["shapes"]] == [1.5, 3.5], "after the second week, the third"


def test_one_wave_is_drawn_as_values_and_no_wave_is_a_sentence(folder: Path, tmp_path: Path) -> None:
    traces = reviewed_traces(folder)
    (alone,) = charts_of(review_view(folder, traces[:20]))
    assert "error_x" in alone["data"][0]
    empty = Folder.open([write_draft(tmp_path / "new.jsonl", [record(place) for place in range(3)])])
    nothing = view(empty.path)
    assert charts_of(nothing) == []
    assert "No failure mode has been named yet" in pages.report([], views=[nothing])


def test_a_folder_of_a_review_is_a_source_beside_runs_or_alone(folder: Path, two: list[Run], tmp_path: Path) -> None:
    assert two[0].folder
    for name, places in (("alone", [folder]), ("beside", [two[0].folder, folder])):
        out = tmp_path / f"{name}.html"
        done = CliRunner().invoke(app, ["report", *map(str, places), "--out", str(out)])
        assert done.exit_code == 0, done.output
        text = out.read_text(encoding="utf-8")
        assert "What goes wrong: weeks" in text
        assert text.count("rule: name the total") == 2
        assert "<td>reverted</td>" in text
        assert ('id="details"' in text) == (name == "beside")
        assert "<script>alert" not in text
        assert "<b>no total" not in text
        assert "{{ 7*7 }}" in text, "names are no templates"
    assert [mode.description for mode in read_modes(folder) if mode.name == "slow"] == [HOSTILE]


def test_a_broken_log_of_patches_is_one_line(folder: Path) -> None:
    (folder / "patches.jsonl").write_text('{"patch": "x"}\n')
    with pytest.raises(DataError, match=r"patches.jsonl:1: not a change of a prompt"):
        folder_view(folder)


@pytest.mark.nightly
def test_the_page_is_accessible_in_both_themes(folder: Path, opened: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(pages.report([], views=[view(folder)]), encoding="utf-8")
    seen = opened(file)
    assert seen.violations() == []
    assert seen.page.query_selector(".view [data-chart] svg")
    seen.quiet()

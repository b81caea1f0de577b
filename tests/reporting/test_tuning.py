"""The report of a real tuning (a scripted model that learns from its prompt): what was tested, and why."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy
import pytest
from tests.conftest import Learner, build_names_gold, build_names_program

from goldassay import Metric, audit, tune
from goldassay._support import jsonl
from goldassay._support.exceptions import DataError
from goldassay.measures import extraction
from goldassay.reporting import pages
from goldassay.reporting.pages.charts import figure
from goldassay.results.view import Chart, Diff, Point, Table, typeset
from goldassay.tuning import Patches
from goldassay.tuning.patches import Patch


@dataclass(frozen=True)
class OneInstruction:
    """A bundle's part that proposes one instruction under a name."""

    slot: str
    text: str

    def __call__(self, diagnosis: Any) -> dict[str, list[Any]]:
        edit = {"action": "add_instruction", "text": self.text}
        return {self.slot: [diagnosis.draft(diagnosis.patterns[0], "given", **edit)]}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tuning with patches: a bundle that helps nothing, then one of which half helps, then one more."""
    examples = build_names_gold()
    gold = {"train": examples[:20], "dev": examples[20:30], "test": examples[30:]}
    lm = dspy.LM("scripted/learner", engine=Learner(), cache=False)
    metric = Metric(extraction.SpanF1())
    bundles = [
        [OneInstruction("politeness", "Be polite."), OneInstruction("haste", "Do not hurry.")],
        [OneInstruction("numbers", "A number is TMP."), OneInstruction("care", "Read with care.")],
        [OneInstruction("museums", "A museum is MUS.")],
    ]
    optimizer = Patches(metric, bundles=bundles)
    folder = tmp_path_factory.mktemp("tunings") / "tuned"
    tune(build_names_program(), gold, metric, optimizer, lm=lm, folder=folder, progress=False)
    return folder


def test_every_test_of_the_ledger_is_shown_in_order(tuned: Path) -> None:
    view = pages.Tuning.load(tuned).view()
    (table,) = [item for item in view if isinstance(item, Table) and "outcome" in item.columns]
    ledger = list(jsonl.rows(tuned / "ledger.jsonl"))
    tests = table.rows[: len(ledger)]
    assert [row[1] for row in tests] == [entry["candidate"] for entry in ledger]
    for row, entry in zip(tests, ledger, strict=True):
        assert getattr(row[1], "detail", "") in (entry["reason"], "")
    first = next(row for row in tests if getattr(row[0], "style", "") == "better")
    assert str(first[2]).startswith("+")
    edits = [item for item in view if isinstance(item, Diff) and item.folded]
    assert {name for row in tests for name in str(row[3]).split(", ")} <= {item.title.split()[0] for item in edits}
    assert all(item.lines for item in edits)


def test_the_page_of_a_tuning_says_what_was_kept_and_why(
    tuned: Path, opened: Callable[..., Any], tmp_path: Path
) -> None:
    about = json.loads((tuned / "tuning.json").read_text())
    arguments = pages.sources([tuned])
    file = tmp_path / "tuning.html"
    file.write_text(pages.report(**arguments), encoding="utf-8")
    seen = opened(file)
    assert arguments["tuning"] is not None
    assert seen.page.inner_text(".sentence >> nth=0") == typeset(arguments["tuning"].sentence)
    assert f"{about['verdict']} ({about['cost']['calls']} calls" in arguments["tuning"].sentence
    tests = seen.page.inner_text("#tuning")
    for entry in jsonl.rows(tuned / "ledger.jsonl"):
        assert entry["candidate"] in tests
        assert entry["reason"] in tests
    assert about["kept"]["words"] in tests
    assert seen.page.query_selector_all("#tuning td .good, #tuning th .good")
    seen.page.click("#tuning details.edit >> nth=0 >> summary >> nth=0")
    seen.page.wait_for_selector("#tuning .edit pre.diff .plus")
    assert seen.page.inner_text("#tuning pre.diff >> nth=-1").startswith("---")
    seen.draw()
    assert seen.page.query_selector("#tuning [data-chart] svg") is not None
    assert not seen.page.evaluate("document.documentElement.scrollWidth > innerWidth")
    seen.quiet()


@pytest.mark.nightly
def test_axe_finds_nothing(tuned: Path, opened: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "tuning.html"
    file.write_text(pages.report(**pages.sources([tuned])), encoding="utf-8")
    seen = opened(file)
    seen.page.click("#tuning details.edit >> nth=0 >> summary >> nth=0")
    seen.draw()
    assert seen.violations() == []


def test_a_tuning_without_test_is_a_page_and_a_damaged_one_is_one_line(tuned: Path, tmp_path: Path) -> None:
    tuned = shutil.copytree(tuned, tmp_path / "tuned")
    about = json.loads((tuned / "tuning.json").read_text())
    (tuned / "tuning.json").write_text(json.dumps({**about, "test": None}))
    (tuned / "prompt.diff").write_bytes(b"+ \xadfter")
    loaded = pages.Tuning.load(tuned)
    pages.report(**pages.sources([tuned]))
    assert f"on {about['dev']['difference']['n']} dev examples that chose it" in loaded.sentence
    about["dev"]["after"]["strict_f1"] = "x"
    (tuned / "tuning.json").write_text(json.dumps(about))
    with pytest.raises(DataError, match=r"tuned: not a tuning that can be read: ValueError"):
        pages.Tuning.load(tuned)
    (tuned / "tuning.json").write_text(json.dumps({**about, "test": {"runs": 5}}))
    with pytest.raises(DataError, match=r"tuning.json: not a tuning that can be read"):
        audit(tuned)


def test_a_key_in_an_edit_is_not_on_the_page(tuned: Path, tmp_path: Path) -> None:
    tuned = shutil.copytree(tuned, tmp_path / "tuned")
    for file in (tuned / "patches").iterdir():
        file.write_text(file.read_text().replace("Be polite.", "Be polite to hf_a1b2c3d4e5f6a1b2c3d4."))
    page = pages.report(**pages.sources([tuned]))
    assert "Be polite to [hidden]." in page
    assert "hf_a1" not in page


@pytest.mark.parametrize(("k", "text"), [(1, "the 1 nearest of 2 examples"), (2, '"text": "Delft"')])
def test_a_set_for_every_input_is_shown_itself_and_a_choice_in_words(k: int, text: str) -> None:
    examples = {"k": k, "keys": ["text"], "examples": [{"text": "Delft"}, {"text": "Gouda"}]}
    patch = Patch(predictor="extract", action="show_nearest", example=examples)
    assert any(text in line for line in patch.change.lines)


def test_the_front_of_a_chart_is_a_line_below_the_points_that_it_joins() -> None:
    points = {"mipro": Point(109, 0.27), "patches": Point(200, 0.28)}
    series = [("front", [*points.values()]), *((name, [point]) for name, point in points.items())]
    drawn = figure(Chart("curves", "value", series))["data"]
    assert [trace["mode"] for trace in drawn] == ["lines", "lines+markers", "lines+markers"]


@pytest.mark.parametrize(("title", "mode"), [("gain", "tozero"), ("value", "normal")])
def test_a_chart_of_gains_shows_where_0_is(title: str, mode: str) -> None:
    drawn = figure(Chart("intervals", title, [("a", [Point("a", 0.09, 0.04, 0.14)])]))
    assert drawn["layout"]["xaxis"]["rangemode"] == mode

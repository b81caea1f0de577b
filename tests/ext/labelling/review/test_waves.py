"""Waves: a review goes on with new traces, the same modes, and shares that weigh each wave by its own traces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.ext.labelling.review.conftest import Client, classification, text_of, write_draft
from typer.testing import CliRunner

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.cli import app
from goldassay.ext.labelling.modes import mode_shares, waves
from goldassay.ext.labelling.review import review
from goldassay.ext.labelling.review.session import all_traces, reviewed_traces
from goldassay.statistics.design import Design

CLI = CliRunner()


def traces(file: Path, numbers: Sequence[int], name: str = "t") -> Path:
    rows = [{"id": f"{name}{number}", "text": text_of(number), "label": "museum"} for number in numbers]
    return write_draft(file, rows)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """20 of 100 traces of the first week are drafted, and all of them read: each has the mode."""
    monkeypatch.chdir(tmp_path)
    with review(traces(tmp_path / "one.jsonl", range(100)), task="classification", question="errors", n=20) as opened:
        page = Client(opened.url)
        for item, _ in page.get("setup")["index"]:
            page.decide(item, value={"label": "museum"}, modes=["no total"])
    return tmp_path / opened.folder


def add(folder: Path, *more: object) -> Any:
    return CLI.invoke(app, ["review", str(folder), "--export", "--json", *map(str, more)])


def test_a_wave_goes_on_with_the_same_modes_and_is_a_stratum_of_all_traces(folder: Path, tmp_path: Path) -> None:
    before = (folder / "draft.jsonl").read_bytes()
    new = traces(tmp_path / "two.jsonl", range(90, 400))
    done = add(folder, "--add", new, "--n", 30)
    assert done.exit_code == 0, done.output
    assert "drafted: 30 of 300 new traces" in done.stderr
    assert "drafted from them before: 10" in done.stderr
    assert (folder / "draft.jsonl").read_bytes().startswith(before)
    assert json.loads((folder / "review.json").read_text())["sources"] == ["../one.jsonl", "../two.jsonl"]
    with review(folder) as opened:
        page = Client(opened.url)
        setup = page.get("setup")
        assert setup["modes"] == [{"name": "no total", "description": ""}]
        assert setup["progress"]["left"] == 30
        for item, _ in setup["index"][20:]:
            page.decide(item, value={"label": "museum"})
        state = page.get("modes")
    assert (state["population"], state["since_new"]) == (300, 49)  # of the latest wave
    assert state["modes"][0]["share"]["value"] == 0.0  # nobody noted it in the second wave
    parts = waves(reviewed_traces(folder))
    assert [len(part) for part in parts.values()] == [20, 30]
    shares = [each.share for part in parts.values() for each in mode_shares(part)]
    assert [share and share.value for share in shares] == [1.0], "of the first wave alone; the second has no mode"
    add(folder)
    rows = [json.loads(line) for line in (folder / "gold.jsonl").read_text().splitlines()]
    design = Design.of(rows)
    assert design
    assert design.population == 400
    assert sorted(design.sizes.values()) == [100, 300]


def test_a_third_wave_knows_the_traces_of_the_first_two(folder: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        file = traces(tmp_path / f"{number}.jsonl", range(100 * number, 100 * number + 100))
        assert add(folder, "--add", file, "--n", 5).exit_code == 0
    drafted = [json.loads(line) for line in (folder / "draft.jsonl").read_text().splitlines()]
    assert [list(record["suggestions"]) for record in drafted[15:]] == [["one"]] * 5 + [["1"]] * 5 + [["2"]] * 5
    assert not any("no answer" in record["sampling"]["stratum"] for record in drafted)
    assert len(all_traces(folder)) == 300
    done = add(folder, "--add", tmp_path / "1.jsonl", tmp_path / "2.jsonl")
    assert "all 200 traces of these sources are in it already" in str(done.exception)


@pytest.mark.parametrize("there", [True, False])
def test_an_id_of_another_trace_is_refused(folder: Path, tmp_path: Path, there: bool) -> None:
    if not there:
        (tmp_path / "one.jsonl").unlink()
    rows = [{"id": f"t{number}", "text": text_of(number + 1000), "label": "museum"} for number in range(100)]
    done = add(folder, "--add", write_draft(tmp_path / "two.jsonl", rows))
    assert isinstance(done.exception, DataError)
    assert "for other inputs" in str(done.exception)
    before = (folder / "draft.jsonl").read_bytes()
    assert len(before.splitlines()) == 20


def test_without_the_earlier_traces_those_that_were_drafted_are_left_out(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").rename(tmp_path / "again.jsonl")
    done = add(folder, "--add", tmp_path / "again.jsonl", "--n", 5)
    assert "drafted: 5 of 80 new traces" in done.stderr


def test_a_review_that_is_open_or_compares_takes_no_wave(folder: Path, tmp_path: Path) -> None:
    new = traces(tmp_path / "two.jsonl", range(100, 120))
    with review(folder):
        assert "is being reviewed by another process" in str(add(folder, "--add", new).exception)
    draft = write_draft(tmp_path / "compared.jsonl", classification())
    with pytest.raises(GoldassayError, match="compares systems"):
        review(draft, add=[new])
    plain = write_draft(tmp_path / "plain.jsonl", [{"id": "a", "text": "b", "suggestions": {"s": {"label": "M"}}}])
    with pytest.raises(GoldassayError, match="do not say how they were chosen"):
        review(plain, add=[new])


def test_waves_for_different_questions_are_no_design() -> None:
    def record(name: str, **sampling: Any) -> dict[str, Any]:
        about = {"question": "level", "stratum": "all", "size": 3, "population": 3, "position": 0}
        return {"id": name, "sampling": {**about, **sampling}}

    with pytest.raises(DataError, match="two designs are mixed"):
        Design.of([record("a"), record("b", wave="2026-02-01", question="errors")])
    both = Design.of([record("a"), record("b", wave="2026-02-01", size=9, population=9, seed=3, systems=["s"])])
    assert both
    assert (both.population, both.systems) == (12, ("s",))


def test_the_same_text_under_a_new_id_is_a_new_trace(folder: Path, tmp_path: Path) -> None:
    new = traces(tmp_path / "two.jsonl", range(5), "w")
    done = add(folder, "--add", new)
    assert "drafted: 5 of 5 new traces" in done.stderr, done.output
    assert len(all_traces(folder)) == 105
    assert "all 5 traces" in str(add(folder, "--add", new).exception)

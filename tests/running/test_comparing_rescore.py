"""Stored predictions scored again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.running.comparing import rescore


def lines(file: Path, rows: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def link(start: int, end: int, one: str, side: str) -> dict[str, Any]:
    place = {"start": start, "end": end}
    return {**place, "ids": {"wikidata": [one]}} if side == "gold" else {**place, "candidates": [{"id": one}]}


def document(name: str, side: str, *links: tuple[int, int, str]) -> dict[str, Any]:
    text = {"text": "Athen Bern Chur Delft"} if side == "gold" else {}
    return {"id": name, **text, "links": [link(*run_folder, side) for run_folder in links]}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Two golds, of which the second corrects an id, and two systems, of which the second finds one more."""
    a, b, c = (0, 5, "Q1"), (6, 10, "Q2"), (11, 15, "Q3")
    return {
        "gold0": lines(
            tmp_path / "gold0.jsonl", [document("x", "gold", a, b, (11, 15, "Q9")), document("y", "gold", a)]
        ),
        "gold1": lines(tmp_path / "gold1.jsonl", [document("x", "gold", a, b, c), document("y", "gold", a)]),
        "pred0": lines(tmp_path / "pred0.jsonl", [document("x", "pred", a, c), document("y", "pred", (0, 4, "Q1"))]),
        "pred1": lines(tmp_path / "pred1.jsonl", [document("x", "pred", a, b, c), document("y", "pred", (0, 4, "Q1"))]),
    }


def test_a_run_is_scored_with_other_measures_and_other_gold(files: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    rows = []
    for index, name in enumerate("xy"):
        gold = next(row for row in map(json.loads, files["gold0"].read_text().splitlines()) if row["id"] == name)
        pred = next(row for row in map(json.loads, files["pred0"].read_text().splitlines()) if row["id"] == name)
        rows.append(
            {
                "id": name,
                "index": index,
                "inputs": {"text": gold["text"]},
                "gold": {"links": gold["links"]},
                "prediction": {"links": pred["links"]},
                "tallies": {},
            }
        )
    lines(folder / "rows.jsonl", rows)
    rescored = rescore("linking", folder, folder, ("linking.LinkF1()",))
    assert rescored.values == rescore("linking", files["gold0"], files["pred0"], ("LinkF1()",)).values
    fewer = lines(tmp_path / "fewer.jsonl", [document("x", "gold", (0, 5, "Q1"))])
    card = rescore("linking", fewer, folder, ("LinkF1(rate='recall')",))
    assert card.values == {"link_recall": 1.0}
    assert "1 predictions are of examples that this gold does not have" in card.warnings[0]


def test_wrong_calls_are_one_line(files: dict[str, Path]) -> None:
    setting = "linking", files["gold0"], files["pred0"]
    with pytest.raises(GoldassayError, match="is a measure of triples, not of linking"):
        rescore(*setting, ["triples.F1()"])
    with pytest.raises(GoldassayError, match="no measure reads as 'linking.Nothing"):
        rescore(*setting, ["Nothing()"])


def test_the_command_scores_one_file_again(files: dict[str, Path]) -> None:
    words = ["compare", "linking", "--gold", str(files["gold1"]), "--pred", str(files["pred1"])]
    done = CliRunner().invoke(app, [*words, "--measure", "LinkF1(rate='recall')", "--json"])
    assert done.exit_code == 0, done.output
    output = json.loads(done.stdout)
    assert output["values"] == {"link_recall": 1.0}
    low, high = output["intervals"]["link_recall"]
    assert 0.0 <= low < high == 1.0


def a_run(folder: Path, files: dict[str, Path], which: str, measures: dict[str, float]) -> Path:
    """A folder as ``eval`` leaves it, with gold and predictions of the files and a metric."""
    folder.mkdir()
    sides = [
        {row["id"]: row for row in map(json.loads, files[f"{side}{which}"].read_text().splitlines())}
        for side in ("gold", "pred")
    ]
    rows = [
        {
            "id": name, "index": index, "inputs": {"text": sides[0][name]["text"]},
            "gold": {"links": sides[0][name]["links"]}, "prediction": {"links": sides[1][name]["links"]}, "tallies": {},
        }
        for index, name in enumerate("xy")
    ]  # fmt: skip
    lines(folder / "rows.jsonl", rows)
    about = {name: {"measure": name, "weight": weight} for name, weight in measures.items()}
    (folder / "run.json").write_text(json.dumps({"schema": 1, "measures": about}), encoding="utf-8")
    return folder


def test_gold_that_a_run_was_not_asked_is_left_out_and_what_failed_is_not(
    files: dict[str, Path], tmp_path: Path
) -> None:
    run_folder = a_run(tmp_path / "one", files, "1", {"linking.LinkF1(rate='recall')": 1.0})
    rows = [json.loads(line) for line in (run_folder / "rows.jsonl").read_text().splitlines()]
    rows[1] = {**rows[1], "prediction": None, "error": "it hung"}
    lines(run_folder / "rows.jsonl", rows)
    wider = lines(
        tmp_path / "wider.jsonl",
        [document("x", "gold", (0, 5, "Q1")), document("y", "gold", (0, 5, "Q1")), document("z", "gold", (0, 5, "Q1"))],
    )
    card = rescore("linking", wider, run_folder)
    assert card.values["link_recall"] == 0.5  # x found, y failed, z was never asked
    assert "1 examples of this gold were not in the run; they are left out" in card.warnings
    other = lines(tmp_path / "other.jsonl", [document("q", "gold", (0, 5, "Q1"))])
    with pytest.raises(GoldassayError, match="has none of the examples of"):
        rescore("linking", other, run_folder)


def test_a_run_with_other_gold_and_other_predictions_is_the_same_in_chunks(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_folder = a_run(tmp_path / "one", files, "1", {"linking.LinkF1(rate='recall')": 3.0, "linking.MRR()": 1.0})
    rows = [json.loads(line) for line in (run_folder / "rows.jsonl").read_text().splitlines()]
    # tried again: x failed at first, and stands last; z failed; w is in no gold
    failed = [
        {**rows[0], "prediction": None, "error": "it hung"},
        {**rows[1], "id": "z", "prediction": None, "error": "e"},
    ]
    lines(run_folder / "rows.jsonl", [failed[0], rows[1], failed[1], {**rows[1], "id": "w"}, rows[0]])
    a = (0, 5, "Q1")
    wider = lines(tmp_path / "wider.jsonl", [document(name, "gold", a) for name in ("q", "z", "y", "x")])
    few = lines(tmp_path / "few.jsonl", [document("x", "pred", a), document("v", "pred", a)])
    settings = [(run_folder, run_folder), (wider, run_folder), (run_folder, few), (wider, run_folder / "rows.jsonl")]
    whole = [rescore("linking", *setting) for setting in settings]
    assert "1 examples of this gold were not in the run; they are left out" in whole[1].warnings
    assert "1 predictions are of examples that this gold does not have; they are left out" in whole[1].warnings
    monkeypatch.setattr("goldassay.core.measure.EXAMPLES_AT_ONCE", 1)
    for setting, before in zip(settings, whole, strict=True):
        card = rescore("linking", *setting)
        assert (card.values, card.counts, card.warnings) == (before.values, before.counts, before.warnings)
    with pytest.raises(GoldassayError, match="has none of the examples of"):
        rescore("linking", lines(tmp_path / "other.jsonl", [document("q", "gold", a)]), run_folder)

"""Predictions that are not in the text: ``null`` offsets are read, counted as spurious and warned of, never a crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay._support.exceptions import DataError
from goldassay.cli import app
from goldassay.gold import convert, read

DELFT = {"start": 3, "end": 8, "type": "TOP", "text": "Delft"}
NOWHERE = {"start": None, "end": None, "type": "TOP", "text": "Rotterdam"}


def save(file: Path, *rows: dict[str, Any]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def score(task: str, gold: Path, pred: Path) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["score", task, "--gold", str(gold), "--pred", str(pred), "--json"])
    assert done.exit_code == 0, (done.output, done.exception)
    card: dict[str, Any] = json.loads(done.output)
    return card


def test_an_entity_that_is_not_in_the_text_is_spurious(tmp_path: Path) -> None:
    gold = save(tmp_path / "gold.jsonl", {"id": "a", "text": "In Delft.", "entities": [DELFT]})
    pred = save(tmp_path / "pred.jsonl", {"id": "a", "entities": [DELFT, NOWHERE]})
    card = score("extraction", gold, pred)
    assert card["values"]["strict_precision"] == 0.5  # one of two
    assert card["values"]["strict_recall"] == 1.0
    assert card["warnings"] == ["1 predicted spans are not in their text and count as spurious"]


def test_a_mention_that_is_not_in_the_text_is_spurious(tmp_path: Path) -> None:
    links = [{"start": 3, "end": 8, "text": "Delft", "ids": {"wikidata": ["Q690"]}}]
    gold = save(tmp_path / "gold.jsonl", {"id": "a", "text": "In Delft.", "links": links})
    answers = [
        {"start": 3, "end": 8, "text": "Delft", "candidates": [{"id": "Q690"}]},
        {"start": None, "end": None, "text": "Rotterdam", "candidates": [{"id": "Q34370"}]},
    ]
    card = score("linking", gold, save(tmp_path / "pred.jsonl", {"id": "a", "links": answers}))
    assert card["values"]["link_precision"] == 0.5
    assert card["values"]["link_recall"] == 1.0
    assert "1 predicted mentions are not in their text and count as spurious" in card["warnings"]


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ({**NOWHERE, "start": 3}, "start and end are both numbers or both null"),
        ({"start": None, "end": None, "type": "TOP"}, "a span without offsets has its words under 'text'"),
        ({**NOWHERE, "fragments": [[0, 1], [2, 3]]}, "and no fragments"),
    ],
)
def test_half_a_place_is_an_error(tmp_path: Path, span: dict[str, Any], message: str) -> None:
    file = save(tmp_path / "pred.jsonl", {"id": "a", "text": "In Delft.", "entities": [DELFT, span]})
    with pytest.raises(DataError, match=rf"pred\.jsonl:1: record a, entities\[1\]: .*{message}"):
        read(file, task="extraction", side="pred")


def test_gold_stands_in_the_text(tmp_path: Path) -> None:
    file = save(tmp_path / "gold.jsonl", {"id": "a", "text": "In Delft.", "entities": [NOWHERE]})
    with pytest.raises(DataError, match=r"entities\[0\]\.start: input should be a valid integer, found None"):
        read(file, task="extraction")


@pytest.mark.parametrize("form", ["iob2", "hipe", "brat"])
def test_other_formats_have_no_place_for_it(tmp_path: Path, form: str) -> None:
    file = save(tmp_path / "pred.jsonl", {"id": "a", "text": "In Delft.", "entities": [NOWHERE]})
    with pytest.raises(DataError, match=rf"record a, entities\[0\]: 'Rotterdam' has no offsets, and {form} holds only"):
        convert(file, tmp_path / "out", task="extraction", side="pred", target_format=form)
    convert(file, tmp_path / "out.jsonl", task="extraction", side="pred")
    assert read(tmp_path / "out.jsonl", task="extraction", side="pred")[0]["entities"] == [NOWHERE]

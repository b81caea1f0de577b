"""``gold modes``: the table of what went wrong, its gate, and its errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.ext.labelling.review.conftest import decision, extraction, write_draft
from typer.testing import CliRunner, Result

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app, with_flags
from goldassay.ext.labelling.review.folder import Folder
from goldassay.ext.labelling.review.journal import Decision
from goldassay.ext.labelling.review.session import Session

RUN = CliRunner(env={"COLUMNS": "120", "TERM": "dumb"})


def call(*words: object) -> Result:
    return RUN.invoke(app, ["gold", "modes", *map(str, words)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """40 traces, of which 20 were read: 4 lack a total, one of these is bad."""
    folder = Folder.open([write_draft(tmp_path / "week.jsonl", extraction())])
    session = Session(folder)
    for place in range(20):
        failed: dict[str, Any] = (
            {"modes": ["missing=total"], "grade": 3 if place == 1 else None} if place in (0, 1, 5, 6) else {}
        )
        sent = decision(str(place), value={"entities": []}, note="odd" if place == 9 else None, **failed)
        session.decide(Decision.model_validate(sent), "ann", "")
    session.close()
    return folder.path


def test_the_table_has_shares_of_all_traces_and_says_when_nothing_new_appears(folder: Path) -> None:
    done = call(folder)
    assert done.exit_code == 0, done.output
    assert "20 of 40 traces read" in done.stdout
    assert "d0, d1, d5" in done.stdout
    assert "no new mode in the last 19 of 20 records" in done.stdout
    assert "notes without a mode: 1" in done.stdout
    answer = json.loads(call(folder, "--json").stdout)
    (mode,) = answer["modes"]
    assert (mode["name"], mode["records"], mode["examples"]) == ("missing=total", 4, ["d0", "d1", "d5", "d6"])
    assert mode["share"]["value"] == pytest.approx(0.2)
    assert mode["cost"]["value"] == pytest.approx((3 + 1 + 1 + 1) / 20)
    assert (answer["read"], answer["since_new"], answer["population"], answer["warnings"]) == (20, 19, 40, [])


@pytest.mark.parametrize(("limit", "code"), [(0.1, 1), (0.2, 0), (0.3, 0), ("nan", 1)])
def test_a_gate_compares_the_share_itself(folder: Path, limit: object, code: int) -> None:
    done = call(folder, "--fail-over", f"missing=total={limit}")
    assert done.exit_code == code
    assert ("is 0.2000, over" in done.stderr) == bool(code)


def test_a_gate_on_an_unknown_share_is_missed(tmp_path: Path) -> None:
    records = extraction()
    for record in records:
        record["sampling"] |= {"size": 40, "population": 400, "question": "errors", "stratum": "judged wrong"}
    folder = Folder.open([write_draft(tmp_path / "week.jsonl", records)])
    session = Session(folder)
    sent = decision("0", value={"entities": []}, modes=["slow"])
    session.decide(Decision.model_validate(sent), "ann", "")
    session.close()
    done = call(folder.path, "--fail-over", "slow=.9")
    assert done.exit_code == 1
    assert "slow has no share" in done.stderr
    assert "has no label yet" in done.stderr


def test_errors_name_the_modes_and_the_folder(folder: Path, tmp_path: Path) -> None:
    done = call(folder, "--fail-over", "slow=.1")
    assert isinstance(done.exception, GoldassayError)
    assert "no mode 'slow' for the limit 0.1; there are missing=total" in str(done.exception)
    done = call(folder, "--fail-over", "slow")
    assert "--fail-over expects NAME=NUMBER" in with_flags(str(done.exception))
    done = call(tmp_path)
    assert "no folder of a review" in str(done.exception)


def test_what_is_wrong_with_the_call_is_told_before_anything_is_printed(folder: Path) -> None:
    assert call(folder, "--fail-over", "slow").stdout == ""


def test_a_review_without_modes_says_how_to_name_them(tmp_path: Path) -> None:
    place = Folder.open([write_draft(tmp_path / "week.jsonl", extraction())])
    Session(place).close()
    assert "0 traces read, and no failure mode named; name them in the review (key m)" in call(place.path).stdout

"""``goldassay conform --mutations``: the table of which measure notices which damage."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from goldassay.cli import app


def test_the_table_of_a_task_names_who_notices_and_who_is_blind() -> None:
    done = CliRunner().invoke(app, ["conform", "--mutations", "--only", "answering", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["mutations"]
    assert {row["task"] for row in rows} == {"answering"}
    noticed = {(row["damage"], row["measure"]): row["noticed"] for row in rows}
    assert noticed["negation", "exact_match"] is True
    assert noticed["negation", "rouge1"] is False


def test_the_table_fits_the_terminal() -> None:
    done = CliRunner().invoke(app, ["conform", "--mutations", "--only", "linking"], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    assert "wrong candidate" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_an_unknown_task_is_one_line() -> None:
    done = CliRunner().invoke(app, ["conform", "--mutations", "--only", "nope"])
    assert done.exit_code != 0


def test_an_option_that_would_do_nothing_is_refused() -> None:
    for given, said in (
        (["--mirror", "http://127.0.0.1"], "--mirror is for --fetch"),
        (["--mutations", "--fetch"], "--data and --fetch go without --mutations"),
    ):
        done = CliRunner().invoke(app, ["conform", *given])
        assert done.exit_code != 0
        assert said in str(done.exception)

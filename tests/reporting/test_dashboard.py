"""A folder of runs: the list, lines that join only what may be joined, pruning, static pages, the local server."""

from __future__ import annotations

import json
import shutil
import socket
import struct
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay._support.server import LocalServer
from goldassay.cli import app
from goldassay.reporting import runs as tables
from goldassay.reporting.pages import charts
from goldassay.reporting.pages.dashboard import application, dashboard, entries, lines, listing
from goldassay.results.view import Chart, Point
from goldassay.running import Run

CLI = CliRunner()


@pytest.fixture
def runs(two: list[Run], tmp_path: Path) -> Path:
    """Five runs of one program: two alike, then other gold, then other conventions; and one that is going on."""
    folder = tmp_path / "runs"
    assert two[0].folder
    changes: list[dict[str, Any]] = [
        {},
        {},
        {"gold": {"examples": 30, "sha256": "f" * 64}},
        {"gold": {"examples": 30, "sha256": "f" * 64}, "convention": "strict_f1[other]"},
    ]
    for number, change in enumerate(changes):
        place = folder / f"2026010{number + 1}-thirds"
        shutil.copytree(two[0].folder, place)
        about = json.loads((place / "run.json").read_text())
        about["started"] = f"2026-01-0{number + 1}T10:00:00+00:00"
        about["gold"] = change.get("gold", about["gold"])
        if "convention" in change:
            about["measures"]["strict_f1"]["conventions"] = change["convention"]
        (place / "run.json").write_text(json.dumps(about))
    place = folder / "20260105-thirds"
    shutil.copytree(two[0].folder, place)
    about = json.loads((place / "run.json").read_text())
    for key in ("value", "values", "intervals"):
        about.pop(key)
    about |= {"status": "running", "started": "2026-01-05T10:00:00+00:00"}
    (place / "run.json").write_text(json.dumps(about))
    rows = (place / "rows.jsonl").read_text().splitlines(keepends=True)
    (place / "rows.jsonl").write_text("".join(rows[:13]))
    (folder / "notes").mkdir()
    (folder / "notes" / "run.json").write_text("{]")
    return folder


def test_the_newest_stands_first_and_what_is_no_run_is_passed_over(runs: Path) -> None:
    drawn = entries(runs)
    assert [each.key[:8] for each in drawn] == ["20260105", "20260104", "20260103", "20260102", "20260101"]
    assert (drawn[0].status, drawn[0].done(), drawn[0].examples) == ("running", 13, 40)
    with pytest.raises(GoldassayError, match="no folder"):
        entries(runs / "none")


def test_a_line_breaks_where_gold_or_conventions_changed_and_says_so(runs: Path) -> None:
    drawn = lines(entries(runs), "thirds")
    assert [len(line) for _, line in drawn] == [2, 1, 1]
    assert drawn[0][0] == ""
    assert drawn[1][0].startswith("gold changed from ")
    assert drawn[1][0].endswith("to ffffffffffff, 30 examples")
    assert drawn[2][0].startswith("conventions changed from strict_f1[")
    assert drawn[2][0].partition(" to ")[2].startswith("strict_f1[other]")


def test_a_line_breaks_where_the_settings_of_the_model_changed(runs: Path) -> None:
    for day, warmth in ((1, 0.0), (2, 0.8)):
        file = runs / f"2026010{day}-thirds" / "run.json"
        about = json.loads(file.read_text())
        file.write_text(json.dumps({**about, "lm": "m", "model": {"name": "m", "temperature": warmth}}))
    broken = [why for why, line in lines(entries(runs), "thirds") if line[0].model == "m"]
    assert broken[:2] == ["", "the model's settings changed from temperature 0.0 to temperature 0.8"]


def test_a_run_that_cannot_be_read_is_told(runs: Path) -> None:
    broken = runs / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{")
    listed = CLI.invoke(app, ["runs", "list", str(runs), "--json"])
    assert "broken" not in listed.stdout
    assert f"warning: skipped {broken / 'run.json'}, which cannot be read" in listed.stderr


def test_runs_list_show_and_prune(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = CLI.invoke(app, ["runs", "list", str(runs), "--json"])
    assert [each["run"][:8] for each in json.loads(listed.stdout)["runs"]][:2] == ["20260105", "20260104"]
    lines = CLI.invoke(app, ["runs", "list", str(runs)], env={"COLUMNS": "80"}).stdout.splitlines()
    assert [line.split()[-1] for line in lines][:2] == [
        "run",
        next(iter(entries(runs))).key,
    ]  # whole, whatever its length
    assert len(lines) == 1 + len(entries(runs))
    details = CLI.invoke(app, ["runs", "show", str(runs / "20260101-thirds")])
    monkeypatch.chdir(runs.parent)
    named = CLI.invoke(app, ["runs", "show", "20260101-thirds"])  # the name that the list shows
    assert named.exit_code == 0
    assert named.output.splitlines()[:-1] == details.output.splitlines()[:-1]  # the last line is the folder
    assert "metric" in details.stdout
    assert "precision" in details.stdout
    assert "strict_f1 by half" in details.stdout
    pruned = CLI.invoke(app, ["runs", "prune", str(runs), "--keep", "1", "--json"])
    assert json.loads(pruned.stdout) == {"runs": [f"2026010{n}-thirds" for n in (3, 2, 1)], "deleted": False}
    assert len(entries(runs)) == 5
    CLI.invoke(app, ["runs", "prune", str(runs), "--keep", "1", "--delete"])
    assert [each.key[:8] for each in entries(runs)] == ["20260105", "20260104"]
    assert CLI.invoke(app, ["runs", "prune", str(runs)]).exit_code == 2


def test_moments_stand_at_equal_distances_and_a_break_between_two() -> None:
    moments = ["2026-01-01T10:00:00", "2026-01-01T10:00:05", "2026-03-01T09:30:00"]
    points = [Point(moment, 0.5, 0.4, 0.6) for moment in moments]
    figure = charts.figure(Chart("history", "f1", [("m", points[:2]), ("m", points[2:])], breaks=[moments[2]]))
    assert [each["x"] for each in figure["data"]] == [[0, 1], [2]]
    assert [each["x0"] for each in figure["layout"]["shapes"]] == [1.5]
    assert figure["layout"]["xaxis"]["ticktext"] == [
        "2026-01-01<br>10:00",
        "2026-01-01<br>10:00",
        "2026-03-01<br>09:30",
    ]
    many = [Point(f"2026-01-{day:02d}", 0.5, 0.4, 0.6) for day in range(1, 18)]
    thinned = charts.figure(Chart("history", "f1", [("m", many)]))
    assert thinned["layout"]["xaxis"]["tickvals"] == [0, 3, 6, 9, 12, 15]


def test_the_dashboard_opens_from_disk(runs: Path, tmp_path: Path, opened: Callable[..., Any]) -> None:
    files = dashboard(runs, tmp_path / "out")
    assert files[0].name == "index.html"
    assert len(files) == 8  # the list, five runs, and those on each gold beside each other
    seen = opened(files[0])
    assert seen.page.inner_text("#count") == "5 of 5"
    seen.page.fill("#search", "20260103")
    assert seen.page.inner_text("#count") == "1 of 5"
    assert "gold changed from" in seen.page.inner_text("#history")
    seen.draw()
    assert seen.page.query_selector("[data-chart] svg") is not None
    assert seen.console == []
    assert [Path(address).name for address in seen.requests] == ["index.html", "plotly.js"]
    assert all(file.stat().st_size < 500_000 for file in files), "the pages share one chart library"
    seen.page.click("tbody tr:not([hidden]) a")
    seen.page.wait_for_selector("html[data-ready=yes]")
    assert seen.console == []


def test_the_list_shows_the_interval_of_a_weighted_metric_sorts_and_folds_tunings(
    runs: Path, two: list[Run], tmp_path: Path, opened: Callable[..., Any]
) -> None:
    assert two[1].folder
    for name in ("before", "after"):
        shutil.copytree(two[1].folder, runs / "20260106-tune" / name)
    listed = entries(runs)
    ends = two[1].interval
    assert ends is not None
    child = next(run for run in listed if run.key == "20260106-tune/after")
    assert (child.value, child.interval) == (two[1].value, (ends.low, ends.high))
    file = tmp_path / "list.html"
    file.write_text(listing(listed, runs, live=True), encoding="utf-8")
    seen = opened(file)
    seen.draw()
    page = seen.page
    rows = page.inner_text("#table tbody")
    assert "a tuning with 2 runs" in rows
    assert not page.is_visible("tr[data-key='20260106-tune/after']")
    page.click("[data-folder='20260106-tune']")
    row = page.inner_text("tr[data-key='20260106-tune/after']")
    assert f"[{ends.low:.3f}, {ends.high:.3f}]" in row
    page.click("#table th .sort:has-text('metric')")
    values = [
        float(cell.split()[0])
        for cell in page.locator("#table tr[data-key] td:nth-of-type(2)").all_inner_texts()
        if cell[0].isdigit()
    ]
    assert values == sorted(values, reverse=True)
    for key in ("20260101-thirds", "20260102-thirds"):
        page.check(f"input[value='{key}']")
    page.select_option("#baseline", "20260102-thirds")
    assert page.inner_text("#compare") == "Compare 2 runs"
    assert "metric over time" in page.get_attribute("[data-chart]", "aria-label")


@pytest.fixture
def server(runs: Path) -> Iterator[LocalServer]:
    with LocalServer(application(runs)) as running:
        yield running


def status(address: str, host: str | None = None, **headers: str) -> int:
    request = urllib.request.Request(address, headers=headers | ({"Host": host} if host else {}))
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_the_server_answers_its_own_address_alone(server: LocalServer) -> None:
    port = server.port
    assert server.address.startswith(f"http://127.0.0.1:{port}/")
    assert status(server.address) == 200
    assert status(server.address, host=f"localhost:{port}") == 200
    assert status(server.address, host=f"evil.example:{port}") == 403
    assert status(server.address, Origin="http://evil.example") == 403
    assert status(f"http://127.0.0.1:{port}/") == 403
    assert status(f"http://127.0.0.1:{port}/{'x' * 24}/") == 403
    assert status(f"{server.address}report?run=../../etc") == 404
    assert status(f"{server.address}report?run=notes") == 404
    assert status(f"{server.address}none") == 404
    assert status(f"{server.address}report?run=20260101-thirds") == 200


def test_a_client_that_goes_away_is_no_error_and_a_run_that_cannot_be_read_is_one(
    server: LocalServer, runs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        place = f"/{server.token}/report?run=20260101-thirds"
        client.sendall(f"GET {place} HTTP/1.0\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        assert client.recv(100)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets
    assert status(server.address) == 200
    assert caplog.text == ""
    rows = runs / "20260101-thirds" / "rows.jsonl"
    rows.unlink()
    rows.mkdir()
    assert status(f"{server.address}report?run=20260101-thirds") == 500
    server.close()
    assert "IsADirectoryError" in caplog.text
    assert server.token not in caplog.text


def test_a_served_run_is_watched_and_compared_by_ticking(server: LocalServer, runs: Path, chromium: Any) -> None:
    page = chromium.new_page()
    messages: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(server.address)
    assert page.inner_text("tr[data-status=running] .status .under") == "13 of 40"
    with (runs / "20260105-thirds" / "rows.jsonl").open("a") as rows:
        rows.write("{}\n" * 7)
    page.wait_for_selector("tr[data-status=running] .status:has-text('20 of 40')")
    about = json.loads((runs / "20260105-thirds" / "run.json").read_text())
    (runs / "20260105-thirds" / "run.json").write_text(json.dumps({**about, "status": "interrupted"}))
    page.wait_for_selector("tr[data-status=interrupted]")
    for day in (1, 2):
        page.check(f"input[value='2026010{day}-thirds']")
    page.click("#compare")
    page.wait_for_selector("html[data-ready=yes]")
    assert page.url.endswith("report?run=20260101-thirds&run=20260102-thirds")
    assert page.inner_text("#against h2").startswith("Differences from thirds")
    assert messages == []
    assert all(url.startswith(server.address) for url in requests)
    page.close()


def paths(value: object, *path: str) -> Iterator[tuple[str, ...]]:
    """Every place in a JSON object."""
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from paths(inner, *path, key)


def test_one_odd_run_hides_no_other(runs: Path, tmp_path: Path) -> None:
    """Whatever stands in one run.json, the other runs are listed and have their pages."""
    folder = tmp_path / "all"
    good = next(runs.glob("*/run.json")).parent
    about = json.loads((good / "run.json").read_text())
    shutil.copytree(good, folder / "good")
    places = list(paths(about))
    values: list[Any] = [None, "x", -5, [], {}, [["x"]]]
    for number, (place, odd) in enumerate(product(places, values)):
        changed = json.loads(json.dumps(about))
        part = changed
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = odd
        (folder / f"odd{number}").mkdir()
        (folder / f"odd{number}" / "run.json").write_text(json.dumps(changed))
    listed = entries(folder)
    assert "good" in {run.key for run in listed}
    assert "good" in listing(listed, folder, live=True)
    some = [run.folder for run in listed if run.key != "good"][::20]
    few = tmp_path / "few"
    for other in (folder / "good", *some):
        shutil.copytree(other, few / other.name)
        shutil.copy(good / "rows.jsonl", few / other.name)
    files = dashboard(few, tmp_path / "site")
    assert tmp_path / "site" / "run-good.html" in files
    tables.run_list(entries(few))


def test_every_run_has_a_page_of_its_own(runs: Path, tmp_path: Path) -> None:
    good = next(runs.glob("*/run.json")).parent
    names = ("x y", "x-y", "x+y", "X-Y", "x--y")
    for name in names:
        shutil.copytree(good, tmp_path / "all" / name)
    dashboard(tmp_path / "all", tmp_path / "site")
    pages = [file.name for file in (tmp_path / "site").glob("run-*.html")]
    assert len({page.casefold() for page in pages}) == len(names)

"""The figures about reviewers, and the verdict while they label."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from tests.reviewing.conftest import LABELS, Client, Start, classification, extraction, sampling, text_of
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.reviewing.journal import Decision
from goldassay.reviewing.quality import Quality, missed_by_both, share_difference


def test_the_interval_of_what_both_missed_covers_it() -> None:
    """Two reviewers who overlook things independently: the interval holds what both missed in 19 of 20 studies."""
    rng = random.Random(0)
    covered = 0
    for _ in range(600):
        first = {item for item in range(200) if rng.random() < 0.85}
        second = {item for item in range(200) if rng.random() < 0.75}
        ends = missed_by_both(len(first), len(second), len(first & second))
        covered += ends["low"] <= 200 - len(first | second) <= ends["high"]
    assert 0.9 < covered / 600 < 0.99


def test_the_interval_of_anchoring_covers_it() -> None:
    rng = random.Random(0)
    covered = 0
    for _ in range(600):
        shown = sum(rng.random() < 0.85 for _ in range(180))
        hidden = sum(rng.random() < 0.7 for _ in range(20))
        ends = share_difference((shown, 180), (hidden, 20))
        covered += ends["low"] <= 0.15 <= ends["high"]
    assert 0.92 < covered / 600 < 0.99


def test_nothing_missed_has_an_end_above_zero() -> None:
    assert missed_by_both(10, 10, 10) == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert missed_by_both(0, 0, 0)["value"] == 0.0
    assert missed_by_both(5, 5, 0)["high"] > missed_by_both(5, 5, 0)["value"] > 0


def test_anchoring_is_how_much_more_often_a_shown_suggestion_is_accepted(start: Start) -> None:
    page = Client(start(extraction(100)).url)
    for item, _ in page.get("setup")["index"]:
        record = page.record(item)
        page.decide(item, value={"entities": []} if record["blind"] else record["suggestions"][0]["value"])
    figure = page.get("progress")["quality"]["anchoring"]
    assert (figure["shown"], figure["hidden"], figure["value"]) == (90, 10, 1.0)
    assert 0.6 < figure["low"] < 1.0


def test_what_two_reviewers_missed_is_estimated(start: Start) -> None:
    opened = start(extraction(20), overlap=1.0)
    spans = [{"start": place, "end": place + 2, "type": "ORG"} for place in (0, 2, 4, 10)]
    for who, chosen in (("ann", spans[:3]), ("bo", spans[1:])):
        page = Client(opened.url, who)
        for index in range(20):
            page.decide(str(index), value={"entities": chosen})
    quality = Client(opened.url).get("progress")["quality"]
    assert quality["missed"]["value"] == pytest.approx(61 * 61 / 41 - 1 - 80)
    assert next(each["value"] for each in quality["agreement"] if each["name"] == "strict_f1") == pytest.approx(2 / 3)


def test_the_verdict_says_which_system_is_better_without_its_name(start: Start) -> None:
    page = Client(start(classification(40)).url)
    assert page.get("progress")["verdict"] is None
    for item, _ in page.get("setup")["index"][:30]:
        page.decide(item, value={"label": LABELS[int(item) % 3]})
    progress = page.get("progress")
    verdict = progress["verdict"]
    assert (verdict["systems"], verdict["better"], verdict["labels"]) == (["A", "B"], "A", 30)
    assert verdict["difference"] == pytest.approx(-0.1)
    assert verdict["low"] <= verdict["difference"] <= verdict["high"] < 0
    assert progress["decided"]
    page.post("reveal", {})
    assert page.get("progress")["verdict"]["systems"] == ["a", "b"]


def test_choices_without_gold_count_in_the_verdict(start: Start) -> None:
    opened = start(classification(40))
    page = Client(opened.url)
    for number, (item, _) in enumerate(page.get("setup")["index"]):
        record = page.record(item)
        sides = opened.session.folder.suggestions(number)
        best = "12"[[side.system for side in sides].index("b")]
        choice = ("both", "neither", best)[number % 3]
        page.decide(item, choice=choice) if not record["blind"] else page.decide(item, kind="unsure")
    verdict = page.get("progress")["verdict"]
    assert (verdict["measure"], verdict["better"]) == ("share of right answers", "b")
    wins = sum(line.choice in ("1", "2") for line in opened.session.journal.in_force())
    assert verdict["difference"] == pytest.approx(wins / verdict["labels"] / 10)
    assert opened.export()["records"] == wins


def test_a_task_of_your_own_without_a_metric_has_a_verdict(start: Start) -> None:
    records: list[dict[str, Any]] = [
        {
            "id": str(number),
            "note": text_of(number),
            "suggestions": {"a": {"year": number, "kind": "x"}, "b": {"year": number + 1, "kind": "y"}},
            "sampling": sampling(number, 20),
        }
        for number in range(20)
    ]
    opened = start(records, task="decades")
    page = Client(opened.url)
    setup = page.get("setup")
    assert [(field["name"], field["choices"]) for field in setup["fields"]] == [("year", []), ("kind", ["x", "y"])]
    for item, _ in setup["index"]:
        page.decide(item, value={"year": int(item), "kind": "x"})
    assert page.get("progress")["verdict"]["better"] == "a"
    assert opened.export()["records"] == 20


def test_a_judge_is_shown_once_a_record_is_decided(start: Start) -> None:
    records = extraction(20)
    for number, record in enumerate(records):
        record["sampling"] |= {"verdict": float(number % 4 > 0), "verdict_mean": 0.75}
    opened = start(records, judge=True)
    page = Client(opened.url)
    assert "verdict" not in str(page.record("1"))
    value = page.record("1")["suggestions"][0]["value"]
    assert page.decide("1", value=value)["judge"] == {"verdict": 1.0, "agrees": True}
    assert page.decide("0", good=False)["judge"] == {"verdict": 0.0, "agrees": True}
    assert page.decide("2", value={"entities": []})["judge"] == {"verdict": 1.0, "agrees": False}
    judge = page.get("progress")["judge"]
    assert (judge["n"], judge["sensitivity"][0], judge["specificity"][0]) == (3, 1.0, 0.5)
    opened.export()
    done = CliRunner().invoke(app, ["judge", "align", str(opened.folder / "judge.jsonl"), "--json"])
    assert json.loads(done.stdout)["accuracy"]["value"] == pytest.approx(2 / 3)


class SlowQuality(Quality):
    """Figures that take longer than people's decisions."""

    computed = 0

    def state(self, *arguments: Any) -> dict[str, Any]:
        self.computed += 1
        time.sleep(0.6)
        return super().state(*arguments)


def test_slow_figures_are_computed_rarely(start: Start) -> None:
    session = start(extraction(20)).session
    slow = SlowQuality(session.folder, session.journal, session.queue)
    session.quality = slow
    for index in range(3):
        session.decide(Decision(decision=str(index), item=str(index), kind="skip"), "ann", "")
        session.progress("ann", "", fresh=True)
    assert slow.computed == 1

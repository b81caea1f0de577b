"""The figures about reviewers, and the verdict while they label."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tests.ext.labelling.review.conftest import (
    LABELS,
    Client,
    Start,
    classification,
    decision,
    extraction,
    sampling,
    text_of,
    write_draft,
)
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.ext.labelling.labelled import verdict
from goldassay.ext.labelling.review import Review
from goldassay.ext.labelling.review.journal import Decision, canonical
from goldassay.ext.labelling.review.quality import Quality, missed_by_both
from goldassay.ext.labelling.review.session import Session, labels_of
from goldassay.statistics import holm
from goldassay.statistics.intervals import share_difference


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
        covered += ends.low <= 0.15 <= ends.high
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


def files_of(opened: Review, records: list[dict[str, Any]], answer: dict[str, Any]) -> list[str]:
    """The predictions of each system for all inputs of a draft; they agree where nothing was drafted."""
    population = records[0]["sampling"]["population"]
    arguments = []
    for name in records[0]["sampling"]["systems"]:
        inputs = {"note"} & answer.keys()
        rows = [
            {"id": record["id"], **{key: record[key] for key in inputs}, **record["suggestions"][name]}
            for record in records
        ]
        rows += [{"id": f"rest{number}", **answer} for number in range(len(records), population)]
        arguments += ["--pred", str(write_draft(opened.folder / f"{name}.jsonl", rows))]
    return arguments


def compared(opened: Review, task: str, records: list[dict[str, Any]], answer: dict[str, Any]) -> list[dict[str, Any]]:
    """What `goldassay compare` says of the exported gold: a verdict for each system against the first."""
    opened.export()
    gold = ["--gold", str(opened.folder / "gold.jsonl"), *files_of(opened, records, answer)]
    done = CliRunner().invoke(app, ["compare", task, *gold, "--json"])
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(app, ["compare", task, *gold, "--all"])
    assert "wrong label right" not in shown.stdout, "nobody said what is wrong with an answer"
    return [each["labels"] for each in json.loads(done.stdout)["comparisons"]]


SAME = ("difference", "low", "high", "p", "test_p", "labels", "disagreements", "left", "needed")


@pytest.mark.parametrize(
    ("task", "complete"),
    [
        ("classification", True),
        ("extraction", False),
        pytest.param("classification", False, marks=pytest.mark.nightly),
        pytest.param("extraction", True, marks=pytest.mark.nightly),
    ],
)
def test_compare_on_exported_gold_says_what_the_page_says(start: Start, task: str, complete: bool) -> None:
    """Answers that are both right or both wrong make no gold, and count in both places."""
    if task == "classification":
        records = classification(40)
        other: dict[str, Any] = {"label": "none of them"}
        answer: dict[str, Any] = {"label": LABELS[0]}
    else:
        span = {"start": 0, "end": 6, "type": "ORG"}
        records = [
            {**record, "sampling": sampling(number, 40, agreement="the same spans with the same types")}
            | {"suggestions": {"a": {"entities": [span]}, "b": {"entities": []}}}
            for number, record in enumerate(extraction(40))
        ]
        other = answer = {"entities": [{**span, "type": "PER"}]}
    opened = start(records)
    page = Client(opened.url)
    order = [*range(39, 19, -1), *range(20)] if complete else range(10, 30)
    for number in order:
        sides = opened.session.folder.suggestions(number)
        a = str([side.system for side in sides].index("a") + 1)
        decisions: tuple[dict[str, Any], ...] = (
            {"choice": "both"},
            {"choice": "neither"},
            {"choice": a},
            {"choice": a, "value": other},
        )
        hidden = number in opened.session.queue.blind
        page.decide(str(number), **({"value": other} if hidden else decisions[number % 4]))
    page.post("reveal", {})
    live = page.get("progress")["verdict"]
    assert live["measure"] == "share of right answers"
    wins = sum(number % 4 > 1 and number not in opened.session.queue.blind for number in order)
    assert live["difference"] == pytest.approx(-wins / len(order) / 10)  # 40 of 400 differ; b is never right alone
    (verdict,) = compared(opened, task, records, answer)
    assert {name: verdict[name] for name in SAME} == pytest.approx({name: live[name] for name in SAME})


def test_compare_says_the_same_of_a_task_of_your_own(
    start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its files of predictions may hold the inputs, too, and it needs no metric."""
    for folder, content in (("programs", "program = lambda note: None"), ("metrics", "")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "decades.py").write_text(content)
    monkeypatch.chdir(tmp_path)
    agreement = "the same value in every field but working notes"
    records = [
        {
            "id": str(number),
            "note": text_of(number),
            "suggestions": {"a": {"year": number}, "b": {"year": number + 1}},
            "sampling": sampling(number, 20, agreement=agreement),
        }
        for number in range(20)
    ]
    opened = start(records, task="decades")
    page = Client(opened.url)
    for number in range(20):
        neither = number % 3 == 0 and number not in opened.session.queue.blind
        page.decide(str(number), **({"choice": "neither"} if neither else {"value": {"year": number}}))
    page.post("reveal", {})
    live = page.get("progress")["verdict"]
    (verdict,) = compared(opened, "decades", records, {"year": 1, "note": "x"})
    assert {name: verdict[name] for name in SAME} == pytest.approx({name: live[name] for name in SAME})


def test_three_systems_have_a_verdict_that_is_corrected_for_their_pairs(start: Start) -> None:
    """a is right on all, b on a third, c never: a is best once it is proven against both, by Holm's p-values."""
    systems = ("a", "b", "c")
    records = classification(60)
    for number, record in enumerate(records):
        right = LABELS[number % 3]
        others = [label for label in LABELS if label != right]
        answers = (right, right if number % 3 == 0 else others[0], others[1])
        record["suggestions"] = {name: {"label": label} for name, label in zip(systems, answers, strict=True)}
        stratum = "a=b|c" if number % 3 == 0 else "a|b|c"
        record["sampling"] = sampling(number, 20 if number % 3 == 0 else 40, systems, stratum=stratum, population=600)
        record["sampling"]["position"] = number // 3 if number % 3 == 0 else number - number // 3 - 1
    opened = start(records)
    page = Client(opened.url)
    for number in range(12):
        page.decide(str(number), value={"label": LABELS[number % 3]})
    early = page.get("progress")
    assert not early["decided"]
    for number in range(12, 60):
        page.decide(str(number), value={"label": LABELS[number % 3]})
    live = page.get("progress")
    assert live["decided"]
    assert live["verdict"]["systems"] == ["a", "c"]
    assert live["verdict"]["difference"] == pytest.approx(-60 / 600)
    pairs = [
        verdict(
            "classification",
            opened.session.quality.records([opened.session.journal.settled(index) for index in range(60)]),
            pair,
        )
        for pair in combinations(systems, 2)
    ]
    assert live["verdict"]["p"] == pytest.approx(min(holm([each.p for each in pairs])))
    assert live["verdict"]["p"] > min(each.p for each in pairs)
    assert live["verdict"]["sentence"].count(" is worse than ") == 3
    third = compared(opened, "classification", records, {"label": LABELS[0]})
    assert {round(each["difference"], 6) for each in third if each["measure"] == "accuracy"} == {
        -round(40 / 600, 6),
        -0.1,
    }


def test_a_stratum_without_labels_is_not_taken_for_agreement(start: Start) -> None:
    """Of three systems, that a and b agree on a stratum says nothing of a and c there."""
    records = classification(40)
    for number, record in enumerate(records):
        record["suggestions"]["c"] = dict(record["suggestions"]["b"])
        stratum = "a|b=c" if number % 2 else "a=b|c"
        if stratum == "a=b|c":
            record["suggestions"]["b"] = dict(record["suggestions"]["a"])
        record["sampling"] = sampling(number // 2, 20, ("a", "b", "c"), stratum=stratum, population=400)
    opened = start(records)
    page = Client(opened.url)
    for number in range(1, 40, 2):
        page.decide(str(number), value={"label": LABELS[number % 3]})
    page.post("reveal", {})
    assert page.get("progress")["verdict"]["systems"] == ["a", "b"]
    opened.export()
    gold = ["--gold", str(opened.folder / "gold.jsonl"), *files_of(opened, records, {"label": LABELS[0]})]
    done = CliRunner().invoke(app, ["compare", "classification", *gold, "--measure", "accuracy", "--json"])
    answer = json.loads(done.stdout)
    assert [Path(each["run"]).name for each in answer["comparisons"]] == ["b.jsonl"]


def test_a_corrected_side_is_preferred_to_the_other(start: Start) -> None:
    opened = start(classification(20))
    page = Client(opened.url)
    for number in range(20):
        sides = opened.session.folder.suggestions(number)
        best = str([side.system for side in sides].index("b") + 1)
        choice = None if number in opened.session.queue.blind else best
        page.decide(str(number), choice=choice, value={"label": "another"})
    shown = next(number for number in range(20) if number not in opened.session.queue.blind)
    page.decide(str(shown), choice="both")
    page.post("reveal", {})
    assert page.get("progress")["verdict"]["better"] == "b"
    hidden = str(min(opened.session.queue.blind))
    status, answer = page.send("POST", "decisions", decision(hidden, choice="1", value={"label": "another"}))
    assert (status, answer["error"]) == (422, "no side '1'; there are none")
    opened.export()
    rows = [json.loads(line) for line in (opened.folder / "gold.jsonl").read_text().splitlines()]
    assert Counter(len(row["preferred"]) for row in rows) == {0: 2, 1: 17, 2: 1}
    assert [row["preferred"] for row in rows if "label" not in row] == [["a", "b"]]


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
    done = CliRunner().invoke(app, ["judge", "eval", str(opened.folder / "judge.jsonl"), "--json"])
    assert json.loads(done.stdout)["agreement"]["accuracy"]["value"] == pytest.approx(2 / 3)


class SlowQuality(Quality):
    """Figures that take longer than people's decisions."""

    computed = 0

    def state(self, *arguments: Any) -> dict[str, Any]:
        self.computed += 1
        time.sleep(0.6)
        return super().state(*arguments)


def test_slow_figures_are_computed_rarely(start: Start) -> None:
    session = start(extraction(20)).session
    slow = SlowQuality(session.journal)
    session.quality = slow
    for index in range(3):
        session.decide(Decision(decision=str(index), item=str(index), kind="skip"), "ann", "")
        session.progress("ann", "", fresh=True)
    assert slow.computed == 1


class OneAtATime(Quality):
    """Figures during which another page asks for them too."""

    session: Session
    during: dict[str, Any]
    computed = 0

    def state(self, *arguments: Any) -> dict[str, Any]:
        self.computed += 1
        if self.computed == 1:
            self.during = self.session.progress("bob", "", fresh=True)
        return super().state(*arguments)


def test_progress_says_whether_figures_have_the_last_decision_and_one_page_at_a_time_computes_them(
    start: Start,
) -> None:
    session = start(extraction(20)).session
    quality = OneAtATime(session.journal)
    quality.session = session
    session.quality = quality
    answer = session.decide(Decision(decision="a", item="0", kind="skip"), "ann", "")
    assert answer["progress"]["stale"]
    assert not session.progress("ann", "", fresh=True)["stale"]
    assert (quality.computed, quality.during["stale"]) == (1, True)


def test_the_text_of_a_value_grows_with_it_alone() -> None:
    deep: Any = "a"
    for _ in range(12):
        deep = {"inner": [deep]}
    assert len(canonical(deep)) < 300


def test_modes_are_those_of_the_answers_that_are_not_right(start: Any) -> None:
    review = start(classification(5))
    client = Client(review.url)
    expected = {}
    choices: list[dict[str, Any]] = [{"choice": "1"}, {"choice": "both"}, {"choice": "neither"}]
    other = {"value": {"label": LABELS[2]}}
    choices += [{"choice": "1", **other}, other]  # the better one corrected; what neither says
    for item, fields in zip(["0", "1", "2", "3", "4"], choices, strict=True):
        record = client.record(item)
        client.decide(item, modes=["cut"], **fields)
        shown = review.session.journal.current(int(item), "ann").shown
        right = set(shown) if fields.get("choice") == "both" else set[str]()
        if fields == {"choice": "1"}:
            right = {shown[0]}
        if "value" in fields:
            a = LABELS[int(item) % 3]
            b = LABELS[(int(item) + 1) % 3]
            right = {name for name, label in (("a", a), ("b", b)) if label == LABELS[2]}
        expected[record["id"]] = {name: () if name in right else ("cut",) for name in ("a", "b")}
    assert labels_of(review.folder)[1] == expected
    assert expected["r3"] == {"a": ("cut",), "b": ("cut",)}


def test_a_label_without_suggestions_prefers_who_says_the_same_whatever_the_reasoning(start: Start) -> None:
    """An oracle that always labels as b does: b is right in every record, also where no suggestion was shown."""
    # a form sends 2 for 2.0, and leaves out what is empty
    more: dict[str, object] = {"hours": 2.0, "note": None, "tags": []}
    answers = {name: {"team": name, "reasoning": f"as {name} thinks", **more} for name in "ab"}
    records = [
        {"id": str(n), "body": text_of(n), "suggestions": answers, "sampling": sampling(n, 40)} for n in range(40)
    ]
    opened = start(records, task="triage")
    client = Client(opened.url)
    for n in range(40):
        shown = client.record(str(n))
        sides = {each["value"]["team"]: each["key"] for each in shown["suggestions"]}
        client.decide(str(n), **({"choice": sides["b"]} if sides else {"value": {"team": "b", "hours": 2}}))
    records, _ = labels_of(opened.folder)
    assert [record["preferred"] for record in records] == [["b"]] * 40
    assert verdict("triage", records, ["a", "b"]).difference == pytest.approx(0.1)  # 40 of 400 answers differ

"""Who sees which record when: repeats, records for two, several pages at once, conflicts."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from cProfile import Profile
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
    write_draft,
)

from goldassay.ext.labelling.review.folder import Folder
from goldassay.ext.labelling.review.journal import Decision
from goldassay.ext.labelling.review.session import Session


def label_all(page: Client, choose: Any, most: int = 500) -> list[str]:
    """Decides until nothing is left; returns the items in their order."""
    items: list[str] = []
    ahead = page.get("setup")["next"]
    while ahead and len(items) < most:
        items.append(ahead[0])
        ahead = page.decide(ahead[0], value=choose(ahead[0]))["next"]
    return items


def test_a_twentieth_comes_again_after_other_records(start: Start) -> None:
    review = start(extraction(100))
    items = label_all(Client(review.url), lambda item: {"entities": []})
    assert [item for item in items if item.isdigit()] == [str(index) for index in range(100)]
    repeats = [item for item in items if item.endswith(":repeat")]
    assert len(repeats) == 5
    distances = [items.index(item) - items.index(item.partition(":")[0]) for item in repeats]
    assert min(distances[:-1]) >= 20
    progress = Client(review.url).get("progress")
    assert (progress["left"], progress["conflicts"], progress["quality"]["slips"]["value"]) == (0, 0, 0.0)


def test_a_slip_is_a_conflict_that_is_settled_blind(start: Start) -> None:
    review = start(classification(20))
    page = Client(review.url)
    items = label_all(page, lambda item: {"label": LABELS[len(item.partition(":")[2]) % 2]}, most=21)
    assert items[-1].endswith(":repeat")
    progress = page.get("progress")
    assert progress["quality"]["slips"]["value"] in (0.0, 1.0)
    assert progress["conflicts"] == int(progress["quality"]["slips"]["value"])


def test_two_pages_get_different_records_and_a_silent_page_loses_its_own(start: Start) -> None:
    review = start(extraction(40))
    first = Client(review.url)
    second = Client(review.url)
    ahead = first.get("setup")["next"]
    assert not set(ahead) & set(second.get("setup")["next"])
    review.session.queue.leases[first.sitting].seen -= 60
    assert second.get("setup")["next"] == ahead


def test_two_pages_at_once_lose_and_double_nothing(start: Start) -> None:
    review = start(extraction(120))

    def work(who: str) -> list[str]:
        return label_all(Client(review.url, who), lambda item: {"entities": []})

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(work, ["ann", "bo", "ann", "cy"]))
    firsts = [item for items in done for item in items if item.isdigit()]
    assert sorted(firsts, key=int) == [str(index) for index in range(120)]
    assert len(review.session.journal.lines) == sum(map(len, done))


def test_records_for_two_are_labelled_by_two_and_their_conflicts_are_settled(start: Start) -> None:
    review = start(classification(60), overlap=0.2)
    ann = Client(review.url, "ann")
    bo = Client(review.url, "bo")
    label_all(ann, lambda item: {"label": LABELS[0]})
    shared = sorted(review.session.queue.shared)
    assert 4 <= len(shared) <= 22
    items = bo.get("setup")["next"]
    assert items == [str(index) for index in shared][: len(items)]
    for number, index in enumerate(shared):
        bo.decide(str(index), value={"label": LABELS[number % 2]})
    conflicts = [str(index) for number, index in enumerate(shared) if number % 2]
    progress = bo.get("progress")
    assert progress["conflicts"] == len(conflicts)
    assert {each["name"] for each in progress["quality"]["agreement"]} == {"observed", "cohen_kappa"}
    assert review.export()["left_out"] == len(conflicts)
    cy = Client(review.url, "cy")
    assert {item for item in cy.get("setup")["next"] if ":" in item} <= {f"{item}:conflict" for item in conflicts}
    record = cy.record(f"{conflicts[0]}:conflict")
    assert [(side["system"], side["value"]["label"]) for side in record["suggestions"]] == [
        (None, label) for label in sorted(LABELS[:2])
    ]
    for item in conflicts:
        cy.decide(f"{item}:conflict", choice="1")
    assert cy.get("progress")["conflicts"] == 0
    assert review.export()["left_out"] == 0


def test_two_pages_settle_different_conflicts_and_each_is_settled_once(start: Start) -> None:
    review = start(classification(12), overlap=1.0)
    pages = [Client(review.url, who) for who in ("ann", "bo", "cy", "cy")]
    for page, label in zip(pages[:2], LABELS[:2], strict=True):
        for index in range(12):
            page.decide(str(index), value={"label": label})
    ahead = [page.get("setup")["next"] for page in pages]
    assert all(len(items) == 1 and items[0].endswith(":conflict") for items in ahead)
    settled: list[str] = []
    while any(ahead):
        assert len({item for items in ahead for item in items}) == sum(map(len, ahead))
        for number, page in enumerate(pages):
            if ahead[number]:
                settled += ahead[number]
                ahead[number] = page.decide(ahead[number][0], value={"label": LABELS[0]})["next"]
    assert sorted(settled) == sorted(f"{index}:conflict" for index in range(12))
    assert review.session.journal.conflicts() == []


def test_what_is_skipped_again_waits_behind_what_was_skipped_before(start: Start) -> None:
    page = Client(start(extraction(5)).url)
    for item in "01234":
        page.decide(item, kind="skip")
    seen = [page.get("setup")["next"][0]]
    seen += [page.decide(item, kind="skip")["next"][0] for item in "0123"]
    assert seen == list("01234")


def test_a_conflict_can_be_skipped_and_left_to_others(start: Start) -> None:
    opened = start(classification(5), overlap=1.0)
    ann = Client(opened.url, "ann")
    bo = Client(opened.url, "bo")
    for index in range(5):
        ann.decide(str(index), value={"label": LABELS[0]})
        bo.decide(str(index), value={"label": LABELS[index < 2]})
    opened.session.queue.leases.clear()
    assert ann.get("setup")["next"] == ["0:conflict"]
    assert ann.decide("0:conflict", kind="skip")["next"] == ["1:conflict"]
    assert ann.decide("1:conflict", kind="unsure")["next"] == ["0:conflict"]
    assert bo.get("setup")["next"] == ["1:conflict"]
    assert bo.decide("1:conflict", value={"label": LABELS[1]})["next"] == []
    assert ann.decide("0:conflict", kind="unsure")["next"] == []
    assert bo.get("setup")["next"] == ["0:conflict"]


def test_a_record_that_somebody_was_unsure_of_goes_to_another(start: Start) -> None:
    review = start(extraction(20))
    ann = Client(review.url, "ann")
    ann.decide("3", kind="unsure")
    ann.decide("4", kind="skip")
    assert ann.get("setup")["next"][-1] != "4", "what was skipped comes at the end"
    items = label_all(ann, lambda item: {"entities": []})
    assert "3" not in items
    assert [item for item in items if item.isdigit()][-1] == "4"
    bo = Client(review.url, "bo")
    assert bo.get("setup")["next"] == ["3:conflict"]
    bo.decide("3:conflict", value={"entities": []})
    assert review.export()["records"] == 20


@pytest.mark.parametrize("done", [0, 0.9])
def test_the_work_of_a_decision_is_linear_in_the_records(tmp_path: Path, done: float) -> None:
    """Counted in calls of functions: at two thousand records it takes milliseconds."""
    work = []
    for records in (100, 400):
        source = write_draft(tmp_path / f"{records}.jsonl", classification(records))
        folder = Folder.open([source], overlap=0.1)
        with (folder.path / "labels.jsonl").open("w") as stream:
            for index in range(int(done * records)):
                line = {**decision(str(index), value={"label": LABELS[0]}), "record": f"r{index}"}
                stream.write(f"{json.dumps(line | {'who': 'ann', 'when': '2026-11-23T10:00:00+00:00'})}\n")
        profile = Profile()
        with closing(Session(folder)) as session:
            assert session.progress("ann", "page", fresh=True)["done"] == int(done * records)
            for item in session.queue.next("ann", "page")[:3]:
                label = Decision.model_validate(decision(item, value={"label": LABELS[0]}))
                profile.runcall(session.decide, label, "ann", "page")
        work.append(sum(entry.callcount for entry in profile.getstats()))
    assert work[1] < 5 * work[0]

"""Failure modes in a review: named while reading, renamed, merged, moved, taken back, and read again."""

from __future__ import annotations

from typing import Any

import pytest
from tests.reviewing.conftest import Client, Start, extraction

from goldassay.exceptions import DataError
from goldassay.gold.modes import read_traces
from goldassay.reviewing.exporting import reviewed_traces

SPAN = {"start": 0, "end": 6, "type": "ORG"}


def empty(**more: Any) -> dict[str, Any]:
    return {"value": {"entities": []}, **more}


def test_traces_that_were_read_are_listed_while_the_page_is_open(start: Start) -> None:
    review = start(extraction())
    page = Client(review.url)
    page.decide("2", **empty(modes=["  no   place ", "slow"], note="Bonn is absent", grade=2))
    page.decide("0", value={"entities": [SPAN]})
    page.decide("1", kind="skip")
    page.decide("3", kind="unsure", modes=["slow"])
    traces = reviewed_traces(review.folder)
    assert [trace.id for trace in traces] == ["d2", "d0", "d3"], "in the order of reading"
    first = traces[0]
    assert (first.modes, first.note, first.grade) == (("no place", "slow"), "Bonn is absent", 2)
    assert first.gold == {"entities": []}
    assert [span["text"] for span in first.output["entities"]] == ["Museum"]
    assert first.fields.keys() == {"text"}
    assert first.sampling
    assert first.sampling.stratum == "all"
    assert first.wave
    assert (traces[1].modes, traces[2].gold) == ((), None)
    assert read_traces(review.folder) == traces


def test_what_two_reviewers_noted_is_put_together(start: Start) -> None:
    review = start(extraction(), overlap=1)
    for who, mode in (("ann", "slow"), ("bo", "rude")):
        Client(review.url, who).decide("0", **empty(modes=[mode]))
    (trace,) = reviewed_traces(review.folder)
    assert trace.modes == ("slow", "rude")


def test_a_grade_is_1_to_3(start: Start) -> None:
    page = Client(start(extraction()).url)
    for grade in (0, 4, "bad"):
        sent = {"decision": f"x{grade}", "item": "0", "kind": "label", "grade": grade, **empty()}
        assert page.send("POST", "decisions", sent)[0] == 400
    page.decide("0", **empty(grade=3))
    assert page.record("0")["decision"]["grade"] == 3


def test_a_folder_that_is_no_review_is_one_line(start: Start) -> None:
    review = start(extraction())
    with pytest.raises(DataError, match="no folder of a review"):
        reviewed_traces(review.folder.parent)

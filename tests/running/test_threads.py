"""Threads of an evaluation: results, errors and contexts are those of a plain call, and a time limit ends the wait."""

from __future__ import annotations

import contextvars
import time

import pytest

from goldassay.running.threads import start, within

PLACE = contextvars.ContextVar("PLACE", default="nowhere")


def test_a_thread_has_the_context_of_its_starter_and_changes_none() -> None:
    PLACE.set("Delft")

    def move() -> str:
        before = PLACE.get()
        PLACE.set("Gouda")
        return before

    _, future = start(move)
    assert future.result(timeout=10) == "Delft"
    assert PLACE.get() == "Delft"


def test_what_a_function_raises_is_raised_by_the_future() -> None:
    def leave() -> None:
        raise SystemExit(3)

    _, future = start(leave)
    with pytest.raises(SystemExit):
        future.result(timeout=10)


def test_a_call_that_takes_too_long_is_left_behind() -> None:
    before = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no answer within 0.1 s"):
        within(0.1, lambda: time.sleep(5))
    assert time.monotonic() - before < 4


def test_time_spent_waiting_for_a_limit_does_not_count() -> None:
    def work() -> str:
        time.sleep(0.3)
        return "done"

    assert within(0.1, work, waited=lambda: 5.0) == "done"

"""How fast an endpoint is asked: slow start, less after a refusal, slow growth, so many a minute."""

from __future__ import annotations

import itertools
import time
from functools import partial

import dspy
import pytest

from goldassay.exceptions import GoldassayError
from goldassay.lm.limits import PAUSE, START, Limiter, LimiterServer, Limits, RemoteLimiter, limited, limiter


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def full(limiter: Limiter | RemoteLimiter) -> int:
    """How many calls may be in flight; they are."""
    count = 0
    while limiter.ask() == 0.0:
        count += 1
    return count


def answered(limiter: Limiter, times: int) -> None:
    for _ in range(times):
        limiter.answered(0, 0)


def test_slow_start_doubles_a_round_until_a_refusal() -> None:
    one = Limiter(clock=Clock())
    rounds = []
    for _ in range(3):
        rounds.append(full(one))
        answered(one, rounds[-1])
    assert rounds == [START, 2 * START, 4 * START]


def test_a_refusal_takes_a_fifth_off_once_and_growth_is_slow_afterwards() -> None:
    clock = Clock()
    one = Limiter(clock=clock)
    answered(one, full(one))
    assert full(one) == 16
    clock.now += 1
    for _ in range(16):
        one.refused(100.0)  # all were in flight together: one sign, not sixteen
    assert (one.width, full(one)) == (12.8, 12)
    answered(one, 12)
    assert full(one) == 13  # one a round
    clock.now += 1
    one.refused(clock.now)
    assert one.width == pytest.approx(13.8 * 0.8, abs=0.1)


def test_it_never_falls_below_one_call() -> None:
    clock = Clock()
    one = Limiter(clock=clock)
    for _ in range(40):
        assert one.ask() == 0.0
        clock.now += 1
        one.refused(clock.now)
    assert (one.width, full(one)) == (1.0, 1)


def test_what_a_server_says_holds_for_all() -> None:
    clock = Clock()
    one = Limiter(clock=clock)
    assert one.ask() == 0.0
    one.refused(clock.now, 7.0)
    clock.now += 6.9
    assert 0 < one.ask() <= 0.1 + 1e-9
    clock.now += 0.2
    assert one.ask() == 0.0


def test_a_failing_server_pauses_growth() -> None:
    clock = Clock()
    one = Limiter(clock=clock)
    count = full(one)
    one.failed(server=True)
    answered(one, count - 1)
    assert full(one) == START
    answered(one, int(START))
    assert full(one) == START  # still
    clock.now += PAUSE + 1
    answered(one, int(START))
    assert full(one) == START + 1  # and then by one


def test_requests_a_minute_are_spread_evenly() -> None:
    clock = Clock()
    one = Limiter(Limits(rpm=30), clock)
    started = []
    while clock.now < 220:
        wait = one.ask()
        if wait:
            clock.now += wait
        else:
            started.append(clock.now)
            one.answered(0, 0)
    assert len(started) == 60  # two minutes
    assert all(later - earlier >= 2 - 1e-9 for earlier, later in itertools.pairwise(started))


def test_tokens_a_minute_hold_by_what_answers_used() -> None:
    clock = Clock()
    one = Limiter(Limits(tpm=600), clock)
    used = 0
    while clock.now < 400:
        wait = one.ask(20)
        if wait:
            clock.now += wait
        else:
            used += 50  # 20 of the prompt, 30 of the answer
            one.answered(20, 50)
    assert used == pytest.approx(5 * 600, abs=100)


def test_one_limiter_for_an_endpoint_and_none_for_a_model_in_this_process() -> None:
    lm = limited(dspy.LM("openai/one", api_base="http://127.0.0.1:1/v1", api_key="k"), rpm=60)
    again = lm.copy(temperature=0.5)
    other = dspy.LM("openai/one", api_base="http://127.0.0.1:2/v1", api_key="k")
    assert limiter(lm) is limiter(again) is not limiter(other)
    assert limiter(lm).requests.per_minute == 60  # type: ignore[union-attr]

    class Here:
        def complete(self, request: object) -> object:
            raise NotImplementedError

    assert limiter(dspy.LM("here/m", engine=Here())) is None


def workers(count: int, name: str) -> list[RemoteLimiter]:
    server, endpoint = LimiterServer(), (name, "")
    return [RemoteLimiter(partial(server.tell, number), endpoint) for number in range(count)]


def test_all_workers_of_a_run_share_what_may_be_in_flight() -> None:
    one, two = workers(2, "test/shared")
    assert full(one) == START
    assert two.ask() > 0
    one.answered(0, 0)
    two.until = 0.0  # it asks again after a while
    assert full(two) == 2  # the one that ended, and slow growth


def test_what_one_worker_is_refused_slows_all_and_what_it_is_told_to_wait_holds_for_all() -> None:
    one, two = workers(2, "test/refused")
    began = one.clock()
    assert [one.ask(), two.ask()] == [0.0, 0.0]
    one.refused(began, retry_after=0.3)
    assert two.ask() > 0
    time.sleep(0.35)
    two.until = 0.0
    assert full(two) == int(0.8 * START) - 1  # one of its own is in flight still


def test_requests_a_minute_hold_over_all_workers() -> None:
    several = workers(3, "test/rpm")
    for one in several:
        one.limit(Limits(rpm=1200))
    started: list[float] = []
    while len(started) < 12:
        for one in several:
            if one.ask() == 0.0:
                started.append(time.monotonic())
                one.answered(0, 0)
        time.sleep(0.001)
    assert started[-1] - started[0] > 11 * 0.05 - 0.02  # 0.15 were each to take the whole of it


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "many", True])
def test_a_limit_is_a_number_above_nothing(wrong: object) -> None:
    with pytest.raises(GoldassayError, match="rpm is a number above 0"):
        Limits(rpm=wrong)  # type: ignore[arg-type]

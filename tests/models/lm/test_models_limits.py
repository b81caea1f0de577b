"""Limits of requests and tokens a minute: spread evenly, shared by all who ask an endpoint."""

from __future__ import annotations

import itertools
import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dspy
import pytest

from goldassay._support.exceptions import GoldassayError
from goldassay.models.lm import EndpointLimit, RateLimit, limited, models, share_among, watch


@pytest.fixture
def one_process() -> Iterator[None]:
    yield
    share_among(1)


def starts(limit: EndpointLimit, calls: int, prompt: float = 0.0) -> list[float]:
    """When so many calls of eight threads may start."""

    def call(_: int) -> float:
        limit.enter(prompt)
        return time.monotonic()

    with ThreadPoolExecutor(8) as pool:
        return sorted(pool.map(call, range(calls)))


def test_requests_a_minute_are_spread_evenly_over_threads() -> None:
    times = starts(EndpointLimit(rpm=1200, tpm=None), 9)  # one each 0.05 s
    assert all(later - earlier > 0.025 for earlier, later in itertools.pairwise(times))
    assert times[-1] - times[0] > 0.38


def test_tokens_a_minute_hold_by_what_answers_took() -> None:
    limit = EndpointLimit(rpm=None, tpm=6000)  # 100 a second, 1500 at once
    assert starts(limit, 3, 500)[-1] - time.monotonic() < 0.1
    limit.leave(prompt=10, used=90)
    assert limit.mean == 10  # an eighth of the 80 tokens of the answer
    before = time.monotonic()
    limit.enter(20)  # with the mean 30 tokens
    assert 0.2 < time.monotonic() - before < 0.9  # with all 80 tokens of an answer a second


def test_the_place_of_a_cached_call_is_free_again() -> None:
    limit = EndpointLimit(rpm=1, tpm=None)
    limit.enter(0)
    limit.leave(0, None)
    before = time.monotonic()
    limit.enter(0)
    assert time.monotonic() - before < 1


def test_processes_share_a_limit_in_equal_parts(one_process: None) -> None:
    share_among(2)
    times = starts(EndpointLimit(rpm=1200, tpm=None), 4)
    assert times[-1] - times[0] > 0.28  # 0.3 at 600 a minute


def test_one_gate_for_an_endpoint() -> None:
    lm = limited(dspy.LM("openai/one", api_base="http://127.0.0.1:1/v1", api_key="k"), rpm=60)
    (limit,) = lm.callbacks
    again, other = lm.copy(temperature=0.5), dspy.LM("openai/one", api_base="http://127.0.0.1:2/v1", api_key="k")
    assert limit.endpoint(lm) is limit.endpoint(again) is not limit.endpoint(other)
    travelled: Any = pickle.loads(pickle.dumps(limit))  # noqa: S301
    assert travelled.endpoint(lm) is limit.endpoint(lm)


def test_a_call_waits_and_a_cached_one_gives_its_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = limited(dspy.LM("openai/waits"), rpm=600)
    (limit,) = lm.callbacks
    notes = watch()
    for call in "abc":
        limit.on_lm_start(call, lm, {"prompt": "?"})
        limit.on_lm_end(call, ["yes"])
    assert 0.15 < notes.waited < 5
    monkeypatch.setattr(models, "history_entry", lambda *_: {"usage": {}})  # as for an answer from DSPy's cache
    limit.on_lm_start("d", lm, {"prompt": "?"})
    limit.on_lm_end("d", ["yes"])
    assert limit.endpoint(lm).spare == 1


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "many", True])
def test_a_limit_is_a_number_above_nothing(wrong: Any) -> None:
    with pytest.raises(GoldassayError, match="^rpm: expected a number above 0"):
        RateLimit(rpm=wrong)

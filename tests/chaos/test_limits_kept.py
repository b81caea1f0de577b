"""What a run asks of an endpoint: no more at once than it takes, no faster than was said, counted wherever it is."""

from __future__ import annotations

import threading
import time
import uuid
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric, evaluate
from goldassay._support.exceptions import RunStopped
from goldassay.measures import extraction
from goldassay.models.lm import resolve
from goldassay.running import Run
from goldassay.running.rows import Usage

METRIC = Metric(extraction.SpanF1())


def model(endpoint: Any, **options: Any) -> Any:
    settings = {"api_base": endpoint.url, "api_key": "none", "timeout": 5.0, "cache": False, **options}
    return resolve("openai/m", **settings)


def examples(n: int, text: str = "in 1885") -> list[Any]:
    return [dspy.Example(id=f"e{i}", text=text, entities=[(3, 7, "TMP")]).with_inputs("text") for i in range(n)]


def right(text: str) -> Any:
    return dspy.Prediction(entities=[(text.find("1885"), text.find("1885") + 4, "TMP")])


def asks() -> Any:
    """A program of a class that travels to other processes, since it is made here."""

    class Asks(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.find = dspy.Predict("text -> years: list[str]")

        def forward(self, text: str) -> Any:
            self.find(text=text)
            return dspy.Prediction(entities=[(text.find("1885"), text.find("1885") + 4, "TMP")])

    return Asks()


@pytest.mark.parametrize("retries", [0, 2])
def test_there_is_one_policy_of_trying_again(endpoint: Any, retries: int) -> None:
    endpoint.mode = "503"
    with pytest.raises(RunStopped, match="the one example failed: e0: "):
        evaluate(asks(), examples(1), METRIC, lm=model(endpoint, num_retries=retries), progress=False)
    assert endpoint.calls == 1 + retries


def test_requests_a_minute_hold_over_all_threads(endpoint: Any) -> None:
    lm = model(endpoint, rpm=600, max_tokens=99)
    evaluate(asks(), examples(12), METRIC, lm=lm, threads=8, progress=False)
    # A request may arrive late on a busy machine, and the next one in time: five of them are as slow as was said.
    five = zip(endpoint.times, endpoint.times[4:], strict=False)
    assert all(later - earlier > 0.25 for earlier, later in five)  # 0.4 by the limit
    assert endpoint.times[-1] - endpoint.times[0] > 0.8  # 1.1 by the limit


@pytest.mark.nightly
def test_requests_a_minute_hold_over_all_workers(endpoint: Any) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    lm = model(endpoint, rpm=600, max_tokens=98)
    run = evaluate(asks(), examples(24), METRIC, lm=lm, threads=6, engine="ray", workers=2, progress=False)
    assert (run.value, run.cost["calls"]) == (1.0, 24)
    twelve = zip(endpoint.times, endpoint.times[12:], strict=False)
    assert all(later - earlier > 0.6 for earlier, later in twelve)  # 1.2 by the limit
    assert endpoint.times[-1] - endpoint.times[0] > 2.0  # 2.3 by the limit; 1.1 were each to take the whole of it


def test_cached_calls_are_counted_as_cached(endpoint: Any, tmp_path: Path) -> None:
    gold = [example.copy(text=f"in 1885 {uuid.uuid4()} {i}") for i, example in enumerate(examples(4))]
    counts: list[tuple[int, int, int]] = []
    for cache in (True, True, False):
        run = evaluate(
            asks(), gold, METRIC, lm=model(endpoint, cache=cache), progress=False, folder=tmp_path / str(len(counts))
        )
        counts.append((run.cost["calls"], run.cost["cached"], endpoint.calls))
    assert counts == [(4, 0, 4), (0, 4, 4), (4, 0, 8)]
    assert Run.load(tmp_path / "1").rows[0].usage == Usage(calls=0, cached=1)


def test_a_budget_stops_before_the_call_that_is_too_many_and_the_run_goes_on(endpoint: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"lm": model(endpoint), "threads": 3, "progress": False}
    with pytest.raises(RunStopped) as stopped:
        evaluate(asks(), examples(12), METRIC, folder=tmp_path / "r", budget="calls=5", **options)
    assert endpoint.calls == 5
    assert str(stopped.value) == (
        f"stopped after 5 of 12 examples: the budget of 5 calls is spent; what was done is safe; resume with "
        f"`resume={tmp_path / 'r'}`"
    )
    run = evaluate(asks(), examples(12), METRIC, resume=tmp_path / "r", budget="calls=100", **options)
    assert (len(run.rows), run.cost["calls"], endpoint.calls) == (12, 12, 12)


def test_a_budget_of_tokens_stops(endpoint: Any) -> None:
    with pytest.raises(RunStopped, match="the budget of 20 tokens is spent"):
        evaluate(
            asks(),
            examples(12),
            METRIC,
            lm=model(endpoint),
            progress=False,
            budget="tokens=20",
        )
    assert endpoint.calls == 3  # eight tokens a call


class Thrice(dspy.Module):  # type: ignore[misc]
    """Asks three times at once, as ``how`` says."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.find, self.how = dspy.Predict("text -> years: list[str]"), how

    def forward(self, text: str) -> Any:
        texts = [f"{text} {i}" for i in range(3)]
        if self.how == "parallel":
            pairs = [(self.find, dspy.Example(text=item).with_inputs("text")) for item in texts]
            dspy.Parallel(num_threads=3, disable_progress_bar=True)(pairs)
            return right(text)
        carried = self.how != "threads"  # DSPy's settings stand in the context
        asks = [partial(copy_context().run, self.find) if carried else self.find for _ in texts]
        threads = [threading.Thread(target=ask, kwargs={"text": item}) for ask, item in zip(asks, texts, strict=True)]
        for item in threads:
            item.start()
        for item in threads if self.how != "left" else ():
            item.join()
        return right(text)


@pytest.mark.parametrize(("how", "threads"), [("parallel", 1), ("carried", 2)])
def test_what_a_program_asks_in_dspys_threads_stands_in_its_row(
    endpoint: Any, tmp_path: Path, how: str, threads: int
) -> None:
    run = evaluate(
        Thrice(how), examples(4), METRIC, lm=model(endpoint), threads=threads, progress=False, folder=tmp_path / "r"
    )
    assert not [row.error for row in run.rows if row.error]
    assert [row.usage.calls for row in run.rows] == [3, 3, 3, 3]
    assert [len(row.calls) for row in run.rows] == [3, 3, 3, 3]  # prompts and answers too
    assert (run.cost["calls"], run.cost["prompt_tokens"], endpoint.calls) == (12, 60, 12)


def test_threads_that_outlive_their_example_are_put_down_to_no_other(endpoint: Any, tmp_path: Path) -> None:
    endpoint.mode = "slow"

    def patient(text: str) -> Any:
        if text == "wait":
            until = time.monotonic() + 20  # until what the others left behind has come back
            while (endpoint.calls < 9 or endpoint.busy) and time.monotonic() < until:
                time.sleep(0.02)
            time.sleep(0.5)
            return right("in 1885")
        return Thrice("left").forward(text)

    gold = [*examples(3), examples(1, "wait")[0].copy(id="last")]
    run = evaluate(patient, gold, METRIC, lm=model(endpoint), threads=1, progress=False, folder=tmp_path / "r")
    assert all(len(row.calls) <= 3 for row in run.rows)
    assert not run.rows[-1].usage
    assert (run.cost["calls"], run.cost["prompt_tokens"], endpoint.calls) == (9, 45, 9)


def test_a_model_that_the_program_makes_itself_is_counted(endpoint: Any) -> None:
    program = asks()

    def hidden(text: str) -> Any:
        with dspy.context(lm=model(endpoint)):
            return program(text=text)

    run = evaluate(hidden, examples(3), METRIC, lm=model(endpoint), progress=False)
    assert [row.usage.calls for row in run.rows] == [1, 1, 1]
    assert run.cost["prompt_tokens"] == 15

"""An endpoint that misbehaves, from Python (`test_as_a_user` tries every mode): one line, rows kept, and a resume."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import dspy
import pytest
from tests.nightly import by_day

from goldassay import Metric
from goldassay._support.exceptions import RunStopped
from goldassay.measures import extraction
from goldassay.running import Run
from goldassay.running.evaluate import evaluate

METRIC = Metric(extraction.SpanF1())
KEY = "sk-chaos-0123456789"
WELL = ("well", "slow", "plain text")
SOME = ("alternating", "503, then well")


class Years(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.find = dspy.Predict("text -> years: list[str]")

    def forward(self, text: str) -> Any:
        years = self.find(text=text).years
        places = [(text.find(year), year) for year in years if year in text]
        return dspy.Prediction(entities=[(start, start + len(year), "TMP") for start, year in places])


def examples(n: int) -> list[Any]:
    text = "in 1885"
    return [dspy.Example(id=f"e{i}", text=text, entities=[(3, 7, "TMP")]).with_inputs("text") for i in range(n)]


def model(endpoint: Any, **options: Any) -> Any:
    settings = {"api_base": endpoint.url, "api_key": KEY, "num_retries": 0, "timeout": 1.0, "cache": False, **options}
    return dspy.LM("openai/m", **settings)


@pytest.mark.parametrize(
    "mode",
    by_day(
        ("well", "alternating", "429 with Retry-After", "dead", "hanging", "wrong key", "garbage"),
        "429 with Retry-After",
        "dead",
        "wrong key",
    ),
)
def test_a_run_ends_or_stops_with_one_line_and_goes_on(endpoint: Any, mode: str, tmp_path: Path) -> None:
    endpoint.mode, gold, folder = mode, examples(12), tmp_path / "r"
    started = time.monotonic()
    options: dict[str, Any] = {"lm": model(endpoint), "threads": 2, "progress": False, "timeout": 3.0}
    message = ""
    try:
        evaluate(Years(), gold, METRIC, folder=folder, **options)
    except RunStopped as error:
        message = str(error)
    assert message == "" if mode in WELL else message or mode in SOME
    assert "\n" not in message
    assert KEY not in message
    assert not message or f"resume={folder}" in message
    run = Run.load(folder)
    assert all(row.tallies["strict_f1"]["fn"] == 1 for row in run.rows if row.error)  # its gold is missed
    if mode == "wrong key":
        assert endpoint.calls <= 2  # those in flight: no other example would fare better
    assert time.monotonic() - started < 25
    assert all(row.error or row.score == 1.0 for row in run.rows)
    endpoint.mode = "well"
    whole = evaluate(Years(), gold, METRIC, resume=folder, **options)
    assert (len(whole.rows), whole.value) == (12, 1.0)
    written = b"".join(file.read_bytes() for file in folder.iterdir())
    assert KEY.encode() not in written


def test_nobody_at_the_address_is_one_line(endpoint: Any, tmp_path: Path) -> None:
    lm = model(endpoint)
    endpoint.close()
    with pytest.raises(RunStopped, match=r"stopped after \d of 50 examples: the first 5 examples failed alike: LM"):
        evaluate(Years(), examples(50), METRIC, lm=lm, folder=tmp_path / "r", progress=False)


def test_an_example_that_hangs_is_left_behind(endpoint: Any, tmp_path: Path) -> None:
    endpoint.mode = "hanging"
    lm = model(endpoint, timeout=60.0)
    started = time.monotonic()
    with pytest.raises(RunStopped, match=r"all 3 examples failed; the first, e0: TimeoutError: no answer within 0.5 s"):
        evaluate(Years(), examples(3), METRIC, lm=lm, folder=tmp_path / "r", timeout=0.5, progress=False)
    assert time.monotonic() - started < 10

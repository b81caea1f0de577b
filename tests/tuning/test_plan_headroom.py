"""The headroom of programs whose headroom is known: unreadable answers, answers that vary, answers that do not."""

from __future__ import annotations

import random
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay.running.options import RunOptions
from goldassay.tuning.plan import TRIES, Plan, from_pilot, from_sizes

METRIC = Metric.of(lambda gold, pred: gold["label"] == pred["label"])


class Scripted(dspy.Module):  # type: ignore[misc]
    """Right on half of the texts; fails on every fourth, or answers anew at every try."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.answer = dspy.Predict("text -> label")
        self.kind = kind

    def forward(self, text: str) -> Any:
        number = int(text.split()[-1])
        if self.kind == "silent" and number % 4 == 0:
            raise ValueError("no answer")
        rollout = dspy.settings.lm.kwargs.get("rollout_id") if self.kind == "varies" else None
        right = random.Random(f"{number} {rollout}").random() < 0.5
        return dspy.Prediction(label="x" if right else str(number))


def plan(kind: str, lm: Any = None) -> Plan:
    words = ["".join(random.Random(n).choices("abcdefghijklmnopqrst ", k=30)) for n in range(60)]
    rows = [dspy.Example(id=str(n), text=f"{words[n]} {n}", label="x").with_inputs("text") for n in range(60)]
    splits = {"train": rows[:20], "dev": rows[20:40], "test": rows[40:]}
    options = RunOptions(lm=lm, progress=False)
    return from_pilot(from_sizes("patches", splits), Scripted(kind), splits, METRIC, options)


def test_each_kind_has_its_gain_and_interval() -> None:
    lm = dspy.LM("scripted/none")
    silent = {probe.name: probe for probe in plan("silent", lm).headroom}
    form = silent["all answers readable"]
    readable = [random.Random(f"{n} None").random() < 0.5 for n in range(20, 36) if n % 4]
    assert form.value == pytest.approx(sum(readable) / len(readable))
    assert form.gain == pytest.approx(form.value - sum(readable) / 16)  # four of sixteen failed
    assert 0 < form.low < form.gain < form.high
    steady = {probe.name: probe for probe in plan("same", lm).headroom}
    assert [probe.gain for probe in steady.values()] == [0.0, 0.0]
    assert "(pass@3): no example changes" in " ".join(plan("same", lm).lines())
    varied = plan("varies", lm)
    best = varied.headroom[0]
    draws = [[random.Random(f"{n} {t}").random() < 0.5 for t in range(1, TRIES + 1)] for n in range(20, 36)]
    assert best.value == pytest.approx(sum(map(any, draws)) / 16)
    assert best.gain == pytest.approx(best.value - sum(draw[0] for draw in draws) / 16)
    assert best.ceiling
    assert best.low > 0
    lines = " ".join(varied.lines())
    assert "No headroom is shown." in lines  # the best of several tries is no promise
    assert "the best of 3 tries (pass@3) +" in lines
    assert not plan("same").headroom  # no model to ask again

"""Labels that settle whether one program is better: how many are needed, and what they show."""

from __future__ import annotations

import json
import random
import re
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import numpy as np
import pytest

from goldassay import workspace
from goldassay._support.exceptions import GoldassayError
from goldassay.ext.labelling.labelled import verdict as verdict_of
from goldassay.ext.labelling.proof import LabelPlan, Proof, plan_labels, prove_by_labels
from goldassay.measures.extraction import SpanF1
from goldassay.statistics.sampling import sign_test
from goldassay.tuning import TuneOptions
from goldassay.tuning.verdict import Audit

SETTINGS = TuneOptions(progress=False)


class Rule(dspy.Module):  # type: ignore[misc]
    """Says M of every number that ``step`` divides."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def forward(self, text: str) -> Any:
        return dspy.Prediction(label="M" if int(text) % self.step == 0 else "L")


def inputs(n: int = 300) -> list[Any]:
    return [dspy.Example(id=f"i{at}", text=str(at)).with_inputs("text") for at in range(n)]


def planned(before: int, after: int, **more: Any) -> LabelPlan:
    return plan_labels("classification", {"before": Rule(before), "after": Rule(after)}, inputs(), SETTINGS, **more)


def labelled(plan: LabelPlan, step: int) -> list[Any]:
    return [row | {"label": "M" if int(row["text"]) % step == 0 else "L"} for row in plan.draft.records]


def of_labels(plan: LabelPlan, records: list[Any]) -> Audit:
    verdict = verdict_of(plan.draft.task, records, plan.draft.systems)
    return Proof(Path("draft.jsonl"), plan.population, verdict).audit("before.json", "after.json")


def test_what_differs_is_drafted_and_the_verdict_has_the_sign_of_the_better() -> None:
    plan = planned(3, 2)  # 2, 3, 4, 8, 9, 10 … : half of the inputs
    assert (plan.disagreements, plan.population) == (150, 300)
    for step, verdict in ((2, "better"), (3, "worse")):
        audit = of_labels(plan, labelled(plan, step))
        assert (audit.verdict, audit.baseline, audit.examples) == (verdict, "before.json", 300)
        assert audit.gain == pytest.approx(0.5 if step == 2 else -0.5)
    untold = of_labels(plan, plan.draft.records)
    assert (untold.verdict, untold.gain) == ("open", None)
    with pytest.raises(GoldassayError, match="agree on all 300 inputs"):
        planned(3, 3)


class Names(dspy.Module):  # type: ignore[misc]
    """Finds these words as names."""

    def __init__(self, names: str) -> None:
        super().__init__()
        self.names = names

    def forward(self, text: str) -> Any:
        places = [match.span() for match in re.finditer(self.names, text)]
        return dspy.Prediction(entities=[{"start": a, "end": b, "type": "TOP", "text": text[a:b]} for a, b in places])


def test_spans_take_labels_of_agreements_too_and_any_prefix_is_enough() -> None:
    rng = random.Random(0)
    texts = [
        " ".join(rng.choices(["Delft", "Gouda", "Tiel", "Hoorn", "in", "near", "opened", "closed", "by", "the"], k=6))
        for _ in range(400)
    ]
    examples = [dspy.Example(id=f"i{at}", text=text).with_inputs("text") for at, text in enumerate(texts)]
    programs = {"before": Names("Delft|Gouda"), "after": Names("Delft|Gouda|Tiel")}
    plan = plan_labels("extraction", programs, examples, SETTINGS)
    assert {row["sampling"]["stratum"] for row in plan.draft.records} == {"agree", "disagree"}
    person = Names("[A-Z][a-z]+")
    rows = [{**row, "entities": person(text=row["text"]).entities} for row in plan.draft.records]
    tallies = [
        SpanF1()({"text": text, **person(text=text)}, programs[name](text=text)).tally
        for name in programs
        for text in texts
    ]
    truth = sum(tallies[400:], SpanF1().zero).value - sum(tallies[:400], SpanF1().zero).value
    for labels in (12, 40):
        audit = of_labels(plan, [*rows[:labels], *plan.draft.records[labels:]])
        assert audit.interval is not None
        assert audit.interval[0] <= truth <= audit.interval[1]
    assert audit.verdict == "better"


def test_a_gain_that_is_more_than_the_outputs_differ_is_impossible() -> None:
    plan = planned(100, 150, gains=(0.05,))  # 100, 150, 200: 1 % of 300
    assert (plan.disagreements, plan.needed) == (3, {})
    assert "labels of all of these would not show a gain of +0.050" in plan.sentence


@pytest.mark.parametrize(
    ("gain", "size", "population"),
    [
        pytest.param(0.05, 100, 500, marks=pytest.mark.nightly),
        (0.05, 40, 500),
        pytest.param(0.1, 200, 500, marks=pytest.mark.nightly),
    ],
)
def test_so_many_labels_show_the_gain_four_times_in_five(gain: float, size: int, population: int) -> None:
    needed = LabelPlan(planned(3, 2).draft, (gain,), size, population).needed[gain]
    wins = round((size + gain * population) / 2)
    signs = [1.0] * wins + [-1.0] * (size - wins)
    rng = random.Random(0)
    shown = [sign_test(np.array(rng.sample(signs, needed))) <= 0.05 for _ in range(600)]
    assert sum(shown) / len(shown) == pytest.approx(0.8, abs=0.07)  # a standard error is .016; sizes come in steps


OWN = """
import dspy

class Team(dspy.Module):
    def __init__(self, name="A"):
        super().__init__()
        self.read = dspy.Predict("ticket -> team")
        self.name = name

    def forward(self, ticket):
        return dspy.Prediction(team={"name": self.name})

program = Team()

def metric(gold, pred):
    return gold.team["name"] == pred.team.name
"""


def test_labels_of_a_program_of_your_own_are_measured_by_the_metric_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "desk.py"
    file.write_text(OWN)
    (tmp_path / "inputs.csv").write_text("id,ticket\n" + "".join(f"i{n},{n}\n" for n in range(60)))
    programs = {"before": workspace.load(file).program, "after": workspace.load(file).Team("B")}
    draft = tmp_path / "draft.jsonl"
    prove = partial(prove_by_labels, workspace.target(str(file)), programs, draft)
    assert prove(tmp_path / "inputs.csv", SETTINGS).verdict is None
    rows = [json.loads(line) for line in draft.read_text().splitlines()]

    def label(team: object) -> None:
        draft.write_text("".join(f"{json.dumps({**row, 'team': team})}\n" for row in rows))

    label({"name": "B"})
    verdict = prove().verdict
    assert verdict is not None
    assert (verdict.measure, verdict.gain.interval.value) == ("score", 1.0)
    label("B")
    with pytest.raises(GoldassayError, match=r"cannot be measured: the metric raised on 80 of 80 answers.*TypeError"):
        prove()

"""One metric in every optimizer of DSPy, on a scripted model that learns from its prompt."""

from __future__ import annotations

import re
from typing import Any

import dspy
import pytest
from dspy import teleprompt

from goldassay import Metric, guard
from goldassay.measures import extraction
from goldassay.tuning.wrappers import demonstrations

METRIC = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})


@pytest.fixture
def model(learner: Any) -> Any:
    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    with dspy.context(lm=lm):
        yield lm


def value(program: Any, examples: list[Any]) -> float:
    return float(dspy.Evaluate(devset=examples, metric=METRIC, num_threads=1)(guard(program)).score) / 100


def test_bootstrapping_learns_only_from_what_is_right(model: Any, names_program: Any, names_gold: list[Any]) -> None:
    tuned = teleprompt.BootstrapFewShot(metric=METRIC, max_bootstrapped_demos=4, max_labeled_demos=0).compile(
        names_program, trainset=names_gold[:20]
    )
    demos = tuned.extract.demos
    right = {example["text"] for example in names_gold if METRIC(example, names_program(text=example["text"]))}
    assert {demo["text"] for demo in demos} <= right  # a bare Prediction would have let every wrong trace in
    assert len(right) < len(names_gold)


@pytest.mark.nightly
def test_random_search(model: Any, names_program: Any, names_gold: list[Any]) -> None:
    train, dev = demonstrations(names_program, names_gold[:20]), names_gold[20:]
    tuned = teleprompt.BootstrapFewShotWithRandomSearch(
        metric=METRIC, num_candidate_programs=1, num_threads=1, max_labeled_demos=4, max_bootstrapped_demos=1
    ).compile(names_program, trainset=train, valset=dev)
    assert value(tuned, dev) > value(names_program, dev) + 0.2


def test_mipro(model: Any, names_program: Any, names_gold: list[Any]) -> None:
    train, dev = demonstrations(names_program, names_gold[:12]), names_gold[28:]
    tuned = teleprompt.MIPROv2(
        metric=METRIC, auto=None, num_candidates=2, num_threads=1, max_bootstrapped_demos=1, max_labeled_demos=1
    ).compile(names_program, trainset=train, valset=dev, num_trials=3, minibatch=False)
    assert value(tuned, dev) > value(names_program, dev)


def test_copro(model: Any, names_program: Any, names_gold: list[Any]) -> None:
    tuned = teleprompt.COPRO(metric=METRIC, breadth=2, depth=1).compile(
        names_program, trainset=names_gold[:10], eval_kwargs={"num_threads": 1, "display_progress": False}
    )
    assert value(tuned, names_gold[20:]) > value(names_program, names_gold[20:])


@pytest.mark.nightly
def test_simba(model: Any, names_program: Any, names_gold: list[Any]) -> None:
    tuned = teleprompt.SIMBA(metric=METRIC, bsize=6, num_candidates=2, max_steps=1, max_demos=0, num_threads=1).compile(
        names_program, trainset=names_gold[:12]
    )
    assert value(tuned, names_gold[20:]) >= value(names_program, names_gold[20:])


class TwoSteps(dspy.Module):  # type: ignore[misc]
    """A first predictor that passes the text on, and the one that extracts."""

    def __init__(self, names: Any) -> None:
        super().__init__()
        self.hint = dspy.Predict("text -> hint")
        self.names = names

    def forward(self, text: str) -> Any:
        self.hint(text=text)
        return self.names(text=text)


@pytest.mark.nightly
def test_gepa_gets_feedback_for_the_right_predictor(model: Any, names_program: Any, names_gold: list[Any]) -> None:
    heard: dict[str, list[str]] = {}

    def propose(candidate: Any, reflective_dataset: Any, components_to_update: list[str]) -> dict[str, str]:
        for name in components_to_update:
            heard.setdefault(name, []).extend(record["Feedback"] for record in reflective_dataset[name])
        return {
            name: "Find names. A number is TMP. A museum is MUS." if name.startswith("names") else candidate[name]
            for name in components_to_update
        }

    program = TwoSteps(names_program)
    tuned = dspy.GEPA(
        metric=METRIC,
        max_metric_calls=90,
        instruction_proposer=propose,
        num_threads=1,
        reflection_minibatch_size=5,
        track_stats=True,
    ).compile(program, trainset=names_gold[:14], valset=names_gold[28:])
    assert value(tuned, names_gold[28:]) > value(program, names_gold[28:]) + 0.2
    assert any("was missed" in text and "TMP" in text for text in heard["names.extract"])
    assert all(len(text) <= 1500 for texts in heard.values() for text in texts)


class Forgetful:
    """The scripted model, which leaves out all numbers when it is asked for a passage."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def complete(self, request: Any) -> Any:
        turn = request.messages[-1].parts[0].text
        text = turn.split("[[ ## text ## ]]")[-1].split("Respond with")[0]
        self.learner.rule = re.sub(r"\d+", "", text).strip()
        return self.learner.complete(request)


class Selects(dspy.Module):  # type: ignore[misc]
    """A first predictor that selects a passage, and one that extracts from it."""

    def __init__(self, names: Any) -> None:
        super().__init__()
        self.select = dspy.Predict("text -> passage")
        self.names = names

    def forward(self, text: str) -> Any:
        result = self.names.extract(text=self.select(text=text).passage).mentions
        places = [text.find(each.text) for each in result]
        return dspy.Prediction(
            entities=[
                {"start": at, "end": at + len(each.text), "type": each.type, "text": each.text}
                for each, at in zip(result, places, strict=True)
            ]
        )


def test_each_predictor_hears_of_its_own_errors(learner: Any, names_program: Any, names_gold: list[Any]) -> None:
    """Numbers are lost in the passage, museums mistyped after it: each predictor is told of what it could mend."""
    heard: dict[str, str] = {"select": "", "names.extract": ""}

    def propose(candidate: Any, reflective_dataset: Any, components_to_update: list[str]) -> dict[str, str]:
        for name in components_to_update:
            heard[name] += "\n".join(record["Feedback"] for record in reflective_dataset[name])
        return {name: candidate[name] + " Look again." for name in components_to_update}

    with dspy.context(lm=dspy.LM("scripted/forgetful", engine=Forgetful(learner), cache=False)):
        dspy.GEPA(
            metric=METRIC, max_metric_calls=60, instruction_proposer=propose, num_threads=1, reflection_minibatch_size=5
        ).compile(Selects(names_program), trainset=names_gold[:10], valset=names_gold[30:])
    assert "(TMP) was missed" in heard["select"]
    assert "MUS" not in heard["select"]
    assert "that 'select' had found were lost after it" in heard["select"]
    assert "MUS" in heard["names.extract"]
    assert "(TMP) was missed" not in heard["names.extract"]
    assert "were lost before 'names.extract': its input does not hold them" in heard["names.extract"]

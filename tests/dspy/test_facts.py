"""What the project rests on in DSPy 3.4.1, each held by a test, so that the next release says where it moved."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import dspy
import pytest
from dspy import teleprompt
from dspy.teleprompt.bootstrap_trace import bootstrap_trace_data

from goldassay import Metric, guard
from goldassay.core.score import Score
from goldassay.measures import extraction
from goldassay.running.evaluate import evaluate


class Ask(dspy.Module):  # type: ignore[misc]
    """One predictor over the scripted model."""

    def __init__(self) -> None:
        super().__init__()
        self.step = dspy.Predict("text -> rule")

    def forward(self, text: str) -> Any:
        return self.step(text=text)


class Calls:
    """A metric that notes how it was called and answers as told."""

    def __init__(self, answer: Any = 1.0) -> None:
        self.answer, self.seen = answer, []  # type: ignore[var-annotated]

    def __call__(self, *arguments: Any) -> Any:
        self.seen.append(arguments)
        return self.answer(*arguments) if callable(self.answer) else self.answer


@pytest.fixture(autouse=True)
def lm(learner: Any) -> Iterator[Any]:
    model = dspy.LM("scripted/learner", engine=learner, cache=False)
    with dspy.context(lm=model):
        yield model


def examples(n: int) -> list[Any]:
    return [dspy.Example(text=f"text {i}", rule="r").with_inputs("text") for i in range(n)]


def check(metric: Any, n: int = 4, **options: Any) -> Any:
    return dspy.Evaluate(devset=examples(n), metric=metric, num_threads=1, **options)


def test_evaluate_calls_a_metric_with_two_arguments_and_sums_what_it_returns() -> None:
    metric = Calls(lambda gold, pred: 1 / 3)
    result = check(metric, 3)(Ask())
    assert {len(arguments) for arguments in metric.seen} == {2}
    assert result.score == round(100 * sum([1 / 3] * 3) / 3, 2)


def test_evaluate_sums_all_scores_again_after_each_example_and_our_loop_does_not() -> None:
    class Counted(float):
        added = 0

        def __radd__(self, other: Any) -> Any:
            Counted.added += 1
            return float(self) + float(other)

    check(Calls(Counted(1.0)), 30)(Ask())
    assert Counted.added >= 30 * 31 / 2  # quadratic: why the project has a loop of its own
    Counted.added = 0
    assert evaluate(Ask(), examples(30), Calls(Counted(1.0)), progress=False).value == 1.0
    assert Counted.added == 0


@pytest.mark.parametrize("answer", [{"score": 1.0}, None, "good", (1.0,)])
def test_evaluate_refuses_what_does_not_add(answer: Any) -> None:
    with pytest.raises(TypeError):
        check(Calls(answer))(Ask())


def test_a_program_that_raises_gets_a_constant_and_loses_its_gold() -> None:
    class Broken(Ask):
        def forward(self, text: str) -> Any:
            if text == "text 1":
                raise RuntimeError("down")
            return super().forward(text)

    metric = Calls()
    result = check(metric, 4)(Broken())
    assert result.score == 75.0
    assert len(metric.seen) == 3  # the metric never saw the failed example, so its gold cannot count as missed
    assert dict(result.results[1][1]) == {}
    with pytest.raises(Exception, match="cancelled due to errors"):
        check(metric, 4, max_errors=1)(Broken())
    metric.seen.clear()
    check(metric, 4)(guard(Broken()))
    assert len(metric.seen) == 4


def test_evaluate_swallows_arguments_it_does_not_know() -> None:
    assert check(Calls(), 2, num_treads=8)(Ask()).score == 100.0


def test_a_bare_prediction_is_always_true_and_a_score_is_not() -> None:
    assert bool(dspy.Prediction(score=0.0))
    assert not bool(Score(0.0))
    assert bool(Score(1.0, passed=True))


def test_bootstrapping_passes_a_trace_and_takes_the_truth_of_the_answer() -> None:
    def demos(answer: Any, **options: Any) -> int:
        metric = Calls(answer)
        compiled = teleprompt.BootstrapFewShot(
            metric=metric, max_bootstrapped_demos=2, max_labeled_demos=0, **options
        ).compile(Ask(), trainset=examples(3))
        assert all(len(arguments) == 3 and isinstance(arguments[2], list) for arguments in metric.seen)
        return sum("augmented" in demo for demo in compiled.step.demos)

    assert demos(dspy.Prediction(score=0.0)) == 2  # issue 10473: a wrong trace is accepted
    assert demos(Score(0.0)) == 0
    assert demos(Score(1.0, passed=True)) == 2
    assert demos(0.0) == 0
    assert demos(0.5, metric_threshold=0.9) == 0
    assert demos(0.0, metric_threshold=0.0) == 0  # a threshold of 0.0 is ignored: 0.0 >= 0.0 would have passed


def test_tracing_passes_none_as_the_trace() -> None:
    metric = Calls()
    bootstrap_trace_data(Ask(), examples(2), metric=metric, num_threads=1)
    assert [arguments[2:] for arguments in metric.seen] == [(None,), (None,)]


def test_simba_calls_with_two_arguments_and_scores_an_exception_0() -> None:
    def broken(*arguments: Any) -> float:
        raise RuntimeError("a metric that is broken")

    metric = Calls(broken)
    optimizer = teleprompt.SIMBA(metric=metric, bsize=2, num_candidates=1, max_steps=1, max_demos=0, num_threads=1)
    compiled: Any = optimizer.compile(Ask(), trainset=examples(2))
    assert {candidate["score"] for candidate in compiled.candidate_programs} == {0.0}
    assert {len(arguments) for arguments in metric.seen} == {2}


def test_gepa_wants_five_arguments_and_names_the_predictor() -> None:
    def propose(candidate: Any, reflective_dataset: Any, components_to_update: list[str]) -> dict[str, str]:
        return {name: f"{candidate[name]} again" for name in components_to_update}

    with pytest.raises(TypeError, match="five arguments"):
        dspy.GEPA(metric=lambda gold, pred: 1.0, max_metric_calls=4, instruction_proposer=propose)
    kinds: set[tuple[type, ...]] = set()

    def metric(gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:
        kinds.add((type(trace), type(pred_name), type(pred_trace)))
        if pred_name is not None:
            predictor, inputs, output = pred_trace[0]
            assert (pred_name, type(predictor).__name__, set(inputs)) == ("step", "Predict", {"text"})
            assert isinstance(output, dspy.Prediction)
        return dspy.Prediction(score=0.5, feedback="half")

    dspy.GEPA(
        metric=metric, max_metric_calls=14, instruction_proposer=propose, num_threads=1, reflection_minibatch_size=2
    ).compile(Ask(), trainset=examples(3), valset=examples(3))
    nothing = type(None)
    assert (nothing, nothing, nothing) in kinds  # scoring
    assert (list, str, list) in kinds  # feedback: a trace does not mean bootstrapping
    assert Metric(extraction.SpanF1())({"text": "", "entities": []}, {"entities": []}, [], "step", [])


def test_predictors_are_named_by_their_place() -> None:
    class Many(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.gen = dspy.ChainOfThought("a -> b")
            self.subs = [dspy.Predict("a -> b")]
            self.named = {"k": dspy.Predict("a -> b")}

    assert [name for name, _ in Many().named_predictors()] == ["gen.predict", "subs[0]", "named['k']"]
    done = Many()
    done.gen._compiled = True
    assert "gen.predict" not in [name for name, _ in done.named_predictors()]


def test_a_deep_copy_shares_the_signature_until_it_gets_one_of_its_own() -> None:
    program = Ask()
    other = program.deepcopy()
    assert other.step.signature is program.step.signature
    other.step.signature = other.step.signature.with_instructions("Changed.")
    assert program.step.signature.instructions != "Changed."


def test_cache_hits_add_no_billed_usage(learner: Any) -> None:
    lm = dspy.LM("scripted/cached-for-facts", engine=learner, cache=True, temperature=0.0)
    gold = examples(3)
    first = evaluate(Ask(), gold, Calls(), lm=lm, progress=False)
    again = evaluate(Ask(), gold, Calls(), lm=lm, progress=False)
    assert first.cost["calls"] + again.cost["calls"] in (0, 3)  # 0 where an earlier run filled the cache
    assert again.cost["calls"] == 0


def test_callbacks_see_every_call_of_a_model_from_every_thread() -> None:
    from dspy.utils.callback import BaseCallback

    models: list[str] = []

    class Seen(BaseCallback):  # type: ignore[misc]
        def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            models.append(instance.model)

    with dspy.context(callbacks=[Seen()]):
        evaluate(Ask(), examples(6), Calls(), threads=3, progress=False)
        check(Calls(), 2)(Ask())
    assert models == ["scripted/learner"] * 8


def test_a_model_bound_to_a_program_is_copied_with_it(lm: Any) -> None:
    program = Ask()
    program.set_lm(lm)
    program(text="x")
    assert copy.deepcopy(program).step.lm is not program.step.lm  # with its history: prefer dspy.context(lm=…)
    assert program.step.lm is lm
    with pytest.raises(TypeError, match="cannot be saved"):
        program.dump_state()


def test_a_plain_metric_has_the_value_of_evaluate() -> None:
    gold = examples(7)

    def metric(example: Any, pred: Any) -> float:
        return len(example.text + pred.rule) / 97 % 1

    result = dspy.Evaluate(devset=gold, metric=metric, num_threads=2)(Ask())
    run = evaluate(Ask(), gold, metric, threads=2, progress=False)
    assert run.value == pytest.approx(sum(score for *_, score in result.results) / 7, abs=1e-9)
    assert result.score == round(100 * run.value, 2)

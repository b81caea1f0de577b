"""A judge on a scripted engine: bound, asked once, unknown when unreadable (see test_injection for its frame)."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import dspy
import pytest
from dspy.lm15 import ContextLengthError, InvalidRequestError, Message, Response, TextPart, Usage

from goldassay.exceptions import ModelError
from goldassay.judges import questions
from goldassay.judges.judge import Judge
from goldassay.lm import TerseAdapter
from goldassay.measures.answering import ClaimRate
from goldassay.running.account import Account
from goldassay.running.budget import Meter

ASKED = {"criterion": "c", "question": "q", "answer": "a"}


class Engine:
    """Says what is scripted for the fields asked."""

    def __init__(self, says: dict[str, str]) -> None:
        self.says, self.calls, self.turns = says, 0, []  # type: ignore[var-annotated]

    def complete(self, request: Any) -> Any:
        self.calls += 1
        turn = [p.text for m in request.messages for p in m.parts if isinstance(p, TextPart)][-1]
        self.turns.append(turn)
        text = "".join(f"[[ ## {k} ## ]]\n{v}\n" for k, v in self.says.items()) + "[[ ## completed ## ]]"
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(
            id=None, model=request.model, message=Message.assistant([TextPart(text)]), finish_reason="stop", usage=usage
        )


def judge(says: dict[str, str], cache: bool = False, **options: Any) -> tuple[Judge, Engine]:
    engine = Engine(says)
    return Judge(dspy.LM("scripted/judge", engine=engine, cache=cache), **options), engine


def test_bound_and_once() -> None:
    one, engine = judge({"quote": "in 1885", "verdict": "supported"})
    other = Engine({"quote": "", "verdict": "not_stated"})
    with dspy.context(lm=dspy.LM("scripted/program", engine=other, cache=False)):
        found = [one.verdict("support", text="It opened in 1885.", claim="It opened in 1885.") for _ in range(3)]
    assert [v.label for v in found] == ["supported"] * 3
    assert (engine.calls, other.calls, one.asked, one.calls) == (1, 0, 3, 1)


def test_an_invented_quote_is_asked_for_again_then_unknown() -> None:
    one, engine = judge({"quote": "in 1999", "verdict": "supported"}, retries=2)
    assert one.verdict("support", text="It opened in 1885.", claim="x").label is None
    assert (engine.calls, one.calls, one.unknown) == (3, 3, 1)
    assert "'in 1999' is not in the text" in one.warning


def test_another_level_than_those_named_is_asked_for_again_then_unknown() -> None:
    levels = {"Poor": "says little", "good": "says it"}
    one, engine = judge({"reason": "r", "verdict": "superb"})
    assert one.verdict("rubric", levels=levels, question="q", answer="a").label is None
    assert (engine.calls, one.unknown) == (2, 1)
    assert "no level 'superb'" in one.warning
    found = judge({"reason": "r", "verdict": "poor."})[0].verdict("rubric", levels=levels, question="q", answer="a")
    assert (found.label, found.reason) == ("Poor", "r")


def test_under_a_schema_the_levels_stand_in_it() -> None:
    levels = {"poor": "says little", "good": "says it"}
    one, engine = judge({}, adapter=TerseAdapter())
    engine.says = {}
    engine.complete = lambda request: _json(request, '{"reason": "r", "verdict": "good"}', engine)  # type: ignore[method-assign]
    assert one.verdict("rubric", levels=levels, question="q", answer="a").label == "good"
    assert "verdict: name of a level; poor, good" in engine.turns[0]


def test_an_invented_name_is_unknown() -> None:
    one, _ = judge({"entities": '["Delft", "Gouda", "Delft"]'})
    assert one.entities("Van Delft naar Gouda") == ["Delft", "Gouda"]
    assert (one.entities("Van Delft naar Breda"), one.entities(" "), one.unknown) == (None, [], 1)


def _json(request: Any, text: str, engine: Engine) -> Any:
    engine.turns.append(request.system if isinstance(request.system, str) else str(request.system))
    usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
    message = Message.assistant([TextPart(text)])
    return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)


class Broken:
    """A model that cannot be reached."""

    def __init__(self) -> None:
        self.calls = 0

    def complete(self, request: Any) -> Any:
        self.calls += 1
        raise PermissionError("wrong key sk-abcdef12345678 or secret-word-of-mine\nask your provider")


def test_a_model_without_an_answer_stops_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_API_KEY", "secret-word-of-mine")
    engine = Broken()
    one = Judge(dspy.LM("scripted/gone", engine=engine, cache=False))
    for _ in range(2):  # the second time without a call
        with pytest.raises(ModelError) as caught:
            one.verdict("support", text="It opened.", claim="x")
        told = str(caught.value)
        assert "scripted/gone" in told
        assert "check name, key and address" in told
        assert "\n" not in told
        assert "sk-abc" not in told
        assert "secret-word" not in told
        assert caught.value.__cause__ is None
    assert (engine.calls, one.unknown, one.verdicts) == (1, 0, {})


def test_a_prompt_too_long_is_unknown_and_others_go_on() -> None:
    class Short(Engine):
        def complete(self, request: Any) -> Any:
            if "long" in str(request.messages):
                raise ContextLengthError("too long")
            return super().complete(request)

    one = Judge(dspy.LM("scripted/short", engine=Short({"quote": "", "verdict": "not_stated"}), cache=False))
    assert [one.verdict("support", text=text, claim="x").label for text in ("long text", "other")] == [
        None,
        "not_stated",
    ]
    assert (one.unknown, "too long for the model" in one.warning) == (1, True)


def test_a_refused_input_is_unknown_once_the_model_has_answered() -> None:
    class Filter(Engine):
        def complete(self, request: Any) -> Any:
            if "rude" in str(request.messages):
                raise InvalidRequestError("content filter")
            return super().complete(request)

    one = Judge(dspy.LM("scripted/filter", engine=Filter({"quote": "", "verdict": "not_stated"}), cache=False))
    assert [one.verdict("support", text=text, claim="x").label for text in ("kind", "rude", "other")] == [
        "not_stated",
        None,
        "not_stated",
    ]
    assert "content filter" in one.warning
    other = Judge(one.lm)
    with pytest.raises(ModelError, match="content filter"):
        other.verdict("support", text="rude", claim="x")


def test_a_tuned_program_has_verdicts_of_its_own() -> None:
    one, engine = judge({"reason": "r", "verdict": "yes"})
    program = dspy.Predict(questions.QUESTIONS["criterion"].signature)
    tuned = Judge(one.lm, programs={"Criterion": program}, verdicts=one.verdicts)
    program.demos = [dspy.Example(criterion="c", question="q", answer="a", reason="r", verdict="no")]
    assert [each.verdict("criterion", **ASKED).label for each in (one, tuned, one, tuned)] == ["yes"] * 4
    assert (engine.calls, one.calls, tuned.calls) == (2, 1, 1)


def test_the_judge_s_tokens_are_not_the_program_s() -> None:
    one, _ = judge({"reason": "r", "verdict": "yes"})
    with dspy.track_usage() as tracker:
        one.verdict("criterion", **ASKED)
    assert (dict(tracker.usage_data), one.tokens) == ({}, 2)


def test_what_dspy_s_cache_answers_is_no_call() -> None:
    first, engine = judge({"reason": "r", "verdict": "yes"}, cache=True)
    second = Judge(first.lm)
    asked = f"not in the cache of an earlier test: {uuid4()}"
    with Account(Meter()).open():
        for one in (first, second):
            one.verdict("criterion", **ASKED | {"answer": asked})
    counted = [(one.calls, one.cached, one.tokens) for one in (first, second)]
    assert (engine.calls, counted) == (1, [(1, 0, 2), (0, 1, 0)])


def test_unreadable_is_unknown() -> None:
    one, engine = judge({"quote": "", "verdict": "perhaps"})
    assert one.verdict("support", text="It opened.", claim="x").label is None
    calls = engine.calls
    assert (one.unknown, calls >= 2) == (1, True)
    assert "unknown verdicts of scripted/judge@1: 1;" in one.warning
    assert one.verdict("support", text="It opened.", claim="x").label is None
    assert engine.calls == calls


def test_tables_and_rejected_order() -> None:
    one, _ = judge({"claims": '["It opened in 1885."]', "quote": "in 1885", "verdict": "supported"})
    pred = {"answer": "It opened in 1885.", "retrieved_contexts": ["It opened in 1885.", "Nothing."]}
    # passage 2 does not hold the quote, even when asked again: unknown, and one supporting passage is enough
    tally = ClaimRate("faithfulness", one)({}, pred).tally
    assert (tally.value, tally.unknown) == (1.0, 1.0)
    first, _ = judge({"verdict": "first"})
    assert first.verdict("preference", question="q", first="a", second="b").label == "tie"


def test_gepa_and_evaluate_call_once() -> None:
    one, engine = judge({"verdict": "full"})

    def metric(g: Any, p: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> float:
        return float(one.verdict("relevance", question=g.question, answer=p.answer).label == "full")

    program = dspy.Predict("question -> answer")
    lm = dspy.LM("scripted/p", engine=Engine({"answer": "yes"}), cache=False)
    train = [dspy.Example(question=f"q{i}").with_inputs("question") for i in range(6)]
    with dspy.context(lm=lm):
        assert dspy.Evaluate(devset=train, metric=metric, num_threads=2)(program).score == 100
        made = dspy.GEPA(
            metric=metric,
            max_metric_calls=30,
            num_threads=1,
            instruction_proposer=lambda candidate, reflective_dataset, components_to_update: dict.fromkeys(
                components_to_update, "x"
            ),
        )
        made.compile(program, trainset=train[:3], valset=train[3:])
    assert engine.calls == 6

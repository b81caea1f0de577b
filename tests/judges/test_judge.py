"""A judge on a scripted engine: bound, asked once, unknown when unreadable (see test_judge_injection for its frame)."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import dspy
import pytest
from dspy.lm15 import ContextLengthError, InvalidRequestError, Message, Response, TextPart, Usage

from goldassay._support.exceptions import ModelError
from goldassay.judges import questions
from goldassay.judges.judge import Judge
from goldassay.measures.answering import ClaimRate
from goldassay.models.lm import TerseAdapter
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


def scripted(says: dict[str, str], cache: bool = False, **options: Any) -> tuple[Judge, Engine]:
    engine = Engine(says)
    return Judge(dspy.LM("scripted/judge", engine=engine, cache=cache), **options), engine


def test_bound_and_once() -> None:
    judge, engine = scripted({"quote": "in 1885", "verdict": "supported"})
    other = Engine({"quote": "", "verdict": "not_stated"})
    with dspy.context(lm=dspy.LM("scripted/program", engine=other, cache=False)):
        results = [judge.verdict("support", text="It opened in 1885.", claim="It opened in 1885.") for _ in range(3)]
    assert [v.label for v in results] == ["supported"] * 3
    assert (engine.calls, other.calls, judge.asked, judge.calls) == (1, 0, 3, 1)


def test_an_invented_quote_is_asked_for_again_then_unknown() -> None:
    judge, engine = scripted({"quote": "in 1999", "verdict": "supported"}, retries=2)
    assert judge.verdict("support", text="It opened in 1885.", claim="x").label is None
    assert (engine.calls, judge.calls, judge.unknown) == (3, 3, 1)
    assert "'in 1999' is not in the text" in judge.warning


def test_another_level_than_those_named_is_asked_for_again_then_unknown() -> None:
    levels = {"Poor": "says little", "good": "says it"}
    judge, engine = scripted({"reason": "r", "verdict": "superb"})
    assert judge.verdict("rubric", levels=levels, question="q", answer="a").label is None
    assert (engine.calls, judge.unknown) == (2, 1)
    assert "no level 'superb'" in judge.warning
    item = scripted({"reason": "r", "verdict": "poor."})[0].verdict("rubric", levels=levels, question="q", answer="a")
    assert (item.label, item.reason) == ("Poor", "r")


def test_under_a_schema_the_levels_stand_in_it() -> None:
    levels = {"poor": "says little", "good": "says it"}
    judge, engine = scripted({}, adapter=TerseAdapter())
    engine.says = {}
    engine.complete = lambda request: _json(request, '{"reason": "r", "verdict": "good"}', engine)  # type: ignore[method-assign]
    assert judge.verdict("rubric", levels=levels, question="q", answer="a").label == "good"
    assert "verdict: name of a level; poor, good" in engine.turns[0]


def test_an_invented_name_is_unknown() -> None:
    judge, _ = scripted({"entities": '["Delft", "Gouda", "Delft"]'})
    assert judge.entities("Van Delft naar Gouda") == ["Delft", "Gouda"]
    assert (judge.entities("Van Delft naar Breda"), judge.entities(" "), judge.unknown) == (None, [], 1)


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
    own_judge = Judge(dspy.LM("scripted/gone", engine=engine, cache=False))
    for _ in range(2):  # the second time without a call
        with pytest.raises(ModelError) as caught:
            own_judge.verdict("support", text="It opened.", claim="x")
        message = str(caught.value)
        assert "scripted/gone" in message
        assert "check name, key and address" in message
        assert "\n" not in message
        assert "sk-abc" not in message
        assert "secret-word" not in message
        assert caught.value.__cause__ is None
    assert (engine.calls, own_judge.unknown, own_judge.verdicts) == (1, 0, {})


def test_a_prompt_too_long_is_unknown_and_others_go_on() -> None:
    class Short(Engine):
        def complete(self, request: Any) -> Any:
            if "long" in str(request.messages):
                raise ContextLengthError("too long")
            return super().complete(request)

    own_judge = Judge(dspy.LM("scripted/short", engine=Short({"quote": "", "verdict": "not_stated"}), cache=False))
    assert [own_judge.verdict("support", text=text, claim="x").label for text in ("long text", "other")] == [
        None,
        "not_stated",
    ]
    assert (own_judge.unknown, "too long for the model" in own_judge.warning) == (1, True)


def test_a_refused_input_is_unknown_once_the_model_has_answered() -> None:
    class Filter(Engine):
        def complete(self, request: Any) -> Any:
            if "rude" in str(request.messages):
                raise InvalidRequestError("content filter")
            return super().complete(request)

    own_judge = Judge(dspy.LM("scripted/filter", engine=Filter({"quote": "", "verdict": "not_stated"}), cache=False))
    assert [own_judge.verdict("support", text=text, claim="x").label for text in ("kind", "rude", "other")] == [
        "not_stated",
        None,
        "not_stated",
    ]
    assert "content filter" in own_judge.warning
    other = Judge(own_judge.lm)
    with pytest.raises(ModelError, match="content filter"):
        other.verdict("support", text="rude", claim="x")


def test_a_tuned_program_has_verdicts_of_its_own() -> None:
    judge, engine = scripted({"reason": "r", "verdict": "yes"})
    program = dspy.Predict(questions.JUDGE_QUESTIONS["criterion"].signature)
    tuned = Judge(judge.lm, programs={"Criterion": program}, verdicts=judge.verdicts)
    program.demos = [dspy.Example(criterion="c", question="q", answer="a", reason="r", verdict="no")]
    assert [each.verdict("criterion", **ASKED).label for each in (judge, tuned, judge, tuned)] == ["yes"] * 4
    assert (engine.calls, judge.calls, tuned.calls) == (2, 1, 1)


def test_the_judge_s_tokens_are_not_the_program_s() -> None:
    judge, _ = scripted({"reason": "r", "verdict": "yes"})
    with dspy.track_usage() as tracker:
        judge.verdict("criterion", **ASKED)
    assert (dict(tracker.usage_data), judge.tokens) == ({}, 2)


def test_what_dspy_s_cache_answers_is_no_call() -> None:
    judge, engine = scripted({"reason": "r", "verdict": "yes"}, cache=True)
    second = Judge(judge.lm)
    question = f"not in the cache of an earlier test: {uuid4()}"
    with Account(Meter()).open():
        for entry in (judge, second):
            entry.verdict("criterion", **ASKED | {"answer": question})
    counted = [(item.calls, item.cached, item.tokens) for item in (judge, second)]
    assert (engine.calls, counted) == (1, [(1, 0, 2), (0, 1, 0)])


def test_unreadable_is_unknown() -> None:
    judge, engine = scripted({"quote": "", "verdict": "perhaps"})
    assert judge.verdict("support", text="It opened.", claim="x").label is None
    calls = engine.calls
    assert (judge.unknown, calls >= 2) == (1, True)
    assert "unknown verdicts of scripted/judge@1: 1;" in judge.warning
    assert judge.verdict("support", text="It opened.", claim="x").label is None
    assert engine.calls == calls


def test_tables_and_rejected_order() -> None:
    claims_judge, _ = scripted({"claims": '["It opened in 1885."]', "quote": "in 1885", "verdict": "supported"})
    pred = {"answer": "It opened in 1885.", "retrieved_contexts": ["It opened in 1885.", "Nothing."]}
    # passage 2 does not hold the quote, even when asked again: unknown, and one supporting passage is enough
    tally = ClaimRate("faithfulness", claims_judge)({}, pred).tally
    assert (tally.value, tally.unknown) == (1.0, 1.0)
    judge, _ = scripted({"verdict": "first"})
    assert judge.verdict("preference", question="q", first="a", second="b").label == "tie"


def test_gepa_and_evaluate_call_once() -> None:
    judge, engine = scripted({"verdict": "full"})

    def metric(g: Any, p: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> float:
        return float(judge.verdict("relevance", question=g.question, answer=p.answer).label == "full")

    program = dspy.Predict("question -> answer")
    lm = dspy.LM("scripted/p", engine=Engine({"answer": "yes"}), cache=False)
    train = [dspy.Example(question=f"q{i}").with_inputs("question") for i in range(6)]
    with dspy.context(lm=lm):
        assert dspy.Evaluate(devset=train, metric=metric, num_threads=2)(program).score == 100
        result = dspy.GEPA(
            metric=metric,
            max_metric_calls=30,
            num_threads=1,
            instruction_proposer=lambda candidate, reflective_dataset, components_to_update: dict.fromkeys(
                components_to_update, "x"
            ),
        )
        result.compile(program, trainset=train[:3], valset=train[3:])
    assert engine.calls == 6

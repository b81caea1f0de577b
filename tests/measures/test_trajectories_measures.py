"""Measures of trajectories: tables worked out by hand, and the definitions themselves over random trajectories."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM

from goldassay import Mean, Metric, evaluate
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.measure import parse
from goldassay.core.steps import Step, bounded
from goldassay.core.tally import Counts
from goldassay.measures import answering
from goldassay.measures.assignment import assign
from goldassay.measures.trajectories import (
    ArgumentAccuracy,
    CallF1,
    Conduct,
    CostRatio,
    EndState,
    Steps,
    ToolF1,
    TrajectoryMatch,
)
from goldassay.measures.trajectories.matching import Alignment, CallComparison
from goldassay.measures.trajectories.records import Calls, steps_of, trajectory

SEARCH = {"name": "search", "args": {"query": "Delft", "n": 3}}
READ = {"name": "read", "args": {"id": "nl-7"}}
DATE = {"name": "date", "args": {"since": "1885-07-13"}}


def matches(gold: Any, pred: Any, **options: Any) -> dict[str, float]:
    modes = ("exact", "in_order", "any_order", "unordered", "subset")
    return {mode: float(TrajectoryMatch(mode, **options)(gold, pred).tally.value) for mode in modes}


@pytest.mark.parametrize(
    ("pred", "expected"),
    [
        #                          exact in_order any_order unordered subset
        ([SEARCH, READ], (1, 1, 1, 1, 1)),
        ([READ, SEARCH], (0, 0, 1, 1, 1)),
        ([SEARCH, DATE, READ], (0, 1, 1, 0, 0)),
        ([READ, SEARCH, DATE], (0, 0, 1, 0, 0)),
        ([SEARCH], (0, 0, 0, 0, 1)),
        ([SEARCH, SEARCH, READ], (0, 1, 1, 0, 0)),
        ([], (0, 0, 0, 0, 1)),
    ],
)
def test_whole_trajectories(pred: list[Any], expected: tuple[int, ...]) -> None:
    assert tuple(matches({"calls": [SEARCH, READ]}, {"trajectory": pred}).values()) == expected


def test_where_order_does_not_count_the_same_calls_in_any_order_are_exact() -> None:
    gold = {"calls": [SEARCH, READ], "order": "any"}
    assert set(matches(gold, {"trajectory": [READ, SEARCH]}).values()) == {1}
    # what is exact was not in order
    assert list(matches(gold, {"trajectory": [READ, DATE, SEARCH]}).values()) == [0, 1, 1, 0, 0]


def test_any_of_several_acceptable_lists_is_right_and_counts_come_from_the_nearest() -> None:
    gold = {"calls": [[SEARCH, READ], [DATE]]}
    assert matches(gold, {"trajectory": [DATE]})["exact"] == 1
    # against [DATE] two calls too many; against [SEARCH, READ] one too many: the nearer one
    tally = CallF1()(gold, {"trajectory": [SEARCH, READ, DATE]}).tally
    assert (tally.tp, tally.fp, tally.fn) == (2, 1, 0)


def test_counts_of_calls_and_tools() -> None:
    gold = {"calls": [SEARCH, READ]}
    pred = {"trajectory": [{"name": "search", "args": {"query": "Gouda", "n": 3}}, READ, DATE]}
    by_call = CallF1()(gold, pred).tally
    assert (by_call.tp, by_call.fp, by_call.fn) == (1, 2, 1)  # READ; a wrong search and DATE; SEARCH
    by_name = ToolF1()(gold, pred).tally
    assert (by_name.tp, by_name.fp, by_name.fn) == (2, 1, 0)
    # of search one of two arguments is right, of read its only one: 2 of 3
    assert ArgumentAccuracy()(gold, pred).tally.value == pytest.approx(2 / 3)
    assert Steps()(gold, pred).tally.value == 3
    assert CostRatio()(gold, pred).tally.value == 1.5


@pytest.mark.parametrize(
    ("arguments", "args", "expected"),
    [
        ("exact", {"query": "Delft", "n": 3.0}, 1),  # 3 is 3.0
        ("exact", {"query": "Delft", "n": "3"}, 0),
        ("exact", {"query": "Delft", "n": 3, "lang": "nl"}, 0),
        ("superset", {"query": "Delft", "n": 3, "lang": "nl"}, 1),
        ("superset", {"query": "Delft"}, 0),
        ("subset", {"query": "Delft"}, 1),
        ("subset", {"query": "Gouda"}, 0),
        ("ignore", {"query": "Gouda"}, 1),
    ],
)
def test_ways_to_match_arguments(arguments: str, args: dict[str, Any], expected: int) -> None:
    pred = {"trajectory": [{"name": "search", "args": args}]}
    assert TrajectoryMatch(arguments=arguments)({"calls": [SEARCH]}, pred).tally.value == expected


def test_values_that_are_acceptable_and_arguments_that_may_be_left_out() -> None:
    gold = {"calls": [{"name": "search", "args": {"query": ["Delft", "delft"], "lang": ["nl", ""]}}]}
    for args in ({"query": "delft"}, {"query": "Delft", "lang": "nl"}):
        assert CallF1()(gold, {"calls": [{"name": "search", "args": args}]}).tally.value == 1
    assert CallF1()(gold, {"calls": [{"name": "search", "args": {"lang": "nl"}}]}).tally.value == 0


def test_comparators_of_records_compare_arguments() -> None:
    compare = {"date.since": "date(partial=True)"}
    pred = {"calls": [{"name": "date", "args": {"since": "1885-07-13T10:00"}}]}
    assert CallF1()({"calls": [DATE]}, pred).tally.value == 0
    assert CallF1(compare=compare)({"calls": [DATE]}, pred).tally.value == 1


def test_the_same_calls_in_every_form_are_the_same() -> None:
    steps = {"trajectory": [{"kind": "model", "name": "lm"}, {"kind": "tool", **SEARCH}, {"kind": "tool", **READ}]}
    react = {
        "trajectory": {
            **{"thought_0": "t", "tool_name_0": "search", "tool_args_0": SEARCH["args"], "observation_0": "…"},
            **{"thought_1": "t", "tool_name_1": "read", "tool_args_1": READ["args"], "observation_1": "…"},
            **{"thought_2": "t", "tool_name_2": "finish", "tool_args_2": {}, "observation_2": "Completed."},
        }
    }
    messages = {
        "messages": [
            {"role": "user", "content": "?"},
            {
                "role": "assistant",
                "tool_calls": [{"function": {"name": "search", "arguments": '{"query": "Delft", "n": 3}'}}],
            },
            {"role": "tool", "content": "…"},
            {"role": "assistant", "tool_calls": [{"name": "read", "args": {"id": "nl-7"}}]},
            {"role": "assistant", "content": "done"},
        ]
    }
    bfcl = {"calls": [{"search": SEARCH["args"]}, {"read": READ["args"]}]}
    for pred in (steps, react, messages, bfcl):
        assert matches({"calls": [SEARCH, READ]}, pred)["exact"] == 1


@pytest.mark.parametrize(("value", "other"), [(1, True), (0.0, False), ([1], [True]), ({"n": 1}, {"n": True})])
def test_values_that_python_takes_for_equal_are_not_of_one_type(value: Any, other: Any) -> None:
    gold, pred = ({"calls": [{"name": "read", "args": {"id": item}}]} for item in (value, other))
    assert [TrajectoryMatch()(gold, side).tally.value for side in (gold, pred)] == [1, 0]


def test_the_assignment_is_the_largest_one() -> None:
    """Against every assignment of small lists, where arguments need only be part of gold's."""
    comparing = CallComparison("subset")
    generator = random.Random(7)
    for _ in range(300):
        gold, pred = (
            [Step("f", {key: 1 for key in "abc" if generator.random() < 0.5}) for _ in range(generator.randrange(0, 5))]
            for _ in "gp"
        )
        most = 0
        for order in itertools.permutations(range(len(pred))):
            hits = sum(comparing.right(g, pred[j]) for g, j in zip(gold, order, strict=False))
            most = max(most, hits)
        if len(gold) > len(pred):
            for order in itertools.permutations(range(len(gold))):
                most = max(most, sum(comparing.right(gold[i], p) for i, p in zip(order, pred, strict=False)))
        alignment = Alignment(Calls.of(gold), Calls.of(pred), comparing, ordered=True)
        assert len(alignment.right) == most


@pytest.mark.parametrize("arguments", ["exact", "subset", "superset", "ignore"])
def test_the_short_way_to_an_assignment_gives_the_assignment(arguments: str) -> None:
    """Where no search is needed, and where the order does not count, against the search and the definition."""
    comparing = CallComparison(arguments)
    generator = random.Random(11)
    for _ in range(400):
        sizes = [generator.choice([0, 1, 3, 8, 20]) for _ in "gp"]
        gold, pred = (
            tuple(Step(generator.choice("fg"), {generator.choice("ab"): generator.randrange(3)}) for _ in range(size))
            for size in sizes
        )
        pred = generator.choice([pred, gold, (*gold, *pred), pred[:1] + gold])
        candidates = {i: [j for j, p in enumerate(pred) if comparing.right(g, p)] for i, g in enumerate(gold)}
        alignment = Alignment(Calls.of(gold), Calls.of(pred), comparing, ordered=False)
        assert alignment.right == assign(candidates)
        beginnings = [{i: [j for j in js if j < n] for i, js in candidates.items()} for n in range(1, len(pred) + 1)]
        first = next((n for n, before in enumerate(beginnings) if len(assign(before)) <= n), len(pred))
        assert alignment.first_wrong == (None if len(alignment.right) == len(gold) == len(pred) else first)


def test_numbers_are_the_same_up_to_rounding_and_identifiers_are_not() -> None:
    gold = {"calls": [{"name": "read", "args": {"id": 2_000_000_001}}]}
    values = [
        CallF1()(gold, {"calls": [{"name": "read", "args": {"id": n}}]}).tally.value
        for n in (2_000_000_001, 2_000_000_002)
    ]
    assert values == [1, 0]


def test_how_a_trajectory_went() -> None:
    gold = {"calls": [SEARCH, READ]}
    pred = {"calls": [SEARCH, SEARCH | {"error": "down"}, READ | {"error": "down"}, READ], "finished": False}
    values = {of: Conduct(of)(gold, pred).tally for of in ("finished", "failed", "recovered", "repeated")}
    assert values == {"finished": Mean(0, 1), "failed": Mean(2, 4), "recovered": Mean(1, 2), "repeated": Mean(2, 4)}
    failed = {"goldassay_failure": "ValueError: no"}
    assert Conduct("finished")(gold, failed).tally == Mean(0, 1)
    assert Conduct("failed")(gold, failed).tally == Mean(0, 0)


def test_the_error_of_a_tool_in_messages_belongs_to_its_call() -> None:
    calls = [{"id": name, "function": {"name": "read", "arguments": f'{{"id": "{name}"}}'}} for name in "ab"]
    messages = [
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "b", "error": {"type": "timeout", "message": "down"}},
        {"role": "tool", "tool_call_id": "a", "content": "…"},
    ]
    assert [call.error for call in trajectory({"messages": messages}).calls] == ["", "down"]
    assert [step.error for step in steps_of({"messages": messages})] == ["", "", "down"]
    assert Conduct("failed")({"calls": []}, {"messages": messages}).tally == Mean(1, 2)


def test_answers_of_tools_without_ids_belong_to_the_calls_in_their_order() -> None:
    messages = [
        {"role": "assistant", "tool_calls": [SEARCH, READ]},
        {"role": "tool", "content": "found", "error": "slow"},
        {"role": "tool", "content": "read"},
    ]
    assert [step.output for step in steps_of({"messages": messages})] == ["", "found", "read"]
    assert [call.error for call in trajectory({"messages": messages}).calls] == ["slow", ""]


@pytest.mark.parametrize(
    "call",
    [
        {"id": "1", "type": "function", "function": {"name": "read", "arguments": '{"id": "nl-7"}'}},
        {"id": "1", "function": "read", "arguments": {"id": "nl-7"}},  # Inspect
        {"read": {"id": "nl-7"}},
        READ,
        {"tool_name": "read", "tool_input": {"id": "nl-7"}},  # Vertex AI
        {"tool": "read", "tool_input": {"id": "nl-7"}, "log": ""},  # LangChain's actions
        {"name": "read", "input_parameters": {"id": "nl-7"}},  # deepeval: it was a call without arguments
        {"type": "tool-call", "toolCallId": "1", "toolName": "read", "input": {"id": "nl-7"}},  # Vercel's AI SDK
        {"part_kind": "tool-call", "tool_name": "read", "args": '{"id": "nl-7"}'},  # Pydantic AI
        {"tool_name": "read", "tool_kwargs": {"id": "nl-7"}, "tool_id": "1"},  # LlamaIndex
        {"functionCall": {"name": "read", "args": {"id": "nl-7"}}},  # Gemini: a call of functionCall
    ],
)
def test_a_call_in_every_form_is_scored_and_shown(call: Any) -> None:
    pred = {"calls": [call]}
    assert matches({"calls": [READ]}, pred)["exact"] == 1
    assert [(step.name, step.args) for step in steps_of(pred)] == [("read", {"id": "nl-7"})]


def test_a_call_that_cannot_be_read_is_an_error_with_its_record() -> None:
    with pytest.raises(DataError, match="^record q7, calls: a call is {name, args}"):
        CallF1()({"id": "q7", "calls": [READ]}, {"calls": [{"nam": "read", "args": {}}]})


def test_an_order_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(DataError, match="order is strict or any, not 'unordered'"):
        CallF1()({"calls": [READ], "order": "unordered"}, {"calls": [READ]})


def is_paid(gold: Any, pred: Any) -> float | None:
    return float(pred["balance"]) / float(gold["balance"]) if pred["balance"] else None


def test_the_state_at_the_end_is_checked_by_a_function_of_the_user() -> None:
    measure = EndState(is_paid)
    assert parse(f"trajectories.{measure!r}") == measure
    assert [measure({"balance": 4}, {"balance": b}).tally.value for b in (4, 2)] == [1.0, 0.5]
    (error,) = measure({"balance": 4}, {"balance": 2}).errors
    assert (error.kind, error.message) == ("wrong_state", "is_paid is 0.5 at the end.")
    assert measure({"balance": 4}, {"goldassay_failure": "no"}).tally.value == 0
    with pytest.raises(GoldassayError, match="a function at the top of a file"):
        EndState(lambda gold, pred: True)
    for balance in (8, -4, 0):
        with pytest.raises(DataError, match="is_paid returned .*: a check returns a bool, or a number from 0 to 1"):
            measure({"balance": 4}, {"balance": balance})
    with pytest.raises(DataError, match="is_paid raised KeyError: 'balance'"):
        measure({"balance": 4}, {"answer": "x"})
    metric = Metric({measure: 0.5, CallF1(): 0.25, answering.ExactMatch(): 0.25})
    score = metric({"balance": 4, "calls": [READ], "answers": ["x"]}, {"balance": 4, "calls": [READ], "answer": "y"})
    assert score.score == 0.75


def test_repeats_of_trajectories_have_pass_at_k_and_pass_all() -> None:
    gold = [dspy.Example(id=str(i), question=str(i), calls=[READ]).with_inputs("question") for i in range(8)]
    asked: Counter[str] = Counter()

    def program(question: str) -> Any:
        asked[question] += 1
        right = int(question) < 4 or asked[question] % 2 == 0
        return dspy.Prediction(calls=[READ] if right else [SEARCH])

    noise = evaluate(program, gold, Metric(TrajectoryMatch()), repeats=4, progress=False).noise
    assert noise is not None
    assert [round(noise.pass_at[k].value, 6) for k in (1, 2, 4)] == [0.75, round(0.5 + 0.5 * 5 / 6, 6), 1.0]
    assert [round(noise.pass_every[k].value, 6) for k in (2, 4)] == [round(0.5 + 0.5 / 6, 6), 0.5]
    assert noise.pass_every[2].low < noise.pass_every[2].value < noise.pass_every[2].high


def ragas_f1(gold: list[Step], pred: list[Step]) -> float:
    """ragas 0.4, ToolCallF1: sets of name and arguments."""
    sets = [{(call.name, tuple(sorted(call.args.items()))) for call in calls} for calls in (gold, pred)]
    common = len(sets[0] & sets[1])
    size = len(sets[0]) + len(sets[1])
    return 2 * common / size if size else 0.0


def ragas_accuracy(gold: list[Step], pred: list[Step]) -> float:
    """ragas 0.4, ToolCallAccuracy: arguments as text, where the names are the same in the same order."""
    if [call.name for call in gold] != [call.name for call in pred]:
        return 0.0
    shares = [
        sum(str(b.args.get(name)) == str(value) for name, value in a.args.items()) / len(a.args)
        for a, b in zip(gold, pred, strict=True)
    ]
    return sum(shares) / len(shares) if shares else 1.0


def deepeval_correctness(gold: list[Step], pred: list[Step]) -> float:
    """deepeval 4.1, ToolCorrectness by name: expected tools that were called, each once."""
    left = [call.name for call in pred]
    hits = 0
    for call in gold:
        if call.name in left:
            left.remove(call.name)
            hits += 1
    return hits / len(gold) if gold else 1.0


def test_ragas_and_deepeval_agree_where_their_definitions_overlap() -> None:
    draw = random.Random(7)
    compared = {"f1": 0, "accuracy": 0}
    for _ in range(500):
        calls = [Step(f"t{draw.randrange(3)}", {"a": draw.randrange(2), "b": draw.randrange(2)}) for _ in range(8)]
        gold = calls[: draw.randrange(1, 4)]
        same_tools = [Step(call.name, draw.choice(calls).args) for call in gold]
        pred = draw.choice([calls[draw.randrange(3) : draw.randrange(8)], same_tools])
        listed: Any = [{"calls": [{"name": call.name, "args": call.args} for call in side]} for side in (gold, pred)]
        assert ToolF1("recall")(*listed).tally.value == deepeval_correctness(gold, pred)
        if all(len({(c.name, *c.args.items()) for c in side}) == len(side) for side in (gold, pred)):
            assert CallF1()(*listed).tally.value == pytest.approx(ragas_f1(gold, pred))
            compared["f1"] += 1
        if [call.name for call in gold] == [call.name for call in pred] and len({c.name for c in gold}) == len(gold):
            assert ArgumentAccuracy()(*listed).tally.value == pytest.approx(ragas_accuracy(gold, pred))
            compared["accuracy"] += 1
    assert min(compared.values()) > 50


F = '{"q": "Delft"}'
ASKED = {"role": "user", "content": "?"}
DONE = {"role": "assistant", "content": "done"}


LANGCHAIN: list[dict[str, Any]] = [
    {
        "type": "ai",
        "content": [{"type": "text", "text": "look"}, {"type": "tool_use", "id": "a", "name": "search", "input": {}}],
        "tool_calls": [{"id": "a", "name": "search", "args": {"q": "Delft"}}],
    },
    {"tool_call_id": "a", "content": "down", "status": "error"},
]  # of a model of Anthropic
HAYSTACK = {"id": "a", "tool_name": "search", "arguments": {"q": "Delft"}}


@pytest.mark.parametrize(
    "messages",
    [
        [
            {"role": "assistant", "content": None, "function_call": {"name": "search", "arguments": F}},
            {"role": "function", "name": "search", "content": "7", "error": "down"},
        ],
        [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a", "name": "search", "input": json.loads(F)}],
            },
            {"role": "user", "content": [{"type": "tool_result", "content": "down", "is_error": True}]},
        ],
        [
            {"type": "function_call", "call_id": "a", "name": "search", "arguments": F},
            {"type": "function_call_output", "call_id": "a", "output": "down", "error": "down"},
        ],
        [
            {"type": "ai", "content": "", "tool_calls": [{"id": "a", "name": "search", "args": {"q": "Delft"}}]},
            {"type": "tool", "tool_call_id": "a", "content": "down", "status": "error"},
        ],
        [
            {"role": "model", "parts": [{"functionCall": {"name": "search", "args": json.loads(F)}, "thought": False}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "search", "response": {"error": "down"}}}]},
        ],
        [
            {"role": "model", "parts": [{"text": None, "function_call": {"name": "search", "args": json.loads(F)}}]},
            {
                "role": "tool",
                "parts": [{"function_response": {"name": "search", "response": {"error": {"message": "down"}}}}],
            },
        ],
        [
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "a", "name": "search", "input": {"q": "Delft"}}}],
            },
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "down"}], "status": "error"}}],
            },
        ],
        [
            {
                "kind": "response",
                "parts": [{"part_kind": "tool-call", "tool_name": "search", "args": F, "tool_call_id": "a"}],
            },
            {
                "kind": "request",
                "parts": [{"part_kind": "retry-prompt", "tool_name": "search", "content": "down", "tool_call_id": "a"}],
            },
        ],
        [
            {
                "role": "assistant",
                "content": [{"type": "tool-call", "toolCallId": "a", "toolName": "search", "input": {"q": "Delft"}}],
            },
            {
                "role": "tool",
                "content": [{"type": "tool-result", "toolCallId": "a", "result": "down", "isError": True}],
            },
        ],
        [
            {"type": "custom_tool_call", "call_id": "a", "name": "search", "input": F},
            {"type": "custom_tool_call_output", "call_id": "a", "output": "down", "error": "down"},
        ],
        [
            {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": LANGCHAIN[0]},
            {"lc": 1, "id": ["ToolMessage"], "kwargs": LANGCHAIN[1]},
        ],
        [{"type": "ai", "data": LANGCHAIN[0]}, {"type": "tool", "data": LANGCHAIN[1]}],
        [{**LANGCHAIN[0], "type": "AIMessageChunk"}, {"type": "tool", **LANGCHAIN[1]}],
        [
            {"role": "assistant", "content": [{"text": "look"}, {"tool_call": {**HAYSTACK, "extra": None}}]},
            {"role": "tool", "content": [{"tool_call_result": {"result": "down", "origin": HAYSTACK, "error": True}}]},
        ],
        [
            {
                "kind": "response",
                "parts": [{"part_kind": "tool-call", "tool_name": "search", "args": F, "tool_call_id": "a"}],
            },
            {
                "kind": "request",
                "parts": [{"part_kind": "tool-return", "content": "down", "tool_call_id": "a", "outcome": "retried"}],
            },
        ],
        [
            {"type": "AssistantMessage", "content": [{"id": "a", "name": "search", "arguments": F}]},
            {
                "type": "FunctionExecutionResultMessage",
                "content": [{"call_id": "a", "name": "search", "content": "down", "is_error": True}],
            },
        ],
        [
            {
                **{"type": "ToolCallRequestEvent", "source": "finder"},
                "content": [{"id": "a", "name": "search", "arguments": F}],
            },
            {
                **{"type": "ToolCallExecutionEvent", "source": "finder"},
                "content": [{"call_id": "a", "name": "search", "content": "down", "is_error": True}],
            },
        ],
    ],
)
def test_other_forms_of_messages(messages: list[dict[str, Any]]) -> None:
    (call,) = trajectory({"messages": [ASKED, *messages, DONE]}).calls
    assert (call.name, call.args, call.error) == ("search", {"q": "Delft"}, "down")
    assert [step.error for step in steps_of({"messages": messages}) if step.kind == "tool"] == ["down"]
    assert trajectory({"messages": [ASKED, *messages, DONE]}).finished
    assert not trajectory({"messages": [ASKED, *messages]}).finished


@pytest.mark.parametrize(
    "message",
    [
        {"parts": [{"type": "tool-search", "toolCallId": "a", "input": {"q": "Delft"}, "output": "7"}]},
        {"parts": [{"toolInvocation": {"toolCallId": "a", "toolName": "search", "args": F, "result": "7"}}]},
        {
            "content": [
                {"type": "server_tool_use", "id": "a", "name": "search", "input": {"q": "Delft"}},
                {"type": "web_search_tool_result", "tool_use_id": "a", "content": "7"},
            ]
        },
    ],
)
def test_a_call_and_its_result_in_one_message(message: dict[str, list[Any]]) -> None:
    """The model goes on behind them: only with its text the trajectory has come to its end."""
    (parts,) = message.values()
    assert not trajectory({"messages": [ASKED, {"role": "assistant", **message}]}).finished
    parts.append({"type": "text", "text": "done"})
    answer = {"messages": [ASKED, {"role": "assistant", **message}]}
    (call,) = trajectory(answer).calls
    assert (call.name, call.args, trajectory(answer).finished) == ("search", {"q": "Delft"}, True)
    assert [(step.kind, step.output) for step in steps_of(answer)][1:] == [("tool", "7"), ("model", "done")]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            {"blocks": [{"block_type": "tool_call", "tool_call_id": "a", "tool_name": "search", "tool_kwargs": F}]},
            ("search", {"q": "Delft"}),
        ),
        (
            {"additional_kwargs": {"tool_calls": [{"id": "a", "function": {"name": "search", "arguments": F}}]}},
            ("search", {"q": "Delft"}),
        ),
        ({"type": "web_search_call", "id": "a", "action": {"query": "Delft"}}, ("web_search", {"query": "Delft"})),
        ({"type": "file_search_call", "id": "a", "queries": ["Delft"]}, ("file_search", {"queries": ["Delft"]})),
    ],
)
def test_calls_in_blocks_and_of_tools_that_the_provider_runs(message: dict[str, Any], expected: Any) -> None:
    message = message if "type" in message else {"role": "assistant", **message}
    result = {
        "role": "tool",
        "blocks": [{"block_type": "text", "text": "7"}],
        "additional_kwargs": {"tool_call_id": "a"},
    }
    answer = {"messages": [{"role": "user", "content": "?"}, message, result]}
    (call,) = trajectory(answer).calls
    assert (call.name, call.args) == expected
    assert [step.output for step in steps_of(answer) if step.kind == "tool"] == ["7"]


def test_the_tool_with_which_pydantic_ai_ends_is_no_call() -> None:
    parts: list[Any] = [
        {"part_kind": "tool-call", "tool_name": name, "args": {}} for name in ("search", "final_result_Town")
    ]
    steps = trajectory({"messages": [{"kind": "response", "parts": parts}]})
    assert ([call.name for call in steps.calls], steps.finished) == (["search"], True)


def test_what_a_model_thought_is_no_part_of_its_answer() -> None:
    parts: list[Any] = [{"thought": True, "text": "hm"}, {"type": "reasoning", "content": "hm"}, {"text": "1847"}]
    (step,) = steps_of({"messages": [{"role": "model", "parts": parts}]})
    assert step.output == "1847"
    parts = [{"toolResult": {"toolUseId": "a", "content": [{"json": {"year": 1847}}]}}]
    asked = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "read", "input": {}}}]}
    assert steps_of({"messages": [asked, {"role": "user", "content": parts}]})[1].output == '{"year": 1847}'


@pytest.mark.parametrize(
    "answer",
    [
        {"messages": [ASKED, {"from": "gpt", "value": "search(Delft)"}]},
        {"messages": [ASKED, {"source": "a", "type": "ToolCallRequestEvent", "content": [{"name": "search"}]}]},
        {"messages": [ASKED, {"role": "tool-call", "content": "Calling tools: search"}]},
        {"trajectory": {"steps": [{"name": "search"}]}},
        {"trajectory": [{"kind": "TOOL", "name": "search", "args": {}}]},
    ],
)
def test_calls_in_an_unknown_form_are_an_error(answer: dict[str, Any]) -> None:
    """They counted as no calls."""
    with pytest.raises(DataError):
        trajectory(answer)


def test_a_result_belongs_to_the_call_that_it_names() -> None:
    called: list[Any] = [{"functionCall": {"name": name, "args": {}}} for name in ("search", "read", "read")]
    results: list[Any] = [("read", {"result": [7]}), ("search", {"output": "a"}), ("read", {"page": "Ä"})]
    parts = [{"functionResponse": {"name": name, "response": response}} for name, response in results]
    contents = [{"role": "model", "parts": called}, {"role": "function", "parts": parts}]
    steps = steps_of({"trajectory": {"contents": contents}})
    assert [(step.name, step.output) for step in steps[1:]] == [
        *(("search", "a"), ("read", "[7]")),
        ("read", '{"page": "Ä"}'),
    ]
    calls = [{"type": "tool_call", "id": name, "name": "read", "arguments": {}} for name in "ab"]
    results = [{"type": "tool_call_response", "id": name, "response": f"of {name}"} for name in "ba"]
    messages = [{"role": "assistant", "parts": calls}, {"role": "tool", "parts": results}]
    assert [step.output for step in steps_of({"messages": messages})[1:]] == ["of a", "of b"]
    assert not trajectory({"messages": [{"type": "human", "content": "?"}]}).calls


def test_the_result_of_another_call_is_nobodys_and_calls_of_pydantic_ai_have_ids() -> None:
    calls = [{"id": name, "function": {"name": "read", "arguments": "{}"}} for name in ("a", "b")]
    results = [{"role": "tool", "tool_call_id": name, "content": f"of {name}"} for name in ("z", "b", "a")]
    parts: list[Any] = [
        {"part_kind": "tool-call", "tool_name": "read", "args": {}, "tool_call_id": name} for name in ("a", "b")
    ]
    returns = [{"part_kind": "tool-return", "tool_call_id": name, "content": f"of {name}"} for name in ("b", "a")]
    for messages in (
        [{"role": "assistant", "tool_calls": calls}, *results],
        [{"kind": "response", "parts": parts}, {"kind": "request", "parts": returns}],
    ):
        assert [step.output for step in steps_of({"messages": messages})[1:]] == ["of a", "of b"]


def test_a_call_of_a_custom_tool_and_a_piece_of_a_stream() -> None:
    custom = {"type": "custom", "custom": {"name": "run", "input": "print(1)"}}
    (call,) = trajectory({"messages": [{"role": "assistant", "tool_calls": [custom]}]}).calls
    assert (call.name, call.args) == ("run", {"": "print(1)"})
    piece = {"index": 0, "function": {"arguments": '{"q'}}
    with pytest.raises(DataError, match="a call is {name, args}"):
        trajectory({"messages": [{"role": "assistant", "tool_calls": [piece]}]})


@pytest.mark.parametrize(
    "pred",
    [
        {"messages": [{"role": "ai", "tool_calls": [{"name": "read"}]}, {"role": "tool", "content": "x" * 2_000_000}]},
        {"trajectory": [{"name": "read", "output": "x" * 2_000_000}]},
        {"trajectory": {"tool_name_0": "read", "observation_0": "x" * 2_000_000}},
    ],
)
def test_a_long_output_is_cut_with_a_note_and_once(pred: dict[str, Any]) -> None:
    step = steps_of(pred)[-1]
    assert len(str(step.output)) < 20_100
    assert str(step.output).endswith("(cut, 2,000,000 characters in all)")
    recorded = bounded("x" * 2_000_000)
    assert steps_of({"trajectory": [{"name": "read", "output": recorded}]})[0].output == recorded


def test_an_agent_of_dspys_second_react_is_read_and_its_failed_call_is_an_error() -> None:
    if not hasattr(dspy, "ReActV2"):
        pytest.skip("this DSPy has no ReActV2")

    def read(id: int) -> str:
        if not id:
            raise KeyError("no page")
        return "Delft"

    calls = [("read", {"id": 0}), ("read", {"id": 1}), ("submit", {"answer": "Delft"})]
    turns = [
        {"next_thought": "on", "tool_calls": json.dumps({"tool_calls": [{"name": name, "args": args}]})}
        for name, args in calls
    ]
    gold = dspy.Example(id="a", question="where", calls=[{"name": "read", "args": {"id": 1}}]).with_inputs("question")
    program = dspy.ReActV2("question -> answer", tools=[read])
    with dspy.context(lm=DummyLM(turns)):
        pred = program(question="where")
    assert CallF1()(gold, pred).tally == Counts(tp=1.0, fp=1.0, fn=0.0)
    assert trajectory(pred).finished
    assert [(step.kind, step.name, bool(step.error)) for step in steps_of(pred)] == [
        ("tool", "read", True),
        ("tool", "read", False),
        ("module", "submit", False),
    ]
    cut = {"history": json.loads(pred.history.model_dump_json()), "termination_reason": "max_iters"}
    assert (len(trajectory(cut).calls), trajectory(cut).finished) == (2, False)
    with dspy.context(lm=DummyLM(turns[1:])):  # the next turn of the conversation
        second = program(question="and then", history=pred.history)
    assert CallF1()(gold, second).tally == Counts(tp=1.0, fp=0.0, fn=0.0)
    assert [step.name for step in steps_of(second)] == ["read", "submit"]


def test_calls_whose_arguments_langchain_could_not_read_are_calls_of_that_text() -> None:
    valid = {"name": "search", "args": {"q": "Delft"}, "id": "a"}
    invalid = {"name": "read", "args": "{id: 7", "id": "b", "error": None, "type": "invalid_tool_call"}
    messages: Any = [{"type": "ai", "content": "", "tool_calls": [valid], "invalid_tool_calls": [invalid]}]
    expected = [("search", {"q": "Delft"}), ("read", {"": "{id: 7"})]
    assert [(call.name, dict(call.args)) for call in trajectory({"messages": messages}).calls] == expected
    function = {"name": "read", "arguments": "{id: 7"}  # as it repeats the answer of OpenAI
    messages[0] |= {"tool_calls": [], "additional_kwargs": {"tool_calls": [{"id": "b", "function": function}]}}
    assert [(call.name, dict(call.args)) for call in trajectory({"messages": messages}).calls] == expected[1:]


@pytest.mark.parametrize(
    "steps",
    [
        {"generated_code_0": "x", "observation_0": "Failed: x", "generated_code_1": "print(7)", "code_output_1": "7"},
        [{"reasoning": "…", "code": "x", "output": "Failed: x"}, {"reasoning": "…", "code": "print(7)", "output": "7"}],
    ],
)
def test_code_that_a_model_wrote_is_a_call_of_python(steps: Any) -> None:
    read = trajectory({"trajectory": steps})
    assert [(call.name, dict(call.args)) for call in read.calls] == [
        ("python", {"code": "x"}),
        ("python", {"code": "print(7)"}),
    ]
    assert read.finished


def test_the_calls_of_dspys_tool_calls_count_and_a_text_is_no_trajectory() -> None:
    # flawed: both have no calls, without a word
    gold = {"calls": [SEARCH]}
    native = dspy.ToolCalls.from_dict_list([SEARCH])
    for pred in ({"tool_calls": native}, {"trajectory": native}, {"trajectory": native.model_dump()}):
        assert TrajectoryMatch()(gold, pred).tally.value == 1
    for pred in (
        {"trajectory": "a"},
        {"messages": [{"role": "assistant", "tool_calls": 5}]},
        {"history": {"messages": 5}},
    ):
        with pytest.raises(DataError, match="expected a list of steps, messages or calls, not ('a'|5)"):
            TrajectoryMatch()(gold, pred)
        assert all(step.kind != "tool" for step in steps_of(pred))  # a page shows what there is


def test_a_list_of_calls_is_a_prediction() -> None:
    calls = [{"name": "search", "args": {"query": "Delft"}}]
    assert Metric(CallF1())(dspy.Example(calls=calls), calls).score == 1

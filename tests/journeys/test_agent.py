"""Journey E: a ReAct agent with tools, of an ordinary DSPy project."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from tests.chaos.conftest import Endpoint
from tests.ext.labelling.review.conftest import text_of
from tests.journeys.conftest import Answer, Fields, Reviewer, Shell, write

PROGRAM = '''
from typing import Literal

import dspy

STATES = ("shipped", "lost", "open")


def order_state(order: str) -> str:
    """The state of an order."""
    return STATES[int(order[1:]) % 3]


def refund(order: str) -> str:
    """Pay the price of an order back."""
    return f"{order} is refunded"


class Service(dspy.Signature):
    """INSTRUCTION"""

    letter: str = dspy.InputField()
    action: Literal["wait", "refund", "none", "ask"] = dspy.OutputField()


program = dspy.ReAct(Service, tools=[order_state, refund], max_iters=4)


def metric(gold, pred, trace=None):
    return gold.action == pred.action
'''
ACTIONS = ("wait", "refund", "none")
RULE = "Refund what is lost."


def act(output: str, inputs: Fields, before: str) -> str:
    """Looks an order up; refunds lost ones only if the prompt says so; thinks another thought each time."""
    text = " ".join(map(str, inputs.values()))
    order = re.findall(r"A\d+", text)[0]
    tool = "finish"
    if "observation_0" not in inputs:
        tool = "order_state"
    elif "lost" in inputs.values() and "refunded" not in text and RULE in before:
        tool = "refund"
    if output == "action":
        return "wait" if "shipped" in text else "refund" if "refunded" in text else "none"
    answers = {"next_tool_name": tool, "next_tool_args": "{}" if tool == "finish" else f'{{"order": "{order}"}}'}
    return answers.get(output, f"I {tool} {order}: {RULE in before}.")


@pytest.fixture
def gold(shell: Shell) -> list[Fields]:
    rows = [
        {"id": f"c{n}", "letter": f"Where is my order A{n}? {text_of(n)}", "action": ACTIONS[n % 3]} for n in range(30)
    ]
    write("gold.jsonl", rows)
    write("agent.py", PROGRAM.replace("INSTRUCTION", "Answer a customer."))
    write("second.py", PROGRAM.replace("INSTRUCTION", f"Answer a customer. {RULE}"))
    return rows


def test_an_agent_is_measured_read_and_compared(
    gold: list[Fields], shell: Shell, model: Callable[[Answer], Endpoint], reviewer: Callable[..., Reviewer]
) -> None:
    endpoint = model(act)
    options = "--gold gold.jsonl --lm models.yaml:mini"
    lost = [row["id"] for row in gold if row["action"] == "refund"]
    first = shell.json(f"goldassay eval agent.py {options}")
    assert first["values"] == {"score": pytest.approx(1 - len(lost) / len(gold))}
    assert first["cost"]["calls"] == endpoint.calls == 3 * len(gold)  # look up, finish, answer
    second = shell.json(f"goldassay eval second.py {options}")
    assert second["values"] == {"score": 1.0}
    assert second["cost"]["calls"] == 3 * len(gold) + len(lost)
    compared = shell.json(f"goldassay compare {first['folder']} {second['folder']}")
    (gain,) = compared["comparisons"]
    assert gain["difference"] == pytest.approx(len(lost) / len(gold))
    assert sorted(gain["won"]) == sorted(lost)

    # Without gold: the same difference by labels of what differs, which is what was done, not what was thought.
    truth = {row["letter"]: row["action"] for row in gold}
    labelled = 0

    def prefer(record: Fields) -> Fields:
        nonlocal labelled
        labelled += 1
        form = record["choices"]["schema"]["properties"]
        assert form["action"]["enum"] == ["wait", "refund", "none", "ask"]  # also what no system has answered
        true = truth[record["fields"]["letter"]]
        if not record["suggestions"]:
            return {"value": {"action": true}}
        assert all(side["value"].keys() == {"action"} for side in record["suggestions"])
        return {"choice": next(side["key"] for side in record["suggestions"] if side["value"]["action"] == true)}

    page = reviewer(prefer)
    shell(f"goldassay review {first['folder']} {second['folder']} --task agent.py --for compare")
    assert labelled == len(lost)
    line = next(line for line in page.then if "compare" in line)
    by_labels = shell.json(line)
    assert by_labels["comparisons"][0]["difference"] == pytest.approx(len(lost) / len(gold))


def test_where_an_agent_first_goes_wrong(
    gold: list[Fields], shell: Shell, model: Callable[[Answer], Endpoint], reviewer: Callable[..., Reviewer]
) -> None:
    model(act)
    run = shell.json("goldassay eval agent.py --gold gold.jsonl --lm models.yaml:mini")
    truth = {row["letter"]: row["action"] for row in gold}

    def read(record: Fields) -> Fields:
        (side,) = record["suggestions"]
        true = truth[record["fields"]["letter"]]
        if side["value"]["action"] == true:
            return {"choice": side["key"]}
        names = [step["name"] for step in side["steps"]]
        wrong = names.index("react", names.index("order_state"))  # it saw the state, and decides to finish
        return {"value": {"action": true}, "good": False, "modes": ["gives up a lost order"], "step": wrong}

    page = reviewer(read)
    shell(f"goldassay review {run['folder']} --task agent.py --for errors --n 30")
    modes = shell.json(next(line for line in page.then if "gold modes" in line))
    (mode,) = modes["modes"]
    assert mode["records"] == 10
    assert mode["share"]["value"] == pytest.approx(10 / 30)
    assert [(row["name"], row["records"]) for row in modes["steps"]] == [("react", 10)]
    assert [(row["name"], row["records"]) for row in modes["transitions"]] == [("order_state → react", 10)]

"""Journey B: two prompts of one's own, with and without gold; each program gets the inputs that it takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.journeys.conftest import Fields, Reviewer, Shell, prefer, write

PROGRAMS = '''
import dspy


class Short(dspy.Module):
    """Reads the subject alone."""

    def forward(self, subject):
        return dspy.Prediction(team="billing" if "invoice" in subject else "returns")


class Long(dspy.Module):
    """Reads whatever it is given, which a line below says."""

    def forward(self, **fields):
        assert set(fields) == {"subject", "body"}, fields
        text = f"{fields['subject']} {fields['body']}"
        return dspy.Prediction(team="billing" if "invoice" in text or "bill" in text else "returns")


def metric(gold, pred):
    return gold.team == pred.team

'''
SUBJECTS = ("about an invoice", "a question", "a parcel")
BODIES = ("please look", "my bill is wrong", "it came back")


def tickets(n: int = 60) -> list[Fields]:
    """A third says invoice in the subject, a third says bill in the body, a third comes back."""
    rows = []
    for number in range(n):
        kind = number % 3
        words = " ".join(f"{number * step % 97}" for step in (3, 5, 7, 11, 13))
        body = f"{BODIES[kind]} {words}"
        rows.append(
            {
                "id": f"t{number}",
                "subject": SUBJECTS[kind],
                "body": body,
                "team": ("billing", "billing", "returns")[kind],
            }
        )
    return rows


@pytest.fixture(autouse=True)
def project(shell: Shell) -> None:
    write("short.py", f"{PROGRAMS}\nprogram = Short()\n")
    write("long.py", f'{PROGRAMS}\nprogram = Long()\ninputs = ["subject", "body"]\n')
    write("metric.py", "def metric(gold, pred):\n    return gold.team == pred.team\n")


def test_each_program_gets_its_own_inputs_of_the_same_gold(shell: Shell) -> None:
    write("gold.jsonl", tickets())
    result = shell.json(
        "goldassay compare triage --gold gold.jsonl --program short.py --program long.py --metric metric.py --split all"
    )
    assert [run["values"]["score"] for run in result["runs"]] == [40 / 60, 1.0]
    assert result["comparisons"][0]["difference"] == pytest.approx(1 / 3)


def test_without_gold_labels_of_what_differs_give_the_same_difference(
    shell: Shell, reviewer: Callable[..., Reviewer]
) -> None:
    gold = {row["id"]: row["team"] for row in tickets()}
    write("inputs.jsonl", [{name: row[name] for name in ("id", "subject", "body")} for row in tickets()])
    for name in ("short", "long"):
        rows = [
            {
                **row,
                "team": "billing"
                if "invoice" in row["subject"] or (name == "long" and "bill" in row["body"])
                else "returns",
            }
            for row in tickets()
        ]
        write(f"{name}.jsonl", rows)
    page = reviewer(prefer("team", lambda record: gold[record["id"]]))
    shell("goldassay review short.jsonl long.jsonl --task long.py --for compare")
    [line] = page.then
    assert line == "goldassay compare long.py --gold short.review --pred short.jsonl --pred long.jsonl"
    result = shell.json(line)
    assert result["comparisons"][0]["difference"] == pytest.approx(20 / 60)
    shell(line)
    assert "better" in shell.printed


TWO_OUTPUTS = '''
from typing import Literal
import dspy


class Triage(dspy.Signature):
    """Say which team answers."""
    subject: str = dspy.InputField()
    body: str = dspy.InputField()
    team: Literal["billing", "returns", "press"] = dspy.OutputField()
    tone: Literal["calm", "angry"] = dspy.OutputField()


program = dspy.ChainOfThought(Triage)


def metric(gold, pred):
    return gold.team == pred.team
'''


def test_what_the_metric_does_not_read_makes_no_difference(shell: Shell, reviewer: Callable[..., Reviewer]) -> None:
    """Two systems that also differ in a field that nobody scores; a label need not say it."""
    write("two.py", TWO_OUTPUTS)
    for name in ("short", "long"):
        rows = []
        for number, row in enumerate(tickets()):
            read = f"{row['subject']} {row['body'] if name == 'long' else ''}"
            team = "billing" if "invoice" in read or "bill" in read else "returns"
            tone = "angry" if name == "long" and number % 4 == 0 else "calm"
            rows.append({**row, "team": team, "tone": tone})
        write(f"{name}.jsonl", rows)
    truth = {row["id"]: row["team"] for row in tickets()}
    hidden = []

    def decide(record: Fields) -> Fields:
        if not record["suggestions"]:
            hidden.append(record["id"])
        return prefer("team", lambda record: truth[record["id"]])(record)

    page = reviewer(decide)
    shell("goldassay review short.jsonl long.jsonl --task two.py --for compare")
    assert hidden  # one of ten is labelled without the suggestions, by its team alone
    (compared,) = shell.json(page.then[0])["comparisons"]
    assert compared["difference"] == pytest.approx(20 / 60)
    assert len(compared["won"]) == 20

"""Journey A: a log of one's own application, and a program in a file beside it. No gold, no workspace."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.ext.labelling.review.conftest import text_of
from tests.journeys.conftest import Fields, Reviewer, Shell, prefer, write

WORDS = 'RULE = "reminder"\n'
PROGRAM = '''
from typing import Literal

import dspy
from words_of_triage import RULE


class Triage(dspy.Signature):
    """Say which team answers."""

    subject: str = dspy.InputField()
    body: str = dspy.InputField()
    team: Literal["billing", "returns", "press"] = dspy.OutputField()


class Program(dspy.Module):
    """Takes a reminder for a return until its prompt tells of reminders; never knows the press."""

    def __init__(self):
        super().__init__()
        self.sort = dspy.ChainOfThought(Triage)

    def forward(self, **ticket):
        signature = self.sort.predict.signature
        team = ticket["body"].split()[0]
        if team == "reminder":
            team = "billing" if RULE in signature.instructions + str(self.sort.predict.demos) else "returns"
        return dspy.Prediction(reasoning=f"It says {team}.", team="billing" if team == "press" else team)


program = Program()
'''
KINDS = ["billing"] * 5 + ["returns"] * 5 + ["reminder"] * 4 + ["press"]
TRUTH = {"reminder": "billing"}


def tickets(n: int, start: int) -> list[Fields]:
    """Tickets as an application logs them: under other names, with columns that nobody needs, and without gold."""
    rng = random.Random(start)
    rows = []
    for number in range(start, start + n):
        kind = rng.choice(KINDS)
        answer = {"reminder": "returns", "press": "billing"}.get(kind, kind)
        answered = {"team": answer, "reasoning": f"It says {answer} (number {number})."}
        ticket = {"title": text_of(number)[:20], "text": f"{kind} {text_of(number)}"}
        rows.append({"id": f"t{number}", "ticket": ticket, "answer": answered, "ms": number})
    return rows


def true_team(record: Fields) -> str:
    kind = str(record["fields"]["body"]).split()[0]
    return TRUTH.get(kind, kind)


def read_trace(record: Fields) -> Fields:
    """A person who knows the truth: corrects what is wrong, and says what went wrong and why."""
    (side,) = record["suggestions"]
    assert side["value"].keys() == {"team"}  # nobody is asked for reasoning
    truth = true_team(record)
    if side["value"]["team"] == truth:
        return {"choice": side["key"]}
    kind = record["fields"]["body"].split()[0]
    return {"value": {"team": truth}, "good": False, "modes": [f"wrong {kind}"], "note": f"A {kind} goes to {truth}."}


def test_from_a_log_to_a_proven_patch(shell: Shell, reviewer: Callable[..., Reviewer]) -> None:
    write("words_of_triage.py", WORDS)
    write("triage.py", PROGRAM)
    write("traces.jsonl", tickets(150, 0))
    fresh = tickets(60, 500)
    write("fresh.jsonl", fresh)
    names = "--map subject=ticket.title,body=ticket.text,team=answer.team,reasoning=answer.reasoning"

    page = reviewer(read_trace)
    shell(f"goldassay review traces.jsonl --task triage.py --for errors --n 60 {names}")
    assert page.then == [
        "goldassay gold modes traces.review",
        "goldassay patch propose triage.py traces.review",
    ]
    assert [shell.advised(line) for line in page.then] == page.then

    modes = {mode["name"]: mode for mode in shell.json(page.then[0])["modes"]}
    assert set(modes) == {"wrong reminder", "wrong press"}

    shell(page.then[1])
    assert shell.advised("goldassay patch") == "goldassay patch show triage.py"  # it has no metric to test by
    patches = shell.json("goldassay patch show triage.py")["patches"]
    rule = next(patch["id"] for patch in patches if patch["mode"] == "wrong reminder")

    def choose(record: Fields) -> Fields:
        assert record["choices"]["schema"]["properties"]["team"]["enum"] == ["billing", "returns", "press"]
        return prefer("team", true_team)(record)

    reviewer(choose)
    proof = shell.json(f"goldassay patch test triage.py {rule} --unlabelled fresh.jsonl")  # named as the review was
    reminders = sum(str(row["ticket"]["text"]).startswith("reminder") for row in fresh)
    assert proof["patch"]["status"] == "proven"
    assert proof["verdict"]["difference"] == pytest.approx(reminders / len(fresh))
    shell(f"goldassay patch apply triage.py {rule}")
    assert "  goldassay eval triage.py --state programs/patches/triage --gold FILE\n" in shell.printed

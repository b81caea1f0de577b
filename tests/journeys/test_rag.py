"""Journey D: a small RAG of an ordinary DSPy project, and gold of questions, answers and passages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.chaos.conftest import Endpoint
from tests.journeys.conftest import Answer, Fields, Reviewer, Shell, write

CORPUS = '''
import json
from pathlib import Path

FILE = Path(__file__).with_name("passages.jsonl")
PASSAGES = {row["id"]: row["text"] for row in map(json.loads, FILE.read_text().splitlines())}


def search(query, k):
    """The passages that share most words with the query."""
    words = set(query.lower().split())
    return sorted(PASSAGES, key=lambda name: (-len(words & set(PASSAGES[name].lower().split())), name))[:k]
'''
PROGRAM = """
import dspy
from corpus import PASSAGES, search


class RAG(dspy.Module):
    def __init__(self):
        super().__init__()
        self.respond = dspy.ChainOfThought("context: list[str], question -> answer")

    def forward(self, question):
        found = search(QUERY, k=2)
        context = [PASSAGES[name] for name in found]
        answer = self.respond(context=context, question=question)
        return dspy.Prediction(answer=answer.answer, reasoning=answer.reasoning, context=context, found=found)


program = RAG()
"""
METRIC = """
from goldassay import Metric
from goldassay.measures import answering, retrieval

metric = Metric(
    {answering.ExactMatch(): 1.0, retrieval.R(5, missing="skip"): 0.0},
    columns={"gold.answers": "answer", "gold.relevant": "passages", "results": "found"},
)
"""
TOWNS = ("Delft", "Gouda", "Haarlem", "Leiden", "Breda", "Zwolle")
KINDS = ("museum", "archive", "library", "mill", "bridge", "station")


@pytest.fixture
def gold(shell: Shell) -> list[Fields]:
    rows = []
    passages = []
    for number in range(36):
        town = TOWNS[number % 6]
        kind = KINDS[number // 6]
        year = 1700 + 5 * number
        passages.append({"id": f"p{number}", "text": f"The {kind} of {town} opened in {year}."})
        question = f"When was the {kind} of {town} opened?"
        rows.append({"id": f"q{number}", "question": question, "answer": str(year), "passages": [f"p{number}"]})
    write("passages.jsonl", passages)
    write("gold.jsonl", rows)
    return rows


def first_year(output: str, inputs: Fields, before: str) -> str:
    """Answers with the first year that it reads."""
    if output != "answer":
        return "It is written there."
    context: str = inputs["context"]
    return next(word.strip('.",]') for word in context.split() if word.strip('.",]').isdigit())


def found(query: str, k: int = 2) -> list[str]:
    """What the search of the program finds, computed once more."""
    words = {*query.lower().split()}
    passages = [json.loads(line) for line in Path("passages.jsonl").read_text().splitlines()]
    overlap = {each["id"]: len(words & {*each["text"].lower().split()}) for each in passages}
    return sorted(overlap, key=lambda name: (-overlap[name], name))[:k]


def kind_of(question: str) -> str:
    return " ".join(question.split()[2:4])


def test_where_a_rag_goes_wrong(
    gold: list[Fields], shell: Shell, model: Callable[[Answer], Endpoint], reviewer: Callable[..., Reviewer]
) -> None:
    write("corpus.py", CORPUS)
    write("whole.py", PROGRAM.replace("QUERY", "question"))
    write("kind.py", PROGRAM.replace("QUERY", '" ".join(question.split()[2:4])'))
    write("metric.py", METRIC)
    model(first_year)
    options = "--gold gold.jsonl --metric metric.py --lm models.yaml:mini"
    runs = [shell.json(f"goldassay eval {name}.py {options}") for name in ("kind", "whole")]
    queries: list[Callable[[str], str]] = [kind_of, str]
    for run, query in zip(runs, queries, strict=True):
        hits = [found(query(row["question"])) for row in gold]
        right = [ids[0] == row["passages"][0] for ids, row in zip(hits, gold, strict=True)]
        recalled = [row["passages"][0] in ids for ids, row in zip(hits, gold, strict=True)]
        assert run["values"] == {
            "exact_match": pytest.approx(sum(right) / 36),
            "R@5": pytest.approx(sum(recalled) / 36),
        }
    assert runs[0]["values"]["R@5"] < runs[1]["values"]["R@5"]

    before, after = (run["folder"] for run in runs)
    compared = shell.json(f"goldassay compare {before} {after}")
    answers, recall = compared["comparisons"]
    assert answers["difference"] == pytest.approx(runs[1]["values"]["exact_match"] - runs[0]["values"]["exact_match"])
    assert recall["difference"] == pytest.approx(runs[1]["values"]["R@5"] - runs[0]["values"]["R@5"])
    won = [row["id"] for row in gold if found(kind_of(row["question"]))[0] != row["passages"][0]]
    assert sorted(answers["won"]) == sorted(won)
    assert answers["lost"] == []

    truth = {row["question"]: row for row in gold}

    def read(record: Fields) -> Fields:
        """Only the answer is asked for; the passages that were found are there to be read."""
        (side,) = record["suggestions"]
        row = truth[record["fields"]["question"]]
        assert side["value"].keys() == {"answer"}
        if side["value"]["answer"] == row["answer"]:
            return {"choice": side["key"]}
        note = "The first passage is of another town."
        return {"value": {"answer": row["answer"]}, "good": False, "modes": ["other passage"], "note": note}

    page = reviewer(read)
    shell(f"goldassay review {before} --task kind.py --for errors --n 20")
    line = next(line for line in page.then if "gold modes" in line)
    (mode,) = shell.json(line)["modes"]
    wrong = mode["records"] / 20
    assert mode["share"]["value"] == pytest.approx(wrong)
    assert mode["share"]["low"] < len(won) / len(gold) < mode["share"]["high"]
    proposed = next(line for line in page.then if "patch propose" in line)
    shell(proposed)
    patches = shell.json("goldassay patch show kind.py")["patches"]
    assert {patch["mode"] for patch in patches} == {"other passage"}
    assert "The first passage is of another town." in json.dumps(patches)

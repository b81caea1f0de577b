"""``goldassay compare TASK --program … --lm …``: the best, the cheapest that is not worse, and going on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.reporting.ranking import rank
from goldassay.running.evaluate import evaluate
from goldassay.running.folder import locked
from goldassay.running.matrix import recommend


def test_the_best_and_the_cheapest_are_named_and_a_comparison_goes_on(tmp_path: Path) -> None:
    call = ["compare", "classification", "--program", "baseline", "--program", "keywords", "--limit", "12"]
    call += ["--margin", "0.9", "--json"]
    done = CliRunner().invoke(app, [*call, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    body = json.loads(done.stdout)
    advice = body["recommendation"]
    values = {run["name"]: run for run in body["runs"]}
    assert advice["best"] in values
    assert advice["unit"] == "seconds"  # neither asks a model
    assert advice["sentences"][0].startswith(f"The best by the metric is {advice['best']}")
    told = "None is cheaper." if advice["cheapest"] == advice["best"] else "not worse than the best by more than 0.9"
    assert told in advice["sentences"][1]
    runs = sorted((tmp_path / "runs").iterdir())
    again = CliRunner().invoke(app, [*call, "--resume", str(tmp_path)])
    assert again.exit_code == 0, again.output
    assert sorted((tmp_path / "runs").iterdir()) == runs  # nothing was run again
    with locked(tmp_path):  # as another process has it that compares into it
        second = CliRunner().invoke(app, [*call, "--out", str(tmp_path)])
    assert "is being written by another run" in str(second.exception)
    assert sorted((tmp_path / "runs").iterdir()) == runs
    wrong = CliRunner().invoke(app, ["compare", "a", "b", "--budget", "calls=3"])
    assert isinstance(wrong.exception, GoldassayError)
    assert "--budget is for programs" in str(wrong.exception)


def test_of_two_that_cost_the_same_the_best_is_the_cheapest() -> None:
    examples = [dspy.Example(a=n, b=n).with_inputs("a") for n in range(40)]
    runs = []
    for name, first in (("worse", 1), ("best", 0)):
        run = evaluate(lambda a, first=first: {"b": max(a, first)}, examples, lambda gold, pred: gold.b == pred.b)
        runs.append(replace(run, head=replace(run.head, name=name, cost={"seconds": 4.0})))
    advice = recommend(runs, 0.5)
    assert (advice.best, advice.cheapest, advice.sentences[1]) == (1, 1, "None is cheaper.")


def test_a_run_from_the_cache_does_not_say_what_it_costs() -> None:
    examples = [dspy.Example(a=n, b=n).with_inputs("a") for n in range(4)]
    run = evaluate(lambda a: {"b": a}, examples, lambda gold, pred: gold.b == pred.b, name="free")
    tokens = {"prompt_tokens": 40, "completion_tokens": 4, "seconds": 2.0}
    paid = replace(run, head=replace(run.head, name="paid", cost={"calls": 4, "cached": 0, **tokens}))
    free = replace(run, head=replace(run.head, cost={"calls": 0, "cached": 4, **dict.fromkeys(tokens, 0.1)}))
    advice = recommend([paid, free], 0.1)
    assert (advice.usages[0]["tokens"], advice.usages[1]["tokens"], advice.cheapest) == (11.0, None, None)
    assert "all answers of free came from the cache" in advice.sentences[1]
    assert recommend([paid, paid], 0.1).sentences[0].endswith("(11 tokens an example).")
    half = replace(run, head=replace(run.head, name="half", cost={"calls": 2, "cached": 2, "prompt_tokens": 20}))
    assert recommend([paid, half], 0.1).usages[1]["tokens"] == 10.0  # as if the cache had answered none
    costs = {system.name: (system.cost, system.seconds) for system in rank([paid, free, half])}
    assert costs == {"paid": (44.0, 2.0), "free": (None, None), "half": (40.0, 0.0)}


RULES = """
import dspy

def rules(text):
    return {"label": text[:1]}

def asks(text):
    return dspy.Predict("text -> label")(text=text)

def raises(text):
    raise ValueError("no labels in this file")

def metric(gold, pred):
    return gold.label == pred["label"]
"""


def test_a_function_that_calls_no_model_runs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.py").write_text(RULES)
    Path("gold.jsonl").write_text("".join(f'{{"id": {n}, "text": "{"ab"[n % 2]}", "label": "a"}}\n' for n in range(8)))
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda name: dspy.utils.DummyLM([{"label": "a"}] * 8))
    call = ["compare", "rules.py:rules", "--gold", "gold.jsonl", "--lm", "x/one", "--lm", "x/two", "--json"]
    done = CliRunner().invoke(app, [*call, "--program", "rules.py:asks"])
    assert done.exit_code == 0, done.exception
    names = [run["name"].partition(" ")[0] for run in json.loads(done.stdout)["runs"]]
    assert names == ["rules-asks", "rules-asks", "rules-rules"]
    assert "rules-rules called no model: it was run once, not with each" in done.stderr
    alone = CliRunner().invoke(app, call)
    assert "rules-rules on dummy is the only system: add --program" in str(alone.exception)


def test_a_program_that_fails_on_every_example_is_shown_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.py").write_text(RULES)
    Path("gold.jsonl").write_text("".join(f'{{"id": {n}, "text": "{"ab"[n % 2]}", "label": "a"}}\n' for n in range(8)))
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda name: dspy.utils.DummyLM([{"label": "a"}] * 16))
    call = ["compare", "rules.py:rules", "--gold", "gold.jsonl", "--lm", "x/one", "--lm", "x/two", "--margin", ".3"]
    done = CliRunner().invoke(app, [*call, "--program", "rules.py:raises", "--program", "rules.py:asks"])
    assert done.exit_code == 0, done.exception
    assert "failed on every example; the first error: ValueError: no labels in this file" in done.stdout
    assert "The best by the metric is" in done.stdout


def test_of_dearer_programs_nothing_is_asked() -> None:
    examples = [dspy.Example(a=n, b=n).with_inputs("a") for n in range(8)]
    good = evaluate(lambda a: {"b": a}, examples, lambda gold, pred: gold.b == pred.b, name="good")
    bad = evaluate(lambda a: {"b": a and 1}, examples, lambda gold, pred: gold.b == pred.b, name="bad")
    near = evaluate(lambda a: {"b": min(a, 6)}, examples, lambda gold, pred: gold.b == pred.b, name="near")
    costs: dict[str, Any] = {"calls": 8, "cached": 0, "prompt_tokens": 80, "completion_tokens": 0, "seconds": 1.0}
    dear, cheap = ({**costs, "prompt_tokens": tokens} for tokens in (160, 40))
    runs = [replace(run, head=replace(run.head, cost=cost)) for run, cost in ((good, costs), (near, dear), (bad, dear))]
    assert recommend(runs, 0.2).sentences[1] == "None is cheaper."
    runs[1] = replace(near, head=replace(near.head, cost=cheap))
    needed = recommend(runs, 0.2).tests[1].needed
    line = "No cheaper one is shown to be within 0.2 of it"
    assert recommend(runs, 0.2).sentences[1] == f"{line}: about {needed} examples would settle it for near."
    runs[1] = replace(bad, head=replace(bad.head, cost=cheap))
    assert recommend(runs, 0.2).sentences[1] == f"{line}."


@pytest.mark.parametrize("words", [["two.py", "two.py:program", "two.py:other"], ["two.py", "other", "program"]])
def test_a_program_that_is_named_twice_is_listed_once(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    functions = "".join(f"def {name}(q):\n    return '{name}'\n" for name in ("program", "other"))
    Path("two.py").write_text(f"{functions}def metric(gold, pred):\n    return gold.a == pred\n")
    Path("gold.csv").write_text("q,a\n1,other\n2,other\n")
    programs = ["--program", words[1], "--program", words[2]]
    done = CliRunner().invoke(app, ["compare", words[0], *programs, "--gold", "gold.csv", "--json"])
    values = {run["name"]: run["values"]["score"] for run in json.loads(done.stdout)["runs"]}
    assert values == {"two": 0.0, "two-other": 1.0}


def test_a_file_whose_programs_have_names_needs_none_called_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    functions = "".join(f"def {name}(q):\n    return '{name}'\n" for name in ("first", "other"))
    Path("two.py").write_text(f"{functions}def metric(gold, pred):\n    return gold.a == pred\n")
    Path("gold.csv").write_text("q,a\n1,other\n2,other\n")
    words = ["compare", "two.py", "--program", "first", "--program", "other", "--gold", "gold.csv", "--out", "ranks"]
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, "errors by type" in done.stdout) == (0, False)
    assert "The best by the metric is two-other" in done.stdout


def test_the_best_is_not_tested_against_itself() -> None:
    examples = [dspy.Example(id=str(n), a=n, b=n).with_inputs("a") for n in range(60)]
    answers = {"good": lambda a: {"b": a}, "bad": lambda a: {"b": a and 1}}
    runs = []
    for tokens, (name, program) in zip((80, 40), answers.items(), strict=True):
        run = evaluate(program, examples, lambda gold, pred: gold.b == pred.b, name=name)
        cost: dict[str, Any] = {
            "calls": 60,
            "cached": 0,
            "prompt_tokens": tokens,
            "completion_tokens": 0,
            "seconds": 1.0,
        }
        runs.append(replace(run, head=replace(run.head, cost=cost)))
    advice = recommend(runs, 0.2)
    assert advice.cheapest == advice.best
    assert advice.sentences[1].startswith("No cheaper one is shown to be within 0.2 of it")

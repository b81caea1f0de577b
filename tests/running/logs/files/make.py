"""Writes the logs beside this file with the tools themselves: ``python make.py inspect``, ``dspy``, ``deepeval`` …

Each tool in an environment of its own (`.ci/interop` makes one). No model is called: answers are fixed. What names the
machine (paths in tracebacks) and what no reader needs (events, messages) is left out of the JSON files.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CAPITALS = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Norway": "Oslo", "Peru": "Lima", "Cuba": "Havana"}
SYSTEMS = {
    "good": {**CAPITALS, "Cuba": "Cuba"},
    "bad": {**CAPITALS, "Italy": "Milan", "Spain": "Barcelona", "Cuba": "Cuba"},
}
BROKEN = "Peru"  # the bad system raises an error there


def document(country: str) -> str:
    """The documents of the examples: two countries each."""
    return f"atlas {list(CAPITALS).index(country) // 2 + 1}"


def slim(value: Any, dropped: set[str]) -> Any:
    """JSON without some keys."""
    if isinstance(value, dict):
        return {key: slim(inner, dropped) for key, inner in value.items() if key not in dropped}
    return [slim(inner, dropped) for inner in value] if isinstance(value, list) else value


def write(name: str, value: Any, *dropped: str) -> None:
    """One of the files, without what is dropped."""
    (HERE / name).write_text(json.dumps(slim(value, set(dropped)), ensure_ascii=False) + "\n", encoding="utf-8")


def inspect() -> None:
    """An ``.eval`` of two epochs with two scorers and two reducers, and a ``.json`` with a failed sample."""
    import inspect_ai
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score, accuracy, match, mean, scorer, stderr
    from inspect_ai.solver import solver

    @solver
    def answer(system: str, broken: bool) -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            country = state.metadata["country"]
            if broken and country == BROKEN:
                raise ValueError("no answer")
            right = state.epoch == 1 or country != "France"
            text = SYSTEMS[system][country] if right else "Lyon"
            state.output = ModelOutput.from_content("mockllm/model", text)
            return state

        return solve

    @scorer(metrics={"partly": [accuracy(), stderr()], "length": [mean()]})
    def both() -> Any:
        async def score(state: Any, target: Any) -> Any:
            text = state.output.completion
            partly = "C" if text == target.text else "P" if text[0] == target.text[0] else "I"
            return Score(value={"partly": partly, "length": len(text)}, explanation=f"{len(text)} letters")

        return score

    rows = [
        Sample(id=at, input=f"Capital of {c}?", target=t, metadata={"document": document(c), "country": c})
        for at, (c, t) in enumerate(CAPITALS.items(), 1)
    ]

    def run(system: str, broken: bool, form: Any, **more: Any) -> Path:
        task = Task(dataset=rows, solver=answer(system, broken), scorer=[match(), both()], name=f"capitals-{system}")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            options = {"display": "none", "log_format": form, "log_dir": "logs", "fail_on_error": False}
            (log,) = inspect_ai.eval(task, model="mockllm/model", **options, **more)
            shutil.copy(log.location.removeprefix("file://"), HERE / f"inspect_{system}.{form}")
        return HERE / f"inspect_{system}.{form}"

    run("good", False, "eval", epochs=2)
    file = run("bad", True, "json")
    write(file.name, json.loads(file.read_bytes()), "events", "messages", "traceback", "traceback_ansi", "events_data")
    from inspect_ai import Epochs

    file = run("good", False, "json", epochs=Epochs(2, ["mean", "mode", "at_least_1"]))
    write("inspect_reduced.json", json.loads(file.read_bytes()), "events", "messages", "events_data")
    file.unlink()


def dspy() -> None:
    """``dspy.Evaluate`` with ``save_as_json`` and ``save_as_csv``; the bad system fails on an example."""
    import dspy

    class Answer(dspy.Module):
        def __init__(self, system: str, broken: bool) -> None:
            super().__init__()
            self.answers, self.broken = SYSTEMS[system], broken

        def forward(self, country: str) -> Any:
            if self.broken and country == BROKEN:
                raise ValueError("no answer")
            return dspy.Prediction(capital=self.answers[country], reasoning="known")

    def exact(gold: Any, pred: Any, trace: Any = None) -> bool:
        return bool(gold.capital == pred.capital)

    def length(gold: Any, pred: Any, trace: Any = None) -> float:
        return 1 - abs(len(gold.capital) - len(pred.capital)) / 10

    devset = [
        dspy.Example(country=c, capital=t, document=document(c)).with_inputs("country") for c, t in CAPITALS.items()
    ]
    for system, broken, metric in (("good", False, exact), ("bad", True, exact), ("good", False, length)):
        evaluate = dspy.Evaluate(devset=devset, metric=metric, num_threads=1)
        name = str(HERE / f"dspy_{system}") + ("_length" if metric is length else "")
        more = {} if broken else {"save_as_csv": f"{name}.csv"}
        print(name, evaluate(Answer(system, broken), save_as_json=f"{name}.json", **more).score)


if __name__ == "__main__":
    globals()[sys.argv[1]]()

"""A model that answers no more ends whatever asks it by one rule: few calls, exit code 3, and how to go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import dspy
import pytest
from tests.nightly import by_day
from typer.testing import CliRunner

from goldassay import Metric
from goldassay._support.exceptions import RunStopped
from goldassay.cli import app
from goldassay.ext.labelling.proof import plan_labels, prove_by_labels
from goldassay.measures import extraction
from goldassay.running.evaluate import evaluate
from goldassay.tuning import TuneOptions, tune
from goldassay.tuning.audit import prove
from goldassay.workspace import target

pytestmark = pytest.mark.filterwarnings("ignore:the program has failed on every example")
METRIC = Metric(extraction.SpanF1())
FEW = 40  # calls, with those in flight


class Years(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.find = dspy.Predict("text -> years: list[str]")

    def forward(self, text: str) -> Any:
        years = self.find(text=text).years
        return dspy.Prediction(entities=[(text.find(year), text.find(year) + 4, "TMP") for year in years])


def examples(n: int, start: int = 0) -> list[Any]:
    texts = [f"{sha256(str(start + i).encode()).hexdigest()[:40]} 1885" for i in range(n)]  # none is like another
    spans = [(text.index("1885"), len(text), "TMP") for text in texts]
    return [
        dspy.Example(id=text, text=text, entities=[span]).with_inputs("text")
        for text, span in zip(texts, spans, strict=True)
    ]


def model(endpoint: Any) -> Any:
    return dspy.LM("openai/m", api_base=endpoint.url, api_key="sk-chaos-1", num_retries=0, timeout=5.0, cache=False)


def found(messages: list[dict[str, str]]) -> str:
    return '[[ ## years ## ]]\n["1885"]\n\n[[ ## completed ## ]]'


def dies_after(endpoint: Any, calls: int) -> None:
    def reply(messages: list[dict[str, str]]) -> str:
        if endpoint.calls >= calls:
            endpoint.mode = "500"
        return found(messages)

    endpoint.reply = reply


def tuned(lm: Any, folder: Path, metric: Any = METRIC, optimizer: str = "bootstrap") -> object:
    splits = {"train": examples(80), "dev": examples(60, 100), "test": examples(40, 200)}
    return tune(Years(), splits, metric, optimizer, lm=lm, folder=folder, threads=4, progress=False)


def proven(lm: Any, folder: Path, metric: Any = METRIC) -> object:
    options = TuneOptions(lm=lm, folder=folder, threads=4, progress=False)
    return prove(Years(), Years(), examples(100), metric, options)


def measured(lm: Any, folder: Path, metric: Any = METRIC) -> object:
    return evaluate(Years(), examples(100), metric, lm=lm, folder=folder, threads=4, progress=False)


def drafted(lm: Any, folder: Path) -> object:
    options = TuneOptions(lm=lm, folder=folder, threads=4, progress=False)
    return plan_labels("extraction", {"before": Years(), "after": Years()}, examples(100), options)


@pytest.mark.parametrize("work", [proven, drafted])
def test_what_stops_outside_of_a_tuning_says_how_to_resume(
    endpoint: Any, tmp_path: Path, work: Callable[..., object]
) -> None:
    endpoint.mode = "500"
    with pytest.raises(RunStopped, match=rf"; fix it and resume with `resume={tmp_path}/r`$"):
        work(model(endpoint), tmp_path / "r")
    assert endpoint.calls < FEW


def test_what_goes_on_by_itself_names_no_option(endpoint: Any, tmp_path: Path) -> None:
    endpoint.mode = "500"
    (tmp_path / "inputs.jsonl").write_text("".join(f'{{"id": "{n}", "text": "{n}"}}\n' for n in range(100)))
    options = TuneOptions(lm=model(endpoint), threads=4, progress=False)
    programs = {"before": Years(), "after": Years()}
    with pytest.raises(RunStopped, match="gives no answer.*; fix it and the same call continues$"):
        prove_by_labels(
            target("extraction"), programs, tmp_path / "d.jsonl", tmp_path / "inputs.jsonl", options, page=False
        )


WORKS: dict[str, Callable[..., object]] = {
    "bootstrap": tuned,
    "patches": partial(tuned, optimizer="patches"),
    "proof": proven,
}


@pytest.mark.parametrize(
    ("mode", "work"),
    [
        pytest.param(mode, work, marks=() if place == number else pytest.mark.nightly)
        for place, mode in enumerate(("500", "wrong key", "404"))
        for number, work in enumerate(WORKS)
    ],
)
def test_tuning_and_audit_end_after_a_few_calls(endpoint: Any, tmp_path: Path, mode: str, work: str) -> None:
    endpoint.mode = mode
    with pytest.raises(RunStopped, match="a model gives no answer: .*openai/m"):
        WORKS[work](model(endpoint), tmp_path / "r")
    assert endpoint.calls < FEW


@pytest.mark.parametrize("work", [measured, *WORKS.values()], ids=["run", *WORKS])
def test_a_metric_whose_own_model_is_dead_ends_it_although_the_program_answers(
    endpoint: Any, tmp_path: Path, work: Callable[..., object]
) -> None:
    endpoint.reply = found
    judge = dspy.LM("openai/judge", api_base="http://127.0.0.1:9/v1", api_key="none", num_retries=0, cache=False)

    def metric(gold: Any, pred: Any, trace: object = None) -> float:
        try:
            with dspy.context(lm=judge):
                return float(dspy.Predict("text -> right: bool")(text=gold.text).right)
        except Exception:
            return 0.5

    with pytest.raises(RunStopped, match="a model gives no answer: .*openai/judge"):
        work(model(endpoint), tmp_path / "r", metric=metric)
    assert endpoint.calls < FEW


def test_a_program_that_falls_back_to_another_model_runs_on(endpoint: Any) -> None:
    endpoint.reply = found
    dead = dspy.LM("openai/first", api_base="http://127.0.0.1:9/v1", api_key="none", num_retries=0, cache=False)

    class Careful(Years):
        def forward(self, text: str) -> Any:
            try:
                with dspy.context(lm=dead):
                    return super().forward(text)
            except Exception:
                return super().forward(text)

    assert evaluate(Careful(), examples(14), METRIC, lm=model(endpoint), progress=False).value == 1
    assert endpoint.calls == 14


@pytest.mark.parametrize("work", WORKS)
def test_a_model_that_never_says_anything_is_dead(endpoint: Any, tmp_path: Path, work: str) -> None:
    endpoint.reply = lambda messages: ""
    with pytest.raises(RunStopped, match="a model gives no answer: openai/m: its answers are empty"):
        WORKS[work](model(endpoint), tmp_path / "r")
    assert endpoint.calls < FEW


def test_empty_answers_among_others_are_answers(endpoint: Any, tmp_path: Path) -> None:
    endpoint.reply = lambda messages: found(messages) if endpoint.calls < 30 else ""
    run = evaluate(Years(), examples(80), METRIC, lm=model(endpoint), threads=4, max_failures=1.0, progress=False)
    assert (run.head.status, len(run.rows), run.failed > 40) == ("finished", 80, True)


def test_a_program_to_which_an_empty_answer_says_something_runs_on(endpoint: Any) -> None:
    class Silence(dspy.Module):  # type: ignore[misc]
        def forward(self, text: str) -> Any:
            faults = dspy.settings.lm(f"Which faults has {text}?")
            return dspy.Prediction(entities=[] if faults == [""] else [(0, 1, "FAULT")])

    endpoint.reply = lambda messages: ""
    run = evaluate(Silence(), examples(30), METRIC, lm=model(endpoint), progress=False)
    assert (run.head.status, len(run.rows), run.failed) == ("finished", 30, 0)


def test_a_tuning_ends_when_its_model_dies_later(endpoint: Any, tmp_path: Path) -> None:
    dies_after(endpoint, 30)
    with pytest.raises(RunStopped, match="gives no answer"):
        tuned(model(endpoint), tmp_path / "r")
    assert endpoint.calls < 30 + FEW


@pytest.mark.parametrize(("size", "rows"), [(120, 90), (78, 78)])
def test_a_run_whose_model_dies_late_is_resumed(endpoint: Any, tmp_path: Path, size: int, rows: int) -> None:
    dies_after(endpoint, 70)
    folder = tmp_path / "r"
    options: dict[str, Any] = {"lm": model(endpoint), "threads": 4, "progress": False}
    with pytest.raises(RunStopped, match=f"gives no answer.*resume={folder}") as stopped:
        evaluate(Years(), examples(size), METRIC, folder=folder, **options)
    run: Any = stopped.value.run
    assert (70 <= len(run.rows) <= rows, run.head.status) == (True, "stopped")
    endpoint.mode, endpoint.reply = "well", found
    whole = evaluate(Years(), examples(size), METRIC, resume=folder, **options)
    assert (len(whole.rows), whole.value, whole.head.status) == (size, 1.0, "finished")


def test_one_call_without_an_answer_at_the_end_is_one_failed_row(endpoint: Any) -> None:
    dies_after(endpoint, 29)
    run = evaluate(dspy.Predict("text -> years: list[str]"), examples(30), lambda *_: 1.0, lm=model(endpoint))
    assert run.failed == 1


def write_models(endpoint: Any) -> None:
    about = {"model": "openai/m", "api_base": endpoint.url, "api_key": "sk-chaos-1", "num_retries": 0, "cache": False}
    Path("models.yaml").write_text(json.dumps({"ours": about, "theirs": about}))


READER = """
import dspy

class Reader(dspy.Module):
    def __init__(self):
        super().__init__()
        self.read = dspy.Predict("question -> answer")

    def index(self, passages):
        return self

    def search(self, question):
        return [{"text": "a passage"}]

    def forward(self, question):
        return self.read(question=question)

program = Reader()
"""


@pytest.mark.parametrize("mode", by_day(("500", "wrong key"), "500"))
def test_the_ranking_by_five_ends_after_a_few_calls(
    endpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    endpoint.mode = mode
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(READER)
    rows = [{"id": str(i), "question": f"When was {i}?", "answers": ["1885"]} for i in range(80)]
    Path("gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    write_models(endpoint)
    words = ["compare", "answering", "--metric", "five", "--program", "program.py", "--gold", "gold.jsonl"]
    done = CliRunner().invoke(app, [*words, "--lm", "models.yaml:ours", "--lm", "models.yaml:theirs"])
    assert isinstance(done.exception, RunStopped), done.output
    assert "gives no answer" in str(done.exception)
    assert str(done.exception).endswith("; the same command asks what ranking has not cached")
    assert endpoint.calls < FEW


def test_compare_ends_and_says_where_its_runs_are(
    endpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.mode = "500"
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text('import dspy\nprogram = dspy.Predict("text -> entities: list[str]")\n')
    rows = [{"id": str(i), "text": f"text {i}", "entities": []} for i in range(80)]
    Path("gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    write_models(endpoint)
    words = ["compare", "extraction", "--program", "program.py", "--gold", "gold.jsonl"]
    done = CliRunner().invoke(app, [*words, "--lm", "models.yaml:ours", "--lm", "models.yaml:theirs"])
    assert isinstance(done.exception, RunStopped), done.output
    assert str(done.exception).endswith("; continue with the same command and --resume ranking")
    assert endpoint.calls < FEW

"""Writes the logs beside this file with the tools themselves: ``python make.py inspect [FOLDER]``, ``dspy`` …

Each tool in an environment of its own (`.ci/interop` makes one). No model is called: answers are fixed. What names the
machine (paths in tracebacks) and what no reader needs (events, messages) is left out of the JSON files.
"""

# mypy: ignore-errors
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(sys.argv[2] if len(sys.argv) > 2 else __file__ + "/..").resolve()
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
    """An ``.eval`` of two epochs with two scorers, and a ``.json`` with a failed sample."""
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
            file = Path(log.location.removeprefix("file://"))
            if form == "eval" and len(sys.argv) < 3:  # Zstandard is for `make interop`; until 2025 it was this
                with zipfile.ZipFile(file) as old, zipfile.ZipFile("log.eval", "w", zipfile.ZIP_DEFLATED) as new:
                    for name in old.namelist():
                        new.writestr(name, old.read(name))
                file = Path("log.eval")
            shutil.copy(file, HERE / f"inspect_{system}.{form}")
        return HERE / f"inspect_{system}.{form}"

    run("good", False, "eval", epochs=2)
    file = run("bad", True, "json")
    write(file.name, json.loads(file.read_bytes()), "events", "messages", "traceback", "traceback_ansi", "events_data")


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


def deepeval() -> None:
    """A test run as ``evaluate`` saves it, and its result; a metric fails on a case, another is better when lower."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_RESULTS_FOLDER": "saved"}
        from deepeval import evaluate
        from deepeval.evaluate.configs import AsyncConfig, DisplayConfig, ErrorConfig
        from deepeval.metrics import BaseMetric, ExactMatchMetric
        from deepeval.test_case import LLMTestCase

        class Function(BaseMetric):
            def __init__(self, name: str, function: Any, lower: bool = False) -> None:
                self.name, self.function, self.lower, self.threshold = name, function, lower, 0.5
                self.async_mode, self.include_reason, self.evaluation_model, self.error = False, True, None, None

            def measure(self, case: Any, *_: Any, **__: Any) -> float:
                self.score = self.function(case.actual_output)
                self.success = self.score <= self.threshold if self.lower else self.score >= self.threshold
                self.reason = f"{len(case.actual_output)} letters"
                return self.score

            async def a_measure(self, case: Any, *_: Any, **__: Any) -> float:
                return self.measure(case)

            def is_successful(self) -> bool:
                return bool(self.success)

            @property
            def __name__(self) -> str:
                return self.name

        def brevity(text: str) -> float:
            if text == BROKEN:
                raise ValueError("no letters")
            return 1 - len(text) / 10

        for system, answers in SYSTEMS.items():
            cases = [
                LLMTestCase(
                    input=f"Capital of {c}?",
                    actual_output=BROKEN if system == "bad" and c == BROKEN else answers[c],
                    expected_output=t,
                    metadata={"document": document(c)},
                    name=f"capital of {c}",
                )
                for c, t in CAPITALS.items()
            ]
            metrics = [ExactMatchMetric(), Function("Brevity", brevity)]
            metrics += [Function("Length", lambda text: len(text) / 10, lower=True)]
            result = evaluate(
                cases,
                metrics,
                hyperparameters={"model": f"the {system} one"},
                display_config=DisplayConfig(show_indicator=False, print_results=False),
                async_config=AsyncConfig(run_async=False),
                error_config=ErrorConfig(ignore_errors=True),
            )
            if system == "bad":
                write("deepeval_bad_result.json", json.loads(result.model_dump_json()), "verbose_logs")
            (file,) = Path("saved").glob("*.json")
            write(f"deepeval_{system}.json", json.loads(file.read_bytes()))
            file.unlink()


def mlflow() -> None:
    """Traces of two runs of ``mlflow.genai.evaluate`` in one file, a run's data frame, and a table of ``evaluate``."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
        import mlflow
        import pandas
        from mlflow.entities import Feedback
        from mlflow.genai.scorers import scorer
        from mlflow.metrics import MetricValue

        mlflow.set_tracking_uri("sqlite:///mlflow.db")
        mlflow.set_experiment("capitals")

        @scorer
        def exact(outputs: Any, expectations: Any) -> bool:
            return bool(outputs == expectations["capital"])

        @scorer
        def grade(outputs: Any, expectations: Any) -> str:
            return "yes" if outputs == expectations["capital"] else "no"

        @scorer
        def brevity(outputs: Any) -> Any:
            return Feedback(value=1 - len(outputs) / 10, rationale=f"{len(outputs)} letters")

        def answering(system: str) -> Any:
            def answer(country: str) -> str:
                if system == "bad" and country == BROKEN:
                    raise ValueError("no answer")
                return SYSTEMS[system][country]

            return answer

        data = [
            {"inputs": {"country": c}, "expectations": {"capital": t}, "tags": {"document": document(c)}}
            for c, t in CAPITALS.items()
        ]
        private = [f"mlflow.{name}" for name in ("artifactLocation", "user", "trace.sizeStats", "trace.sizeBytes")]
        private += [f"mlflow.source.{name}" for name in ("name", "type", "git.repoURL", "git.commit", "git.branch")]
        private += [f"mlflow.{name}" for name in ("assessment.scorerDigest", "spanFunctionName", "eval.requestId")]
        private += ["trace", "stack_trace", "source", "events", "links", "assessment_id", "create_time"]
        private += ["last_update_time", "span_id"]
        traces: list[Any] = []
        for system in SYSTEMS:
            result = mlflow.genai.evaluate(data=data, predict_fn=answering(system), scorers=[exact, grade, brevity])  # pyright: ignore[reportPrivateImportUsage]
            print(system, {name: float(value) for name, value in result.metrics.items()})
            found = mlflow.search_traces(run_id=result.run_id, return_type="list")
            traces += [json.loads(trace.to_json()) for trace in found]
        frame = json.loads(mlflow.search_traces(run_id=result.run_id).to_json(orient="records"))
        write("mlflow_bad_frame.json", frame, "spans", *private)
        write("mlflow_traces.json", traces, *private)
        rows = pandas.DataFrame(
            {
                "inputs": [f"Capital of {c}?" for c in CAPITALS],
                "targets": list(CAPITALS.values()),
                "outputs": list(SYSTEMS["bad"].values()),
                "document": [document(c) for c in CAPITALS],
            }
        )

        def equal(predictions: Any, targets: Any, metrics: Any = None) -> Any:
            scores = [float(a == b) for a, b in zip(predictions, targets, strict=True)]
            return MetricValue(scores=scores, aggregate_results={"mean": sum(scores) / len(scores)})

        metric = mlflow.models.make_metric(eval_fn=equal, greater_is_better=True, name="equal")  # pyright: ignore[reportPrivateImportUsage]
        with mlflow.start_run() as run:
            options = {"targets": "targets", "predictions": "outputs", "evaluators": "default"}
            result = mlflow.models.evaluate(data=rows, extra_metrics=[metric], **options)  # pyright: ignore[reportPrivateImportUsage]
            print("table", result.metrics)
            mlflow.artifacts.download_artifacts(run_id=run.info.run_id, dst_path="out")  # pyright: ignore[reportPrivateImportUsage]
        shutil.copy("out/eval_results_table.json", HERE / "mlflow_table.json")


PROVIDER = """
const answers = SYSTEMS;
module.exports = class {
  constructor(options) { this.system = options.config.system; }
  id() { return 'fixed'; }
  async callApi(prompt, context) {
    const country = context.vars.country;
    if (this.system === 'bad' && country === 'BROKEN') return { error: 'no answer' };
    const answer = answers[this.system][country];
    const output = prompt.startsWith('What') ? `It is ${answer}` : answer;
    return { output, tokenUsage: { total: 12, prompt: 9, completion: 3 } };
  }
};
"""


def promptfoo() -> None:
    """Two prompts with two providers, each test twice; ``PROMPTFOO`` is the program."""
    config = {
        "prompts": ["Capital of {{country}}?", "What is the capital of {{country}}?"],
        "providers": [
            {"id": "file://provider.js", "label": system, "config": {"system": system}} for system in SYSTEMS
        ],
        "defaultTest": {
            "assert": [
                {"type": "icontains", "value": "{{capital}}", "metric": "names it"},
                {"type": "javascript", "value": "Math.max(0, 1 - output.length / 20)", "metric": "short"},
            ]
        },
        "tests": [
            {"vars": {"country": c, "capital": t}, "metadata": {"document": document(c)}} for c, t in CAPITALS.items()
        ],
    }
    with tempfile.TemporaryDirectory() as folder:
        code = PROVIDER.replace("SYSTEMS", json.dumps(SYSTEMS)).replace("BROKEN", BROKEN)
        Path(folder, "provider.js").write_text(code)
        Path(folder, "promptfooconfig.json").write_text(json.dumps(config))
        names = ("TELEMETRY", "UPDATE", "REMOTE_GENERATION")
        more = {f"PROMPTFOO_DISABLE_{name}": "1" for name in names} | {"PROMPTFOO_CONFIG_DIR": folder}
        words = ["eval", "-c", "promptfooconfig.json", "-o", "out.json", "--no-cache", "--no-table", "--repeat", "2"]
        subprocess.run([os.environ["PROMPTFOO"], *words], cwd=folder, env=os.environ | more, check=False)
        log = json.loads(Path(folder, "out.json").read_bytes())
    dropped = ["config", "completionDetails", "assertions", "assertion", "tokensUsed", "assert", "runtimeOptions"]
    dropped += ["promptId", "_promptfooFileMetadata", "options", "numRequests", "cost", "namedScoreWeights"]
    write("promptfoo.json", log, *dropped, "componentResults")


if __name__ == "__main__":
    globals()[sys.argv[1]]()

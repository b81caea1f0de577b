"""``goldassay eval``: run a program over a gold set and measure it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from goldassay import workspace
from goldassay._support import options as use
from goldassay._support.exceptions import GoldassayError
from goldassay.cli.options import GoldOptions, WorkOptions, interruptible, resume_line
from goldassay.core.fields import Fields, JsonObject
from goldassay.core.measure import RAISED
from goldassay.core.metric import Metric
from goldassay.judges.judge import Judge, named
from goldassay.judges.labels import read_run_labels
from goldassay.models.lm import for_program
from goldassay.reporting import terminal, tuning
from goldassay.running.evaluate import evaluate as evaluate_program
from goldassay.running.folder import new_folder, run_at
from goldassay.running.gates import gates as gates_of
from goldassay.tuning.patterns import find
from goldassay.tuning.saved import state_names
from goldassay.tuning.systems import examples, prepared


@dataclass(frozen=True)
class ModelOptions:
    """The models, and a tuned state of the program."""

    lm: use.Lm = None
    state: use.State = None
    judge_lm: use.JudgeLm = None

    def metric(self, task: str | workspace.Target, place: str | None, folder: Path) -> tuple[Metric, Judge | None]:
        """The metric of a task, and the judge that it asks; the judge's verdicts are stored in the folder."""
        if self.judge_lm is None:
            return workspace.metric(task, place), None
        options: Fields = {"cache": False} if "cache=false" in (self.lm or "").split(",") else {}
        judge = named(self.judge_lm, verdicts=folder / "verdicts.jsonl", **options)
        return workspace.judged(task, judge, place), judge


@dataclass(frozen=True)
class RunningOptions(WorkOptions):
    """How a run is made."""

    engine: Annotated[
        str, use.for_running("threads|ray[:N]", "threads, or N Ray actors (the cluster is RAY_ADDRESS).")
    ] = "threads"
    timeout: float | None = None
    max_failures: Annotated[
        float, use.for_running("SHARE", "Stop if more fail (after 20); 1 never stops.", min=0, max=1)
    ] = 0.5


@dataclass(frozen=True)
class ResultOptions:
    """Where a run goes, and what is shown of it."""

    runs: Annotated[Path, use.for_result("FOLDER", "The folder for run folders.")] = Path("runs")
    judge_labels: Annotated[
        Path | None, use.for_result("FILE", "Human labels (id, label) that correct the judged values.")
    ] = None
    no_trace: Annotated[bool, use.flag("Leave inputs, gold, prompts, raw answers and steps out of the rows.")] = False
    gate: Annotated[bool, use.flag("Exit with status 1 if a target is missed.")] = False
    errors: Annotated[bool, use.flag("Show the error patterns, most costly first (as patch patterns RUN).")] = False
    sure: Annotated[bool, use.flag("Let --gate pass only if the interval does, corrected for repeated looks.")] = False


def evaluate(
    program: use.Name,
    source: GoldOptions,
    models: ModelOptions,
    running: RunningOptions,
    result: ResultOptions,
    split: str = "dev",
    json: bool = False,
    seed: int = 0,
) -> None:
    """Run a program over a gold set and measure it.

    Exit status 1 if the metric raises on some examples, 3 if the run stops early, as it does if it raises on all.
    """
    if result.sure and not result.gate:
        raise GoldassayError("--sure needs --gate")
    target = workspace.target(program, source.task)
    data = examples(source.gold, target, split, **source.reading())
    module = prepared(target, data, models.state)
    model = for_program(module, models.lm, target.file)
    label = target.slug + (f"-{state_names([models.state])[0]}" if models.state else "")
    engine = re.fullmatch("(threads)|(ray)(:[1-9][0-9]*)?", running.engine)
    if not engine:
        raise GoldassayError(
            f"--engine expects threads, ray or ray:16 (threads are --threads N), got {running.engine!r}"
        )
    options = vars(running) | {"engine": engine[1] or engine[2], "workers": int(engine[3][1:]) if engine[3] else None}
    options |= {"seed": seed, "trace": not result.no_trace, "name": label, "lm": model.lm, "adapter": model.adapter}
    chosen = data.examples[: source.limit]
    with run_folder(running.resume, result.runs, label, model.name) as folder:
        metric, judge = models.metric(target, source.metric, folder)
        if result.judge_labels:
            options["judge_labels"] = read_run_labels(result.judge_labels, metric)
        settings = {"program": program, "gold": data.name, "split": split, "limit": source.limit, "lm": model.name}
        extras = {"state": models.state, "judge": judge}
        options["settings"] = settings | {name: str(value) for name, value in extras.items() if value}
        options["resume" if running.resume else "folder"] = folder
        run = evaluate_program(module, chosen, metric, **options)
    gates = gates_of(run, result.runs) if result.sure else {}
    patterns = find(run.cases) if result.errors else []
    if judge is not None and judge.warning:
        terminal.warn(judge.warning)
    if json:
        more: JsonObject = {"patterns": [pattern.state() for pattern in patterns]} if result.errors else {}
        more |= {"gates": {key: asdict(gate) for key, gate in gates.items()}} if gates else {}
        terminal.answer(run.summary() | more)
    else:
        terminal.show(run.view() + (tuning.patterns(patterns) if result.errors else []))
        if judge is not None:
            terminal.line(f"Judge {judge}: {judge.calls} calls, {judge.tokens} tokens.")
        for key, gate in gates.items():
            terminal.line(f"{key}, look {gate.look} at this gold: {gate}")
    passed = metric.met(run.values).values() if not result.sure else [g.verdict == "pass" for g in gates.values()]
    metric_raised = any(text.startswith(RAISED) for text in run.warnings)
    if metric_raised or (result.gate and not all(passed)):
        raise SystemExit(1)


@contextmanager
def run_folder(resume: Path | None, runs: Path, label: str, model: str | None) -> Iterator[Path]:
    """The folder of a run: an interrupted run says how to continue, and a wrong call leaves no folder behind."""
    folder = run_at(resume, runs) if resume else new_folder(runs, label, model)
    try:
        with interruptible(resume_line(folder)):
            yield folder
    finally:
        with suppress(OSError):
            folder.rmdir()  # still empty: nothing was run

"""``goldassay eval``: run a program over a gold set and measure it, as a whole or stage by stage."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goldassay import files, workspace
from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError
from goldassay.fields import Fields
from goldassay.measure import RAISED
from goldassay.reporting import terminal, tuning

if TYPE_CHECKING:
    import dspy

    from goldassay.judges.judge import Judge
    from goldassay.metric import Metric
    from goldassay.running import Run


@dataclass(frozen=True)
class RunningOptions(use.WorkOptions):
    """How a run is made."""

    engine: str = use.for_running(
        "threads|ray[:N]", "threads, or N Ray actors (the cluster is RAY_ADDRESS).", default="threads"
    )
    timeout: float | None = use.for_running("SECONDS", "The time limit of one example.")
    max_failures: float = use.for_running(
        "SHARE", "Stop if more fail (after 20); 1 never stops.", min=0, max=1, default=0.5
    )

    def run_options(self) -> Fields:
        """The fields of `goldassay.running.RunOptions` that the command line sets.

        Raises:
            GoldassayError: The engine is neither threads nor ray.
        """
        match = re.fullmatch("(threads)|(ray)(:[1-9][0-9]*)?", self.engine)
        if not match:
            raise GoldassayError(
                f"--engine expects threads, ray or ray:16 (threads are --threads N), got {self.engine!r}"
            )
        options = {name: value for name, value in vars(self).items() if name != "resume"}
        return options | {"engine": match[1] or match[2], "workers": int(match[3][1:]) if match[3] else None}


@dataclass(frozen=True)
class ResultOptions:
    """Where a run goes, and what is shown of it."""

    runs: Path = use.for_result("FOLDER", "The folder for run folders.", default=Path("runs"))
    judge_labels: Path | None = use.for_result("FILE", "Human labels (id, label) that correct the judged values.")
    no_trace: bool = use.flag("--no-trace", "Leave inputs, gold, prompts and raw answers out of the rows.")
    gate: bool = use.flag("--gate", "Exit with status 1 if a target is missed.")
    sure: bool = use.flag("--sure", "Let --gate pass only if the interval does, corrected for repeated looks.")
    errors: bool = use.flag("--errors", "Show the error patterns, most costly first (as patch patterns RUN).")
    stages: bool = use.flag("--stages", "Replace each stage by gold in turn, to see what each one costs.")


def evaluate(
    program: use.Name,
    source: use.GoldOptions,
    models: use.ModelOptions,
    running: RunningOptions,
    result: ResultOptions,
    split: use.Split = "dev",
    json: bool = False,
    seed: int = 0,
) -> None:
    """Run a program over a gold set and measure it; a metric that raises is exit status 1."""
    from goldassay.lm import for_program
    from goldassay.running.evaluate import evaluate as measure
    from goldassay.running.gates import gates as hold_gates
    from goldassay.systems import examples, prepared
    from goldassay.tuning.saved import state_names

    if result.sure and not result.gate:
        raise GoldassayError("--sure needs --gate")
    target = workspace.target(program, source.task)
    data = examples(source.gold, target, split, **source.reading())
    module = prepared(target, data, models.state)
    model = for_program(module, models.lm)
    label = target.label.replace(":", "-") + (f"-{state_names([models.state])[0]}" if models.state else "")
    options = running.run_options() | {"seed": seed, "trace": not result.no_trace, "name": label}
    options |= {"lm": model.lm, "adapter": model.adapter}
    chosen = data.examples[: source.limit]
    with run_folder(running.resume, result.runs, label, model.name) as folder:
        metric, judge = models.metric(target.task, source.metric, folder)
        if result.stages:
            _stages(module, chosen, metric, options, result.runs / f"{label}-stages.html", json)
            return
        if result.judge_labels:
            from goldassay.judges.labels import read_run_labels

            options["judge_labels"] = read_run_labels(result.judge_labels, metric)
        settings = {"program": program, "gold": data.name, "split": split, "limit": source.limit, "lm": model.name}
        extras = {"state": models.state, "judge": judge}
        options["settings"] = settings | {name: str(value) for name, value in extras.items() if value}
        run = measure(module, chosen, metric, **{**options, "resume" if running.resume else "folder": folder})
    gates = hold_gates(run, result.runs) if result.sure else {}
    _show(run, judge, gates, result.errors, json)
    passed = metric.met(run.values).values() if not result.sure else [g.verdict == "pass" for g in gates.values()]
    metric_raised = any(text.startswith(RAISED) for text in run.warnings)
    if metric_raised or (result.gate and not all(passed)):
        raise SystemExit(1)


@contextmanager
def run_folder(resume: Path | None, runs: Path, label: str, model: str | None) -> Iterator[Path]:
    """The folder of a run: an interrupted run says how to continue, and a wrong call leaves no folder behind."""
    from goldassay.running.folder import new_folder, run_at

    folder = run_at(resume, runs) if resume else new_folder(runs, label, model)
    try:
        yield folder
    except KeyboardInterrupt:
        print(f"continue with the same command and --resume {folder}", file=sys.stderr)
        raise
    finally:
        with suppress(OSError):
            folder.rmdir()  # still empty: nothing was run


def _show(run: Run, judge: Judge | None, gates: Fields, errors: bool, json: bool) -> None:
    from goldassay.reporting import runs as tables
    from goldassay.reporting.verdicts import run_sentence
    from goldassay.tuning.patterns import find

    patterns = find(run.cases) if errors else []
    if judge is not None and judge.warning:
        terminal.warn(judge.warning)
    if json:
        more: Fields = {"patterns": [pattern.state() for pattern in patterns]} if errors else {}
        more |= {"gates": {key: asdict(gate) for key, gate in gates.items()}} if gates else {}
        terminal.answer(run.summary() | more)
        return
    tables.run(run)
    if errors:
        tuning.patterns(patterns)
    if judge is not None:
        terminal.line(f"Judge {judge}: {judge.calls} calls, {judge.tokens} tokens.")
    for key, gate in gates.items():
        terminal.line(f"{key}, look {gate.look} at this gold: {gate}")
    if errors:
        terminal.line(run_sentence(run, run.name))


def _stages(
    module: dspy.Module,
    chosen: Sequence[dspy.Example],
    metric: Metric,
    options: Fields,
    page: Path,
    json: bool,
) -> None:
    """The loss of each stage, printed and as a page."""
    from goldassay.reporting import pages
    from goldassay.reporting import runs as tables
    from goldassay.running.waterfall import waterfall

    names = ("lm", "adapter", "threads", "repeats")
    losses = waterfall(module, chosen, metric, progress=not json, **{name: options[name] for name in names})
    files.save(page, pages.waterfall(losses, str(options["name"])))
    if json:
        terminal.answer({**losses.state(), "page": str(page)})
    else:
        tables.waterfall(losses)
        terminal.echo(f"Written: {page}")

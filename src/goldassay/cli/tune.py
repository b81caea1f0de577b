"""``goldassay tune``: improve a program or a judge, and show by how much and how surely."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError, RunStopped, StorageError
from goldassay.reporting import terminal

if TYPE_CHECKING:
    import dspy

FOR_JUDGES = ("gold", "map", "limit", "lm")  # of the options of programs, those of tune --judge


@dataclass(frozen=True)
class TuningOptions(use.WorkOptions):
    """How a program is tuned."""

    optimizer: str = use.for_running(
        "NAME", "bootstrap, labeled, knn, mipro, simba, copro, inferrules, gepa or patches.", default="bootstrap"
    )
    option: list[str] | None = use.for_running(
        "NAME=VALUE",
        "A setting of the optimizer (repeat): rounds=5; of patches, guarded=recall,f1=.01, the measures that "
        "must not drop (by more).",
    )
    reflection_lm: use.ReflectionLm = None
    repeats: use.Repeats = 1
    out: Path | None = use.for_result("FOLDER", "The folder of the tuned program (default: a new one in runs/).")

    def keywords(self, seed: int) -> dict[str, Any]:
        """The keyword arguments that tuning a program and tuning a judge have in common."""
        from goldassay import lm as models

        reflection = models.resolve(self.reflection_lm) if self.reflection_lm else None
        return {
            "reflection_lm": reflection,
            "budget": self.budget,
            "seed": seed,
            "threads": self.threads,
            "settings": optimizer_settings(self.option or ()),
        }


def tune(
    source: use.GoldOptions,
    models: use.ModelOptions,
    tuning: TuningOptions,
    program: str | None = use.argument("TASK|FILE", "A task, TASK:NAME or FILE:NAME; none with --judge."),
    judge: str | None = use.for_model("NAME|FILE|1-5", "Tune a judge on human labels (--gold) instead."),
    plan: bool = use.flag("--plan", "Only say what can be shown and what it costs, after a pilot on dev."),
    json: bool = False,
    seed: int = 0,
) -> None:
    """Tune a program on train, choose on dev, report once on test."""
    logging.getLogger("dspy").setLevel(logging.ERROR)
    if (program is None) == (judge is None):
        raise GoldassayError("tune takes either a program, or --judge with human labels as --gold")
    if judge is not None:
        _tune_judge(judge, source, models, tuning, seed, json)
        return
    target = workspace.target(str(program), source.task)
    student, splits = _student(target, source, models.state)
    model = models.model(student)
    if plan:
        _plan(student, splits, workspace.metric(target.task, source.metric), model, tuning, json)
        return
    options = tuning.keywords(seed)
    if "guarded" in options["settings"] and tuning.optimizer != "patches":
        raise GoldassayError(f"--option guarded is for the optimizer patches, not for {tuning.optimizer}")
    folder = _folder(tuning, f"tune-{target.label.replace(':', '-')}-{tuning.optimizer}")
    metric, _ = models.metric(target.task, source.metric, folder)
    options |= {"lm": model.lm, "adapter": model.adapter, "folder": folder}
    options |= {"resume": tuning.resume is not None, "repeats": tuning.repeats}
    _show(_tuned(student, splits, metric, tuning.optimizer, options), folder, json)


def _student(
    target: workspace.Target, source: use.GoldOptions, state: Path | None
) -> tuple[Any, dict[str, list[dspy.Example]]]:
    """The program to tune, and its gold by split."""
    from goldassay.cli.evaluate import task_gold
    from goldassay.tuning import load_state

    student: Any = target.tunable()
    _, part = task_gold(source.gold, target, **source.reading())
    if part.passages and hasattr(student, "index"):
        student = student.deepcopy().index(part.passages)
    splits = {name: list(getattr(part, name))[: source.limit] for name in ("train", "dev", "test")}
    return student if state is None else load_state(student, state), splits


def _folder(tuning: TuningOptions, name: str) -> Path:
    from goldassay.running.folder import new_folder, run_at

    return tuning.out or (run_at(tuning.resume) if tuning.resume else new_folder(Path("runs"), name))


def _tuned(student: Any, splits: Mapping[str, Any], metric: Any, optimizer: str, options: dict[str, Any]) -> Any:
    """The tuned program; one that was interrupted says how to continue."""
    from goldassay.tuning import tune as tune_program
    from goldassay.tuning.saved import RESUMABLE

    resumable, folder = optimizer in RESUMABLE, options["folder"]
    try:
        with terminal.quiet():
            return tune_program(student, splits, metric, optimizer, **options)
    except StorageError as error:
        then = f"continue with --resume {folder}" if resumable else f"run {optimizer} again from the start"
        raise RunStopped(f"{error}; finished measurements are safe; solve this, then {then}") from None
    except KeyboardInterrupt:
        then = f"continue with the same command and --resume {folder}"
        print(then if resumable else f"{optimizer} stores no state: the same command starts over", file=sys.stderr)
        raise


def _plan(student: Any, splits: Any, metric: Any, model: Any, tuning: TuningOptions, json: bool) -> None:
    """Say what a tuning could show and what it costs; a plan under which nothing can be accepted is an error."""
    from goldassay.running.evaluate import RunOptions
    from goldassay.tuning.plan import from_pilot, from_sizes

    options = RunOptions(lm=model.lm, adapter=model.adapter, threads=tuning.threads)
    with terminal.working("a pilot on dev"):
        sizes = from_sizes(tuning.optimizer, splits, optimizer_settings(tuning.option or ()))
        plan = from_pilot(sizes, student, splits, metric, options=options)
    terminal.output(plan, json, lambda plan: terminal.line("\n".join(plan.lines())))
    if plan.refusal:
        raise GoldassayError(plan.refusal)


def _tune_judge(
    judge: str, source: use.GoldOptions, models: use.ModelOptions, tuning: TuningOptions, seed: int, json: bool
) -> None:
    """Tune a judge on the human labels of a file."""
    from goldassay import lm
    from goldassay.cli.judge import QuestionOptions
    from goldassay.judges.tuning import tune_judge

    given = {**vars(models), **vars(source), "resume": tuning.resume, "repeats": tuning.repeats > 1}
    if unused := next((name for name, value in given.items() if value and name not in FOR_JUDGES), None):
        raise GoldassayError(f"tune --judge takes no --{unused.replace('_', '-')}, which is for programs")
    question = QuestionOptions(judge, source.map, None)
    if question.state:
        raise GoldassayError(f"{question.state} is a tuned judge; tune --judge takes the question, and tunes it anew")
    labels = question.labels(Path(source.gold or "heritage"), limit=source.limit)
    model = lm.resolve(models.lm)
    folder = _folder(tuning, f"tune-judge-{question.question().name}-{tuning.optimizer}")
    with terminal.quiet():
        tuned = tune_judge(
            labels, tuning.optimizer, lm=model, adapter=lm.adapter(model), folder=folder, **tuning.keywords(seed)
        )
    _show(tuned, folder, json)


def _show(tuned: Any, folder: Path, json: bool) -> None:
    from goldassay.reporting import tuning as tables
    from goldassay.tuning.saved import read_about

    if json:
        terminal.answer(read_about(folder / "tuning.json"))
    else:
        tables.tuned(tuned, folder)


def optimizer_settings(options: Sequence[str]) -> dict[str, Any]:
    """The settings of an optimizer; ``guarded`` names measures and by how much each may drop.

    >>> optimizer_settings(["rounds=5", "guarded=strict_f1,partial_f1=0.01"])
    {'rounds': 5, 'guarded': {'strict_f1': 0.0, 'partial_f1': 0.01}}
    """
    import yaml

    values: dict[str, Any] = {}
    for name, equals, text in (option.partition("=") for option in options):
        if not (name and equals):
            raise GoldassayError(f"--option expects NAME=VALUE such as rounds=5, got {name!r}")
        guards = [part.partition("=") for part in text.split(",")]
        try:
            guarded = name == "guarded"
            values[name] = {key.strip(): float(n or 0) for key, _, n in guards} if guarded else yaml.safe_load(text)
        except (ValueError, yaml.YAMLError):
            raise GoldassayError(f"the value of --option {name} cannot be read: {text!r}") from None
    return values

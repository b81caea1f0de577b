"""Systems: programs by name with their gold, in a saved state, and with a model.

The command line, the pytest plugin and the comparison of programs take a program and its examples from here. A program
may have ``index(passages)``, which gives it the passages that it searches, and ``fit(examples)``, which gives it the
training examples that it learns from; both return the program.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import dspy

from goldassay import workspace
from goldassay._support.dspy_compat import copy_program, input_keys
from goldassay._support.exceptions import DataError, GoldassayError, user_code
from goldassay._support.options import shell_line
from goldassay.core.measure import TASKS, target_met
from goldassay.core.metric import AnyMetric, as_metric
from goldassay.core.shape import ProgramShape, shape_of
from goldassay.gold import TaskSet, anyfields, load
from goldassay.models.lm import Model, for_program
from goldassay.running import Run, new_folder, summary
from goldassay.running.evaluate import evaluate
from goldassay.running.guard import Program
from goldassay.running.options import RunOptions
from goldassay.tuning.measuring import TuneOptions
from goldassay.tuning.optimizers import resolve
from goldassay.tuning.patterns import find
from goldassay.tuning.saved import (
    STATE,
    TUNING_FILE,
    check_same,
    load_state,
    plan_of,
    read_about,
    state_names,
)
from goldassay.tuning.tuner import tune
from goldassay.tuning.wrappers import Splits
from goldassay.workspace import Target

AnyProgram = TypeVar("AnyProgram")


class SplitExamples(NamedTuple):
    """The examples of a split of gold, and the training examples that a baseline may learn from."""

    name: str
    examples: Sequence[dspy.Example]
    train: Sequence[dspy.Example]
    gold: TaskSet


def task_gold(gold: str | None, target: Target, **reading: Any) -> tuple[str, TaskSet]:
    """The gold of a program's task and its name.

    Args:
        gold: The name of a gold set, or a file; by default ``gold/TASK`` of the workspace, else heritage.
        target: The program.
        reading: How a file is read (`goldassay.gold.load`).

    Raises:
        GoldassayError: No gold is named of a task of your own, or it cannot be read.
    """
    is_own_set = (workspace.root() / "gold" / target.task).is_dir()
    if not (gold or is_own_set or target.task in TASKS):
        raise GoldassayError(f"no gold of {target.task} is named: `gold=FILE`, or write it to gold/{target.task}/")
    name = gold or (target.task if is_own_set else "heritage")
    task_set = load(name, task=target.task, **reading).task(target.task)
    if target.file.is_file():
        task_set.program = target.shape
        task_set.program_file = target.file
    return name, task_set


def examples(gold: str | None, target: Target, split: str, **reading: Any) -> SplitExamples:
    """The examples of a split. A file without splits is taken whole, with a warning; baselines learn nothing from it.

    Raises:
        GoldassayError: There is no such split, or the gold cannot be read.
    """
    names = ("train", "dev", "test", "all")
    if split not in names:
        raise GoldassayError(f"no split {split!r}{workspace.nearest(split, names)}")
    name, task_set = task_gold(gold, target, **reading)
    if not task_set.splits:
        if split in ("train", "test"):  # dev is what commands ask for by default
            message = "%s has no splits, so all of its %d records are the %s split; goldassay gold split makes splits"
            logging.getLogger("goldassay").warning(message, name, len(task_set.all), split)
        return SplitExamples(name, task_set.all, [], task_set)
    chosen = task_set.all if split == "all" else task_set.split(split)
    if not chosen:
        raise DataError(f"the {split} split of {target.task} is empty", file=name)
    return SplitExamples(name, chosen, task_set.train if "train" in task_set.splits else [], task_set)


def indexed(program: AnyProgram, gold: TaskSet) -> AnyProgram:
    """The program over the passages of gold, if there are any and it searches; the given one stays as it is."""
    if not hasattr(type(program), "index") or not gold.passages:  # a method, not what a program keeps there
        return program
    with user_code("index"):
        searching: AnyProgram = copy_program(program).index(gold.passages)
    return searching


def prepared(target: Target, data: SplitExamples | None = None, state: Path | None = None) -> dspy.Module:
    """The program: over the gold's passages if it searches, with its tuned state, fitted on train if it can be."""
    program: Any = target.load()
    if data is not None:
        program = indexed(program, data.gold)
    if state is not None:
        program = load_state(program, state)
    if data is not None and data.train and hasattr(type(program), "fit"):
        with user_code("fit"):
            program = program.fit(data.train)
    return program


def examples_for(shape: ProgramShape, examples: Sequence[dspy.Example], source: str) -> Sequence[dspy.Example]:
    """Examples with the inputs that a program takes, if they have those and not only the task's.

    Args:
        shape: The fields of the program.
        examples: The examples.
        source: Where the program is, for the question.

    Raises:
        GoldassayError: The program takes any fields, and nothing says which of the examples' are inputs.
    """
    fields = [name for name in examples[0].keys() if name not in anyfields.ABOUT_RECORD or name in shape.asked]  # noqa: SIM118  no dict
    inputs = input_keys(examples[0]) or ()
    if shape.inputs is None and inputs:
        return examples
    names = [name for name in shape.inputs or shape.inputs_among(fields, source) if name in fields]
    required = {name for name in shape.inputs or names if name not in shape.optional}
    if not required <= {*fields} or required <= {*inputs} <= {*names}:
        return examples
    return [example.with_inputs(*names) for example in examples]


class Bound(dspy.Module):  # type: ignore[misc]
    """A program on a model of its own."""

    def __init__(self, program: dspy.Module, model: Model) -> None:
        super().__init__()
        self.program = program
        self.model = model

    def forward(self, **inputs: object) -> object:
        """The program's answer with this model."""
        with dspy.context(lm=self.model.lm, adapter=self.model.adapter):
            return self.program(**inputs)


@dataclass(frozen=True)
class System:
    """A program in one state with one model; ``settings`` say which, in its run."""

    label: str
    program: Any
    model: Model
    settings: Mapping[str, str | None]
    shape: ProgramShape | None = None

    @property
    def name(self) -> str:
        """The program, and the model if it asks one."""
        return f"{self.label} on {self.settings['lm']}" if self.settings["lm"] else self.label

    @property
    def bound(self) -> dspy.Module:
        """The program, which asks this model whatever the context says."""
        return self.program if self.model.lm is None else Bound(self.program, self.model)

    def examples(self, examples: Sequence[dspy.Example]) -> Sequence[dspy.Example]:
        """The examples with the inputs that this program takes (`examples_for`)."""
        return examples_for(self.shape or shape_of(self.program), examples, str(self.settings["program"]))

    def tuned(self, splits: Splits, metric: AnyMetric, optimizer: str, options: TuneOptions) -> System:
        """This system with its program tuned for its model.

        With ``resume`` the tuning in the options' folder is read if it ended, and else goes on or starts again.

        Raises:
            GoldassayError: The folder has another tuning, or the optimizer failed.
        """
        folder = options.folder
        options = replace(options, lm=self.model.lm, adapter=self.model.adapter, test=False)
        material = {name: self.examples(examples) if examples else [] for name, examples in splits.items()}
        about = {}
        if options.resume and folder is not None and (folder / TUNING_FILE).is_file():
            about = read_about(folder / TUNING_FILE)
            check_same(folder, about, plan_of(self.program, material, resolve(optimizer).name, options))
            if about.get("status") in ("finished", "stopped"):
                return replace(self, program=load_state(self.program, folder))
            if not resolve(optimizer).resumes:
                shutil.rmtree(folder)
        options = replace(options, resume=bool(about) and resolve(optimizer).resumes)
        return replace(self, program=tune(self.program, material, metric, optimizer, options).program)


def systems(
    task: str,
    data: SplitExamples | None,
    *,
    programs: Sequence[str] = (),
    states: Sequence[Path] = (),
    models: Sequence[str] = (),
    alone: bool = True,
) -> list[System]:
    """Each program, in each saved state, with each model; a program that asks no model is listed once.

    Args:
        task: The task.
        data: The gold that they are run on, if there is any.
        programs: Names of programs of the task, files, or folders of tuned programs; by default the task's program, and
            its baseline if it has one and there are no states.
        states: Saved states.
        models: Names of models; by default the default model.
        alone: Whether nothing else takes part in the comparison: then a single state is held against the program
            without it.
    """
    places = [*programs]
    if not places:
        module = workspace.load(target_of(task, "program").file)
        has_baseline = hasattr(module, "baseline") or "baseline" in getattr(module, "baselines", {})
        places = ["program", "baseline"] if has_baseline and not states else ["program"]
    saved: list[tuple[Path | None, str]] = [*zip(states, state_names(states), strict=True)]
    if not saved or (alone and len(places) == len(saved) == 1):
        saved.insert(0, (None, ""))
    listed: list[System] = []
    for path, (state, state_name) in product(places, saved):
        tuned = state is None and (Path(path) / STATE).is_file()  # the folder of a tuned program
        target = target_of(task, "program" if tuned else path)
        settings: dict[str, str | None] = {"program": path}
        parts = [target.slug, state_name]
        if state is not None:
            settings["state"] = str(state)
        elif tuned:
            state = Path(path)
            settings = {"program": task, "state": path}
            parts.append(state.resolve().name.replace(":", "-"))
        label = "-".join(filter(None, parts))
        if any(label == system.label for system in listed):
            label += f"-{len(listed) + 1}"
        program = prepared(target, data, state)
        for name in models or (None,):
            model = for_program(program, name, target.file)
            model_label = str(name).partition(".yaml:")[2] or model.name  # the names of models.yaml are told apart
            listed.append(
                System(label, program, model, {**settings, "lm": model_label if model.name else None}, target.shape)
            )
            if model.name is None:
                break
    return listed


def target_of(task: str, program: str) -> Target:
    """A program of the task by its name or by what its runs are called (``tone:baseline``), or that of a file; the task
    may itself be the file of a program.
    """
    source, _, name = task.partition(":")
    of_task = None if source.endswith(".py") else task
    if ":" in program or Path(program).is_file():
        return workspace.target(program, of_task)
    if of_task is None and name and program == "program":
        return workspace.target(task)
    named = workspace.target(f"{source}:{program}", of_task)
    if program == source and not hasattr(workspace.load(named.file), program):
        return workspace.target(source, of_task)
    return named


class MarkedTest:
    """A marked test function, with the arguments of `goldassay.case`; the program runs once, when a test needs it."""

    def __init__(
        self,
        program: Program | str,
        *,
        task: str | None = None,
        metric: AnyMetric | str | None = None,
        floors: Mapping[str, float] | None = None,
        **others: Any,
    ) -> None:

        self.program = program
        self.by_name = isinstance(program, str)
        self.gold = others.pop("gold", None)
        self.split = others.pop("split", "dev")
        state = others.pop("state", None)
        self.state = None if state is None else Path(state)
        self.options = RunOptions(**{"progress": False, **others})
        if isinstance(program, str):
            self.target = workspace.target(program, task)
        elif metric is None and task is None:
            raise GoldassayError("a program that is given as an object needs metric=… or task=…")
        else:
            self.target = workspace.Target(task or "own", Path(), type(program).__name__)
        if metric is None or isinstance(metric, str):
            metric = workspace.metric(self.target, metric)
        self.metric = as_metric(metric)
        self.floors: Mapping[str, float] = self.metric.targets if floors is None else floors
        if not self.floors:
            raise GoldassayError("a case needs floors={'strict_f1': 0.5}, or a metric with targets")
        self._run: Run | None = None

    def checks(self) -> dict[str, tuple[str, float]]:
        """The name of each value and its floor, by the id of the test."""
        lower = self.metric.zero.worst
        return {
            f"{name}{'<=' if name in lower else '>='}{floor:g}": (name, floor) for name, floor in self.floors.items()
        }

    def run(self, folder: Path | None) -> Run:
        """The run of the program; in a new folder of this one, if any."""
        if self._run is not None:
            return self._run
        gold = self.gold
        options = self.options
        data = None
        if gold is None or isinstance(gold, (str, Path)):
            data = examples(None if gold is None else str(gold), self.target, self.split)
            gold = data.examples
            if not self.by_name:
                gold = examples_for(shape_of(self.program), gold, self.target.name)
        program: Any = self.program
        if self.by_name:
            program = prepared(self.target, data, self.state)
        elif self.state is not None:
            program = load_state(program, self.state)
        if options.lm is None or isinstance(options.lm, str):
            model = for_program(program, options.lm, self.target.file if self.by_name else None)
            options = options.changed(lm=model.lm, adapter=model.adapter)
        name = "-".join([self.target.slug, *state_names([self.state] if self.state else [])])
        if folder is not None:
            options = options.changed(folder=new_folder(folder, name, str(getattr(options.lm, "model", ""))))
        settings = {"program": self.program if self.by_name else name, "split": self.split}
        settings |= {"state": str(self.state)} if self.state else {}
        self._run = evaluate(program, list(gold), self.metric, options, name=name, settings=settings)
        return self._run

    def failure(self, run: Run, name: str, floor: float) -> str:
        """A message about a value that misses its floor; empty if it does not.

        Raises:
            GoldassayError: The run has no value of this name.
        """

        values = {value.name: value for value in (summary.overall(run), *summary.values(run))}
        if name not in values:
            raise GoldassayError(f"no value {name!r} for the floor {floor:g}; there are {', '.join(values)}")
        measured = values[name]
        interval = measured.interval
        lower = measured.lower_is_better
        if target_met(measured.value, floor, lower_is_better=lower):
            return ""
        ends = f" [{interval.low:.4f}, {interval.high:.4f}]" if interval else ""
        side = "over" if lower else "under"
        lines = [f"{name} is {measured.value:.4f}{ends} on {len(run.rows)} examples, {side} {floor:g}"]
        lines += [f"{pattern.count} × {pattern.name}, loss {pattern.loss:.4f}" for pattern in find(run.cases)[:3]]
        return "\n".join([*lines, *([shell_line("goldassay report", run.folder)] if run.folder else [])])

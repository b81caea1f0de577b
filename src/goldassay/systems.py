"""Systems: programs by name with their gold, in a saved state, and with a model.

The command line, the pytest plugin and the comparison of programs take a program and its examples from here. A program
may have ``index(passages)``, which gives it the passages that it searches, and ``fit(examples)``, which gives it the
training examples that it learns from; both return the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from goldassay import workspace
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import TaskSet, load
from goldassay.gold.records import INPUTS
from goldassay.lm import Model, for_program
from goldassay.tuning.saved import STATE, load_state, state_names
from goldassay.workspace import Target

if TYPE_CHECKING:
    import dspy

SPLITS = ("train", "dev", "test", "all")
Passages = list[dict[str, Any]]
P = TypeVar("P")


@runtime_checkable
class Searching(Protocol):
    """A program that searches passages."""

    def index(self, passages: Passages) -> Self:
        """The program over these passages."""
        ...


@runtime_checkable
class Fitted(Protocol):
    """A program that learns from examples without a model."""

    def fit(self, examples: Sequence[dspy.Example]) -> Self:
        """The program, fitted on these examples."""
        ...


class SplitExamples(NamedTuple):
    """The examples of a split, the training examples that a baseline may learn from, and the passages to search."""

    name: str
    examples: Sequence[dspy.Example]
    train: Sequence[dspy.Example]
    passages: Passages


def task_gold(gold: str | None, target: Target, **reading: Any) -> tuple[str, TaskSet]:
    """The gold of a program's task and its name.

    Args:
        gold: The name of a gold set, or a file; by default ``gold/TASK`` of the workspace, else heritage.
        target: The program.
        reading: How a file is read (`goldassay.gold.load`).
    """
    name = gold or (target.task if (workspace.root() / "gold" / target.task).is_dir() else "heritage")
    part = load(name, task=target.task, **reading).task(target.task)
    if part.task not in INPUTS and not part.program_inputs and workspace.inputs(part.task) is None:
        part.program_inputs = workspace.taken(target.load()) or []  # a file outside a workspace
    return name, part


def examples(gold: str | None, target: Target, split: str, **reading: Any) -> SplitExamples:
    """The examples of a split. A file without splits is taken whole; baselines learn nothing from it.

    Raises:
        GoldassayError: There is no such split, or the gold cannot be read.
    """
    if split not in SPLITS:
        raise GoldassayError(f"no split {split!r}{workspace.nearest(split, SPLITS)}")
    name, part = task_gold(gold, target, **reading)
    if not part.splits:
        return SplitExamples(name, part.all, [], part.passages)
    chosen = part.all if split == "all" else part.split(split)
    if not chosen:
        raise DataError(f"the {split} split of {target.task} is empty", file=name)
    return SplitExamples(name, chosen, part.train if "train" in part.splits else [], part.passages)


def unlabelled(place: Path, target: Target) -> list[dspy.Example]:
    """The inputs of a file without gold, as examples of a program's task.

    Args:
        place: The file: a JSON object, a row of a table or a line of text each.
        target: The program.
    """
    import dspy

    from goldassay.running.logs.sources import pool_of

    if target.task not in INPUTS:  # a record of your own has any fields
        return list(examples(str(place), target, "all").examples)
    records = pool_of([place], target.task).inputs.values()
    return [dspy.Example(**record).with_inputs(INPUTS[target.task]) for record in records]


def indexed(program: P, passages: Passages) -> P:
    """The program over these passages, if there are any and it searches; the given one stays as it is."""
    if not passages or not isinstance(program, Searching):
        return program
    copied: Any = program
    indexed: P = copied.deepcopy().index(passages)
    return indexed


def prepared(target: Target, data: SplitExamples | None = None, state: Path | None = None) -> dspy.Module:
    """The program: over the gold's passages if it searches, with its tuned state, fitted on train if it can be."""
    program: Any = target.load()
    if data is not None:
        program = indexed(program, data.passages)
    if state is not None:
        program = load_state(program, state)
    if data is not None and data.train and isinstance(program, Fitted):
        program = program.fit(data.train)
    return program


@dataclass(frozen=True)
class System:
    """A program in one state with one model; ``settings`` say which, in its run."""

    label: str
    program: Any
    model: Model
    settings: Mapping[str, str | None]

    @property
    def name(self) -> str:
        """The program, and the model if it asks one."""
        return f"{self.label} on {self.settings['lm']}" if self.settings["lm"] else self.label


def systems(
    task: str,
    data: SplitExamples,
    *,
    programs: Sequence[str] = (),
    states: Sequence[Path] = (),
    models: Sequence[str] = (),
    alone: bool = True,
) -> list[System]:
    """Each program, in each saved state, with each model; a program that asks no model is listed once.

    Args:
        task: The task.
        data: The gold that they are run on.
        programs: Names of programs of the task, files, or folders of tuned programs; by default the task's program, and
            its baseline if there are no states.
        states: Saved states.
        models: Names of models; by default the default model.
        alone: Whether nothing else takes part in the comparison: then a single state is held against the program
            without it.
    """
    places = programs or (["program"] if states else ["program", "baseline"])
    saved: list[tuple[Path | None, str]] = [*zip(states, state_names(states), strict=True)]
    if not saved or (alone and len(places) == len(saved) == 1):
        saved.insert(0, (None, ""))
    listed: list[System] = []
    for place, (state, state_name) in product(places, saved):
        tuned = state is None and (Path(place) / STATE).is_file()  # the folder of a tuned program
        target = workspace.target(_named(task, "program" if tuned else place), task)
        settings: dict[str, str | None] = {"program": place}
        parts = [target.label.replace(":", "-"), state_name]
        if state is not None:
            settings["state"] = str(state)
        elif tuned:
            state = Path(place)
            settings = {"program": task, "state": place}
            parts.append(state.resolve().name.replace(":", "-"))
        label = "-".join(filter(None, parts))
        if any(label == system.label for system in listed):
            label += f"-{len(listed) + 1}"
        program = prepared(target, data, state)
        for name in models or (None,):
            model = for_program(program, name)
            shown = str(name).partition(".yaml:")[2] or model.name  # the names of models.yaml are told apart
            listed.append(System(label, program, model, {**settings, "lm": shown if model.name else None}))
            if model.name is None:
                break
    return listed


def _named(task: str, place: str) -> str:
    """A program of the task by its name, unless a file is named."""
    return place if Path(place.partition(":")[0]).is_file() else f"{task}:{place}"

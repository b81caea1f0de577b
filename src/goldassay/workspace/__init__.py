"""The workspace: the folders ``programs/``, ``metrics/`` and ``gold/`` that a user edits, loaded by path.

A task is a name, fields, a metric and programs: ``programs/NAME.py:program`` and ``metrics/NAME.py:metric`` make NAME a
task like the eight. Where the folder is and how its files are loaded is in `goldassay._support.workspace`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from goldassay._support.exceptions import GoldassayError, user_code
from goldassay._support.workspace import FILE_TASKS, attribute, installed, load, nearest, own_root, program_in, root
from goldassay.core.measure import ANSWER_FIELDS, TASKS
from goldassay.core.shape import DSPY_NOTES, ProgramShape, fields_read, is_dspy_module, shape_in, shape_of

if TYPE_CHECKING:
    import dspy

    from goldassay.core.metric import Metric

    Program: TypeAlias = dspy.Module | Callable[..., Any]

__all__ = [
    "FILE_TASKS",
    "Target",
    "attribute",
    "has_metric",
    "installed",
    "judged",
    "load",
    "metric",
    "nearest",
    "own_program",
    "own_root",
    "root",
    "target",
    "tasks",
]


@dataclass(frozen=True)
class Target:
    """A program to run: its task, its file and the name in that file."""

    task: str
    file: Path
    name: str

    def load(self) -> Program:
        """The program: a DSPy module, one of the file's ``baselines`` by name, or an instance of a class.

        Raises:
            GoldassayError: The file cannot be loaded, or has no program of this name.
        """
        baselines = getattr(load(self.file), "baselines", {})
        if self.name in baselines:
            return baselines[self.name]
        return program_in(self.file, self.name, others=baselines)

    @property
    def shape(self) -> ProgramShape:
        """The fields that the program reads and answers with.

        Raises:
            GoldassayError: The file cannot be loaded, or has no program of this name.
        """
        shape = shape_in(self.file, self.name, getattr(load(self.file), "baselines", {}))
        measured = _measured(metric(self)) if self.task not in TASKS and has_metric(self) else set()
        notes = {*DSPY_NOTES, *shape.notes} - {*shape.outputs}
        return replace(shape, measured=tuple(name for name in measured if name not in notes))

    def tunable(self) -> dspy.Module:
        """The program, which must be a module with a predictor.

        Raises:
            GoldassayError: It has no predictor, or cannot be loaded.
        """
        import dspy

        program = self.load()
        if not isinstance(program, dspy.Module) or not program.predictors():
            kind = "" if isinstance(program, dspy.Module) else "; put the predictors of a function into a dspy.Module"
            raise GoldassayError(f"{self.name} in {self.file} has no predictor, so there is no prompt to tune{kind}")
        return program

    @property
    def label(self) -> str:
        """The name for people and runs: ``extraction``, ``extraction:baseline``; ``mine`` for ``mine.py``."""
        return self.file.stem if self.name == "program" else f"{self.file.stem}:{self.name}"

    @property
    def slug(self) -> str:
        """The label in the names of files: ``extraction-baseline``."""
        return self.label.replace(":", "-")

    @property
    def patches(self) -> Path:
        """The folder of its patches in the workspace."""
        return own_root() / "programs" / "patches" / self.slug


def target(text: str, task: str | None = None) -> Target:
    """The target that a user wrote: ``extraction``, ``extraction:baseline`` or ``programs/extraction.py:program``.

    Raises:
        GoldassayError: There is no such task or file.
    """
    source, _, name = text.partition(":")
    name = name or "program"
    if source in tasks():
        file = root() / "programs" / f"{source}.py"
        if source in TASKS and not file.is_file():
            file = installed() / "programs" / file.name  # a workspace of one's own need not copy it
        return Target(task or source, file, name)
    file = Path(source)
    if file.suffix != ".py":
        hint = f"; did you mean {source}.py?" if Path(f"{source}.py").is_file() else nearest(source, tasks())
        if file.suffix == ".json":
            raise GoldassayError(
                f"{source} is no program: name the file of Python that defines it, with `state={source}`"
            )
        if (file / "program.pkl").is_file():
            line = f"import dspy; program = dspy.load({source!r}, allow_pickle=True)"
            raise GoldassayError(f"{source} is a saved program: name a file of Python with the line {line}")
        raise GoldassayError(f"no task {source!r}{hint} (a file is named as programs/{source}.py:program)")
    if not file.is_file():
        raise GoldassayError(f"no such file: {source}; the tasks are {', '.join(tasks())}")
    FILE_TASKS.add(file.stem)
    return Target(task or file.stem, file.resolve(), name)


def tasks() -> list[str]:
    """The eight tasks, then those that the workspace has a program for."""
    user_tasks = sorted(file.stem for file in (root() / "programs").glob("*.py") if not file.stem.startswith("_"))
    return [*TASKS, *(name for name in user_tasks if name not in TASKS)]


def own_program(text: str) -> Target | None:
    """The program of a task of the user: the file that is named, or ``programs/TASK.py`` of the workspace.

    None if there is none. The programs that come with the package are about other records than the user's.

    Args:
        text: The name of a task, or a file and perhaps the name of its program, as in ``mine.py:program``.

    Raises:
        GoldassayError: There is no such file.
    """
    if text.partition(":")[0].endswith(".py"):
        return target(text)
    file = root() / "programs" / f"{text}.py"
    return Target(text, file, "program") if root() != installed() and file.is_file() else None


def _measured(metric: Metric) -> set[str]:
    """The fields of a prediction that a metric reads; empty if these are not known."""
    from goldassay.core.metric import FunctionMetric
    from goldassay.gold.outputs import OUTPUT_FIELDS  # loads the measures

    if isinstance(metric, FunctionMetric):
        return fields_read(metric.function)
    names = {name for measure in metric.measures.values() for name in OUTPUT_FIELDS.get(measure.task, ())}
    extras = ("confidence", "probabilities") if names else ()
    columns = [metric.columns.get(name, name) for name in (*names, *extras)]
    if any(callable(column) for column in columns):
        return set()
    return {str(column).partition(".")[0] for column in columns}


def metric(task: str | Target, place: str | None = None) -> Metric:
    """The metric of a task: what ``place`` (FILE[:NAME]) names, or `metric_file` has as ``metric``.

    It reads the only output of a module of DSPy as the answer of a task of ours, whatever it is called.

    Anything but a `Metric` is a function of (gold, prediction), see ``Metric.of``.

    Raises:
        GoldassayError: The task has no metric, or its file cannot be loaded.
    """
    from goldassay.core.metric import FunctionMetric, as_metric

    text, _, name = (place or "").partition(":")
    file = Path(text) if place else metric_file(task)
    if file is None:
        program = task if isinstance(task, Target) else own_program(task)
        task = program.task if program else task
        home = f"metrics/{task}.py of a workspace" if root() == installed() else str(root() / "metrics" / f"{task}.py")
        raise GoldassayError(
            f"the task {task} has no metric: write `metric` in {home}, or in the file of the program (any function of "
            "gold and prediction), name a metric's file (`metric=FILE`; of predictions that exist `measures=FILE`), or "
            "one of our tasks whose fields the gold has (`task=answering`)"
        )
    if isinstance(task, Target) and not name and file.suffix != ".py" and hasattr(load(task.file), text):
        raise GoldassayError(f"no such file: {text}; did you mean `metric={relpath(task.file)}:{text}`?")
    if file.is_file():
        load(file, fresh=True)
    value = copy(as_metric(attribute(file, name or "metric")))
    program = task if isinstance(task, Target) else own_program(task)
    if isinstance(value, FunctionMetric) and program:
        with suppress(GoldassayError):  # a file of predictions needs no program
            value.declare(shape_of(program.load()).declarations)
    field = ANSWER_FIELDS.get(task.task) if isinstance(task, Target) else None
    if isinstance(task, Target) and task.file.is_file() and field and field not in DSPY_NOTES:
        outputs = task.shape.outputs
        if is_dspy_module(task.load()) and len(outputs) == 1 and field != outputs[0]:
            value.columns = {f"pred.{field}": outputs[0], **value.columns}
    return value


def metric_file(task: str | Target, attribute: str = "metric") -> Path | None:
    """The file with the metric of a task: ``metrics/TASK.py`` of the workspace, or the program's own; None without one.

    Args:
        task: The task, or a program of it.
        attribute: What the file of the program must have to be the one.

    Raises:
        GoldassayError: The file of the program cannot be loaded.
    """
    program = task if isinstance(task, Target) else own_program(task)
    name = f"{program.task if program else task}.py"
    of_program = program.file if program and hasattr(load(program.file), attribute) else None
    shipped = installed() / "metrics" / name  # which a workspace of one's own need not copy
    of_workspace = root() / "metrics" / name if root() != installed() else None
    files = [of_workspace, of_program, shipped if Path(name).stem in TASKS else None]
    return next((file for file in files if file and file.is_file()), None)


def has_metric(task: str | Target) -> bool:
    """Whether a task has a metric; the labels of one without are compared as they are.

    Raises:
        GoldassayError: A file cannot be loaded.
    """
    file = metric_file(task)
    return file is not None and hasattr(load(file), "metric")


def judged(task: str | Target, judge: object, place: str | None = None) -> Any:
    """The metric with a judge, by ``metric_with(judge)`` of its file.

    Raises:
        GoldassayError: The file has no such function, or it raised.
    """
    file = Path(place.partition(":")[0]) if place else metric_file(task, "metric_with")
    if file is None or not hasattr(load(file), "metric_with"):
        home = file or (task.file if isinstance(task, Target) else f"metrics/{task}.py")
        raise GoldassayError(f"{home} has no metric_with(judge), so no judge can be given; see metrics/answering.py")
    with user_code("metric_with"):
        return load(file).metric_with(judge)

"""The workspace: the folders ``programs/``, ``metrics/`` and ``gold/`` that a user edits, loaded by path.

A task is a name, fields, a metric and programs: ``programs/NAME.py:program`` and ``metrics/NAME.py:metric`` make NAME a
task like the seven. The workspace is the nearest folder, from the current one upwards, that holds ``programs`` and
``metrics``; without one it is the copy that was installed with the package. Its files are not a package: each is loaded
from its path.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from goldassay.exceptions import DataError, GoldassayError
from goldassay.measure import TASKS

if TYPE_CHECKING:
    import dspy

    from goldassay.metric import Metric

    Program: TypeAlias = dspy.Module | Callable[..., Any]


def root(start: Path | None = None) -> Path:
    """The workspace that a command run in ``start`` (default: the current folder) works on."""
    current = (start or Path.cwd()).resolve()
    for folder in (current, *current.parents):
        if (folder / "programs").is_dir() and (folder / "metrics").is_dir():
            return folder
    return installed()


def own_root() -> Path:
    """The workspace that a command writes to; outside of any the current folder, never that of the installation."""
    place = root()
    current = Path.cwd().resolve()
    return place if current.is_relative_to(place) else current


def installed() -> Path:
    """The workspace that comes with goldassay: inside the package, or the checkout of an editable install."""
    package = Path(__file__).resolve().parent
    inside = package / "_workspace"
    return inside if inside.is_dir() else package.parents[1]


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
        baselines: dict[str, Any] = getattr(load(self.file), "baselines", {})
        if self.name in baselines:
            return baselines[self.name]
        program = attribute(self.file, self.name, also=baselines)
        if not callable(program):
            kind = type(program).__name__
            raise DataError(f"{self.name} is of type {kind}; a program is a DSPy module or a function", file=self.file)
        with _one_line_errors(self.file):
            return program() if isinstance(program, type) else program

    def tunable(self) -> dspy.Module:
        """The program, which must be a module with a predictor.

        Raises:
            GoldassayError: It has no predictor, or cannot be loaded.
        """
        import dspy

        program = self.load()
        if not isinstance(program, dspy.Module) or not program.predictors():
            raise GoldassayError(f"{self.name} in {self.file} has no predictor, so there is no prompt to tune")
        return program

    @property
    def label(self) -> str:
        """The name for people and runs: ``extraction``, ``extraction:baseline``; ``mine`` for ``mine.py``."""
        return self.file.stem if self.name == "program" else f"{self.file.stem}:{self.name}"


def target(text: str, task: str | None = None) -> Target:
    """The target that a user wrote: ``extraction``, ``extraction:baseline`` or ``programs/extraction.py:program``.

    Raises:
        GoldassayError: There is no such task or file.
    """
    place, _, name = text.partition(":")
    name = name or "program"
    if place in tasks():
        return Target(task or place, root() / "programs" / f"{place}.py", name)
    file = Path(place)
    if file.suffix != ".py":
        raise GoldassayError(
            f"no task {place!r}{nearest(place, tasks())} (a file is named as programs/{place}.py:program)"
        )
    if not file.is_file():
        raise GoldassayError(f"no such file: {place}; the tasks are {', '.join(tasks())}")
    return Target(task or file.stem, file.resolve(), name)


def tasks() -> list[str]:
    """The seven tasks, then those that the workspace has a program for."""
    own = sorted(file.stem for file in (root() / "programs").glob("*.py") if not file.stem.startswith("_"))
    return [*TASKS, *(name for name in own if name not in TASKS)]


def known(task: str) -> None:
    """Raises if a task does not exist and is nearly the name of a built-in one."""
    if task not in TASKS and difflib.get_close_matches(task, TASKS, n=1, cutoff=0.8) and task not in tasks():
        raise GoldassayError(f"no task {task!r}{nearest(task, TASKS)}")


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint for an error message: the word that was probably meant, or all there are.

    >>> nearest("extracton", ["extraction", "linking"]), nearest("x", ["extraction", "linking"])
    ("; did you mean 'extraction'?", '; there are extraction, linking')
    """
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(known)}"


def inputs(task: str) -> list[str] | None:
    """The inputs of a user's task, which are those of its program; None if it has no program."""
    file = root() / "programs" / f"{task}.py"
    return taken(Target(task, file, "program").load()) if file.is_file() else None


def taken(program: Program) -> list[str] | None:
    """The names of the inputs that a program takes; None if its signature does not list them.

    >>> taken(lambda text, language="nl": text)
    ['text', 'language']
    """
    if hasattr(program, "signature") and hasattr(program.signature, "input_fields"):
        return list(program.signature.input_fields)
    try:
        parameters = inspect.signature(getattr(type(program), "forward", program)).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = {parameter.name: parameter.kind for parameter in parameters if parameter.name != "self"}
    if inspect.Parameter.VAR_KEYWORD in kinds.values():
        return None
    return [name for name, kind in kinds.items() if kind is not inspect.Parameter.VAR_POSITIONAL]


def metric(task: str, place: str | None = None) -> Metric:
    """The metric of a task: ``metrics/TASK.py:metric`` of the workspace, or what ``place`` (FILE[:NAME]) names.

    Anything but a `Metric` is a function of (gold, prediction), see ``Metric.of``.

    Raises:
        GoldassayError: The task has no metric, or its file cannot be loaded.
    """
    from goldassay.metric import Metric

    text, _, name = (place or "").partition(":")
    file = Path(text) if place else root() / "metrics" / f"{task}.py"
    if place is None and not file.is_file():
        own = f"metrics/{task}.py of a workspace, a folder with programs and metrics"
        place = own if root() == installed() else str(file)
        raise GoldassayError(
            f"the task {task} has no metric: write `metric` in {place} (any function of gold and prediction), or name "
            "a metric's file"
        )
    value = attribute(file, name or "metric")
    return value if isinstance(value, Metric) else Metric.of(value)


def judged(task: str, judge: object, place: str | None = None) -> Any:
    """The metric with a judge, by ``metric_with(judge)`` of its file.

    Raises:
        GoldassayError: The file has no such function.
    """
    file = Path(place.partition(":")[0]) if place else root() / "metrics" / f"{task}.py"
    if not hasattr(load(file), "metric_with"):
        raise GoldassayError(f"{file} has no metric_with(judge), so no judge can be given; see metrics/answering.py")
    return load(file).metric_with(judge)


def attribute(file: Path, name: str, also: Iterable[str] = ()) -> Any:
    """A value in a workspace file; ``also`` are other names that the error lists.

    Raises:
        GoldassayError: The file has no such name, or cannot be loaded.
    """
    module = load(file)
    if not hasattr(module, name):
        homes = (module.__name__, "goldassay.metric", "dspy.")  # where programs and metrics of the file are defined
        own = [key for key, value in vars(module).items() if str(getattr(value, "__module__", "")).startswith(homes)]
        raise GoldassayError(f"{file} has no {name!r}; it has {', '.join(sorted({*own, *also})) or 'nothing to run'}")
    return getattr(module, name)


def load(file: Path) -> ModuleType:
    """A workspace file as a module, loaded once per path.

    Raises:
        GoldassayError: There is no such file, or it raises an error.
    """
    path = file.resolve()
    if not path.is_file():
        hint = "; goldassay init DIR writes a workspace with the seven tasks" if file.stem in TASKS else ""
        raise GoldassayError(f"no such file: {file}{hint}")
    key = f"_goldassay_workspace_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    if key in sys.modules:
        return sys.modules[key]
    spec = importlib.util.spec_from_file_location(key, path)
    if spec is None or spec.loader is None:
        raise GoldassayError(f"{file} is not a Python file")
    sys.modules[key] = importlib.util.module_from_spec(spec)
    try:
        with _one_line_errors(file):
            spec.loader.exec_module(sys.modules[key])
    except BaseException:
        del sys.modules[key]
        raise
    return sys.modules[key]


@contextmanager
def _one_line_errors(file: Path) -> Iterator[None]:
    """Turns what a user's file raises into one line that names the file and the line in it."""
    try:
        yield
    except (GoldassayError, KeyboardInterrupt):
        raise
    except BaseException as error:
        path = str(file.resolve())
        message = str(error)
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        if isinstance(error, SyntaxError):
            lines = [error.lineno] if error.filename == path else lines
            message = error.msg
        message = f"cannot be loaded: {type(error).__name__}: {' '.join(message.split())}"
        raise DataError(message, file=file, line=lines[-1] if lines else None) from error

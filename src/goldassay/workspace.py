"""The workspace: the folders ``programs/``, ``metrics/`` and ``gold/`` that a user edits, loaded by path.

The workspace is the nearest folder, from the current one upwards, that holds ``programs`` and ``metrics``; without one
it is the copy that was installed with the package. Its files are not a package: each is loaded from its path.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measure import TASKS


def root(start: Path | None = None) -> Path:
    """The workspace that a command run in ``start`` (default: the current folder) works on."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "programs").is_dir() and (folder / "metrics").is_dir():
            return folder
    return installed()


def installed() -> Path:
    """The workspace that comes with goldassay: inside the package, or the checkout of an editable install."""
    package = Path(__file__).resolve().parent
    inside = package / "_workspace"
    return inside if inside.is_dir() else package.parents[1]


@dataclass(frozen=True)
class Target:
    """What ``eval`` or ``tune`` was pointed at: a task, the file of its program and the name in that file."""

    task: str
    file: Path
    name: str

    def load(self) -> Any:
        """The program: a DSPy module, one of the file's ``baselines`` by name, or what a class of that name makes."""
        baselines: dict[str, Any] = getattr(load(self.file), "baselines", {})
        if self.name in baselines:
            return baselines[self.name]
        found = attribute(self.file, self.name, also=baselines)
        return found() if isinstance(found, type) else found

    @property
    def label(self) -> str:
        """For a person and for the name of a run: ``extraction`` or ``extraction:baseline``."""
        return self.task if self.name == "program" else f"{self.task}:{self.name}"


def target(text: str, task: str | None = None) -> Target:
    """The target that a user wrote: ``extraction``, ``extraction:baseline`` or ``programs/extraction.py:program``."""
    place, _, name = text.partition(":")
    name = name or "program"
    if place in TASKS:
        return Target(place, root() / "programs" / f"{place}.py", name)
    file = Path(place)
    if not file.is_file():
        raise GoldassayError(
            f"{text!r} is neither a task ({', '.join(TASKS)}) nor a file such as programs/extraction.py:program"
        )
    found = task or (file.stem if file.stem in TASKS else None)
    if found is None:
        raise GoldassayError(f"which task does {place} do? say it with --task ({', '.join(TASKS)})")
    return Target(found, file.resolve(), name)


def metric(task: str, place: str | None = None) -> Any:
    """The metric of a task: ``metrics/TASK.py:metric`` of the workspace, or what ``place`` (FILE[:NAME]) names."""
    if place is None:
        return attribute(root() / "metrics" / f"{task}.py", "metric")
    file, _, name = place.partition(":")
    return attribute(Path(file), name or "metric")


def judged(task: str, judge: Any, place: str | None = None) -> Any:
    """The metric with a judge: what ``metric_with(judge)`` of its file gives."""
    file = Path(place.partition(":")[0]) if place else root() / "metrics" / f"{task}.py"
    if not hasattr(load(file), "metric_with"):
        raise GoldassayError(f"{file} has no metric_with(judge), so no judge can be given; see metrics/answering.py")
    return load(file).metric_with(judge)


def attribute(file: Path, name: str, also: Iterable[str] = ()) -> Any:
    """A name of a workspace file; ``also`` are further names that could have been asked for."""
    module = load(file)
    if not hasattr(module, name):
        own = [key for key, value in vars(module).items() if not key.startswith("_") and _own(value, module)]
        raise GoldassayError(f"{file} has no {name!r}; it has {', '.join(sorted({*own, *also})) or 'nothing to run'}")
    return getattr(module, name)


def _own(value: Any, module: ModuleType) -> bool:
    """Whether a file makes a value itself: a class or a function of its own, a program, a metric."""
    home = str(getattr(value, "__module__", ""))
    return home == module.__name__ or (not isinstance(value, type) and home.startswith(("goldassay.metric", "dspy.")))


def load(file: Path) -> ModuleType:
    """A workspace file as a module, loaded once per path."""
    path = file.resolve()
    if not path.is_file():
        raise GoldassayError(f"no such file: {file}")
    key = f"_goldassay_workspace_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    if key in sys.modules:
        return sys.modules[key]
    spec = importlib.util.spec_from_file_location(key, path)
    if spec is None or spec.loader is None:
        raise GoldassayError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[key] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[key]
        raise
    return module

"""The folder of a workspace and the files in it, each loaded from its path.

The workspace is the nearest folder, from the current one upwards, that holds ``programs`` with a program or with
``metrics`` beside it; without one it is the copy that was installed with the package. Its files are not a package.
`goldassay.workspace` knows what they mean.
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
from pathlib import Path
from types import ModuleType
from typing import Any

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.files import resource

DSPY_SETTINGS: dict[Path, dict[str, object]] = {}
"""The model and adapter that each loaded file gave to ``dspy.configure``."""
IMPORT_FOLDERS: list[str] = []
"""The folders from which files import their neighbours, that of the file that was loaded last first."""
SOURCE = "_goldassay_source"
"""The name under which a loaded module keeps the content of its file."""
FILE_TASKS: set[str] = set()
"""The tasks that are named by the files of programs, such as ``answer`` by ``answer.py``: no misspelt names."""


def root() -> Path:
    """The workspace that a command run in the current folder works on."""
    current = Path.cwd().resolve()
    for folder in (current, *current.parents):
        programs = folder / "programs"
        if programs.is_dir() and ((folder / "metrics").is_dir() or any(programs.glob("*.py"))):
            return folder
    return installed()


def own_root() -> Path:
    """The workspace that a command writes to; outside of any the current folder, never that of the installation."""
    folder = root()
    current = Path.cwd().resolve()
    return folder if current.is_relative_to(folder) else current


def installed() -> Path:
    """The workspace that comes with goldassay: inside the package, or the checkout of an editable install."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "_workspace"
    return inside if inside.is_dir() else package.parents[1]


def nearest(word: str, names: Iterable[str]) -> str:
    """A hint for an error message: the word that was probably meant, or all there are.

    >>> nearest("extracton", ["extraction", "linking"]), nearest("x", ["extraction", "linking"])
    ("; did you mean 'extraction'?", '; there are extraction, linking')
    """
    close = difflib.get_close_matches(word, list(names), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(names)}"


def program_in(file: Path, name: str, others: Iterable[str]) -> Callable[..., object]:
    """The program of a workspace file: a DSPy module or a function; of a class, or a function without parameters, what
    it makes.

    Raises:
        GoldassayError: The file cannot be loaded, or has no program of this name, nor one of the ``others``.
    """
    program = attribute(file, name, also=others)
    with _one_line_errors(file):
        if isinstance(program, type) or (inspect.isfunction(program) and not inspect.signature(program).parameters):
            program = program()
    if not callable(program):
        kind = type(program).__name__
        raise DataError(f"{name} is of type {kind}; a program is a DSPy module or a function", file=file)
    runnable: Callable[..., object] = program
    return runnable


def attribute(file: Path, name: str, also: Iterable[str] = ()) -> Any:
    """A value in a workspace file; ``also`` are other names that the error lists.

    Raises:
        GoldassayError: The file has no such name, or cannot be loaded.
    """
    module = load(file)
    if not hasattr(module, name):
        # where programs and metrics of the file are defined
        homes = (module.__name__, "goldassay.core.metric", "dspy.")
        members = {
            key: value
            for key, value in vars(module).items()
            if str(getattr(value, "__module__", "")).startswith(homes) and not key.startswith("_")
        }
        listed = [*also, *(key for key, value in members.items() if not isinstance(value, type))]
        modules = [key for key in listed if hasattr(type(members.get(key)), "forward")]
        listed = listed or [key for key, value in members.items() if hasattr(value, "forward")]
        hint = nearest(name, sorted(listed)) if listed else "; it has nothing to run"
        if name == "program" and modules:  # the name if none is given
            hint = f"; did you mean {' or '.join(f'{file.name}:{key}' for key in modules)}?"
        raise GoldassayError(f"{file} has no {name!r}{hint}")
    return getattr(module, name)


def load(file: Path, *, fresh: bool = False) -> ModuleType:
    """A workspace file as a module, loaded once per path.

    Args:
        file: The file.
        fresh: Load it again if it was edited since. Without it, edits during a long run change nothing.

    Raises:
        GoldassayError: There is no such file, or it raises an error.
    """
    path = file.resolve()
    if not path.is_file():
        is_built_in = file.stem in resource("tasks.json")
        hint = "; goldassay init DIR writes a workspace with the eight tasks" if is_built_in else ""
        raise GoldassayError(f"no such file: {file}{hint}")
    folder = path.parent
    package: list[str] = []
    while (folder / "__init__.py").is_file():
        package.insert(0, folder.name)
        folder = folder.parent
    name = f"_goldassay_workspace_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    key = ".".join([*package, name])
    source = path.read_bytes()
    if key in sys.modules and (not fresh or vars(sys.modules[key]).get(SOURCE) == source):
        return sys.modules[key]
    spec = importlib.util.spec_from_file_location(key, path)
    if spec is None or spec.loader is None:
        raise GoldassayError(f"{file} is not a Python file")
    sys.modules[key] = importlib.util.module_from_spec(spec)
    setattr(sys.modules[key], SOURCE, source)
    # It imports what is beside it or in the current folder, after the standard library. Modules of the same names that
    # an earlier program imported from its own folder are forgotten.
    neighbours = {
        entry.stem for entry in folder.iterdir() if entry.suffix == ".py" or (entry / "__init__.py").is_file()
    }
    for other in neighbours & sys.modules.keys():
        imported = Path(getattr(sys.modules[other], "__file__", None) or ".")
        home = imported.parents[1] if imported.name == "__init__.py" else imported.parent
        if home != folder and str(home) in IMPORT_FOLDERS:
            for inner in [inner for inner in sys.modules if inner.partition(".")[0] == other]:
                del sys.modules[inner]
    for entry in (str(Path.cwd()), str(folder)):
        if entry in IMPORT_FOLDERS:
            IMPORT_FOLDERS.remove(entry)
        elif entry in sys.path:
            continue
        IMPORT_FOLDERS.insert(0, entry)
    others = [entry for entry in sys.path if entry not in IMPORT_FOLDERS]
    at = next((index for index, entry in enumerate(others) if entry.endswith("-packages")), len(others))
    sys.path[:] = [*others[:at], *IMPORT_FOLDERS, *others[at:]]
    before = _dspy_settings()
    try:
        with _one_line_errors(file):
            spec.loader.exec_module(sys.modules[key])
    except BaseException:
        del sys.modules[key]
        raise
    DSPY_SETTINGS[path] = {name: value for name, value in _dspy_settings().items() if value is not before.get(name)}
    return sys.modules[key]


def settings_of(file: Path | None) -> dict[str, Any]:
    """The model and adapter in DSPy's settings; those that ``file`` configured where another file did so since."""
    settings = _dspy_settings()
    if file is None or not any(settings.get("lm") is theirs.get("lm") for theirs in DSPY_SETTINGS.values()):
        return settings  # of a caller's `dspy.configure` or `dspy.context`
    return settings | DSPY_SETTINGS.get(file.resolve(), {})


def _dspy_settings() -> dict[str, Any]:
    dspy: Any = sys.modules.get("dspy")
    return {name: dspy.settings.get(name) for name in ("lm", "adapter")} if hasattr(dspy, "settings") else {}


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

"""A run folder: ``run.json`` at the start and at the end, ``rows.jsonl`` row by row, written by one process.

``run.json`` says what ran, so that a run can be repeated, resumed and compared. A run is only resumed as it was
started: with the same gold, metric, model and adapter, and the same program, prompts and code. Code is the source of
the file that the program stands in, and of the user's files that it imports.
"""

from __future__ import annotations

import ast
import fcntl
import hashlib
import inspect
import json
import os
import platform
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from importlib.machinery import PathFinder
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, ValidationError, create_model

from goldassay import __version__, jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.measure import Measure, stored
from goldassay.secrets import SETTING, redact, remember, scrub

if TYPE_CHECKING:
    import dspy

    from goldassay.metric import Metric
    from goldassay.running.evaluate import RunOptions
    from goldassay.running.example import Program

ABOUT, ROWS = "run.json", "rows.jsonl"
_objects = ("settings", "versions", "program", "process", "by", "corrected", "judge_labels")
_fields: Any = {
    **dict.fromkeys(("name", "status", "started", "finished", "lm", "adapter"), (str | None, None)),
    **dict.fromkeys(_objects, (dict[str, Any], {})),
    "model": (dict[str, Any] | None, None),
    "gold": (dict[str, int | str | None], {}),
    "cost": (dict[str, float | dict[str, Any]], {}),
    "measures": (dict[str, dict[str, Any]], {}),
    "values": (dict[str, float], {}),
    "intervals": (dict[str, tuple[float, float]], {}),
    "value": (float, 0.0),
}
Head = create_model("Head", __config__=ConfigDict(strict=True), **_fields)
"""The shape of ``run.json``, as far as what lists and shows runs relies on it."""


def new_folder(runs: Path, name: str, lm: str | None = None) -> Path:
    """A new run folder, named after the time, the program and the model: no other run gets the same.

    ``runs/20261121-101500-extraction-smollm2-135m``
    """
    model = f"-{lm.rstrip('/').rpartition('/')[2]}" if lm else ""
    safe = re.sub(r"[^\w.-]+", "-", name + model).strip("-.")[:120] or "run"
    stem = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{safe}"
    with jsonl.writing(runs):
        runs.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            folder = runs / (stem if number == 1 else f"{stem}-{number}")
            with suppress(FileExistsError):
                folder.mkdir()  # either this makes it, or somebody else did
                break
    return folder


class Writer:
    """The one writer of a run folder, which is locked until it is closed.

    Rows are on disk as soon as they are made, so that a crash loses only what is in flight; secrets are hidden.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()  # a program may change the current folder
        with jsonl.writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.callback(os.close, locked(folder))
            self._rows = stack.enter_context(jsonl.Log(self.folder / ROWS))
            self._stack = stack.pop_all()

    def row(self, row: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """Append a row: the row without secrets, and the offset in the file at which it starts."""
        line = jsonl.dumps(row)
        if redact(line) != line:  # rare, so rows without secrets are not parsed again
            row = scrub(json.loads(line))
            line = jsonl.dumps(row)
        return row, self._rows.lines([line])

    def about(self, about: Mapping[str, object]) -> None:
        """Replace ``run.json``, whole or not at all."""
        self._rows.check_place()
        text = jsonl.dumps(scrub(json.loads(jsonl.dumps(about))), indent=1)
        jsonl.replace(self.folder / ABOUT, f"{text}\n")

    def close(self) -> None:
        """Close the files and unlock the folder."""
        self._stack.close()


def locked(folder: Path) -> int:
    """A handle that locks the folder for this process until it is closed.

    The lock is the operating system's: it goes with its process, so a process that was killed leaves none behind.

    Raises:
        GoldassayError: Another process has it.
    """
    with jsonl.writing(folder):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        process = read_about(folder).get("process") if (folder / ABOUT).exists() else None
        who = f" (process {process['id']} on {process['host']})" if process else ""
        raise GoldassayError(
            f"{folder} is being written by another run{who}; wait until it ends, or choose another folder"
        ) from None
    except OSError:  # a file system without locks
        pass
    return handle


def run_at(place: Path, runs: Path = Path("runs")) -> Path:
    """A run's folder, also by its name in ``runs``, as ``goldassay runs list`` shows it."""
    by_name = runs / place.name
    return by_name if not place.exists() and place.name == str(place) and by_name.is_dir() else place


def read_about(folder: Path) -> dict[str, Any]:
    """What ``run.json`` holds."""
    file = folder / ABOUT
    if not file.is_file():
        raise GoldassayError(f"no run at {folder}: expected {ABOUT} there (goldassay runs list names them)")
    content = file.read_bytes()
    about: dict[str, Any] = jsonl.value(content, file=file)
    try:
        Head.model_validate_json(content)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"][:2])) or None
        raise DataError("not a run: this has another shape than goldassay writes", file=file, field=place) from None
    return about


SAME = {
    "gold": "another gold",
    "program": "another program, or other prompts",
    "code": "another version of the program's code",
    "measures": "another measure",
    "metric": "another version of the metric's code",
    "model": "another model, or other settings of it",
    "adapter": "another adapter",
}


def about_run(
    program: Program, gold: Sequence[dspy.Example], metric: Metric, options: RunOptions, lm: dspy.BaseLM | None
) -> dict[str, Any]:
    """The head of ``run.json``. Gold and code are hashed only if the run has a folder.

    Args:
        program: What runs.
        gold: The examples.
        metric: What measures them.
        options: The options of the run.
        lm: The model that will be called.
    """
    import dspy

    stays = options.folder is not None or options.resume is not None
    function = getattr(metric, "function", None)
    labels = {name: dict(each) for name, each in (options.judge_labels or {}).items()}
    return {
        "schema": 1,
        "name": options.name,
        "settings": options.settings,
        "lm": None if lm is None else str(getattr(lm, "model", lm)),
        "model": described(lm),
        "adapter": type(options.adapter or dspy.settings.adapter or dspy.ChatAdapter()).__name__,
        "seed": options.seed,
        "repeats": options.repeats,
        "pass_mark": metric.pass_mark,
        "versions": {"goldassay": __version__, "dspy": version("dspy"), "python": platform.python_version()},
        "gold": {"examples": len(gold), "sha256": gold_hash(gold)},
        "program": {
            "class": type(program).__qualname__,
            "version": fingerprint(program) if hasattr(program, "named_predictors") else None,
            "settings": _settings(program),
        },
        "code": code_hash(program) if stays else None,
        "metric": code_hash(function) if stays and function is not None else None,
        "measures": described_measures(metric.measures, metric.weights, metric.targets),
        "process": {"id": os.getpid(), "host": platform.node()},
        "started": now(),
        "cost": {},
        **({"judge_labels": labels} if labels else {}),
    }


def described_measures(
    measures: Mapping[str, Measure[Any]], weights: Mapping[str, float] = {}, targets: Mapping[str, float] = {}
) -> dict[str, Any]:
    """Measures as ``run.json`` holds them: as they parse back, with conventions, weight and target."""
    return {
        key: {
            "measure": stored(measure),
            "conventions": measure.conventions,
            "weight": weights.get(key, 1.0),
            "target": targets.get(key),
        }
        for key, measure in measures.items()
    }


def _parts(thing: Any, seen: list[Any]) -> list[Any]:
    """The modules that a program consists of, without their histories, which hold thousands of prompts after a run."""
    inner: Any = thing.values() if isinstance(thing, dict) else thing if isinstance(thing, (list, tuple)) else ()
    if hasattr(thing, "named_sub_modules") and not any(thing is part for part in seen):
        seen.append(thing)
        inner = [value for name, value in vars(thing).items() if name != "history"]
    for value in inner:
        _parts(value, seen)
    return seen


def _settings(program: Program) -> str | None:
    """A hash of the strings and switches that a program was made with, and of its predictors' options for the model.

    Numbers are left out: a program may count in them.
    """
    settings = []
    for part in _parts(program, []):
        own = {} if type(part).__module__.startswith("dspy.") else vars(part)
        chosen = {key: value for key, value in own.items() if isinstance(value, (str, bool)) and key[0] != "_"}
        settings.append(chosen | ({"config": part.config} if getattr(part, "config", None) else {}))
    return _digest(settings) if any(settings) else None


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def described(lm: dspy.BaseLM | None) -> dict[str, Any] | None:
    """A model's settings that change its answers, without keys."""
    if lm is None:
        return None
    remember(lm)
    options = {
        str(key): scrub(json.loads(jsonl.dumps(value)))
        for key, value in sorted((getattr(lm, "kwargs", None) or {}).items())
        if not SETTING.search(str(key)) and not isinstance(value, Mapping) and value is not None
    }
    return {"name": str(getattr(lm, "model", type(lm).__name__)), **options}


def gold_hash(gold: Sequence[Any]) -> str:
    """A hash of the gold examples, in their order."""
    digest = hashlib.sha256()
    for example in gold:
        record = example.toDict() if hasattr(type(example), "toDict") else example
        digest.update(json.dumps(record, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def fingerprint(program: Program) -> str:
    """A hash of all instructions, field descriptions and demonstrations: the version that a patch applies to.

    A program whose prompts hold more than its predictors' demonstrations (such as the nearest examples of
    `goldassay.tuning.wrappers`) returns that from a method ``prompt_parts``.
    """
    parts: list[Any] = []
    module: Any = program
    for name, predictor in module.named_predictors():
        fields = {key: str(info.json_schema_extra.get("desc", "")) for key, info in predictor.signature.fields.items()}
        demos = [{key: demo[key] for key in demo.keys()} for demo in predictor.demos or []]  # noqa: SIM118
        parts.append([name, predictor.signature.instructions, fields, demos])
    if hasattr(type(program), "prompt_parts"):
        parts.append(module.prompt_parts())
    return _digest(parts)


def code_hash(code: Any) -> str:
    """A hash of the user's own code that a program or a function consists of.

    That is the source of the modules of its classes and of the modules that they import, without the standard library
    and installed packages. Code without a file (a cell of a notebook) counts by its own source.
    """
    parts = [code if inspect.isroutine(code) else type(code), *map(type, _parts(code, []))]
    digest, files = hashlib.sha256(), set[Path]()
    for kind in dict.fromkeys(base for part in parts for base in getattr(part, "__mro__", (part,))):
        module: Any = sys.modules.get(str(getattr(kind, "__module__", "")))
        file: Any = getattr(module, "__file__", None)
        if file and _own(Path(file)):
            files.update(_sources(Path(file).resolve()))
        elif not file or module.__name__ == "__main__":
            with suppress(OSError, TypeError):  # a cell of a notebook has a source, a line at a prompt has none
                digest.update(inspect.getsource(kind).encode())
    for path in sorted(files, key=lambda path: (path.name, path)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _own(file: Path) -> bool:
    """Whether a file holds the user's own code: not the standard library, an installed package, or ours."""
    path, paths = file.resolve(), sysconfig.get_paths()
    others = (paths["stdlib"], paths["platstdlib"], Path(__file__).parents[1])
    installed = not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
    return not installed and not any(path.is_relative_to(Path(other).resolve()) for other in others)


def _sources(file: Path) -> list[Path]:
    """A file and the user's own files that it imports, wherever in it; nothing is imported here."""
    files = [file]
    for place in files:  # and those that are added meanwhile
        for node in ast.walk(ast.parse(place.read_bytes())):
            names, folders = [], None
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module or ''}.{alias.name}".lstrip(".") for alias in node.names]
                folders = [str(place.parents[node.level - 1])] if node.level else None
            files += [origin for name in names for origin in _origins(name, folders) if origin not in files]
    return files


def _origins(name: str, folders: Any) -> Iterator[Path]:
    """The user's own files that an import of this name runs: packages, then the module, looked for in these folders."""
    for part in name.split("."):
        spec = PathFinder.find_spec(part, folders)
        origin = Path((spec and spec.origin) or "")
        if origin.suffix == ".py" and _own(origin):
            yield origin.resolve()
        folders = spec and spec.submodule_search_locations
        if not folders:
            return


def different(earlier: Mapping[str, object], about: Mapping[str, object]) -> str | None:
    """The first thing in which two runs differ."""
    return next((what for what in SAME if jsonl.dumps(earlier.get(what)) != jsonl.dumps(about.get(what))), None)


def now() -> str:
    """This moment, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")

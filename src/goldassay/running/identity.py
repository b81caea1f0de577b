"""What a run says of itself: with what it was made, so that it can be made again, gone on with, and compared.

A run is gone on with only as it was begun: the same gold, metric, model, adapter, and the same program, its prompts and
its code. Code is the text of the file that the program is written in, and of what that file imports from the workspace.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
import platform
import site
import sys
import sysconfig
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.metadata import version
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import dspy

from goldassay import __version__, jsonl
from goldassay.exceptions import ConventionError, GoldassayError
from goldassay.measure import Measure, stored
from goldassay.running.folder import being_written, read_about
from goldassay.running.secrets import SETTING

if TYPE_CHECKING:
    from goldassay.metric import Metric
    from goldassay.running.example import Program
    from goldassay.running.options import RunOptions

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
    """The head of ``run.json``; ``lm`` is the model that will be called.

    Gold and code are hashed only if the run has a folder.
    """
    stays = options.folder is not None or options.resume is not None
    function = getattr(metric, "function", None)
    labels = {name: dict(labels) for name, labels in (options.judge_labels or {}).items()}
    return {
        "schema": 1,
        "name": options.name,
        "settings": options.settings,
        "lm": None if lm is None else str(getattr(lm, "model", lm)),
        "model": described(lm),
        "adapter": type(options.adapter or dspy.settings.adapter or dspy.ChatAdapter()).__name__,
        "seed": options.seed,
        "versions": {"goldassay": __version__, "dspy": version("dspy"), "python": platform.python_version()},
        "gold": {"examples": len(gold), "sha256": gold_hash(gold) if stays else None},
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


def _settings(program: Program) -> str | None:
    """A hash of the words and switches that a program was made with, and of its predictors' settings of the model.

    Numbers are left out: a program may count in them what it does.
    """
    found: dict[str, Any] = {}
    for name, part in _modules(program):
        own = {} if type(part).__module__.startswith("dspy.") else vars(part)
        set_by = {key: value for key, value in own.items() if isinstance(value, (str, bool)) and key[0] != "_"}
        set_by |= {"config": part.config} if getattr(part, "config", None) else {}
        if set_by:
            found[name] = set_by
    return hashlib.sha256(json.dumps(found, sort_keys=True, default=str).encode()).hexdigest()[:16] if found else None


def _modules(program: Program) -> Iterator[tuple[str, Any]]:
    """The modules that a program is made of, by their names: what DSPy's ``named_sub_modules`` gives.

    That also looks through the history of every module: thousands of prompts, for a program that was run before.
    """
    waiting, seen = deque([("self", program)]) if isinstance(program, dspy.Module) else deque(), {id(program)}
    while waiting:
        name, part = waiting.popleft()
        inside: list[tuple[str, Any]] = []
        if isinstance(part, dspy.Module):
            yield name, part
            inside = [(f"{name}.{key}", one) for key, one in vars(part).items() if key != "history"]
        elif isinstance(part, (list, tuple)):
            inside = [(f"{name}[{place}]", one) for place, one in enumerate(part)]
        elif isinstance(part, dict):
            inside = [(f"{name}[{key}]", one) for key, one in part.items()]
        for key, one in inside:
            if id(one) not in seen:
                seen.add(id(one))
                waiting.append((key, one))


def described(lm: dspy.BaseLM) -> dict[str, Any] | None:
    """A model's settings that change what it answers: no keys, and no query of an address, which may hold one."""
    if lm is None:
        return None
    settings = getattr(lm, "kwargs", None)
    found = dict(settings) if isinstance(settings, Mapping) else {}
    options = {
        str(key): _plain_address(value) if isinstance(value, str) else _plain(value)
        for key, value in found.items()
        if not SETTING.search(str(key)) and not isinstance(value, Mapping) and value is not None
    }
    return {"name": str(getattr(lm, "model", type(lm).__name__)), **dict(sorted(options.items()))}


def _plain_address(text: str) -> str:
    if "://" not in text:
        return text
    parts = urlsplit(text)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def gold_hash(gold: Sequence[object]) -> str:
    """A hash of the gold examples, in their order."""
    digest = hashlib.sha256()
    for example in gold:
        record: object = example.toDict() if isinstance(example, dspy.Example) else example
        digest.update(json.dumps(record, sort_keys=True, ensure_ascii=True, default=str).encode())
    return digest.hexdigest()


def fingerprint(program: Program) -> str:
    """A hash of all instructions, field descriptions and demonstrations: the version that a patch applies to.

    A program that puts more than its predictors' demonstrations into its prompts (such as the nearest examples of
    `goldassay.tuning.wrappers`) says with a method ``prompt_parts`` what that is.
    """
    parts: list[list[Any]] = []
    made: Any = program
    for name, predictor in made.named_predictors():
        fields = {key: str(info.json_schema_extra.get("desc", "")) for key, info in predictor.signature.fields.items()}
        demos = [_shown(demo) for demo in predictor.demos or []]
        parts.append([name, predictor.signature.instructions, fields, demos])
    if hasattr(type(program), "prompt_parts"):
        parts.append(made.prompt_parts())
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _shown(demo: Any) -> dict[str, Any]:
    return {key: demo[key] for key in demo.keys()} if hasattr(demo, "keys") else dict(demo)  # noqa: SIM118


def code_hash(made: Any) -> str:
    """A hash of the code that a program or a function consists of, as far as it is the user's own.

    That is the source of the modules of its classes, and of the modules that they import, but for the standard library
    and installed packages. What was made without a file (at a prompt) counts by its compiled code.
    """
    made_of: list[Any] = [made if inspect.isroutine(made) else type(made)]
    made_of += [type(part) for _, part in _modules(made)]
    digest, files = hashlib.sha256(), dict[str, None]()
    for kind in dict.fromkeys(base for one in made_of for base in getattr(one, "__mro__", (one,))):
        home = str(getattr(kind, "__module__", None) or "")
        file = _file(sys.modules.get(home))
        if file:
            files |= dict.fromkeys([file, *_imported(file)])
        elif home == "__main__" or not getattr(sys.modules.get(home), "__file__", None):
            digest.update(repr(list(_compiled(kind))).encode())
    for file in sorted(files, key=lambda one: (Path(one).name, one)):
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()[:16]


def _compiled(kind: Any) -> Iterator[Any]:
    parts = [kind] if inspect.isroutine(kind) else list(vars(kind).values())
    for part in filter(inspect.isroutine, parts):
        code = getattr(inspect.unwrap(part), "__code__", None)
        if code is not None:
            yield from _bytes(code)


def _bytes(code: CodeType) -> Iterator[Any]:
    yield code.co_name, code.co_code, code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _bytes(constant)
        else:
            yield repr(constant)


PACKAGES = frozenset({"site-packages", "dist-packages"})
"""Folders of installed packages, in whatever environment."""


@lru_cache
def _installed() -> tuple[str, ...]:
    """Where code stands that is not the user's own."""
    paths = sysconfig.get_paths()
    places = [paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"], site.getusersitepackages()]
    own = str(Path(__file__).parents[1])
    return tuple(str(Path(place).resolve()) + "/" for place in (*places, own))


def _file(module: Any) -> str | None:
    """The file of a module that is the user's own."""
    return _own(getattr(module, "__file__", None))


def _own(place: str | None) -> str | None:
    if not place or not str(place).endswith(".py"):
        return None
    file = str(Path(place).resolve())
    elsewhere = not PACKAGES.isdisjoint(Path(file).parts)  # of the system, or of another environment on the path
    return None if elsewhere or file.startswith(_installed()) or not Path(file).is_file() else file


def _imported(file: str) -> list[str]:
    """The user's own files that a file imports, wherever in it, and what those import; also what was not loaded yet."""
    found: dict[str, None] = {file: None}
    todo = [file]
    while todo:
        place = todo.pop()
        try:
            tree = ast.parse(Path(place).read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError):
            continue
        for node in ast.walk(tree):
            others: list[str | None] = []
            if isinstance(node, ast.Import):
                others = [other for alias in node.names for other in _files_of(alias.name)]
            elif isinstance(node, ast.ImportFrom):
                said = node.module or ""
                names = [said, *(f"{said}.{alias.name}".lstrip(".") for alias in node.names)]
                home = [str(Path(place).parents[node.level - 1])] if node.level else None
                others = [other for name in names if name for other in _files_of(name, home)]
            for other in others:
                if other and other not in found:
                    found[other] = None
                    todo.append(other)
    return list(found)[1:]


def _files_of(name: str, inside: Sequence[str] | None = None) -> Iterator[str | None]:
    """The user's own files that an import of this name runs: packages, then the module. Nothing is imported here.

    ``inside`` are the folders to look in, for a relative import.
    """
    folders: Any = inside
    whole = ""
    for part in name.split("."):
        whole = f"{whole}.{part}".lstrip(".")
        module = sys.modules.get(whole) if inside is None else None
        spec = getattr(module, "__spec__", None) or PathFinder.find_spec(part, folders)
        yield _file(module) if module is not None else _own(spec.origin if spec is not None else None)
        folders = getattr(spec, "submodule_search_locations", None)
        if not folders:
            return


def refuse_another(earlier: Mapping[str, object], about: Mapping[str, object], folder: Path) -> None:
    """A run is only gone on with as it was begun."""
    wrong = different(earlier, about)
    if wrong is not None:
        shown = wrong in ("model", "adapter")
        detail = f" ({_short(earlier.get(wrong))} then, {_short(about.get(wrong))} now)" if shown else ""
        raise ConventionError(f"{folder} was begun with {SAME[wrong]}{detail}; start a new run")


def different(earlier: Mapping[str, object], about: Mapping[str, object]) -> str | None:
    """The first thing that two runs were made with that differs."""
    return next((what for what in SAME if _plain(earlier.get(what)) != _plain(about.get(what))), None)


def _plain(value: Any) -> Any:
    return json.loads(jsonl.dumps(value))


def _short(value: Any) -> str:
    text = ", ".join(f"{key} {inner}" for key, inner in value.items()) if isinstance(value, Mapping) else str(value)
    return text[:200]


def last_unfinished(runs: Path, about: Mapping[str, object]) -> Path | None:
    """The last run in a folder of runs that was made with the same things and did not come to its end."""
    for folder in sorted((file.parent for file in runs.glob("*/run.json")), reverse=True):
        try:
            earlier = read_about(folder)
        except (GoldassayError, OSError):
            continue
        if earlier.get("status") != "finished" and different(earlier, about) is None and not being_written(folder):
            return folder
    return None


def now() -> str:
    """This moment, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")

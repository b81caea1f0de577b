"""Hashes of gold, prompts and code, by which a run knows whether it may be resumed and what it may be compared with.

Code is the source of the file that the program is in, and of the user's files that it imports, without the standard
library and installed packages.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import json
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldassay.running.guard import Program


OTHERS = [
    Path(folder).resolve()
    for folder in (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), Path(__file__).parents[1])
]
"""The folders of the standard library and of this package."""


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
    parts: list[object] = []
    module: Any = program
    for name, predictor in module.named_predictors():
        fields = {key: str(info.json_schema_extra.get("desc", "")) for key, info in predictor.signature.fields.items()}
        demos = [{key: demo[key] for key in demo.keys()} for demo in predictor.demos or []]  # noqa: SIM118
        parts.append([name, predictor.signature.instructions, fields, demos])
    if hasattr(type(program), "prompt_parts"):
        parts.append(module.prompt_parts())
    return _digest(parts)


def settings_hash(program: Program) -> str | None:
    """A hash of the strings and switches that a program was made with, and of its predictors' options for the model.

    Numbers are left out: a program may count in them.
    """
    settings = []
    for module in modules_of(program):
        values = {} if type(module).__module__.startswith("dspy.") else vars(module)
        chosen = {key: value for key, value in values.items() if isinstance(value, (str, bool)) and key[0] != "_"}
        if config := getattr(module, "config", None):
            chosen["config"] = config
        settings.append(chosen)
    return _digest(settings) if any(settings) else None


def code_hash(code: Program) -> str:
    """A hash of the user's own code that a program or a function consists of.

    That is the source of the modules of its classes and of the modules that they import. Code without a file (a cell
    of a notebook) counts by its own source.
    """
    parts = [code if inspect.isroutine(code) else type(code), *map(type, modules_of(code))]
    digest = hashlib.sha256()
    files = set[Path]()
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


def function_hash(function: Callable[..., object]) -> str:
    """A hash of what a function computes: its code, its settings, and the user's functions that it calls.

    Two functions of one file differ, and a file may change around a function. Comments do not count.

    >>> def strict(gold, pred): return gold == pred
    >>> def lenient(gold, pred): return gold.strip() == pred.strip()
    >>> function_hash(strict) == function_hash(lenient), function_hash(strict) == function_hash(strict)
    (False, True)
    """
    parts: list[str] = []
    waiting: list[Any] = [function]
    seen: list[object] = []
    while waiting:
        part = inspect.unwrap(waiting.pop(0))
        if any(part is earlier for earlier in seen):
            continue
        seen.append(part)
        if isinstance(part, functools.partial):
            parts.append(repr((part.args, sorted(part.keywords.items()))))
            waiting.append(part.func)
            continue
        if not inspect.isroutine(part):
            parts.append(_plain(vars(part) if hasattr(part, "__dict__") else {}))
            part = vars(type(part)).get("__call__", type(part))
        part = getattr(part, "__func__", part)
        code: CodeType | None = getattr(part, "__code__", None)
        if code is None:
            parts.append(repr(getattr(part, "__qualname__", type(part))))
            continue
        routine: Any = part
        cells = []
        for cell in routine.__closure__ or ():
            with suppress(ValueError):  # it is empty
                cells.append(cell.cell_contents)
        used: list[object] = []
        for inner in _codes(code):  # what each does, not where it is
            constants = [_plain(value) for value in inner.co_consts if not isinstance(value, CodeType)]
            parts += [inner.co_code.hex(), *constants, *inner.co_names]
            used += [routine.__globals__[name] for name in inner.co_names if name in routine.__globals__]
        parts += [_plain(value) for value in (routine.__defaults__, routine.__kwdefaults__, *cells, *used)]
        for value in (*cells, *used):
            if inspect.isfunction(value) and _own(Path(value.__code__.co_filename)):
                waiting.append(value)
            elif isinstance(value, ModuleType) and value.__file__ and _own(file := Path(value.__file__)):
                parts.append(file.read_text(encoding="utf-8", errors="replace"))
    return _digest(parts)


def _codes(code: CodeType) -> list[CodeType]:
    """A code object and those in it."""
    return [code, *(part for value in code.co_consts if isinstance(value, CodeType) for part in _codes(value))]


def _plain(value: object) -> str:
    """A value as text; of one whose repr is an address its type."""
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_plain, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{','.join(sorted(map(_plain, value)))}}}"
    if isinstance(value, dict):
        return f"{{{','.join(f'{_plain(key)}:{_plain(item)}' for key, item in value.items())}}}"
    if isinstance(value, ModuleType) or inspect.isroutine(value) or inspect.isclass(value):
        return getattr(value, "__qualname__", value.__name__)
    text = repr(value)
    return f"<{type(value).__qualname__}>" if " at 0x" in text else text


def modules_of(program: Program) -> list[object]:
    """The modules that a program consists of, itself included; not the histories, which hold thousands of prompts."""
    modules: list[object] = []
    waiting: list[object] = [program]
    while waiting:
        thing = waiting.pop(0)
        inner: list[object] = []
        if isinstance(thing, dict):
            inner = list(thing.values())
        elif isinstance(thing, (list, tuple)):
            inner = list(thing)
        elif hasattr(thing, "named_sub_modules") and not any(thing is module for module in modules):
            modules.append(thing)
            inner = [value for name, value in vars(thing).items() if name != "history"]
        waiting = inner + waiting
    return modules


def _digest(value: Sequence[object] | Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _own(file: Path) -> bool:
    """Whether a file holds the user's own code: not the standard library, an installed package, or ours."""
    path = file.resolve()
    installed = not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
    return not installed and not any(map(path.is_relative_to, OTHERS))


def _sources(file: Path) -> list[Path]:
    """A file and the user's own files that it imports, directly or not; nothing is imported here."""
    files = [file]
    for path in files:  # and those that are added meanwhile
        for name, level in _imports(path.read_bytes()):
            folders = [str(path.parents[level - 1])] if level else None
            files += [origin for origin in _origins(name, folders) if origin not in files]
    return files


@functools.lru_cache(maxsize=256)
def _imports(source: bytes) -> list[tuple[str, int]]:
    """The imports of a source: names, each with the number of folders above in which it is sought, 0 for the path."""
    names: list[tuple[str, int]] = []
    for _ in range(9):  # while several threads parse, Python 3.11 fails now and then
        with suppress(SystemError):
            tree = ast.parse(source)
            break
    else:
        tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [(alias.name, 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [(f"{node.module or ''}.{alias.name}".lstrip("."), node.level) for alias in node.names]
    return names


def _origins(name: str, folders: Sequence[str] | None) -> Iterator[Path]:
    """The user's own files that an import of this name runs: packages, then the module, looked for in these folders."""
    for step in name.split("."):
        spec = PathFinder.find_spec(step, folders)
        origin = Path(spec.origin or "") if spec else Path()
        if origin.suffix == ".py" and _own(origin):
            yield origin.resolve()
        folders = spec.submodule_search_locations if spec else None
        if not folders:
            return

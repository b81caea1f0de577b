"""Extensions: what a package adds to goldassay, found through the entry points of the group ``goldassay``.

An entry point names an `Extension`. Ours (``goldassay.ext``) are listed in ``pyproject.toml`` like anybody's, and the
library below them works without them. An extension names what it has as object references, ``"package.module:name"``,
as entry points do; each is imported when somebody asks for it, so that listing commands or formats loads nothing.

    # pyproject.toml of a package
    [project.entry-points.goldassay]
    letters = "letters_format:extension"

    # letters_format.py
    from goldassay import Extension
    extension = Extension("letters", formats={"letters": "letters_format.reader:FORMAT"})
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, metadata
from typing import Any, Literal

from goldassay._support.exceptions import GoldassayError

GROUP = "goldassay"
Kind = Literal["commands", "formats", "protocols", "readers", "measures", "optimizers", "views"]


class ExtensionWarning(UserWarning):
    """Something that an extension has cannot be loaded, and is left out."""


@dataclass(frozen=True)
class Extension:
    """The names that a package adds; every value is an object reference, ``"package.module:name"``.

    Args:
        name: What the extension is called.
        commands: Commands of the command line by their words: ``{"gold draft": "letters.commands:draft"}``.
        formats: Formats of gold and predictions, each a `goldassay.gold.formats.Format`.
        protocols: Official protocols, each a `goldassay.measures.protocols.Protocol`.
        readers: Readers of what other tools leave: functions of a path that return runs, or None if it is not theirs.
        measures: Measures by task and a name, each a tuple: ``{"answering.letters": "letters.measures:MEASURES"}``.
        optimizers: Optimizers of ``tune``: functions of a `goldassay.tuning.optimizers.Job` that return a program.
        views: What a report shows of a file or folder: functions of a path that return a view, or None.

    >>> Extension("letters", formats={"letters": "letters_format.reader:FORMAT"}).formats["letters"]
    'letters_format.reader:FORMAT'
    """

    name: str
    commands: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    protocols: Mapping[str, str] = field(default_factory=dict)
    readers: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)
    optimizers: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)


@cache
def extensions() -> tuple[Extension, ...]:
    """The installed extensions, ours first; those that cannot be loaded are left out, with one warning for all."""
    points = metadata.entry_points(group=GROUP)
    loaded: dict[str, Extension] = {}
    faults: dict[str, list[str]] = {}
    for point in sorted(points, key=lambda point: (not point.module.startswith("goldassay."), point.name)):
        try:
            extension = point.load()
        except Exception as error:  # noqa: BLE001 - anybody's package, which must not end a command
            faults.setdefault(_one_line(error), []).append(point.name)
            continue
        if isinstance(extension, Extension):
            loaded.setdefault(point.value, extension)
        else:
            faults.setdefault(f"{point.value} is not a goldassay.Extension", []).append(point.name)
    if faults:
        reasons = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in faults.items())
        warnings.warn(f"extensions that cannot be loaded: {reasons}", ExtensionWarning, stacklevel=2)
    return tuple(loaded.values())


def registered(kind: Kind) -> dict[str, str]:
    """Everything of this kind that extensions have: the reference to each object by its name.

    Raises:
        GoldassayError: Two extensions have the same name for it.
    """
    references: dict[str, str] = {}
    for extension in extensions():
        for name, reference in getattr(extension, kind).items():
            if (other := references.setdefault(name, reference)) != reference:
                raise GoldassayError(f"two extensions have {name!r} among their {kind}: {other} and {reference}")
    return references


def load(reference: str) -> Any:
    """The object that ``"package.module:name"`` refers to.

    Raises:
        GoldassayError: It cannot be imported.

    >>> load("goldassay._support.extensions:GROUP")
    'goldassay'
    """
    module, _, name = reference.partition(":")
    try:
        return getattr(import_module(module), name)
    except GoldassayError:
        raise
    except Exception as error:
        raise GoldassayError(
            f"{reference}, which an extension registers, cannot be loaded: {_one_line(error)}"
        ) from error


def of_kind(kind: Kind, *, within: str = "") -> dict[str, Any]:
    """Everything of this kind that extensions have, loaded, by its name; what cannot be loaded is left out.

    Args:
        kind: The kind.
        within: The beginning of the names, as ``answering.`` of measures.
    """
    references = {name: reference for name, reference in registered(kind).items() if name.startswith(within)}
    return {name: thing for name, reference in references.items() if (thing := _load_or_warn(reference)) is not None}


@cache
def _load_or_warn(reference: str) -> Any:
    try:
        return load(reference)
    except GoldassayError as error:
        warnings.warn(str(error), ExtensionWarning, stacklevel=3)
        return None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__

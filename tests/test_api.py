"""The documented API: ``api.txt`` lists every public name, and each of them can be imported.

A name that is added or removed on purpose is written there by ``python tests/test_api.py``.
"""

from __future__ import annotations

import runpy
from importlib import import_module
from pathlib import Path

from goldassay.core.measure import Measure

LIST = Path(__file__).with_name("api.txt")
MOST = 200  # beside the classes of measures and the functions of the first specification


def documented() -> str:
    """The packages and names of the reference, one package a line."""
    api = runpy.run_path(str(LIST.parents[1] / "docs" / "generate.py"), run_name="generate")["api"]()
    return "".join(f"{package}: {' '.join(names)}\n" for package, names in api.items())


def test_the_reference_documents_the_listed_names() -> None:
    assert documented() == LIST.read_text(encoding="utf-8"), f"run: python {Path(__file__).name}"


def test_every_listed_name_can_be_imported() -> None:
    lines = [line.split(": ") for line in LIST.read_text(encoding="utf-8").splitlines()]
    names = [(package, name) for package, rest in lines for name in rest.split()]
    for package, name in names:
        assert hasattr(import_module(package), name), f"{package}.{name}"
    things = [getattr(import_module(package), name) for package, name in names if not package.endswith("compat")]
    assert sum(not (isinstance(thing, type) and issubclass(thing, Measure)) for thing in things) <= MOST


if __name__ == "__main__":
    LIST.write_text(documented(), encoding="utf-8")

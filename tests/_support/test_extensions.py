"""Extensions are found by entry points; one that is broken is a warning of one line, and the rest works."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from types import ModuleType

import pytest

from goldassay import Extension, GoldassayError
from goldassay._support import extensions
from goldassay._support.extensions import ExtensionWarning
from goldassay.tuning.optimizers import resolve

Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs these objects as the extensions of a package; without arguments there are none."""

    def put(**objects: object) -> None:
        module = ModuleType("letters_format")
        vars(module).update(objects, FORMAT="the format")
        monkeypatch.setitem(sys.modules, "letters_format", module)
        points = [metadata.EntryPoint(name, f"letters_format:{name}", extensions.GROUP) for name in objects]
        points.append(metadata.EntryPoint("gone", "no_such_package:extension", extensions.GROUP))
        monkeypatch.setattr(metadata, "entry_points", lambda group: points if objects else [])
        extensions.extensions.cache_clear()

    yield put
    monkeypatch.undo()
    extensions.extensions.cache_clear()


def test_an_extension_is_found_and_loads_what_it_has_when_asked(install: Install) -> None:
    install(letters=Extension("letters", formats={"letters": "letters_format:FORMAT", "none": "letters_format:NONE"}))
    with pytest.warns(ExtensionWarning, match="gone"):
        assert extensions.registered("formats")["letters"] == "letters_format:FORMAT"
    with pytest.warns(ExtensionWarning, match="letters_format:NONE"):
        assert extensions.of_kind("formats") == {"letters": "the format"}
    assert extensions.registered("commands") == {}


def test_those_that_cannot_be_loaded_are_one_line(install: Install) -> None:
    install(letters=Extension("letters"), words="no extension")
    with pytest.warns(ExtensionWarning) as caught:
        assert [extension.name for extension in extensions.extensions()] == ["letters"]
    (warning,) = caught
    text = str(warning.message)
    assert "\n" not in text
    assert "gone (No module named 'no_such_package')" in text
    assert "words (letters_format:words is not a goldassay.Extension)" in text
    extensions.registered("formats")  # and said once


@pytest.mark.filterwarnings("ignore::goldassay._support.extensions.ExtensionWarning")
def test_an_optimizer_of_an_extension_is_found_by_its_name(install: Install) -> None:
    """It was registered, and ``tune`` did not know it."""
    install(letters=Extension("letters", optimizers={"shuffle": "letters_format:FORMAT"}))
    optimizer = resolve("shuffle")
    assert (optimizer.name, str(optimizer.optimize)) == ("shuffle", "the format")
    with pytest.raises(GoldassayError, match="no optimizer 'magic'; there are .*, shuffle, and DSPy's own names"):
        resolve("magic")


@pytest.mark.filterwarnings("ignore::goldassay._support.extensions.ExtensionWarning")
def test_two_with_one_name_for_something_are_refused(install: Install) -> None:
    formats = {"letters": "letters_format:FORMAT"}
    install(letters=Extension("letters", formats=formats), words=Extension("words", formats=formats))
    assert extensions.registered("formats") == formats  # the same object twice is no conflict
    install(letters=Extension("letters", formats=formats), words=Extension("words", formats={"letters": "words:F"}))
    with pytest.raises(GoldassayError, match="two extensions have 'letters' among their formats"):
        extensions.registered("formats")


def test_what_cannot_be_imported_is_an_error_of_one_line() -> None:
    with pytest.raises(GoldassayError, match="no_such_package:x.*cannot be loaded: No module named 'no_such_package'"):
        extensions.load("no_such_package:x")

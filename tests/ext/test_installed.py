"""The extensions that come with goldassay are installed with it, and everything that they register can be loaded."""

from __future__ import annotations

from typing import get_args

import pytest

from goldassay._support import extensions


def test_ours_are_installed() -> None:
    names = [extension.name for extension in extensions.extensions()]
    assert names[:5] == ["compat", "interop", "labelling", "protocols", "wikidata"]


@pytest.mark.parametrize("kind", get_args(extensions.Kind))
def test_what_they_register_can_be_loaded(kind: extensions.Kind) -> None:
    for reference in extensions.registered(kind).values():
        if reference.startswith("goldassay."):
            assert extensions.load(reference) is not None

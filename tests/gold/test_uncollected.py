"""The pause of the garbage collector: it is as before afterwards, and garbage is still found."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from goldassay.files import uncollected


class Ring:
    """An object that holds itself: only the collector frees it."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_it_is_off_inside_and_as_before_afterwards() -> None:
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled()


def test_an_error_does_not_leave_it_off() -> None:
    with pytest.raises(ValueError, match="boom"), uncollected():
        raise ValueError("boom")
    assert gc.isenabled()


def test_the_next_round_does_not_walk_through_what_was_made() -> None:
    with uncollected():
        made = [[number] for number in range(5000)]
    assert len(gc.get_objects(generation=0)) < 1000
    assert gc.get_freeze_count() == 0
    assert len(made) == 5000


def test_garbage_made_inside_is_found_later() -> None:
    with uncollected():
        gone = weakref.ref(Ring())
    assert gone() is not None
    gc.collect()
    assert gone() is None


def test_what_a_person_froze_stays_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with uncollected():
        pass
    assert 0.99 * frozen < gc.get_freeze_count() <= frozen  # some of them die meanwhile; none are given back

"""One-to-one assignment beside every assignment there is."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay.measures.assignment import assign


@drawn(80)
@given(st.lists(st.lists(st.integers(0, 4), unique=True, max_size=4), max_size=5))
def test_the_assignment_is_the_largest(candidates: list[list[int]]) -> None:
    pairs = assign(dict(enumerate(candidates)))
    assert len(set(pairs.values())) == len(pairs)
    assert all(index in candidates[row] for row, index in pairs.items())
    best = max(
        sum(1 for row, index in enumerate(order[: len(candidates)]) if index in candidates[row])
        for order in itertools.permutations(range(5))
    )
    assert len(pairs) == best

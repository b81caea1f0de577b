"""Tags to spans, both readings, against seqeval 1.2.2 on random sequences, malformed ones included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, IOE1, IOE2, Entities
from tests.nightly import drawn

from goldassay.text import spans as tagging

SCHEMES = {"IOB1": IOB1, "IOB2": IOB2, "IOE1": IOE1, "IOE2": IOE2, "IOBES": IOBES, "BILOU": BILOU}


def sequences(scheme: str) -> st.SearchStrategy[list[str]]:
    letters = tagging.TAG_PREFIXES[scheme]
    return st.lists(st.sampled_from(["O", *(f"{letter}-{kind}" for letter in letters for kind in "XY")]), max_size=9)


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "IOE1", "IOE2", "IOBES"])
@drawn(60)
@given(data=st.data())
def test_the_reading_of_conlleval(scheme: str, data: st.DataObject) -> None:
    tags = data.draw(sequences(scheme))
    expected = [(start, end + 1, kind) for kind, start, end in get_entities(tags)]
    assert tagging.spans(tags, scheme) == expected


@pytest.mark.parametrize("scheme", list(SCHEMES))
@drawn(80)
@given(data=st.data())
def test_the_strict_reading(scheme: str, data: st.DataObject) -> None:
    tags = data.draw(sequences(scheme))
    expected = [(e.start, e.end, e.tag) for e in Entities([tags], SCHEMES[scheme]).entities[0]]
    assert tagging.spans(tags, scheme, "strict") == expected

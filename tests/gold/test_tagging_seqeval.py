"""Tags to spans, both readings, against seqeval 1.2.2 on random sequences, malformed ones included."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, IOE1, IOE2, Entities

from goldassay.gold import tokens as marking
from goldassay.text import tagging

SCHEMES = {"IOB1": IOB1, "IOB2": IOB2, "IOE1": IOE1, "IOE2": IOE2, "IOBES": IOBES, "BILOU": BILOU}


def sequences(scheme: str) -> st.SearchStrategy[list[str]]:
    letters = tagging.PREFIXES[scheme]
    return st.lists(st.sampled_from(["O", *(f"{letter}-{kind}" for letter in letters for kind in "XY")]), max_size=9)


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "IOE1", "IOE2", "IOBES"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_reading_of_conlleval(scheme: str, data: st.DataObject) -> None:
    tags = data.draw(sequences(scheme))
    expected = [(start, end + 1, kind) for kind, start, end in get_entities(tags)]
    assert tagging.spans(tags, scheme) == expected


@pytest.mark.parametrize("scheme", list(SCHEMES))
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_the_strict_reading(scheme: str, data: st.DataObject) -> None:
    tags = data.draw(sequences(scheme))
    expected = [(e.start, e.end, e.tag) for e in Entities([tags], SCHEMES[scheme]).entities[0]]
    assert tagging.spans(tags, scheme, "strict") == expected


@pytest.mark.parametrize("scheme", list(SCHEMES))
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_written_tags_are_read_back_in_both_readings(scheme: str, data: st.DataObject) -> None:
    spans, place = [], 0
    for gap, size in data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), max_size=4)):
        spans.append((place + gap, place + gap + size, data.draw(st.sampled_from("XY"))))
        place += gap + size
    tags = marking.tags(spans, place + 1, scheme)
    assert tagging.spans(tags, scheme) == spans
    if scheme != "IOE1":  # not finished in seqeval, as its source says: an entity that begins with E is lost
        assert tagging.spans(tags, scheme, "strict") == spans

"""The law of defaults: gold against itself has the best value in every value of the scorecard, whatever it looks like.

Labels, types, ids and fields of records are generated: one letter, numbers, Unicode, empty sets. No form of them may
choose another convention.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn
from tests.perfect import attains_one, perfect_for

from goldassay.text import normal

from .test_laws import module

WORDS = st.text(st.characters(categories=("L", "Nd"), include_characters="-.'"), min_size=1, max_size=6)
NAMES = st.one_of(
    st.sampled_from("PNSMLAB"),
    st.integers(-3, 30).map(str),
    st.sampled_from(["NULL", "None", "0", "nan", "O", "Ünïcode", "博物館", "GRP.HER.MUS", "P31", "true", "-1"]),
    WORDS.filter(lambda word: any(map(str.isalnum, word)) and not word.upper().startswith("NIL")),
)
SIGNS = st.one_of(NAMES, st.sampled_from(["&", "%", "👍", "½", "_", "NIL1", "the", "İ"]))
TEXT = "Delft, Gouda and Leiden"
SPANS = st.sampled_from([(0, 5), (7, 12), (17, 23), (7, 23)])


def spans(rows: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Some of the four spans, each with the fields of a row."""
    placed = st.tuples(SPANS, rows).map(lambda pair: {"start": pair[0][0], "end": pair[0][1], **pair[1]})
    return st.lists(placed, unique_by=lambda span: (span["start"], span["end"]), max_size=3)


def any_relevant(grades: dict[str, int]) -> bool:
    """Whether there is anything to find."""
    return any(grades.values())


def said(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Triples with a text that has all their words."""
    return {"text": " ".join(word for row in rows for word in row.values()), "triples": rows}


# An answer that is nothing but an article is left out beside others, as SQuAD 2.0 does.
ANSWERS = st.lists(NAMES.filter(lambda name: normal.squad(name) and normal.unicode(name)), unique=True, max_size=3)
SETS = st.lists(NAMES, unique=True, max_size=3)
VALUES = st.one_of(NAMES, st.integers(), st.booleans(), st.none(), st.floats(-1e6, 1e6), SETS)
RECORDS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "extraction": spans(st.fixed_dictionaries({"type": SIGNS})).map(lambda rows: {"text": TEXT, "entities": rows}),
    "classification": st.fixed_dictionaries({"label": SIGNS}, optional={"secondary_labels": SETS}),
    "classification of sets": st.fixed_dictionaries({"labels": SETS}),
    "classification of grades": st.fixed_dictionaries({"score": st.integers(-5, 5)}),
    "linking": spans(st.fixed_dictionaries({"ids": st.lists(NAMES, max_size=2, unique=True)})).map(
        lambda rows: {"text": TEXT, "links": rows}
    ),
    "retrieval": st.fixed_dictionaries(  # where nothing is relevant, trec_eval has 0
        {
            "query": NAMES,
            "relevant": st.dictionaries(NAMES, st.integers(0, 3), min_size=1, max_size=4).filter(any_relevant),
        }
    ),
    "answering": st.builds(  # the names of gold are given, since those found in a text are a heuristic
        lambda question, answers: {"question": question, "answers": answers, "entities": answers}, NAMES, ANSWERS
    ),
    "triples": st.lists(st.fixed_dictionaries({"subject": SIGNS, "predicate": SIGNS, "object": SIGNS}), max_size=3).map(
        said
    ),
    "records": st.dictionaries(NAMES, VALUES, max_size=3).map(lambda record: {"record": record}),
    "trajectories": st.lists(
        st.fixed_dictionaries({"name": NAMES, "args": st.dictionaries(NAMES, VALUES, max_size=2)}), max_size=3
    ).map(lambda calls: {"question": "Who?", "calls": calls}),
}


@pytest.mark.parametrize("kind", RECORDS)
@drawn(60)
@given(data=st.data())
def test_gold_against_itself_has_the_best_value_in_every_value(kind: str, data: st.DataObject) -> None:
    task = kind.partition(" ")[0]
    gold = data.draw(st.lists(RECORDS[kind], min_size=1, max_size=4))
    gold = [{"id": str(place), **record} for place, record in enumerate(gold)]
    card = module(task).scorecard(gold, [perfect_for(task)(record) for record in gold])
    for name, value in card.values.items():
        if name in ("steps", "cost_ratio"):  # they describe: gold has as many steps as it has
            continue
        measure = card.measures[name]
        low, high = measure.limits
        ascii_only = "tokenizer=rouge-score" in card.conventions[name]  # rouge-score has no words but those of a to z
        attainable = attains_one(measure) and (not ascii_only or str(gold).isascii())
        if value is not None and (measure.lower_is_better or attainable):
            assert value == pytest.approx(low if measure.lower_is_better else high), name

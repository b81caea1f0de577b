"""Sets of examples, raced: the best one wins, on examples that no test sees, and nothing is asked twice."""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay.measures import extraction
from goldassay.tuning import Patches
from goldassay.tuning.edits import Diagnosis, nearest_examples, selected_examples, show_nearest
from goldassay.tuning.measuring import Bench, Race, count_measured, race_calls
from goldassay.tuning.patches import apply
from goldassay.tuning.wrappers import NearestDemos, demonstrations, inmost

METRIC = Metric(extraction.SpanF1())
PLACES = ["Delft", "Gouda", "Leiden", "Breda", "Arnhem", "Venlo", "Sneek", "Hoorn", "Tiel", "Zwolle", "Goes", "Edam"]

WORDS = ["castle", "river", "stone", "church", "painter", "canal", "bridge", "market", "tower", "garden", "archive"]
WORDS += ["library", "street", "king", "queen", "harbour", "wool", "silver", "clock", "brick", "glass", "field", "mill"]


def example(number: int, place: str, year: str = "", like: int = 0) -> dspy.Example:
    """A sentence with a place, and with a year where there is one: only such a one teaches what a year is."""
    own, others = (random.Random(item).sample(WORDS, 7) for item in (number, like or number))
    words = " ".join([*others[:4], *own[4:]])
    text = f"{words} in {place}" + (f" of {year}" if year else "")
    result = [(place, "TOP"), *([(year, "TMP")] if year else [])]
    spans = [
        {"start": text.rindex(word), "end": text.rindex(word) + len(word), "type": kind, "text": word}
        for word, kind in result
    ]
    return dspy.Example(id=str(number), text=text, entities=spans).with_inputs("text")


TRAIN = [
    example(each_number, PLACES[each_number % 12], str(1800 + each_number) if each_number % 4 == 0 else "")
    for each_number in range(100, 160)
]
DEV = [example(part, PLACES[part % 12], str(1900 + part)) for part in range(200, 216)]


def taught(program: Any) -> bool:
    """Whether the examples that are shown teach what a year is."""
    return "TMP" in json.dumps(program.examples)


def test_the_set_that_teaches_wins_and_every_input_is_shown_it_in_one_order(lm: Any, names_program: Any) -> None:
    optimizer = Patches(METRIC, bundles=[[partial(selected_examples, k=1, sets=12)]], most=20)
    with dspy.context(lm=lm):
        program: Any = optimizer.compile(names_program, trainset=demonstrations(names_program, TRAIN), valset=DEV)
    assert taught(program)
    assert program.nearest(text="a letter") == program.nearest(text="a mill of 1816") == program.examples
    assert program.nearest(text=program.examples[0]["text"]) == []  # it would give its own answer away
    (patch,) = optimizer.ledger.kept
    assert patch.edit == "the same 1 examples for every input"
    assert "the best of 12 sets of 1 on 24 other train examples: " in patch.rationale
    assert "TMP" in json.dumps(
        next(example["entities"] for example in TRAIN if str(example["id"]) == patch.examples[0])
    )


def test_a_set_takes_the_place_of_the_nearest_and_the_other_way_round(names_program: Any) -> None:
    train = demonstrations(names_program, TRAIN)
    near = NearestDemos(2).compile(names_program, trainset=train[:10])
    program: Any = apply(near, show_nearest(_found(near, None), 2, train[20:22], "selected"), any_version=True)
    assert type(inmost(program)) is type(names_program)
    assert [example["text"] for example in program.nearest(text="x")] == [item["text"] for item in train[20:22]]
    assert len(near.examples) == 10  # the program that was given stays as it is


def _found(program: Any, race: Race | None) -> Any:
    return Diagnosis([], program, TRAIN, race=race)


@pytest.mark.nightly
def test_a_set_that_is_better_by_the_estimate_takes_the_place_of_the_nearest(lm: Any, names_program: Any) -> None:
    bundles: Any = [[partial(nearest_examples, k=1)], [partial(selected_examples, k=1, sets=12)]]
    optimizer = Patches(METRIC, bundles=bundles, most=16, keep=0.1)
    near_years = [100 + 4 * number for number in range(14)] + [
        101,
        102,
    ]  # the last two are near examples without a year
    dev = [
        example(200 + at, PLACES[at % 12], str(1900 + at), like=near_year) for at, near_year in enumerate(near_years)
    ]
    with dspy.context(lm=lm):
        program = optimizer.compile(names_program, trainset=demonstrations(names_program, TRAIN), valset=dev)
    near, chosen = optimizer.ledger.entries
    assert (near["status"], chosen["status"]) == ("kept", "kept")
    assert 0 < chosen["train+dev"]["difference"] < near["train+dev"]["difference"]
    assert chosen["train+dev"]["p"] > optimizer.options.keep / 2  # too little for an edit that comes on top
    assert len(program.examples) == 1
    assert [patch.proposer for patch in optimizer.ledger.kept] == ["selected"]
    assert "selected examples took its place" in [item.reason for item in optimizer.ledger.patches]


def test_a_race_is_on_what_the_campaign_leaves_of_train() -> None:
    race = Race.on(Bench([*DEV, *TRAIN[:10]], METRIC), TRAIN)
    assert race is not None
    assert len(race.bench.examples) == 24
    raced, output = ({str(item["id"]) for item in some} for some in (race.bench.examples, race.pool))
    assert not raced & output
    assert raced | output == {str(example["id"]) for example in TRAIN[10:]}
    assert Race.on(Bench([*DEV, *TRAIN[:50]], METRIC), TRAIN) is None
    assert selected_examples(_found(dspy.Predict("text -> mentions"), race), 20) == {}


def test_a_race_takes_no_document_that_is_measured() -> None:
    train = [example.copy(document=f"page {place // 5}").with_inputs("text") for place, example in enumerate(TRAIN)]
    race = Race.on(Bench([*DEV, *train[:8]], METRIC), train)
    assert race is not None
    assert [item["id"] for item in (*race.bench.examples, *race.pool)] == [
        each_example["id"] for each_example in train[10:]
    ]


def test_by_default_a_third_of_train_is_left_for_the_race(lm: Any, names_program: Any) -> None:
    train = demonstrations(names_program, TRAIN)
    optimizer = Patches(METRIC, bundles=[[partial(selected_examples, k=1, sets=6)]])
    with dspy.context(lm=lm):
        optimizer.compile(names_program, trainset=train, valset=DEV)
    (entry,) = optimizer.ledger.entries
    assert "the best of 6 sets of 1 on 10 other train examples" in optimizer.ledger.patches[0].rationale
    assert entry["train+dev"]["n"] <= 16 + count_measured(60, 16) == 56


def test_where_all_of_train_is_one_document_all_of_it_is_measured(lm: Any, names_program: Any) -> None:
    train = [
        demonstration.copy(document="a").with_inputs("text") for demonstration in demonstrations(names_program, TRAIN)
    ]
    optimizer = Patches(METRIC, bundles=[[partial(nearest_examples, k=1)], [partial(selected_examples, k=1)]])
    with dspy.context(lm=lm):
        optimizer.compile(names_program, trainset=train, valset=DEV)
    (entry,) = optimizer.ledger.entries
    assert entry["train+dev"]["n"] == 16 + 60


def test_the_calls_of_a_race_are_those_that_it_makes() -> None:
    assert race_calls(48, sets=8) == 8 * 8 + 4 * 8 + 2 * 8
    assert [race_calls(spare) for spare in (0, 15, 16)] == [0, 0, 6 * 3 + 3 * 3 + 2 * 2]


def test_the_best_program_wins_and_the_others_are_left_early(lm: Any, learner: Any, names_program: Any) -> None:
    train = demonstrations(names_program, TRAIN)
    race = Race.on(Bench(DEV, METRIC), train)
    assert race is not None
    programs = [NearestDemos(1).compile(names_program, trainset=[example]) for example in train[:8]]
    with dspy.context(lm=lm):
        best, values = race.winner(programs)
    assert taught(programs[best])
    assert values[best] == max(values)
    assert learner.calls == 8 * 8 + 4 * 8 + 2 * 8  # successive halving of 24 examples


def test_a_race_that_was_killed_goes_on(lm: Any, learner: Any, names_program: Any, tmp_path: Path) -> None:
    train = demonstrations(names_program, TRAIN)
    programs = [NearestDemos(1).compile(names_program, trainset=[example]) for example in train[:4]]
    results = []
    for _ in range(2):
        race = Race.on(Bench(DEV, METRIC, journal=tmp_path / "measured.jsonl"), train)
        assert race is not None
        with dspy.context(lm=lm):
            results.append(race.winner(programs))
    assert results[0] == results[1]
    assert learner.calls == 4 * 8 + 2 * 8 + 8
    assert not (tmp_path / "measured.jsonl").exists()


@pytest.mark.parametrize("sets", [1, 3])
def test_a_program_that_can_be_shown_nothing_has_no_sets(sets: int) -> None:
    race = Race.on(Bench(DEV, METRIC), TRAIN)
    assert selected_examples(_found(dspy.Predict("question -> answer"), race), 2, sets) == {}

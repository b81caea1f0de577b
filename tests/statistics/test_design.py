"""Gold that says how it was chosen, and every way in which that can be broken."""

from __future__ import annotations

from typing import Any

import dspy
import pytest

from goldassay._support.exceptions import DataError
from goldassay.statistics.design import SIMPLE, Design, Sampling


def record(name: str, stratum: str = "disagree", size: int = 3, **sampling: Any) -> dict[str, Any]:
    about = {"question": "compare", "stratum": stratum, "size": size, "population": 10, "seed": 7, "position": 0}
    return {"id": name, "label": "M", "sampling": {**about, "systems": ["a", "b"], **sampling}}


def test_records_without_a_sampling_have_no_design() -> None:
    assert Design.of([{"id": "a", "label": "M"}, {"id": "b", "label": "L", "sampling": None}]) is SIMPLE
    assert Design.of([]) is SIMPLE


def test_a_design_is_read_from_its_records() -> None:
    design = Design.of([record("x"), record("y", "agree", 7, position=1), record("z", position=2)])
    assert design is not None
    assert (design.question, design.population, design.systems) == ("compare", 10, ("a", "b"))
    assert design.sizes == {"disagree": 3, "agree": 7}
    assert design.places == {"disagree": [0, 2], "agree": [1]}
    assert design.labels == {"disagree": 2, "agree": 1}
    assert [each.position for each in design.samplings] == [0, 1, 2]


@pytest.mark.parametrize("right", [1, 6])
def test_plain_numbers_between_0_and_1_have_an_interval_between_them(right: int) -> None:
    samplings = [
        Sampling(question="level", stratum="all", size=60, population=60, position=position) for position in range(6)
    ]
    design = Design.of([{"id": str(each.position), "sampling": each} for each in samplings])
    found = design.interval([1.0] * right + [0.0] * (6 - right))
    assert 0 <= found.low < found.value <= found.high <= 1
    assert found.high - found.low > 0.2
    assert found.method == "design, wilson"


def test_examples_of_dspy_and_samplings_are_records_too() -> None:
    sampling = Sampling(question="level", stratum="all", size=5, population=5, position=4)
    design = Design.of([dspy.Example(id="a", label="M", sampling=sampling)])
    assert design is not None
    assert design.strata == {"all": sampling}


def test_a_sampling_reads_back_from_its_json() -> None:
    sampling = Sampling(
        question="errors",
        stratum="likely",
        size=4,
        population=9,
        position=0,
        systems=("a",),
        predicted={"a": 11},
        verdict=0.5,
        verdict_mean=0.4,
    )
    assert Sampling.model_validate_json(sampling.model_dump_json()) == sampling


BROKEN: dict[str, tuple[list[dict[str, Any]], str, str | None]] = {
    "an unknown question": ([record("x", question="best")], "sampling.question", "x"),
    "a field that there is not": ([record("x", weight=2)], "sampling.weight", "x"),
    "a stratum without inputs": ([record("x", size=0)], "sampling.size", "x"),
    "a place outside of its stratum": ([record("x", position=3)], "sampling", "x"),
    "a stratum larger than the population": ([record("x", size=11)], "sampling", "x"),
    "a verdict without its mean": ([record("x", verdict=1.0)], "sampling", "x"),
    "no object": ([{"id": "x", "sampling": "disagree"}], "sampling", "x"),
    "labels outside the design": ([record("x"), {"id": "y", "label": "M"}], "labels outside the design", "y"),
    "two questions": ([record("x"), record("y", question="level")], "two designs", "y"),
    "two seeds": ([record("x"), record("y", seed=8)], "two designs", "y"),
    "two populations": ([record("x"), record("y", population=11)], "two designs", "y"),
    "two sizes of one stratum": ([record("x"), record("y", size=4)], "two designs", "y"),
    "two counts of one stratum": ([record("x"), record("y", predicted={"a": 1})], "two designs", "y"),
    "more labels than inputs": ([record(name, size=1) for name in "xy"], "more labels than the 1 inputs", "y"),
    "strata beyond the population": ([record("x", size=6), record("y", "agree", 5)], "more inputs than", None),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_design_is_one_line_with_its_place(case: str) -> None:
    records, part, name = BROKEN[case]
    with pytest.raises(DataError) as error:
        Design.of(records, "gold.jsonl")
    message = str(error.value)
    assert message.startswith("gold.jsonl:")
    assert part in message
    assert error.value.record == name
    assert "\n" not in message

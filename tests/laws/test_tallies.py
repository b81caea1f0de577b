"""Laws of every kind of tally that the library has, and of one that a user derives from `Tally`."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from tests.laws.test_laws import pairs, registered, tallies

import goldassay.statistics.agreement
from goldassay.core.evidence import Chunks, chosen, row, scaled, stacked
from goldassay.core.measure import TASKS, Measure
from goldassay.core.tally import Keyed, Mean, Tally

for task in TASKS:
    importlib.import_module(f"goldassay.measures.{task}")
assert goldassay.statistics.agreement


@dataclass(frozen=True)
class Longest(Tally):
    """A tally of a user's own: the mean length of words, and none of the optional members."""

    letters: Any = 0.0
    words: Any = 0.0

    def __add__(self, other: Self) -> Self:
        return type(self)(self.letters + other.letters, self.words + other.words)

    @property
    def value(self) -> float:
        return float(self.letters / self.words) if self.words else 1.0

    @property
    def weight(self) -> Any:
        return self.words

    def state(self) -> dict[str, Any]:
        return {"letters": self.letters, "words": self.words}

    def from_state(self, state: Mapping[str, Any]) -> Self:
        return type(self)(**state)


def kinds(kind: type[Tally] = Tally) -> Iterator[type[Tally]]:
    for derived in kind.__subclasses__():
        if derived.__module__.startswith("goldassay.") and not inspect.isabstract(derived):
            yield derived
        yield from kinds(derived)


KINDS = sorted(set(kinds()) - {Keyed}, key=lambda kind: (kind.__module__, kind.__name__))
measures = pytest.mark.parametrize(("task", "measure"), registered())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_without_arguments_it_is_zero(kind: type[Any]) -> None:
    zero = kind()
    assert zero + zero == zero
    assert type(zero.from_state(zero.state())) is kind
    assert zero.from_state(json.loads(json.dumps(zero.state()))) == zero


@pytest.mark.parametrize("kind", [k for k in KINDS if issubclass(k, Keyed)], ids=lambda kind: kind.__name__)
def test_the_settings_are_the_arguments_of_the_constructor(kind: type[Any]) -> None:
    settings = [each.name for each in fields(kind)]
    assert list(inspect.signature(kind).parameters) == ["evidence", *settings]
    marked = kind({}, **{name: f"the {name}" for name in settings if name not in ("weights", "worst")})
    for other in (marked.with_items({}), marked + kind(), marked.from_state({})):
        assert vars(other) == vars(marked)


@dataclass(frozen=True)
class Length(Measure[Mean, list[str]]):
    """The mean number of predicted words; its batch lists texts, not pairs."""

    task = "extraction"
    name = "length"
    zero: ClassVar[Mean] = Mean()

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> list[str]:
        return list(map(str, pred))

    def tally(self, text: str) -> Mean:
        return Mean.of(len(text.split()))


def test_an_item_of_a_batch_that_is_no_pair_is_tallied_as_it_is() -> None:
    corpus = Length().tallies(Length().batch(["", ""], ["one word", "no more than these"]))
    assert corpus.summed.value == 3.0  # (2 + 4) / 2
    assert Length()("", "three words here").tally.value == 3.0


@measures
def test_many_examples_in_one_tally_are_the_examples(task: str, measure: Measure) -> None:
    """Columns, sums, choices and weights of arrays say what the examples say one by one."""
    examples = tallies(task, measure, 3)
    zero = measure.zero
    corpus = measure.tallies(measure.batch(*map(list, zip(*pairs(task, 3), strict=True))))
    value = float(sum(examples[1:], examples[0]).value)
    assert type(corpus) is type(zero)
    assert float(corpus.summed.value) == pytest.approx(value)
    assert float(zero.from_columns(corpus.to_columns()).summed.value) == pytest.approx(value)
    chunks = Chunks({"": zero})
    for chunk in (examples[:2], examples[2:]):
        chunks.add({"": stacked(chunk, zero)}, len(chunk))
    stored = chunks[""]
    assert float(stored.summed.value) == pytest.approx(value)
    some = [0, len(examples) - 1]
    part = sum((examples[place] for place in some), zero)
    weights = np.zeros(len(examples))
    weights[some] = 1.0
    for columns in (corpus, stored):
        assert float(chosen(columns, some).summed.value) == pytest.approx(float(part.value))
        assert float(scaled(columns, weights.tolist()).summed.value) == pytest.approx(float(part.value))
    assert float(row(corpus, 0).value) == pytest.approx(float(examples[0].value))


@measures
def test_nothing_is_repaired_by_no_share_of_the_errors(task: str, measure: Measure) -> None:
    for tally in tallies(task, measure, 3)[:5]:
        change = tally.repaired(lambda sides: 0.0, measure.lower_is_better)
        assert type(change) is type(tally)
        assert float((tally + change).value) == pytest.approx(float(tally.value))


@measures
def test_the_classes_of_a_mean_have_its_value(task: str, measure: Measure) -> None:
    examples = tallies(task, measure, 3)
    tally = sum(examples[1:], examples[0])
    classes, rate = tally.classes
    values = [getattr(counts, rate) for counts in classes] if classes else [tally.value]
    assert float(tally.value) == pytest.approx(np.mean(values))
    assert bool(rate) == bool(classes)


def test_a_tally_of_ones_own_has_defaults() -> None:
    tally = Longest(9.0, 2.0)
    assert tally.to_columns() == tally.state()
    assert tally.from_columns(tally.state()) == tally
    assert tally.classes == ([], "")
    assert tally.repaired(lambda sides: 1.0) == Longest(0.0, 0.0)  # no number of it is known to be an error
    both = stacked([tally, Longest(3.0, 1.0)], Longest())
    assert both.summed == Longest(12.0, 3.0)
    assert chosen(both, [1]).summed == Longest(3.0, 1.0)
    assert scaled(both, [2.0, 0.0]).summed == Longest(18.0, 4.0)


def test_a_tally_needs_its_five_members() -> None:
    class Value(Tally):
        value = 1.0  # pyright: ignore[reportAssignmentType]

    with pytest.raises(TypeError, match="__add__.*from_state.*state.*weight"):
        Value()  # type: ignore[abstract]

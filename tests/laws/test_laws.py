"""Laws: what every registered measure of every task must meet, on our own gold and on predictions swapped about."""

from __future__ import annotations

import importlib
import json
import random
from dataclasses import asdict
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pytest
from tests.perfect import attains_one, perfect_for

from goldassay._support.exceptions import DataError
from goldassay.core import measure as core_measure
from goldassay.core.evidence import stacked
from goldassay.core.measure import TASKS, Batches, Measure, parse, spelled, stored
from goldassay.core.metric import failed_with
from goldassay.core.tally import Evidence, flat
from goldassay.gold import load
from goldassay.running.rows import Row, example_row
from goldassay.tuning.patterns import repair

GOLD = Path(__file__).resolve().parents[2] / "gold"


@cache
def records(task: str) -> list[Any]:
    """The dev examples of a task, with the fields that some measures are about and our gold has not."""
    folder = GOLD / (task if task == "records" else "heritage")
    examples = list(getattr(load(str(folder), task=task), task).dev)
    for place, example in enumerate(examples):
        if task == "classification":
            example["labels"], example["score"] = (
                [example.label, *(example.get("secondary_labels") or ())],
                1.0 + place % 5,
            )
        if task == "answering":
            example["answerable"] = [True, place % 2 > 0]
    return examples


def module(task: str) -> Any:
    return importlib.import_module(f"goldassay.measures.{task}")


def registered() -> list[Any]:
    """Those of the library and of its extensions; precision and recall of a measure with an F1 wait for the night."""
    params = []
    for task in TASKS:
        measures: list[Any] = [*core_measure.registered(task)]
        for each in measures:
            has_f1 = getattr(each, "rate", "") in ("precision", "recall") and any(
                type(other) is type(each) and asdict(other) == {**asdict(each), "rate": "f1"} for other in measures
            )
            marks = [pytest.mark.nightly] if has_f1 else []
            params.append(pytest.param(task, each, id=f"{task}-{each!r}", marks=marks))
    return params


each = pytest.mark.parametrize(("task", "measure"), registered())


@pytest.mark.parametrize(
    ("task", "field"),
    [("extraction", "entities"), ("linking", "links"), ("retrieval", "results"), ("triples", "triples")],
)
@pytest.mark.parametrize("value", [5, True])
def test_what_is_no_list_is_an_error_that_names_the_field(task: str, field: str, value: object) -> None:
    messages = []
    for measure in module(task).MEASURES:
        try:
            measure(records(task)[0], {field: value})
        except DataError as error:  # a measure that has nothing to read here does not look
            messages.append(str(error))
    assert messages
    assert all(field in message for message in messages)


@lru_cache(maxsize=64)
def pairs(task: str, seed: int) -> list[tuple[Any, Any]]:
    """Gold with perfect predictions, some of them of another example."""
    rng, gold = random.Random(seed), records(task)
    return [(example, perfect_for(task)(example if rng.random() < 0.5 else rng.choice(gold))) for example in gold]


@lru_cache(maxsize=64)
def examples(task: str, seed: int | None = None) -> list[Batches]:
    """Each pair by itself, with what measures share over it; without a seed gold with its perfect prediction."""
    perfect = perfect_for(task)
    several = [(gold, perfect(gold)) for gold in records(task)] if seed is None else pairs(task, seed)
    return [Batches([gold], [pred]) for gold, pred in several]


@cache
def assessed(task: str, measure: Measure[Any], seed: int | None = None) -> list[Any]:
    """What a measure finds in each of these; several laws look at those of the same seed."""
    return [measure(each.gold[0], each.pred[0], each.of(measure)) for each in examples(task, seed)]


def tallies(task: str, measure: Measure[Any], seed: int) -> list[Any]:
    return [each.tally for each in assessed(task, measure, seed)]


def perfect_tallies(task: str, measure: Measure[Any]) -> list[Any]:
    return [each.tally for each in assessed(task, measure)]


def total(measure: Measure[Any], found: list[Any]) -> Any:
    return sum(found[1:], found[0]) if found else measure.zero


DESCRIPTIVE = ("steps", "cost_ratio")
"""How long a trajectory is: gold's length is not the shortest."""


@each
def test_gold_against_gold_is_one(task: str, measure: Measure[Any]) -> None:
    if measure.key in DESCRIPTIVE:
        pytest.skip("a length has no best value at gold")
    found = perfect_tallies(task, measure)
    if measure.lower_is_better:
        swapped = [total(measure, tallies(task, measure, seed)).value for seed in range(5)]
        assert total(measure, found).value <= min(swapped)
        return
    if not attains_one(measure):
        # Predictions of other examples can all come to 0 (ROUGE-2 where the answers are one word); perfect ones cannot.
        best = total(measure, found).value
        swapped = [total(measure, tallies(task, measure, seed)).value for seed in range(5)]
        assert best > 0
        assert best >= max(swapped)
        assert best > min(swapped)
        return
    assert float(total(measure, found).value) == pytest.approx(1.0)
    assert all(float(tally.value) == pytest.approx(1.0) for tally in found)


@each
def test_the_repr_and_the_stored_name_read_back(task: str, measure: Measure[Any]) -> None:
    kind = type(measure)
    assert eval(repr(measure), {kind.__name__: kind}) == measure  # noqa: S307  our own repr
    assert parse(stored(measure)) == measure
    assert hash(parse(stored(measure))) == hash(measure)
    assert measure.key in measure.conventions
    assert any("Source: " in (base.__doc__ or "") for base in kind.__mro__)


@each
@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (0, 1, 2))])
def test_folding(task: str, measure: Measure[Any], seed: int) -> None:
    found = tallies(task, measure, seed)
    whole = float(total(measure, found).value)
    low, high = measure.limits
    assert low <= whole <= high + 1e-12
    assert all(low <= float(tally.value) <= high + 1e-12 for tally in found)
    rng = random.Random(seed)
    cut = rng.randrange(1, len(found))
    assert float((total(measure, found[:cut]) + total(measure, found[cut:])).value) == pytest.approx(whole)
    assert float(total(measure, rng.sample(found, len(found))).value) == pytest.approx(whole)
    assert found[0] + measure.zero == found[0] == measure.zero + found[0]
    assert measure.zero.from_state(json.loads(json.dumps(found[0].state()))) == found[0]


@each
def test_repeats_of_an_answer_change_nothing_and_different_answers_are_averaged(
    task: str, measure: Measure[Any]
) -> None:
    """An example counts once: three equal answers are one, and of two runs each half of the evidence counts."""
    zero = Evidence({"x": measure.zero})
    other = [measure(gold, pred).tally for gold, pred in pairs(task, 4)[:12]]
    runs = [[Evidence({"x": tally}) for tally in run] for run in (tallies(task, measure, 3)[:12], other)]

    def row(tallies: Evidence, repeat: int) -> Row:
        return Row(0, "0", json.loads(json.dumps(tallies.state())), 0.0, repeat=repeat)

    def folded(*answers: Evidence) -> Any:
        rows = [row(tallies, at + 1) for at, tallies in enumerate(answers)]
        return zero.from_state(example_row(rows, lambda each: zero.from_state(each.tallies)).tallies)

    same = sum((folded(example, example, example) for example in runs[0]), zero)
    assert float(same.value) == pytest.approx(float(sum(runs[0], zero).value))
    both = sum((folded(*answers) for answers in zip(*runs, strict=True)), zero)
    assert float(both.value) == pytest.approx(float(sum([*runs[0], *runs[1]], zero).value))


def shuffled(record: Any, rng: random.Random) -> dict[str, Any]:
    """The record with its lists of things in another order."""
    fields = dict(record.toDict() if hasattr(record, "toDict") else record)
    return {key: rng.sample(value, len(value)) if isinstance(value, list) else value for key, value in fields.items()}


@each
def test_the_order_of_things_in_a_record_does_not_matter(task: str, measure: Measure[Any]) -> None:
    if task == "trajectories" and (
        getattr(measure, "mode", "") in ("exact", "in_order", "strict") or measure.key == "ast_accuracy"
    ):
        pytest.skip("the order of calls is what this measures")
    rng = random.Random(5)
    for gold, pred in pairs(task, 5)[:12]:
        example, other = measure(gold, pred).tally, measure(shuffled(gold, rng), shuffled(pred, rng)).tally
        assert example.state() == pytest.approx(other.state()) if _flat(example) else example == other


def _flat(tally: Any) -> bool:
    return all(isinstance(value, (int, float)) for value in tally.state().values())


@each
def test_errors_are_said_where_something_is_wrong(task: str, measure: Measure[Any]) -> None:
    for each in assessed(task, measure, 3):
        for error in each.errors:
            assert error.kind
            assert error.message
            assert "\n" not in error.message
            assert json.loads(json.dumps(error.state()))


@pytest.mark.parametrize("task", TASKS)
def test_the_scorecard_of_perfect_predictions_is_perfect_and_says_its_conventions(task: str) -> None:
    gold = records(task)
    card = module(task).scorecard(gold, [perfect_for(task)(example) for example in gold])
    assert card.examples == len(gold)
    assert set(card.values) <= set(card.conventions)
    json.dumps(card.state())


@each
def test_the_tallies_of_a_batch_are_those_of_its_pairs(task: str, measure: Measure[Any]) -> None:
    both = pairs(task, 3)
    gold, pred = [example for example, _ in both], [other for _, other in both]
    at_once = measure.tallies(measure.batch(gold, pred))
    one_by_one = stacked(tallies(task, measure, 3), measure.zero)
    actual, expected = (flat(found.state()) for found in (at_once, one_by_one))
    for path in {*actual, *expected}:  # a field that one side lacks holds nothing
        assert actual.get(path, 0) == pytest.approx(expected.get(path, 0)), path


@cache
def scored(task: str) -> tuple[list[tuple[Any, Any]], Any]:
    """Pairs, some of them right, and their scorecard with intervals."""
    both = pairs(task, 11)
    card = module(task).scorecard([example for example, _ in both], [other for _, other in both])
    return both, card


@pytest.mark.parametrize("task", TASKS)
def test_a_scorecard_equals_the_fold_of_its_measures(task: str) -> None:
    both, card = scored(task)
    assert set(card.values) == set(card.measures)
    for name, measure in card.measures.items():
        if name not in card.columns:  # a model is not installed
            assert card.values[name] is None
            continue
        found = total(measure, [measure(*pair).tally for pair in both])
        assert (card.values[name] is None) == (not found.weight), name
        if card.values[name] is not None:
            assert card.values[name] == pytest.approx(float(found.value)), name


@pytest.mark.parametrize("task", TASKS)
def test_a_scorecard_says_the_conventions_of_its_measures(task: str) -> None:
    _, card = scored(task)
    assert card.conventions == {name: measure.conventions for name, measure in card.measures.items()}


@pytest.mark.parametrize("task", TASKS)
def test_every_value_with_evidence_has_an_interval(task: str) -> None:
    _, card = scored(task)
    assert set(card.intervals) == {name for name, value in card.values.items() if value is not None}
    for name, interval in card.intervals.items():
        least, most = card.measures[name].limits
        assert least - 1e-9 <= interval.low <= interval.high <= most + 1e-9, name


@each
def test_a_program_that_fails_on_every_second_example_is_not_at_its_best(task: str, measure: Measure[Any]) -> None:
    """The gold of a failed example counts as missed; where it has no weight, the convention says so."""
    gold, perfect = records(task), perfect_for(task)
    best = total(measure, perfect_tallies(task, measure))
    half = [perfect(example) if place % 2 else failed_with("it broke") for place, example in enumerate(gold)]
    failing = total(measure, [measure(*pair).tally for pair in zip(gold, half, strict=True)])
    if "precision" in measure.key and "macro_doc" not in measure.key:  # of what is predicted; F1 and recall lose
        assert float(failing.value) <= float(best.value)
    elif "failed=left out" not in measure.conventions and best.weight:
        worse, better = (float(total.value) for total in (failing, best))
        assert worse > better + 0.01 if measure.lower_is_better else worse < better - 0.01


@pytest.mark.parametrize(
    ("task", "name", "says"),
    [
        ("answering", "exact_match", "empty golds=left out beside others"),
        ("answering", "f1", "empty golds=left out beside others"),
        ("retrieval", "AP", "no_relevant=0"),
        ("retrieval", "R@10", "no_relevant=0"),
        ("retrieval", "Bpref", "unjudged=left out"),
        ("classification", "kappa", "one label throughout=1"),
        ("classification", "accuracy", "case=as written"),
        ("extraction", "strict_f1", "repeated=each counts"),
        ("linking", "link_f1", "repeated=one answer"),
        ("triples", "f1", "texts=normalised, same numbers, ratio from threshold on"),
    ],
)
def test_a_convention_that_no_parameter_shows_stands_in_the_line(task: str, name: str, says: str) -> None:
    assert all(says in measure.conventions for measure in core_measure.registered(task) if measure.key == name)


@each
def test_repairing_all_errors_leaves_what_perfect_predictions_get(task: str, measure: Measure[Any]) -> None:
    """What an error pattern costs is the change of the corpus value when its errors are repaired."""
    repaired, perfect = [], []
    for each, best in zip(assessed(task, measure, 3), perfect_tallies(task, measure), strict=True):
        if each.errors and best.weight:
            repaired.append(each.tally + repair(each.tally, each.errors, each.errors, measure.lower_is_better))
            perfect.append(best)
    if repaired and attains_one(measure):  # of P@10 the evidence does not say what can be reached
        assert float(total(measure, repaired).value) == pytest.approx(float(total(measure, perfect).value))


def test_how_a_measure_is_spelled_can_be_pasted() -> None:
    for kind in {type(measure) for task in TASKS for measure in core_measure.registered(task)}:
        call, _, source = spelled(kind.__name__).partition(" (")
        names: dict[str, Any] = {}
        exec(source.removesuffix(")"), names)
        assert issubclass(eval(call.partition("(")[0], names), Measure)  # noqa: S307

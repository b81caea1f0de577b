"""The law of agreement: predictions that agree have the same tallies under every measure that was asked about."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay.core.measure import TASKS, Batches, Measure, registered
from goldassay.ext.labelling.outputs import OUTPUTS, OutputComparison, measure_named, of_corpus, predicted
from goldassay.gold.outputs import OUTPUT_FIELDS
from goldassay.gold.records import INPUT_FIELDS, as_gold, as_prediction, check

Row = dict[str, Any]
TEXT = "Ur and Uruk and Ur"
AGREED: Counter[tuple[str, bool]] = Counter()


def shuffled(rng: random.Random, several: list[Any]) -> list[Any]:
    return rng.sample(several, len(several))


def confidence(rng: random.Random) -> Row:
    return {"confidence": rng.choice([0.2, 0.8])} if rng.random() < 0.5 else {}


def span(rng: random.Random, **more: Any) -> Row:
    start, end = rng.choice([(0, 2), (7, 11), (16, 18), (0, 11), (None, None)])
    words = "elsewhere" if start is None else TEXT[start:end]
    return {"start": start, "end": end, "text": words, **more}


def spans(rng: random.Random) -> Row:
    return {"entities": [span(rng, type=rng.choice("AB"), **confidence(rng)) for _ in range(rng.randint(0, 3))]}


def labels(rng: random.Random) -> Row:
    kind = rng.random()
    if kind < 0.3:
        return {"labels": rng.sample(["M", "L", "L ", "A"], rng.randint(0, 3)), **confidence(rng)}
    if kind < 0.4:
        return {"score": rng.choice([1.0, 2.5])}
    others = rng.sample("MLA", rng.randint(0, 2))
    sure = {"probabilities": {"M": rng.choice([0.3, 0.7]), "L": 0.2}, "confidence": rng.choice([0.2, 0.8])}
    return {
        "label": rng.choice(["M", "L", " M", ""]),
        "secondary_labels": others,
        **(sure if rng.random() < 0.8 else {}),
    }


def links(rng: random.Random) -> Row:
    several = []
    for _ in range(rng.randint(0, 3)):
        ids = rng.sample(["Q1", "Q2", "NIL"], rng.randint(0, 2))
        score = rng.random() < 0.5
        candidates = [{"id": name, **({"score": rng.choice([0.1, 0.5])} if score else {})} for name in ids]
        several.append(span(rng, type="A", candidates=candidates))
    return {"links": several}


def results(rng: random.Random) -> Row:
    several = rng.sample("abcd", rng.randint(0, 4))
    scored = rng.random() < 0.7
    return {
        "results": [{"doc_id": doc, **({"score": rng.choice([1.0, 2.0, 3.0])} if scored else {})} for doc in several]
    }


def answer(rng: random.Random) -> Row:
    text = rng.choice(["the Ur", "Ur.", "ur", "", "Ur Uruk", "Uruk Ur"])
    return {"answer": text, **confidence(rng), "retrieved_contexts": [rng.choice(["Ur", "Uruk"])]}


def triples(rng: random.Random) -> Row:
    def triple() -> Row:
        statement = {"subject": rng.choice(["Ur", "ur", "Uruk"]), "predicate": rng.choice(["P571", "wdt:P571", "P17"])}
        return {**statement, "object": rng.choice(["1793", "Iraq", "1 May 1793"]), **confidence(rng)}

    return {"triples": [triple() for _ in range(rng.randint(0, 3))]}


def record(rng: random.Random) -> Row:
    values = {"no": rng.choice([7, "7", 7.5]), "tags": rng.sample("ab", rng.randint(0, 2)), "x": rng.choice([None, ""])}
    return {"record": rng.choice([values, dict(reversed(values.items())), '{"no": 7}', '{ "no":7}', "broken"])}


def trajectory(rng: random.Random) -> Row:
    def step() -> Row:
        args = rng.choice([{}, {"id": 3}, {"id": 3.0}, {"query": "Ur", "n": 1}, {"n": 1, "query": "Ur"}])
        return {"kind": rng.choice(["tool", "model"]), "name": rng.choice(["search", "read"]), "args": args}

    return {"trajectory": [step() for _ in range(rng.randint(0, 3))], "answer": rng.choice(["Ur", None])}


PREDICTIONS = {
    "extraction": spans,
    "classification": labels,
    "linking": links,
    "retrieval": results,
    "answering": answer,
    "triples": triples,
    "records": record,
    "trajectories": trajectory,
}


def gold_of(task: str, rng: random.Random) -> Row:
    """Any gold of the task."""
    if task == "extraction":
        return {"text": TEXT, "entities": [each for each in spans(rng)["entities"] if each["start"] is not None]}
    if task == "classification":
        sets = {"labels": rng.sample("MLA", rng.randint(0, 3)), "secondary_labels": rng.sample("ML", rng.randint(0, 1))}
        return {"text": TEXT, "label": rng.choice("MLA"), "score": rng.choice([1.0, 2.0]), **sets}
    if task == "linking":
        mentions = [link for link in links(rng)["links"] if link["start"] is not None]
        several = [{**link, "ids": {"wikidata": rng.sample(["Q1", "Q2"], rng.randint(0, 2))}} for link in mentions]
        return {"text": TEXT, "links": [{key: v for key, v in link.items() if key != "candidates"} for link in several]}
    if task == "retrieval":
        return {
            "query": "q",
            "relevant": {doc: rng.choice([0, 1, 2]) for doc in rng.sample("abcde", rng.randint(1, 4))},
        }
    if task == "answering":
        return {"question": "q", "answers": rng.sample(["Ur", "the Ur", "Uruk Ur"], rng.randint(0, 2))}
    if task == "triples":
        return {"text": TEXT, **triples(rng)}
    if task == "trajectories":
        calls = [{"name": step["name"], "args": step["args"]} for step in trajectory(rng)["trajectory"]]
        return {"question": "q", "calls": calls, "order": rng.choice(["strict", "any"])}
    return {"record": {"no": rng.choice([7, "7"]), "tags": rng.sample("ab", rng.randint(0, 2))}}


def variant(prediction: Row, task: str, rng: random.Random) -> Row:
    """The prediction with its lists in another order, and now and then other fields beside the output."""
    other = {key: shuffled(rng, value) if isinstance(value, list) else value for key, value in prediction.items()}
    drawn = PREDICTIONS[task](rng)
    beside = [key for key in drawn if key not in OUTPUT_FIELDS[task] and rng.random() < 0.5]
    return {**other, **{key: drawn[key] for key in beside}}


def evidence(measure: Measure[Any], example: Batches) -> Any:
    return measure.tallies(example.of(measure))


def measurable(task: str) -> list[Measure[Any]]:
    return [measure for measure in registered(task) if "(" not in measure.key]


@cache
def comparisons(task: str) -> list[tuple[Measure[Any], OutputComparison]]:
    """The measures of a task that can be asked about, each with its comparison."""
    several = [(measure, OutputComparison(task, measure.key)) for measure in measurable(task)]
    return [(measure, comparison) for measure, comparison in several if comparison.asked == measure]


@pytest.mark.parametrize("task", TASKS)
def test_what_agrees_has_the_same_tallies_whatever_gold_says(task: str) -> None:
    what_agrees_has_the_same_tallies(task)
    assert min(AGREED[task, True], AGREED[task, False])  # pairs of both kinds were tried


@given(seed=st.integers(0, 10**9))
@drawn(200)
def what_agrees_has_the_same_tallies(task: str, seed: int) -> None:
    rng = random.Random(seed)
    first = {"id": "a", **PREDICTIONS[task](rng)}
    second = variant(first, task, rng) if rng.random() < 0.7 else {"id": "a", **PREDICTIONS[task](rng)}
    first, second = check(first, task, "pred"), check(second, task, "pred")
    gold = {"id": "a", **gold_of(task, rng)}
    alone = OutputComparison(task).agree(first, second)
    AGREED[task, alone] += 1
    ours, theirs = Batches([gold], [first]), Batches([gold], [second])
    for measure, comparison in comparisons(task):
        if comparison.agree(first, second) or (alone and comparison.reads_output_alone):
            try:
                expected = evidence(measure, ours)
            except Exception as error:
                with pytest.raises(type(error)):
                    evidence(measure, theirs)
                continue
            assert repr(evidence(measure, theirs)) == repr(expected), measure


def test_what_is_beside_the_output_counts_for_measures_that_read_it() -> None:
    sure = {"id": "a", "label": "M", "confidence": 0.9}
    unsure = {**sure, "confidence": 0.1}
    assert OutputComparison("classification").agree(sure, unsure)
    assert OutputComparison("classification", "accuracy").agree(sure, unsure)
    assert not OutputComparison("classification", "ece").agree(sure, unsure)
    assert "ece" in OutputComparison("classification", "ece").words
    assert OutputComparison("answering", "f1").words == "the same answer as f1 normalises it"
    assert not OutputComparison("answering", "rouge1").agree({"answer": "the Ur"}, {"answer": "Ur"})
    assert not OutputComparison("answering").agree({"answer": ""}, None)  # abstaining is not failing


def test_the_times_of_steps_make_no_difference_to_measures_that_read_more_than_the_output() -> None:
    slow, fast = ({"id": "a", "answer": "Ur", "trajectory": [{"name": "read", "seconds": s}]} for s in (1, 2))
    assert OutputComparison("answering", "ece").agree(slow, fast)
    assert OutputComparison("trajectories", "steps").agree(slow, fast)
    assert not OutputComparison("trajectories", "steps").agree(slow, {**fast, "trajectory": []})


def test_own_tasks_compare_every_field_but_working_notes() -> None:
    compare = OutputComparison("tone")
    steps = [{"trajectory": {"thought_0": text}, "reasoning": text, "tone": "kind"} for text in ("x", "y")]
    assert compare.agree(*steps)
    assert compare.agree({"id": "a", "tone": "kind", "reasoning": "x"}, {"id": "b", "tone": "kind", "reasoning": "y"})
    assert not compare.agree({"tone": "kind"}, {"tone": "cold"})
    whole, typed = (
        {"order": {"total": 3, "lines": [0]}},
        {"order": {"total": 3.0, "lines": [0], "note": None}, "tags": []},
    )
    assert compare.agree(whole, typed)
    assert not compare.agree(whole, {"order": {"total": 3, "lines": []}})


@pytest.mark.parametrize("task", TASKS)
def test_counts_of_predicted_items_are_those_of_the_measure(task: str) -> None:
    rng = random.Random(5)
    measure = measure_named(task, "call_f1" if task == "trajectories" else OUTPUTS[task]["headline"])
    inputs = [{"id": str(i), "text": TEXT} for i in range(50)]
    predictions = [check({"id": str(i), **PREDICTIONS[task](rng)}, task, "pred") for i in range(49)]
    counts = predicted(measure, inputs, [*predictions, None])
    assert bool(counts) == (task in ("extraction", "linking", "triples", "records", "trajectories"))
    for number, prediction, row in zip(counts, predictions, inputs, strict=False):
        tally = evidence(measure, Batches([{**row, **gold_of(task, rng), "text": TEXT}], [prediction]))
        assert tally.tp[0] + tally.fp[0] == number
    assert of_corpus(measure) == bool(counts)


@pytest.mark.parametrize("task", TASKS)
def test_an_answer_becomes_gold(task: str) -> None:
    rng = random.Random(3)
    empty = {"text": TEXT, "query": "q", "question": "q"}
    for _ in range(50):
        prediction = check({"id": "a", **PREDICTIONS[task](rng)}, task, "pred")
        value = as_gold(prediction, task)
        inputs = {"id": "a", **{name: empty[name] for name in (INPUT_FIELDS[task],)}}
        if task != "classification" or value.get("label"):
            check({**inputs, **value}, task)
        assert as_gold(as_prediction({**inputs, **value}, task), task).keys() == value.keys() or not value

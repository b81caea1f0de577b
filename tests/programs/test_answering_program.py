"""The answering programs: retrieve and read, and the baseline without a model."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM

from goldassay import workspace
from goldassay.core.measure import failed
from goldassay.gold import load, read
from goldassay.gold.formats.answering import passages
from goldassay.measures import answering
from goldassay.running.guard import failure

PASSAGES = [
    {"id": "a", "text": "The Rijksmuseum opened in 1885. It stands in Amsterdam and holds 8,000 works."},
    {"id": "b", "text": "The Mauritshuis shows Girl with a Pearl Earring by Johannes Vermeer."},
]


@pytest.fixture(scope="module")
def module(root: Path) -> Any:
    return workspace.load(root / "programs" / "answering.py")


@pytest.fixture(scope="module")
def metric(root: Path) -> Any:
    return workspace.load(root / "metrics" / "answering.py").metric


def reading(program: Any, question: str, **reply: Any) -> Any:
    with dspy.context(lm=DummyLM([{"reply": json.dumps(reply)}])):
        return program(question=question)


def test_the_reader_answers_from_the_passages_it_was_given(module: Any) -> None:
    program = module.Reading().index(PASSAGES)
    prediction = reading(program, "When did the Rijksmuseum open?", answer=" 1885 ", confidence=0.9)
    assert (prediction.answer, prediction.confidence) == ("1885", 0.9)
    assert [result["doc_id"] for result in prediction.results] == ["a", "b"]
    assert prediction.retrieved_contexts == [PASSAGES[0]["text"], PASSAGES[1]["text"]]


@pytest.mark.parametrize("answer", ["", "None", "Not stated.", "N/A", "unknown"])
def test_the_reader_may_abstain(module: Any, answer: str) -> None:
    prediction = reading(
        module.Reading().index(PASSAGES), "Who is the director of the Rijksmuseum?", answer=answer, confidence=0.1
    )
    assert prediction.answer == ""


@pytest.mark.parametrize(
    ("confidence", "expected"), [(0.4, 0.4), (85, 0.85), (-1, None), (101, None), (float("nan"), None), ("x", None)]
)
def test_a_confidence_is_kept_where_it_is_one(module: Any, confidence: Any, expected: float | None) -> None:
    assert module.sure(confidence) == expected


def test_without_passages_the_model_is_not_asked(module: Any) -> None:
    lm = DummyLM([])
    with dspy.context(lm=lm):
        prediction = module.Reading().index(PASSAGES)(question="Zebra?")
    assert (prediction.answer, prediction.confidence, prediction.results) == ("", 0.0, [])
    assert not lm.history


def test_a_reader_that_cannot_be_read_is_a_failure_whose_retrieval_is_still_measured(module: Any, metric: Any) -> None:
    gold = {"question": "When did the Rijksmuseum open?", "answers": ["1885"], "documents": ["a"]}
    with dspy.context(lm=DummyLM([{"other": "?"}] * 3)):
        prediction = module.Reading().index(PASSAGES)(question=gold["question"])
    assert failed(prediction).startswith("AdapterParseError")
    tallies = {key: assessment.tally for key, assessment in metric.assess(gold, prediction).items()}
    assert (tallies["exact_match"].value, tallies["exact_match"].weight) == (0, 1)
    assert (tallies["R@1"].value, tallies["R@1"].weight) == (1, 1)
    assert (tallies["lost_by_retrieval"].value, tallies["lost_by_retrieval"].weight) == (0, 1)  # the reader lost it
    elsewhere = metric.assess({**gold, "documents": ["c"]}, prediction)["lost_by_retrieval"].tally
    assert (elsewhere.value, elsewhere.weight) == (1, 1)
    nothing = metric.assess(gold, failure(ValueError("no search either")))  # its relevant passages count as missed
    assert [nothing[key].tally.weight for key in ("exact_match", "R@1", "lost_by_retrieval")] == [1, 1, 0]
    without = metric.assess(gold, {"answer": "1886"})  # a program that does not retrieve
    assert [without[key].tally.weight for key in ("exact_match", "R@1", "lost_by_retrieval")] == [1, 0, 0]
    assert metric.assess(gold, None)["lost_by_retrieval"].tally.weight == 0


def test_the_reader_sees_only_the_first_passages(module: Any) -> None:
    prediction = reading(
        module.Reading(reads=1).index(PASSAGES), "Vermeer or the Rijksmuseum?", answer="x", confidence=1
    )
    assert (len(prediction.results), len(prediction.retrieved_contexts)) == (2, 1)


def test_any_embedder_makes_it_dense(module: Any) -> None:
    class Words:
        name = "words"

        def __call__(self, texts: Any) -> Any:
            return [[text.lower().count("vermeer") + 0.01, text.lower().count("museum") + 0.01] for text in texts]

    prediction = reading(module.Reading(embedder=Words()).index(PASSAGES), "Vermeer", answer="x", confidence=1)
    assert (prediction.results[0]["doc_id"], prediction.results[0]["source"]) == ("b", "words")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When did the Rijksmuseum open?", "1885"),
        ("How many works does it hold?", "8,000"),
        ("Who painted Girl with a Pearl Earring?", "Mauritshuis"),  # the first name that the question lacks: a baseline
        ("Zebra?", ""),
    ],
)
def test_the_baseline_picks_what_the_question_asks_for(module: Any, question: str, answer: str) -> None:
    prediction = module.Overlap(threshold=0.2).index(PASSAGES)(question=question)
    assert prediction.answer == answer
    assert 0 <= prediction.confidence <= 1


def test_the_baseline_abstains_below_its_threshold(module: Any) -> None:
    question = "Which zebra, giraffe and lion live in Amsterdam?"
    low, high = module.Overlap(threshold=0.0), module.Overlap(threshold=0.9)
    assert low.index(PASSAGES)(question=question).answer
    assert high.index(PASSAGES)(question=question).answer == ""


def test_fit_learns_the_threshold(module: Any) -> None:
    train = [
        dspy.Example(question="When did the Rijksmuseum open?", answers=["1885"]),
        dspy.Example(question="Zebra, giraffe, lion, ostrich, hippopotamus, elephant at Amsterdam?", answers=[]),
    ]
    fitted = module.Overlap(threshold=0.0).index(PASSAGES).fit(train)
    assert fitted.threshold > 0
    assert fitted(question=train[0].question).answer == "1885"
    assert fitted(question=train[1].question).answer == ""


def test_copies_share_the_index_and_states_do_not_hold_it(module: Any) -> None:
    program = module.Reading().index(PASSAGES)
    assert copy.deepcopy(program)._indexed is program._indexed
    assert set(program.dump_state()) == {"read"}
    assert module.baseline.predictors() == []


def test_a_gold_example_becomes_a_demonstration(module: Any, root: Path) -> None:
    example = load(root / "gold" / "heritage").answering.train[0]
    tallies = module.Reading().to_demo(example)
    assert (tallies["reply"].answer, tallies["reply"].confidence) == ("Rem Koolhaas", 1.0)
    assert tallies["passages"] == list(example.supporting_facts)
    assert module.Reading().to_demo({"question": "?", "answers": []})["reply"].answer == ""


def test_the_baseline_on_the_heritage_set(module: Any, metric: Any, root: Path) -> None:
    gold = load(root / "gold" / "heritage").answering.all
    total = metric.zero
    for example in gold:
        total = total + metric(example, module.baseline(question=example.question)).evidence
    values = {key: tally.value for key, tally in total.items() if tally.weight}
    assert values["f1"] > 0.25
    assert values["R@5"] > 0.8
    assert {"exact_match", "lost_by_retrieval", "lexical_support"} <= set(values)


@pytest.mark.nightly
def test_xquad_as_a_whole_retrieval_and_answers_in_one_run(module: Any, metric: Any, shared_data: Path) -> None:
    file = shared_data / "xquad" / "xquad.en.json"
    gold = read(file, format="squad", task="answering")[::10]
    baseline = module.Overlap().index(passages(file))
    assert len(baseline._texts) == 240
    pred = [baseline(question=record["question"]) for record in gold]
    total = metric.zero
    for assessment, other in zip(gold, pred, strict=True):
        total = total + metric(assessment, other).evidence
    values = {key: tally.value for key, tally in total.items() if tally.weight}
    assert values["R@1"] > 0.85  # 0.917 over all 1,190 when it was written
    assert 0.15 < values["f1"] < 0.5  # 0.218
    assert values["lost_by_retrieval"] < 0.1  # 0.016: the reader is to blame
    card = answering.scorecard(gold, pred, embedder=None, tokens=None)
    assert card.values["lost_by_retrieval"] == pytest.approx(values["lost_by_retrieval"])
    assert card.values["f1"] == pytest.approx(values["f1"])


def test_the_metric_takes_gold_and_predictions_without_retrieval(metric: Any) -> None:
    score = metric({"question": "?", "answers": ["1800"]}, {"answer": "1800"})
    assert (score.score, bool(score)) == (1.0, True)
    assert metric({"question": "?", "answers": []}, {"answer": "1800"}).score == 0

"""Credit for the corpus value, on a case where the mean of per-example F1 picks the wrong program."""

from __future__ import annotations

import hashlib
from typing import Any

import dspy
import pytest

from goldassay import Counts, Metric
from goldassay.core.tally import Evidence
from goldassay.measures import extraction
from goldassay.tuning import tune
from goldassay.tuning.watch import Credit, Watch

METRIC = Metric(extraction.SpanF1())
LONG = [(5 * at, 5 * at + 4, "TOP") for at in range(20)]
GOLD = [dspy.Example(id=str(i), text="x" * 120, entities=LONG if i == 0 else LONG[:1]).with_inputs("text")
        for i in range(5)]  # fmt: skip


def predictions(long: int, short: int) -> list[Any]:
    """The first example's first ``long`` names, and the only name of ``short`` of the other four."""
    return [dspy.Prediction(entities=LONG[:long]), *(
        dspy.Prediction(entities=LONG[:1] if i < short else []) for i in range(4))]  # fmt: skip


def scores(metric: Any, predicted: list[Any]) -> list[Any]:
    return [metric(gold, pred) for gold, pred in zip(GOLD, predicted, strict=True)]


def test_credits_pick_the_program_with_the_higher_corpus_value_where_means_pick_the_other() -> None:
    before, many, short = predictions(4, 1), predictions(16, 1), predictions(4, 4)
    # Of 24 names: 17 found (micro-F1 2·17/(17+24) = .829), against 8 (2·8/(8+24) = .5).
    corpus = [sum(scores(METRIC, predicted)).value for predicted in (many, short)]
    assert corpus == pytest.approx([34 / 41, 0.5])
    means = [sum(float(score) for score in scores(METRIC, predicted)) / 5 for predicted in (many, short)]
    assert means[0] < means[1]  # the mean of F1 picks the wrong one
    watch = Watch(METRIC, GOLD, progress=False)
    watch.credit = Credit([part.evidence for part in scores(METRIC, before)])
    credited = [sum(float(item) for item in scores(watch, predicted)) / 5 for predicted in (many, short)]
    assert credited[0] > credited[1]
    assert sum(scores(watch, many)).value == pytest.approx(34 / 41)  # Evaluate still reports the corpus value
    assert bool(scores(watch, predictions(20, 4))[0])  # and the pass mark is the metric's own

    class Proposal:
        def __init__(self, after: list[Any]) -> None:
            self.subsample_scores_before = [float(each_score) for each_score in scores(watch, before)]
            self.subsample_scores_after = [float(entry) for entry in scores(watch, after)]

    gain = {name: sum(p.subsample_scores_after) - sum(p.subsample_scores_before)
            for name, p in (("many", Proposal(many)), ("short", Proposal(short)))}  # fmt: skip
    assert gain["many"] > gain["short"] > 0


def test_the_credit_of_a_mean_is_the_value_itself_and_needs_none() -> None:
    from goldassay.core.tally import Mean

    credit = Credit([Evidence({"m": Mean(0.5, 1.0)}), Evidence({"m": Mean(0.0, 1.0)})])
    assert credit.of(Evidence({"m": Mean(0.75, 1.0)})) == pytest.approx(0.75)
    assert not credit.changes
    assert Credit([Evidence({"f1": Counts(1, 1, 1)})]).changes


def test_mean_credits_are_the_corpus_value_to_first_order() -> None:
    base = [Evidence({"f1": Counts(3, 1, 2)}) for _ in range(50)]
    after = [Evidence({"f1": Counts(3, 1, 2)}) for _ in range(45)] + [Evidence({"f1": Counts(5, 1, 0)})] * 5
    credit = Credit(base)
    mean = sum(map(credit.of, after)) / 50
    assert mean == pytest.approx(float(sum(after[1:], after[0]).value), abs=0.005)


class Finder(dspy.Module):  # type: ignore[misc]
    """Finds what its instructions say: all of the long text, or of the short ones; 4 names and one without either."""

    def __init__(self) -> None:
        super().__init__()
        self.find = dspy.Predict(dspy.Signature("text -> note", "Find."))

    def forward(self, text: str) -> Any:
        self.find(text=text)
        words, message = len(text.split()), str(self.find.signature.instructions)
        if words == 20:
            result = 16 if "many" in message else 4
        else:
            result = 1 if "short" in message or words == 2 else 0
        return dspy.Prediction(entities=LONG[:result])


def texts(seed: int) -> list[Any]:
    """Two texts of twenty names each, and four with one, of which one is shorter than the rest."""
    out = []
    for i, size in enumerate((20, 20, 2, 3, 3, 3)):
        words = [hashlib.sha256(f"{seed} {i} {at}".encode()).hexdigest()[:4] for at in range(size)]
        names = LONG if size == 20 else LONG[:1]
        out.append(dspy.Example(id=f"{seed}-{i}", text=" ".join(words), entities=names).with_inputs("text"))
    return out


def test_gepa_takes_the_program_of_the_higher_corpus_value(lm: Any) -> None:
    """DSPy's GEPA on the mean of the examples' F1 takes the other one, from the same proposals."""

    def proposing() -> Any:
        message = iter(["Find many.", "Find short."] * 20)
        return lambda candidate, reflective_dataset, components_to_update: {"find": next(message)}

    def mean(gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> float:
        return float(METRIC(gold, pred).score)

    train, dev = texts(1), texts(2)
    inputs: dict[str, Any] = {"max_metric_calls": 80, "reflection_minibatch_size": 6}
    with dspy.context(lm=lm):
        theirs = dspy.GEPA(metric=mean, instruction_proposer=proposing(), num_threads=1, **inputs).compile(
            Finder(), trainset=train, valset=dev
        )
    ours = tune(
        Finder(), {"train": train, "dev": dev}, METRIC, "gepa", lm=lm, progress=False,
        settings={**inputs, "instruction_proposer": proposing()},
    )  # fmt: skip
    assert theirs.find.signature.instructions == "Find short."
    assert ours.program.find.signature.instructions == "Find many."
    # Of 44 names: 33 found (66/77); the other finds 12 (24/56), though its mean F1 is .78 against .46.
    assert ours.dev.after.value == pytest.approx(66 / 77)


class Adviser:
    """Advises SIMBA to find many, then the short ones, and so on."""

    def __init__(self) -> None:
        self.said = 0

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        self.said += 1
        rule = "Find many." if self.said % 2 else "Find short."
        text = f'[[ ## discussion ## ]]\nx\n\n[[ ## module_advice ## ]]\n{{"find": "{rule}"}}\n\n[[ ## completed ## ]]'
        texts = Message.assistant([TextPart(text)])
        return Response(id=None, model=request.model, message=texts, finish_reason="stop", usage=Usage())


def test_simba_takes_the_program_of_the_higher_corpus_value(lm: Any) -> None:
    """DSPy's SIMBA on the mean of the examples' F1 takes the other one, from the same advice."""

    def advising() -> Any:
        return dspy.LM("scripted/adviser", engine=Adviser(), cache=False)

    def mean(gold: Any, pred: Any, trace: Any = None) -> float:
        return float(METRIC(gold, pred).score)

    train, dev = texts(1), texts(2)
    inputs: dict[str, Any] = {"bsize": 6, "num_candidates": 4, "max_steps": 1, "max_demos": 0}
    with dspy.context(lm=lm):
        theirs = dspy.SIMBA(metric=mean, prompt_model=advising(), num_threads=1, **inputs).compile(
            Finder(), trainset=train, seed=0
        )
    ours = tune(
        Finder(), {"train": train, "dev": dev}, METRIC, "simba", lm=lm, reflection_lm=advising(), progress=False,
        settings=inputs,
    )  # fmt: skip
    assert theirs.find.signature.instructions == "Find.\n\nFind short."
    assert ours.program.find.signature.instructions == "Find.\n\nFind many."
    assert ours.dev.after.value == pytest.approx(66 / 77)

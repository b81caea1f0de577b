"""A campaign: bundles, leave-one-out, what keeps an edit out, how it goes on after it was killed."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import assign_folds, clusters
from goldassay.measures import extraction
from goldassay.running.hashing import fingerprint
from goldassay.tuning import Patches, tune
from goldassay.tuning.campaign import strongest_first
from goldassay.tuning.edits import Diagnosis, by_pattern, nearest_examples
from goldassay.tuning.patches import Patch
from goldassay.tuning.wrappers import demonstrations

METRIC = Metric({extraction.SpanF1(): 1.0, extraction.SpanF1("partial"): 0.0})


def test_examples_of_one_document_are_resampled_and_dealt_together() -> None:
    pages = [{"document": "a"}, {"document": "a"}, {"id": "b"}]
    assert clusters(pages) == ["a", "a", 2]
    assert clusters(pages[1:]) is None  # nothing is shared
    many = [{"document": str(index // 3)} for index in range(30)]
    folds = assign_folds(many, 3, seed=1)
    assert all(len({folds[3 * number + k] for k in range(3)}) == 1 for number in range(10))
    assert sorted(folds.count(fold) for fold in range(3)) == [9, 9, 12]


def test_train_examples_that_the_program_shows_are_not_measured(
    lm: Any, names_program: Any, names_gold: list[Any]
) -> None:
    train = demonstrations(names_program, names_gold[:10])
    shows, lines = names_program.deepcopy(), list[str]()
    shows.extract.demos = [train[2], train[5]]
    with dspy.context(lm=lm):
        Patches(METRIC, bundles=[], on_progress=lines.append).compile(shows, trainset=train, valset=names_gold[10:20])
    assert f"{10 + 8 - 8} examples left, about" in lines[0]  # of dev and train, after the first eight


def rule(diagnosis: Diagnosis, name: str, **edit: Any) -> dict[str, list[Patch]]:
    """An edit for the first pattern, in a slot of its own."""
    return {name: [diagnosis.draft(diagnosis.patterns[0], "rule", **edit)]}


def bundle(*edits: dict[str, Any]) -> list[list[Any]]:
    """One bundle, in which each edit has a slot of its own."""
    return [[partial(rule, name=f"edit {n}", **edit) for n, edit in enumerate(edits)]]


@by_pattern("reflection")
def unavailable(diagnosis: Diagnosis, pattern: Any) -> list[Patch]:
    raise GoldassayError("the model is away")


def test_why_an_edit_was_kept_out_stands_in_the_ledger(lm: Any, names_program: Any, names_gold: list[Any]) -> None:
    words = "nine words that stand in dev in this very order"
    long = dspy.Example(id="long", text=words, entities=[]).with_inputs("text")
    edits = (
        {"action": "add_instruction", "text": f"As in: {words}."},
        {"action": "remove_instruction", "old": "not there"},
        {"action": "add_instruction", "text": "Nothing of use."},
        {"action": "add_instruction", "text": "A number is TMP."},
    )
    bundles = [*bundle(*edits), [unavailable]]
    with dspy.context(lm=lm):
        optimizer = Patches(METRIC, bundles=bundles)
        program = optimizer.compile(
            names_program, trainset=demonstrations(names_program, names_gold[:8]), valset=[*names_gold[8:], long]
        )
    reasons = {patch.old or patch.text: (patch.status, patch.reason) for patch in optimizer.ledger.patches}
    assert "copies 'nine words that stand in dev in this'" in reasons[str(edits[0]["text"])][1]
    assert "occurs 0 times" in reasons["not there"][1]
    assert reasons["Nothing of use."] == ("rejected", "contributes nothing: the bundle is no worse without it")
    assert reasons["A number is TMP."][0] == "proven"  # the only edit of a program that is proven
    assert program.extract.signature.instructions == "Find names.\nA number is TMP."
    assert optimizer.ledger.verdict.proven
    assert "the model is away" in optimizer.ledger.failures[0]


def test_leave_one_out_drops_what_carries_nothing(lm: Any, names_program: Any, names_gold: list[Any]) -> None:
    good = {"action": "add_instruction", "text": "A number is TMP."}
    bad = {"action": "replace_instruction", "old": "Find names.", "text": "Find them."}

    with dspy.context(lm=lm):
        optimizer = Patches(METRIC, bundles=bundle(good, bad))
        optimizer.compile(names_program, trainset=demonstrations(names_program, names_gold[:8]), valset=names_gold[8:])
    # The learner obeys the rule in spite of the other words, so the bundle is kept and the useless half of it dropped.
    assert [patch.text for patch in optimizer.ledger.kept] == ["A number is TMP."]


def test_a_line_says_what_is_measured_its_effect_so_far_and_what_is_left(
    lm: Any, names_program: Any, names_gold: list[Any]
) -> None:
    heard: list[str] = []
    rule = {"action": "add_instruction", "text": "Nothing of use."}
    with dspy.context(lm=lm):
        Patches(METRIC, bundles=bundle(rule), on_progress=heard.append).compile(
            names_program, trainset=demonstrations(names_program, names_gold[:8]), valset=names_gold[8:]
        )
    # of 40, after the first eight
    assert re.fullmatch(r"the program as it is, 32 examples left, about \d+ s", heard[0])
    assert heard[5].startswith("edit 0, ")
    assert any(re.fullmatch(r"edit 0, [+-]\d\.\d{3} so far, \d+ examples left, about \d+ s", line) for line in heard)
    left = [int(line.split()[-6]) for line in heard if line.startswith("edit 0")]
    assert left == sorted(left, reverse=True)


def test_what_moves_models_most_is_tested_first() -> None:
    def names(bundle: Any) -> list[str]:
        return [getattr(edit, "func", edit).__name__ for edit in bundle]

    order = [names(bundle) for bundle in strongest_first()]
    assert order[:3] == [["nearest_examples"], ["selected_examples"], ["answer_form"]]
    assert order[3] == ["covering", "counter_example"]
    assert names(strongest_first(nearest=0)[0]) == ["answer_form"]


def test_candidates_that_are_the_same_prompts_are_said_to_be_identical(
    lm: Any, names_program: Any, names_gold: list[Any]
) -> None:
    useless, lost = "Nothing of use.", {"action": "remove_instruction", "old": "not there"}
    edits = ({"action": "add_instruction", "text": useless}, lost)
    with dspy.context(lm=lm):
        optimizer = Patches(METRIC, bundles=[*bundle(*edits), *bundle(edits[0])])
        optimizer.compile(names_program, trainset=demonstrations(names_program, names_gold[:8]), valset=names_gold[8:])
    message = {entry["candidate"]: entry["reason"] for entry in optimizer.ledger.entries}
    first = "bundle of 2: edit 0, edit 1"
    assert message["edit 0 alone"] == f"identical with {first}, which was measured: the same prompts"
    assert message["edit 0"] == f"identical with {first}, which was measured: the same prompts"
    assert "changes the prompt, but the result of none of" in message[first]


def test_settings_that_make_no_sense_and_no_examples(names_program: Any, names_gold: list[Any]) -> None:
    with pytest.raises(GoldassayError, match="at least one round"):
        Patches(METRIC, rounds=0)
    with pytest.raises(GoldassayError, match="alpha in"):
        Patches(METRIC, alpha=1.5)
    with pytest.raises(GoldassayError, match="needs train examples"):
        Patches(METRIC).compile(names_program, trainset=[], valset=names_gold)
    with pytest.raises(DataError, match="have 4 examples: nothing can be shown on fewer than 5"):
        Patches(METRIC).compile(names_program, trainset=names_gold[:2], valset=names_gold[2:4])


def test_a_program_whose_gold_fits_no_predictor_is_told_how_to_write_to_demo(
    lm: Any, names_program: Any, names_gold: list[Any]
) -> None:
    class Silent(type(names_program)):  # type: ignore[misc]
        to_demo = None

    with dspy.context(lm=lm), pytest.raises(GoldassayError, match=r"needs mentions.*def to_demo\(self, example\)"):
        Patches(METRIC).compile(Silent(), trainset=names_gold[:20], valset=names_gold[20:])


def test_a_program_that_answers_from_what_it_makes_itself_is_edited_in_words() -> None:
    """A ReAct's trajectory is in no gold: no example can be shown, and rules in words still help."""

    class Agent:
        def complete(self, request: Any) -> Any:
            from dspy.lm15 import Message, Response, TextPart, Usage

            late = "beta" in str(request.messages[-1]) and "beta is late" in str(request.system)
            text = (
                f"[[ ## notes ## ]]\nread\n\n[[ ## label ## ]]\n{'late' if late else 'early'}\n\n[[ ## completed ## ]]"
            )
            message = Message.assistant([TextPart(text)])
            return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=Usage())

    class TwoSteps(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.look = dspy.Predict("text -> notes")
            self.decide = dspy.Predict("notes, text -> label")

        def forward(self, text: str) -> Any:
            return self.decide(notes=self.look(text=text).notes, text=text)

    words = [f"{Random(n).randbytes(9).hex()} {word}" for n, word in enumerate(15 * ["alpha", "beta"])]
    gold = [dspy.Example(text=w, label="late" if "beta" in w else "early").with_inputs("text") for w in words]
    edits = partial(rule, name="rule", action="add_instruction", predictor="decide", text="beta is late")
    optimizer = Patches(Metric.of(lambda gold, pred: gold.label == pred.label), bundles=[[nearest_examples, edits]])
    with dspy.context(lm=dspy.LM("scripted/agent", engine=Agent(), cache=False)):
        tuned = optimizer.compile(TwoSteps(), trainset=gold[:20], valset=gold[20:])
        assert "beta is late" in tuned.decide.signature.instructions
        assert "it needs notes" in optimizer.ledger.failures[0]
        splits = {"train": gold[:14], "dev": gold[14:22], "test": gold[22:]}
        whole = tune(TwoSteps(), splits, optimizer.metric, "patches", progress=False)
    assert list(whole.references) == ["labeled"]  # DSPy shows examples that lack the notes as incomplete
    assert "knn is not available for comparison: no train example can be shown to 'decide'" in whole.note


def test_what_changes_nothing_is_said_to_change_nothing(names_program: Any, names_gold: list[Any]) -> None:
    class Deaf:
        def complete(self, request: Any) -> Any:
            from dspy.lm15 import Message, Response, TextPart, Usage

            parts = [TextPart('[[ ## mentions ## ]]\n[{"text": "Delft", "type": "TOP"}]\n[[ ## completed ## ]]')]
            return Response(
                id=None, model=request.model, message=Message.assistant(parts), finish_reason="stop", usage=Usage()
            )

    with dspy.context(lm=dspy.LM("scripted/deaf", engine=Deaf(), cache=False)):
        optimizer = Patches(METRIC)
        program = optimizer.compile(
            names_program, trainset=demonstrations(names_program, names_gold[:10]), valset=names_gold[30:]
        )
    assert not optimizer.ledger.kept
    assert len(optimizer.ledger.patches) >= 6
    assert fingerprint(program) == fingerprint(names_program)
    assert all("changes the prompt, but the result of none of" in entry["reason"] for entry in optimizer.ledger.entries)
    assert not optimizer.ledger.verdict.kept


def test_a_campaign_that_was_stopped_goes_on_without_asking_anything_twice(
    learner: Any, names_program: Any, names_gold: list[Any], tmp_path: Path
) -> None:
    class Stops:
        left = 46

        def complete(self, request: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return learner.complete(request)

    train, journal = demonstrations(names_program, names_gold[:20]), tmp_path / "measured.jsonl"

    def campaign(lm: Any, file: Path | None) -> tuple[Any, Patches]:
        with dspy.context(lm=lm):
            optimizer = Patches(METRIC, bundles=bundle({"action": "add_instruction", "text": "A number is TMP."}),
                                journal=file)  # fmt: skip
            return optimizer.compile(names_program, trainset=train, valset=names_gold[20:]), optimizer

    whole, first = campaign(dspy.LM("scripted/learner", engine=learner, cache=False), None)
    calls = learner.calls
    with pytest.raises(KeyboardInterrupt):
        campaign(dspy.LM("scripted/learner", engine=Stops(), cache=False), journal)
    journal.write_bytes(journal.read_bytes() + b'{"program": "cut o')  # as kill -9 leaves it
    patches = journal.read_text(encoding="utf-8").count("\n")
    assert patches >= 40
    learner.calls = 0
    again, second = campaign(dspy.LM("scripted/learner", engine=learner, cache=False), journal)
    assert learner.calls == calls - patches
    assert fingerprint(again) == fingerprint(whole)
    assert second.ledger.verdict.proven == first.ledger.verdict.proven

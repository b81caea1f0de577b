"""What keeps a patch out: a guarded value that drops, a copy of dev, an edit that does not fit, a race that is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dspy
import pytest

from goldassay import Counts, Metric
from goldassay.exceptions import GoldassayError
from goldassay.measures import extraction
from goldassay.running.run import Case
from goldassay.score import Evidence
from goldassay.tuning import Patches
from goldassay.tuning.measuring import Race, clusters, guards
from goldassay.tuning.nearest import demonstrations
from goldassay.tuning.patches import Patch
from goldassay.tuning.proposing import drafted

METRIC = Metric({extraction.StrictF1(): 1.0, extraction.PartialF1(): 0.0})


def case(strict: Counts, partial: Counts) -> Case:
    return Case("x", Evidence({"strict_f1": strict, "partial_f1": partial}, METRIC.weights))


def test_a_measure_that_weighs_nothing_is_guarded_and_must_not_drop() -> None:
    assert guards(METRIC, None) == {"partial_f1": 0.0}
    assert guards(METRIC, {"strict_f1": 0.1}) == {"strict_f1": 0.1}
    assert guards(lambda gold, pred: 1.0, None) == {}
    with pytest.raises(GoldassayError, match="'bleu' cannot be guarded: the metric has strict_f1, partial_f1"):
        guards(METRIC, {"bleu": 0.0})
    # Partial F1 falls from 2·8/(2·8+2+2) = 0.8 to 2·6/(2·6+4+4) = 0.6 while strict F1 rises.
    before, after = [case(Counts(5, 5, 5), Counts(8, 2, 2))], [case(Counts(6, 4, 4), Counts(6, 4, 4))]
    race = Race([], METRIC, {"partial_f1": 0.0})
    assert race.worsened(after, before) == "partial_f1 by 0.2000"
    assert race.worsened(before, after) == ""
    assert Race([], METRIC, {"partial_f1": 0.2}).worsened(after, before) == ""


def test_examples_of_one_document_are_resampled_together() -> None:
    pages = [{"document": "a"}, {"document": "a"}, {"id": "b"}]
    assert clusters(pages) == ["a", "a", ("example", 2)]
    assert clusters(pages[1:]) is None  # nothing is shared


@dataclass(frozen=True)
class Given:
    """Proposes what it is given."""

    edits: tuple[dict[str, Any], ...]
    fails: bool = False

    def propose(self, pattern: Any, program: Any, train: Sequence[Any]) -> list[Patch]:
        if self.fails:
            raise GoldassayError("the model is away")
        return [drafted(pattern, program, "given", **edit) for edit in self.edits]


def test_why_a_patch_was_kept_out_stands_in_the_ledger(lm: Any, names_program: Any, names_gold: list[Any]) -> None:
    words = "nine words that stand in dev in this very order"
    long = dspy.Example(id="long", text=words, entities=[]).with_inputs("text")
    edits = (
        {"action": "add_instruction", "text": f"As in: {words}."},
        {"action": "remove_instruction", "old": "not there"},
        {"action": "add_instruction", "text": "Nothing of use."},
        {"action": "add_instruction", "text": "A number is TMP."},
    )
    with dspy.context(lm=lm):
        optimizer = Patches(METRIC, rounds=1, proposers=[Given((), fails=True), Given(edits)])
        optimizer.compile(
            names_program, trainset=demonstrations(names_program, names_gold[:8]), valset=[*names_gold[8:], long]
        )
    reasons = {patch.text or patch.old: patch.reason for patch in optimizer.ledger.patches}
    assert "copies 'nine words that stand in dev in this'" in reasons[edits[0]["text"]]
    assert "stands 0 times" in reasons["not there"]
    assert "lost the race after 8 of 33 examples" in reasons["Nothing of use."]  # 33 // 4
    assert reasons["A number is TMP."] == "better on dev after correction"
    assert [entry["status"] for entry in optimizer.ledger.entries].count("rejected") == 3
    assert "the model is away" in optimizer.ledger.failures[0]


def test_settings_that_make_no_sense_and_no_examples(names_program: Any, names_gold: list[Any]) -> None:
    with pytest.raises(GoldassayError, match="at least one round"):
        Patches(METRIC, rounds=0)
    with pytest.raises(GoldassayError, match="alpha in"):
        Patches(METRIC, alpha=1.5)
    with pytest.raises(GoldassayError, match="needs train examples"):
        Patches(METRIC).compile(names_program, trainset=[], valset=names_gold)


def test_a_round_has_edits_of_every_proposer(lm: Any, names_program: Any, names_gold: list[Any]) -> None:
    """Two proposers of many edits each: both are heard, the second one first by the second pattern."""
    one, two = (
        Given(tuple({"action": "add_instruction", "text": f"{name} {n}."} for n in range(9))) for name in ("One", "Two")
    )
    with dspy.context(lm=lm):
        optimizer = Patches(METRIC, rounds=1, candidates=4, patterns=2, proposers=[one, two])
        optimizer.compile(names_program, trainset=demonstrations(names_program, names_gold[:8]), valset=names_gold[8:])
    assert len(optimizer.ledger.patterns[0]) > 1
    assert [patch.text for patch in optimizer.ledger.patches] == ["One 0.", "Two 0.", "One 1.", "Two 1."]

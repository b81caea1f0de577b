"""Explaining prompts: units, effects, groups, pruning, proofs; with a scripted model that obeys the rules it finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dspy
import pytest
from tests.nightly import by_day
from tests.simulations.planted_units import KINDS, LINES, PAIR, Obedient, World, examples

from goldassay import evaluate, explain
from goldassay._support.exceptions import GoldassayError
from goldassay.tuning.explain import Ablation, lm_name, prune
from goldassay.tuning.patches import apply
from goldassay.tuning.units import Unit, UnitVerdict, check_proof, units_of, write_proof
from goldassay.tuning.wrappers import NearestDemos


def program(text: str = "\n".join(LINES)) -> Any:
    return dspy.Predict(dspy.Signature("text -> label", text))


def exact(gold: Any, pred: Any, trace: Any = None) -> bool:
    return bool(gold.label == pred.label)


@pytest.fixture
def lm() -> Any:
    return dspy.LM("scripted/obedient", engine=Obedient(), cache=False)


def test_planted_units_get_their_verdicts(lm: Any, tmp_path: Path) -> None:
    world = World(0.16, 80, seed=1)
    explained = explain(program(), examples(world), exact, lm=lm, margin=0.1)
    expected = {"useful": "helps", "harmful": "hurts"}
    for kind, unit in zip(KINDS, explained.units, strict=True):
        assert str(unit.verdict) == expected.get(kind, "nothing"), (kind, unit)
    assert [group.units for group in explained.groups] == [PAIR]
    assert explained.groups[0].low > 0
    notes = {index: unit.notes for index, unit in enumerate(explained.units) if unit.notes}
    assert notes == {PAIR[0]: ("stands in for 10: keep one",), PAIR[1]: ("stands in for 9: keep one",)}
    assert repr(explained) == f"Explanation({explained.sentence!r})"
    pruned = prune(program(), explained, examples(world), exact, examples(World(0.16, 80, seed=2)), lm=lm)
    left = pruned.program.signature.instructions.splitlines()
    assert set(LINES[:3]) <= set(left)
    assert len(left) == 4  # and one of the two that say the same
    assert pruned.proven
    assert pruned.tokens[1] < 0.6 * pruned.tokens[0]
    assert repr(pruned) == f"Pruned({pruned.sentence!r})"
    (patch,) = pruned.patches
    assert patch.status == "proven"
    assert apply(program(), patch).signature.instructions == pruned.program.signature.instructions
    file = tmp_path / "labels.proof.json"
    write_proof(explained, file)
    assert check_proof(program(), file, "scripted/obedient") == []
    edited = program("\n".join([*LINES[1:], "Be brief."]))
    assert check_proof(edited, file, "scripted/obedient") == [
        "no proof of: Be brief. (self)",
        f"proven and gone: {LINES[0]} (self)",
    ]
    assert "runs with openai/new" in check_proof(program(), file, "openai/new")[0]
    assert check_proof(program(), file, None)[0].endswith("so say which model the program runs with")


def test_a_budget_bounds_the_examples(lm: Any) -> None:
    world = World(0.14, 60, seed=1)
    explained = explain(program(), examples(world), exact, lm=lm, budget="calls=450")
    assert explained.n >= 450 // 15  # ten units, the whole, and four runs for groups; what early looks settle is saved
    assert explained.cost["calls"] <= 450
    with pytest.raises(GoldassayError, match="allows 3 examples for each of 10 units, and 10 are the least"):
        explain(program(), examples(world), exact, lm=lm, budget="calls=50")


@pytest.mark.parametrize(("tests", "spent", "tested"), [(140, True, True), (200, True, False)])
def test_a_budget_bounds_explanation_and_pruning_together(lm: Any, tests: int, spent: bool, tested: bool) -> None:
    gold, test = examples(World(0.16, 20, seed=1)), examples(World(0.16, tests, seed=2))
    explained = explain(program(), gold, exact, lm=lm, margin=0.1, budget="calls=520", share=0.5)
    assert explained.cost["calls"] <= 260
    before = len(lm.history)
    pruned = prune(program(), explained, gold, exact, test, lm=lm, budget="calls=520")
    assert explained.cost["calls"] + len(lm.history) - before <= 520
    assert pruned.spent == spent
    assert pruned.sentence.endswith("The budget ended before all units were tried.") == spent
    assert (pruned.test is not None) == tested
    assert bool(pruned.patches) == tested  # the shortest prompt so far


@pytest.mark.parametrize("budget", by_day(("calls=450", "tokens=27000"), "calls=450"))
def test_answers_in_the_cache_do_not_lift_the_budget(budget: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a tuning the whole program's answers are cached: it seemed to cost nothing, and so did its units."""
    monkeypatch.setattr(dspy, "cache", dspy.cache)  # restored afterwards
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)
    lm = dspy.LM("scripted/obedient", engine=Obedient(), cache=True)
    gold = examples(World(0.14, 60, seed=1))
    evaluate(program(), gold, exact, lm=lm, progress=False)
    cost = explain(program(), gold, exact, lm=lm, budget=budget).cost
    used = {"calls": cost["calls"], "tokens": cost["prompt_tokens"] + cost["completion_tokens"]}
    name, limit = budget.split("=")
    assert used[name] <= int(limit)


def test_demonstrations_are_units_and_repetitions_are_named(lm: Any) -> None:
    shown = program("Museums are places. Museums are places. Museums are not places.")
    shown.demos = [dspy.Example(text="item 1", label="yes")]
    units = units_of(shown)
    assert [unit.kind for unit in units] == ["sentence", "sentence", "sentence", "demonstration"]
    explained = explain(shown, examples(World(0.1, 20, seed=1)), exact, lm=lm)
    assert explained.units[0].notes == ("repeats 2", "contradicts 3")
    with pytest.raises(GoldassayError, match="nothing to explain"):
        explain(dspy.Predict("text -> label"), examples(World(0.1, 20, seed=1)), exact, lm=lm)


class Shown:
    """An engine of ``dspy.LM`` that is right if its prompt shows an example that is a museum."""

    def complete(self, request: Any) -> Any:
        turns = ["".join(str(getattr(part, "text", "")) for part in message.parts) for message in request.messages]
        is_shown = any("the museum" in turn for turn in turns[:-1])
        return answered(request, turns[-1].rpartition("item ")[2].split()[0] if is_shown else "other")


def answered(request: Any, label: str) -> Any:
    from dspy.lm15 import Message, Response, TextPart, Usage

    message = Message.assistant([TextPart(f"[[ ## label ## ]]\n{label}\n\n[[ ## completed ## ]]")])
    usage = Usage(input_tokens=9, output_tokens=1, total_tokens=10)
    return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)


@pytest.mark.parametrize("k", [3, pytest.param(2, marks=pytest.mark.nightly)], ids=["a set", "the nearest"])
def test_the_examples_that_patches_show_are_units(k: int) -> None:
    rows = [
        {"text": f"{text} {number}", "label": "yes"} for number, text in enumerate(("a house", "the museum", "a ship"))
    ]
    shown = NearestDemos(k).compile(program(), trainset=[dspy.Example(**row).with_inputs("text") for row in rows])
    gold = [dspy.Example(text=f"the museum item yes {i}", label="yes").with_inputs("text") for i in range(16)]
    lm = dspy.LM("scripted/shown", engine=Shown(), cache=False)
    explained = explain(shown, gold, exact, lm=lm)
    examples = [unit for unit in explained.units if unit.kind == "example"]
    verdicts = {unit.text: str(unit.verdict) for unit in examples}
    if k == 2:
        assert verdicts == {"the 2 nearest of 3 examples, for each input": "helps"}
        return
    assert {text for text, verdict in verdicts.items() if verdict == "helps"} == {'text: "the museum 1"\nlabel: "yes"'}
    pruned = prune(shown, explained, gold, exact, gold, lm=lm)
    patch = pruned.patches[-1]
    assert patch.action == "show_nearest"
    left: Any = pruned.program
    assert [row["text"] for row in left.examples] == ["the museum 1"]
    assert apply(shown, patch).examples == left.examples


def test_a_model_file_has_one_name_on_every_machine() -> None:
    assert lm_name("local:/home/ann/qwen.gguf") == lm_name("local:/srv/models/qwen.gguf") == "local:qwen.gguf"
    assert lm_name(None) is None


def test_random_halves_show_what_stands_in_for_another() -> None:
    means = [0.0] * len(LINES)
    for seed in range(20):
        ablation = World(0.16, 80, seed).ablation(resamples=50, seed=seed)
        for index, unit in enumerate(ablation.in_halves([Unit(text, "item", "p", 0, 1) for text in LINES], 80)):
            means[index] += (unit.halves or (0.0,))[0] / 20
    truth = [{"useful": 0.16, "harmful": -0.16, "redundant": 0.08}.get(kind, 0.0) for kind in KINDS]
    assert means == pytest.approx(truth, abs=0.08)


def test_a_unit_that_holds_in_one_stratum_is_named() -> None:
    dutch = [position % 2 == 0 for position in range(80)]

    def measure(removed: frozenset[int], positions: range) -> list[float]:
        return [float(not (removed and dutch[position])) for position in positions]

    strata = [{"language": "nl" if is_dutch else "de"} for is_dutch in dutch]
    assert Ablation(measure, 80, margin=0.15, strata=strata).only_stratum(0) == "helps only where language is nl"


def test_early_looks_leave_the_budget_to_open_units() -> None:
    ablation = World(0.14, 400, seed=1).ablation(resamples=200)
    units = [Unit(text, "item", "p", 0, 1) for text in LINES]

    def affordable(count: int, seen: int) -> int:
        return 2000 // count if not seen else seen + (2000 - 10 * seen) // count

    at, judged = ablation.looked(units, affordable)
    assert at.n > 200  # what all ten could be measured on
    assert min(unit.n for unit in judged) < at.n
    assert [str(unit.verdict) for unit in judged[:3]] == ["helps"] * 3


def test_verdicts_of_a_simulation_hold() -> None:
    from tests.simulations.planted_units import simulate

    rates = simulate(0.1, 200, draws=10)
    assert rates["useful helps"] > 0.5
    assert max(rates["false helps"], rates["false hurts"], rates["false nothing"]) <= 0.1
    assert UnitVerdict("nothing") == "nothing"


@pytest.mark.parametrize("gold", ["gold.jsonl", {"label": ["a"]}])
def test_gold_that_is_no_list_is_refused_as_in_evaluate(gold: Any) -> None:
    """A data frame was a KeyError."""
    with pytest.raises(GoldassayError, match=r"gold is a list of dspy\.Example, not .*reads files and tables"):
        explain(program(), gold, exact)

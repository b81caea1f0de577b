"""The lock file beside a program: written by explain, tune and patch, and shown as a page."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric, tune
from goldassay._support.exceptions import DataError
from goldassay.measures import extraction
from goldassay.tuning.acceptance import Effect
from goldassay.tuning.patches import Patch, apply, write
from goldassay.tuning.service import PatchFolder
from goldassay.tuning.units import (
    PromptProof,
    Unit,
    UnitVerdict,
    check_proof,
    read_proofs,
    tokens,
    units_of,
    unmeasured_parts,
    write_proof,
)

LINE = "Museums are places."


def program(text: str = f"Label the text. {LINE}") -> Any:
    return dspy.Predict(dspy.Signature("text -> label", text))


def measured(units: list[Unit], **fields: Any) -> PromptProof:
    shown = {"effect": 0.1, "low": 0.05, "high": 0.15, "n": 80, "verdict": UnitVerdict.HELPS}
    return PromptProof("m", [Unit(**{**vars(unit), **shown}) for unit in units], **fields)


def test_applied_patches_have_their_effect_and_the_other_units_keep_theirs(tmp_path: Path) -> None:
    folder = PatchFolder(tmp_path, program())
    file = tmp_path / "state.proof.json"
    tmp_path.mkdir(exist_ok=True)
    write_proof(measured(units_of(program()), gold="g"), file)
    effect = Effect(split="test", difference=0.2, low=0.1, high=0.3, p=0.01, n=40)
    text = "Names of towns are places, too."
    patch = Patch(
        predictor="self", action="add_instruction", text=text, effects=[effect], pattern="missed TOP", examples=["a"]
    )
    write(patch, tmp_path)
    folder.apply([patch.id], any_version=True)
    (proof,) = read_proofs(file)
    assert (proof.model, proof.gold) == ("m", "g")
    assert [unit.n for unit in proof.units] == [80, 80, 40]
    origin = proof.units[-1].origin
    assert (origin["patch"], origin["pattern"], origin["examples"]) == (patch.id, "missed TOP", "a")
    assert proof.units[-1].verdict == UnitVerdict.HELPS
    assert check_proof(apply(program(), patch), file, "m", ["g"]) == []
    assert check_proof(apply(program(), patch), file, "m", ["other"])[0].startswith("the gold changed")
    folder.revert([patch.id])
    assert check_proof(program(), file, "m") == []
    assert check_proof(apply(program(), patch), file, "m") == [f"no proof of: {text} (self)"]


def test_what_is_edited_beside_the_units_has_no_proof(tmp_path: Path) -> None:
    text = "# Aufgabe\nBeschrifte den Text.\n\n## Regeln\n- Museen sind Orte.\n- Namen nicht."
    file = tmp_path / "labels.proof.json"
    write_proof(measured(units_of(program(text)), unmeasured=unmeasured_parts(program(text))), file)
    assert check_proof(program(text), file, "m") == []
    assert check_proof(program(text.replace("## Regeln", "## Keine  Regeln")), file, "m") == [
        "no proof of: ## Keine Regeln (self)",
        "proven and gone: ## Regeln (self)",
    ]
    moved = text.replace("- Museen sind Orte.\n- Namen nicht.", "- Namen nicht.\n- Museen sind Orte.")
    assert check_proof(program(moved), file, "m") == ["the units are in another order than in the proof"]
    described = program(text)
    described.signature = described.signature.with_updated_fields("label", desc="In Kleinbuchstaben.")
    assert check_proof(described, file, "m") == [
        "no proof of: field label: In Kleinbuchstaben. (self)",
        "proven and gone: field label (self)",
    ]
    write_proof(measured(units_of(program(text))), file)  # one that was written without them
    assert check_proof(program(text.replace("## Regeln", "## Muster")), file, "m") == []


@pytest.mark.parametrize(
    ("line", "opposite"),
    [
        ("Réponds en majuscules.", "Ne réponds jamais en majuscules."),
        ("Nimm Namen mit Titel auf.", "Nimm Namen ohne Titel auf."),
        ("Write dates in words.", "Don't write dates in words."),
        ("Abkürzungen in Namen ausschreiben.", "Abkürzungen in Namen ausschreiben vermeiden."),
    ],
)
def test_sentences_that_say_the_opposite_are_noted(line: str, opposite: str) -> None:
    assert [unit.notes for unit in units_of(program(f"{line} {opposite}"))] == [
        ("contradicts 2",),
        ("contradicts 1",),
    ]


def test_predictors_may_each_need_a_line() -> None:
    class Steps(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.find = dspy.Predict(dspy.Signature("text -> name", "Quote the text. Write dates in words."))
            self.tell = dspy.Predict(dspy.Signature("name -> answer", "Quote the text. Don't write dates in words."))

    assert [unit.notes for unit in units_of(Steps())] == [()] * 4


def test_a_tuning_writes_who_wrote_each_unit(
    learner: Any, names_program: Any, names_gold: list[Any], tmp_path: Path
) -> None:
    gold = {"train": names_gold[:20], "dev": names_gold[20:30], "test": names_gold[30:]}
    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    metric = Metric(extraction.SpanF1())
    tuned = tune(names_program, gold, metric, "labeled", lm=lm, folder=tmp_path / "tuned", progress=False)
    file = tmp_path / "tuned" / "state.proof.json"
    (proof,) = read_proofs(file)
    demos = [unit for unit in proof.units if unit.kind == "demonstration"]
    assert len(demos) == 4
    assert {unit.origin["optimizer"] for unit in demos} == {"labeled"}
    assert proof.model == "scripted/learner"
    assert check_proof(tuned.program, file, "scripted/learner", [proof.gold]) == []


def test_a_damaged_proof_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "x.proof.json"
    file.write_text(json.dumps({"schema": 1, "proofs": [{"units": [{"text": "a"}]}]}))
    with pytest.raises(DataError, match="not a proof"):
        read_proofs(file)


def test_counting_tokens_fetches_nothing_from_the_net(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM asks for prices when it is imported: without a net that took eight seconds and printed warnings."""
    monkeypatch.delenv("LITELLM_LOCAL_MODEL_COST_MAP")
    assert tokens("Be brief.") == 3
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"

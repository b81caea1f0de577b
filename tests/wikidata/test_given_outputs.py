"""Outputs of published systems through the whole pipeline: measured, their errors as patterns, patches proposed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldassay import workspace
from goldassay.gold.formats import text2kgbench
from goldassay.measure import Error
from goldassay.running.run import Case
from goldassay.score import Evidence
from goldassay.tally import Counts
from goldassay.tuning.patches import apply, make_patch
from goldassay.tuning.patterns import find
from goldassay.tuning.saved import rendered
from goldassay.wikidata import tuning as improving

OUTPUTS = {
    ("Vicuna-13B", "ont_10_culture"): "ont_10_culture_llm_responses.jsonl",
    ("Vicuna-13B", "ont_4_book"): "ont_4_book_llm_responses.jsonl",
    ("Alpaca-LoRA-13B", "ont_10_culture"): "ont_10_culture_lora-13b_responses_v2.jsonl",
    ("Alpaca-LoRA-13B", "ont_4_book"): "ont_4_book_lora-13b_responses_v2.jsonl",
}


@pytest.mark.parametrize(("system", "ontology"), OUTPUTS)
def test_errors_become_patterns_and_patches(root: Path, shared_data: Path, system: str, ontology: str) -> None:
    folder = shared_data / "text2kgbench"
    truth = folder / f"ground_truth__{ontology}_ground_truth.jsonl"
    answers = folder / f"baselines__{system}__llm_responses__{OUTPUTS[system, ontology]}"
    gold, pred, _ = text2kgbench.pairs("triples", truth, answers)
    by_id = {one["id"]: one for one in pred}
    aligned = [by_id.get(one["id"], {"triples": []}) for one in gold]
    relations = sorted({triple["predicate"] for one in gold for triple in one["triples"]})
    program: Any = workspace.load(root / "programs" / "triples.py").Triples({name: name for name in relations})

    errors = improving.from_outputs(gold, aligned)
    assert len(errors.cases) == len(gold)
    report = improving.tuning_report(errors, program)
    missed = report["false_negative_patterns"]
    assert missed[0]["loss"] > 0.05
    assert missed[0]["gold_type"] in relations
    patches = [
        make_patch(**{name: value for name, value in one.items() if name not in ("id", "section")})
        for one in report["prompt_patches"]
    ]
    assert {one.action for one in patches} == {"add_example", "add_instruction"}
    texts = {one["text"]: one for one in gold}
    for patch in patches:
        if patch.example:
            # an example is a sentence of gold with everything that gold says of it
            shown = patch.example["statements"]
            assert len(shown) == len(texts[patch.example["text"]]["triples"])
            assert {one["predicate"] for one in shown} <= set(relations)
        assert rendered(apply(program, patch)) != rendered(program)


def test_blank_surfaces_do_not_stop_the_clustering() -> None:
    forms = ["", "  ", "Delft", "Delftse", "Gouda", "Utrecht", "Breda", "Zwolle"]
    cases = [
        Case(str(i), Evidence({"f1": Counts(0.0, 0.0, 1.0)}), (Error("missed", "", gold=form, gold_type="P19"),))
        for i, form in enumerate(forms)
    ]
    assert sum(one.count for one in find(cases)) == len(forms)

"""Agreement that a card states is measured again from its passes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from goldassay.gold.agreement import agree_files
from goldassay.gold.audit import audit

WORDS = ("harbour museum", "parish archive", "city library", "open garden")


def written(folder: Path, stated: Any) -> Path:
    """Four labels, of which the second pass has one otherwise: kappa (0.75 - 0.5) / (1 - 0.5) = 0.5."""
    folder.mkdir()
    for name, labels in (("classification", "MMAA"), ("second", "MAAA")):
        rows = [{"id": w, "text": w, "label": x, "split": "train"} for w, x in zip(WORDS, labels, strict=True)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    card = {"name": "small", "tasks": {"classification": {"inter_annotator_agreement": stated}}}
    (folder / "card.yaml").write_text(yaml.safe_dump(card), encoding="utf-8")
    return folder


PASSES = ["classification.jsonl", "second.jsonl"]


@pytest.mark.parametrize(
    ("stated", "field", "message"),
    [
        ({"cohen_kappa": {"value": 0.5}}, "", "agreement is stated without 'passes', the list of files"),
        ({"passes": ["second.jsonl"]}, "", "agreement is stated without 'passes'"),
        ({"passes": ["../secret.jsonl", "second.jsonl"]}, ".passes", "'../secret.jsonl' lies outside the set"),
        ({"passes": ["second.jsonl", "third.jsonl"]}, ".passes", "its passes cannot be compared"),
        ({"passes": PASSES, "records": 5}, ".records", "5 records are stated, and the passes share 4"),
        (
            {"passes": PASSES, "cohen_kappa": {"value": 0.81}},
            ".cohen_kappa",
            "cohen_kappa value 0.81 is stated, and 0.5000 was measured between the passes",
        ),
        ({"passes": PASSES, "observed": {"value": 0.75, "low": 0.7}}, ".observed", "observed low 0.7 is stated"),
        ({"passes": PASSES, "cohen_kappa": {"value": "high"}}, ".cohen_kappa", "value high is stated"),
        ({"passes": PASSES, "cohen_kappa": {"value": float("nan")}}, ".cohen_kappa", "value nan is stated"),
        ({"passes": PASSES, "gamma": {"value": 0.5}}, ".gamma", "gamma is stated, and the passes give observed, "),
    ],
)
def test_what_is_stated_and_not_measured_is_a_broken_promise(
    tmp_path: Path, stated: Any, field: str, message: str
) -> None:
    [found] = audit(written(tmp_path / "set", stated)).findings
    assert found.kind == "promise"
    assert found.field == f"tasks.classification.inter_annotator_agreement{field}"
    assert message in found.message
    assert "\n" not in found.message


def test_what_was_measured_may_be_stated(tmp_path: Path) -> None:
    stated = {"passes": PASSES, "records": 4, "command": "any text", "cohen_kappa": {"value": 0.5}}
    assert audit(written(tmp_path / "set", stated)).clean


@pytest.mark.parametrize("task", ["extraction", "classification"])
def test_the_passes_of_heritage(root: Path, task: str) -> None:
    """The first pass is the gold but for the corrections, which the card counts; the second is on the same texts."""
    place = root / "gold" / "heritage"
    card = yaml.safe_load((place / "card.yaml").read_text(encoding="utf-8"))
    stated = card["tasks"][task]["inter_annotator_agreement"]
    found = agree_files([place / name for name in stated["passes"]], task)
    assert (found.records, found.warnings) == (60, [])
    assert stated["command"].endswith(f"--task {task}")
    corrected = agree_files([place / f"first/{task}.jsonl", place / f"{task}.jsonl"], task)
    changed = {one.record for one in corrected.disagreements}
    assert changed == {"extraction": {"en-001", "fr-036"}, "classification": {"de-048", "fr-004", "fr-033"}}[task]
    assert all(name in card["corrections"]["1.0.1"] for name in changed)


def test_the_readme_of_heritage_states_the_figures_of_its_card(root: Path) -> None:
    place = root / "gold" / "heritage"
    card = yaml.safe_load((place / "card.yaml").read_text(encoding="utf-8"))
    said = (place / "README.md").read_text(encoding="utf-8")
    for task, names in {
        "extraction": ("strict_f1", "partial_f1", "word_alpha"),
        "classification": ("secondary_f1",),
    }.items():
        for name in names:
            figure = card["tasks"][task]["inter_annotator_agreement"][name]
            assert f"| {figure['value']:.3f} | {figure['low']:.3f} – {figure['high']:.3f} |" in said

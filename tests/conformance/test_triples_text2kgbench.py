"""Triples against Text2KGBench's official per-sentence results, and the shared annotations recounted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.conformance.published import COLUMNS
from tests.perfect import perfect_for

from goldassay._support import files
from goldassay.gold import pairs
from goldassay.measures import triples

SYSTEMS = ("Vicuna-13B", "Alpaca-LoRA-13B")
ONTOLOGIES = ("10_culture", "4_book")


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("ontology", ONTOLOGIES)
def test_every_sentence_of_every_system(shared_data: Path, system: str, ontology: str) -> None:
    folder = shared_data / "text2kgbench"
    (answers,) = folder.glob(f"baselines__{system}__llm_responses__ont_{ontology}_*")
    (official,) = folder.glob(f"baselines__{system}__eval_metrics__ont_{ontology}_*")
    gold = folder / f"ground_truth__ont_{ontology}_ground_truth.jsonl"
    both = pairs("triples", gold, answers, format="text2kgbench")
    content = json.loads((folder / f"ontologies__{ontology}_ontology.json").read_text(encoding="utf-8"))
    card = triples.scorecard(both.gold, both.pred, protocol="text2kgbench", ontology=content)
    rows = [json.loads(line) for line in official.read_text(encoding="utf-8").splitlines()]
    assert len(rows) in (156, 159, 550)
    for row in rows:
        ours = card.by["sentence"][row["id"]]
        for column, name in COLUMNS.items():
            value = ours[name]
            if isinstance(row[column], str):
                assert f"{value:.2f}" == row[column], (row["id"], column)
            else:
                assert value == pytest.approx(row[column], abs=1e-9), (row["id"], column)
    # the official averages divide by all sentences of the ground truth
    official_mean = sum(float(row["f1"]) for row in rows) / len(both.gold)
    assert card.values["f1"] == pytest.approx(official_mean, abs=0.005)
    assert card.conventions["f1"] == "text2kgbench_f1[protocol=text2kgbench, average=sentences, empty=0]"


def test_the_annotations_are_recounted(real_data: Path) -> None:
    # the kit's file declares 134 / 38 / 24 / 16 (NDR 0.779) and holds 170 / 18 / 7 / 17
    counted = {"correct": 170, "incorrect": 18, "uncertain": 7, "in_wikidata": 17}
    verdicts = [verdict for verdict, count in counted.items() for _ in range(count)]
    file = real_data / "wikidata-benchmark" / "novel-discovery-annotations.yaml"
    if file.is_file():
        annotated = files.yaml_value(file)
        verdicts = [row["verdict"] for row in annotated["annotations"]]
        assert annotated["metadata"]["validated_ndr"] == 0.779
    assert Counter(verdicts) == counted
    rate = triples.novel_discovery_rate(verdicts)
    assert rate["novel_discovery_rate"] == pytest.approx(170 / 188)
    assert rate["low"] == pytest.approx(0.854, abs=5e-4)  # Wilson, 95 %
    assert rate["high"] == pytest.approx(0.939, abs=1e-3)


def test_all_perfect_predictions_score_one(real_data: Path, tmp_path: Path) -> None:
    own = tmp_path / "gold.jsonl"
    triples_of = [
        {"sub": "House", "rel": "country of origin", "obj": "Italy"},
        {"sub": "House", "rel": "opened", "obj": "1931"},
    ]
    rows = [
        {"id": "a", "sent": "It opened in Italy.", "triples": triples_of},
        {"id": "b", "sent": "No.", "triples": []},
    ]
    own.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    real = real_data / "text2kgbench" / "ground_truth__ont_4_book_ground_truth.jsonl"
    for gold in (own, *([real] if real.is_file() else [])):
        both = pairs("triples", gold, gold, format="text2kgbench")
        card = triples.scorecard(both.gold, list(map(perfect_for("triples"), both.gold)))
        assert card.values["f1"] == 1.0
        assert card.values["macro_f1"] == 1.0

"""Conformance: the official numbers come out, and a wrong number would be seen."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from goldassay.exceptions import DataError, GoldassayError
from goldassay.proof import conform
from goldassay.proof.conform.official import SuiteResult
from goldassay.proof.conform.trec_eval import Topic


@pytest.mark.parametrize(
    ("suite", "total"), [("trec_eval", 127), ("text2kgbench", 9905), ("hipe-scorer", 5260), ("hipe-official", 56)]
)
def test_every_official_number_is_reproduced(shared_data: Path, suite: str, total: int) -> None:
    (result,) = conform.run(shared_data, [suite])
    # trec: 29 + 98 printed numbers; Text2KGBench: 7 numbers of 159 + 550 + 156 + 550 sentences;
    # HIPE: 5,500 figures but for the 240 averages of three files that were filled in by hand
    assert (result.reproduced, result.total, result.differences) == (total, total, [])
    assert result.state()["total"] == total


def test_a_changed_official_number_is_seen(shared_data: Path, tmp_path: Path) -> None:
    shutil.copytree(shared_data / "trec", tmp_path / "trec")
    file = tmp_path / "trec" / "out.test"
    file.write_text(file.read_text(encoding="utf-8").replace("0.1785", "0.1786"), encoding="utf-8")
    (result,) = conform.run(tmp_path, ["trec_eval"])
    assert (result.reproduced, result.total) == (126, 127)
    assert result.differences == ["out.test map: official 0.1786, ours 0.1785"]


def test_a_changed_sentence_is_seen(shared_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "text2kgbench"
    folder.mkdir()
    for name in (
        "baselines__Vicuna-13B__eval_metrics__ont_10_culture_llm_stats.jsonl",
        "baselines__Vicuna-13B__llm_responses__ont_10_culture_llm_responses.jsonl",
        "ground_truth__ont_10_culture_ground_truth.jsonl",
        "ontologies__10_culture_ontology.json",
    ):
        shutil.copy(shared_data / "text2kgbench" / name, folder / name)
    file = folder / "baselines__Vicuna-13B__eval_metrics__ont_10_culture_llm_stats.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    rows[0]["obj_halluc"] = "0.33"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (result,) = conform.run(tmp_path, ["text2kgbench"])
    assert result.total - result.reproduced == 1
    assert "ont_10_culture_test_2 obj_halluc: official 0.33, ours 1.00" in result.differences[0]
    rows[0]["id"] = "unknown"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(DataError, match=r"llm_stats\.jsonl:1: official results of a sentence that gold does not have"):
        conform.run(tmp_path, ["text2kgbench"])


def test_recall_points_round_as_trec_eval_10_does() -> None:
    # 4 relevant documents, found at ranks 2 and 4: precision 1/2 at both
    topic = Topic([0, 1, None, 1], [1, 1, 1, 1, 0])
    assert topic.interpolated(0.0) == 0.5
    assert topic.interpolated(0.5) == 0.5
    # the point 0.6 is 2.4 documents: lround gives 2, which were found (0.5); older ports add 0.9 and want 3 (0.0)
    assert topic.interpolated(0.6) == 0.5
    assert topic.interpolated(0.7) == 0.0  # 2.8 documents are 3 in both


def test_what_is_wrong_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(GoldassayError, match="no suite 'hipe'; there are .*trec_eval, text2kgbench"):
        conform.run(tmp_path, ["hipe"])
    with pytest.raises(GoldassayError, match="holds none of .*trec, text2kgbench"):
        conform.run(tmp_path)
    with pytest.raises(GoldassayError, match="the suite trec_eval needs"):
        conform.run(tmp_path, ["trec_eval"])


def test_only_the_first_differences_are_kept() -> None:
    result = SuiteResult("many")
    for index in range(50):
        result.near(f"value {index}", 0.5, 0.5 + 1e-3)
    result.near("close", 0.5, 0.5 + 1e-12)
    result.near("absent", 0.5, None)
    assert (result.reproduced, result.total, len(result.differences)) == (1, 52, 10)

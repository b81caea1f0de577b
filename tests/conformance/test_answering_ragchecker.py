"""Claim values held to RAGChecker's example: all eleven, for each answer and as means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conformance import published

from goldassay._support.exceptions import DataError
from goldassay.measures import answering
from goldassay.measures.answering import ClaimRate
from goldassay.measures.answering.claims import CLAIM_RATES, read_tables

NAMES = {ours: name for name, ours in published.RAGCHECKER.items()}
MEASURES = {NAMES.get(name, name): ClaimRate(name) for name in CLAIM_RATES}


def test_every_number_of_the_file_comes_out(shared_data: Path) -> None:
    suite = published.ragchecker(shared_data)
    assert (suite.reproduced, suite.total) == (33, 33)  # eleven of two answers, and eleven means
    assert not suite.differences


def test_the_measures_give_the_eleven_means(shared_data: Path) -> None:
    data = json.loads((shared_data / "ragchecker" / "checking_outputs.json").read_text(encoding="utf-8"))
    official = {name: value for group in data["metrics"].values() for name, value in group.items()}
    assert set(official) == set(MEASURES)
    for name, measure in MEASURES.items():
        total = measure.zero
        for row in data["results"]:
            pred = {"answer": row["response"], "support": published.support(row)}
            total = total + measure({"answers": [row["gt_answer"]]}, pred).tally
        assert round(100 * float(total.value), 1) == official[name], name


def test_the_scorecard_reads_the_same_verdicts(shared_data: Path) -> None:
    data = json.loads((shared_data / "ragchecker" / "checking_outputs.json").read_text(encoding="utf-8"))
    gold = [{"id": row["query_id"], "answers": [row["gt_answer"]]} for row in data["results"]]
    pred = [
        {"id": row["query_id"], "answer": row["response"], "meta": {"support": published.support(row)}}
        for row in data["results"]
    ]
    values = answering.scorecard(gold, pred, embedder=None, tokens=None).values
    assert round(100 * (values["faithfulness"] or 0), 1) == 68.2
    assert round(100 * (values["claim_f1"] or 0), 1) == 68.3


def test_a_changed_verdict_is_a_difference(shared_data: Path, tmp_path: Path) -> None:
    data = json.loads((shared_data / "ragchecker" / "checking_outputs.json").read_text(encoding="utf-8"))
    data["results"][0]["answer2response"][0] = "Entailment"
    (tmp_path / "ragchecker").mkdir()
    (tmp_path / "ragchecker" / published.FILE).write_text(json.dumps(data), encoding="utf-8")
    suite = published.ragchecker(tmp_path)
    assert suite.reproduced < suite.total
    assert any(line.startswith("precision of query 0") for line in suite.differences)


def test_what_is_no_verdict_is_said() -> None:
    for wrong in (["Maybe"], "Entailment"):
        with pytest.raises(DataError, match="record 7, answer_by_gold: expected a list of verdicts"):
            read_tables({"answer_by_gold": wrong}, 7)
    with pytest.raises(DataError, match="disagree on how many claims or passages"):
        read_tables({"answer_by_gold": [True, True], "answer_by_context": [[True]]})
    with pytest.raises(DataError, match="disagree on how many claims or passages"):
        read_tables({"answer_by_context": [[True], [True, False]]})


def test_squads_rules_and_identities_come_out(shared_data: Path) -> None:
    suite = published.squad(shared_data)
    assert (suite.reproduced, suite.total) == (len(published.CASES) * 2 + 8, len(published.CASES) * 2 + 8)

"""Rankings: the ranks that the data allow, any weights, files; the founding ranking with its three caches."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.compat import ModelRanking, ScorePack
from goldassay.compat.model_ranking import CACHES, OUTPUTS, QUESTIONS
from goldassay.exceptions import ConventionError, DataError, GoldassayError
from goldassay.reporting import ranking
from goldassay.running import Run
from goldassay.statistics.ranks import firsts, front, ranks

CLI = CliRunner()


def test_a_system_that_is_surely_better_has_one_rank_and_the_others_share() -> None:
    rng = random.Random(1)
    strong = [1.0] * 60
    fair = [float(rng.random() < 0.5) for _ in range(60)]
    other = [float(rng.random() < 0.5) for _ in range(60)]
    assert [str(one) for one in ranks([fair, strong, other], resamples=2000)] == ["2–3", "1", "2–3"]


def test_systems_that_are_alike_keep_every_rank_at_the_level_promised() -> None:
    wrong = 0
    for seed in range(60):
        rng = random.Random(seed)
        systems = [[float(rng.random() < 0.6) for _ in range(40)] for _ in range(3)]
        wrong += any((one.low, one.high) != (1, 3) for one in ranks(systems, resamples=400, seed=seed))
    assert wrong <= 8  # 5 % of 60 is 3; more than 8 has a chance of about 0.6 %


def test_leading_depends_on_weights() -> None:
    shares = firsts([{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}, {"a": 0.4, "b": 0.4}])
    assert shares[0] == pytest.approx(0.5, abs=0.02)  # never the third: 0.4 is under the larger of w and 1 − w
    assert shares[2] == 0
    assert front([(1, 0.5), (1, 0.6), (2, 0.6)]) == [False, True, False]


def test_runs_are_ranked_under_any_weights(two: list[Run], tmp_path: Path) -> None:
    found = ranking.rank(two)
    assert found[0].value.value == max(run.value for run in two)
    only = ranking.rank(two, {"strict_f1": 1.0})
    assert {one.run.name: one.value.value for one in only} == {run.name: run.values["strict_f1"] for run in two}
    files = ranking.write(found, tmp_path)
    rows = list(csv.DictReader(files[0].read_text().splitlines()))
    assert [row["Model"] for row in rows] == [one.name for one in found]
    assert float(rows[0]["Final_Score"]) == found[0].value.value
    assert len(list(csv.DictReader(files[1].read_text().splitlines()))) == sum(len(run.rows) for run in two)
    assert files[2].read_text().startswith(f"Winner: {found[0].name}")
    with pytest.raises(ConventionError, match="not every run has 'bleu'"):
        ranking.rank(two, {"bleu": 1.0})
    with pytest.raises(GoldassayError, match="two systems"):
        ranking.rank(two[:1])


def test_the_command_ranks_programs_and_says_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "ranking.yaml"
    file.write_text("program: [keywords, nearest]\nlimit: 12\nweight: {accuracy: 1}\n")
    done = CLI.invoke(
        app,
        ["rank", "classification", "--config", str(file), "--out", str(tmp_path / "out"), "--json"],
        catch_exceptions=False,
    )
    found = json.loads(done.stdout)["systems"]
    assert {one["name"] for one in found} == {"classification-keywords", "classification-nearest"}
    assert all(one["value"] == one["values"]["accuracy"] for one in found)
    assert {one.name for one in (tmp_path / "out").iterdir()} == {*OUTPUTS, "report.html", "runs"}
    file.write_text("programs: x\n")
    wrong = CLI.invoke(app, ["rank", "classification", "--config", str(file)])
    assert isinstance(wrong.exception, DataError)
    wrong = CLI.invoke(app, ["rank", "classification", "--weight", "accuracy=-1"])
    assert isinstance(wrong.exception, GoldassayError)


def test_the_picture_of_a_ranking_opens(two: list[Run], tmp_path: Path, opened: Callable[..., Any]) -> None:
    from goldassay.reporting import pages

    file = tmp_path / "r.html"
    found = ranking.rank(two)
    file.write_text(pages.report([one.run for one in found], ranked=found), encoding="utf-8")
    seen = opened(file)
    assert found[0].name in seen.page.inner_text("#ranking tbody tr >> nth=0")
    assert seen.page.query_selector("#ranking [data-chart] svg") is not None
    seen.quiet()


class Counting:
    """A reader that counts its calls; it knows two answers."""

    def __init__(self, sure: float) -> None:
        self.sure, self.calls = sure, 0

    def __call__(self, question: str, contexts: Sequence[str]) -> dict[str, Any]:
        self.calls += 1
        if "shipping" in question:
            raise RuntimeError("no shipping")
        return {"answer": contexts[0] if "return" in question else "", "confidence": self.sure}


def letters(texts: Sequence[str]) -> Any:
    """A small embedder: how often each letter stands in a text."""
    return [[float(text.lower().count(letter)) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


letters.name = "letters"  # type: ignore[attr-defined]


def test_the_founding_ranking_caches_and_scores_again_without_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = {"sure": Counting(0.9), "unsure": Counting(0.1)}
    asked: list[str] = []

    def retrieve(question: str) -> list[str]:
        asked.append(question)
        return ["30 days to return it"]

    made = ModelRanking(models, retrieve, tmp_path, pack=ScorePack(letters))
    assert made.show_cache_status() == dict.fromkeys(CACHES)
    first = made.run_evaluation()
    assert {one.name for one in tmp_path.iterdir()} == {*CACHES, *OUTPUTS}
    assert list(first[0]) == [
        "Rank",
        "Model",
        "Accuracy",
        "Quality",
        "Confidence",
        "Speed",
        "Robustness",
        "Final_Score",
    ]
    assert (len(asked), models["sure"].calls) == (8, 8)
    made.run_evaluation()
    assert (len(asked), models["sure"].calls) == (8, 8)  # all of it was cached
    models["sure"].calls = 0
    assert made.recalculate_metrics_only() == first
    assert models["sure"].calls == 0
    # answerable: .9 for the answer, 0 for the error, .2 for three empty ones; unanswerable: three abstentions
    by_name = {row["Model"]: row for row in first}
    assert by_name["sure"]["Confidence"] == pytest.approx((0.9 + 0 + 3 * 0.2 + 3) / 8)
    # robustness: an answer 1, an error 0, three empty ones .3, three abstentions 1
    assert by_name["sure"]["Robustness"] == pytest.approx((1 + 0 + 3 * 0.3 + 3) / 8)
    if find_spec("transformers") is None:  # no token embedder, so no BERTScore and no final score
        assert by_name["sure"]["Accuracy"] is None
        assert by_name["sure"]["Final_Score"] is None
    assert len(made.responses) == 2 * len(QUESTIONS)
    made.run_evaluation(force_refresh=True)
    assert (len(asked), models["sure"].calls) == (16, 8)
    capsys.readouterr()
    assert made.show_cache_status() == {"contexts.csv": 8, "embeddings.csv": 2, "raw_responses.csv": 16}
    assert capsys.readouterr().out == "contexts.csv: 8 rows\nembeddings.csv: 2 rows\nraw_responses.csv: 16 rows\n"
    made.clean()
    with pytest.raises(GoldassayError, match="run_evaluation"):
        made.recalculate_metrics_only()
    (tmp_path / "contexts.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="clean"):
        made.run_evaluation()

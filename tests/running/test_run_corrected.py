"""A judged value corrected by people's labels: in the run, on disk, as JSON and in the terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from goldassay import Metric, evaluate
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.cli import app
from goldassay.judges.labels import read_run_labels as read
from goldassay.measures.answering import F1, ClaimRate, ExactMatch, FactualAccuracy, Relevance
from goldassay.measures.judged import Verdict
from goldassay.reporting.summary import RunSummary
from goldassay.running import Run
from goldassay.running.summary import overall, run_sentence, values
from goldassay.statistics.ppi import corrected as by_labels

N = 40


class Kind:
    """A judge that calls every answer full, but for those to questions whose number is divisible by 10."""

    name = "kind"

    def verdict(self, asked: str, question: str = "", text: str = "", **_: str) -> Verdict:
        if asked == "support":
            return Verdict("supported", text)
        return Verdict("none" if int(question) % 10 == 0 else "full")


class Nobody(Kind):
    """A judge that calls no answer relevant."""

    name = "nobody"

    def verdict(self, asked: str, question: str = "", text: str = "", **_: str) -> Verdict:
        return Verdict("none")


class Forgetful(Kind):
    name = "forgetful"

    def verdict(self, asked: str, question: str = "", text: str = "", **_: str) -> Verdict:
        return Verdict(None) if question == "1" else super().verdict(asked, question, text)


GOLD = [dspy.Example(id=f"q{n}", question=str(n), answers=["x"]).with_inputs("question") for n in range(N)]
LABELS = {f"q{n}": float(n % 2) for n in range(12)}  # people find half of them relevant


def answered(question: str) -> Any:
    return dspy.Prediction(answer=f"answer {question}")


def test_the_corrected_value_stands_beside_the_raw_one(tmp_path: Path) -> None:
    metric = Metric({ExactMatch(): 1.0, Relevance(Kind()): 0.0})
    folder = tmp_path / "run"
    run = evaluate(answered, GOLD, metric, folder=folder, progress=False, judge_labels={"relevance": LABELS})
    assert run.values["relevance"] == 0.9  # 4 of 40 are divisible by 10
    verdicts = [float(n % 10 != 0) for n in range(N)]
    expected = by_labels(list(LABELS.values()), verdicts[:12], verdicts[12:], bounds=(0, 1))
    corrected_value = run.corrected["relevance"]
    assert corrected_value == expected
    assert corrected_value.corrected.value < 0.7
    assert corrected_value.corrected.low < 0.5 < corrected_value.corrected.high
    about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    state = about["corrected"]["relevance"]
    assert (state["corrected"]["value"], state["naive"]["value"]) == (corrected_value.corrected.value, 0.9)
    assert (state["corrected"]["method"], state["people_only"]["n"]) == ("ppi++, wilson", 12)
    assert run.summary()["corrected"] == about["corrected"]
    assert Run.load(folder, metric).corrected == run.corrected
    assert "exact_match" not in run.corrected


def test_labels_stay_with_a_run_that_is_gone_on_with(tmp_path: Path) -> None:
    metric, folder = Metric(Relevance(Kind())), tmp_path / "run"
    whole = evaluate(answered, GOLD, metric, folder=folder, progress=False, judge_labels={"relevance": LABELS})
    rows = (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "rows.jsonl").write_text("".join(f"{row}\n" for row in rows[:20]), encoding="utf-8")
    about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (folder / "run.json").write_text(json.dumps({**about, "status": "interrupted"}), encoding="utf-8")
    again = evaluate(answered, GOLD, metric, resume=folder, progress=False)
    assert again.corrected == whole.corrected


def test_without_labels_nothing_is_corrected() -> None:
    run = evaluate(answered, GOLD[:3], Metric(Relevance(Kind())), progress=False)
    assert run.corrected == {}
    assert "corrected" not in run.summary()


def test_a_verdict_that_did_not_come_back_is_no_pair() -> None:
    run = evaluate(answered, GOLD, Metric(Relevance(Forgetful())), progress=False, judge_labels={"relevance": LABELS})
    assert run.corrected["relevance"].people_only.n == 11
    assert run.values["relevance"] == 35 / 40  # it stays in the denominator of the value


def test_a_label_of_another_answer_brings_its_own_verdict() -> None:
    pairs = {"elsewhere": [0.0, 1.0], "too": [1.0, 1.0]}
    run = evaluate(answered, GOLD, Metric(Relevance(Kind())), progress=False, judge_labels={"relevance": pairs})
    verdicts = [float(n % 10 != 0) for n in range(N)]
    assert run.corrected["relevance"] == by_labels([0.0, 1.0], [1.0, 1.0], verdicts, bounds=(0, 1))


def test_labels_that_correct_nothing_are_refused() -> None:
    metric = Metric({ExactMatch(): 1.0, Relevance(Kind()): 0.0})
    run = evaluate(answered, GOLD, metric, progress=False, judge_labels={"relevance": LABELS})
    for labels, says in (
        ({"exact_match": LABELS}, "labels are for exact_match, which no judge gives here"),
        (
            {"relevance": {"q1": 2.0, "q2": 0.0}},
            "a label of relevance is a number from 0 to 1, not 2.0",
        ),
    ):
        broken = Run(replace(run.head, judge_labels=labels), run.rows, run.zero)
        with pytest.raises(GoldassayError, match=says):
            _ = broken.corrected


METRIC = """
from goldassay import Metric
from goldassay.measures.answering import ExactMatch, Relevance
from goldassay.measures.judged import Verdict

class Kind:
    name = "kind"
    def verdict(self, asked, question, answer):
        return Verdict("full")

judge = Kind()
metric = Metric({ExactMatch(): 1.0, Relevance(judge): 0.0})
"""


def test_eval_reads_the_labels_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "judged.py").write_text(METRIC)
    labels = tmp_path / "labels.csv"
    call = [
        "eval",
        "answering:baseline",
        "--metric",
        f"{tmp_path / 'judged.py'}:metric",
        "--runs",
        str(tmp_path),
        "--limit",
        "20",
    ]
    first = json.loads(CliRunner().invoke(app, [*call, "--json"]).stdout.strip().splitlines()[-1])
    assert "corrected" not in first
    rows = [json.loads(line) for line in (Path(first["folder"]) / "rows.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["tallies"]["relevance"]["weight"]]  # those whose question has an answer
    half = ["id,label", *(f"{row['id']},{'full' if place % 2 else 'none'}" for place, row in enumerate(rows[:8]))]
    labels.write_text("\n".join(half) + "\n")
    done = CliRunner().invoke(app, [*call, "--judge-labels", str(labels), "--json"])
    assert done.exit_code == 0, done.output
    corrected_value = json.loads(done.stdout.strip().splitlines()[-1])
    assert corrected_value["values"]["relevance"] == 1.0
    assert corrected_value["corrected"]["relevance"]["people_only"]["value"] == 0.5
    assert corrected_value["corrected"]["relevance"]["corrected"]["value"] < 1.0
    printed = CliRunner().invoke(app, [*call, "--judge-labels", str(labels)])
    assert "corrected by people's labels" in printed.stdout


def test_the_labels_of_a_file(tmp_path: Path) -> None:
    metric = Metric(Relevance(Kind()))
    file = tmp_path / "labels.jsonl"

    def of(*rows: dict[str, Any], metric: Metric = metric) -> Any:
        file.write_text("\n".join(map(json.dumps, rows)))
        return read(file, metric)

    assert of({"id": "a", "labels": {"ann": "full", "bob": "none"}}, {"id": "b", "label": None}) == {
        "relevance": {"a": 0.5}
    }
    seen = {"id": "c", "question": "3", "answer": "In May.", "label": "partial"}
    assert of(seen) == {"relevance": {"c": [0.5, 1.0]}}
    both = Metric({Relevance(Kind()): 1.0, ClaimRate("faithfulness", Kind()): 1.0})
    assert of({"id": "a", "label": "evasion"}, metric=both) == {"relevance": {"a": 0.0}}
    assert of({"id": "a", "measure": "faithfulness", "label": 0.25}, metric=both) == {"faithfulness": {"a": 0.25}}
    for row, content, says in (
        ({"id": "a", "label": "great"}, metric, "'great' is not a label of relevance: full, partial, none, evasion"),
        ({"id": "a", "label": 0.5}, both, "name it in a column measure: judged are relevance, faithfulness"),
        (
            {"id": "a", "measure": "f1", "label": 1},
            both,
            "no judge gives 'f1' here; name it in a column measure: judged are",
        ),
        ({"id": "a", "label": None}, metric, "no row has a label"),
    ):
        with pytest.raises(DataError, match=says):
            of(row, metric=content)
    with pytest.raises(GoldassayError, match="no value of this metric is given by a judge"):
        of({"id": "a", "label": 1}, metric=Metric(Relevance()))


def test_the_corrected_value_leads_and_the_judges_is_beside_it() -> None:
    run = evaluate(answered, GOLD, Metric(Relevance(Kind())), progress=False, judge_labels={"relevance": LABELS})
    valid = run.corrected["relevance"].corrected
    whole = overall(run)
    assert (whole.value, whole.interval, whole.judged) == (valid.value, valid, 0.9)
    assert [(each.value, each.judged) for each in values(run)] == [(valid.value, 0.9)]
    sentence = run_sentence(run, "mine")
    assert f"mine reaches {valid.value:.3f} [{valid.low:.3f}, {valid.high:.3f}]" in sentence
    assert "(0.900 as judged)" in sentence


def test_an_example_is_wrong_by_the_measures_that_have_weight() -> None:
    """A measure without a weight found nothing in any of them."""
    gold = [dspy.Example(id=str(n), question="q", answers=["x"]).with_inputs("question") for n in range(4)]
    metric = Metric({ExactMatch(): 1.0, F1(): 0.0, Relevance(Nobody()): 0.0})
    run = evaluate(lambda question: dspy.Prediction(answer="x"), gold, metric, progress=False)
    assert run.value == 1
    assert all(row.errors for row in run.rows)
    assert RunSummary(run).wrong == 0


def test_a_measure_without_its_fields_says_so_once() -> None:
    gold = [dspy.Example(id=str(n), question="q", answers=["x"]).with_inputs("question") for n in range(4)]
    metric = Metric({ExactMatch(): 1.0, FactualAccuracy(): 0.0})
    run = evaluate(lambda question: dspy.Prediction(answer="x"), gold, metric, progress=False)
    assert sum("factual_accuracy measures nothing" in text for text in run.warnings) == 1

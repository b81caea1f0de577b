"""A judged value corrected by people's labels: in the run, on disk, as JSON and in the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from goldassay import Metric, evaluate
from goldassay.cli import app
from goldassay.exceptions import DataError, GoldassayError
from goldassay.judges.labels import read_run_labels as read
from goldassay.measures.answering import ClaimRate, ExactMatch, Relevance
from goldassay.measures.judged import Verdict
from goldassay.running import Run
from goldassay.statistics.ppi import corrected as by_labels

N = 40


class Kind:
    """A judge that calls every answer full, but for those to questions whose number is divisible by 10."""

    name = "kind"

    def verdict(self, asked: str, question: str = "", text: str = "", **_: str) -> Verdict:
        if asked == "support":
            return Verdict("supported", text)
        return Verdict("none" if int(question) % 10 == 0 else "full")


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
        broken = Run({**run.about, "judge_labels": labels}, run.rows, run.zero)
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
    call = ["eval", "answering:baseline", "--metric", f"{tmp_path / 'judged.py'}:metric", "--runs", str(tmp_path)]
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
        ({"id": "a", "label": "great"}, metric, "'great' is no label of relevance: full, partial, none, evasion"),
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

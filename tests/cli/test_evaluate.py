"""``goldassay eval``, ``compare`` and ``init`` as a user runs them, with a baseline that needs no model."""

from __future__ import annotations

import json
import subprocess
from contextlib import chdir
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError, RunStopped
from goldassay.cli import app, with_flags


def goldassay(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in this process, with the exit code and the line that `main` makes of an error."""
    with chdir(cwd or Path.cwd()):
        done = CliRunner().invoke(app, [str(word) for word in words])
    code, error = done.exit_code, done.stderr
    if done.exception and not isinstance(done.exception, SystemExit):
        assert isinstance(done.exception, GoldassayError), done.exception
        code, error = (
            3 if isinstance(done.exception, RunStopped) else 2,
            f"{error}goldassay: error: {with_flags(str(done.exception))}\n",
        )
    return subprocess.CompletedProcess([], code, done.stdout, error)


def summary(*words: object, cwd: Path) -> dict[str, Any]:
    done = goldassay(*words, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    return body


def test_the_baseline_is_evaluated_and_leaves_a_run_that_reads_back(root: Path, tmp_path: Path) -> None:
    from goldassay.running import Run

    body = summary("eval", "extraction:baseline", "--limit", 12, "--runs", tmp_path, cwd=root)
    assert body["examples"] == 12
    assert 0.3 < body["values"]["strict_f1"] < 1.0
    low, high = body["intervals"]["strict_f1"]
    assert low <= body["values"]["strict_f1"] <= high
    run = Run.load(root / body["folder"])
    assert run.values == body["values"]
    assert len(run.rows) == 12
    by_file = summary("eval", "programs/extraction.py:baseline", "--limit", 12, "--runs", tmp_path, cwd=root)
    assert by_file["values"] == body["values"]


def test_two_runs_are_compared_and_other_gold_is_refused(root: Path, tmp_path: Path) -> None:
    runs = [
        summary("eval", "extraction:baseline", "--limit", n, "--threads", t, "--runs", tmp_path, cwd=root)["folder"]
        for n, t in ((10, 1), (10, 2), (8, 1))
    ]
    done = goldassay("compare", runs[0], runs[1], "--json", cwd=root)
    assert done.returncode == 0, done.stderr
    comparisons = json.loads(done.stdout)["comparisons"]
    assert {(row["difference"], row["p"]) for row in comparisons} == {(0.0, 1.0)}
    refused = goldassay("compare", runs[0], runs[2], cwd=root)
    assert refused.returncode == 2
    assert "different gold" in refused.stderr


def test_a_baseline_is_named_and_what_a_file_has_is_said(root: Path, tmp_path: Path) -> None:
    runs = [
        summary("eval", f"classification:{name}", "--limit", 20, "--runs", tmp_path, cwd=root)["folder"]
        for name in ("keywords", "nearest")
    ]
    output = goldassay("compare", *runs, cwd=root)
    assert output.returncode == 0, output.stderr
    assert f"1  classification-keywords  {runs[0]}\n" in output.stdout
    assert "2 against 1, 20 examples" in output.stdout
    table = output.stdout[output.stdout.index("2 runs on the same gold") : output.stdout.index("won nl")]
    assert max(map(len, table.splitlines())) <= 80
    assert "…" not in table
    wrong = goldassay("eval", "classification:none", cwd=root)
    assert wrong.returncode == 2
    assert "has no 'none'; there are baseline, keywords" in wrong.stderr
    assert wrong.stderr.rstrip().endswith("baseline, keywords, nearest, program")


def test_a_program_that_raises_says_what_and_where(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "raising.py"
    file.write_text(
        "import dspy\nclass P(dspy.Module):\n    def forward(self, text):\n        raise ValueError('no [red] boom')\n"
        "program = P()\n",
        encoding="utf-8",
    )
    done = goldassay("eval", file, "--task", "extraction", "--limit", 2, "--runs", tmp_path / "runs", cwd=root)
    message = " ".join(done.stderr.split())
    assert done.returncode == 3
    assert "all 2 examples failed; the first, nl-" in message
    assert "fix it and resume with --resume" in message
    assert message.endswith("with other code or another model start a new run")
    assert "ValueError: no [red] boom" in message


RAISING = """
import dspy

def program(q):
    return dspy.Prediction(a=q)

def metric(gold, pred):
    return 1 / (int(pred["a"]) % {every})
"""


def test_a_metric_that_raises_is_exit_code_1_with_count_and_place(tmp_path: Path) -> None:
    rows = [{"id": f"q{number}", "q": str(number + 1)} for number in range(60)]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    file = tmp_path / "raising.py"
    file.write_text(RAISING.format(every=12), encoding="utf-8")
    words = ("eval", file, "--metric", f"{file}:metric", "--gold", "gold.jsonl", "--runs", "runs")
    done = goldassay(*words, cwd=tmp_path)
    assert done.returncode == 1
    message = " ".join(done.stderr.split())
    assert "the metric raised on 5 of 60 examples" in message
    assert "q11: the metric raised ZeroDivisionError: division by zero (raising.py:8)" in message
    few = goldassay(*words, "--max-failures", ".01", cwd=tmp_path)  # decides as it does for programs
    assert (few.returncode, "more than --max-failures" in few.stderr) == (3, True)
    always = tmp_path / "always.py"
    always.write_text(RAISING.format(every=1), encoding="utf-8")
    alike = goldassay(*words[:3], f"{always}:metric", *words[4:], cwd=tmp_path)
    assert (alike.returncode, "the first 5 examples failed alike" in alike.stderr) == (3, True)


def test_a_metric_that_raises_is_exit_code_1_in_score_and_compare_too(tmp_path: Path) -> None:
    rows = [{"id": f"q{number}", "q": str(number + 1), "a": str(number + 1)} for number in range(60)]
    for file in ("gold.jsonl", "pred.jsonl"):
        (tmp_path / file).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for folder in ("metrics", "programs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.py").write_text(RAISING.format(every=12), encoding="utf-8")
    (tmp_path / "other.py").write_text(RAISING.format(every=12), encoding="utf-8")
    score = ("score", "own", "--gold", "gold.jsonl", "--pred", "pred.jsonl")
    compare = ("compare", "own", "--program", "program", "--program", "other.py", "--gold", "gold.jsonl")
    for words in (score, compare):
        done = goldassay(*words, cwd=tmp_path)
        message = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 1, message
        assert "the metric raised on 5 of 60 examples, whose gold counts as missed; the first, q11" in message
        assert "ZeroDivisionError: division by zero (own.py:8)" in message


def test_a_gate_turns_a_missed_target_into_exit_code_1(root: Path, tmp_path: Path) -> None:
    done = goldassay("eval", "extraction:baseline", "--split", "test", "--runs", tmp_path, "--gate", cwd=root)
    assert done.returncode == 1
    assert "strict_f1" in done.stdout


def test_init_writes_a_workspace_that_works(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    assert goldassay("init", folder, cwd=root).returncode == 0
    body = summary("eval", "extraction:baseline", "--limit", 5, cwd=folder)
    assert (folder / body["folder"] / "rows.jsonl").is_file()
    again = goldassay("init", folder, cwd=root)
    assert again.returncode == 2
    assert "already has programs" in again.stderr


NOISY = """
import itertools, threading
import dspy

class Guess(dspy.Module):
    def __init__(self):
        super().__init__()
        self.asked = {}

    def forward(self, text):
        self.asked[text] = self.asked.get(text, 0) + 1
        return dspy.Prediction(label="M" if (int(text) + self.asked[text]) % 2 else "L")

program = Guess()
steady = Guess()
"""


def test_repeats_say_what_is_noise_in_eval_and_in_compare(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(NOISY)
    gold = [{"id": i, "text": str(i), "label": "M"} for i in range(20)]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(record) + "\n" for record in gold))
    call = ["eval", "noisy.py", "--task", "classification", "--gold", "gold.jsonl", "--repeats", 2]
    body = summary(*call, cwd=tmp_path)
    noise = body["noise"]
    assert (body["examples"], body["repeats"], body["values"]["accuracy"]) == (20, 2, 0.5)
    assert (noise["flips"]["value"], noise["pass_at"]["2"]["value"], noise["pass_every"]["2"]["value"]) == (1, 1, 0)
    assert noise["variance"]["accuracy"]["examples"] == 0.0  # every example is right in one of two answers
    lines = " ".join(goldassay(*call, cwd=tmp_path).stdout.split())
    assert "1.000 [0.839, 1.000] of the examples flip" in lines
    assert "more repeats help as much" in lines
    both = ["compare", "classification", "--program", "noisy.py:program", "--program", "noisy.py:steady"]
    done = summary(*both, "--gold", "gold.jsonl", "--repeats", 2, cwd=tmp_path)
    assert [run["repeats"] for run in done["runs"]] == [2, 2]
    assert {(each["n"], each["difference"]) for each in done["comparisons"]} == {(20, 0.0)}
    refused = goldassay("compare", body["folder"], body["folder"], "--repeats", 2, cwd=tmp_path)
    assert (refused.returncode, "--repeats is for programs" in refused.stderr) == (2, True)

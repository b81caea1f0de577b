"""Journey G: a judge with people's labels beside it, and leaving with all that was made."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import dspy
import numpy as np
import pytest
from tests.chaos.conftest import Endpoint
from tests.ext.labelling.review.conftest import text_of
from tests.journeys.conftest import Answer, Fields, Shell, write

from goldassay import workspace
from goldassay.tuning import load_state

PROGRAM = """
import dspy
from goldassay import Metric
from goldassay.judges.measures import Criterion


class Replies(dspy.Module):
    def forward(self, letter):
        number = int(letter.split()[-1])
        return dspy.Prediction(reply=f"Thank you for letter {number}." if number % 3 else f"No {number}.")


program = Replies()


def metric_with(judge):
    polite = Criterion(judge, "The reply is polite.", title="polite")
    return Metric([polite], columns={"question": "letter", "answer": "reply"})
"""


def judge(output: str, inputs: Fields, before: str) -> str:
    """Takes every tenth reply for polite, whatever it says."""
    number = int(inputs["answer"].split()[-1].strip('."'))
    return ("yes" if said_yes(number) else "no") if output == "verdict" else "So it reads."


def said_yes(number: int) -> bool:
    return number % 3 > 0 or number % 10 == 0


def test_the_value_of_a_judge_is_corrected_by_labels(shell: Shell, model: Callable[[Answer], Endpoint]) -> None:
    write("replies.py", PROGRAM)
    write("letters.jsonl", [{"id": f"l{n}", "letter": f"Please answer letter {n}"} for n in range(60)])
    labelled = range(0, 60, 2)
    lines = [f"l{n},{'yes' if n % 3 else 'no'}" for n in labelled]
    write("people.csv", "\n".join(["id,label", *lines]))
    endpoint = model(judge)
    line = "goldassay eval replies.py --gold letters.jsonl --judge-lm models.yaml:mini"
    raw = shell.json(line)
    verdicts = np.array([said_yes(n) for n in range(60)], float)
    assert raw["values"]["polite"] == pytest.approx(verdicts.mean())
    assert endpoint.calls == 60  # models.yaml says that nothing is cached
    run = shell.json(f"{line} --judge-labels people.csv")
    corrected = run["corrected"]["polite"]
    labels = np.array([n % 3 > 0 for n in labelled], float)
    assert corrected["people_only"]["value"] == pytest.approx(labels.mean())
    # PPI++ (Angelopoulos et al. 2023): the labels' mean, moved by what the verdicts on the others say beyond these.
    seen = verdicts[list(labelled)]
    rest = np.delete(verdicts, list(labelled))
    power = np.cov(labels, seen)[0, 1] / (np.var(verdicts, ddof=1) * (1 + len(labels) / len(rest)))
    value = corrected["corrected"]["value"]
    assert value == pytest.approx(labels.mean() + power * (rest.mean() - seen.mean()))
    assert run["value"] == value, "it leads in lists of runs, too"
    listed = shell.json("goldassay runs list")["runs"]
    assert [row["value"] for row in listed] == [value, raw["value"]]
    shell(f"{line} --judge-labels people.csv")
    assert f"replies reaches {value:.3f} [" in shell.printed
    assert f"corrected by people's labels ({verdicts.mean():.3f} as judged)" in " ".join(shell.printed.split())


def test_the_errors_of_a_judge_and_the_rate_that_follows(shell: Shell) -> None:
    rows: list[Fields] = []
    for number in range(80):
        label = "supported" if number % 2 else "contradicted"
        verdict = label if number % 5 else "supported"
        labelled = {"label": label} if number < 40 else {}
        rows.append({"id": str(number), "text": text_of(number), "claim": "So.", "verdict": verdict, **labelled})
    write("labels.jsonl", rows)
    aligned = shell.json("goldassay judge eval labels.jsonl --origin elsewhere")
    positive = [row for row in rows[:40] if row["label"] == "supported"]
    negative = [row for row in rows[:40] if row["label"] != "supported"]
    sensitivity = fmean(row["verdict"] == "supported" for row in positive)
    specificity = fmean(row["verdict"] != "supported" for row in negative)
    agreement = aligned["agreement"]
    assert agreement["sensitivity"]["value"] == pytest.approx(sensitivity)
    assert agreement["specificity"]["value"] == pytest.approx(specificity)
    share = fmean(row["verdict"] == "supported" for row in rows)
    rate = (share + specificity - 1) / (sensitivity + specificity - 1)  # Rogan and Gladen 1978
    assert agreement["corrected"]["chosen"]["value"] == pytest.approx(rate)


SORT = """
import dspy


class Sort(dspy.Module):
    def __init__(self):
        super().__init__()
        self.ask = dspy.Predict("text -> tone")

    def forward(self, text):
        return self.ask(text=text)


program = Sort()


def metric(gold, pred, trace=None):
    return gold.tone == pred.tone
"""


def name_tone(output: str, inputs: Fields, before: str) -> str:
    """Takes a sigh for praise until an example shows what it is."""
    if output != "tone":
        return "Name the tone."
    sighs = "alas" in inputs["text"] and "alas" in before
    return "complaint" if sighs or "broken" in inputs["text"] else "praise"


def test_whoever_leaves_takes_everything_along(shell: Shell, model: Callable[[Answer], Endpoint]) -> None:
    model(name_tone)
    write("sort.py", SORT)
    words = ("thank you", "alas", "it is broken")
    tones = ("praise", "complaint", "complaint")
    rows = [
        {
            "id": f"l{n}",
            "text": f"{text_of(n)} {words[n % 3]}",
            "tone": tones[n % 3],
            "split": ("train", "dev")[n // 3 % 2],
        }
        for n in range(60)
    ]
    write("gold.jsonl", rows)
    options = "--gold gold.jsonl --lm models.yaml:mini"
    run = shell.json(f"goldassay eval sort.py {options}")
    assert run["values"]["score"] == pytest.approx(2 / 3)
    shell(f"goldassay runs export {run['folder']} --format csv --out rows.csv")
    with Path("rows.csv").open(newline="", encoding="utf-8") as stream:
        table = list(csv.DictReader(stream))
    assert fmean(float(row["score"]) for row in table) == pytest.approx(run["values"]["score"])
    assert [row["gold.tone"] for row in table] == [row["tone"] for row in rows if row["split"] == "dev"]
    lines = Path(run["folder"], "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["prediction"]["tone"] for line in lines] == [row["prediction.tone"] for row in table]

    states = {}
    for name in ("labeled", "knn"):
        shell(f"goldassay tune sort.py {options} --optimizer {name}")
        folder = Path(shell.advised("Folder: ").split()[1])
        tuned = json.loads((folder / "tuning.json").read_text(encoding="utf-8"))
        assert tuned["dev"]["after"] == {"score": 1.0}
        states[name] = folder / "state.json"
    program: dspy.Module = workspace.load(Path("sort.py")).program
    program.load(str(states["labeled"]))  # DSPy's own
    assert len(program.ask.demos) > 0
    nearest = json.loads(states["knn"].read_text(encoding="utf-8"))
    assert nearest["load_with"] == "program = goldassay.tuning.load_state(program, FILE)"  # the file says how
    assert load_state(program, states["knn"]).nearest(text=rows[0]["text"])

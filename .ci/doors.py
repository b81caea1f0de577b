"""The four doors, walked by a newcomer with nothing but an installed goldassay: `python .ci/doors.py GOLDASSAY`.

GOLDASSAY is the command in an environment that holds the wheel alone. Each door is an empty folder and the commands of
its page in docs/how-to: a saved program to its verdict, a log of Inspect to a comparison, a csv to a LaTeX table, a
trace to gold to a score. Ends with 1 where a step fails or does not say what the page promises.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

LOGS = Path(__file__).resolve().parents[1] / "tests" / "ext" / "interop" / "logs" / "files"
LABELS = ("question", "praise", "complaint")
LETTERS = [
    (f"{label} {number}: {words}", label) for number in range(20) for label, words in zip(LABELS, "abc", strict=True)
]
PROGRAM = '''
import dspy


class Sorter(dspy.Module):
    """Knows the labels that its instructions name; no model is asked."""

    def __init__(self):
        super().__init__()
        self.sort = dspy.Predict(dspy.Signature("text -> label", "question"))

    def forward(self, text):
        known = self.sort.signature.instructions.split(", ")
        label = text.split()[0]
        return dspy.Prediction(label=label if label in known else known[0])


program = Sorter()
'''
SAVED = """
from program import Sorter

for name, labels in (("before", "question"), ("after", "question, praise, complaint")):
    sorter = Sorter()
    sorter.sort.signature = sorter.sort.signature.with_instructions(labels)
    sorter.save(f"{name}.json")
"""
TABLE = """
import goldassay

gold = [{"id": 1, "label": "question"}, {"id": 2, "label": "praise"}, {"id": 3, "label": "complaint"}]
cards = goldassay.score("classification", gold, {"ours": "ours.csv", "theirs": gold})
with open("table.tex", "w") as file:
    file.write(cards.to_latex())
"""


def saved_program() -> None:
    """docs/how-to/saved-programs.md: two saved states, one verdict."""
    Path("program.py").write_text(PROGRAM, encoding="utf-8")
    records = [{"id": str(n), "text": text, "label": label} for n, (text, label) in enumerate(LETTERS)]
    Path("test.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    Path("saving.py").write_text(SAVED, encoding="utf-8")
    step("python saving.py")
    gold = "--program program.py --task classification --gold test.jsonl --lm openai/nobody-is-asked"
    said = step(f"goldassay audit before.json after.json {gold} --fail-unless-better --out audit.html")
    hold("Better: +" in said, said)
    hold("<html" in Path("audit.html").read_text(encoding="utf-8")[:500], "audit.html")


def inspect_log() -> None:
    """docs/how-to/logs.md: two logs of Inspect, compared and reported."""
    logs = f"{LOGS / 'inspect_good.eval'} {LOGS / 'inspect_bad.json'}"
    hold("%]" in step(f"goldassay compare {logs}"), "a comparison has intervals")
    step(f"goldassay report {logs} --out report.html")


def own_table() -> None:
    """docs/how-to/existing-predictions.md: a spreadsheet's csv, then a table for a paper."""
    write_table("letters.csv", ["no;body;category", "1;When?;question", "2;Thanks, all!;praise", "3;Broken;complaint"])
    write_table("ours.csv", ["id,label", "1,question", "2,praise", "3,question"])
    names = "--map id=no,text=body,label=category"
    said = step(f"goldassay score classification --gold letters.csv --pred ours.csv {names} --json")
    hold(abs(json.loads(said)["values"]["accuracy"] - 2 / 3) < 1e-12, said)
    Path("table.py").write_text(TABLE, encoding="utf-8")
    step("python table.py")
    hold(r"accuracy & 0.667 {\small [" in Path("table.tex").read_text(encoding="utf-8"), "table.tex")


def write_table(name: str, lines: list[str]) -> None:
    """A csv as a spreadsheet writes it."""
    Path(name).write_text("\r\n".join([*lines, ""]), encoding="utf-8-sig", newline="")
    with open(name, encoding="utf-8-sig", newline="") as stream:
        hold(len(list(csv.reader(stream))) == len(lines), name)


def traces() -> None:
    """docs/how-to/gold-draft.md: traces become a draft, are labelled, and score the program that it is of."""
    spans = []
    for number, (text, label) in enumerate([("Open?", "question"), ("Broken!", "praise")]):
        sides = {"input.value": json.dumps({"text": text}), "output.value": json.dumps({"label": label})}
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in sides.items()]
        spans.append({"traceId": str(number), "spanId": str(number), "name": "answer", "attributes": attributes})
    export = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]}
    Path("traces.json").write_text(json.dumps(export), encoding="utf-8")
    step("goldassay gold draft traces.json --task classification --out draft.jsonl")
    records = [json.loads(line) for line in Path("draft.jsonl").read_text(encoding="utf-8").splitlines()]
    answers = [next(iter(record["suggestions"].values()))["label"] for record in records]
    gold = [record | {"label": "question"} for record in records]
    predictions = [{"id": record["id"], "label": label} for record, label in zip(records, answers, strict=True)]
    for name, rows in (("gold.jsonl", gold), ("pred.jsonl", predictions)):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    hold(sorted(answers) == ["praise", "question"], str(answers))
    step("goldassay gold agree gold.jsonl --task classification")
    said = step("goldassay score classification --gold gold.jsonl --pred pred.jsonl --json")
    hold(json.loads(said)["values"]["accuracy"] == 0.5, said)


DOORS: tuple[Callable[[], None], ...] = (saved_program, own_table, traces, inspect_log)


def main(goldassay: str) -> int:
    """Walk through each door in a folder of its own."""
    os.environ["PATH"] = f"{Path(goldassay).absolute().parent}{os.pathsep}{os.environ['PATH']}"
    os.environ.pop("PYTHONPATH", None)
    began = time.monotonic()
    for door in DOORS:
        print(door.__name__.replace("_", " "), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            door()
            os.chdir("/")
    print(f"Four doors in {time.monotonic() - began:.0f} s.")
    return 0


def step(command: str) -> str:
    """Run a line as it would be pasted; its standard output."""
    began = time.monotonic()
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    print(f"{time.monotonic() - began:6.1f} s  {command}", flush=True)
    hold(done.returncode == 0 and "Traceback" not in done.stderr, f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout if "--json" in command else " ".join((done.stdout + done.stderr).split())


def hold(right: bool, message: str) -> None:
    """Stop unless it is as it should be."""
    if not right:
        raise SystemExit(f"not as it should be: {message}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""A newcomer's first ten minutes, walked with nothing but an installed goldassay: `python .ci/newcomer.py GOLDASSAY`.

In an empty folder: a table of 30 letters with labels of one's own becomes checked gold, a baseline, a program, a run, a
tuning, a report. Every step that goldassay prints as the next one is pasted and has to work. Then the doors for those
who come with something: the pages of the documentation in `DOORS`, and logs of Inspect, each in an empty folder. Ends
with 1 where a step fails, shows a traceback, or the first part takes longer than ten minutes.
"""

import csv
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 600
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?[^\n]*\n(.*?)^```$', re.DOTALL | re.MULTILINE)
SETUP = re.compile(r'^<details class="setup"[^\n]*>\n.*?^</details>$', re.DOTALL | re.MULTILINE)
ROOT = Path(__file__).resolve().parents[1]
DOORS = ("how-to/audit", "how-to/logs", "how-to/existing-predictions", "how-to/gold-draft")
SESSION = """import sys
for file in map(str.strip, sys.stdin):
    exec(compile(open(file, encoding="utf-8").read(), file, "exec"), globals())
    print("ran", file, flush=True)
"""
LETTERS = {
    "complaint": [
        "The tram was late again and nobody told us why.",
        "My bin has not been emptied for three weeks.",
        "The noise from the building site is unbearable.",
        "The cycle path is full of glass.",
        "I have called four times and nobody answers.",
        "The lift in the town hall is broken again.",
        "Your website crashed while I filled in the form.",
        "There are rats near the school.",
        "The street has been dark for two weeks.",
        "The letter you sent had the wrong name on it.",
    ],
    "praise": [
        "Thank you for the quick repair of the streetlight.",
        "What a lovely new playground, our children love it!",
        "The lady at the desk was very helpful, thanks.",
        "Great work on the flower beds this spring.",
        "The concert in the park was wonderful.",
        "Compliments to the team that cleared the snow.",
        "So happy with the new bus stop near our house.",
        "The guide at the archive knew everything, superb.",
        "Nice to see the old mill restored so well.",
        "Fast, friendly, perfect service.",
    ],
    "question": [
        "When does the library open on Sunday?",
        "How do I apply for a parking permit?",
        "Where can I hand in old paint?",
        "Is the swimming pool open during the holidays?",
        "Which documents do I need for a passport?",
        "Can I pay the dog tax online?",
        "Who decides about the new road?",
        "How much does a wedding at the town hall cost?",
        "Do you have forms in English?",
        "When will the bridge reopen?",
    ],
}


def main(goldassay: str) -> int:
    """Walk, and tell each step's seconds."""
    os.environ["PATH"] = f"{Path(goldassay).resolve().parent}{os.pathsep}{os.environ['PATH']}"
    for name in ("PYTHONPATH", "GOLDASSAY_MODEL"):
        os.environ.pop(name, None)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("letters.csv", "w", newline="", encoding="utf-8") as stream:
            table = csv.writer(stream)
            table.writerow(["text", "tone"])
            table.writerows(
                [letter, label]
                for three in zip(*LETTERS.values(), strict=True)
                for letter, label in zip(three, LETTERS, strict=True)
            )
        paste_next(step("goldassay init mine --task tone --from letters.csv --outputs tone"))
        os.chdir("mine")
        step("goldassay gold validate gold/tone")
        step("goldassay gold stats gold/tone")
        baseline = run_folder(step("goldassay eval tone:baseline --split test"))
        first = run_folder(step("goldassay eval tone --errors --split test"))
        step("goldassay tune tone --optimizer patches --plan")
        tuned = run_folder(step("goldassay tune tone --optimizer patches --budget minutes=4"))
        step(f"goldassay compare {baseline} {first}")
        step(f"goldassay report {baseline} {first} --out runs.html")
        step(f"goldassay report {tuned} --out tuning.html")
        step("goldassay runs list")
        for page in ("runs.html", "tuning.html"):
            check("<html" in Path(page).read_text(encoding="utf-8")[:500], page)
        os.chdir("/")
    took = time.monotonic() - began
    for page in DOORS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            print(f"         {page}.md")
            walk((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
            os.chdir("/")
    logs = ROOT / "tests" / "ext" / "interop" / "logs" / "files"
    step(f"goldassay compare {' '.join(str(file) for file in sorted(logs.glob('inspect_*')))}")
    print(f"The walk took {took:.0f} s of {LIMIT} s.")
    return 0 if took < LIMIT else 1


def walk(page: str) -> None:
    """Work through a page: write its files, run its Python in one session and its commands; its folded setup first."""
    page = "\n".join([*SETUP.findall(page), SETUP.sub("", page)])
    session = subprocess.Popen(["python", "-c", SESSION], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for number, (kind, title, body) in enumerate(BLOCK.findall(page)):
        if title:
            Path(title).parent.mkdir(parents=True, exist_ok=True)
            Path(title).write_text(body, encoding="utf-8")
        elif kind == "python":
            Path(f"block{number}.py").write_text(body, encoding="utf-8")
            session.stdin.write(f"block{number}.py\n")
            session.stdin.flush()
            printed = iter(session.stdout.readline, "")  # what the block prints, until it has run
            check(any(line == f"ran block{number}.py\n" for line in printed), f"block {number} of the page failed")
        elif kind in ("sh", "console"):
            lines = body.replace("\\\n", " ").splitlines()
            for line in lines[:1] if kind == "console" else lines:
                code = re.search(r"# exit code (\d)", line)
                step(line.removeprefix("$ ").partition(" # ")[0], int(code[1]) if code else 0)
    session.stdin.close()
    session.wait()


def step(command: str, code: int = 0) -> str:
    """Run a line as it would be pasted; its output."""
    began = time.monotonic()
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    print(f"{time.monotonic() - began:6.1f} s  {command}", flush=True)
    if done.returncode != code or "Traceback" in output:
        print(output)
        raise SystemExit(f"exit code {done.returncode}: {command}")
    return output


def check(right: bool, output: str) -> None:
    """Stop unless it is as it should be."""
    if not right:
        raise SystemExit(f"not as it should be: {output}")


def paste_next(output: str) -> None:
    """Run what was printed as the next step."""
    steps = re.findall(r"^Try: +(.*)$", output, flags=re.MULTILINE)
    check(bool(steps), output)
    for line in steps:
        step(line)


def run_folder(output: str) -> str:
    """The run folder that a command names."""
    found = re.findall(r"older: (\S+)", " ".join(output.split()))
    check(bool(found), output)
    return str(found[-1]).rstrip(".")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

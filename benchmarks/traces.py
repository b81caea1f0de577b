"""The loop of docs/tutorials/traces.md with a model, or with many draws: ``python -m benchmarks.traces FOLDER``.

Texts and scripted reviewer are those of the page, of which this runs the blocks. ``--lm MODEL`` takes the program
``extraction``, which asks the model, in place of ``extraction:prompted``; small sizes, ``--traces 150 --read 60``, keep
a model of half a billion parameters to half an hour of one processor. ``--draws 20`` repeats the loop with other texts
and other slips: how often is the best patch on what was read proven, and how far is the verdict from the truth?
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import runpy
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dspy

import goldassay
from goldassay import Metric, evaluate, workspace
from goldassay.measures.extraction import SpanF1
from goldassay.models.lm import for_program
from goldassay.tuning import load_state

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tutorials" / "traces.md"


def goldassay_json(*words: str) -> dict[str, Any]:
    """The JSON that a command prints; a command that fails ends the benchmark."""
    command = [sys.executable, "-m", "goldassay", *words, "--json", "--quiet"]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def definitions(seed: int) -> dict[str, Any]:
    """What the page's blocks define: the gold of every sentence, their order, and the reviewer."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    texts = blocks[0].partition("\nprogram = ")[0].replace("random.Random(1)", f"random.Random({seed})")
    Path("page.py").write_text(f"{texts}\n{blocks[1]}", encoding="utf-8")
    return runpy.run_path("page.py")


class Clock:
    """Prints what a step took: seconds of the wall, and of the processor with all processes that ended."""

    def __init__(self) -> None:
        self.wall = time.monotonic()
        self.spent = self.processor()

    @staticmethod
    def processor() -> float:
        parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(part.ru_utime + part.ru_stime for part in parts)

    def step(self, text: str, *details: object) -> None:
        wall, spent = time.monotonic(), self.processor()
        print(f"[{wall - self.wall:5.0f} s, {spent - self.spent:5.0f} s of processor] {text}", *details, flush=True)
        self.wall = wall
        self.spent = spent


def loop(options: argparse.Namespace, seed: int) -> dict[str, Any]:
    """From traces to a verdict, in the current folder; returns the verdict and the true difference."""
    name = "extraction" if options.lm else "extraction:prompted"
    asked = [f"--lm={options.lm}"] if options.lm else []
    clock = Clock()
    if not Path("programs").exists():
        subprocess.run([sys.executable, "-m", "goldassay", "init", ".", "--quiet"], check=True)
    page = definitions(seed)
    texts = page["texts"][: options.traces]
    program: Any = workspace.target(name).load()
    model = for_program(program, options.lm)
    with dspy.context(lm=model.lm, adapter=model.adapter):
        rows = [
            {"id": f"t{at}", "text": text, "entities": program(text=text).entities} for at, text in enumerate(texts)
        ]
    Path("traces.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    clock.step(f"{len(rows)} traces")
    with goldassay.review("traces.jsonl", task="extraction", question="errors", n=options.read) as opened:
        reader = page["Reviewer"](opened.url, page["GOLD"], seed)
        reader.work()
        for mode in [mode for mode, rules in reader.rules.items() if rules]:
            reader.describe(mode)
    modes = goldassay_json("gold", "modes", "traces.review")["modes"]
    clock.step(f"{options.read} read", *(f"\n    {mode['name']}: {mode['records']}, {mode['share']}" for mode in modes))
    goldassay_json("patch", "propose", name, "traces.review", f"--n={options.patches}")
    tested = goldassay_json("patch", "test", name, "--modes=traces.review", *asked)["patches"]
    clock.step(f"{len(tested)} patches", *(f"\n    {patch['id']}: {patch['effects']}" for patch in tested))
    best = max((patch for patch in tested if patch["effects"]), key=lambda patch: patch["effects"][-1]["difference"])
    proof = ["patch", "test", name, best["id"]]
    draft = Path(goldassay_json(*proof, "--unlabelled=traces.jsonl", "--no-review", *asked)["draft"])
    with goldassay.review(draft, task="extraction") as opened:
        page["Reviewer"](opened.url, page["GOLD"], seed + 1000).work()
    verdict = goldassay_json(*proof, "--unlabelled=traces.jsonl", "--no-review", *asked)
    clock.step(best["id"], *(f"\n    {sentence}" for sentence in verdict["sentences"]))
    goldassay_json("patch", "show", name)
    subprocess.run([sys.executable, "-m", "goldassay", "patch", "apply", name, best["id"], "--any-version"], check=True)
    read = {json.loads(line)["id"] for line in Path("traces.review/reviewed.jsonl").read_text().splitlines()}
    unread = [text for at, text in enumerate(texts) if f"t{at}" not in read]
    gold = [dspy.Example(text=text, entities=page["GOLD"][text]).with_inputs("text") for text in unread]
    fixed = load_state(program, f"programs/patches/{name.replace(':', '-')}")
    values = []
    for each in (program, fixed):
        run = evaluate(each, gold, Metric(SpanF1()), lm=model.lm, adapter=model.adapter)
        values.append(float(run.values["strict_f1"]))
    clock.step(f"the truth: {values[0]:.3f} to {values[1]:.3f} on {len(unread)} that were not read")
    if options.lm:
        for mode in modes[:2]:
            judge = goldassay_json("judge", "eval", "traces.review", f"--mode={mode['name']}", *asked)
            clock.step(f"a judge of {mode['name']!r}", json.dumps(judge))
    return {"truth": values[1] - values[0], "patch": verdict["patch"], "verdict": verdict["verdict"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lm")
    for name, default in (("traces", 400), ("read", 100), ("patches", 12), ("draws", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    for seed in range(1, options.draws + 1):
        folder = (options.folder / str(seed)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        os.chdir(folder)
        print(seed, json.dumps(loop(options, seed)), flush=True)


if __name__ == "__main__":
    main()

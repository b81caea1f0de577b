"""How often a patch from notes is proven when it helps nothing, and when it does.

``python -m benchmarks.loop_of_modes [500] [--write]`` goes through the whole loop on the real code, without a model:
traces are read in a review (the modes of failure named, the answers corrected), patches proposed from the notes, the
first of them run beside the program on inputs that nobody has read, what it changes drafted and labelled blindly, and
the verdict read after every ten labels and at the end. A reviewer slips in one of twenty decisions. The program's
answers to a share of the inputs depend on its prompt by chance, so a patch changes them without making them better;
with a gain it makes them right more often. ``--write`` puts the table into docs/tuning-results.md.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy
import numpy as np

from goldassay._support.dspy_compat import signature_of
from goldassay.ext.labelling.drafts import Pool, draft
from goldassay.ext.labelling.labelled import PREFERRED, verdict
from goldassay.ext.labelling.notes import Notes, propose_from_notes
from goldassay.ext.labelling.proof import mode_changes, plan_labels
from goldassay.ext.labelling.review.folder import Folder
from goldassay.ext.labelling.review.journal import Decision
from goldassay.ext.labelling.review.session import Session, labels_of, reviewed_traces
from goldassay.gold import write
from goldassay.statistics import wilson
from goldassay.tuning import TuneOptions
from goldassay.tuning.acceptance import Status
from goldassay.tuning.service import PatchFolder

LOOPS = 500
READ, INPUTS, EVERY = 40, 320, 10  # traces that are read; inputs of the proof; labels between two looks
RIGHT, CHANGED, SLIPS = 0.7, 0.4, 0.05
GAINS = (0.0, 0.05, 0.1)
LABELS = ("museum", "archive", "library")
TASK = "classification"
PAGE = Path(__file__).parent.parent / "docs" / "tuning-results.md"
START, END = "<!-- loop of modes -->\n", "<!-- end of the loop of modes -->"


class Sorter(dspy.Module):  # type: ignore[misc]
    """Right in 70 % of the letters; a patch draws its answers to 40 % of them anew, right more often by the gain."""

    def __init__(self, seed: int, gain: float) -> None:
        super().__init__()
        signature: Any = dspy.Signature
        self.sort = dspy.Predict(signature("text: str -> label: str", "Sort."))
        self.seed = seed
        self.gain = gain

    def forward(self, text: str) -> Any:
        prompt = f"{signature_of(self.sort).instructions}{self.sort.demos}"
        patched = prompt != "Sort.[]"
        changed = patched and random.Random(f"{self.seed} {text} changed").random() < CHANGED
        rng = random.Random(f"{self.seed} {text} {prompt if changed else ''}")
        right = rng.random() < RIGHT + changed * self.gain / CHANGED
        kind = text.split()[0]
        others = [label for label in LABELS if label != kind]
        return dspy.Prediction(label=kind if right else rng.choice(others))


def letters(seed: int, n: int, name: str) -> list[dspy.Example]:
    rng = random.Random(f"{seed} {name}")
    texts = [f"{rng.choice(LABELS)} {name} {rng.getrandbits(64):x}" for _ in range(n)]
    return [dspy.Example(id=f"{name}{at}", text=text).with_inputs("text") for at, text in enumerate(texts)]


def decided(draft: Path, decide: Callable[[dict[str, Any], str], dict[str, Any]]) -> Path:
    """The folder of a draft after a person has decided all of it, on the review's own code."""
    folder = Folder.open([draft], TASK)
    with closing(Session(folder)) as session:
        for index, record in enumerate(folder.records):
            shown = session.record(str(index), "ann")
            fields = decide(shown, str(record["text"]).split()[0])
            session.decide(Decision(decision=f"d{index}", item=str(index), kind="label", **fields), "ann", "s")
    return folder.path


def reader(rng: random.Random) -> Callable[[dict[str, Any], str], dict[str, Any]]:
    """Reads traces: names the mode of a wrong answer and corrects it; slips take a wrong answer for right."""

    def read(shown: dict[str, Any], kind: str) -> dict[str, Any]:
        answer = [each["value"] for each in shown["suggestions"]]
        if answer and (answer[0]["label"] == kind or rng.random() < SLIPS):
            return {"value": answer[0]}
        modes = {"modes": [f"missed {kind}"], "note": f"Look for a {kind}."} if answer else {}
        return {"value": {"label": kind}, **modes}

    return read


def chooser(rng: random.Random) -> Callable[[dict[str, Any], str], dict[str, Any]]:
    """Chooses between two answers without knowing whose they are; a slip takes the other one, or one of two wrong."""

    def choose(shown: dict[str, Any], kind: str) -> dict[str, Any]:
        sides = {each["key"]: each["value"]["label"] for each in shown["suggestions"]}
        right = [key for key, label in sides.items() if label == kind]
        slip = rng.random() < SLIPS
        if not sides:
            label = rng.choice(LABELS) if slip else kind
            return {"value": {"label": label}}
        modes = [f"missed {kind}"]
        if not right:
            return {"choice": rng.choice(["1", "2"]) if slip else "neither", "modes": modes}
        other = next(key for key in sides if key not in right)
        return {"choice": other if slip else right[0], "modes": modes}

    return choose


@dataclass(frozen=True)
class Loop:
    """One loop: what a person reads at the end and on the way."""

    proven: bool
    ever: bool
    worse: bool
    rose: bool
    covered: bool
    labels: int
    apart: float


def loop(seed: int, gain: float) -> Loop:
    rng = random.Random(f"{seed} reviewer")
    program = Sorter(seed, gain)
    quiet = TuneOptions(progress=False)
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        traces = letters(seed, READ, "trace")
        answers = [{"id": each["id"], **program(text=each["text"]).toDict()} for each in traces]
        pool = Pool.of(TASK, [each.toDict() for each in traces], {"program": answers})
        write(base / "traces.jsonl", draft(pool, "errors", n=READ, seed=seed).records, task=TASK)
        review = decided(base / "traces.jsonl", reader(rng))
        patches = PatchFolder(base / "patches", program)
        notes = Notes(review, TASK, reviewed_traces(review), ["text"])
        name = propose_from_notes(patches, notes, most=1)[0].id
        patch, after = patches.with_patch(name)
        inputs = letters(seed, INPUTS, "input")
        plan = plan_labels(TASK, {"before": program, patch.id: after}, inputs, quiet)
        write(base / "changed.jsonl", plan.draft.records, task=TASK)
        records, failures = labels_of(decided(base / "changed.jsonl", chooser(rng)))
        systems = ["before", patch.id]
        labelled = sum(PREFERRED in record for record in records)
        looks = [verdict(TASK, without(records, look), systems) for look in range(EVERY, labelled, EVERY)]
        final = verdict(TASK, records, systems)
        written = patches.prove(name, final)
    ends = final.gain.interval
    return Loop(
        written.status == Status.PROVEN,
        any(each.verdict == "better" for each in [*looks, final]),
        any(each.verdict == "worse" for each in [*looks, final]),
        any(change.rose for change in mode_changes(TASK, records, failures)),
        ends.low <= gain * (1 - 2 * SLIPS) <= ends.high,
        labelled,
        plan.disagreements / INPUTS,
    )


def without(records: list[dict[str, Any]], labels: int) -> list[dict[str, Any]]:
    """The records as they are after so many labels."""
    rest = [{key: row[key] for key in row if key not in (PREFERRED, "label")} for row in records[labels:]]
    return [*records[:labels], *rest]


def main() -> None:
    loops = next((int(word) for word in sys.argv[1:] if word.isdigit()), LOOPS)
    lines = [
        "| gain | loops | changed | labels | proven | at any look | worse at any look | a mode rose | covered |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for gain in GAINS:
        started = time.process_time()
        results = [loop(seed, gain) for seed in range(loops)]
        shares = []
        for name in ("proven", "ever", "worse", "rose", "covered"):
            hits = sum(getattr(each, name) for each in results)
            low, high = wilson(hits, loops)
            shares.append(f"{hits / loops:.3f} [{low:.3f}, {high:.3f}]")
        apart = np.mean([each.apart for each in results])
        labels = np.median([each.labels for each in results])
        lines.append(f"| {gain:+.2f} | {loops} | {apart:.2f} | {labels:.0f} | {' | '.join(shares)} |")
        print(f"{lines[-1]}  {time.process_time() - started:.0f} s", flush=True)
    if "--write" in sys.argv:
        text = PAGE.read_text(encoding="utf-8")
        start = text.index(START) + len(START)
        table = "\n".join(lines)
        PAGE.write_text(f"{text[:start]}{table}\n{text[text.index(END) :]}", encoding="utf-8")


if __name__ == "__main__":
    main()

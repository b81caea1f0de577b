"""Journey C: gold as a table of two columns, a workspace, and four optimizers that share one budget."""

from __future__ import annotations

import csv
import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import dspy
import pytest
from tests.chaos.conftest import Endpoint
from tests.ext.labelling.review.conftest import text_of
from tests.journeys.conftest import Answer, Fields, Shell

from goldassay import workspace

TONES = {
    "When does it open?": "question",
    "Thank you!": "praise",
    "It is broken.": "complaint",
    "Great, it is broken again.": "complaint",
}
OPTIMIZERS = ["patches", "gepa", "mipro", "bootstrap"]
BUDGET = 200


def name_tone(output: str, inputs: Fields, before: str) -> str:
    """Takes irony at its word until the prompt speaks of it or shows it."""
    if output != "tone":
        return "Name the tone. Irony is a complaint."
    text = inputs["text"]
    if "again" in text and ("Irony" in before or "again" in before):
        return "complaint"
    return "question" if "?" in text else "praise" if "Great" in text or "Thank" in text else "complaint"


def read_gold() -> list[Fields]:
    return [json.loads(line) for line in Path("gold/tone/tone.jsonl").read_text(encoding="utf-8").splitlines()]


def share_right(rows: list[Fields]) -> float:
    """What the model gets right that takes irony at its word."""
    return 1 - sum("again" in row["text"] for row in rows) / len(rows)


@pytest.mark.nightly
def test_from_a_table_to_the_best_of_four_optimizers(shell: Shell, model: Callable[[Answer], Endpoint]) -> None:
    rng = random.Random(4)
    with Path("letters.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["text", "tone"])
        for number in range(100):
            text, tone = rng.choice(list(TONES.items()))
            table.writerow([f"{text_of(number)}. {text}", tone])
    shell("goldassay init my-project --task tone --from letters.csv --outputs tone")
    os.chdir("my-project")
    endpoint = model(name_tone)
    splits = {name: [row for row in read_gold() if row["split"] == name] for name in ("train", "dev", "test")}

    ((common, _),) = Counter(row["tone"] for row in splits["train"]).most_common(1)
    baseline = shell.json("goldassay eval tone:baseline")
    assert baseline["values"]["score"] == sum(row["tone"] == common for row in splits["dev"]) / len(splits["dev"])

    run = shell.json("goldassay eval tone --lm models.yaml:mini")
    assert run["values"]["score"] == pytest.approx(share_right(splits["dev"]))
    assert run["cost"]["calls"] == endpoint.calls == len(splits["dev"])

    endpoint.calls = 0
    words = f"--optimizer {','.join(OPTIMIZERS)} --budget calls={BUDGET} --lm models.yaml:mini"
    shell(f"goldassay tune tone {words}")
    page = shell.advised("Folder: ").rpartition("its page: ")[2]
    folder = Path(page.split()[2])
    tuned = json.loads((folder / "tuning.json").read_text(encoding="utf-8"))
    arms = {arm["optimizer"]: arm for arm in tuned["arms"]}
    assert list(arms) == OPTIMIZERS
    assert tuned["before"] == {name: pytest.approx(share_right(splits[name])) for name in ("dev", "test")}
    assert tuned["chosen"] == max(OPTIMIZERS, key=lambda name: arms[name]["dev"])
    gain = arms[tuned["chosen"]]["test"] - share_right(splits["test"])
    assert tuned["audit"]["gain"] == pytest.approx(gain) == pytest.approx(1 - share_right(splits["test"]))
    assert f"On test +{gain:.3f} [" in " ".join(shell.printed.split())

    assert all(arm["calls"] <= BUDGET / len(arms) for arm in arms.values())
    assert tuned["cost"]["calls"] == sum(arm["calls"] for arm in arms.values())
    measured = 1 + len([arm for arm in arms.values() if arm["verdict"] != "same"])
    assert endpoint.calls == tuned["cost"]["calls"] + measured * (len(splits["dev"]) + len(splits["test"]))
    shell(page)  # what was printed works
    assert f"+{gain:.3f} [" in Path("arena.html").read_text(encoding="utf-8")
    low, high = tuned["audit"]["interval"]
    assert f"[{low:+.3f}, {high:+.3f}]".replace("-", "\u2212") in Path("arena.html").read_text(encoding="utf-8")

    again = shell.json(f"goldassay eval tone --split test --lm models.yaml:mini --state {folder}")
    assert again["values"]["score"] == arms[tuned["chosen"]]["test"]
    program: dspy.Module = workspace.load(Path("programs/tone.py")).program
    state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    if "load_with" not in state:
        program.load(str(folder / "state.json"))  # whoever leaves takes the prompt along

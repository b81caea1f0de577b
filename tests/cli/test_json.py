"""``--json`` prints exactly one JSON object on standard output, for every command that takes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from tests.processes import run
from typer.testing import CliRunner

from goldassay.cli import app

METRIC = (
    "from goldassay import Metric\nfrom goldassay.measures import extraction\nmetric = Metric(extraction.SpanF1())\n"
)
CASES = """
init --check extraction
score extraction --gold gold.jsonl --pred gold.jsonl
eval extraction --gold names
eval extraction --gold names --errors
compare RUN RUN
compare RUN RUN RUN --out ranked
compare extraction --gold gold.jsonl --pred gold.jsonl --pred gold.jsonl
compare extraction --gold gold.jsonl --pred gold.jsonl
compare extraction --gold names --program program --lm a --lm b --out matrix
tune extraction --gold names --optimizer labeled
tune extraction --gold names --optimizer labeled --plan
explain extraction --gold names
patch patterns RUN
patch propose extraction TRAIN
patch test extraction --gold names
patch show extraction
judge eval items.jsonl --judge support
judge eval open.jsonl --judge support --labels 2
judge eval numbers.jsonl
audit RUN OTHER
judge audit --gold heritage --limit 2
gold validate names
gold stats names
gold split names
gold agree gold.jsonl gold/names/extraction.jsonl --task extraction
gold draft RUN --task extraction --n 4 --out draft.jsonl
review draft.jsonl --task extraction --export
gold modes draft.review
runs list
runs show RUN
runs prune --keep 9
"""


@pytest.fixture
def workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names_gold: list[Any], names_source: str, learner: Any
) -> Path:
    """A workspace with a program that prints, a metric, texts and labels; every model is the scripted one."""
    learner.rule = "supported"
    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda name=None, **_: lm)
    monkeypatch.chdir(tmp_path)
    splits = ["train"] * 8 + ["dev"] * 8 + ["test"] * 8
    rows = [{**example.toDict(), "split": split} for example, split in zip(names_gold, splits, strict=False)]
    items = [
        {"id": i, "claim": f"In {i}.", "text": f"Built in {i}.", "label": "supported", "verdict": "supported"}
        for i in range(9)
    ]
    for file, text in {
        "programs/extraction.py": names_source,
        "metrics/extraction.py": METRIC,
        "gold/names/extraction.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows),
        "gold.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows),
        "items.jsonl": "".join(f"{json.dumps(item)}\n" for item in items),
        "open.jsonl": "".join(f"{json.dumps({**item, 'label': None})}\n" for item in items),
        "numbers.jsonl": "".join(f"{json.dumps({'id': item['id'], 'label': 0.5, 'verdict': 0.4})}\n" for item in items),
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    return tmp_path


def test_every_command_prints_one_object(workspace: Path, takes_json: Callable[[], set[str]]) -> None:
    def answer(*words: str) -> dict[str, Any]:
        done = CliRunner().invoke(app, [*words, "--json"])
        assert isinstance(done.exception, SystemExit | None), (words, done.exception)
        [line] = done.stdout.splitlines()
        body = json.loads(line)
        assert isinstance(body, dict), words
        return body

    run = str(answer("eval", "extraction", "--gold", "names")["folder"])
    other = str(answer("eval", "extraction", "--gold", "names")["folder"])
    train = str(answer("eval", "extraction", "--gold", "names", "--split", "train")["folder"])
    cases = [
        case.replace("RUN", run).replace("OTHER", other).replace("TRAIN", train).split()
        for case in CASES.strip().splitlines()
    ]
    for case in cases:
        answer(*case)
    names = takes_json()
    tested = {name for name in names if any(" ".join(case).startswith(name) for case in cases)}
    own = {name for name in names if name.startswith("wikidata ")}
    assert names - tested == own  # those have a test of their own


def test_whatever_else_is_printed_goes_to_standard_error(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "print('loaded')\ndef program(text):\n    print('ran')\n    return {'entities': []}\n"
    )
    (tmp_path / "gold.jsonl").write_text('{"id": 1, "text": "in Delft", "entities": []}\n')
    done = run("eval", "mine.py", "--task", "extraction", "--gold", "gold.jsonl", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["examples"] == 1
    assert "loaded\nran\n" in done.stderr

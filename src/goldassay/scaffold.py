"""A workspace for a task of one's own: program, metric, gold with its card, README and a test."""

from __future__ import annotations

import json
import keyword
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import GoldassayError
from goldassay.gold import anyfields, read
from goldassay.gold.splits import split
from goldassay.measure import TASKS

LEAST = 10  # records that can be split into train, dev and test
FEW = 300  # with fewer records a test split of 15 % shows no gain that a program can have
RATIOS_OF_FEW = {"train": 0.4, "dev": 0.2, "test": 0.4}


def write(
    folder: Path,
    task: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    source: str | Path | None = None,
    renamed: Mapping[str, str] | None = None,
    force: bool = False,
) -> list[Path]:
    """Write the workspace; what was written.

    ``inputs`` and ``outputs`` are the fields of the task. With ``source`` (a file as `anyfields` reads it, ``renamed``
    on the way) the types come from the data, the records become gold, and where they have no split they get one;
    fields that are named on neither side are left to the inputs. Without it, gold is a few examples to replace.

    Args:
        folder: Where it goes.
        force: Write over what exists.
    """
    for name in (task, *inputs, *outputs):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise GoldassayError(f"{name!r} is no name for a task or a field: letters, digits and _, no digit first")
    if task in TASKS:
        raise GoldassayError(f"{task} is one of the six tasks; `goldassay init DIR` writes a workspace with those")
    records = read(source, task=task, map=renamed) if source is not None else []
    types = anyfields.fields(records)
    inputs, outputs = _sides(types, inputs, outputs) if records else (list(inputs), list(outputs))
    if not inputs or not outputs:
        raise GoldassayError("a task needs fields: --inputs text --outputs label")
    kept = [{**_about(record), **{name: record.get(name) for name in (*inputs, *outputs)}} for record in records]
    labels = [name for name in outputs if types.get(name, "").startswith("Literal")]
    gold = _split(kept, labels) if kept else _examples(inputs, outputs)
    words = {"task": task, "title": task.replace("_", " "), "class": "".join(map(str.title, task.split("_")))}
    texts = {
        folder / "programs" / f"{task}.py": _program(words, inputs, outputs, types),
        folder / "metrics" / f"{task}.py": METRIC.format(**words, outputs=tuple(outputs)),
        folder / "gold" / task / "card.yaml": _card(task, inputs, outputs, gold, source),
        folder / "gold" / task / f"{task}.jsonl": "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in gold),
        folder / "tests" / f"test_{task}.py": TEST.format(**words, outputs=tuple(outputs)),
    }
    if not (folder / "README.md").exists():
        texts[folder / "README.md"] = README.format(
            **words, note="" if kept else NOTE.format(task=task), commands=_commands(task)
        )
    if taken := [str(file) for file in texts if file.exists() and not force]:
        raise GoldassayError(f"{taken[0]} exists already; name another task or folder, or say --force to write over it")
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        files.save(file, text)
    return list(texts)


def _sides(types: Mapping[str, str], inputs: Sequence[str], outputs: Sequence[str]) -> tuple[list[str], list[str]]:
    """The fields on both sides; where only one side is named, the others are the other."""
    if absent := [name for name in (*inputs, *outputs) if name not in types]:
        raise GoldassayError(f"the data have no field {absent[0]!r}; they have {', '.join(types)}")
    if not outputs:
        outputs = (
            [name for name in types if name not in inputs][-1:] if not inputs else [n for n in types if n not in inputs]
        )
    return list(inputs) or [name for name in types if name not in outputs], list(outputs)


def _about(record: Mapping[str, object]) -> dict[str, Any]:
    return {name: record[name] for name in anyfields.ABOUT if record.get(name) is not None}


def _split(records: list[dict[str, Any]], labels: Sequence[str]) -> list[dict[str, Any]]:
    """The records with a split, ``labels`` in proportion; those that have one keep it, and few are not split."""
    if any("split" in record for record in records) or len(records) < LEAST:
        return records
    text = [
        {**one, "text": " ".join(str(value) for value in one.values() if isinstance(value, str))} for one in records
    ]
    sides = split(text, ratios=RATIOS_OF_FEW if len(records) < FEW else None, factors=labels).of
    return [
        {"id": one["id"], "split": sides[one["id"]], **{k: v for k, v in one.items() if k != "id"}} for one in records
    ]


def _examples(inputs: Sequence[str], outputs: Sequence[str]) -> list[dict[str, Any]]:
    sides = ("train",) * 4 + ("dev",) * 3 + ("test",) * 3
    return [
        {"id": f"example-{n}", "split": side}
        | {name: f"{name} {n}: write yours here" for name in inputs}
        | {name: f"{name} {n % 2}" for name in outputs}
        for n, side in enumerate(sides, start=1)
    ]


def _card(
    task: str, inputs: Sequence[str], outputs: Sequence[str], gold: Sequence[Mapping[str, object]], source: object
) -> str:
    import yaml

    sides = [str(one["split"]) for one in gold if "split" in one]
    card = {
        "name": task,
        "version": "0.1.0",
        "licence": "unknown: say it before you share the data",
        "source": "examples to replace" if source is None else str(source).rpartition("/")[2],
        "created": f"{datetime.now(UTC):%Y-%m-%d}",
        "files": {task: f"{task}.jsonl"},
        "inputs": list(inputs),
        "outputs": list(outputs),
        "documents": {"records": len(gold), "splits": {side: sides.count(side) for side in dict.fromkeys(sides)}},
    }
    return yaml.safe_dump(card, sort_keys=False, allow_unicode=True)


def _program(words: Mapping[str, str], inputs: Sequence[str], outputs: Sequence[str], types: Mapping[str, str]) -> str:
    kinds = {name: types.get(name, "str") for name in (*inputs, *outputs)}
    imported = [name for name in ("Any", "Literal") if any(name in kind for kind in kinds.values()) or name == "Any"]
    fields = [f"    {name}: {kinds[name]} = dspy.InputField()" for name in inputs]
    fields += [f"    {name}: {kinds[name]} = dspy.OutputField()" for name in outputs]
    return PROGRAM.format(
        **words,
        typing=", ".join(imported),
        asked=" and ".join(name.replace("_", " ") for name in outputs),
        given=" and ".join(name.replace("_", " ") for name in inputs),
        fields="\n".join(fields),
        outputs=tuple(outputs),
        parameters=", ".join(f"{name}: {kinds[name]}" for name in inputs),
        arguments=", ".join(f"{name}={name}" for name in inputs),
    )


PROGRAM = '''"""{title}: {asked} from {given}.

``program`` asks a language model. ``baseline`` needs none: it answers what is commonest in train, and is what a model
has to beat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import {typing}

import dspy

OUTPUTS = {outputs!r}


class {class}(dspy.Signature):
    """Say the {asked} of the {given}."""

{fields}


class Ask(dspy.Module):
    """A language model, asked once. Write steps of your own here: any DSPy module will do."""

    def __init__(self) -> None:
        super().__init__()
        self.ask = dspy.Predict({class})

    def forward(self, {parameters}) -> dspy.Prediction:
        return self.ask({arguments})


class Commonest(dspy.Module):
    """What is commonest in train; no model."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: dict[str, Any] = dict.fromkeys(OUTPUTS)

    def fit(self, train: Sequence[Any]) -> Commonest:
        made = Commonest()
        for name in OUTPUTS:
            counts = Counter(repr(example[name]) for example in train)
            commonest = counts.most_common(1)[0][0]
            made.answer[name] = next(example[name] for example in train if repr(example[name]) == commonest)
        return made

    def forward(self, {parameters}) -> dspy.Prediction:
        return dspy.Prediction(**self.answer)


program = Ask()
baseline = Commonest()
'''

METRIC = '''"""How {title} is judged: the share of fields that are as in gold, but for case and spaces.

Any function of (gold, prediction) is a metric. It may return a number, a bool, a dict of either (each is reported with
its interval), a ``dspy.Prediction(score=..., feedback="...")``, or counts that add up (``-> Counts``: a corpus F1).
"""

from __future__ import annotations

from typing import Any

from goldassay import Metric

OUTPUTS = {outputs!r}


def same(wanted: Any, found: Any) -> bool:
    return str(wanted).casefold().split() == str(found).casefold().split()


def agreement(gold: Any, pred: Any) -> dict[str, bool]:
    return {{name: same(gold[name], pred[name]) for name in OUTPUTS}}


metric = Metric.of(agreement, pass_mark=1.0)
'''

TEST = '''"""The program, the metric and the gold of {title} fit together."""

from pathlib import Path

from goldassay import load, workspace

ROOT = Path(__file__).resolve().parents[1]


def test_gold_against_itself_is_right() -> None:
    metric = workspace.metric("{task}", str(ROOT / "metrics" / "{task}.py"))
    for example in load(ROOT / "gold" / "{task}", task="{task}").task("{task}").records:
        assert metric(example, example).score == 1.0


def test_the_baseline_answers() -> None:
    target = workspace.target(str(ROOT / "programs" / "{task}.py") + ":baseline")
    examples = load(ROOT / "gold" / "{task}", task="{task}").task("{task}").records
    fitted = target.load().fit(examples)
    inputs = {{name: examples[0][name] for name in workspace.taken(fitted)}}
    assert set({outputs!r}) <= set(fitted(**inputs).keys())
'''

NOTE = """
The gold is a few examples: replace the lines of `gold/{task}/{task}.jsonl` with yours (any fields; `split` says which
side a record is on; `goldassay gold split gold/{task} --task {task}` makes one).
"""

README = """# {title}

A workspace of goldassay: `programs/{task}.py`, `metrics/{task}.py`, `gold/{task}/`.
{note}
```
{commands}
python -m pytest tests
```
"""

COMMANDS = (
    ("gold validate gold/{task}", "what is wrong in the gold"),
    ("eval {task}:baseline", "what a model has to beat"),
    ("eval {task} --errors", "the program, on the embedded model; --lm names another"),
    ("tune {task} --optimizer patches --plan", "what gain can be shown at this size, and what that costs"),
    ("tune {task} --optimizer patches", "edits of the prompt; chosen on train and dev, proven on test"),
    ("compare RUN RUN", "two run folders, with a paired test"),
    ("report RUN... --out report.html", "one page to look at"),
)


def _commands(task: str) -> str:
    lines = [(f"goldassay {command.format(task=task)}", why) for command, why in COMMANDS]
    wide = max(len(line) for line, _ in lines)
    return "\n".join(f"{line:<{wide}}  # {why}" for line, why in lines)

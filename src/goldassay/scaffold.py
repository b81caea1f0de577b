"""A workspace for a task of the user's own: program, metric, gold with its card, README and a test."""

from __future__ import annotations

import json
import keyword
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from goldassay import files, workspace
from goldassay.exceptions import GoldassayError
from goldassay.gold import anyfields, read
from goldassay.gold.splits import DATASET_SPLITS, split
from goldassay.measure import TASKS
from goldassay.measures.records import records as schemas

MIN_SPLIT = 10  # records that can be split into train, dev and test
SMALL = 300  # with fewer records a test split of 15 % can show no realistic gain
UNEVEN = 0.25  # a label whose shares are as far off on average does not stand on all sides
PLACEHOLDERS = """\
Write a text of yours here.
Every line of this file is an example.
What the program reads comes first.
Then follows the expected answer.
Examples of dev choose between programs.
They are never shown to a model.
Add as many as you have.
Test is for the last look.
Nothing is tuned on it.
A hundred examples show large gains.""".splitlines()
"""Inputs of the examples to replace, no two nearly the same."""
SMALL_RATIOS = {"train": 0.4, "dev": 0.2, "test": 0.4}


def write(
    folder: Path,
    task: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    source: str | Path | None = None,
    renamed: Mapping[str, str] | None = None,
    schema: str | None = None,
    force: bool = False,
) -> list[Path]:
    """Writes the workspace and returns its files.

    With ``source`` the types come from the data and the records become gold, with a split if they have none; if only
    one side is named, the other fields are the other side. Without it, gold is a few examples to replace.

    Args:
        folder: Where it goes.
        task: The name of the task.
        inputs: The fields that the program gets.
        outputs: The fields that it predicts.
        source: A file that `anyfields` reads.
        renamed: Fields of the source under other names.
        schema: The pydantic model of a record, as ``models.py:Invoice``: the program predicts the field ``record``,
            which is measured field by field.
        force: Overwrite existing files.
    """
    for name in (task, *inputs, *outputs):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise GoldassayError(f"a task or field needs a Python name (letters, digits, _), got {name!r}")
    if task in TASKS:
        raise GoldassayError(f"{task} is a built-in task; `goldassay init DIR` writes a workspace with those")
    records = read(source, task=task, map=renamed) if source is not None else []
    if schema is not None:
        if outputs:
            raise GoldassayError("a task with a schema predicts its record; name only its inputs")
        records, inputs, outputs = list(map(anyfields.nested, records)), inputs or ["text"], ["record"]
    types = anyfields.fields(records)
    inputs, outputs = _sides(types, inputs, outputs) if records else (inputs, outputs)
    if not inputs or not outputs:
        raise GoldassayError("a task needs fields: `inputs=text` and `outputs=label`")
    gold = _split(records, inputs, outputs, types)
    model = Schema.of(schema, task, gold) if schema is not None else None
    gold = gold or _examples(inputs, outputs, model)
    words = _words(task, inputs, outputs, types, model)
    texts = {
        f"programs/{task}.py": PROGRAM.format(**words),
        f"metrics/{task}.py": (METRIC_OF_RECORDS if model else METRIC).format(**words),
        f"gold/{task}/card.yaml": _card(task, inputs, outputs, gold, source),
        f"gold/{task}/{task}.jsonl": "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in gold),
        f"tests/test_{task}.py": TEST.format(**words),
    }
    if model:
        texts[f"programs/{model.copy}"] = model.source
    if not (folder / "README.md").exists():
        texts["README.md"] = README.format(**words, note="" if records else NOTE.format(task=task))
    return _save({folder / name: text for name, text in texts.items()}, force)


def _save(texts: Mapping[Path, str], force: bool) -> list[Path]:
    """The written files; existing ones are overwritten with ``force`` only."""
    if not force and (existing := [str(file) for file in texts if file.exists()]):
        raise GoldassayError(f"{existing[0]} exists; name another task or folder, or overwrite it (`force=True`)")
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        files.save(file, text)
    return list(texts)


@dataclass(frozen=True)
class Schema:
    """The model of a record: its file, of which the workspace gets a copy, its name, and its JSON Schema."""

    source: str
    name: str
    copy: str
    text: str

    @classmethod
    def of(cls, place: str, task: str, gold: Sequence[Mapping[str, Any]]) -> Schema:
        """The schema of ``models.py:Invoice``, which all gold records fit."""
        file, _, name = place.rpartition(":")
        if not file.endswith(".py") or not name:
            raise GoldassayError(
                f"a schema is a file and the name of a pydantic model in it, models.py:Invoice: {place}"
            )
        text = schemas.schema_text(workspace.attribute(Path(file), name))
        for record in gold:
            schemas.check(record["record"], text, record["id"])
        return cls(files.text(Path(file)), name, f"_{task}_schema.py", text)


def _sides(types: Mapping[str, str], inputs: Sequence[str], outputs: Sequence[str]) -> tuple[list[str], list[str]]:
    """The fields on both sides; without any the last field is the output."""
    if absent := [name for name in (*inputs, *outputs) if name not in types]:
        raise GoldassayError(f"the data have no field {absent[0]!r}; they have {', '.join(types)}")
    predicted = list(outputs) or ([name for name in types if name not in inputs] if inputs else list(types)[-1:])
    return list(inputs) or [name for name in types if name not in predicted], predicted


def _split(
    records: Sequence[Mapping[str, Any]], inputs: Sequence[str], outputs: Sequence[str], types: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The fields of the records, with a split that preserves the shares of the labels, unless they have one or are too
    few.

    Near duplicates stay on one side, unless that leaves labels on one side alone: short texts of one form are all
    nearly the same. Then only those that are exactly the same do.
    """
    fields = [*anyfields.ABOUT, *inputs, *outputs]
    gold = [{name: record[name] for name in fields if record.get(name) is not None} for record in records]
    if any("split" in record for record in gold) or len(gold) < MIN_SPLIT:
        return gold
    texts = [{**record, "text": " ".join(str(record[name]) for name in inputs if name in record)} for record in gold]
    options: dict[str, Any] = {"ratios": SMALL_RATIOS if len(gold) < SMALL else DATASET_SPLITS}
    options["factors"] = [name for name in outputs if types.get(name, "").startswith("Literal")]
    division = split(texts, **options)
    if division.empty or any(deviation.mean > UNEVEN for deviation in division.deviations):
        message = "texts of one form are nearly the same, so near duplicates stand on both sides of the split"
        logging.getLogger("goldassay").warning("%s; goldassay gold validate names them", message)
        division = split(texts, **options, near=100.0)
    return [{"id": record["id"], "split": division.of[record["id"]], **record} for record in gold]


def _examples(inputs: Sequence[str], outputs: Sequence[str], model: Schema | None) -> list[dict[str, Any]]:
    return [
        {"id": f"example-{number}", "split": side}
        | {name: f"{PLACEHOLDERS[number - 1]} ({name} {number})" for name in inputs}
        | {name: schemas.example(model.text, number) if model else f"{name} {number % 2}" for name in outputs}
        for number, side in enumerate(("train",) * 4 + ("dev",) * 3 + ("test",) * 3, start=1)
    ]


def _card(
    task: str, inputs: Sequence[str], outputs: Sequence[str], gold: Sequence[Mapping[str, object]], source: object
) -> str:
    sides = [str(record["split"]) for record in gold if "split" in record]
    card = {
        "name": task,
        "version": "0.1.0",
        "licence": "unknown: state it before you share the data",
        "source": "examples to replace" if source is None else str(source).rpartition("/")[2],
        "created": f"{datetime.now(UTC):%Y-%m-%d}",
        "files": {task: f"{task}.jsonl"},
        "inputs": list(inputs),
        "outputs": list(outputs),
        "documents": {"records": len(gold), "splits": {side: sides.count(side) for side in dict.fromkeys(sides)}},
    }
    return yaml.safe_dump(card, sort_keys=False, allow_unicode=True)


def _words(
    task: str, inputs: Sequence[str], outputs: Sequence[str], types: Mapping[str, str], model: Schema | None
) -> dict[str, Any]:
    """What the templates are filled with."""
    kinds = {name: types.get(name, "str") for name in (*inputs, *outputs)} | ({"record": model.name} if model else {})
    compare = schemas.by_schema(model.text) if model else {}
    sides = {"Input": inputs, "Output": outputs}
    return {
        "task": task,
        "title": task.replace("_", " "),
        "pad": " " * len(task),
        "class": ("Read" if model else "") + "".join(map(str.title, task.split("_"))),
        "imports": MODEL.format(model=model.name, copy=model.copy) if model else "",
        "paths": "from pathlib import Path\n" if model else "",
        "workspace": "\nfrom goldassay import workspace\n" if model else "",
        "model": model and model.name,
        "copy": model and model.copy,
        "compare": "".join(f"    {name!r}: {chosen!r},\n" for name, chosen in compare.items()),
        "typing": "Any, Literal" if "Literal" in str(kinds) else "Any",
        "asked": " and ".join(outputs).replace("_", " "),
        "given": " and ".join(inputs).replace("_", " "),
        "fields": "\n".join(
            f"    {name}: {kinds[name]} = dspy.{side}Field()" for side, names in sides.items() for name in names
        ),
        "outputs": tuple(outputs),
        "parameters": ", ".join(f"{name}: {kinds[name]}" for name in inputs),
        "arguments": ", ".join(f"{name}={name}" for name in inputs),
    }


PROGRAM = '''"""{title}: {asked} from {given}.

``program`` asks a language model. ``baseline`` needs none: it predicts the most frequent answer of train, which a model
has to beat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
{paths}from typing import {typing}

import dspy
{workspace}
{imports}OUTPUTS = {outputs!r}


class {class}(dspy.Signature):
    """Predict the {asked} of the {given}."""

{fields}


class Ask(dspy.Module):
    """One call of a language model. Put your own steps here: any DSPy module works."""

    def __init__(self) -> None:
        super().__init__()
        self.ask = dspy.Predict({class})

    def forward(self, {parameters}) -> dspy.Prediction:
        return self.ask({arguments})


class MostFrequent(dspy.Module):
    """Predicts the most frequent answer of train; no model."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: dict[str, Any] = dict.fromkeys(OUTPUTS)

    def fit(self, train: Sequence[Any]) -> MostFrequent:
        fitted = MostFrequent()
        for name in OUTPUTS:
            counts = Counter(repr(example[name]) for example in train)
            most_frequent = counts.most_common(1)[0][0]
            fitted.answer[name] = next(example[name] for example in train if repr(example[name]) == most_frequent)
        return fitted

    def forward(self, {parameters}) -> dspy.Prediction:
        return dspy.Prediction(**self.answer)


program = Ask()
baseline = MostFrequent()
'''

METRIC = '''"""How {title} is measured: the share of fields that equal gold, ignoring case and spaces.

Any function of (gold, prediction) is a metric. It may return a number, a bool, a dict of either (each is reported with
its interval), a ``dspy.Prediction(score=..., feedback="...")``, or counts that add up (``-> Counts``: a corpus F1).
"""

from __future__ import annotations

from typing import Any

from goldassay import Metric

OUTPUTS = {outputs!r}


def same(expected: Any, predicted: Any) -> bool:
    return str(expected).casefold().split() == str(predicted).casefold().split()


def agreement(gold: Any, pred: Any) -> dict[str, bool]:
    return {{name: same(gold[name], pred[name]) for name in OUTPUTS}}


metric = Metric.of(agreement, pass_mark=1.0)
'''

MODEL = """{model}: Any = workspace.load(Path(__file__).with_name("{copy}")).{model}
"""

METRIC_OF_RECORDS = '''"""How {title} are measured: F1 over the fields of the record, and whole records.

COMPARE has the comparator of each field, by its type in the model. Others: normalised, number(absolute=0.01), money,
date(partial=True), fuzzy(0.9), anls, identifier, embedding(0.8), or a function of (gold, prediction).
"""

from __future__ import annotations

from pathlib import Path

from goldassay import Metric, workspace
from goldassay.measures import records

MODEL = workspace.load(Path(__file__).parents[1] / "programs" / "{copy}").{model}
COMPARE = {{
{compare}}}
OPTIONS = {{"schema": MODEL, "compare": COMPARE}}

metric = Metric(
    {{
        records.FieldF1(**OPTIONS): 1.0,
        records.RecordAccuracy(**OPTIONS): 0.0,
        records.SchemaValid(schema=MODEL): 0.0,
        records.TreeEdit(schema=MODEL): 0.0,
    }},
    pass_mark=1.0,
)
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
The gold is a few examples: replace the lines of `gold/{task}/{task}.jsonl` with yours (any fields; `split` is train,
dev or test; `goldassay gold split gold/{task} --task {task}` assigns it).
"""

README = """# {title}

A workspace of goldassay: `programs/{task}.py`, `metrics/{task}.py`, `gold/{task}/`.
{note}
```
goldassay gold validate gold/{task}               # what is wrong in the gold
goldassay eval {task}:baseline                    # what a model has to beat
goldassay eval {task} --errors                    # the program, on the embedded model; --lm names another
goldassay tune {task} --optimizer patches --plan  # what gain can be shown at this size, and what that costs
goldassay tune {task} --optimizer patches         # edits of the prompt; chosen on train and dev, proven on test
goldassay compare RUN RUN                   {pad}# two run folders, with a paired test
goldassay report RUN... --out report.html   {pad}# one page to look at
python -m pytest tests
```
"""

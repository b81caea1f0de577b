"""A workspace for a task of the user's own: program, metric, gold with its card, README and a test."""

from __future__ import annotations

import json
import keyword
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from goldassay import workspace
from goldassay._support import files
from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import Fields, Record
from goldassay.core.measure import TASKS
from goldassay.gold import Records, anyfields, read
from goldassay.gold.splits import DATASET_SPLITS, split
from goldassay.measures.records import records as schemas

MIN_SPLIT = 10  # records that can be split into train, dev and test
SMALL = 300  # with fewer records a test split of 15 % can show no realistic gain
ID_COLUMN = re.compile(r"(?:^|[\W_])(?:uu|gu)?(?:id|Id|ID)$|[a-z]I[dD]$|^(?:UU|GU)ID$")
"""The name of a column of ids: ``doc_id``, ``uuid``, ``ticketId``."""
UNEVEN = 0.25  # a label whose shares are as far off on average is missing from a side
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
TEMPLATES = Environment(  # of Python and Markdown, in which nothing is escaped
    loader=FileSystemLoader(Path(__file__).parents[1] / "_support" / "data" / "init"),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,
)
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

    Raises:
        GoldassayError: A name is no Python name, the task is a built-in one, fields are missing, or a file exists.
    """
    for name in (task, *inputs, *outputs):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise GoldassayError(f"a task or field needs a Python name (letters, digits, _), got {name!r}")
    if task in TASKS:
        raise GoldassayError(f"{task} is a built-in task; `goldassay init DIR` writes a workspace with those")
    records = _with_ids(read(source, task=task, map=renamed)) if source is not None else []
    if schema is not None:
        if outputs:
            raise GoldassayError("a task with a schema predicts its record; name only its inputs")
        records = [anyfields.nested(record) for record in records]
        inputs = inputs or ["text"]
        outputs = ["record"]
    types = anyfields.fields(records)
    inputs, outputs = _sides(types, inputs, outputs, records, renamed or ()) if records else (inputs, outputs)
    if not inputs or not outputs:
        raise GoldassayError("a task needs fields: `inputs=text` and `outputs=label`")
    gold = _split(records, inputs, outputs, types)
    model_file, model, shape = _model(schema, gold) if schema is not None else ("", "", "")
    words = {
        "task": task,
        "title": task.replace("_", " "),
        "signature": ("Read" if model else "") + "".join(map(str.title, task.split("_"))),
        "inputs": tuple(inputs),
        "outputs": tuple(outputs),
        "kinds": {name: types.get(name, "str") for name in (*inputs, *outputs)} | ({"record": model} if model else {}),
        "model": model,
        "copy": f"_{task}_schema.py",
        "compare": schemas.by_schema(shape) if model else {},
        "placeholders": not records,
    }
    texts = _texts(words, gold or _examples(inputs, outputs, shape), source)
    texts |= {f"programs/_{task}_schema.py": model_file} if model else {}
    return _save(folder, texts, force)


def _save(folder: Path, texts: dict[str, str], force: bool) -> list[Path]:
    """The written files; a README that exists stays, others are overwritten with ``force`` only."""
    if (folder / "README.md").exists():
        del texts["README.md"]
    if not force and (existing := [str(folder / name) for name in texts if (folder / name).exists()]):
        raise GoldassayError(f"{existing[0]} exists; name another task or folder, or overwrite it (`force=True`)")
    for name, text in texts.items():
        files.save(folder / name, text)
    return [folder / name for name in texts]


def _texts(words: Record, gold: Sequence[Record], source: str | Path | None) -> dict[str, str]:
    """The files of a workspace, by name: templates filled with ``words``, gold and its card."""
    task = words["task"]
    templates = {
        f"programs/{task}.py": "program.py",
        f"metrics/{task}.py": "metric_of_records.py" if words["model"] else "metric.py",
        f"tests/test_{task}.py": "test.py",
        "README.md": "README.md",
    }
    texts = {name: TEMPLATES.get_template(f"{template}.jinja").render(words) for name, template in templates.items()}
    texts[f"gold/{task}/card.yaml"] = _card(task, words["inputs"], words["outputs"], gold, source)
    texts[f"gold/{task}/{task}.jsonl"] = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in gold)
    return texts


def _examples(inputs: Sequence[str], outputs: Sequence[str], shape: str) -> list[Fields]:
    """Examples to replace; with the shape of a record, records of it."""
    return [
        {"id": f"example-{number}", "split": side}
        | {name: f"{PLACEHOLDERS[number - 1]} ({name} {number})" for name in inputs}
        | {name: schemas.example(shape, number) if shape else f"{name} {number % 2}" for name in outputs}
        for number, side in enumerate(("train",) * 4 + ("dev",) * 3 + ("test",) * 3, start=1)
    ]


def _model(source: str, gold: Sequence[Fields]) -> tuple[str, str, str]:
    """Of ``models.py:Invoice``, which all gold records fit: the text of the file, the name, and the JSON Schema.

    The records become what the model reads.
    """
    file, _, name = source.rpartition(":")
    if not file.endswith(".py") or not name:
        raise GoldassayError(f"a schema is a file and the name of a pydantic model in it, models.py:Invoice: {source}")
    shape = schemas.schema_text(workspace.attribute(Path(file), name))
    for record in gold:
        record["record"] = schemas.check(record["record"], shape, record["id"])
    return files.text(Path(file)), name, shape


def _with_ids(records: Records) -> Sequence[Fields]:
    """The records under the ids of their own column, such as ``ticket_id``, if they have no ``id``."""
    column = next((name for name in anyfields.fields(records) if _is_id(name, records)), None)
    if column is None or not records.source.numbered:
        return records
    return [{**record, "id": str(record[column])} for record in records]


def _is_id(name: str, records: Sequence[Record]) -> bool:
    """Whether a field is a column of ids: by its name, and no value repeats."""
    return bool(ID_COLUMN.search(name)) and len({str(record.get(name)) for record in records}) == len(records)


def _sides(
    types: Mapping[str, str],
    inputs: Sequence[str],
    outputs: Sequence[str],
    records: Sequence[Record],
    mapped: Collection[str] = (),
) -> tuple[list[str], list[str]]:
    """The fields on both sides; without any the last field is the output. Ids are on neither unless they are named.

    Fields that a mapping names come before all others.
    """
    if absent := [name for name in (*inputs, *outputs) if name not in types]:
        raise GoldassayError(f"the data have no field {absent[0]!r}; they have {', '.join(types)}")
    content = [name for name in types if not _is_id(name, records)] or list(types)
    if {*mapped} - {*inputs, *outputs} and len({*mapped, *inputs, *outputs}) > 1:
        content = [name for name in content if name in mapped or name in inputs or name in outputs]
    predicted = list(outputs) or ([name for name in content if name not in inputs] if inputs else content[-1:])
    return list(inputs) or [name for name in content if name not in predicted], predicted


def _split(
    records: Sequence[Record], inputs: Sequence[str], outputs: Sequence[str], types: Mapping[str, str]
) -> list[Fields]:
    """The fields of the records, with a split that preserves the shares of the labels, unless they have one or are too
    few.

    Near duplicates stay on one side, unless that leaves labels on one side alone: short texts of one form are all
    nearly the same. Then only those that are exactly the same do.
    """
    fields = [*anyfields.ABOUT_RECORD, *inputs, *outputs]
    gold = [{name: record[name] for name in fields if record.get(name) is not None} for record in records]
    if any("split" in record for record in gold) or len(gold) < MIN_SPLIT:
        return gold
    factors = [name for name in outputs if types.get(name, "").startswith("Literal")]
    ratios = SMALL_RATIOS if len(gold) < SMALL else DATASET_SPLITS
    divided = partial(split, gold, inputs=inputs, ratios=ratios, factors=factors)
    division = divided()
    if division.empty or any(deviation["mean"] > UNEVEN for deviation in division.deviations):
        message = "texts of one form are nearly the same, so near duplicates are on both sides of the split"
        logging.getLogger("goldassay").warning("%s; goldassay gold validate names them", message)
        division = divided(near=100.0)
    return [{"id": record["id"], "split": division.of[record["id"]], **record} for record in gold]


def _card(
    task: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    gold: Sequence[Mapping[str, object]],
    source: str | Path | None,
) -> str:
    splits = [str(record["split"]) for record in gold if "split" in record]
    card = {
        "name": task,
        "version": "0.1.0",
        "licence": "unknown: state it before you share the data",
        "source": "examples to replace" if source is None else str(source).rpartition("/")[2],
        "created": f"{datetime.now(UTC):%Y-%m-%d}",
        "files": {task: f"{task}.jsonl"},
        "inputs": list(inputs),
        "outputs": list(outputs),
        "documents": {"records": len(gold), "splits": {side: splits.count(side) for side in dict.fromkeys(splits)}},
    }
    return yaml.safe_dump(card, sort_keys=False, allow_unicode=True)

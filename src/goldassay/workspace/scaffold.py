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
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.core.measure import TASKS
from goldassay.gold import anyfields, read
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
NAMES_IN_FILE = ("Any", "Ask", "Counter", "Literal", "MostFrequent", "OUTPUTS", "Path", "Sequence", "dspy", "workspace")
TYPE_NAMES = ("bool", "dict", "float", "int", "list", "str")
RESERVED = (*NAMES_IN_FILE, *TYPE_NAMES, "self", "fields", "input_fields", "instructions", "output_fields", "signature")
"""The names that a field cannot have in the program that is written: those of the file, and of DSPy's signatures."""
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
        GoldassayError: A name is not a Python name, the task is a built-in one, fields are missing, or a file exists.
    """
    _check_names([task])
    if task in TASKS:
        raise GoldassayError(f"{task} is a built-in task; `goldassay init DIR` writes a workspace with those")
    records: Sequence[Fields] = []
    if source is not None:
        table = read(source, task=task, map=renamed)
        column = next((name for name in anyfields.fields(table) if _is_id(name, table)), None)
        records = table
        if column is not None and table.source.numbered:  # the column of ids, such as ``ticket_id``
            records = [{**record, "id": str(record[column])} for record in table]
    if schema is not None:
        if outputs:
            raise GoldassayError("a task with a schema predicts its record; name only its inputs")
        records = [anyfields.nested(record) for record in records]
        inputs = inputs or ["text"]
        outputs = ["record"]
    types = anyfields.fields(records)
    types = {name: types[name] for name in types if any(row.get(name) is not None for row in records)}
    inputs, outputs = _sides(types, inputs, outputs, records, renamed or ()) if records else (inputs, outputs)
    if not inputs or not outputs:
        raise GoldassayError("a task needs fields: `inputs=text` and `outputs=label`")
    _check_names([*inputs, *outputs], bool(records))  # they are written as Python, and a column may have any name
    gold = _split(records, inputs, outputs, types)
    model = ""
    model_file = ""
    shape = ""
    if schema is not None:
        file, _, model = schema.rpartition(":")
        if not file.endswith(".py") or not model:
            message = "a schema is a file and the name of a pydantic model in it, models.py:Invoice"
            raise GoldassayError(f"{message}: {schema}")
        shape = schemas.schema_text(workspace.attribute(Path(file), model))
        for record in gold:  # becomes what the model reads
            record["record"] = schemas.check(record["record"], shape, record["id"])
        model_file = files.text(Path(file))
    signature = ("Read" if model else "") + "".join(map(str.title, task.split("_")))
    if signature in (*RESERVED, model):
        signature += "Task"  # the file has such a name already
    words = {
        "task": task,
        "title": task.replace("_", " "),
        "signature": signature,
        "inputs": tuple(inputs),
        "outputs": tuple(outputs),
        "kinds": {name: types.get(name, "str") for name in (*inputs, *outputs)} | ({"record": model} if model else {}),
        "model": model,
        "copy": f"_{task}_schema.py",
        "compare": schemas.by_schema(shape) if model else {},
        "placeholders": not records,
    }
    rows = gold or [
        {"id": f"example-{number}", "split": side}
        | {name: f"{PLACEHOLDERS[number - 1]} ({name} {number})" for name in inputs}
        | {name: schemas.example(shape, number) if shape else f"{name} {number % 2}" for name in outputs}
        for number, side in enumerate(("train",) * 4 + ("dev",) * 3 + ("test",) * 3, start=1)
    ]
    templates = {
        f"programs/{task}.py": "program.py",
        f"metrics/{task}.py": "metric_of_records.py" if model else "metric.py",
        f"tests/test_{task}.py": "test.py",
        "README.md": "README.md",
    }
    if (folder / "README.md").exists():  # it stays
        del templates["README.md"]
    texts = {name: TEMPLATES.get_template(f"{form}.jinja").render(words) for name, form in templates.items()}
    splits = [str(row["split"]) for row in rows if "split" in row]
    card = {
        "name": task,
        "version": "0.1.0",
        "licence": "unknown: state it before you share the data",
        "source": "examples to replace" if source is None else str(source).rpartition("/")[2],
        "created": f"{datetime.now(UTC):%Y-%m-%d}",
        "files": {task: f"{task}.jsonl"},
        "inputs": list(inputs),
        "outputs": list(outputs),
        "documents": {"records": len(rows), "splits": {side: splits.count(side) for side in dict.fromkeys(splits)}},
    }
    texts[f"gold/{task}/card.yaml"] = yaml.safe_dump(card, sort_keys=False, allow_unicode=True)
    texts[f"gold/{task}/{task}.jsonl"] = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if model:
        texts[f"programs/_{task}_schema.py"] = model_file
    if not force and (existing := [str(folder / name) for name in texts if (folder / name).exists()]):
        raise GoldassayError(f"{existing[0]} exists; name another task or folder, or overwrite it (`force=True`)")
    for name, text in texts.items():
        files.save(folder / name, text)
    return [folder / name for name in texts]


def _is_id(name: str, records: Sequence[JsonObject]) -> bool:
    """Whether a field is a column of ids: by its name, and no value repeats."""
    return bool(ID_COLUMN.search(name)) and len({str(record.get(name)) for record in records}) == len(records)


def _check_names(names: Sequence[str], are_columns: bool = False) -> None:
    """That a task and its fields have names that Python code can use; of columns the error says how to rename them.

    Raises:
        GoldassayError: One has not.
    """

    def is_free(name: str) -> bool:
        return name.isidentifier() and not keyword.iskeyword(name) and name not in RESERVED

    if odd := [name for name in names if not is_free(name)]:
        what = "a task or field needs a Python name (letters, digits, _) that DSPy does not use itself"
        columns = {}
        for name in odd:
            plain = re.sub(r"\W+", "_", name).strip("_").lower()
            columns[plain if is_free(plain) else f"field_{plain}"] = name
        rename = f"; rename it: `map={json.dumps(columns, ensure_ascii=False)}`" if are_columns else ""
        raise GoldassayError(f"{what}, got {', '.join(map(repr, odd))}{rename}")


def _sides(
    types: Mapping[str, str],
    inputs: Sequence[str],
    outputs: Sequence[str],
    records: Sequence[JsonObject],
    mapped: Collection[str],
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

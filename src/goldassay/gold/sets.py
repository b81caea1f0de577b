"""Gold sets: a folder with a card and a file a task, or one file, loaded in one line as ``dspy.Example`` lists.

`load` returns a gold set with an attribute for each task, the examples of each by split, and its passages. `stats`
counts what it holds: records, spans, links, judgements, by split, language, type and stratum.

>>> from goldassay.gold import load
>>> load("no-such-set")
Traceback (most recent call last):
goldassay._support.exceptions.DataError: no gold set 'no-such-set': neither a file, nor a folder, nor a name under gold/
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from goldassay._support import files, workspace
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import Fields, JsonObject, Record, check_unique
from goldassay.core.measure import TASKS
from goldassay.core.shape import UNKNOWN_SHAPE, ProgramShape, shape_in, shape_of_task
from goldassay.gold import anyfields, formats
from goldassay.gold.formats import ReadOptions, answering, tables
from goldassay.gold.reading import Records, read
from goldassay.gold.records import INPUT_FIELDS, TABLE, first_acceptable, grades, labels_of, leaves
from goldassay.results.view import Sentence, Table, View, shortened

if TYPE_CHECKING:
    import dspy

CARD = "card.yaml"


def passages(file: Path) -> list[Fields]:
    """A passage collection: one JSON object a line with an id (``id`` or ``doc_id``) and a text.

    Raises:
        DataError: A line is not a passage, or two have one id.
    """
    collection = []
    for number, row in files.json_lines(file):
        fields = row if isinstance(row, dict) else {}
        name = next((fields[key] for key in ("id", "doc_id") if fields.get(key) not in (None, "")), None)
        if name is None or not isinstance(fields.get("text"), str):
            raise DataError("a passage is an object with an id and a text", file=file, line=number)
        collection.append({**fields, "id": str(name)})
    check_unique(collection, file)
    return collection


@dataclass(repr=False)
class TaskSet:
    """The gold of one task: ``.train``, ``.dev``, ``.test`` (or whatever splits there are) and ``.all``.

    Args:
        task: The task.
        sources: The files: of each its ``path``, and how it is read.
        folder: The folder of the set.
        program_inputs: The fields that the card names as inputs, of your own task.
        program: The shape of the program that the examples are for; that of your own task in the workspace if not
            given.
        program_file: The file of that program, for errors.
    """

    task: str
    sources: Sequence[Fields]
    folder: Path | None = None
    program_inputs: Sequence[str] = ()
    program: ProgramShape | None = None
    program_file: Path | None = None

    @property
    def place(self) -> Path:
        """The folder or the file, for errors."""
        path = self.sources[0]["path"]
        return self.folder or Path(path if formats.is_file(path) else "records")

    @cached_property
    def records(self) -> Records:
        """The records as plain dicts, in the order of the files."""
        of_files: list[Records] = []
        for options in self.sources:
            reading = dict(options)
            split = reading.pop("split", None)
            records = read(reading.pop("path"), self.task, **reading)
            if split:
                records = Records(({"split": split, **record} for record in records), records.source)
            of_files.append(records)
        if len(of_files) == 1:
            return of_files[0]
        source = replace(of_files[0].source, path=self.place)
        together = Records((record for records in of_files for record in records), source)
        check_unique(together, self.place)
        return together

    @property
    def splits(self) -> list[str]:
        """The names of the splits."""
        return [name for name in dict.fromkeys(self.records.splits) if name]

    @cached_property
    def all(self) -> list[dspy.Example]:
        """Every example, whatever its split."""
        import dspy

        inputs = self.inputs
        examples = []
        for record in self.records:
            columns = record.get("meta") or {}
            lifted = {name: columns[name] for name in inputs if name in columns and name not in record}
            example = dspy.Example({**lifted, **record})  # a field may be called self
            examples.append(example.with_inputs(*inputs) if inputs else example)
        return examples

    @property
    def inputs(self) -> list[str]:
        """The fields that a program gets: those that it takes, of your own task also those that its card names.

        Empty if neither is known: then ``with_inputs`` must say it, or the program that they are evaluated with.

        Raises:
            DataError: No record has one of the fields.
            GoldassayError: The program takes any fields, and several may be inputs.
        """
        present = dict.fromkeys(name for record in self.records for name in record)
        shape = self.program or (None if self.task in INPUT_FIELDS else shape_of_task(self.task))
        names = list(self.program_inputs)
        if self.task in INPUT_FIELDS:  # columns that are not fields of the task are in meta
            present |= dict.fromkeys(name for record in self.records for name in record.get("meta") or ())
            names = (shape or UNKNOWN_SHAPE).task_inputs(INPUT_FIELDS[self.task], present)
            if shape is None or shape.inputs is None or {*names} <= {*shape.inputs}:
                return names
            names = list(shape.inputs)
        elif shape is not None:
            fields = [name for name in present if name not in anyfields.ABOUT_RECORD or name in shape.asked]
            names = shape.inputs_among(fields, str(self.program_file or f"programs/{self.task}.py"), names)
        absent = [name for name in names if name not in present]
        if absent:
            there = [name for name in present if name not in anyfields.ABOUT_RECORD]
            lengths = {}
            for name in there:
                if name not in names:
                    values = [record.get(name, (record.get("meta") or {}).get(name)) for record in self.records]
                    lengths[name] = sum(len(value) for value in values if isinstance(value, str))
            other = max(lengths, key=lengths.__getitem__, default="COLUMN")  # of a text more likely than of a number
            message = f"no record has {', '.join(absent)}, which the program takes; there are {', '.join(there)}"
            raise DataError(f'{message}; name its column (`map={{"{absent[0]}": "{other}"}}`)', file=self.place)
        return names

    def content(self, records: Sequence[Record] | None = None) -> list[str]:
        """The fields whose text says whether two records are near duplicates: the inputs, whatever they are called.

        Of a task of your own these are the inputs of its program or its card, and all texts if neither is known.

        Args:
            records: The records, if they are already read.
        """
        records = self.records if records is None else records
        if (name := INPUT_FIELDS.get(self.task)) and any(name in record for record in records):
            return [name]
        if name:  # the inputs have other names
            return [f"meta.{column}" for column in anyfields.texts(record.get("meta") or {} for record in records)]
        shape = self.program or shape_of_task(self.task) or UNKNOWN_SHAPE
        present = {name for record in records for name in record}
        inputs = [name for name in shape.inputs or self.program_inputs or shape.candidates if name in present]
        return inputs or anyfields.texts(records)

    def split(self, name: str) -> list[dspy.Example]:
        """The examples of a split (``all`` is every one); an absent one is an error that names those that exist.

        Raises:
            DataError: There is no such split.
        """
        if name == "all":
            return self.all
        if name not in self.splits:
            named = " or ".join(f"`split={split}`" for split in self.splits)
            there = f"name {named}" if named else "its records have no 'split' (goldassay gold split makes them)"
            raise DataError(f"no split {name!r} of {self.task}; {there}", file=self.place)
        return [example for example, split in zip(self.all, self.records.splits, strict=True) if split == name]

    def for_tuning(self, seed: int = 0) -> dict[str, list[dspy.Example]]:
        """The examples of train, dev and test, to tune with; gold without splits is split by `splits.for_tuning`.

        Args:
            seed: Seeds the order in which gold is split.

        Raises:
            DataError: The splits have other names.
        """
        from goldassay.gold import splits  # loads numpy

        split_of = self.records.splits
        if not self.splits:
            division = splits.for_tuning(self.records, seed, self.content())
            split_of = [division.of[name] for name in self.records.ids]
            sizes = ", ".join(f"{name} {size}" for name, size in division.sizes.items())
            if not division.sizes["dev"]:
                message = f"its records are too few or too much alike to split at random ({sizes}): documents and near "
                raise DataError(
                    f"{message}duplicates stay together; give each a field split: train, dev or test", file=self.place
                )
            message = "%s has no splits: %s at random, documents and near duplicates together (seed %d)"
            logging.getLogger("goldassay").warning(message, self.place, sizes, seed)
        elif not {"train", "dev"} <= {*self.splits}:
            raise DataError(f"tuning needs train and dev; there are {', '.join(self.splits)}", file=self.place)
        examples: dict[str, list[dspy.Example]] = {name: [] for name in splits.DATASET_SPLITS}
        for example, split in zip(self.all, split_of, strict=True):
            if split in examples:
                examples[split].append(example)
        return examples

    @cached_property
    def passages(self) -> list[Fields]:
        """The collection that retrieval searches, ``{id, text, …}``.

        It is ``passages.jsonl``, or all paragraphs of SQuAD files, or the questions' contexts.
        """
        file = self.folder / "passages.jsonl" if self.folder else None
        if file and file.exists():
            return passages(file)
        paragraphs = []
        for source in self.sources if self.task in ("answering", "retrieval") else ():
            if (source.get("format") or formats.guess(source["path"], self.task)) == "squad":
                paragraphs += answering.passages(source["path"])
        if paragraphs:
            return paragraphs
        of_one = (r for r in self.records if r.get("context") and len(r.get("documents") or ()) == 1)
        texts = {str(record["documents"][0]): str(record["context"]) for record in of_one}
        return [{"id": name, "text": text} for name, text in texts.items()]

    def __getattr__(self, name: str) -> list[dspy.Example]:
        if name in ("train", "dev", "test", "validation"):
            return self.split(name)
        raise AttributeError(f"{name!r}: a gold task has train, dev, test, all, records, splits")

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return f"TaskSet({self.task!r}, {len(self.records)} records, splits {self.splits})"


@dataclass(repr=False)
class GoldSet:
    """A gold set: its ``card`` and an attribute for each task that it has."""

    name: str
    tasks: Mapping[str, TaskSet]
    card: Record = field(default_factory=dict)
    folder: Path | None = None

    def task(self, name: str) -> TaskSet:
        """The gold of a task.

        Raises:
            DataError: The set has no gold for the task.
        """
        if name not in self.tasks:
            raise DataError(f"no gold for {name}; it has {', '.join(self.tasks)}", file=self.folder or self.name)
        return self.tasks[name]

    def __getattr__(self, name: str) -> TaskSet:
        if name in TASKS or name in self.tasks:
            return self.task(name)
        raise AttributeError(f"{name!r}: a gold set has card, name, tasks and {', '.join(self.tasks)}")

    def __repr__(self) -> str:
        return f"GoldSet({self.name!r}, {', '.join(self.tasks)})"


def load(
    name_or_path: object, *, format: str | None = None, task: str | None = None, **options: Unpack[ReadOptions]
) -> GoldSet:
    """A gold set by its name under ``gold/``, its folder, one file of it, or records in Python.

    Args:
        name_or_path: The name, the folder or the file; or records as a list, lists by split, or a data frame.
        format: The format of the file; guessed if not given.
        task: The task of the file, or the file of its program; guessed if not given, except for records in Python.
        options: How the file is read (`goldassay.gold.formats.ReadOptions`).

    Raises:
        GoldassayError: Records in Python come without their task, or a set with an option of a single file.

    >>> records = {"train": [{"text": "a", "label": "M"}], "dev": [{"text": "b", "label": "L"}]}
    >>> [example.label for example in load(records, task="classification").classification.dev]
    ['L']
    """
    source, _, program = (task or "").partition(":")
    if source.endswith(".py"):
        file = Path(source)
        workspace.FILE_TASKS.add(file.stem)
        gold = load(name_or_path, format=format, task=file.stem, **options)
        for task_set in gold.tasks.values():
            task_set.program = shape_in(file, program or "program")
            task_set.program_file = file
        return gold
    if not isinstance(name_or_path, str | Path):
        if task is None:
            raise GoldassayError("records in Python need their task: load(records, task='classification')")
        return GoldSet("records", {task: TaskSet(task, [{"path": name_or_path, **options}])})
    path = find(name_or_path)
    chosen = {name: value for name, value in {"format": format, **options}.items() if value is not None}
    if path.is_dir() and format is None and not tables.is_dataset(path) and not formats.recognised(path, task or ""):
        if not standoff(path):
            if chosen:
                what = f"{path} is a set, whose card says how it is read; {next(iter(chosen))} is for one file"
                raise GoldassayError(what)
            return _from_card(path, task)
        task = task or "extraction"
    mapped = anyfields.mapping(options.get("map")) or ()
    job = task or formats.task_of(path, format, options.get("column"), mapped)
    return GoldSet(path.stem, {job: TaskSet(job, [{"path": path, **chosen}])})


def find(name_or_path: str | Path) -> Path:
    """Where a set is: the path itself, or ``gold/NAME`` here, in the workspace, or in the installed package.

    Raises:
        DataError: There is no such set.
    """
    direct = Path(name_or_path)
    if direct.exists() or str(name_or_path).startswith(tables.HF):
        return direct
    for base in (Path.cwd(), workspace.root(), workspace.installed()):
        if (base / "gold" / direct).is_dir():
            return base / "gold" / direct
    raise DataError(f"no gold set {str(name_or_path)!r}: neither a file, nor a folder, nor a name under gold/")


def is_set(folder: Path) -> bool:
    """Whether a folder is a gold set: it has a card, or a file named by a task."""
    return (folder / CARD).exists() or any((folder / f"{task}.jsonl").exists() for task in TASKS)


def standoff(folder: Path) -> bool:
    """Whether a folder is not a set but has annotations of brat."""
    return not is_set(folder) and next(folder.rglob("*.ann"), None) is not None


def card(folder: Path) -> JsonObject:
    """The card of a set; a set without one has an empty card.

    Raises:
        DataError: The card is not a mapping.
    """
    file = folder / CARD
    content = files.yaml_value(file) if file.exists() else {}
    if not isinstance(content, dict):
        raise DataError("a card is a mapping: name, version, licence, source, …", file=file)
    return content


def _from_card(folder: Path, task: str | None) -> GoldSet:
    """The set of a folder, or one task of it; the card names the files, each as a path or a mapping with ``path``.

    Raises:
        DataError: There is no gold in the folder, or its card does not name files and fields.
    """
    about = card(folder)
    named = about.get("files") or {}
    inputs = about.get("inputs") or []
    if not isinstance(named, dict):
        raise DataError("'files' maps a task to its file or files", file=folder / CARD, field="files")
    if not isinstance(inputs, list) or not all(isinstance(name, str) for name in inputs):
        raise DataError("'inputs' is a list of the fields that a program is given", file=folder / CARD, field="inputs")
    tasks = {}
    for job in dict.fromkeys([*TASKS, *map(str, named)]) if task is None else [task]:
        sources = []
        entry = named.get(job, [])
        for item in entry if isinstance(entry, list) else [entry]:
            source = item if isinstance(item, dict) else {"path": item}
            path = source.get("path")
            if not isinstance(path, str):
                raise DataError("a file is a path, or a mapping with 'path'", file=folder / CARD, field=f"files.{job}")
            if not (folder / path).resolve().is_relative_to(folder.resolve()):
                raise DataError(f"{path!r} lies outside the set", file=folder / CARD, field=f"files.{job}")
            sources.append({**source, "path": folder / path})
        file = folder / f"{job}.jsonl"
        if not sources and file.exists():
            sources = [{"path": file, "format": "jsonl"}]
        if sources:
            tasks[job] = TaskSet(job, sources, folder, inputs if job not in TASKS else ())
    if not tasks:
        expected = f"{task}.jsonl" if task else "extraction.jsonl, …"
        raise DataError(f"no gold in this folder: neither {expected} nor files that a card names", file=folder)
    return GoldSet(str(about.get("name") or folder.name), tasks, about, folder)


TALLIED = {
    "extraction": {"types": "type"},
    "triples": {"predicates": "predicate", "object_types": "object_type", "verdicts": "verdict"},
}
"""Fields of spans and statements whose values are counted."""


def stats(gold: GoldSet) -> Fields:
    """The counts of a gold set, task by task: ``{name, tasks: {task: {task, counts, unit, by}}}``.

    ``by`` is facet (split, language, label or stratum), then key, then the numbers of records and of what they hold
    (``unit``).
    """
    tasks: JsonObject = {}
    for task, task_set in gold.tasks.items():
        unit, field = TABLE[task]["unit"] if task in TABLE else ("records", "")
        by: dict[str, dict[str, tuple[int, int]]] = {}
        for record in task_set.records:
            keys = {"split": record.get("split"), "language": record.get("language"), **(record.get("strata") or {})}
            if task == "classification" and "label" in record:
                keys["label"] = record["label"]
            held = first_acceptable(record["calls"]) if task == "trajectories" else record.get(field) or ()
            for facet, key in keys.items():
                group = by.setdefault(facet, {})
                name = _name(key)
                count, items = group.get(name, (0, 0))
                group[name] = count + 1, items + (len(held) if field else 1)
        facets = {facet: group for facet, group in by.items() if list(group) != ["–"]}
        tasks[task] = {"task": task, "counts": counted(task, task_set.records), "unit": unit, "by": facets}
    return {"name": gold.name, "tasks": tasks}


def view_of_stats(counts: Record) -> View:
    """The counts of `stats`: for each task a sentence of totals, and a table for each facet."""
    view: View = []
    for name, task in counts["tasks"].items():
        groups = {key: value for key, value in task["counts"].items() if isinstance(value, Mapping)}
        totals = [f"{key} {value:,}" for key, value in task["counts"].items() if key not in groups]
        view.append(Sentence(f"{name}  {', '.join(totals)}", "head"))
        for key, group in groups.items():
            if key not in ("splits", "languages", "labels"):
                items = [f"{item} {count:,}" for item, count in group.items()]
                view.append(Sentence(f"  {key}: {shortened(items, 30)}"))
        for facet, keys in task["by"].items():
            columns = [facet, *dict.fromkeys(("records", task["unit"]))]
            rows = [[key, *sizes[: len(columns) - 1]] for key, sizes in sorted(keys.items())]
            view.append(Table(None, columns, rows, most=50))
    return view


def counted(task: str, records: Sequence[Record]) -> Fields:
    """How many records there are, and what they hold; the counts that a card declares have these names.

    >>> records = [{"id": "a", "language": "nl", "split": "train", "text": "Delft", "entities":
    ...     [{"start": 0, "end": 5, "type": "TOP"}]}]
    >>> counted("extraction", records)
    {'records': 1, 'splits': {'train': 1}, 'languages': {'nl': 1}, 'entities': 1, 'types': {'TOP': 1}}
    """
    counts = {"records": len(records)} | _tables(records, splits="split", languages="language")
    if task not in TABLE:  # how many records have each field, and how often each value occurs if there are few
        for name in anyfields.fields(records):
            values = [str(record[name]) for record in records if record.get(name) is not None]
            occurring = Counter(values)
            few = len(occurring) <= 30 and len(occurring) < len(values)
            counts[name] = dict(occurring.most_common()) if few else len(values)
        return counts
    unit, field = TABLE[task]["unit"]
    items = [item for record in records for item in record.get(field) or ()]
    if task == "answering":
        counts |= {"questions": len(records), "unanswerable": sum(not record["answers"] for record in records)}
        return counts | _tables(records, answer_types="answer_type")
    if task == "trajectories":
        calls = [call for record in records for call in first_acceptable(record["calls"])]
        counts |= {"calls": len(calls), "tools": tally(call["name"] for call in calls)}
        return counts | _tables(records, categories="category")
    if task == "records":
        return counts | {"fields": tally(leaf for record in records for leaf, _ in leaves(record["record"]))}
    counts |= {"queries": len(records)} if task == "retrieval" else {}
    counts |= {unit.replace(" ", "_"): len(items)}
    if task == "classification":
        labels = (label for record in records for name, label in labels_of(record) if not name.startswith("secondary"))
        return counts | {"labels": tally(labels)}
    if task == "linking":
        return counts | {
            "nil": sum(not any(link["ids"].values()) for link in items),
            "identifiers": tally(base for link in items for base, ids in link["ids"].items() for _ in ids),
            "checked": sum(bool(link.get("checked")) for link in items),
        }
    if task == "retrieval":
        judged = tally(grade for record in records for grade in grades(record).values())
        return counts | {"grades": dict(sorted(judged.items()))}
    return counts | _tables(items, **TALLIED[task])


def _tables(rows: Sequence[Mapping[str, object]], **fields: str) -> dict[str, dict[str, int]]:
    """How often each value of a field occurs, each by the name of its count; a field without any is left out."""
    columns = {name: [value for row in rows if (value := row.get(field))] for name, field in fields.items()}
    return {name: tally(values) for name, values in columns.items() if values}


def tally(values: Iterable[object]) -> dict[str, int]:
    """How often each value occurs; the keys are text, in the order of first use."""
    return dict(Counter(map(_name, values)))


def _name(value: object) -> str:
    if value is None:
        return "–"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)

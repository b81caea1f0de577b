"""What ``load`` gives: a gold set with an attribute for each task, the examples of each by split, and its passages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from goldassay import files, workspace
from goldassay.exceptions import DataError
from goldassay.gold import anyfields, formats, streamed
from goldassay.gold.formats import squad
from goldassay.gold.reading import read
from goldassay.gold.records import INPUTS, once
from goldassay.measure import TASKS


def passages(file: Path) -> list[dict[str, Any]]:
    """A passage collection: one JSON object a line with an id (``id`` or ``doc_id``) and a text."""
    found = []
    for number, row in files.json_lines(file):
        if (
            not isinstance(row, dict)
            or not isinstance(row.get("text"), str)
            or not (row.get("id") or row.get("doc_id"))
        ):
            raise DataError("a passage is an object with an id and a text", file=file, line=number)
        row["id"] = str(row.get("id") or row["doc_id"])
        found.append(row)
    return found


def paragraphs(sources: Iterable[Mapping[str, Any]], task: str) -> list[dict[str, object]]:
    """The paragraphs of those sources that are SQuAD files, also such as nobody asked about."""
    if task not in squad.TASKS:
        return []
    found: list[dict[str, Any]] = []
    for source in sources:
        if (source.get("format") or formats.guess(source["path"], task)) == "squad":
            found += squad.passages(source["path"])
    return found


def contexts(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The paragraphs that questions were asked about, each once: where a record names one document, its context.

    >>> contexts([{"documents": ["d1"], "context": "In 1800 …"}, {"documents": ["d1"], "context": "In 1800 …"}])
    [{'id': 'd1', 'text': 'In 1800 …'}]
    """
    found = {
        str(record["documents"][0]): str(record["context"])
        for record in records
        if record.get("context") and len(record.get("documents") or ()) == 1
    }
    return [{"id": name, "text": text} for name, text in found.items()]


Source = dict[str, Any]


class TaskSet:
    """The gold of one task: ``.train``, ``.dev``, ``.test`` (or whatever splits there are) and ``.all``."""

    def __init__(
        self, task: str, sources: list[Source], folder: Path | None = None, stated: Sequence[str] = ()
    ) -> None:
        self.task, self.sources, self.folder, self.stated = task, sources, folder, list(stated)

    @cached_property
    def records(self) -> Sequence[dict[str, Any]]:
        """The records as plain dicts, in the order of the files; those of one large JSON Lines file stay in it."""
        if len(self.sources) == 1 and self.task in TASKS and streamed.streams(self.sources[0]["path"]):
            source = {"format": formats.guess(self.sources[0]["path"], self.task), **self.sources[0]}
            if source.keys() == {"path", "format"} and source["format"] == "jsonl":
                return streamed.Records(Path(source["path"]), self.task)
        found: list[dict[str, Any]] = []
        for source in self.sources:
            options = {key: value for key, value in source.items() if key not in ("path", "split")}
            for record in read(source["path"], task=self.task, **options):
                if "split" in source:
                    record.setdefault("split", source["split"])
                found.append(record)
        once(found, self.folder or self.sources[0]["path"])
        return found

    @property
    def splits(self) -> list[str]:
        """The names of the splits that there are."""
        if isinstance(self.records, streamed.Records):
            return self.records.splits
        return list(dict.fromkeys(record["split"] for record in self.records if record.get("split")))

    @cached_property
    def all(self) -> Sequence[Any]:
        """Every example, whatever its split."""
        import dspy

        if isinstance(self.records, streamed.Records):
            return streamed.Examples(self.records, self.inputs)

        with files.uncollected():
            return [dspy.Example(**record).with_inputs(*self.inputs) for record in self.records]

    @property
    def inputs(self) -> list[str]:
        """The fields that a program is given: of a task of one's own those that its card states, else its program's."""
        if self.task in INPUTS:
            return [INPUTS[self.task]]
        found = self.stated or workspace.inputs(self.task) or list(anyfields.fields(self.records))
        absent = [name for name in found if not any(name in record for record in self.records)]
        if absent:
            there = ", ".join(anyfields.fields(self.records))
            place = self.folder or self.sources[0]["path"]
            raise DataError(
                f"no record has {', '.join(absent)}, which the program takes; there are {there}", file=place
            )
        return found

    def split(self, name: str) -> Sequence[Any]:
        """The examples of a split (``all`` is every one); an absent one is an error that names those that exist."""
        if name == "all":
            return self.all
        if name not in self.splits:
            there = ", ".join(self.splits) or "none; its records have no 'split' (goldassay gold split makes them)"
            raise DataError(
                f"no split {name!r} of {self.task}; there are {there}", file=self.folder or self.sources[0]["path"]
            )
        if isinstance(self.records, streamed.Records):
            return streamed.Examples(self.records.of(name), self.inputs)
        return [example for example in self.all if example.get("split") == name]

    @cached_property
    def passages(self) -> list[dict[str, Any]]:
        """The collection that retrieval searches, ``{id, text, …}``.

        It is ``passages.jsonl``, or all paragraphs of SQuAD files, or the questions' contexts.
        """
        file = self.folder / "passages.jsonl" if self.folder else None
        if file and file.exists():
            return passages(file)
        return paragraphs(self.sources, self.task) or contexts(self.records)

    def __getattr__(self, name: str) -> Sequence[Any]:
        if name in ("train", "dev", "test", "validation"):
            return self.split(name)
        raise AttributeError(f"{name!r}: a gold task has train, dev, test, all, records, splits")

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return f"TaskSet({self.task!r}, {len(self.records)} records, splits {self.splits})"


class GoldSet:
    """A gold set: its ``card`` and an attribute for each task that it has."""

    def __init__(self, name: str, tasks: dict[str, TaskSet], card: dict[str, Any], folder: Path | None = None) -> None:
        self.name, self.tasks, self.card, self.folder = name, tasks, card, folder

    def task(self, name: str) -> TaskSet:
        """The gold of a task."""
        if name not in self.tasks:
            raise DataError(f"no gold for {name}; it has {', '.join(self.tasks)}", file=self.folder or self.name)
        return self.tasks[name]

    def __getattr__(self, name: str) -> TaskSet:
        if name in TASKS or name in self.tasks:
            return self.task(name)
        raise AttributeError(f"{name!r}: a gold set has card, name, tasks and {', '.join(self.tasks)}")

    def __repr__(self) -> str:
        return f"GoldSet({self.name!r}, {', '.join(self.tasks)})"

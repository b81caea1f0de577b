"""People's labels on what a judge is asked: ``jsonl``, ``csv`` or ``tsv``, one item a line.

::

    {"id": "a1", "inputs": {"text": "…", "claim": "…"}, "label": "supported"}
    {"id": "a2", "text": "…", "claim": "…", "labels": {"ann": "supported", "bob": "not_stated"}, "split": "test"}
    {"id": "a3", "text": "…", "claim": "…", "label": null}                       an item that nobody has labelled

A table has the columns ``id``, the inputs, and ``label`` or one ``label_NAME`` for each annotator; an empty cell is no
label. A file without ids gets the numbers of its rows. ``columns`` maps this project's names to those of the file, such
as ``{"label": "human", "answer": "output.text"}``: a column, or a dotted path in ``jsonl``.

Labels may be true and false, yes and no, 1 and 0: then a question that is no scale has two labels. ``split`` is
optional. ``verdict`` is a judge's from elsewhere: then no model has to be asked.
``quote`` and ``reason`` are an annotator's, and are shown to a judge that is tuned. An item's label is that of most of
its annotators; a draw is no label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

from goldassay import fields, files
from goldassay.exceptions import DataError, FieldError
from goldassay.gold.formats.tables import table
from goldassay.judges.panel import Vote, count
from goldassay.judges.questions import Question

TRUTHS = {**dict.fromkeys(("true", "yes", "y", "t", "1"), True), **dict.fromkeys(("false", "no", "n", "f", "0"), False)}
EMPTY = (None, "")
LabelRow = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """One item: its inputs, each annotator's label, and a judge's verdict from elsewhere."""

    id: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    verdict: str | None = None
    split: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str | None:
        """The label of most annotators; None without a label or without a majority.

        >>> JudgedItem("a", labels={"ann": "yes", "bob": "no"}).label, JudgedItem("a", labels={"ann": "yes"}).label
        (None, 'yes')
        """
        return count(list(self.labels.values())).label


@dataclass(frozen=True, slots=True)
class Labels:
    """The items of a file, their question, and whether the file brings verdicts."""

    items: Sequence[JudgedItem]
    question: Question
    judged: bool = False
    source: str = ""

    @property
    def annotators(self) -> list[str]:
        """The annotators' names."""
        return sorted({name for item in self.items for name in item.labels})

    @property
    def votes(self) -> list[Vote]:
        """The verdicts of the file, as votes."""
        if not self.judged:
            raise DataError("no verdicts in this file; name a model that judges", file=self.source or None)
        return [count([item.verdict], self.question.worth) for item in self.items]


def read(
    path: str | Path, question: Question, *, labelled: bool = True, columns: Mapping[str, str] | None = None
) -> Labels:
    """The items of a file.

    Args:
        path: the file.
        question: the question that the labels answer.
        labelled: whether some item must have a label; False for items that are only to be judged.
        columns: this project's names (id, label, verdict, the inputs) and those of the file.
    """
    rows = labelled_rows(path, columns)
    answers = [label for _, row in rows for label in labels_of(row).values()]
    if not rows:
        raise DataError("no items", file=path)
    if labelled and not answers:
        needs = "write label (or labels, or label_NAME), or name its column (`columns=label=COLUMN`)"
        raise DataError(f"no item has a label; {needs}; there are {column_names(rows)}", file=path)
    judged = any("verdict" in row for _, row in rows)
    words = {_folded(label) for label in [*answers, *(row.get("verdict") for _, row in rows)] if label not in EMPTY}
    truths = {*TRUTHS, f"not_{_folded(question.positive)}"} - {_folded(label) for label in question.labels}
    narrowed = question.yes_or_no() if words & truths and not question.ordered else question
    items: dict[str, JudgedItem] = {}
    for line, row in rows:
        with at_row(path, line, row):
            item = _item(row, narrowed, judged)
            if item.id in items:
                raise DataError("the id stands twice; give each item one of its own")
            items[item.id] = item
    return Labels(list(items.values()), narrowed, judged, str(path))


@contextmanager
def at_row(path: str | Path, line: int, row: LabelRow) -> Iterator[None]:
    """Say where an error stands."""
    try:
        yield
    except DataError as error:
        raise error.at(file=path, line=line, record=row.get("id")) from None


def _item(row: LabelRow, question: Question, judged: bool) -> JudgedItem:
    if row.get("id") in EMPTY:
        raise DataError("no id", field="id")
    source = row["inputs"] if isinstance(row.get("inputs"), Mapping) else row
    inputs = {name: str(source[name]) for name in question.inputs if source.get(name) is not None}
    missing = [name for name in question.inputs if name not in inputs]
    if missing and not judged:
        asks = f"{question.name} asks for {', '.join(question.inputs)}; name its column (`columns={missing[0]}=COLUMN`)"
        raise DataError(f"no input {missing[0]!r}; {asks}")
    return JudgedItem(
        id=str(row["id"]),
        inputs=inputs,
        labels={name: _label(label, question, "label") for name, label in labels_of(row).items()},
        verdict=None if row.get("verdict") in EMPTY else _label(row["verdict"], question, "verdict"),
        split=str(row.get("split") or ""),
        notes={name: str(row[name]) for name in ("quote", "reason") if row.get(name)},
    )


def _label(label: object, question: Question, where: str) -> str:
    """A label as the question names it; true and false are the positive label and the other of two."""
    text = _folded(label)
    names = {_folded(name): name for name in (*(question.base or question).labels, *question.labels)}
    if text in names:
        return question.counted(names[text])
    if text in TRUTHS and len(question.worth) == 2:
        return question.labels[(question.labels[0] == question.positive) is not TRUTHS[text]]
    raise DataError(f"{str(label)[:60]!r} is no label of {question.name}: {', '.join(question.labels)}", field=where)


def _folded(label: object) -> str:
    text = str(label).strip().casefold().replace(" ", "_")
    return text.partition(".")[0] if re.fullmatch(r"-?\d+\.0+", text) else text  # 4.0, as tables of numbers write 4


def number(value: Any, where: str, bounds: tuple[float, float] | None = None) -> float:
    """A number on a scale.

    >>> number("0.5", "label", (0, 1))
    0.5
    """
    try:
        parsed = float(value)
    except (TypeError, ValueError):
        parsed = float("nan")
    if not isfinite(parsed):
        raise DataError(f"expected a number, got {str(value)[:60]!r}", field=where)
    if bounds and not bounds[0] <= parsed <= bounds[1]:
        raise DataError(f"{parsed:g} is not on the scale of {bounds[0]:g} to {bounds[1]:g}", field=where)
    return parsed


def read_grades(
    path: Path, columns: Mapping[str, str] | None = None, bounds: tuple[float, float] | None = None
) -> tuple[list[float | None], list[float | None]]:
    """The numbers that people (``label`` or more) and a judge (``verdict``) gave each item of a file."""
    people: list[float | None] = []
    verdicts: list[float | None] = []
    rows = labelled_rows(path, columns)
    if not any("verdict" in row for _, row in rows):
        names = column_names(rows) or "none"
        raise DataError(f"no column verdict; name it (`columns=verdict=COLUMN`); there are {names}", file=path)
    for line, row in rows:
        with at_row(path, line, row):
            grades = [number(label, "label", bounds) for label in labels_of(row).values()]
            people.append(fmean(grades) if grades else None)
            verdict = row.get("verdict")
            verdicts.append(None if verdict in EMPTY else number(verdict, "verdict", bounds))
    return people, verdicts


def labelled_rows(path: str | Path, columns: Mapping[str, str] | None = None) -> list[tuple[int, LabelRow]]:
    """Each row with the number of its line; rows without ids get their numbers."""
    if Path(path).suffix.lower() in (".csv", ".tsv"):
        header, cells = table(path, quoted=True)
        rows: list[tuple[int, Any]] = [(line, dict(zip(header, row, strict=True))) for line, row in cells]
    else:
        rows = list(files.json_lines(path))
    for line, row in rows:
        if not isinstance(row, dict):
            message = "not a JSON object; labels are jsonl with one object a line, csv or tsv"
            raise DataError(message, file=path, line=line)
    rows = [(line, _renamed(row, columns or {}, path, line)) for line, row in rows]
    numbered = not any("id" in row for _, row in rows)
    return [(line, {"id": str(at), **row} if numbered else row) for at, (line, row) in enumerate(rows, start=1)]


def labels_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Each annotator's label; those without one are left out.

    >>> labels_of({"label_ann": "yes", "label_bob": ""}), labels_of({"label": None})
    ({'ann': 'yes'}, {})
    >>> labels_of({"labels": ["yes", "no"]})
    {'annotator 1': 'yes', 'annotator 2': 'no'}
    """
    labels = row.get("labels")
    if isinstance(labels, list):
        labels = {f"annotator {place}": label for place, label in enumerate(labels, start=1)}
    elif not isinstance(labels, Mapping):
        labels = {str(key)[6:]: label for key, label in row.items() if str(key).startswith("label_")}
        labels = labels or {"label": row.get("label")}
    return {str(name): label for name, label in labels.items() if label not in EMPTY}


def column_names(rows: Sequence[tuple[int, LabelRow]]) -> str:
    """The columns of a file, for a message."""
    return ", ".join(dict.fromkeys(str(key) for _, row in rows for key in row))[:200]


def _renamed(row: LabelRow, columns: Mapping[str, str], path: str | Path, line: int) -> LabelRow:
    renamed, inputs = dict(row), row.get("inputs")
    if "label" in columns:  # that column alone is the label, whatever else the file calls so
        renamed = {key: value for key, value in row.items() if not key.startswith("label")}
    for name, column in columns.items():
        try:
            renamed[name] = fields.read(row, column)
        except FieldError as error:
            raise DataError(f"column {column} for {name}: {error}", file=path, line=line) from None
        if isinstance(inputs, Mapping):
            inputs = renamed["inputs"] = {**inputs, name: renamed[name]}
    return renamed

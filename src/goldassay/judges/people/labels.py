"""Human labels on what a judge is asked: ``jsonl``, ``csv`` or ``tsv``, one item a line.

::

    {"id": "a1", "inputs": {"text": "…", "claim": "…"}, "label": "supported"}
    {"id": "a2", "text": "…", "claim": "…", "labels": {"ann": "supported", "bob": "not_stated"}, "split": "test"}
    {"id": "a3", "text": "…", "claim": "…", "label": null}                       an item that nobody has labelled

A table has the columns ``id``, the inputs, and ``label`` or one ``label_NAME`` an annotator; an empty cell is no label.
A file without ids gets the numbers of its rows. A csv whose header has semicolons and no comma is one of semicolons, as
spreadsheets write it in Europe. ``columns`` says under which other names a file has them, such as ``{"label": "human",
"answer": "output.text"}``: a column, or a dotted path in ``jsonl``.

Labels may be true and false, yes and no, 1 and 0: then a question that is no scale has two labels. ``split`` is
optional. ``verdict`` (and ``score``, between 0 and 1) hold what a judge said elsewhere: then no model has to be asked.
``quote`` and ``reason`` are an annotator's, and are shown to a judge that is tuned. The label of an item is that of
most of its annotators; where as many say another, it has none.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay import fields, files
from goldassay.exceptions import DataError, FieldError
from goldassay.judges.ask.panel import Vote, count
from goldassay.judges.ask.questions import Question

TRUTHS = {**dict.fromkeys(("true", "yes", "y", "t", "1"), True), **dict.fromkeys(("false", "no", "n", "f", "0"), False)}


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """One item: its inputs, what each annotator said, and what a judge said elsewhere."""

    id: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    verdict: str | None = None
    score: float | None = None
    split: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str | None:
        """What most annotators said; ``None`` without a label or without a majority.

        >>> JudgedItem("a", labels={"ann": "yes", "bob": "no"}).label, JudgedItem("a", labels={"ann": "yes"}).label
        (None, 'yes')
        """
        ranks = Counter(self.labels.values()).most_common(2)
        return ranks[0][0] if ranks and (len(ranks) == 1 or ranks[0][1] > ranks[1][1]) else None

    @property
    def divided(self) -> bool:
        """Whether the annotators said different things."""
        return len(set(self.labels.values())) > 1


@dataclass(frozen=True, slots=True)
class Labels:
    """The items of a file, the question that they are about, and whether the file brings verdicts."""

    items: Sequence[JudgedItem]
    question: Question
    judged: bool = False
    source: str = ""

    @property
    def annotators(self) -> list[str]:
        """Who labelled, by name."""
        return sorted({name for item in self.items for name in item.labels})

    def part(self, split: str) -> Labels:
        """The items of one split."""
        found = [item for item in self.items if item.split == split]
        if not found:
            there = ", ".join(sorted({item.split for item in self.items if item.split})) or "none"
            raise DataError(f"no item of the split {split!r}; splits are {there}", file=self.source or None)
        return Labels(found, self.question, self.judged, self.source)

    @property
    def votes(self) -> list[Vote]:
        """The verdicts that stand in the file, as votes."""
        if not self.judged:
            raise DataError("no verdicts in this file; name a model with --lm", file=self.source or None)
        return [count([item.verdict], worth=self.question.worth) for item in self.items]


def read(
    path: str | Path, question: Question, *, labelled: bool = True, columns: Mapping[str, str] | None = None
) -> Labels:
    """The items of a file. ``labelled=False`` takes items without any label, such as those to judge.

    ``columns`` maps this project's names (id, label, verdict, the inputs) to those of the file.
    """
    rows = labelled_rows(path, columns)
    if not rows:
        raise DataError("no items", file=path)
    said = {line: labels_of(row) for line, row in rows}
    judged = any("verdict" in row for _, row in rows)
    if labelled and not any(said.values()):
        needs = "write label (or labels, or label_NAME), or --map label=COLUMN"
        raise DataError(f"no item has a label; {needs}; there are {names(rows)}", file=path)
    folded = {_fold(label) for found in said.values() for label in found.values()}
    folded |= {_fold(row.get("verdict")) for _, row in rows if row.get("verdict") not in (None, "")}
    own = {_fold(label) for label in question.labels}
    two = not question.ordered and bool(folded & ({*TRUTHS, _fold(f"not {question.positive}")} - own))
    asked = question.yes_or_no() if two else question
    items, seen = [], set()
    for line, row in rows:
        place = {"file": path, "line": line, "record": row.get("id")}
        try:
            items.append(_item(row, said[line], question, asked, judged, labelled))
        except DataError as error:
            raise error.at(**place) from None
        if items[-1].id in seen:
            raise DataError("the id stands twice; give each item one of its own", **place)  # type: ignore[arg-type]
        seen.add(items[-1].id)
    return Labels(items, asked, judged, str(path))


def _item(
    row: Mapping[str, Any], said: Mapping[str, Any], question: Question, asked: Question, judged: bool, labelled: bool
) -> JudgedItem:
    if row.get("id") in (None, ""):
        raise DataError("no id", field="id")
    if labelled and not any(key in ("label", "labels") or str(key).startswith("label_") for key in row):
        raise DataError("no label; write null (in a table: nothing) for an item that nobody labelled", field="label")
    given = row.get("inputs") if isinstance(row.get("inputs"), Mapping) else row
    inputs = {name: str(given[name]) for name in question.inputs if given and given.get(name) is not None}
    absent = [name for name in question.inputs if name not in inputs]
    if absent and not judged:
        asks = f"{question.name} asks for {', '.join(question.inputs)}; --map {absent[0]}=COLUMN names another"
        raise DataError(f"no input {absent[0]!r}; {asks}")
    labels = {name: known(label, question, asked, "label") for name, label in said.items()}
    verdict = None if row.get("verdict") in (None, "") else known(row["verdict"], question, asked, "verdict")
    notes = {name: str(row[name]) for name in ("quote", "reason") if row.get(name)}
    return JudgedItem(
        str(row["id"]), inputs, labels, verdict, _score(row.get("score")), str(row.get("split") or ""), notes
    )


def known(label: object, question: Question, asked: Question, where: str) -> str:
    """A label as the question names it; ``asked`` is the question with as many labels as the file has."""
    text = _fold(label)
    for name in (*asked.labels, *question.labels):
        if _fold(name) == text:
            return name if name in asked.worth else next(one for one in asked.labels if one != asked.positive)
    if text in TRUTHS and len(asked.worth) == 2:
        return asked.positive if TRUTHS[text] else next(name for name in asked.labels if name != asked.positive)
    raise DataError(f"{str(label)[:60]!r} is no label of {question.name}: {', '.join(asked.labels)}", field=where)


def _score(found: Any) -> float | None:
    if found in (None, ""):
        return None
    try:
        score = float(found)
    except (TypeError, ValueError):
        score = -1.0
    if not 0 <= score <= 1:
        raise DataError(f"a score is a number between 0 and 1, not {found!r}", field="score")
    return score


def _fold(label: Any) -> str:
    text = str(label).strip().casefold().replace(" ", "_")
    return text.partition(".")[0] if re.fullmatch(r"-?\d+\.0+", text) else text  # 4.0, as tables of numbers write 4


LabelRow = dict[str, Any]
KINDS = "jsonl with one object a line, csv or tsv"


def labelled_rows(path: str | Path, columns: Mapping[str, str] | None = None) -> list[tuple[int, LabelRow]]:
    """Each row with the number of its line."""
    found = [(line, _renamed(row, columns or {}, path, line)) for line, row in _read(path)]
    if found and not any("id" in row for _, row in found):
        found = [(line, {"id": str(number), **row}) for number, (line, row) in enumerate(found, start=1)]
    return found


def labels_of(row: Mapping[str, object]) -> dict[str, object]:
    """Each annotator's label, those without one left out.

    >>> labels_of({"label_ann": "yes", "label_bob": ""}), labels_of({"label": None})
    ({'ann': 'yes'}, {})
    >>> labels_of({"labels": ["yes", "no"]})
    {'annotator 1': 'yes', 'annotator 2': 'no'}
    """
    many = row.get("labels")
    if isinstance(many, Mapping):
        found = dict(many)
    elif isinstance(many, list):
        found = {f"annotator {index}": label for index, label in enumerate(many, start=1)}
    else:
        found = {str(key)[6:]: label for key, label in row.items() if str(key).startswith("label_")}
        found |= {"label": row["label"]} if "label" in row and not found else {}
    return {str(name): label for name, label in found.items() if label not in (None, "")}


def names(found: list[tuple[int, LabelRow]]) -> str:
    """The columns of a file, for a message."""
    return ", ".join(dict.fromkeys(str(key) for _, row in found for key in row))[:200]


def _renamed(row: LabelRow, columns: Mapping[str, str], path: str | Path, line: int) -> LabelRow:
    given, inputs = row, row.get("inputs")
    if "label" in columns:  # that one alone is the label, whatever else the file calls so
        row = {key: value for key, value in row.items() if not key.startswith("label")}
    for name, column in columns.items():
        try:
            value = fields.read(given, column)
        except FieldError as error:
            raise DataError(f"--map {name}={column}: {error}", file=path, line=line) from None
        row = {**row, name: value}
        inputs = {**inputs, name: value} if isinstance(inputs, Mapping) else inputs
    return row if inputs is None else {**row, "inputs": inputs}


def _read(path: str | Path) -> Iterator[tuple[int, LabelRow]]:
    kind = Path(path).suffix.lower()
    if kind in (".csv", ".tsv"):
        yield from _table(path, kind)
        return
    for number, row in files.json_lines(path):
        if not isinstance(row, dict):
            raise DataError(f"not a JSON object; labels are {KINDS}", file=path, line=number)
        yield number, row


def _table(path: str | Path, kind: str) -> Iterator[tuple[int, LabelRow]]:
    text = files.text(path)
    head = text.partition("\n")[0]
    comma = "\t" if kind == ".tsv" else ";" if ";" in head and "," not in head else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=comma, strict=True)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise DataError("another number of columns than the header has", file=path, line=reader.line_num)
            yield reader.line_num, {str(key).strip(): value for key, value in row.items()}
    except csv.Error as error:
        raise DataError(f"not a table: {error}", file=path, line=reader.line_num) from None

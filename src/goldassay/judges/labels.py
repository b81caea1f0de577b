"""People's labels on what a judge is asked, or on the answers of a run: ``jsonl``, ``csv`` or ``tsv``, one item a line.

::

    {"id": "a1", "inputs": {"text": "…", "claim": "…"}, "label": "supported"}
    {"id": "a2", "text": "…", "claim": "…", "labels": {"ann": "supported", "bob": "not_stated"}, "split": "test"}
    {"id": "a3", "text": "…", "claim": "…", "label": null}                       an item that nobody has labelled

A table has the columns ``id``, the inputs, and ``label`` or one ``label_NAME`` for each annotator; an empty cell is no
label. A file without ids gets the numbers of its rows. ``columns`` maps this project's names to those of the file, such
as ``{"label": "human", "answer": "output.text"}``, as for every file of records (`goldassay.gold.anyfields`).

Labels may be true and false, yes and no, pass and fail, correct and incorrect, 1 and 0: then a question that is not a
scale has two labels. ``split`` is optional. ``verdict`` is a judge's from elsewhere: then no model has to be asked.
``quote`` and ``reason`` are an annotator's, and are shown to a judge that is tuned. An item's label is that of most of
its annotators; a draw is not a label.

Labels on the answers of a run (``goldassay eval … --judge-labels FILE``)::

    {"id": "q1", "label": "partial"}                                           of the answer of this run
    {"id": "q2", "measure": "faithfulness", "label": 0.5}                      one of several judged values
    {"id": "x7", "question": "When?", "answer": "In May.", "label": "full"}    of an answer that people saw elsewhere

Such a label is a level of the measure (``full``, ``partial`` … for relevance, the levels of a rubric, ``yes`` and
``no``) or a number from 0 to 1; those of several annotators are averaged. A row with an ``answer`` is judged too, so
that label and verdict are of the same words; without one the verdict is that of the run's example with this id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core import fields
from goldassay.core.fields import Fields, JsonObject
from goldassay.core.metric import Metric
from goldassay.gold.reading import NO_LABEL, labels_by_annotator
from goldassay.gold.reading import read as read_records
from goldassay.judges.judge import Judge, Panel
from goldassay.judges.questions import Question, Vote, count
from goldassay.measures.judged import JudgedMeasure
from goldassay.running.engines import work_through

TRUTHS = {
    **dict.fromkeys(("yes", "true", "y", "t", "1", "pass", "passed", "correct", "right", "good"), True),
    **dict.fromkeys(("no", "false", "n", "f", "0", "fail", "failed", "incorrect", "wrong", "bad"), False),
}
Label = str | float | bool
In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class LabelFile:
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
        """The verdicts of the file, as votes; unknown ones if it has none."""
        return [count([item.verdict], self.question.worth) for item in self.items]


def read(
    path: str | Path, question: Question, *, labelled: bool = True, columns: Mapping[str, str] | None = None
) -> LabelFile:
    """The items of a file.

    Args:
        path: the file.
        question: the question that the labels answer.
        labelled: whether some item must have a label; False for items that are only to be judged.
        columns: this project's names (id, label, verdict, the inputs) and those of the file.

    Raises:
        DataError: a row cannot be read, or no item has a label though some must.
    """
    rows = labelled_rows(path, columns)
    answers = [label for _, row in rows for label in labels_by_annotator(row).values()]
    if labelled and not answers:
        needs = 'write label (or labels, or label_NAME), or name its column (`columns={"label": "COLUMN"}`)'
        names = ", ".join(dict.fromkeys(str(key) for _, row in rows for key in row))[:200]
        raise DataError(f"no item has a label; {needs}; there are {names}", file=path)
    judged = any("verdict" in row for _, row in rows)
    tokens = {_folded(label) for label in [*answers, *(row.get("verdict") for _, row in rows)] if label not in NO_LABEL}
    truths = {*TRUTHS, f"not_{_folded(question.positive)}"} - {_folded(label) for label in question.labels}
    narrowed = question.yes_or_no() if tokens & truths and not question.levels else question

    def _item(row: Fields) -> JudgedItem:
        source = _fields_of(row)
        inputs = {name: str(source[name]) for name in narrowed.inputs if source.get(name) is not None}
        missing = [name for name in narrowed.inputs if name not in inputs]
        if missing and not judged:
            column = f'`columns={{"{missing[0]}": "COLUMN"}}`'
            asks = f"{narrowed.name} asks for {', '.join(narrowed.inputs)}; name its column ({column})"
            raise DataError(f"no input {missing[0]!r}; {asks}")
        return JudgedItem(
            id=str(row["id"]),
            inputs=inputs,
            labels={name: _label(label, narrowed, "label") for name, label in labels_by_annotator(row).items()},
            verdict=None if row.get("verdict") in NO_LABEL else _label(row["verdict"], narrowed, "verdict"),
            split=str(row.get("split") or ""),
            notes={name: str(row[name]) for name in ("quote", "reason") if row.get(name)},
        )

    items = list(_parsed(path, rows, _item))
    fields.check_unique(items, path)
    return LabelFile(items, narrowed, judged, str(path))


def _parsed(
    path: str | Path, rows: Iterable[tuple[int | None, JsonObject]], parse: Callable[[JsonObject], In]
) -> Iterator[In]:
    """The parsed rows; errors name file, line and record."""
    for line, row in rows:
        try:
            yield parse(row)
        except DataError as error:
            raise error.at(file=path, line=line, record=row.get("id")) from None


def _fields_of(row: JsonObject) -> JsonObject:
    """The fields of a row together with its inputs."""
    inputs = row.get("inputs") or {}
    if not isinstance(inputs, Mapping):
        raise DataError(f"expected an object, not {type(inputs).__name__}", field="inputs")
    return {**row, **inputs}


def _label(label: Label, question: Question, where: str) -> str:
    """A label as the question names it; true and false are the positive label and the other of two."""
    text = _folded(label)
    names = {_folded(name): name for name in (*(question.base or question).labels, *question.labels)}
    if text in names:
        return question.counted(names[text])
    if text in TRUTHS and len(question.worth) == 2:
        return question.labels[(question.labels[0] == question.positive) is not TRUTHS[text]]
    raise DataError(f"{str(label)[:60]!r} is not a label of {question.name}: {', '.join(question.labels)}", field=where)


def _folded(label: Label) -> str:
    text = str(label).strip().casefold().replace(" ", "_")
    return text.partition(".")[0] if re.fullmatch(r"-?\d+\.0+", text) else text  # 4.0, as tables of numbers write 4


def read_grades(
    path: Path,
    question: Question,
    columns: Mapping[str, str] | None = None,
    bounds: tuple[float, float] | None = None,
) -> tuple[list[float | None], list[float | None]] | None:
    """The numbers that people (``label`` or more) and a judge (``verdict``) gave each item of a file.

    None if there are no verdicts, some are not numbers, or all are answers to the question.

    Args:
        path: The file.
        question: What the judge is asked; its labels may be numbers, too.
        columns: This project's names and those of the file.
        bounds: The ends of the scale.

    Raises:
        DataError: The file cannot be read, or a label or verdict is not a number on the scale.
    """
    rows = labelled_rows(path, columns)
    stated = [row["verdict"] for _, row in rows if row.get("verdict") not in NO_LABEL]
    answers = {*TRUTHS, *map(_folded, question.labels)}
    try:
        numbers = [_number(verdict, "verdict") for verdict in stated]
    except DataError:
        return None
    if not numbers or {*map(_folded, stated)} <= answers:
        return None

    def grades(row: Fields) -> tuple[float | None, float | None]:
        labels = [_number(label, "label", bounds) for label in labels_by_annotator(row).values()]
        verdict = row.get("verdict")
        grade = None if verdict in NO_LABEL else _number(verdict, "verdict", bounds)
        return fmean(labels) if labels else None, grade

    people, verdicts = zip(*_parsed(path, rows, grades), strict=True)
    return list(people), list(verdicts)


def _number(value: Label, where: str, bounds: tuple[float, float] | None = None) -> float:
    """A finite number, on a scale if its ends are given."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number):
        raise DataError(f"expected a number, got {str(value)[:60]!r}", field=where)
    if bounds and not bounds[0] <= number <= bounds[1]:
        raise DataError(f"{number:g} is not on the scale of {bounds[0]:g} to {bounds[1]:g}", field=where)
    return number


def labelled_rows(path: str | Path, columns: Mapping[str, str] | None = None) -> list[tuple[int | None, Fields]]:
    """Each row with the number of its line; rows without ids get their numbers."""
    records = read_records(path, "labels", "pred", unique=False, map=columns)
    return list(zip(records.lines, records, strict=True))


RunLabels = dict[str, dict[str, float | list[float]]]


def read_run_labels(path: Path, metric: Metric) -> RunLabels:
    """Labels on the answers of a run, by the name of a value and the id of an example, as `goldassay.evaluate` takes.

    Raises:
        DataError: a row has no id, no label that its measure knows, or a measure that no judge gives.
        GoldassayError: the metric has no judged value.
    """
    measures = metric.measures.items()
    judged = {
        name: measure for name, measure in measures if isinstance(measure, JudgedMeasure) and measure.judge is not None
    }
    if not judged:
        raise GoldassayError("no value of this metric is given by a judge, so labels correct nothing; name a judge")
    worths = {}
    for name, measure in judged.items():
        worth = getattr(measure, "worth", {"yes": 1.0, "no": 0.0})
        steps = {_folded(level): value for level, value in worth.items()}
        worths[name] = {word: float(value) for word, value in TRUTHS.items()} if "yes" in worth else steps
    labels: RunLabels = {name: {} for name in judged}

    def _keep(row: JsonObject) -> None:
        """A label, with the judge's verdict where the row brings the text that was judged and that verdict is known."""
        inputs = _fields_of(row)
        answers = [_folded(label) for label in labels_by_annotator(row).values()]
        # The measure whose levels the labels are, or the only one.
        names = [name for name in judged if len(judged) == 1 or all(answer in worths[name] for answer in answers)]
        name = str(row.get("measure") or (names[0] if len(names) == 1 else ""))
        if name not in judged:
            hint = f"name it in a column measure: judged are {', '.join(judged)}"
            raise DataError(f"no judge gives {name!r} here; {hint}", field="measure")
        worth = worths[name]
        values = []
        for answer in answers:
            try:
                values.append(worth[answer] if answer in worth else _number(answer, "label", (0.0, 1.0)))
            except DataError:
                message = f"{answer[:60]!r} is not a label of {name}: {', '.join(worth)}, or a number from 0 to 1"
                raise DataError(message, field="label") from None
        label = fmean(values)
        of_measure = labels[name]
        if str(row["id"]) in of_measure:
            raise DataError(f"two labels for {name} of one example; keep one")
        if inputs.get("answer") is None:
            of_measure[str(row["id"])] = label
            return
        tally = judged[name](inputs, inputs).tally
        if tally.weight and not tally.unknown:
            of_measure[str(row["id"])] = [label, float(tally.value)]

    rows = [(line, row) for line, row in labelled_rows(path) if labels_by_annotator(row)]
    list(_parsed(path, rows, _keep))
    if not any(labels.values()):
        raise DataError("no row has a label; write id and label", file=path)
    return {name: of_measure for name, of_measure in labels.items() if of_measure}


def poll(
    judge: Judge,
    question: Question,
    items: Sequence[JudgedItem],
    *,
    threads: int = 1,
    on_vote: Callable[[int], object] | None = None,
) -> list[Vote]:
    """The votes of a judge on items, in their order.

    Args:
        judge: one judge, or a panel.
        question: what it is asked.
        items: what about.
        threads: how many items at once.
        on_vote: called after each item with how many are done.

    Raises:
        DataError: an item lacks an input of the question.
        ModelError: the judge's model gives no answer.
    """
    for item in items:
        if missing := [name for name in question.inputs if name not in item.inputs]:
            raise DataError(f"no input {missing[0]!r}; the judge cannot be asked without it", record=item.id)
    base = question.base or question

    def vote(item: JudgedItem) -> Vote:
        """The vote on one item; a single judge is a panel of one."""
        inputs = {name: item.inputs[name] for name in base.inputs}
        verdicts = [member.verdict(base, **inputs).label for member in getattr(judge, "members", (judge,))]
        if isinstance(judge, Panel):
            judge.settle(item.id, True)
        ballots = [None if label is None else question.counted(label) for label in verdicts]
        return count(ballots, question.worth)

    return in_threads(vote, items, threads, on_vote)


def in_threads(
    function: Callable[[In], Out],
    items: Sequence[In],
    threads: int,
    on_result: Callable[[int], object] | None = None,
) -> list[Out]:
    """The results of a function for all items, in their order; ``on_result`` gets how many are done."""
    results = {}

    def keep(result: tuple[int, Out]) -> str:
        results[result[0]] = result[1]
        if on_result:
            on_result(len(results))
        return ""

    work_through(range(len(items)), lambda index: (index, function(items[index])), keep, threads=threads)
    return [results[index] for index in range(len(items))]

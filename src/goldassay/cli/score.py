"""``goldassay score``: predictions that already exist, against gold; with the files that it reads beside both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from goldassay import files
from goldassay.cli import options as use
from goldassay.exceptions import ConventionError, DataError, GoldassayError
from goldassay.measure import TASKS
from goldassay.reporting import terminal
from goldassay.scorecard import Scorecard

MOST = 2000  # examples that are given intervals unasked: each measure assesses every example once more
CONCERNS = {
    "column": ("extraction", "linking"),
    "measures": ("retrieval", "answering"),
    "protocol": ("extraction", "linking", "triples"),
    "ontology": ("triples",),
    "equivalent": ("linking",),
    "labels": ("classification",),
    "na_probs": ("answering",),
}


def score(
    task: use.Task,
    gold: Annotated[Path, typer.Option(metavar="FILE", help="The gold file or folder.")],
    pred: Annotated[Path, typer.Option(metavar="FILE", help="The predictions, in the same format.")],
    format: use.Format = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="hipe: the column, such as NE-COARSE-LIT or NEL-LIT.")
    ] = None,
    measures: Annotated[
        list[str] | None, typer.Option("--measure", metavar="NAME", help="Only this measure, by its name (repeat).")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(metavar="NAME", help="An official protocol: hipe, hipe2020, text2kgbench.")
    ] = None,
    ontology: Annotated[Path | None, typer.Option(metavar="FILE", help="The ontology (text2kgbench JSON).")] = None,
    equivalent: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A table of equivalent ids: two columns, tsv or csv.")
    ] = None,
    na_probs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="SQuAD 2.0: the probabilities of no answer, {id: number}.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="A,B|FILE", help="The list of labels; in a file, one a line.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="An earlier --json output: show the differences.")
    ] = None,
    intervals: Annotated[
        bool | None, typer.Option("--intervals/--no-intervals", help="95 % intervals (default: up to 2,000 examples).")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print each value's definition, convention and source.")
    ] = False,
    json: use.Json = False,
) -> None:
    """Score predictions that already exist. `goldassay score TASK --help` shows what concerns that task."""
    card = scored(
        task,
        gold,
        pred,
        format=format,
        intervals=intervals,
        column=column,
        measures=measures,
        protocol=protocol,
        ontology=ontology,
        equivalent=equivalent,
        labels=labels,
        na_probs=na_probs,
    )
    earlier = _earlier(against, card) if against else None
    if json:
        terminal.answer({**card.state(), **({"explain": card.explain} if explain else {})})
        return
    from goldassay.reporting import scorecards

    scorecards.show(card, earlier=earlier)
    if explain:
        scorecards.explanations(card)


def scored(
    task: str,
    gold: Path,
    pred: Path,
    *,
    format: str | None = None,
    intervals: bool | None = None,
    **asked: Any,
) -> Scorecard:
    """Read both sides, align them, and score; with ``intervals``, or unasked where the examples are few, with those.

    ``asked`` are the options that only some tasks have (``CONCERNS``), as they were written.
    """
    if task not in TASKS:
        raise GoldassayError(f"no task {task!r}; the tasks are {', '.join(TASKS)}")
    from goldassay.gold import formats, pairs

    given = {name: value for name, value in asked.items() if value}
    for name in given:
        if task not in CONCERNS[name]:
            flag = "--measure" if name == "measures" else f"--{name.replace('_', '-')}"
            raise GoldassayError(f"{flag} is for {' and '.join(CONCERNS[name])}, not for {task}")
    if "na_probs" in given and {format or formats.guess(file, task) for file in (gold, pred)} != {"squad"}:
        raise GoldassayError("--na-probs is for format squad; elsewhere a prediction has its confidence")
    reading: dict[str, Any] = {name: given.pop(name) for name in ("column", "na_probs") if name in given}
    options: dict[str, Any] = {name: READ[name](value) if name in READ else value for name, value in given.items()}
    if "labels" in options and (format or formats.guess(gold, task)) in ("tsv", "csv"):
        reading["labels"] = options["labels"]
    if "protocol" in given and (format or formats.guess(gold, task)) == "hipe":
        reading["protocol"] = given["protocol"]  # which rows are tokens, and what bounds a linked mention
    aligned = pairs(task, gold, pred, format=format, **reading)
    if "labels" in options:
        _within(aligned.gold, options["labels"], gold)
    card: Scorecard = import_module(f"goldassay.measures.{task}").scorecard(aligned.gold, aligned.pred, **options)
    card.warnings = [*aligned.warnings, *card.warnings]
    if intervals or (intervals is None and card.examples <= MOST):
        if card.tallies:
            card.resample()
        else:  # a room that is not yet a list of measures
            from goldassay.statistics import scorecards

            found = scorecards.intervals(card, aligned.gold, aligned.pred, _measures(task, options))
            card.intervals = {name: (one.low, one.high) for name, one in found.items()}
    return card


def _within(gold: Sequence[Any], labels: list[str], file: Path) -> None:
    """Gold's labels stand in the list; a prediction outside it is counted as wrong and warned of."""
    for one in gold:
        for label in (one["label"], *one.get("secondary_labels", ())):
            if label not in labels:
                said = f"label {label!r} is outside the list {', '.join(labels)}"
                raise DataError(said, file=file, record=one.get("id"), field="label")


def _measures(task: str, options: dict[str, Any]) -> dict[str, Any]:
    """The task's measures by the names of their values, under the options that were given."""
    if task == "retrieval":
        from goldassay.measures.retrieval.scorecard import chosen

        return dict(chosen(options.get("measures")))
    out: dict[str, Any] = {}
    for measure in import_module(f"goldassay.measures.{task}").MEASURES:
        if "equivalent" in options and hasattr(measure, "equivalent"):
            measure = replace(measure, equivalent=tuple(sorted(options["equivalent"].items())))
        if "labels" in options and getattr(measure, "labels", "") == "all":
            measure = replace(measure, labels=tuple(options["labels"]))
        out.setdefault(measure.key, measure)  # of two with one name, the first has the conventions of the scorecard
    return out


def _earlier(file: Path, card: Scorecard) -> dict[str, float | None]:
    """The values of an earlier ``--json`` output, if they were made under the same conventions."""
    before = files.json_value(file)
    if not isinstance(before, dict) or not isinstance(before.get("values"), dict):
        raise DataError("not the output of `goldassay score --json`", file=file)
    if before.get("task") != card.task:
        raise ConventionError(f"{file} holds {before.get('task')}, this is {card.task}")
    for name, convention in card.conventions.items():
        other = before.get("conventions", {}).get(name, convention)
        if other != convention:
            raise ConventionError(f"{name} was made under other conventions: {other} in {file}, {convention} here")
    values: dict[str, float | None] = before["values"]
    return values


def table(file: Path) -> dict[str, str]:
    """Equivalent ids: each line two ids, separated by a tab or a comma; the second is the one counted."""
    out: dict[str, str] = {}
    for number, line in enumerate(files.text(file).splitlines(), start=1):
        cells = [cell.strip() for cell in line.replace("\t", ",").split(",")]
        if line.strip() and not line.startswith("#"):
            if len(cells) != 2 or not all(cells):
                raise DataError(
                    f"expected two ids, separated by a tab or a comma, not {line!r}", file=file, line=number
                )
            out[cells[0]] = cells[1]
    return out


def label_list(words: str) -> list[str]:
    """A list of labels: in a file, one a line, or on the command line, separated by commas.

    >>> label_list("pos, neg")
    ['pos', 'neg']
    """
    file = Path(words)
    lines = files.text(file).splitlines() if file.is_file() else words.split(",")
    found = [line.strip() for line in lines if line.strip()]
    if not found or len(set(found)) < len(found):
        raise GoldassayError(f"--labels needs labels that differ, separated by commas or one a line in a file: {words}")
    return found


READ: dict[str, Callable[[Any], Any]] = {"equivalent": table, "ontology": files.json_value, "labels": label_list}
"""How an option that names a file is read."""

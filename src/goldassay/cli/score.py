"""``goldassay score``: predictions that already exist, against gold.

The files that ``goldassay score`` reads beside gold and predictions: tables of ids, lists of labels, JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from goldassay.exceptions import ConventionError, DataError, GoldassayError
from goldassay.measure import TASKS
from goldassay.scorecard import Scorecard

MOST = 2000  # examples that are given intervals unasked: each measure assesses every example once more


def run(
    task: str,
    gold: Path,
    pred: Path,
    *,
    format: str | None = None,
    column: str | None = None,
    measures: list[str] | None = None,
    protocol: str | None = None,
    ontology: Path | None = None,
    equivalent: Path | None = None,
    labels: str | None = None,
    na_probs: Path | None = None,
    against: Path | None = None,
    intervals: bool | None = None,
    explain: bool = False,
    as_json: bool = False,
) -> None:
    """Score and print; the arguments are the command's options."""
    card = scored(
        task,
        gold,
        pred,
        format=format,
        column=column,
        measures=measures,
        protocol=protocol,
        ontology=ontology,
        equivalent=equivalent,
        labels=labels,
        na_probs=na_probs,
        intervals=intervals,
    )
    earlier = _earlier(against, card) if against else None
    if as_json:
        print(json.dumps({**card.state(), **({"explain": card.explain} if explain else {})}, ensure_ascii=False))
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
    column: str | None = None,
    measures: list[str] | None = None,
    protocol: str | None = None,
    ontology: Path | None = None,
    equivalent: Path | None = None,
    labels: str | None = None,
    na_probs: Path | None = None,
    intervals: bool | None = None,
) -> Scorecard:
    """Read both sides, align them, and score; with ``intervals``, or unasked where the examples are few, with those."""
    if task not in TASKS:
        raise GoldassayError(f"no task {task!r}; the tasks are {', '.join(TASKS)}")
    from goldassay.gold import formats, pairs

    reading: dict[str, Any] = {"column": column} if column else {}
    options: dict[str, Any] = {}
    _only(task, "--measure", measures, ("retrieval",), options, "measures")
    _only(task, "--protocol", protocol, ("extraction", "linking", "triples"), options, "protocol")
    _only(task, "--equivalent", equivalent, ("linking",), options, "equivalent", table)
    _only(task, "--ontology", ontology, ("triples",), options, "ontology", parsed)
    _only(task, "--labels", labels, ("classification",), options, "labels", label_list)
    _only(task, "--na-probs", na_probs, ("answering",), reading, "na_probs")
    if na_probs and {format or formats.guess(file, task) for file in (gold, pred)} != {"squad"}:
        raise GoldassayError("--na-probs is for format squad; elsewhere a prediction has its confidence")
    if "labels" in options and (format or formats.guess(gold, task)) in ("tsv", "csv"):
        reading["labels"] = options["labels"]
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


def _only(
    task: str, flag: str, value: Any, tasks: tuple[str, ...], options: dict[str, Any], name: str, read: Any = None
) -> None:
    """Take an option that only some tasks have."""
    if not value:
        return
    if task not in tasks:
        raise GoldassayError(f"{flag} is for {' and '.join(tasks)}, not for {task}")
    options[name] = read(value) if read else value


def _earlier(file: Path, card: Scorecard) -> dict[str, float | None]:
    """The values of an earlier ``--json`` output, if they were made under the same conventions."""
    before = parsed(file)
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
    for number, line in enumerate(text(file).splitlines(), start=1):
        cells = [cell.strip() for cell in line.replace("\t", ",").split(",")]
        if line.strip() and not line.startswith("#"):
            if len(cells) != 2 or not all(cells):
                raise DataError(
                    f"expected two ids, separated by a tab or a comma, not {line!r}", file=file, line=number
                )
            out[cells[0]] = cells[1]
    return out


def parsed(file: Path) -> Any:
    """What a JSON file holds."""
    try:
        return json.loads(text(file))
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg} at column {error.colno}", file=file, line=error.lineno) from None


def text(file: Path) -> str:
    """A file's text."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}", file=file) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=file) from None


def label_list(words: str) -> list[str]:
    """A list of labels: in a file, one a line, or on the command line, separated by commas.

    >>> label_list("pos, neg")
    ['pos', 'neg']
    """
    file = Path(words)
    lines = text(file).splitlines() if file.is_file() else words.split(",")
    found = [line.strip() for line in lines if line.strip()]
    if not found or len(set(found)) < len(found):
        raise GoldassayError(f"--labels needs labels that differ, separated by commas or one a line in a file: {words}")
    return found

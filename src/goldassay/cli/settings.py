"""``--option NAME=VALUE``: settings of the tasks, each with the tasks that have it and how its value is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from goldassay import workspace
from goldassay._support import files
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.jsonl import JSON
from goldassay.core.measure import TASKS


def table(file: str, columns: int = 2) -> list[list[str]]:
    """The rows of a small table, whose cells are separated by a tab or a comma.

    Raises:
        DataError: A row has more or fewer cells, or an empty one.
    """
    rows = []
    for number, line in enumerate(files.text(Path(file)).splitlines(), start=1):
        cells = [cell.strip() for cell in line.replace("\t", ",").split(",")]
        if line.strip() and not line.startswith("#"):
            if len(cells) != columns or not all(cells):
                what = f"expected {columns} cells, separated by a tab or a comma, not {line!r}"
                raise DataError(what, file=file, line=number)
            rows.append(cells)
    return rows


def labels(text: str) -> list[str] | str:
    """Labels: separated by commas, one a line in a file, or ``institutions``; ``seen`` means those that occur.

    >>> labels("pos, neg"), labels("institutions")
    (['pos', 'neg'], 'institutions')
    """
    if text in ("seen", "institutions"):
        return text
    lines = files.text(Path(text)).splitlines() if Path(text).is_file() else text.split(",")
    return list(dict.fromkeys(filter(None, map(str.strip, lines))))


def hierarchy(text: str) -> JSON:
    """The labels of each group, from a JSON file, or ``institutions``."""
    return text if text == "institutions" else files.json_value(Path(text))


def comparators(text: str) -> dict[str, str]:
    """Comparators by field: ``FIELD=HOW;FIELD=HOW``, or a JSON file of the same.

    >>> comparators("total=money; lines.qty=number(absolute=1)")
    {'total': 'money', 'lines.qty': 'number(absolute=1)'}
    """
    if text.endswith(".json"):
        return dict(files.json_value(Path(text)))
    return {name.strip(): how.strip() for name, _, how in (pair.partition("=") for pair in text.split(";"))}


def schema(text: str) -> Any:
    """The schema of a record: a JSON file, or a model as ``FILE.py:NAME``."""
    file, colon, name = text.rpartition(":")
    if colon and file.endswith(".py"):
        return workspace.attribute(Path(file), name)
    return files.json_value(Path(text))


class Setting(NamedTuple):
    """The tasks that have a setting, how its value is read, and how help texts write the value."""

    tasks: Sequence[str]
    read: Callable[[str], object] = str
    form: str = "FILE"


TASK_SETTINGS: Mapping[str, Setting] = {
    "labels": Setting(["classification"], labels, "A,B or FILE"),
    "weight": Setting(["classification"], form="FIELD"),
    "costs": Setting(["classification"], lambda file: [(gold, pred, float(n)) for gold, pred, n in table(file, 3)]),
    "hierarchy": Setting(["classification"], hierarchy, "institutions or FILE"),
    "positive": Setting(["classification"], form="LABEL"),
    "bounds": Setting(["extraction", "linking"], form="word"),
    "malformed": Setting(["extraction"], form="strict"),
    "scheme": Setting(["extraction"], form="NAME"),
    "equivalent": Setting(["linking"], lambda file: dict(table(file))),
    "adjacent": Setting(["linking"], form="none"),
    "ties": Setting(["retrieval"], form="stable"),
    "missing": Setting(["retrieval"], lambda text: 0 if text == "0" else text, "skip"),
    "na_probs": Setting(["answering"], Path),
    "ontology": Setting(["triples"], Path),
    "train": Setting(["triples"], Path),
    "skip_bad": Setting(TASKS, int, "N"),
    "embedder": Setting(["answering"], form="NAME"),
    "schema": Setting(["records"], schema),
    "arguments": Setting(["trajectories"], form="superset"),
    "compare": Setting(["records", "trajectories"], comparators, "FIELD=HOW;…"),
    "blank": Setting(["records"], form="null"),
    "ordered": Setting(["records"], lambda text: text if text == "all" else text.replace(" ", "").split(","), "LIST"),
}
"""The settings of ``--option``.

``labels``: the labels of the task, separated by commas, one a line in a file, ``institutions`` or ``seen``. ``weight``:
the field of gold with the weight of an example. ``costs``: a table of gold label, predicted label and cost.
``hierarchy``: the labels of each group, a JSON file, or ``institutions``. ``positive``: the label whose AUROC and
average precision are computed. ``adjacent=none`` joins equal neighbouring links of HIPE's files. ``ties``: docno_desc,
stable, best or worst. ``missing=skip`` leaves out queries without results; 0 counts them.
``bounds=word`` widens spans to whole words first, as ELEVANT does. ``malformed=strict`` reads tags as their scheme is
written; the default reads them as conlleval does. ``scheme``: IOB1, IOB2, IOE2, IOBES or BILOU. ``equivalent``: a table
of equivalent ids, two columns. ``na_probs``: SQuAD 2.0's probabilities of no answer. ``ontology``: Text2KGBench's JSON.
``train``: DocRED's training set, for Ign F1. ``skip_bad``: skip up to N bad tags or lines; a warning counts them.
``embedder``: the embedder of ``--metric five``. ``schema``: a JSON Schema, or ``models.py:Invoice``. ``compare``:
comparators by field (of trajectories ``TOOL.ARGUMENT`` or ``ARGUMENT``), ``total=money;day=date`` or a JSON file.
``arguments``: exact, ignore, subset or superset, how the arguments of calls match. ``blank``: same, null or apart.
``ordered``: lists whose order counts, or all.
"""


def help_text() -> str:
    """All settings in the help of ``--option``, those of one task together."""
    by_tasks: dict[str, list[str]] = {}
    for name, setting in TASK_SETTINGS.items():
        tasks = "all tasks" if setting.tasks is TASKS else ", ".join(setting.tasks)
        by_tasks.setdefault(tasks, []).append(f"{name}={setting.form}")
    return "; ".join(f"{tasks}: {', '.join(names)}" for tasks, names in by_tasks.items())


def settings(
    options: Sequence[str] | None, task: str | None = None, allowed: Mapping[str, Setting] = TASK_SETTINGS
) -> dict[str, Any]:
    """``--option NAME=VALUE``, each value by its name; those of another task are refused.

    Raises:
        GoldassayError: There is no such setting, the task has none, or its value cannot be read.

    >>> settings(["labels=pos,neg"])
    {'labels': ['pos', 'neg']}
    """
    values: dict[str, object] = {}
    for text in options or ():
        name, equals, value = text.partition("=")
        key = name.strip().replace("-", "_")
        if not (equals and value):
            raise GoldassayError(f"--option expects NAME=VALUE such as labels=pos,neg, got {text!r}")
        if key not in allowed:
            raise GoldassayError(f"no setting {name!r}{workspace.nearest(key, allowed)}")
        tasks = allowed[key].tasks
        if task and task not in tasks:
            raise GoldassayError(f"--option {key} is for {' and '.join(tasks)}, not for {task}")
        try:
            values[key] = allowed[key].read(value)
        except ValueError:
            raise GoldassayError(f"--option {key} cannot be {value!r}") from None
    return values

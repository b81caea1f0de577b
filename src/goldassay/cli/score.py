"""``goldassay score``: existing predictions against gold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldassay import files, workspace
from goldassay.cli import options as use
from goldassay.exceptions import DataError, GoldassayError
from goldassay.measure import target_met
from goldassay.reporting import terminal
from goldassay.scorecard import Scorecard

if TYPE_CHECKING:
    from goldassay.gold import Pairs

READING = ("column", "na_probs", "train", "skip_bad", "malformed", "scheme", "map", "split")  # of the files
PROTOCOLS = ("extraction", "linking", "triples", "answering")


@dataclass(frozen=True)
class CheckOptions:
    """What the values are held against."""

    fail_under: Annotated[
        list[str] | None,
        use.for_result("--fail-under", metavar="NAME=VALUE", help="Exit with 1 if the value is lower (repeat)."),
    ] = None
    sure: Annotated[bool, use.for_result("--sure", help="Hold the lower end of the interval against --fail-under.")] = (
        False
    )
    claimed: Annotated[
        list[str] | None,
        use.for_result(
            "--claimed",
            metavar="NAME=VALUE",
            help="A number from elsewhere, as strict_f1=.7435: find the conventions that give it (repeat).",
        ),
    ] = None


def score(
    task: use.Task,
    gold: Annotated[Path, use.for_gold("--gold", metavar="FILE", help="The gold file or folder.")],
    pred: Annotated[
        Path, use.for_gold("--pred", metavar="FILE|RUN", help="Predictions in the same format, or a run folder.")
    ],
    reading: use.TableOptions,
    check: CheckOptions,
    intervals: Annotated[
        bool | None,
        use.for_result("--intervals/--no-intervals", help="95 % intervals (default: up to 2,000 examples)."),
    ] = None,
    explain: Annotated[
        bool, use.for_result("--explain", help="Print the definition, convention and source of each value.")
    ] = False,
    json: bool = False,
) -> None:
    """Score existing predictions against gold."""
    floors = use.numbers("--fail-under", check.fail_under)
    if check.sure and not floors:
        raise GoldassayError("--sure needs --fail-under NAME=VALUE")
    card = scored(task, gold, pred, intervals=True if check.sure else intervals, **reading.chosen())
    explanations = _claims(card, gold, pred, reading.chosen(), check.claimed or [])
    if json:
        more: dict[str, Any] = {"explain": card.explain} if explain else {}
        if check.claimed:
            more["claimed"] = [each.state() for each in explanations]
        terminal.answer({**card.state(), **more})
    else:
        from goldassay.reporting import scorecards

        scorecards.show(card)
        if explain:
            scorecards.explanations(card)
        for each in explanations:
            for text in ("", *each.lines()):
                terminal.plain(text)
        if not reading.protocol and task in ("extraction", "linking") and _format(reading.format, gold, task) == "hipe":
            terminal.hint("matched one-to-one; --protocol hipe gives the values of the official HIPE scorer")
    missed = below(card, floors, check.sure)
    for message in missed:
        print(f"goldassay: {message}", file=sys.stderr)
    if missed:
        raise typer.Exit(1)


def below(card: Scorecard, floors: Mapping[str, float], sure: bool = False) -> list[str]:
    """A message for each value that misses its floor; with ``sure``, for each whose interval crosses it.

    The floor of an error rate, which is better lower, is a ceiling.

    >>> below(Scorecard("extraction", 1, values={"strict_f1": 0.75}), {"strict_f1": 0.8})
    ['strict_f1 is 0.7500, under 0.8']
    """
    out = []
    for name, floor in floors.items():
        if name not in card.values:
            near = get_close_matches(name, card.values, 3) or list(card.values)[:5]
            raise GoldassayError(f"no value {name!r} for --fail-under; there are {', '.join(near)} and others")
        value, lower = card.values[name], name in card.measures and card.measures[name].lower_is_better
        if value is None:
            out.append(f"{name} has no value, so it does not reach {floor:g}")
            continue
        low, high = card.intervals[name] if sure else (value, value)
        if not target_met(high if lower else low, floor, lower_is_better=lower):
            ends = f" [{low:.4f}, {high:.4f}]; the interval ends" if sure else ","
            out.append(f"{name} is {value:.4f}{ends} {'over' if lower else 'under'} {floor:g}")
    return out


def _claims(card: Scorecard, gold: Path, pred: Path, options: Mapping[str, Any], claims: Sequence[str]) -> list[Any]:
    """Explanations of claimed numbers."""
    from goldassay.difference import explain

    if not claims:
        return []
    if card.shared is None:
        raise GoldassayError(f"--claimed needs values that come from measures; {card.task} has none here")
    readings = other_readings(card.task, gold, pred, options)
    return [explain(card, card.shared.gold, card.shared.pred, claim, readings=readings) for claim in claims]


def other_readings(
    task: str, gold: Path, pred: Path, options: Mapping[str, Any]
) -> dict[str, tuple[Sequence[object], Sequence[object]]]:
    """The same files under the other readings of their format, by a description of each."""
    from goldassay.gold import pairs

    name, protocol = _format(options.get("format"), gold, task), options.get("protocol")
    ways: dict[str, dict[str, Any]] = {}
    if task == "extraction" and name in ("iob2", "conll", "hipe"):
        strict = "tags read as their scheme is written (an I- that nothing opens is nothing)"
        ways[strict] = {"malformed": "strict"} | ({"protocol": protocol} if name == "hipe" else {})
    if task in ("extraction", "linking") and name == "hipe":
        other = "read without the protocol" if protocol else "read under the protocol hipe"
        ways[other] = {"protocol": None if protocol else "hipe"}
    out: dict[str, tuple[Sequence[Any], Sequence[Any]]] = {}
    for description, way in ways.items():
        try:
            aligned = pairs(task, gold, pred, format=name, column=options.get("column"), **way)
        except GoldassayError:
            continue  # the files cannot be read this way
        out[description] = (aligned.gold, aligned.pred)
    return out


def _format(format: str | None, file: Path, task: str) -> str:
    from goldassay.gold import formats

    return use.format_and_column(format)["format"] or formats.guess(file, task)


def scored(
    task: str, gold: Path, pred: Path, *, format: str | None = None, intervals: bool | None = None, **options: object
) -> Scorecard:
    """Read both sides, align and score them; with intervals if asked for, or by default if the examples are few.

    ``options`` are those of `goldassay.cli.options.TableOptions` and of ``--option``.
    """
    from goldassay.scoring import card_of

    with terminal.progress("reading both sides", 2) as update:
        aligned, chosen = read(task, gold, pred, format=format, **options)
        update(1, f"measuring {len(aligned.gold)} examples")
        card = card_of(task, aligned, chosen, intervals)
    return card


def read(
    task: str, gold: Path, pred: Path, *, format: str | None = None, **options: object
) -> tuple[Pairs, dict[str, Any]]:
    """Both sides, aligned, and the keyword arguments of the task's scorecard."""
    if task not in workspace.tasks():
        raise GoldassayError(f"no task {task!r}{workspace.nearest(task, workspace.tasks())}")
    from goldassay.gold import formats, pairs

    chosen: dict[str, Any] = {name: value for name, value in options.items() if value}
    for name in chosen:
        tasks = use.SETTINGS[name].tasks if name in use.SETTINGS else PROTOCOLS if name == "protocol" else (task,)
        if task not in tasks:
            flag = f"--option {name}" if name in use.SETTINGS else f"--{name}"
            raise GoldassayError(f"{flag} is for {' and '.join(tasks)}, not for {task}")
    layout = format
    if task == "answering" and "protocol" in chosen:
        chosen["measures"] = chosen.pop("protocol")
        layout = layout or (chosen["measures"] if chosen["measures"] in formats.QUESTIONS else None)
    if layout is None and formats.guess(gold, task, "table") != "jsonl":
        layout = formats.OF_PROTOCOL.get(str(chosen.get("protocol")))
    names = {layout or formats.guess(file, task) for file in (gold, pred)}
    if "na_probs" in chosen and names != {"squad"}:
        raise GoldassayError("--option na_probs is for format squad; elsewhere a prediction has its confidence")
    reading = {name: chosen.pop(name) for name in READING if name in chosen}
    if "skip_bad" in reading:
        reading["skip_bad"] = _count(str(reading["skip_bad"]))
    chosen = {name: VALUES[name](value) if name in VALUES else value for name, value in chosen.items()}
    gold_format = layout or formats.guess(gold, task)
    if task == "classification" and gold_format in ("tsv", "csv"):
        if isinstance(chosen.get("labels"), list):
            reading["labels"] = chosen["labels"]
        elif "labels" not in chosen and formats.module("tsv").institutional(gold):
            chosen["labels"] = label_list("institutions")
    if "protocol" in chosen and gold_format == "hipe":
        reading["protocol"] = chosen["protocol"]  # decides which rows are tokens, and what bounds a linked mention
    aligned = pairs(task, gold, pred, format=layout, **reading)
    if reading.get("malformed") == "strict":
        aligned.warnings.append("tags were read as their scheme is written (malformed=strict)")
    if isinstance(chosen.get("labels"), list):
        _check_labels(aligned.gold, chosen["labels"], gold)  # pyright: ignore[reportArgumentType]
    return aligned, chosen


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise GoldassayError(f"--option skip_bad expects a number above 0, got {text!r}")
    return int(text)


def _check_labels(gold: Sequence[Any], labels: list[str], file: Path) -> None:
    """Gold's labels must be in the list; a prediction outside it is counted as wrong, with a warning."""
    from goldassay.gold.records import labels_of

    for record in gold:
        for field, label in labels_of(record):
            if label not in labels:
                message = f"label {label!r} is outside the list {', '.join(labels)}"
                raise DataError(message, file=file, record=record.get("id"), field=field)


def table(file: Path, columns: str = "two ids") -> list[list[str]]:
    """The rows of a small table: cells separated by a tab or a comma; ``columns`` says how many, and what they are."""
    rows = []
    for number, line in enumerate(files.text(file).splitlines(), start=1):
        cells = [cell.strip() for cell in line.replace("\t", ",").split(",")]
        if line.strip() and not line.startswith("#"):
            if len(cells) != 2 + (columns != "two ids") or not all(cells):
                what = f"expected {columns}, separated by a tab or a comma, not {line!r}"
                raise DataError(what, file=file, line=number)
            rows.append(cells)
    return rows


def costs(file: Path) -> list[tuple[str, str, float]]:
    """What it costs to take one label for another."""
    rows = table(file, "a gold label, a predicted one and a cost")
    numbers = use.numbers("--option costs", [f"{gold},{pred}={cost}" for gold, pred, cost in rows])
    return [(gold, pred, cost) for (gold, pred, _), cost in zip(rows, numbers.values(), strict=True)]


def label_list(text: str) -> list[str] | str:
    """Labels: separated by commas, one a line in a file, or ``institutions``; ``seen`` means those that occur.

    >>> label_list("pos, neg"), len(label_list("institutions"))
    (['pos', 'neg'], 19)
    """
    if text == "seen":
        return text
    if text == "institutions":
        from goldassay.measures.classification import institutions

        return list(institutions())
    file = Path(text)
    lines = files.text(file).splitlines() if file.is_file() else text.split(",")
    labels = [line.strip() for line in lines if line.strip()]
    if not labels or len(set(labels)) < len(labels):
        raise GoldassayError(f"--option labels expects different labels: a,b,c or a file with one a line; got {text}")
    return labels


def comparators(text: str) -> dict[str, str]:
    """Comparators by field: ``FIELD=HOW;FIELD=HOW``, or a JSON file of the same.

    >>> comparators("total=money; lines.qty=number(absolute=1)")
    {'total': 'money', 'lines.qty': 'number(absolute=1)'}
    """
    if text.endswith(".json"):
        return dict(files.json_value(Path(text)))
    pairs = [part.partition("=") for part in text.split(";")]
    if not all(name.strip() and chosen.strip() for name, _, chosen in pairs):
        raise GoldassayError(f"--option compare expects FIELD=COMPARATOR;…, got {text!r}")
    return {name.strip(): chosen.strip() for name, _, chosen in pairs}


def record_schema(text: str) -> Any:
    """The schema of a record: a JSON file, or a model as ``FILE.py:NAME``."""
    file, colon, name = text.rpartition(":")
    if colon and file.endswith(".py"):
        return workspace.attribute(Path(file), name)
    return files.json_value(Path(text))


def _names(text: str) -> list[str] | str:
    return text if text == "all" else [name.strip() for name in text.split(",")]


VALUES: dict[str, Callable[[Any], Any]] = {
    "equivalent": lambda file: dict(table(file)),
    "costs": costs,
    "ontology": files.json_value,
    "labels": label_list,
    "compare": comparators,
    "schema": record_schema,
    "ordered": _names,
}
"""How the value of a setting is read."""

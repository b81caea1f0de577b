"""``goldassay score``: predictions that already exist, against gold; with the files that it reads beside both."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldassay import files, workspace
from goldassay.cli import options as use
from goldassay.exceptions import DataError, GoldassayError
from goldassay.measure import TASKS
from goldassay.reporting import terminal
from goldassay.scorecard import Scorecard

if TYPE_CHECKING:
    from goldassay.gold import Pairs

MOST = 2000  # examples that are given intervals unasked
OF_READING = ("column", "na_probs", "skip_bad", "malformed", "scheme")  # what concerns the files, not the measures
ASKED = ("retrieval", "answering")  # whose scorecards take the measures that are wanted


def score(
    task: use.Task,
    gold: Annotated[Path, use.of_gold("--gold", metavar="FILE", help="The gold file or folder.")],
    pred: Annotated[
        Path, use.of_gold("--pred", metavar="FILE|RUN", help="Predictions in the same format, or a run folder.")
    ],
    reading: use.FileOptions,
    intervals: Annotated[
        bool | None, typer.Option("--intervals/--no-intervals", help="95 % intervals (default: up to 2,000 examples).")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print each value's definition, convention and source.")
    ] = False,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Exit with 1 where this value is lower (strict_f1=.8; repeat)."),
    ] = None,
    sure: Annotated[bool, typer.Option("--sure", help="--fail-under looks at the lower end of the interval.")] = False,
    claimed: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A number that another tool gives: say which convention makes it."),
    ] = None,
    tool: Annotated[
        str | None, typer.Option(metavar="NAME", help="--claimed: the tool (seqeval, nervaluate, hipe, trec_eval …).")
    ] = None,
    json: use.Json = False,
) -> None:
    """Score predictions that already exist. `goldassay score TASK --help` shows what concerns that task."""
    floors = named_numbers("--fail-under", fail_under or [])
    if sure and not floors:
        raise GoldassayError("--sure is for --fail-under: name the value and its floor too")
    if tool and not claimed:
        raise GoldassayError("--tool is for --claimed: name the value and what the tool gave for it too")
    card = scored(task, gold, pred, intervals=True if sure else intervals, **reading.given())
    known = _format(reading.format, gold, task)
    ways = otherwise(task, gold, pred, known, reading.column, reading.protocol) if claimed else {}
    why = [_explained(card, one, tool, ways) for one in claimed or []]
    if json:
        more: dict[str, Any] = {"explain": card.explain} if explain else {}
        if claimed:
            more["claimed"] = [one.state() for one in why]
        terminal.answer({**card.state(), **more})
    else:
        from goldassay.reporting import scorecards

        scorecards.show(card)
        if explain:
            scorecards.explanations(card)
        for one in why:
            print("\n" + "\n".join(one.lines()))
        if not reading.protocol and task in ("extraction", "linking") and known == "hipe":
            scorecards.hint("counted one-to-one; what the official HIPE scorer gives comes with --protocol hipe")
    failed = under(card, floors, sure)
    for said in failed:
        print(f"goldassay: {said}", file=sys.stderr)
    if failed:
        raise typer.Exit(1)


def named_numbers(flag: str, words: Sequence[str]) -> dict[str, float]:
    """``NAME=VALUE``, several times.

    >>> named_numbers("--fail-under", ["strict_f1=.8"])
    {'strict_f1': 0.8}
    """
    out: dict[str, float] = {}
    for word in words:
        name, _, number = word.partition("=")
        try:
            out[name.strip()] = float(number)
        except ValueError:
            raise GoldassayError(f"{flag} needs NAME=VALUE with a number, such as strict_f1=.8, not {word!r}") from None
    return out


def under(card: Scorecard, floors: Mapping[str, float], sure: bool = False) -> list[str]:
    """What is lower than its floor, in words; with ``sure`` the lower end of the interval is what counts.

    >>> under(Scorecard("extraction", 1, values={"strict_f1": 0.75}), {"strict_f1": 0.8})
    ['strict_f1 is 0.7500, under 0.8']
    """
    out = []
    for name, floor in floors.items():
        if name not in card.values:
            near = get_close_matches(name, card.values, 3) or list(card.values)[:5]
            raise GoldassayError(f"no value {name!r} to hold to {floor:g}; there are {', '.join(near)} and others")
        value = card.values[name]
        if value is None:
            out.append(f"{name} has no value, so it does not reach {floor:g}")
        elif sure and card.intervals[name][0] < floor:
            low, high = card.intervals[name]
            out.append(f"{name} is {value:.4f} [{low:.4f}, {high:.4f}]; its lower end is under {floor:g}")
        elif not sure and value < floor:
            out.append(f"{name} is {value:.4f}, under {floor:g}")
    return out


def _explained(card: Scorecard, claimed: str, tool: str | None, readings: Mapping[str, Any]) -> Any:
    """Which conventions give the claimed number."""
    from goldassay.proof.difference import explain

    if card.shared is None:
        raise GoldassayError(f"--claimed needs values that come from measures; {card.task} has none here")
    return explain(card, card.shared.gold, card.shared.pred, claimed, tool=tool, readings=readings)


STRICT = "tags read as their scheme is written (an I- that nothing opens is nothing)"


def otherwise(
    task: str, gold: Path, pred: Path, format: str, column: str | None, protocol: str | None
) -> dict[str, tuple[Sequence[object], Sequence[object]]]:
    """The same files under the other readings of their format, by what is said of each."""
    from goldassay.gold import pairs

    ways: dict[str, dict[str, Any]] = {}
    if task == "extraction" and format in ("iob2", "conll", "hipe"):
        ways[STRICT] = {"malformed": "strict"}
    if task in ("extraction", "linking") and format == "hipe":
        ways["read without the protocol" if protocol else "read under the protocol hipe"] = {}
    out: dict[str, tuple[Sequence[Any], Sequence[Any]]] = {}
    for says, options in ways.items():
        options["column"] = column
        if format == "hipe":
            options["protocol"] = protocol
            if "malformed" not in options:
                options["protocol"] = None if protocol else "hipe"
        try:
            aligned = pairs(task, gold, pred, format=format, **options)
        except GoldassayError:
            continue  # what cannot be read so was not read so
        out[says] = (aligned.gold, aligned.pred)
    return out


def _format(format: str | None, file: Path, task: str) -> str:
    from goldassay.gold import formats

    return format or formats.guess(file, task)


def scored(
    task: str,
    gold: Path,
    pred: Path,
    *,
    format: str | None = None,
    intervals: bool | None = None,
    **asked: object,
) -> Scorecard:
    """Read both sides, align them, and score; with ``intervals``, or unasked where the examples are few, with those.

    ``asked`` are the options and settings that only some tasks have (``use.CONCERNS``, ``use.SETTINGS``).
    """
    with terminal.progress("reading both sides", 3) as tell:
        aligned, options = read(task, gold, pred, format=format, **asked)
        tell(1, f"measuring {len(aligned.gold)} examples")
        only = options.pop("measures", None)
        if only and task in ASKED:  # also measures that are not reported unasked
            options["measures"] = only
        card: Scorecard = import_module(f"goldassay.measures.{task}").scorecard(aligned.gold, aligned.pred, **options)
        if only and task not in ASKED:
            _choose(card, only)
        card.warnings = [*aligned.warnings, *card.warnings]
        card.protocol = card.protocol or str(asked.get("protocol") or "")
        if intervals or (intervals is None and card.examples <= MOST):
            tell(2, "intervals")
            card.estimate()
    return card


def read(
    task: str, gold: Path, pred: Path, *, format: str | None = None, **asked: object
) -> tuple[Pairs, dict[str, Any]]:
    """Both sides, aligned, and the options for the task's scorecard that were asked for."""
    if task not in TASKS:
        if task in workspace.tasks():
            raise GoldassayError(
                f"score knows {', '.join(TASKS)}; a task of your own is measured by goldassay eval {task}"
            )
        raise GoldassayError(f"no task {task!r}{workspace.nearest(task, TASKS)}")
    from goldassay.gold import formats, pairs

    given = {name: value for name, value in asked.items() if value}
    for name in given:
        setting = use.SETTINGS.get(name)
        tasks = setting.tasks if setting else use.CONCERNS.get(name, TASKS)
        if task not in tasks:
            flag = f"--option {name}" if setting else f"--{name.replace('_', '-')}"
            raise GoldassayError(f"{flag} is for {' and '.join(tasks)}, not for {task}")
    if "na_probs" in given and {format or formats.guess(file, task) for file in (gold, pred)} != {"squad"}:
        raise GoldassayError("--option na_probs is for format squad; elsewhere a prediction has its confidence")
    reading: dict[str, Any] = {name: given.pop(name) for name in OF_READING if name in given}
    options: dict[str, Any] = {name: READ[name](value) if name in READ else value for name, value in given.items()}
    if task == "classification" and (format or formats.guess(gold, task)) in ("tsv", "csv"):
        if isinstance(options.get("labels"), list):
            reading["labels"] = options["labels"]
        elif "labels" not in options and formats.module("tsv").institutional(gold):
            options["labels"] = label_list("institutions")
    if "protocol" in given and (format or formats.guess(gold, task)) == "hipe":
        reading["protocol"] = given["protocol"]  # which rows are tokens, and what bounds a linked mention
    aligned = pairs(task, gold, pred, format=format, **reading)
    if reading.get("malformed") == "strict":
        aligned.warnings.append("tags were read as their scheme is written (malformed=strict)")
    listed = options.get("labels")
    if isinstance(listed, list):
        _within(aligned.gold, listed, gold)
    return aligned, options


def _choose(card: Scorecard, only: Sequence[str]) -> None:
    """Keep the values of these names, or that begin with one of them (``strict`` keeps ``strict_f1`` and its rates)."""
    for name in only:
        if not any(value == name or value.startswith(f"{name}_") for value in card.values):
            near = get_close_matches(name, card.values, 3) or list(card.values)
            raise GoldassayError(f"{card.task} has no measure {name!r}; there are {', '.join(near)}")
    kept = [value for value in card.values if any(value == name or value.startswith(f"{name}_") for name in only)]
    for part in ("values", "conventions", "explain", "measures", "tallies", "totals"):
        held = getattr(card, part)
        setattr(card, part, {name: held[name] for name in kept if name in held})


def _within(gold: Sequence[Any], labels: list[str], file: Path) -> None:
    """Gold's labels stand in the list; a prediction outside it is counted as wrong and warned of."""
    for one in gold:
        for label in (one["label"], *one.get("secondary_labels", ())):
            if label not in labels:
                said = f"label {label!r} is outside the list {', '.join(labels)}"
                raise DataError(said, file=file, record=one.get("id"), field="label")


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


def label_list(words: str) -> list[str] | str:
    """A list of labels: in a file, one a line, or on the command line, separated by commas, or by its name.

    >>> label_list("pos, neg"), len(label_list("institutions"))
    (['pos', 'neg'], 19)
    """
    if words == "seen":
        return words
    if words == "institutions":
        from goldassay.measures.classification import institutions

        return list(institutions().codes)
    file = Path(words)
    lines = files.text(file).splitlines() if file.is_file() else words.split(",")
    found = [line.strip() for line in lines if line.strip()]
    if not found or len(set(found)) < len(found):
        raise GoldassayError(f"--option labels needs labels that differ, with commas or one a line in a file: {words}")
    return found


READ: dict[str, Callable[[Any], Any]] = {"equivalent": table, "ontology": files.json_value, "labels": label_list}
"""How an option that names a file is read."""

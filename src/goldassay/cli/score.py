"""``goldassay score``: existing predictions against gold."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.cli.settings import labels
from goldassay.exceptions import GoldassayError
from goldassay.measure import target_met
from goldassay.reporting import tables, terminal
from goldassay.scorecard import Scorecard

if TYPE_CHECKING:
    from goldassay.gold import Pairs

READING = ("column", "na_probs", "train", "skip_bad", "malformed", "scheme", "map", "split")  # of the files
PROTOCOLS = ("extraction", "linking", "triples", "answering")


@dataclass(frozen=True)
class ScoreOptions(use.FileOptions):
    """Which gold, and what its values are held against."""

    split: str | None = use.for_gold("NAME", "Only gold of this split.")
    fail_under: list[str] | None = use.for_result("NAME=VALUE", "Exit with 1 if the value is lower (repeat).")
    claimed: list[str] | None = use.for_result(
        "NAME=VALUE", "A number from elsewhere, as strict_f1=.7435: find the conventions that give it (repeat)."
    )
    intervals: Annotated[bool | None, typer.Option(help="95 % intervals (default: up to 2,000 examples).")] = None


def score(
    task: use.Task,
    gold: Annotated[Path, use.for_gold("FILE", "The gold file or folder.")],
    pred: Annotated[Path, use.for_gold("FILE|RUN", "Predictions in the same format, or a run folder.")],
    scoring: ScoreOptions,
    json: bool = False,
) -> None:
    """Score existing predictions against gold."""
    options = {**scoring.chosen(task), "split": scoring.split}
    card = scored(task, gold, pred, intervals=scoring.intervals, **options)
    explanations = _explained(card, gold, pred, options, scoring.claimed) if scoring.claimed else []
    if json:
        claims = {"claimed": [each.state() for each in explanations]} if explanations else {}
        terminal.answer({**card.state(), **claims})
    else:
        tables.scorecard(card)
        terminal.echo(*(text for each in explanations for text in ("", *each.lines())))
    missed = below(card, use.numbers("--fail-under", scoring.fail_under))
    for message in missed:
        print(f"goldassay: {message}", file=sys.stderr)
    if missed:
        raise typer.Exit(1)


def below(card: Scorecard, floors: Mapping[str, float]) -> list[str]:
    """A message for each value that misses its floor; that of an error rate, which is better lower, is a ceiling.

    >>> below(Scorecard("extraction", 1, values={"strict_f1": 0.75}), {"strict_f1": 0.8})
    ['strict_f1 is 0.7500, under 0.8']
    """
    messages = []
    for name, floor in floors.items():
        if name not in card.values:
            near = get_close_matches(name, card.values, 3) or list(card.values)[:5]
            raise GoldassayError(f"no value {name!r} for --fail-under; there are {', '.join(near)} and others")
        value, lower = card.values[name], name in card.measures and card.measures[name].lower_is_better
        if value is None:
            messages.append(f"{name} has no value, so it does not reach {floor:g}")
        elif not target_met(value, floor, lower_is_better=lower):
            messages.append(f"{name} is {value:.4f}, {'over' if lower else 'under'} {floor:g}")
    return messages


def _explained(card: Scorecard, gold: Path, pred: Path, options: Mapping[str, Any], claims: Sequence[str]) -> list[Any]:
    """Explanations of claimed numbers, among them the other readings of the files' format."""
    from goldassay.gold import formats, pairs
    from goldassay.scoring import explain

    if card.shared is None:
        raise GoldassayError(f"--claimed needs values that come from measures; {card.task} has none here")
    layout, protocol = options.get("format") or formats.guess(gold, card.task), options.get("protocol")
    ways: dict[str, dict[str, Any]] = {}
    if card.task == "extraction" and layout in ("iob2", "conll", "hipe"):
        strict = "tags read as their scheme is written (an I- that nothing opens is nothing)"
        ways[strict] = {"malformed": "strict"} | ({"protocol": protocol} if layout == "hipe" else {})
    if card.task in ("extraction", "linking") and layout == "hipe":
        other = "read without the protocol" if protocol else "read under the protocol hipe"
        ways[other] = {"protocol": None if protocol else "hipe"}
    readings = {}
    for description, way in ways.items():
        with suppress(GoldassayError):  # the files may not be readable this way
            aligned = pairs(card.task, gold, pred, format=layout, column=options.get("column"), **way)
            readings[description] = (aligned.gold, aligned.pred)
    return [explain(card, card.shared.gold, card.shared.pred, claim, readings=readings) for claim in claims]


def scored(
    task: str, gold: Path, pred: Path, *, format: str | None = None, intervals: bool | None = None, **options: object
) -> Scorecard:
    """Read both sides, align and score them; with intervals if asked for, or by default if the examples are few.

    ``options`` are those of `goldassay.cli.options.FileOptions` and of ``--option``.
    """
    from goldassay.scoring import card_of

    with terminal.progress("reading both sides", 2) as update:
        aligned, chosen = read(task, gold, pred, format=format, **options)
        update(1, f"measuring {len(aligned.gold)} examples")
        return card_of(task, aligned, chosen, intervals)


def read(
    task: str, gold: Path, pred: Path, *, format: str | None = None, **options: object
) -> tuple[Pairs, dict[str, Any]]:
    """Both sides, aligned, and the keyword arguments of the task's scorecard."""
    from goldassay.gold import formats, pairs
    from goldassay.gold.formats.tables import institutional

    if task not in workspace.tasks():
        raise GoldassayError(f"no task {task!r}{workspace.nearest(task, workspace.tasks())}")
    chosen: dict[str, Any] = {name: value for name, value in options.items() if value}
    if "protocol" in chosen and task not in PROTOCOLS:
        raise GoldassayError(f"--protocol is for {' and '.join(PROTOCOLS)}, not for {task}")
    layout = format
    if task == "answering" and "protocol" in chosen:
        chosen["measures"] = chosen.pop("protocol")
        layout = layout or (chosen["measures"] if chosen["measures"] in formats.QUESTIONS else None)
    if layout is None and formats.guess(gold, task, "table") != "jsonl":
        layout = formats.OF_PROTOCOL.get(str(chosen.get("protocol")))
    gold_format, pred_format = (layout or formats.guess(file, task) for file in (gold, pred))
    if "na_probs" in chosen and {gold_format, pred_format} != {"squad"}:
        raise GoldassayError("--option na_probs is for format squad; elsewhere a prediction has its confidence")
    reading = {name: chosen.pop(name) for name in READING if name in chosen}
    if task == "classification" and "labels" not in chosen and gold_format in ("tsv", "csv"):
        chosen |= {"labels": labels("institutions")} if institutional(gold) else {}
    if "protocol" in chosen and gold_format == "hipe":
        reading["protocol"] = chosen["protocol"]  # decides which rows are tokens, and what bounds a linked mention
    aligned = pairs(task, gold, pred, format=layout, **reading)
    if reading.get("malformed") == "strict":
        aligned.warnings.append("tags were read as their scheme is written (malformed=strict)")
    return aligned, chosen

"""``goldassay score``: existing predictions against gold."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError
from goldassay.measure import RAISED
from goldassay.reporting import tables, terminal


@dataclass(frozen=True)
class ScoreOptions(use.FileOptions):
    """Which gold, and what its values are held against."""

    split: str | None = use.for_gold("NAME", "Only gold of this split.")
    fail_under: list[str] | None = use.for_result("NAME=VALUE", "Exit with status 1 if the value is lower (repeat).")
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
    """Score existing predictions against gold; a metric of your own that raises is exit status 1."""
    from goldassay import claimed
    from goldassay.scoring import below, card_of, read

    options = scoring.chosen(task)
    with terminal.progress("reading both sides", 2) as update:
        aligned, chosen = read(task, gold, pred, split=scoring.split, **options)
        update(1, f"measuring {len(aligned.gold)} examples")
        card = card_of(task, aligned, chosen, scoring.intervals)
    if card.no_level and not card.by:
        advice = f"goldassay gold draft --for level; or goldassay compare {task} --gold {gold} --pred A --pred B"
        raise GoldassayError(f"{gold}: {card.no_level}: {advice}")
    explanations = []
    if scoring.claimed:
        how = {name: options.get(name) for name in ("format", "protocol", "column")}
        readings = claimed.readings(task, gold, pred, **how)
        explanations = [
            claimed.explain(card, aligned.gold, aligned.pred, claim, readings=readings) for claim in scoring.claimed
        ]
    if json:
        state: dict[str, Any] = card.state()
        if explanations:
            state["claimed"] = [each.state() for each in explanations]
        terminal.answer(state)
    else:
        tables.scorecard(card)
        terminal.echo(*(text for each in explanations for text in ("", *each.lines())))
    missed = below(card, use.numbers("--fail-under", scoring.fail_under))
    for message in missed:
        print(f"goldassay: {message}", file=sys.stderr)
    if missed or any(text.startswith(RAISED) for text in card.warnings):
        raise typer.Exit(1)

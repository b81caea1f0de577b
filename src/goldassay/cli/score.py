"""``goldassay score``: existing predictions against gold."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from goldassay._support import options as use
from goldassay._support.exceptions import GoldassayError
from goldassay._support.options import shell_line
from goldassay.cli.options import FileOptions
from goldassay.core.measure import RAISED
from goldassay.ext.protocols import claimed
from goldassay.reporting import terminal
from goldassay.results.tables import headline_view
from goldassay.running.scoring import below, card_of, read


@dataclass(frozen=True)
class ScoringOptions(FileOptions):
    """Which gold, and what its values are held against."""

    split: str | None = None
    fail_under: Annotated[
        list[str] | None, use.for_result("NAME=VALUE", "Exit with status 1 if the value is lower (repeat).")
    ] = None
    claimed: Annotated[
        list[str] | None,
        use.for_result(
            "NAME=VALUE",
            "A number from elsewhere, such as strict_f1=.7435: find the conventions that give it (repeat).",
        ),
    ] = None
    all: Annotated[bool, use.flag("Show all values and breakdowns, not only those that lead.")] = False
    intervals: Annotated[bool | None, use.flag("95 % intervals (default: up to 2,000 examples).")] = None


def score(
    task: use.Task,
    gold: Annotated[Path, use.for_gold("FILE", "The gold file or folder.")],
    pred: Annotated[Path, use.for_gold("FILE|RUN", "Predictions in the same format, or a run folder.")],
    scoring: ScoringOptions,
    json: bool = False,
) -> None:
    """Score existing predictions against gold.

    Exit status 1 if your own metric raises.
    """
    options = scoring.chosen(task)
    with terminal.progress("reading both sides", 2) as update:
        aligned, chosen = read(task, gold, pred, split=scoring.split, **options)
        update(1, f"measuring {len(aligned.gold)} examples")
        card = card_of(task, aligned, chosen, scoring.intervals)
    if card.why_no_estimate and not card.by:
        line = shell_line("goldassay compare", task, gold=gold, pred=["A", "B"])
        advice = f"goldassay gold draft --for level; or {line}"
        raise GoldassayError(f"{gold}: {card.why_no_estimate}: {advice}")
    explanations = []
    if scoring.claimed:
        how = {name: options.get(name) for name in ("format", "protocol", "column")}
        readings = claimed.readings(task, gold, pred, **how)
        explanations = [
            claimed.explain(card, aligned.gold, aligned.pred, claim, readings=readings) for claim in scoring.claimed
        ]
    if json:
        state = card.state()
        if explanations:
            state["claimed"] = [explanation.state() for explanation in explanations]
        terminal.answer(state)
    else:
        named = scoring.all or scoring.measures or scoring.protocol
        terminal.show(card.view() if named else headline_view(card, "--all"))
        if not (scoring.all or scoring.protocol):
            given = {name: getattr(scoring, name) for name in ("format", "map", "option", "split")}
            sides = {"gold": gold, "pred": pred, "measure": scoring.measures}
            page = shell_line("goldassay compare", task, **sides, **given, out="report")
            terminal.echo(f"Each error, on a page: {page}", f"Against another system: {page} --pred OTHER")
        terminal.echo(*(text for explanation in explanations for text in ("", *explanation.lines())))
    missed = below(card, use.numbers("fail_under", scoring.fail_under))
    for message in missed:
        print(f"goldassay: {message}", file=sys.stderr)
    if missed or any(text.startswith(RAISED) for text in card.warnings):
        raise SystemExit(1)

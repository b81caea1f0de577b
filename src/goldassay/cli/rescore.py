"""``goldassay rescore``: stored predictions with other measures or other gold, and what a change comes from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError
from goldassay.reporting import terminal


def rescore(
    task: use.Task,
    gold: Annotated[Path, typer.Option(metavar="FILE|RUN", help="Gold; of a run, the gold that it kept.")],
    pred: Annotated[Path, typer.Option(metavar="FILE|RUN", help="Stored predictions.")],
    measures: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="NAME(…)", help='"LinkF1(k=3)" (repeat); of a run by default its metric\'s.'),
    ] = None,
    before: Annotated[
        list[str] | None,
        typer.Option(
            metavar="gold=FILE|pred=FILE|measure=NAME(…)",
            help="What was another at the earlier date (repeat; measures in their order).",
        ),
    ] = None,
    format: use.Format = None,
    json: use.Json = False,
) -> None:
    """Score stored predictions again; with an earlier date, split each change into model, gold and measure."""
    from goldassay.running.rescoring import PARTS, Setting, changes
    from goldassay.running.rescoring import rescore as again

    now = Setting(pred, gold, tuple(measures or ()))
    earlier = _earlier(before or ())
    if earlier["measure"] and not measures:
        raise GoldassayError("--before measure=… needs --measure: what counts now")
    card = again(task, now, format=format)
    found = {}
    if before:
        old_pred, old_gold = (Path(next(iter(earlier[name]), one)) for name, one in (("pred", pred), ("gold", gold)))
        then = Setting(old_pred, old_gold, tuple(earlier["measure"] or measures or ()))
        found = changes(task, then, now, format=format)
    if json:
        terminal.answer({**card.state(), "changes": {name: change.state() for name, change in found.items()}})
        return
    from goldassay.reporting import scorecards

    if not found:
        scorecards.show(card)
        return
    table = terminal.under_title(f"{task}: what each change comes from")
    for name in ("value", "before", "after", *PARTS):
        table.add_column(name, justify="left" if name == "value" else "right")
    for name, change in found.items():
        shares = [f"{getattr(change, part):+.4f}" for part in PARTS]
        table.add_row(name, terminal.number(change.before), terminal.number(change.after), *shares)
    terminal.console().print(table)
    for text in card.warnings:
        terminal.warn(text)


def _earlier(said: Sequence[str]) -> dict[str, list[str]]:
    """What was another at the earlier date, by what it is."""
    out: dict[str, list[str]] = {"gold": [], "pred": [], "measure": []}
    for text in said:
        name, _, value = text.partition("=")
        if name not in out or not value:
            raise GoldassayError(f"--before reads like gold=FILE, pred=FILE or measure=NAME, not {text!r}")
        out[name].append(value)
    return out

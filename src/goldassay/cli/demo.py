"""``goldassay demo``: the whole loop, offline."""

from __future__ import annotations

from typing import Annotated

import typer

from goldassay.cli import options as use


def demo(
    lm: use.Lm = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=2, help="Only N examples of each split, for a quick look.")
    ] = None,
) -> None:
    """The whole loop, offline, in minutes: measure, tune, measure again."""
    from goldassay.proof.demo import run

    run(lm=lm, limit=limit)

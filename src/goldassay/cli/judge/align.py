"""``goldassay judge align``: a judge beside people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli import options as use
from goldassay.cli.judge import options as ask
from goldassay.reporting import terminal


def align(
    labels: Annotated[
        Path, typer.Option(metavar="FILE", help="People's labels: jsonl, csv, tsv; RAGChecker's preferences: json.")
    ],
    judge: ask.Name = "support",
    rubric: ask.Rubric = None,
    scale: ask.Scale = None,
    column: ask.Column = None,
    lm: use.Lm = None,
    samples: ask.Samples = 1,
    panel: ask.Panel = None,
    how: ask.How = "majority",
    state: ask.State = None,
    store: ask.Store = None,
    positive: ask.Positive = None,
    split: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only these items (default: test, where the file has splits; else all)."),
    ] = None,
    width: Annotated[float, typer.Option(metavar="SHARE", help="The width of interval that is wanted.")] = 0.1,
    seed: use.Seed = 0,
    threads: use.Threads = 1,
    limit: use.Limit = None,
    budget: use.Budget = None,
    no_cache: use.NoCache = False,
    json: use.Json = False,
) -> None:
    """Measure a judge beside people: agreement, error rates, calibration, corrected rates, labels needed.

    Verdicts of the file are taken where no model is named.
    """
    from goldassay.cli.judge.asked import Asked, labels_of, votes_of
    from goldassay.judges.people.agreement import align as aligned
    from goldassay.judges.people.verdicts import recorded
    from goldassay.reporting import judge as tables

    asked = Asked(
        judge,
        lm,
        samples,
        panel or (),
        how,
        state,
        store,
        positive,
        threads,
        limit,
        rubric,
        scale,
        column or (),
        budget,
        not no_cache,
    )
    people = labels_of(labels, asked)
    splits = {item.split for item in people.items}
    if split or "test" in splits:
        people = people.part(split or "test")
    if people.judged and not asked.names_a_model:
        name, votes = "verdicts of the file", recorded(people)
    else:
        live = asked.judge()
        votes = votes_of(live, people, asked)
        name = str(live)
    found = aligned(people, votes, width=width, seed=seed)
    if json:
        terminal.answer({"judge": name, **found.state()})
    else:
        tables.alignment(name, found)

"""``goldassay judge eval``: how often which verdict, corrected where people have labelled some of the items."""

from __future__ import annotations

import json as jsons
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldassay.cli import options as use
from goldassay.cli.judge import options as ask
from goldassay.reporting import terminal

if TYPE_CHECKING:
    from goldassay.judges.ask.panel import Vote
    from goldassay.judges.people.labels import Labels


def evaluate(
    items: Annotated[Path, typer.Argument(metavar="FILE", help="jsonl, csv or tsv with ids and inputs.")],
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
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write items with their verdicts (jsonl).")] = None,
    force: use.Force = False,
    positive: ask.Positive = None,
    threads: use.Threads = 1,
    limit: use.Limit = None,
    budget: use.Budget = None,
    no_cache: use.NoCache = False,
    json: use.Json = False,
) -> None:
    """Ask a judge on the items of a file: how often which verdict, corrected where people have labelled some."""
    from goldassay.cli.judge.asked import Asked, labels_of, votes_of
    from goldassay.judges.people.rates import estimate
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
    if out is not None:
        use.free(out, force)
    labels = labels_of(items, asked, labelled=False)
    made = asked.judge()
    votes = votes_of(made, labels, asked)
    found = estimate(labels, votes, made)
    if out is not None:
        write(out, labels, votes)
    if json:
        terminal.answer(found.state())
    else:
        tables.estimate(found, out)


def write(path: Path, labels: Labels, votes: Sequence[Vote]) -> None:
    """Items with their verdicts, as ``judge align`` reads them."""
    from goldassay import files

    rows = []
    for item, vote in zip(labels.items, votes, strict=True):
        score = vote.share(labels.question.positive)
        row = {"id": item.id, "inputs": dict(item.inputs), "label": None, "verdict": vote.label, "score": score}
        row |= {"labels": dict(item.labels)} if item.labels else {}
        rows.append({**row, "disagreement": vote.disagreement, **({"split": item.split} if item.split else {})})
    files.save(path, "".join(jsons.dumps(row, ensure_ascii=False) + "\n" for row in rows))

"""``goldassay judge …``: ask a judge on a file, measure it beside people, audit it for biases."""

from __future__ import annotations

import json as jsons
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldassay.cli import options as use
from goldassay.exceptions import DataError
from goldassay.reporting import terminal

if TYPE_CHECKING:
    from goldassay.judges.ask.panel import Vote
    from goldassay.judges.people.labels import Labels


Name = Annotated[
    str,
    typer.Option(
        "--judge",
        metavar="NAME",
        help="What is asked: support, relevance, criterion, preference, type, link or rubric.",
    ),
]
Rubric = Annotated[
    Path | None, typer.Option("--rubric", metavar="FILE", help="yaml or json: levels and meanings, the worst first.")
]
Scale = Annotated[
    str | None, typer.Option("--scale", metavar="LOW-HIGH", help="A rubric of numbers, the worst first, as 1-5.")
]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME=COLUMN", help="Where FILE names it otherwise: label=human (repeat)."),
]
Samples = Annotated[
    int, typer.Option("--samples", metavar="N", min=1, help="Ask the model so often; the samples vote.")
]
Panel = Annotated[list[str] | None, typer.Option("--panel", metavar="LM", help="Another member of a panel (repeat).")]
How = Annotated[str, typer.Option("--how", metavar="NAME", help="How a panel votes: majority or mean.")]
State = Annotated[Path | None, typer.Option("--state", metavar="FOLDER", help="A judge tuned with tune --judge.")]
Store = Annotated[
    Path | None, typer.Option("--store", metavar="FILE", help="Keep verdicts here; they are not asked for again.")
]
Positive = Annotated[str | None, typer.Option("--positive", metavar="LABEL", help="The label that counts as positive.")]


def evaluate(
    items: Annotated[Path, typer.Argument(metavar="FILE", help="jsonl, csv or tsv with ids and inputs.")],
    judge: Name = "support",
    rubric: Rubric = None,
    scale: Scale = None,
    column: Column = None,
    lm: use.Lm = None,
    samples: Samples = 1,
    panel: Panel = None,
    how: How = "majority",
    state: State = None,
    store: Store = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write items with their verdicts (jsonl).")] = None,
    force: use.Force = False,
    positive: Positive = None,
    threads: use.Threads = 1,
    limit: use.Limit = None,
    budget: use.Budget = None,
    no_cache: use.NoCache = False,
    quiet: use.Quiet = False,
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


def align(
    labels: Annotated[
        Path, typer.Option(metavar="FILE", help="People's labels: jsonl, csv, tsv; RAGChecker's preferences: json.")
    ],
    judge: Name = "support",
    rubric: Rubric = None,
    scale: Scale = None,
    column: Column = None,
    lm: use.Lm = None,
    samples: Samples = 1,
    panel: Panel = None,
    how: How = "majority",
    state: State = None,
    store: Store = None,
    positive: Positive = None,
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
    quiet: use.Quiet = False,
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


def mean(
    numbers: Annotated[Path, typer.Argument(metavar="FILE", help="jsonl, csv or tsv: verdict, and label on some.")],
    scale: Annotated[str | None, typer.Option(metavar="LOW-HIGH", help="The ends of the scale, as 0-1 or 1-5.")] = None,
    column: Column = None,
    quiet: use.Quiet = False,
    json: use.Json = False,
) -> None:
    """The mean of the numbers that a judge gave, corrected by those that people gave some of the items (PPI++)."""
    from goldassay.cli.judge.asked import Asked
    from goldassay.judges.people import grades
    from goldassay.reporting import judge as tables

    asked = Asked("numbers", scale=scale, columns=column or ())
    bounds = asked.ends()
    people, said = grades.read(numbers, asked.renamed(), bounds)
    found = grades.estimated(people, said, bounds)
    if found.naive is None:
        raise DataError("a mean with an interval needs the verdicts of 2 items or more", file=numbers)
    if json:
        terminal.answer(found.state())
    else:
        tables.average(found)


def audit(
    gold: use.Gold = None,
    format: use.Format = None,
    lm: use.Lm = None,
    samples: Samples = 1,
    panel: Panel = None,
    how: How = "majority",
    state: State = None,
    store: Store = None,
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this check (repeat).")] = None,
    limit: use.Limit = 20,
    seed: use.Seed = 0,
    threads: use.Threads = 1,
    budget: use.Budget = None,
    no_cache: use.NoCache = False,
    gate: use.Gate = False,
    quiet: use.Quiet = False,
    json: use.Json = False,
) -> None:
    """Look for biases without any label: planted faults, orders in texts, swapped pairs, length, echo, repeats.

    The probes are the questions of a gold set with answering.
    """
    from goldassay.cli.judge.asked import Asked
    from goldassay.gold import load
    from goldassay.judges.audit import audit as audited
    from goldassay.judges.audit import probes
    from goldassay.judges.audit.checks import OF_SUPPORT, TESTS
    from goldassay.reporting import judge as tables

    gold = gold or "heritage"
    members = (lm, samples, panel or (), how, state, store)
    asked = Asked("support", *members, None, threads, limit, budget=budget, cache=not no_cache)
    task = "answering" if Path(gold).is_file() else None
    chosen = probes(load(gold, format=format, task=task), limit=limit, seed=seed)
    judge = asked.judge()
    checks = len(only or ()) or len(TESTS if hasattr(judge, "ask") else OF_SUPPORT)
    with terminal.progress("auditing", checks * len(chosen)) as tell, asked.within_budget(judge):
        found = audited(judge, chosen, only=only or (), threads=threads, tell=tell)
    if json:
        terminal.answer(found.state())
    else:
        tables.audit(found)
    if gate and not found.passed:
        raise SystemExit(1)


app = use.commands("Judges: ask one on a file, measure it beside people, audit it for biases.")
app.command("eval")(evaluate)
app.command()(align)
app.command()(mean)
app.command()(audit)

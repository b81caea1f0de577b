"""``goldassay judge …``: ask a judge on a file, measure it beside people, audit it for biases."""

from __future__ import annotations

import json as jsons
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldassay.cli import options as use
from goldassay.cli.help import commands
from goldassay.cli.judge.options import JudgeOptions, Map, QuestionOptions, renamed
from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting import terminal

if TYPE_CHECKING:
    from goldassay.judges.ask.panel import Vote
    from goldassay.judges.people.labels import Labels


SUPPORT = "support"


def evaluate(
    items: Annotated[Path, typer.Argument(metavar="FILE", help="jsonl, csv or tsv with ids and inputs.")],
    question: QuestionOptions,
    judge: JudgeOptions,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write items with their verdicts (jsonl).")
    ] = None,
    force: use.Force = False,
    limit: use.Limit = None,
    json: use.Json = False,
) -> None:
    """Ask a judge on the items of a file: how often which verdict, corrected where people have labelled some."""
    from goldassay.judges.people.rates import estimate
    from goldassay.reporting import judge as tables

    if out is not None:
        use.free(out, force)
    labels = question.labels(items, limit, labelled=False)
    made = judge.made(question)
    votes = judge.votes(made, labels)
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
        Path,
        typer.Argument(metavar="FILE", help="People's labels: jsonl, csv, tsv; RAGChecker's preferences: json."),
    ],
    question: QuestionOptions,
    judge: JudgeOptions,
    split: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only these items (default: test, where the file has splits; else all)."),
    ] = None,
    seed: use.Seed = 0,
    limit: use.Limit = None,
    json: use.Json = False,
) -> None:
    """Measure a judge beside people: agreement, error rates, calibration, corrected rates, labels needed.

    Verdicts of the file are taken where no model is named.
    """
    from goldassay.judges.people.agreement import align as aligned
    from goldassay.reporting import judge as tables

    people = question.labels(labels, limit)
    splits = {item.split for item in people.items}
    if split or "test" in splits:
        people = people.part(split or "test")
    if people.judged and not judge.lm and not question.state:
        name, votes = "verdicts of the file", people.votes
    else:
        live = judge.made(question)
        votes = judge.votes(live, people)
        name = str(live)
    found = aligned(people, votes, seed=seed)
    if json:
        terminal.answer({"judge": name, **found.state()})
    else:
        tables.alignment(name, found)


def mean(
    numbers: Annotated[Path, typer.Argument(metavar="FILE", help="jsonl, csv or tsv: verdict, and label on some.")],
    scale: Annotated[str | None, typer.Option(metavar="LOW-HIGH", help="The ends of the scale, as 0-1 or 1-5.")] = None,
    map: Map = None,
    json: use.Json = False,
) -> None:
    """The mean of the numbers that a judge gave, corrected by those that people gave some of the items (PPI++)."""
    from goldassay.judges.ask.questions import scale as levels
    from goldassay.judges.people import grades
    from goldassay.reporting import judge as tables

    ends = sorted(levels(scale).unit) if scale else None
    bounds = (ends[0], ends[1]) if ends else None
    people, said = grades.read(numbers, renamed(map), bounds)
    found = grades.estimated(people, said, bounds)
    if found.naive is None:
        raise DataError("a mean with an interval needs the verdicts of 2 items or more", file=numbers)
    if json:
        terminal.answer(found.state())
    else:
        tables.average(found)


def audit(
    judge: JudgeOptions,
    tuned: Annotated[
        str, typer.Option("--judge", metavar="NAME|FOLDER", help="support, or a judge of it tuned with tune --judge.")
    ] = SUPPORT,
    gold: use.Gold = None,
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this check (repeat).")] = None,
    limit: use.Limit = 20,
    seed: use.Seed = 0,
    gate: use.Gate = False,
    json: use.Json = False,
) -> None:
    """Look for biases without any label: planted faults, orders in texts, swapped pairs, length, echo, repeats.

    The probes are the questions of a gold set with answering.
    """
    from goldassay.gold import load
    from goldassay.judges.audit import audit as audited
    from goldassay.judges.audit import probes
    from goldassay.judges.audit.checks import OF_SUPPORT, TESTS
    from goldassay.reporting import judge as tables

    gold = gold or "heritage"
    task = "answering" if Path(gold).is_file() else None
    asked = QuestionOptions(tuned)
    if asked.name != SUPPORT:
        raise GoldassayError(f"an audit asks whether claims are supported; {tuned} is asked something else")
    chosen = probes(load(gold, task=task), limit=limit, seed=seed)
    made = judge.made(asked)
    checks = len(only or ()) or len(TESTS if hasattr(made, "ask") else OF_SUPPORT)
    with terminal.progress("auditing", checks * len(chosen)) as tell, judge.within_budget(made):
        found = audited(made, chosen, only=only or (), threads=judge.threads, tell=tell)
    if json:
        terminal.answer(found.state())
    else:
        tables.audit(found)
    if gate and not found.passed:
        raise SystemExit(1)


app = commands("Judges: ask one on a file, measure it beside people, audit it for biases.")
app.command("eval")(use.spelled_out(evaluate))
app.command()(use.spelled_out(align))
app.command()(mean)
app.command()(use.spelled_out(audit))

"""``goldassay judge audit``: a judge's biases, without any label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli import options as use
from goldassay.cli.judge import options as ask
from goldassay.reporting import terminal


def audit(
    gold: use.Gold = None,
    format: use.Format = None,
    lm: use.Lm = None,
    samples: ask.Samples = 1,
    panel: ask.Panel = None,
    how: ask.How = "majority",
    state: ask.State = None,
    store: ask.Store = None,
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this check (repeat).")] = None,
    limit: use.Limit = 20,
    seed: use.Seed = 0,
    threads: use.Threads = 1,
    gate: use.Gate = False,
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
    asked = Asked("support", lm, samples, panel or (), how, state, store, None, threads, limit)
    task = "answering" if Path(gold).is_file() else None
    chosen = probes(load(gold, format=format, task=task), limit=limit, seed=seed)
    judge = asked.judge()
    checks = len(only or ()) or len(TESTS if hasattr(judge, "ask") else OF_SUPPORT)
    with tables.progress("auditing", checks * len(chosen)) as tell:
        found = audited(judge, chosen, only=only or (), threads=threads, tell=tell)
    if json:
        terminal.answer(found.state())
    else:
        tables.audit(found)
    if gate and not found.passed:
        raise SystemExit(1)

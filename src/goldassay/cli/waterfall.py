"""``goldassay waterfall``: what each stage of a pipeline costs."""

from __future__ import annotations

import json as jsons
from pathlib import Path
from typing import Annotated

import typer

from goldassay import workspace
from goldassay.cli import options as use


def waterfall(
    program: use.Program,
    gold: use.Gold = None,
    split: use.Split = "dev",
    format: use.Format = None,
    task: use.OfTask = None,
    metric: use.Metric = None,
    lm: use.Lm = None,
    limit: use.Limit = None,
    threads: use.Threads = 1,
    seed: use.Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE.html", help="A page with the picture.")] = None,
    force: use.Force = False,
    json: use.Json = False,
) -> None:
    """Replace each stage of a program by gold and run the rest again: what does each stage cost?"""
    from goldassay.cli.evaluate import examples, prepared
    from goldassay.cli.report import write
    from goldassay.lm import for_program
    from goldassay.reporting import runs as tables
    from goldassay.reporting import terminal
    from goldassay.reporting.pages.report import waterfall as page
    from goldassay.running.waterfall import waterfall as measure

    if out is not None:
        use.free(out, force)
    target = workspace.target(program, task)
    data = examples(gold, target, split, format=format)
    chosen = data.examples[:limit] if limit else data.examples
    made = prepared(target, data.train, None, data.passages)
    model = for_program(made, lm)
    measured = workspace.metric(target.task, metric)
    found = measure(
        made, chosen, measured, lm=model.lm, adapter=model.adapter, threads=threads, seed=seed, progress=not json
    )
    if out is not None:
        write(out, page(found, f"{target.label}{f' on {model.name}' if model.name else ''}"))
    if json:
        print(jsons.dumps(found.state(), ensure_ascii=False))
        return
    tables.waterfall(found)
    if out is not None:
        terminal.plain(f"Written: {out}")

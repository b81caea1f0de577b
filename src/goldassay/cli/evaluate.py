"""``goldassay eval`` and ``waterfall``: run a program over a gold set and measure it, as a whole or stage by stage.

What other commands do with a program too (find it, prepare it, take examples) stands here as well.
"""

from __future__ import annotations

import json as jsons
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.exceptions import DataError, GoldassayError

if TYPE_CHECKING:
    import dspy

    from goldassay.gold import TaskSet
    from goldassay.gold.formats import ReadOptions

SPLITS = ("train", "dev", "test", "all")


def evaluate(
    program: use.Program,
    gold: use.Gold = None,
    split: use.Split = "dev",
    format: use.Format = None,
    map: use.Map = None,
    column: use.Column = None,
    task: use.OfTask = None,
    metric: use.Metric = None,
    lm: use.Lm = None,
    lm_option: use.LmOption = None,
    adapter: use.Adapter = None,
    state: use.State = None,
    limit: use.Limit = None,
    threads: use.Threads = 1,
    engine: use.Engine = "threads",
    ray_address: use.RayAddress = None,
    seed: use.Seed = 0,
    runs: use.Runs = Path("runs"),
    resume: use.Resume = None,
    gate: use.Gate = False,
    sure: Annotated[
        bool, typer.Option("--sure", help="--gate passes beyond doubt only, however many runs are held against it.")
    ] = False,
    errors: Annotated[
        bool, typer.Option("--errors", help="Show what the errors have in common, costly first.")
    ] = False,
    judge_lm: use.JudgeLm = None,
    timeout: use.Timeout = None,
    max_failures: use.MaxFailures = 0.5,
    budget: use.Budget = None,
    no_cache: use.NoCache = False,
    judge_labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="People's labels (id, label): what the judge says is corrected by them."),
    ] = None,
    no_trace: Annotated[
        bool, use.of_result("--no-trace", help="Leave inputs, gold, prompts and raw answers out of the rows.")
    ] = False,
    json: use.Json = False,
) -> None:
    """Run a program over a gold set and measure it."""
    from goldassay.judges.ask.judge import named
    from goldassay.lm import for_program
    from goldassay.reporting import runs as tables
    from goldassay.reporting import terminal, tuning
    from goldassay.running import evaluate as measure
    from goldassay.running import new_folder
    from goldassay.running.folder import run_at
    from goldassay.running.gates import gated
    from goldassay.tuning.patterns import find

    if sure and not gate:
        raise GoldassayError("--sure says how --gate judges; ask for both")
    where, workers = worked_on(engine)
    target = workspace.target(program, task)
    data = examples(gold, target, split, format=format, map=map, column=column)
    chosen = data.examples[:limit] if limit else data.examples
    made = prepared(target, data.train, state, data.passages)
    model = for_program(made, lm, lm_option or (), adapter, cache=not no_cache)
    label = target.label.replace(":", "-")
    resume = run_at(resume, runs) if resume is not None else None
    folder = resume or new_folder(runs, label, model.name)
    judge = None if judge_lm is None else named(judge_lm, verdicts=folder / "verdicts.jsonl", cache=not no_cache)
    measured = workspace.metric(target.task, metric) if judge is None else workspace.judged(target.task, judge, metric)
    people = None
    if judge_labels is not None:
        from goldassay.judges.people.run_labels import read as read_labels

        people = read_labels(judge_labels, measured)
    settings = {"program": program, "gold": data.name, "split": split, "limit": limit, "lm": model.name}
    settings |= {"state": str(state)} if state else {}
    try:
        done = measure(
            made,
            chosen,
            measured,
            lm=model.lm,
            adapter=model.adapter,
            threads=threads,
            folder=None if resume else folder,
            resume=resume,
            seed=seed,
            name=label,
            trace=not no_trace,
            timeout=timeout,
            max_failures=max_failures,
            budget=budget,
            engine=where,
            workers=workers,
            ray_address=ray_address,
            judge_labels=people,
            settings=settings | ({"judge": str(judge)} if judge else {}),
        )
    except KeyboardInterrupt:
        if folder.exists():
            print(f"go on with the same command and --resume {folder}", file=sys.stderr)
        raise
    finally:
        with suppress(OSError):
            folder.rmdir()  # nothing was written: the call was wrong
    unknown = str(getattr(judge, "warning", ""))
    if unknown:
        terminal.warn(unknown)
    gates = gated(done, runs) if sure else {}
    if json:
        found = {"patterns": [one.state() for one in find(done.cases)]} if errors else {}
        shown = {"gates": {key: one.state() for key, one in gates.items()}} if gates else {}
        terminal.answer(done.summary() | found | shown)
    else:
        tables.run(done)
        if errors:
            tuning.patterns(find(done.cases)[:20])
        if judge is not None:
            terminal.line(f"Judge {judge}: {getattr(judge, 'calls', 0)} calls, {getattr(judge, 'tokens', 0)} tokens.")
        for key, one in gates.items():
            terminal.line(f"{key}, look {one.look} at this gold: {one}")
    passed = all(one.verdict == "pass" for one in gates.values()) if sure else all(measured.met(done.values).values())
    if gate and not passed:
        raise SystemExit(1)


def worked_on(engine: str) -> tuple[str, int | None]:
    """An engine by its name, and how many of it, where that is said.

    >>> worked_on("threads"), worked_on("processes:4")
    (('threads', None), ('processes', 4))
    """
    name, colon, number = engine.partition(":")
    if not colon:
        return name, None
    if name == "threads" or not number.isdigit() or not int(number):
        raise GoldassayError(f"--engine reads like processes:4 or ray:16 (threads are --threads N), not {engine!r}")
    return name, int(number)


@dataclass(frozen=True)
class SplitExamples:
    """The examples of a split, the training examples that a baseline may learn from, what is searched."""

    name: str
    examples: Sequence[dspy.Example]
    train: Sequence[dspy.Example]
    passages: list[dict[str, Any]]


def task_gold(
    gold: str | None,
    target: workspace.Target,
    *,
    format: str | None = None,
    column: str | None = None,
    **reading: Unpack[ReadOptions],
) -> tuple[str, TaskSet]:
    """The gold of a program's task, with its name: what was named, else ``gold/TASK`` here, else heritage."""
    from goldassay.gold import load
    from goldassay.gold.records import INPUTS

    named = gold or (target.task if (workspace.root() / "gold" / target.task).is_dir() else "heritage")
    part = load(named, task=target.task, format=format, column=column, **reading).task(target.task)
    if part.task not in INPUTS and not part.stated and workspace.inputs(part.task) is None:
        part.stated = workspace.taken(target.load()) or []  # a file that stands in no workspace
    return named, part


def examples(
    gold: str | None,
    target: workspace.Target,
    split: str,
    *,
    format: str | None = None,
    column: str | None = None,
    **reading: Unpack[ReadOptions],
) -> SplitExamples:
    """The examples of a split. A file without splits is taken whole; its baselines learn nothing from it."""
    if split not in SPLITS:
        raise GoldassayError(f"no split {split!r}{workspace.nearest(split, SPLITS)}")
    name, part = task_gold(gold, target, format=format, column=column, **reading)
    if not part.splits:
        return SplitExamples(name, part.all, [], part.passages)
    asked = part.all if split == "all" else part.split(split)
    if not asked:
        raise DataError(f"the {split} split of {target.task} is empty", file=name)
    return SplitExamples(name, asked, part.train if "train" in part.splits else [], part.passages)


def prepared(
    target: workspace.Target, train: Sequence[dspy.Example], state: Path | None = None, passages: Sequence[object] = ()
) -> dspy.Module:
    """The program over the gold's passages where it searches, with a tuned state, fitted on train where it can be."""
    program: Any = target.load()
    if passages and hasattr(program, "index"):
        program = program.deepcopy().index(passages)  # the file's own stays as it is
    if state is not None:
        from goldassay.tuning import load_state

        program = load_state(program, state)
    return program.fit(train) if train and hasattr(program, "fit") else program


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
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE.html", help="A page with the picture.")] = None,
    force: use.Force = False,
    json: use.Json = False,
) -> None:
    """Replace each stage of a program by gold and run the rest again: what does each stage cost?"""
    from goldassay.cli.runs import write
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
    found = measure(made, chosen, measured, lm=model.lm, adapter=model.adapter, threads=threads, progress=not json)
    if out is not None:
        write(out, page(found, f"{target.label}{f' on {model.name}' if model.name else ''}"))
    if json:
        print(jsons.dumps(found.state(), ensure_ascii=False))
        return
    tables.waterfall(found)
    if out is not None:
        terminal.plain(f"Written: {out}")

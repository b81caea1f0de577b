"""``goldassay tune``: make a program better, and show by how much and how sure that is."""

from __future__ import annotations

import logging
import sys
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError, RunStopped, StorageError


def tune(
    program: Annotated[
        str | None, typer.Argument(help="A task, TASK:NAME or FILE:NAME; none with --judge.", metavar="TASK|FILE")
    ] = None,
    optimizer: Annotated[
        str,
        typer.Option(metavar="NAME", help="bootstrap, labeled, knn, mipro, simba, copro, inferrules, gepa or patches."),
    ] = "bootstrap",
    gold: use.Gold = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", metavar="NAME|FILE|1-5", help="Tune a judge instead: what judge align --judge takes."),
    ] = None,
    format: use.Format = None,
    map: use.Map = None,
    column: use.Column = None,
    task: use.OfTask = None,
    metric: use.Metric = None,
    lm: use.Lm = None,
    lm_option: use.LmOption = None,
    adapter: use.Adapter = None,
    reflection_lm: use.ReflectionLm = None,
    judge_lm: use.JudgeLm = None,
    state: use.State = None,
    resume: use.Resume = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A setting of the optimizer, such as rounds=5; of patches, guarded=recall,f1=.01: what must not drop "
            "(by more).",
        ),
    ] = None,
    budget: use.Budget = None,
    seed: use.Seed = 0,
    threads: use.Threads = 1,
    limit: use.Limit = None,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Only say what can be shown, what it needs and costs, after a pilot on dev."),
    ] = False,
    out: Annotated[
        Path | None,
        use.of_result("--out", metavar="FOLDER", help="The folder of the tuned program (default: a new one in runs/)."),
    ] = None,
    json: use.Json = False,
) -> None:
    """Make a program better on train, choose on dev, report once on test."""
    if (program is None) == (judge is None):
        raise GoldassayError("tune takes a program, or --judge with people's labels as --gold; not both, not neither")
    if judge is not None:
        from goldassay.cli.judge.options import QuestionOptions
        from goldassay.cli.judge.options import tune as tune_judge

        others: dict[str, object] = {
            "--format": format,
            "--column": column,
            "--task": task,
            "--metric": metric,
            "--judge-lm": judge_lm,
        }
        others |= {"--state": state, "--resume": resume}
        if unused := [name for name, value in others.items() if value]:
            raise GoldassayError(f"tune --judge takes no {', '.join(unused)}: that is for programs")
        return tune_judge(
            QuestionOptions(judge, map),
            threads=threads,
            limit=limit,
            gold=Path(gold or "heritage"),
            optimizer=optimizer,
            lm=lm,
            reflection_lm=reflection_lm,
            budget=budget,
            seed=seed,
            options=option or [],
            out=out,
            as_json=json,
        )
    from goldassay import lm as models
    from goldassay.cli.evaluate import task_gold
    from goldassay.judges.ask.judge import named
    from goldassay.reporting import terminal
    from goldassay.reporting import tuning as tables
    from goldassay.running import new_folder
    from goldassay.running.folder import run_at
    from goldassay.tuning import load_state
    from goldassay.tuning import tune as tuned_program
    from goldassay.tuning.resuming import RESUMABLE
    from goldassay.tuning.saved import read_about

    logging.getLogger("dspy").setLevel(logging.ERROR)
    target = workspace.target(str(program), task)
    student: Any = target.tunable()
    _, part = task_gold(gold, target, format=format, map=map, column=column)
    if part.passages and hasattr(student, "index"):
        student = student.deepcopy().index(part.passages)
    splits = {name: list(getattr(part, name))[:limit] for name in ("train", "dev", "test")}
    if state is not None:
        student = load_state(student, state)
    model = models.for_program(student, lm, lm_option or (), adapter)
    if plan:
        from goldassay.tuning.plan import piloted

        options: dict[str, Any] = {"lm": model.lm, "adapter": model.adapter, "threads": threads}
        with terminal.working("a pilot on dev"):
            asked = use.optimizer_settings(option or ())
            measured = workspace.metric(target.task, metric)
            planned = piloted(optimizer, student, splits, measured, asked=asked, **options)
        if json:
            print(dumps(planned.state(), ensure_ascii=False))
        for line in planned.lines() if not json else ():
            terminal.line(line)
        if planned.refusal:
            raise GoldassayError(planned.refusal)
        return
    chosen = use.optimizer_settings(option or ())
    if "guarded" in chosen and optimizer != "patches":
        raise GoldassayError(f"--option guarded belongs to patches; {optimizer} guards nothing")
    folder = out if resume is None else run_at(resume)
    folder = folder or new_folder(Path("runs"), f"tune-{target.label.replace(':', '-')}-{optimizer}")
    judge = None if judge_lm is None else named(judge_lm, verdicts=folder / "verdicts.jsonl")
    measured = workspace.metric(target.task, metric) if judge is None else workspace.judged(target.task, judge, metric)
    try:
        with terminal.quiet():
            tuned = tuned_program(
                student,
                splits,
                measured,
                optimizer,
                lm=model.lm,
                reflection_lm=models.resolve(reflection_lm) if reflection_lm else None,
                adapter=model.adapter,
                budget=budget,
                seed=seed,
                threads=threads,
                folder=folder,
                resume=resume is not None,
                options=chosen,
            )
    except StorageError as error:
        again = f"go on with --resume {folder}" if optimizer in RESUMABLE else f"{optimizer} then starts over"
        raise RunStopped(f"{error}; what was measured is safe; mend it, and {again}") from None
    except KeyboardInterrupt:
        if optimizer in RESUMABLE:
            print(f"go on with the same command and --resume {folder}", file=sys.stderr)
        else:
            print(f"{optimizer} keeps no state: the same command starts over", file=sys.stderr)
        raise
    if json:
        terminal.answer(read_about(folder / "tuning.json"))
        return
    tables.tuned(tuned, folder)

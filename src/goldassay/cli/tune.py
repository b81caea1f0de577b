"""``goldassay tune``: make a program better, and show by how much and how sure that is."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
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
        str | None, typer.Option(metavar="NAME", help="Tune a judge instead: what judge align --judge takes.")
    ] = None,
    rubric: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --judge rubric: its levels, the worst first.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="LOW-HIGH", help="With --judge rubric: a scale of numbers, as 1-5.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME=COLUMN", help="With --judge: the labels' own column names.")
    ] = None,
    format: use.Format = None,
    map: use.Map = None,
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
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A setting of the optimizer, such as rounds=5.")
    ] = None,
    guard: Annotated[
        list[str] | None, typer.Option(metavar="MEASURE[=DROP]", help="patches: what must not drop (by more).")
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
        typer.Option(metavar="FOLDER", help="The folder of the tuned program (default: a new one in runs/)."),
    ] = None,
    quiet: use.Quiet = False,
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
            "--map": map,
            "--task": task,
            "--metric": metric,
            "--judge-lm": judge_lm,
        }
        others |= {"--state": state, "--resume": resume, "--guard": guard}
        if unused := [name for name, value in others.items() if value]:
            raise GoldassayError(f"tune --judge takes no {', '.join(unused)}: that is for programs")
        return tune_judge(
            QuestionOptions(judge, rubric, scale, column),
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
    if unused := [name for name, value in (("--rubric", rubric), ("--scale", scale), ("--column", column)) if value]:
        raise GoldassayError(f"{', '.join(unused)} goes with --judge: tune a judge, or leave it out")
    from goldassay import lm as models
    from goldassay.cli.evaluate import task_gold
    from goldassay.judges.ask.judge import named
    from goldassay.reporting import terminal
    from goldassay.reporting import tuning as tables
    from goldassay.running import new_folder
    from goldassay.tuning import load_state
    from goldassay.tuning import tune as tuned_program
    from goldassay.tuning.saved import RESUMABLE, read_about

    logging.getLogger("dspy").setLevel(logging.ERROR)
    target = workspace.target(str(program), task)
    student = target.load()
    if not student.predictors():
        raise GoldassayError(f"{program} has no predictor, so there is no prompt to tune")
    _, part = task_gold(gold, target, format=format, map=map)
    if part.passages and hasattr(student, "index"):
        student = student.deepcopy().index(part.passages)
    splits = {name: list(getattr(part, name))[:limit] for name in ("train", "dev", "test")}
    if state is not None:
        student = load_state(student, state)
    model = models.for_program(student, lm, lm_option or (), adapter)
    if plan:
        from goldassay.tuning.plan import piloted

        options = {"lm": model.lm, "adapter": model.adapter, "threads": threads}
        with terminal.working("a pilot on dev"):
            planned = piloted(optimizer, student, splits, workspace.metric(target.task, metric), **options)
        if json:
            print(dumps(planned.state(), ensure_ascii=False))
        for line in planned.lines() if not json else ():
            terminal.line(line)
        if planned.refusal:
            raise GoldassayError(planned.refusal)
        return
    chosen = settings(option or (), guard or (), optimizer)
    folder = resume or out or new_folder(Path("runs"), f"tune-{target.label.replace(':', '-')}-{optimizer}")
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


def settings(options: Sequence[str], guards: Sequence[str], optimizer: str) -> dict[str, Any]:
    """The optimizer's settings as they were written.

    >>> settings(["rounds=5"], ["strict_f1", "partial_f1=0.01"], "patches")
    {'rounds': 5, 'guarded': {'strict_f1': 0.0, 'partial_f1': 0.01}}
    """
    import yaml

    found: dict[str, Any] = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise GoldassayError(f"an option reads like rounds=5, not {text!r}")
        try:
            found[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise GoldassayError(f"the value of option {name} cannot be read: {value!r}") from None
    if guards and optimizer != "patches":
        raise GoldassayError(f"--guard belongs to patches; {optimizer} guards nothing")
    for text in guards:
        name, _, drop = text.partition("=")
        try:
            found.setdefault("guarded", {})[name] = float(drop or 0)
        except ValueError:
            raise GoldassayError(f"a guard reads like strict_f1 or strict_f1=0.01, not {text!r}") from None
    return found

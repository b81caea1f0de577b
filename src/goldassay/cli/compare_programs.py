"""Programs in ``goldassay compare``: each is run with each model, tuned before if asked, or ranked by five metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from goldassay import workspace
from goldassay._support import jsonl
from goldassay._support.exceptions import GoldassayError, RunStopped
from goldassay._support.options import shell_line
from goldassay.cli.options import SystemOptions, interruptible, resume_line
from goldassay.cli.settings import settings
from goldassay.ext.compat.models import CACHES, OUTPUT_FILES, ModelRanking, ScorePack, reading
from goldassay.ext.labelling.proof import prove_by_labels
from goldassay.measures.answering.ranking import FINAL_SCORE_WEIGHTS
from goldassay.models.embedding import available
from goldassay.reporting import runs as shown
from goldassay.reporting import terminal
from goldassay.running import Run, new_folder
from goldassay.running.account import Account
from goldassay.running.budget import BudgetSpent, EndpointDown, Meter
from goldassay.running.evaluate import evaluate
from goldassay.running.folder import earlier_folder, locked, safe_name
from goldassay.running.leaks import find_leaks, leak_warning
from goldassay.running.run import open_runs
from goldassay.tuning import TuneOptions
from goldassay.tuning import systems as library
from goldassay.tuning.systems import SplitExamples, System
from goldassay.tuning.tuner import splits_of
from goldassay.tuning.watch import shares


def run_programs(
    task: str,
    systems: SystemOptions,
    weights: Mapping[str, float],
    out: Path | None,
    *,
    seed: int,
    force: bool,
    json: bool,
) -> list[Run]:
    """A run of each program with each model; none if five metrics or labels rank them, and that was shown.

    With --tune each program is tuned first for each model, with an equal share of the budget. The runs are in folders
    that --resume goes on with, after the runs that exist.
    """
    out = out or Path("ranking")
    is_file = task.partition(":")[0].endswith(".py")
    named = systems.program or []
    if is_file and named:
        in_file = vars(workspace.load(workspace.target(task).file))
        if ":" not in task and "program" not in in_file and named[0] in in_file:  # the file has only named ones
            task = f"{task}:{named[0]}"
    if is_file and named and workspace.target(task) not in [library.target_of(task, name) for name in named]:
        named = [*named, task]
    if systems.unlabelled:  # forty of the inputs that two systems answer otherwise; once labelled, the verdict
        pair = library.systems(
            task,
            None,
            programs=named,
            states=systems.state or (),
            models=systems.lm or (),
        )
        if unused := next((name for name in ("gold", "pred", "tune") if getattr(systems, name)), None):
            raise GoldassayError(f"--unlabelled takes no --{unused}: labels decide between two programs")
        if len(pair) != 2:
            raise GoldassayError(f"labels decide between two systems without gold, not between {len(pair)}: name two")
        first = str(pair[0].settings["program"])
        by_name = {safe_name(system.label, system.settings["lm"]): system.bound for system in pair}
        with terminal.working("both systems on inputs without gold"):
            proof = prove_by_labels(
                library.target_of(task, "program" if first == task else first),
                by_name,
                out / "draft.jsonl",
                systems.unlabelled,
                TuneOptions(threads=systems.threads, budget=systems.budget, seed=seed, progress=False),
                metric=workspace.metric(task, systems.metric) if systems.metric else None,
                on_message=terminal.warn,
            )
        terminal.output(proof.audit(*by_name), json)
        return []
    target = workspace.target(task) if is_file else workspace.Target(task, Path(), "program")
    if systems.tune and systems.split not in (None, "test"):
        raise GoldassayError("--tune learns from train and dev, and compares on test: leave --split out")
    split = "test" if systems.tune else systems.split or "dev"
    data = library.examples(systems.gold, target, systems.split or "dev", **systems.reading())
    if systems.tune:
        splits = splits_of(data.gold, seed)
        data = data._replace(examples=splits["test"], train=splits["train"])
    programs = library.systems(
        task,
        data,
        programs=named,
        states=systems.state or (),
        models=systems.lm or (),
        alone=not systems.pred,
    )
    if systems.metric == "five":
        _rank_by_five(task, systems, data, programs, weights, force, json)
        return []
    metric = workspace.metric(library.target_of(task, named[0]) if named else task, systems.metric)
    if systems.tune:
        asking = [system for system in programs if system.model.lm is not None]
        share = shares(systems.budget, max(1, len(asking)))
        budget = ",".join(f"{unit}={limit:g}" for unit, limit in share.items()) or None
        resume = systems.resume is not None
        options = TuneOptions(budget=budget, seed=seed, threads=systems.threads, folder=out, resume=resume)
        for number, system in enumerate(programs, start=1):
            if system in asking:
                folder = out / "tuned" / f"{number}-{safe_name(system.label, system.settings['lm'])}"
                with _resumable(out, system.name), terminal.quiet():
                    tuned = system.tuned(splits, metric, systems.tune, replace(options, folder=folder))
                programs[number - 1] = tuned
    runs = [run for path in systems.pred or [] for run in open_runs(path)]
    if len(programs) + len(runs) < 2:
        raise GoldassayError(
            "compare needs two systems or more, by --program, --state, --lm or --pred RUN after the task: "
            f"{shell_line('goldassay compare', task, program='FILE')}{'' if is_file else ' FILE'}"
        )
    meter = Meter(systems.budget)
    labels = [system.label for system in programs]
    without_model: set[str] = set()
    for system in programs:
        if system.label in without_model:
            continue
        names = (out / "runs", system.label, system.settings["lm"])
        earlier = earlier_folder(*names) if systems.resume else None
        counted = Account(meter).open() if systems.budget and not systems.tune else nullcontext()
        with _resumable(out, system.name), terminal.working(system.name), counted:
            run = evaluate(
                system.program,
                system.examples(data.examples[: systems.limit]),
                metric,
                lm=system.model.lm,
                adapter=system.model.adapter,
                threads=systems.threads,
                repeats=systems.repeats,
                folder=None if earlier else new_folder(*names),
                resume=earlier,
                seed=seed,
                name=system.name if labels.count(system.label) > 1 else system.label,
                settings={**system.settings, "gold": data.name, "split": split, "limit": systems.limit},
                progress=False,
                max_failures=1.0,
            )
        runs.append(run)
        if labels.count(system.label) > 1 and not (run.cost["calls"] or run.cost["cached"]):
            without_model.add(system.label)  # only its run says whether a function calls a model
            terminal.warn(f"{system.label} called no model: it was run once, not with each")
    if len(runs) < 2:
        raise GoldassayError(f"{runs[0].name} is the only system: add --program FILE or --pred RUN to compare it with")
    return runs


@contextmanager
def _resumable(out: Path, name: str) -> Iterator[None]:
    """Own the folder of a comparison, and say how it continues if it stops or Ctrl-C ends it."""
    then = resume_line(out)
    with jsonl.writing(out):
        out.mkdir(parents=True, exist_ok=True)
    try:
        with interruptible(then), locked(out):
            yield
    except BudgetSpent as spent:
        raise RunStopped(f"{name}: {spent}; {then} and a new budget") from None
    except RunStopped as stopped:
        raise RunStopped(f"{name}: {stopped.__cause__ or stopped}; {then}") from None


def _rank_by_five(
    task: str,
    systems: SystemOptions,
    data: SplitExamples,
    programs: Sequence[System],
    weights: Mapping[str, float],
    again: bool,
    json: bool,
) -> None:
    """Rank programs that answer questions by five metrics; the folder caches their answers."""
    if task != "answering" or systems.pred:
        raise GoldassayError("--metric five ranks programs: goldassay compare answering --metric five --program NAME")
    answering = {}
    for system in programs:
        answering[system.name.removeprefix("answering-")] = reading(
            system.program, system.model.lm, system.model.adapter
        )
        if warning := leak_warning(find_leaks(system.program, data.examples), data.examples):
            terminal.warn(f"{system.name}: {warning}")
    searching = programs[0].program
    out = systems.out or Path("ranking")
    ranking = ModelRanking(
        answering,
        lambda question: [passage["text"] for passage in searching.search(question)],
        out,
        questions=[example.toDict() for example in data.examples[: systems.limit]],
        pack=ScorePack(
            settings(systems.option).get("embedder") or available(), None, weights or dict(FINAL_SCORE_WEIGHTS)
        ),
    )
    try:
        with terminal.working(f"{len(programs)} models, {len(data.examples)} questions"), Account(Meter()).open():
            rows = ranking.run_evaluation(force_refresh=again)
    except EndpointDown as error:
        raise RunStopped(f"{error}; the same command asks what {out} has not cached") from None
    if json:
        terminal.answer({"rankings": rows, "out": str(out)})
        return
    shown.five(rows)
    terminal.echo(f"Written to {out}: {', '.join((*OUTPUT_FILES, *CACHES))}")

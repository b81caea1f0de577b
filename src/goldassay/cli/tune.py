"""``goldassay tune``: improve a program or a judge."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import yaml

from goldassay import workspace
from goldassay._support import options as use
from goldassay._support.exceptions import GoldassayError, RunStopped, StorageError
from goldassay._support.options import shell_line
from goldassay.cli.evaluate import ModelOptions
from goldassay.cli.options import GoldOptions, NotesOptions, WorkOptions, resume_line
from goldassay.ext.labelling.notes import Notes
from goldassay.ext.labelling.proof import Proof, prove_by_labels
from goldassay.gold import TaskSet, anyfields
from goldassay.judges.tuning import question_named, read_unseen, tune_judge
from goldassay.models.lm import Model, for_program
from goldassay.models.lm import models as lms
from goldassay.reporting import terminal
from goldassay.reporting import tuning as tables
from goldassay.results.view import Sentence
from goldassay.running.folder import new_folder, run_at
from goldassay.running.options import RunOptions
from goldassay.tuning import TuneOptions, load_state
from goldassay.tuning import tune as tune_program
from goldassay.tuning.optimizers import resolve
from goldassay.tuning.plan import from_pilot, from_sizes
from goldassay.tuning.saved import TUNING_FILE, Tuned, conclude, read_about
from goldassay.tuning.systems import indexed, task_gold
from goldassay.tuning.tuner import splits_of
from goldassay.tuning.verdict import shrunk


@dataclass(frozen=True)
class TuningOptions(NotesOptions, WorkOptions):
    """Options of tuning a program."""

    optimizer: Annotated[
        str,
        use.for_running(
            "NAME",
            "patches, labeled, knn, bootstrap, mipro, simba, copro, inferrules, gepa, or the name of another optimizer "
            "of DSPy; several (patches,gepa,mipro) share the budget, and one program is chosen; best is the set that "
            "--plan recommends.",
        ),
    ] = "bootstrap"
    setting: Annotated[
        list[str] | None,
        use.for_running(
            "NAME=VALUE",
            "A setting of the optimizer (repeat): rounds=5; of patches, guarded=recall,f1=.01, the measures that "
            "must not drop (by more). Of several optimizers gepa.max_metric_calls=200.",
        ),
    ] = None
    race: Annotated[
        bool,
        use.Option(
            None,
            "With several optimizers: a quarter of the budget first, the rest for those not shown to be worse.",
            panel="Running",
        ),
    ] = False
    reflection_lm: use.ReflectionLm = None
    out: Annotated[
        Path | None, use.for_result("FOLDER", "The folder of the tuned program (default: a new one in runs/).")
    ] = None

    def options(self, model: Model, seed: int) -> TuneOptions:
        """The options of the library, without the folder."""
        return TuneOptions(
            settings=optimizer_settings(self.setting or ()),
            lm=model.lm,
            adapter=model.adapter,
            reflection_lm=lms.resolve(self.reflection_lm) if self.reflection_lm else None,
            budget=self.budget,
            seed=seed,
            threads=self.threads,
            repeats=self.repeats,
            race=self.race,
        )

    def folder(self, name: str) -> Path:
        """The folder of the tuned program."""
        return self.out or (run_at(self.resume) if self.resume else new_folder(Path("runs"), name))


def tune(
    source: GoldOptions,
    models: ModelOptions,
    tuning: TuningOptions,
    program: Annotated[
        str | None, use.argument("TASK|FILE", "A task, TASK:NAME or FILE:NAME; none with --judge.")
    ] = None,
    judge: Annotated[
        str | None, use.for_model("NAME|FILE|1-5", "Tune a judge of this question on human labels (--gold) instead.")
    ] = None,
    plan: Annotated[
        bool, use.flag("Only print the gain that can be shown and its cost, after a pilot on dev.")
    ] = False,
    json: bool = False,
    seed: int = 0,
) -> None:
    """Tune a program on train, choose on dev, report once on test.

    With --modes its patches come from a reviewer's notes, and labels of what they change (--unlabelled) are the proof.
    """
    logging.getLogger("dspy").setLevel(logging.ERROR)
    if (program is None) == (judge is None):
        raise GoldassayError("tune takes either a program, or --judge with human labels as --gold")
    if judge is not None:
        _tune_judge(judge, source, models, tuning, seed, json, plan)
        return
    if tuning.no_review and not (tuning.modes and tuning.unlabelled):
        raise GoldassayError("--no-review is for the page of --modes FOLDER --unlabelled FILE; no other page is opened")
    target = workspace.target(str(program), source.task)
    notes = None
    if tuning.modes is None:
        _, gold = task_gold(source.gold, target, **source.reading())
    elif tuning.optimizer != "patches" or source.gold:
        raise GoldassayError("--modes takes the place of --gold, and is for --optimizer patches")
    else:  # what a person corrected
        notes = Notes.of(tuning.modes, target)
        gold = TaskSet(target.task, [{"path": [example.toDict() for example in notes.required]}], None, notes.inputs)
    student = indexed(target.tunable(), gold)
    splits = {name: examples[: source.limit] for name, examples in splits_of(gold, seed).items()}
    student = student if models.state is None else load_state(student, models.state)
    model = for_program(student, models.lm, target.file)
    if plan:
        running = RunOptions(lm=model.lm, adapter=model.adapter, threads=tuning.threads)
        with terminal.working("a pilot on dev"):
            settings = optimizer_settings(tuning.setting or ())
            sizes = from_sizes(tuning.optimizer, splits, settings, tuning.budget, tuning.reflection_lm is not None)
            measured = from_pilot(sizes, student, splits, workspace.metric(target, source.metric), options=running)
        terminal.output(measured.state(), json, [*map(Sentence, measured.lines())])
        if measured.refusal:
            raise GoldassayError(measured.refusal)
        return
    optimizer = tuning.optimizer
    options = tuning.options(model, seed)
    if "guarded" in options.settings and optimizer != "patches":
        raise GoldassayError(f"--setting guarded is for the optimizer patches, not for {optimizer}")
    optimizers = [name for name in map(str.strip, optimizer.split(",")) if name]
    is_arena = len(optimizers) > 1 or optimizer == "best"
    folder = tuning.folder(f"tune-{target.slug}-{'arena' if is_arena else optimizer}")
    material = {"notes": notes} if notes else {}
    options = replace(
        options, folder=folder, resume=tuning.resume is not None, settings={**options.settings, **material}
    )
    metric, _ = models.metric(target, source.metric, folder)
    resumable = is_arena or resolve(optimizer).resumes
    try:
        with terminal.quiet():
            tuned = tune_program(student, splits, metric, optimizers if "," in optimizer else optimizer, options)
    except (StorageError, RunStopped, KeyboardInterrupt) as error:
        begun = resumable and (folder / TUNING_FILE).is_file()
        if isinstance(error, KeyboardInterrupt):
            over = f"{optimizer} has stored no state: the same command starts over"
            print(resume_line(folder) if begun else over, file=sys.stderr)
            raise
        safe = "; finished measurements are safe" if begun else ""
        then = f"continue with {shell_line('--resume', folder)}" if begun else f"run {optimizer} again from the start"
        raise RunStopped(f"{error}{safe}; solve this, then {then}") from None
    proof = None
    if tuning.unlabelled is not None and not tuned.audit.better:
        trial = tuned.test or tuned.dev
        try:
            proof = prove_by_labels(
                target,
                {"before": student, "after": tuned.program},
                folder / "draft.jsonl",
                tuning.unlabelled,
                TuneOptions(
                    lm=model.lm,
                    adapter=model.adapter,
                    threads=tuning.threads,
                    folder=trial.before.folder and trial.before.folder.parent,
                ),
                notes=notes,
                metric=metric if source.metric else None,
                gains=(shrunk(trial.difference.difference, trial.difference.standard_error),),
                page=notes is not None and not tuning.no_review,
                on_message=lambda text: print(text, file=sys.stderr, flush=True),
            )
        except GoldassayError as error:  # the tuning is done, and is shown
            terminal.warn(f"no draft was written: {error.__cause__ or error}")
    if proof and proof.verdict is not None:
        conclude(tuned, folder, proof.verdict, proof.state())
    _show(tuned, folder, json, proof)


def _tune_judge(
    judge: str, source: GoldOptions, models: ModelOptions, tuning: TuningOptions, seed: int, json: bool, plan: bool
) -> None:
    """Tune a judge on the human labels of a file."""
    taken = ("gold", "map", "limit", "lm")
    chosen = {**vars(models), **vars(source), "resume": tuning.resume, "repeats": tuning.repeats > 1}
    chosen |= {"unlabelled": tuning.unlabelled, "modes": tuning.modes, "no_review": tuning.no_review, "plan": plan}
    if unused := next((name for name, value in chosen.items() if value and name not in taken), None):
        raise GoldassayError(f"tune --judge takes no --{unused.replace('_', '-')}, which is for programs")
    question, state = question_named(judge)
    if state:
        raise GoldassayError(f"{state} is a tuned judge; tune --judge takes the question, and tunes it anew")
    columns = anyfields.mapping(source.map)
    labels, _ = read_unseen(Path(source.gold or "heritage"), judge, columns, labelled=True, limit=source.limit)
    lm = lms.resolve(models.lm)
    options = tuning.options(Model(models.lm, lm, lms.adapter(lm)), seed)
    folder = tuning.folder(f"tune-judge-{question.name}-{tuning.optimizer}")
    with terminal.quiet():
        tuned = tune_judge(labels, tuning.optimizer, options, folder=folder)
    _show(tuned, folder, json)


def _show(tuned: Tuned, folder: Path, json: bool, proof: Proof | None = None) -> None:
    labels: dict[str, object] = {}
    if proof and proof.plan:
        needed = {f"{gain:g}": count for gain, count in proof.plan.needed.items()}
        labels = {"labels": {"needed": needed, "draft": proof.plan.draft.state(), "file": str(proof.draft)}}
    about = read_about(folder / "tuning.json")
    view = [] if tuned.arms else tuned.view()
    terminal.output(about | labels, json, view)
    if json:
        return
    if tuned.arms:
        terminal.show(tables.arena(about))
        terminal.echo(f"Folder: {folder}; its page: {shell_line('goldassay report', folder, out='arena.html')}")
    else:
        terminal.echo(f"Folder: {folder}")
    if proof:
        if proof.verdict is None and proof.plan:
            terminal.line(f"To settle it: {proof.plan.sentence}.")
        terminal.line(*proof.lines)


def optimizer_settings(options: Sequence[str]) -> dict[str, object]:
    """The settings of an optimizer; ``guarded`` names measures and by how much each may drop.

    Raises:
        GoldassayError: One is not ``NAME=VALUE``, or its value cannot be read.

    >>> optimizer_settings(["rounds=5", "guarded=strict_f1,partial_f1=0.01"])
    {'rounds': 5, 'guarded': {'strict_f1': 0.0, 'partial_f1': 0.01}}
    """
    values: dict[str, object] = {}
    for name, equals, text in (option.partition("=") for option in options):
        if not (name and equals):
            raise GoldassayError(f"--setting expects NAME=VALUE such as rounds=5, got {name!r}")
        guards = [guard.partition("=") for guard in text.split(",")]
        try:
            guarded = name == "guarded"
            values[name] = {key.strip(): float(n or 0) for key, _, n in guards} if guarded else yaml.safe_load(text)
        except (ValueError, yaml.YAMLError):
            raise GoldassayError(f"the value of --setting {name} cannot be read: {text!r}") from None
    return values

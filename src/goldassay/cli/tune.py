"""``goldassay tune``: improve a program or a judge; ``goldassay audit``: did an optimizer help?

An audit reads what an optimizer left, or runs two states of a program on fresh examples.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from goldassay import files, workspace
from goldassay.cli import options as use
from goldassay.cli.evaluate import run_folder
from goldassay.cli.proof import NotesOptions, check_task, label_on_page, notes_of, proof_of, unread, write_draft
from goldassay.exceptions import GoldassayError, RunStopped, StorageError
from goldassay.reporting import terminal
from goldassay.reporting import tuning as tables

if TYPE_CHECKING:
    import dspy

    from goldassay.lm import Model
    from goldassay.metric import Metric
    from goldassay.running import Run
    from goldassay.tuning.labelling import LabelPlan
    from goldassay.tuning.notes import Notes
    from goldassay.tuning.options import TuneOptions
    from goldassay.tuning.proof import Proof
    from goldassay.tuning.saved import Tuned
    from goldassay.tuning.verdict import Audit
    from goldassay.tuning.wrappers import Splits

DRAFT = Path("draft.jsonl")
Inputs = Annotated[Path | None, use.for_gold("FILE", "Inputs without gold: what to label of them (--draft).")]
DraftFile = Annotated[
    Path | None,
    use.for_gold("FILE", f"The inputs of --inputs to label; once labelled, the verdict (default: {DRAFT})."),
]
FOR_JUDGES = ("gold", "map", "limit", "lm")  # of the options of programs, those of tune --judge


@dataclass(frozen=True)
class TuningOptions(NotesOptions, use.WorkOptions):
    """Options of tuning a program."""

    optimizer: str = use.for_running(
        "NAME",
        "patches, labeled, knn, bootstrap, mipro, simba, copro, inferrules, gepa, or the name of another optimizer of "
        "DSPy.",
        default="bootstrap",
    )
    option: list[str] | None = use.for_running(
        "NAME=VALUE",
        "A setting of the optimizer (repeat): rounds=5; of patches, guarded=recall,f1=.01, the measures that "
        "must not drop (by more).",
    )
    reflection_lm: use.ReflectionLm = None
    inputs: Inputs = None
    draft: DraftFile = None
    out: Path | None = use.for_result("FOLDER", "The folder of the tuned program (default: a new one in runs/).")

    def keywords(self, seed: int) -> dict[str, Any]:
        """The keyword arguments that tuning a program and tuning a judge have in common."""
        from goldassay.lm import models

        reflection = models.resolve(self.reflection_lm) if self.reflection_lm else None
        options = {"reflection_lm": reflection, "budget": self.budget, "seed": seed, "threads": self.threads}
        return options | {"settings": optimizer_settings(self.option or ())}

    def folder(self, name: str) -> Path:
        """The folder of the tuned program."""
        from goldassay.running.folder import new_folder, run_at

        return self.out or (run_at(self.resume) if self.resume else new_folder(Path("runs"), name))


def tune(
    source: use.GoldOptions,
    models: use.ModelOptions,
    tuning: TuningOptions,
    program: str | None = use.argument("TASK|FILE", "A task, TASK:NAME or FILE:NAME; none with --judge."),
    judge: str | None = use.for_model("NAME|FILE|1-5", "Tune a judge on human labels (--gold) instead."),
    plan: bool = use.flag("--plan", "Only print the gain that can be shown, and the cost, after a pilot on dev."),
    json: bool = False,
    seed: int = 0,
) -> None:
    """Tune a program on train, choose on dev, report once on test.

    With --modes its patches come from a reviewer's notes, and labels of what they change (--inputs) are the proof.
    """
    from goldassay.lm import for_program
    from goldassay.tuning import load_state
    from goldassay.tuning import tune as tune_program
    from goldassay.tuning.saved import RESUMABLE

    logging.getLogger("dspy").setLevel(logging.ERROR)
    if (program is None) == (judge is None):
        raise GoldassayError("tune takes either a program, or --judge with human labels as --gold")
    if tuning.inputs is not None:
        use.new_place(tuning.draft or DRAFT, False)  # somebody may have labelled it
    elif tuning.draft is not None:
        raise GoldassayError("--draft is for what to label of --inputs; name them, too")
    if judge is not None:
        _tune_judge(judge, source, models, tuning, seed, json)
        return
    target = workspace.target(str(program), source.task)
    notes = _notes(target, source, tuning)
    student, splits = _material(target, source, notes, seed)
    student = student if models.state is None else load_state(student, models.state)
    model = for_program(student, models.lm)
    if plan:
        _plan(student, splits, workspace.metric(target.task, source.metric), model, tuning, json)
        return
    options = tuning.keywords(seed)
    options["settings"] |= {"notes": notes} if notes else {}
    optimizer = tuning.optimizer
    if "guarded" in options["settings"] and optimizer != "patches":
        raise GoldassayError(f"--option guarded is for the optimizer patches, not for {optimizer}")
    folder = tuning.folder(f"tune-{target.label.replace(':', '-')}-{optimizer}")
    metric, _ = models.metric(target.task, source.metric, folder)
    options |= {"lm": model.lm, "adapter": model.adapter, "folder": folder}
    options |= {"resume": tuning.resume is not None, "repeats": tuning.repeats}
    resumable = optimizer in RESUMABLE
    try:
        with terminal.quiet():
            tuned = tune_program(student, splits, metric, optimizer, **options)
    except (StorageError, RunStopped) as error:
        then = f"continue with --resume {folder}" if resumable else f"run {optimizer} again from the start"
        raise RunStopped(f"{error}; finished measurements are safe; solve this, then {then}") from None
    except KeyboardInterrupt:
        then = f"continue with the same command and --resume {folder}"
        print(then if resumable else f"{optimizer} stores no state: the same command starts over", file=sys.stderr)
        raise
    labels = _plan_labels(tuned, student, target, tuning, model, notes) if tuning.inputs else None
    proof = _prove(tuned, folder, target, tuning) if notes and labels and not tuning.no_review else None
    _show(tuned, folder, json, labels, proof)


def _prove(tuned: Tuned, folder: Path, target: workspace.Target, tuning: TuningOptions) -> Proof:
    """Have the answers that differ labelled on the page, and write the verdict into the tuning."""
    from goldassay.tuning.saved import conclude

    proof = proof_of(label_on_page(tuning.draft or DRAFT, target.task, tuning), target.task)
    conclude(tuned, folder, proof)
    return proof


def _notes(target: workspace.Target, source: use.GoldOptions, tuning: TuningOptions) -> Notes | None:
    """The notes that patches are made from, if a review is named.

    Raises:
        GoldassayError: Another optimizer is named, or gold beside the review.
    """
    if tuning.modes is None:
        return None
    if tuning.optimizer != "patches" or source.gold:
        raise GoldassayError("--modes takes the place of --gold, and is for --optimizer patches")
    return notes_of(tuning.modes, target)


def _material(
    target: workspace.Target, source: use.GoldOptions, notes: Notes | None, seed: int
) -> tuple[dspy.Module, Splits]:
    """The program, and the examples by split: those of gold, or what a person corrected."""
    from goldassay.gold import TaskSet
    from goldassay.systems import indexed, task_gold
    from goldassay.tuning.tuner import splits_of

    if notes:
        gold = TaskSet(target.task, [{"path": [each.toDict() for each in notes.required]}], None, notes.inputs)
    else:
        _, gold = task_gold(source.gold, target, **source.reading())
    program = indexed(target.tunable(), gold.passages)
    splits = splits_of(gold, seed)
    return program, {name: list(examples)[: source.limit] for name, examples in splits.items()}


def _plan_labels(
    tuned: Tuned,
    student: dspy.Module,
    target: workspace.Target,
    tuning: TuningOptions,
    model: Model,
    notes: Notes | None,
) -> LabelPlan | None:
    """What to label to settle a result that is not proven, written as a draft; None if it is, or if none can be."""
    from goldassay.tuning.labelling import plan_labels
    from goldassay.tuning.options import TuneOptions
    from goldassay.tuning.verdict import shrunk

    trial = tuned.test or tuned.dev
    if tuned.audit.better:
        return None
    folder = trial.before.folder and trial.before.folder.parent
    options = TuneOptions(lm=model.lm, adapter=model.adapter, threads=tuning.threads, folder=folder, progress=False)
    programs = {"before": student, "after": tuned.program}
    gain = shrunk(trial.difference.difference, trial.difference.standard_error)
    try:
        with terminal.working("both programs on inputs without gold"):
            inputs = unread(Path(str(tuning.inputs)), target, notes)
            plan = plan_labels(target.task, programs, inputs, options, gains=(gain,))
    except GoldassayError as error:  # the tuning is done, and is shown
        terminal.warn(f"no draft was written: {error}")
        return None
    return write_draft(plan, tuning.draft or DRAFT, target.task)


def _plan(
    student: dspy.Module, splits: Splits, metric: Metric, model: Model, tuning: TuningOptions, json: bool
) -> None:
    """Say what a tuning could show and what it costs; a plan under which nothing can be accepted is an error."""
    from goldassay.running.evaluate import RunOptions
    from goldassay.tuning.plan import from_pilot, from_sizes

    options = RunOptions(lm=model.lm, adapter=model.adapter, threads=tuning.threads)
    with terminal.working("a pilot on dev"):
        sizes = from_sizes(tuning.optimizer, splits, optimizer_settings(tuning.option or ()))
        plan = from_pilot(sizes, student, splits, metric, options=options)
    terminal.output(plan, json, lambda plan: terminal.line("\n".join(plan.lines())))
    if plan.refusal:
        raise GoldassayError(plan.refusal)


def _tune_judge(
    judge: str, source: use.GoldOptions, models: use.ModelOptions, tuning: TuningOptions, seed: int, json: bool
) -> None:
    """Tune a judge on the human labels of a file."""
    from goldassay.cli.judge import labels_of, question
    from goldassay.judges.tuning import tune_judge
    from goldassay.lm import models as lm

    chosen = {**vars(models), **vars(source), "resume": tuning.resume, "repeats": tuning.repeats > 1}
    chosen["inputs"] = tuning.inputs
    if unused := next((name for name, value in chosen.items() if value and name not in FOR_JUDGES), None):
        raise GoldassayError(f"tune --judge takes no --{unused.replace('_', '-')}, which is for programs")
    asked, state = question(judge)
    if state:
        raise GoldassayError(f"{state} is a tuned judge; tune --judge takes the question, and tunes it anew")
    labels = labels_of(Path(source.gold or "heritage"), judge, map=source.map, limit=source.limit, labelled=True)
    model = lm.resolve(models.lm)
    folder = tuning.folder(f"tune-judge-{asked.name}-{tuning.optimizer}")
    options = tuning.keywords(seed) | {"lm": model, "adapter": lm.adapter(model), "folder": folder}
    with terminal.quiet():
        tuned = tune_judge(labels, tuning.optimizer, **options)
    _show(tuned, folder, json)


def _show(tuned: Tuned, folder: Path, json: bool, plan: LabelPlan | None = None, proof: Proof | None = None) -> None:
    from goldassay.tuning.saved import read_about

    labels: dict[str, Any] = {}
    if plan:
        labels = {"labels": {"needed": {f"{g:g}": n for g, n in plan.needed.items()}, "draft": plan.draft.state()}}
    terminal.output(read_about(folder / "tuning.json") | labels, json, lambda _: tables.tuned(tuned, folder))
    if json:
        return
    if proof:
        terminal.line(*proof.lines)
    elif plan:
        terminal.line(f"To settle it: {plan.sentence}.")


def optimizer_settings(options: Sequence[str]) -> dict[str, Any]:
    """The settings of an optimizer; ``guarded`` names measures and by how much each may drop.

    Raises:
        GoldassayError: One is not ``NAME=VALUE``, or its value cannot be read.

    >>> optimizer_settings(["rounds=5", "guarded=strict_f1,partial_f1=0.01"])
    {'rounds': 5, 'guarded': {'strict_f1': 0.0, 'partial_f1': 0.01}}
    """
    import yaml

    values: dict[str, Any] = {}
    for name, equals, text in (option.partition("=") for option in options):
        if not (name and equals):
            raise GoldassayError(f"--option expects NAME=VALUE such as rounds=5, got {name!r}")
        guards = [part.partition("=") for part in text.split(",")]
        try:
            guarded = name == "guarded"
            values[name] = {key.strip(): float(n or 0) for key, _, n in guards} if guarded else yaml.safe_load(text)
        except (ValueError, yaml.YAMLError):
            raise GoldassayError(f"the value of --option {name} cannot be read: {text!r}") from None
    return values


@dataclass(frozen=True)
class AuditOptions(use.SetOptions):
    """Options of an audit."""

    metric: use.Metric = None
    lm: use.Lm = None
    split: str | None = use.for_gold("NAME", "The split of --gold (default: test with --program, else dev).")
    program: str | None = use.for_model("TASK|FILE", "The program whose saved states are run on --gold.")
    baseline: str | None = use.for_gold("NAME", "The candidate that was there before.")
    threads: use.Threads = 1
    repeats: use.Repeats = 1
    resume: use.Resume = None
    out: Path | None = use.for_result("FILE", "Write the verdict as an HTML page here.")
    inputs: Inputs = None
    draft: DraftFile = None
    fresh: bool = use.flag("--fresh", "The examples of the two runs had no part in choosing the program.")
    fail_unless_better: bool = use.flag(
        "--fail-unless-better", 'Exit with status 1 unless the verdict is "helped"; two runs need --fresh, too.'
    )

    def settings(self, model: Model, folder: Path, seed: int) -> TuneOptions:
        """How both states are run."""
        from goldassay.tuning.options import TuneOptions

        return TuneOptions(
            lm=model.lm,
            adapter=model.adapter,
            threads=self.threads,
            repeats=self.repeats,
            seed=seed,
            progress=False,
            folder=folder,
            resume=self.resume is not None,
        )


def audit(
    results: Annotated[
        list[Path],
        use.argument(
            "RESULT... | [BEFORE] AFTER --program FILE",
            "The result of an optimizer (goldassay.audit.save, GEPA's to_dict(), a tuning folder, a CSV "
            "example,candidate,score); two or more runs or files of dspy.Evaluate, the baseline first; or the saved "
            "states of a program.",
        ),
    ],
    options: AuditOptions,
    force: bool = False,
    json: bool = False,
    seed: int = 0,
) -> None:
    """Did the optimizer help? The gain corrected for luck, leaks, and what would settle it."""
    from goldassay.tuning.verdict import LUCK

    use.new_place(options.out, force)
    if options.program and options.fresh:
        raise GoldassayError("--fresh says of two results that they are of fresh examples; --program runs these itself")
    if options.inputs or options.draft:
        audit = _by_labels(results, options, seed)
        runs: list[Run] = []
    else:
        audit, runs = _proven(results, options, seed) if options.program else (_audited(results, options), [])
    if options.out is not None:
        from goldassay.reporting.pages import report

        files.save(options.out, report(runs, audit=audit, title="Did the optimizer help?"))
    terminal.output(audit, json, tables.audit)
    if options.fail_unless_better and not audit.better:
        if LUCK in audit.findings:
            terminal.warn("--fail-unless-better passes two runs only with --fresh")
        raise SystemExit(1)


def _audited(results: list[Path], options: AuditOptions) -> Audit:
    """The verdict on what is there."""
    from goldassay.tuning.audit import audit

    gold: dict[str, Any] = {}
    if options.gold:
        from goldassay.gold import load

        part = next(iter(load(options.gold, task=options.task).tasks.values()))
        chosen = part.split(options.split or "dev") if part.splits else part.all
        gold = {"gold": list(chosen), "train": list(part.train) if "train" in part.splits else []}
    return audit(results[0], *results[1:], baseline=options.baseline, fresh=options.fresh, **gold)


def _states(results: list[Path]) -> tuple[list[Path | None], tuple[str, str]]:
    """Two states of a program, None for the program as it is, and what they are called.

    Raises:
        GoldassayError: There are more than two.
    """
    if len(results) > 2:
        raise GoldassayError("fresh proof takes one state, which is held against the program as it is, or two")
    before, after = [None, *results][-2:]
    return [before, after], (str(before or "the program as it is"), str(after))


def _by_labels(results: list[Path], options: AuditOptions, seed: int) -> Audit:
    """The verdict of a labelled draft; where there is none yet, what to label."""
    from goldassay.lm import for_program
    from goldassay.reviewing.exporting import labels_of
    from goldassay.running.labelled import decided
    from goldassay.systems import prepared, unlabelled
    from goldassay.tuning.labelling import of_labels, plan_labels

    if not options.program:
        raise GoldassayError("--inputs and --draft need --program, whose states are run on the inputs")
    states, names = _states(results)
    target = workspace.target(options.program, options.task)
    place = options.draft or DRAFT
    if place.suffix != ".jsonl" and not place.is_dir():
        raise GoldassayError(f"--draft expects a .jsonl file, got {place}")
    if place.exists():
        records: list[Any] = []
        if place.is_dir():
            check_task(place, target.task)
            records = labels_of(place)[0]
        else:
            records = [record for _, record in files.json_lines(place)]
        if not decided(records, target.task)[0]:
            raise GoldassayError(f"{place} is a draft without a label: label it from the top, or name another --draft")
        metric = workspace.metric(target.task, options.metric) if options.metric else None
        return of_labels(target.task, records, *names, metric)
    if options.inputs is None:
        raise GoldassayError(f"no draft at {place}; --inputs FILE drafts one")
    inputs = unlabelled(options.inputs, target)
    before = prepared(target, state=states[0])
    model = for_program(before, options.lm)
    programs = {"before": before, "after": prepared(target, state=states[1])}
    label = f"audit-{target.label.replace(':', '-')}"
    with (
        run_folder(options.resume, Path("runs"), label, model.name) as folder,
        terminal.working(f"both programs on {len(inputs)} inputs"),
    ):
        plan = plan_labels(target.task, programs, inputs, options.settings(model, folder, seed))
    write_draft(plan, place, target.task)
    return plan.audit(*names, place)


def _proven(results: list[Path], options: AuditOptions, seed: int) -> tuple[Audit, list[Run]]:
    """The verdict on two states of a program, run once on fresh examples, and the runs."""
    from goldassay.lm import for_program
    from goldassay.running import Run
    from goldassay.systems import examples, prepared
    from goldassay.tuning.audit import prove

    states, names = _states(results)
    target = workspace.target(str(options.program), options.task)
    data = examples(options.gold, target, options.split or "test")
    before = prepared(target, data, states[0])
    after = prepared(target, data, states[1])
    model = for_program(before, options.lm)
    about = {"baseline": names[0], "chosen": names[1], "source": f"fresh examples of {data.name}"}
    metric = workspace.metric(target.task, options.metric)
    with run_folder(options.resume, Path("runs"), f"audit-{target.label.replace(':', '-')}", model.name) as folder:
        settings = options.settings(model, folder, seed)
        with terminal.working("both programs on fresh examples"):
            audit = prove(before, after, data.examples, metric, settings, **about)
    return audit, [Run.load(place) for place in audit.details["runs"]]

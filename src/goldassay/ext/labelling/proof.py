"""The proof of a change by labels: both programs answer inputs without gold, and people label, blind, what differs.

    prove_by_labels(target, {"before": program, "after": tuned}, Path("draft.jsonl"), Path("inputs.jsonl"))

``goldassay audit``, ``patch test`` and ``tune`` with ``--unlabelled`` are this function. The same call goes on where
the last one ended: a draft stays as it is, and what is labelled of it is read.

Where the outputs of both are the same, a label says nothing of their difference; the others are drafted in a random
order (`goldassay.ext.labelling.drafts`). Once some are labelled, the draft alone holds all that the verdict needs
(`goldassay.ext.labelling.labelled`).

A gain g over N inputs of which M differ is at worst (M + g N) / 2 wins among the M: one of both outputs is right in
each. So many labels are needed at most that a random draw of them passes the exact sign test four times in five
(hypergeometric). Where both are wrong in some, or only one of both ever wins, fewer do.

A failure mode that a reviewer names counts for the answers that are not right. The change of its share is tested like
any difference of two systems; the tests of all modes are corrected together (Holm 1979).
"""

from __future__ import annotations

import json
import math
import webbrowser
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os.path import relpath
from pathlib import Path

import dspy
import numpy as np
import scipy
from dspy import Module

from goldassay import workspace
from goldassay._support import files, jsonl
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.options import shell_line
from goldassay.core.fields import Fields, JsonObject, names
from goldassay.core.measure import TASKS
from goldassay.core.metric import FunctionMetric, Metric
from goldassay.core.shape import UNKNOWN_SHAPE, ProgramShape, fields_read
from goldassay.ext.labelling import SUFFIX
from goldassay.ext.labelling.drafts import AGREE, Draft, Pool, draft
from goldassay.ext.labelling.labelled import PREFERRED, decided, ranked, verdict
from goldassay.ext.labelling.mode_judges import JUDGES, load_judge
from goldassay.ext.labelling.notes import Notes, reviewed_folder
from goldassay.ext.labelling.review import Review
from goldassay.ext.labelling.review.folder import Folder, task_of
from goldassay.ext.labelling.review.session import labels_of
from goldassay.ext.labelling.sources import pool_of
from goldassay.gold import write
from goldassay.gold.anyfields import ABOUT_RECORD
from goldassay.gold.records import INPUT_FIELDS
from goldassay.judges.judge import named
from goldassay.results.comparison import Comparison
from goldassay.results.view import p_value, signed
from goldassay.statistics import Interval, holm
from goldassay.statistics.design import SAMPLING, Design
from goldassay.tuning import TuneOptions
from goldassay.tuning.acceptance import ALPHA, MARGIN
from goldassay.tuning.measuring import resumable
from goldassay.tuning.verdict import Audit
from goldassay.tuning.wrappers import Examples
from goldassay.workspace import Target

NO_MODE_NAMED = (
    "It is unknown whether another failure mode became more frequent: none was named. In the review, name what is "
    "wrong with the answers that you do not choose (key m), or make a judge of the mode (goldassay judge eval)."
)


@dataclass(frozen=True)
class ShareChange:
    """How the share of a failure mode among all inputs changed; ``p`` is corrected for the number of modes."""

    mode: str
    change: Interval
    p: float
    by: str = "the review"

    @property
    def rose(self) -> bool:
        """Whether it became more frequent."""
        return self.change.value > 0 and self.p <= ALPHA

    def __str__(self) -> str:
        ends = self.change
        return f"{self.mode} {signed(ends.value, ends)}, p {p_value(self.p)}, by {self.by}"

    def state(self) -> JsonObject:
        """As JSON."""
        return {"mode": self.mode, **self.change.state(), "p": self.p, "more_frequent": self.rose, "by": self.by}


def mode_changes(
    task: str, records: Sequence[JsonObject], failures: Mapping[str, Mapping[str, Collection[str]]]
) -> list[ShareChange]:
    """The change of each mode's share, from the records of a blinded review.

    Args:
        task: The task.
        records: The records in the order of their labels.
        failures: By the ids of those that are decided, the modes that each system's answer has.
    """
    systems = Design.of(records).systems
    fields = ("id", SAMPLING, "suggestions", "document")  # no gold, so that the answers without the mode are counted
    verdicts = []
    for mode in dict.fromkeys(mode for failed in failures.values() for modes in failed.values() for mode in modes):
        rows = []
        for record in records:
            row = {key: record[key] for key in fields if key in record}
            if failed := failures.get(str(record["id"])):
                row[PREFERRED] = [name for name in systems if mode not in failed.get(name, ())]
            rows.append(row)
        verdicts.append(replace(verdict(task, rows, systems), measure=mode))
    gains = [(item.measure, item.gain) for item in ranked(verdicts) if item.interval is not None]
    return [ShareChange(mode, gain.interval.reversed, gain.p) for mode, gain in gains]


def judged_change(
    mode: str, verdicts: Sequence[tuple[bool, bool]], inputs: int, youden: Interval
) -> ShareChange | None:
    """The change of a mode's share by an aligned judge's verdicts; None if its error leaves every change possible.

    The share of yes changes by d = J × the change of the mode's share, if the judge errs as often on the answers before
    as on those after. So the interval holds each change c with (d − J c)² ≤ z² (var d + c² var J) (Fieller 1954), and
    with it the error of the judge.

    Args:
        mode: The mode.
        verdicts: Of each input that is answered otherwise, the verdict before and after.
        inputs: How many inputs there are.
        youden: J, the judge's sensitivity + specificity − 1, with its interval.
    """
    z = float(scipy.special.ndtri(1 - ALPHA / 2))
    moved = [after - before for before, after in verdicts]
    mean = sum(moved) / inputs
    squares = sum(item * item for item in moved) + 1  # one more, since a few verdicts do not show that none changes
    variance = squares / inputs**2 - mean**2 / inputs
    error = (youden.high - youden.low) / 2 / z
    a = youden.value**2 - (z * error) ** 2
    b = mean * youden.value
    c = mean**2 - z**2 * variance
    if a <= 0:
        return None
    half = math.sqrt(max(0.0, b * b - a * c))
    change = Interval(mean / youden.value, (b - half) / a, (b + half) / a, n=inputs, method="fieller")
    p = 2 * float(scipy.special.ndtr(-abs(mean) / math.sqrt(variance)))
    return ShareChange(mode, change, p, "its judge")


def corrected(changes: Sequence[ShareChange]) -> list[ShareChange]:
    """Changes of several modes with their p-values corrected for their number (Holm)."""
    adjusted = holm([change.p for change in changes])
    return [replace(change, p=p) for change, p in zip(changes, adjusted, strict=True)]


GAINS_TO_SHOW = (MARGIN, 0.1, 0.2)


@dataclass(frozen=True)
class LabelPlan:
    """The work to label: the drafted records, the gains that are to be shown, and the answers to all inputs."""

    draft: Draft
    gains: tuple[float, ...]
    disagreements: int
    population: int
    pool: Pool = field(default_factory=lambda: Pool("", {}))

    @property
    def needed(self) -> dict[float, int]:
        """How many labels of disagreements show each gain four times in five; one that all would not show is absent."""
        fewest = 6  # with fewer wins and no loss no two-sided test at .05 shows anything (2 · 2^-6 = .031)
        sizes = np.arange(fewest, self.disagreements + 1)
        losses = scipy.stats.binom.isf(0.025, sizes, 0.5)  # one win more passes the test
        counts: dict[float, int] = {}
        for gain in self.gains:
            wins = round((self.disagreements + gain * self.population) / 2)
            power = scipy.stats.hypergeom.sf(losses, self.disagreements, wins, sizes)
            enough = sizes[power >= 0.8]
            if enough.size:
                counts[gain] = int(enough[0])
        return counts

    @property
    def sentence(self) -> str:
        """How many outputs differ, and how many labels of them are needed."""
        before, after = self.draft.systems
        differ = (
            f"{before} and {after} differ on {self.disagreements} of {self.population} inputs; where they agree, "
            "a label says nothing about the difference"
        )
        counts = [f"at most {count} for a gain of {gain:+z.3f}" for gain, count in self.needed.items()]
        if not counts:
            return (
                f"{differ}; labels of all of these would not show a gain of {max(self.gains):+z.3f} four times in five"
            )
        return f"{differ}; labels of these that show it four times in five: {', '.join(counts)}"


def read_unlabelled(path: Path, target: Target, map: str | Mapping[str, str] | None = None) -> list[dspy.Example]:
    """The inputs of a source of drafts, as examples of a program's task; answers and gold that it has are left out.

    Args:
        path: The source (`goldassay.ext.labelling.sources.pool_of`).
        target: The program.
        map: The fields of the source under other names.
    """
    named = target.task if target.task in INPUT_FIELDS else f"{target.file}:{target.name}"
    records = [*pool_of([path], named, map=map).inputs.values()]
    fields = dict.fromkeys(name for record in records for name in record if name not in ABOUT_RECORD)
    names = (
        target.shape.task_inputs(INPUT_FIELDS[target.task], fields)
        if target.task in INPUT_FIELDS
        else target.shape.inputs_among(fields, str(target.file))
    )
    return [dspy.Example(**record).with_inputs(*(name for name in names if name in record)) for record in records]


def without_gold(gold: object, pred: object) -> float:
    """The metric of runs on inputs without gold."""
    return 1.0


def plan_labels(
    task: str,
    programs: Mapping[str, Module],
    inputs: Examples,
    options: TuneOptions,
    *,
    gains: tuple[float, ...] = GAINS_TO_SHOW,
    measure: str | None = None,
    shape: ProgramShape = UNKNOWN_SHAPE,
) -> LabelPlan:
    """Run two programs on inputs without gold, and draft those on which they differ.

    Args:
        task: The task.
        programs: The programs by name, the one that was there before first.
        inputs: The inputs, with ids.
        options: How the programs are run; with a folder, runs are stored there and can be resumed.
        gains: The gains that are to be shown.
        measure: The name of the measure that is asked about; by default the task's.
        shape: The fields of the program, of a task of your own.

    Raises:
        GoldassayError: The programs agree on all inputs, or one fails on all.
        RunStopped: A model answers no more.
    """
    options = options.resolved()
    answers: dict[str, list[JsonObject]] = {}
    for name, program in programs.items():
        run = resumable(program, inputs, Metric.of(without_gold), f"inputs-{name}", options)
        rows = [{**row.prediction, "id": row.id} for row in run.rows if row.prediction is not None]
        answers[name] = [json.loads(jsonl.dumps(row)) for row in rows]
    pool = Pool.of(task, [example.toDict() for example in inputs], answers, shape)
    chosen = draft(pool, "compare", n=40, measure=measure, seed=options.seed)
    differ = sum(size for name, size in chosen.sizes.items() if name != AGREE)
    return LabelPlan(chosen, gains, differ, len(pool.inputs), pool)


JUDGED_CHANGES = ".judged.json"  # beside a draft: what judges of modes say of it


@dataclass(frozen=True)
class Proof:
    """The verdict on a changed program, and the change of each failure mode.

    Args:
        draft: What to label, or the review of it.
        population: How many inputs it stands for.
        verdict: The verdict of the labels; None before the first one.
        reviewed: The modes that were named in the review.
        judged: The modes that judges were asked about.
        plan: How many labels are needed, if the draft was made now.
        task: The task or the program's file, for the page, if the answers of the draft do not imply it.
    """

    draft: Path
    population: int
    verdict: Comparison | None = None
    reviewed: Sequence[ShareChange] = ()
    judged: Sequence[ShareChange] = ()
    plan: LabelPlan | None = None
    task: str = ""

    @property
    def review(self) -> str:
        """The command that opens the page."""
        return shell_line("goldassay review", self.draft, task=self.task or None)

    @property
    def changes(self) -> list[ShareChange]:
        """The change of each mode: as the review shows it, else as its judge does."""
        named = {change.mode for change in self.reviewed}
        return [*self.reviewed, *(change for change in self.judged if change.mode not in named)]

    @property
    def lines(self) -> list[str]:
        """The verdict, and what is known of the modes, for people."""
        if self.verdict is None:
            return [f"Nothing is labelled yet in {self.draft}: {self.review}"]
        if not self.changes:
            return [self.verdict.sentence, NO_MODE_NAMED, *self.verdict.details]
        rose = [change for change in self.changes if change.rose]
        head = "No failure mode is shown to have become more frequent."
        if rose:
            head = f"More frequent than before: {', '.join(change.mode for change in rose)}."
        shares = "; ".join(map(str, self.changes))
        change = f"{head} Change of each mode's share of all inputs: {shares}."
        return [self.verdict.sentence, change, *self.verdict.details]

    def state(self) -> JsonObject:
        """As JSON."""
        labels = self.verdict.label_state() if self.verdict else None
        return {"verdict": labels, "modes": [change.state() for change in self.changes], "sentences": self.lines}

    def audit(self, before: str, after: str) -> Audit:
        """The same as a verdict on an optimizer's result; before the first label what is to be labelled.

        Args:
            before: The program as it was, in words.
            after: The other.

        Raises:
            GoldassayError: Nothing is labelled of a draft that was there before.
        """
        plan = self.plan
        result = self.verdict
        about: Fields = {"baseline": before, "chosen": after}
        about |= {"examples": self.population, "clusters": self.population}
        if result is not None:
            about |= {"source": f"{result.n} labels", "details": {"labels": result.label_state()}}
            about["findings"] = (result.sentence, *result.details, *result.warnings)
            if result.labels is None or result.interval is None:
                return Audit(None, **about)
            gain = result.gain
            return Audit(gain, naive_gain=gain.difference, needed=result.labels.needed, **about)
        if plan is not None:
            needed = plan.needed
            drafted = f"{len(plan.draft.records)} are drafted in {self.draft}"
            then = f"{drafted}: label them from the top ({self.review}), and run the same command"
            target, count = next(iter(needed.items()), (None, None))
            details = {"draft": plan.draft.state(), "labels_needed": {f"{g:g}": n for g, n in needed.items()}}
            about |= {"source": "inputs without gold", "findings": (plan.sentence, then), "details": details}
            return Audit(None, needed=count, target=target, **about)
        raise GoldassayError(
            f"nothing is labelled yet in {self.draft}: label it from the top ({self.review}), and run the same command"
        )


def prove_by_labels(
    target: Target,
    programs: Mapping[str, Module],
    draft: Path,
    unlabelled: Path | None = None,
    options: TuneOptions | None = None,
    *,
    map: str | Mapping[str, str] | None = None,
    notes: Notes | None = None,
    judge_lm: str | None = None,
    metric: Metric | None = None,
    gains: tuple[float, ...] = GAINS_TO_SHOW,
    page: bool = False,
    on_message: Callable[[str], object] | None = None,
) -> Proof:
    """Run two programs on inputs without gold, draft what they answer otherwise, and give the verdict of its labels.

    Args:
        target: The program and its task.
        programs: The programs by name, the one that was there before first.
        draft: Where the draft is, or goes to; or the folder of its review.
        unlabelled: The inputs without gold, which are drafted if there is no draft yet.
        map: The fields of the inputs under other names; by default those of the review of ``notes``.
        options: How the programs are run; by default in a folder beside the draft, where an interrupted run goes on.
        notes: The review that the change was made from: what was read there proves nothing, and its judges are asked.
        judge_lm: The model of these judges; by default they are not asked.
        metric: The metric that labels are measured by; by default the task's.
        gains: The gains that the labels are to show.
        page: Open the page on which people label, and wait for its end.
        on_message: Called with what a person should know on the way.

    Raises:
        GoldassayError: There is neither a draft nor inputs, the programs agree on all of them, or the draft is of
            another task.
        RunStopped: A model answers no more.
    """
    tell = on_message or (lambda text: None)
    plan = None
    if not draft.exists():
        if unlabelled is None:
            raise GoldassayError(f"no draft at {draft}; name the inputs to draft from (`unlabelled=FILE`)")
        columns = Folder.read(notes.folder).settings.map if notes and map is None else map
        examples = read_unlabelled(unlabelled, target, columns)
        unread = notes.unread(examples) if notes else examples
        if not unread:
            raise DataError("every input was read in the review that made the patch; name others", file=unlabelled)
        if len(unread) < len(examples):
            tell(f"{len(examples) - len(unread)} of {len(examples)} inputs were read in the review and are left out")
        shape = UNKNOWN_SHAPE
        if target.task not in TASKS:
            shape = target.shape
            if metric or workspace.has_metric(target):
                _check_labels_fit(metric or workspace.metric(target), shape.outputs, unread)
        options = options or TuneOptions()
        if options.folder is None:
            options = replace(options, folder=draft.with_suffix(".runs"), resume=True)
        plan = plan_labels(target.task, programs, unread, options, gains=gains, shape=shape)
        draft.parent.mkdir(parents=True, exist_ok=True)
        write(draft, plan.draft.records, task=target.task)
        for text in (*plan.draft.warnings, f"{plan.sentence}."):
            tell(text)
        if notes and judge_lm:
            judged = _judged(notes.folder, judge_lm, plan, options.threads, tell)
            files.save_json(draft.with_suffix(JUDGED_CHANGES), [asdict(change) for change in judged])
            for change in judged:
                tell(f"{change}.")
    elif unlabelled is not None:
        tell(f"This continues with {draft}; to draft from other inputs, move it away with its review.")
    folder = draft if draft.is_dir() else draft.with_suffix(SUFFIX)
    own = target.task not in TASKS and target.task == target.file.stem
    name = "" if target.name == "program" else f":{target.name}"
    task = relpath(target.file) + name if own else target.task
    if page:
        with Review(Folder.open([draft], task)) as opened:
            tell(f"Label here, and end the review on the page or with Ctrl-C: {opened.url}")
            webbrowser.open(opened.url)
            opened.server.wait()
        folder = opened.folder
    records: list[JsonObject] = []
    failures: dict[str, dict[str, Sequence[str]]] = {}
    if folder.is_dir():
        reviewed_folder(folder, target.task)
        records, failures = labels_of(folder)
    if draft.is_file() and not decided(records, target.task)[0]:  # the draft itself may be labelled
        records = [record for _, record in files.json_lines(draft)]
    saved = draft.with_suffix(JUDGED_CHANGES)
    rows = files.json_value(saved) if saved.exists() else []
    judged = [files.validated(ShareChange, row, saved) for row in rows]
    design = Design.of(records)
    population = design.population if design.drafted else len(records)
    labelled, by_choice = decided(records, target.task, metric=metric is not None)
    if not labelled:
        task = "" if task_of(records) == target.task else task
        return Proof(draft, population, judged=judged, plan=plan, task=task)
    if target.task not in TASKS and not by_choice:
        metric = metric or workspace.metric(target)
    result = verdict(target.task, records, design.systems, metric)
    return Proof(draft, population, result, mode_changes(target.task, records, failures), judged, plan)


def _check_labels_fit(metric: Metric, outputs: Sequence[str], inputs: Sequence[object]) -> None:
    """Check that a function that measures labels reads fields that they have, if the program says what it answers."""
    gold = fields_read(metric.function, 0) if isinstance(metric, FunctionMetric) else set()
    missing = sorted(gold - {"id"} - {name for record in inputs for name in names(record)})
    if outputs and missing and not gold & {*outputs}:
        raise GoldassayError(
            f"the metric reads gold.{missing[0]}, and neither the inputs nor labels have it: labels have the outputs "
            f"of the program ({', '.join(outputs)}); let the metric read gold.{outputs[0]}"
        )


def _judged(
    folder: Path, model: str, plan: LabelPlan, threads: int, tell: Callable[[str], object]
) -> list[ShareChange]:
    """How each mode changes that has an aligned judge in a review, by its verdicts on what is answered otherwise."""
    cases: list[tuple[JsonObject, JsonObject]] = []
    for name, record in plan.pool.inputs.items():
        records = [record, *(answer or {} for answer in plan.pool.outputs(name))]
        inputs, before, after = [{key: side[key] for key in side if key not in ABOUT_RECORD} for side in records]
        cases += [(inputs, before), (inputs, after)] if before != after else []
    changes: list[ShareChange | None] = []
    for file in sorted((folder / JUDGES).glob("*.json")):
        saved = files.json_value(file)
        judge = load_judge(folder, str(saved["mode"]), named(model))
        if judge is None:
            tell(f"the judge of {saved['mode']!r} is no better than chance, and is not asked")
            continue
        votes = judge.verdicts(cases, threads=threads)
        pairs = list(zip(map(bool, votes[::2]), map(bool, votes[1::2]), strict=True))
        changes.append(judged_change(judge.mode.name, pairs, plan.population, Interval(**saved["youden"])))
    return corrected([change for change in changes if change])

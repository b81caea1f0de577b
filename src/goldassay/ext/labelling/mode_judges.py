"""A judge for a failure mode: whether an output has a kind of failure that a reviewer named, yes or no.

    judge = mode_judge(mode, traces, Judge(lm))
    result = align(judge, traces, population)
    if result.better_than_chance:
        judge.save(folder, result)

It is asked by the mode's name and description. Of the traces that a person read, a seed chooses some with the failure
and some without as demonstrations, whose notes it reads, too. All others are labels that it has not seen:

* Sensitivity and specificity have Wilson's intervals. Youden's J = sensitivity + specificity - 1 has Newcombe's; a
  judge is better than chance if all of it is above 0. Only then are its verdicts used.
* The share of all traces, from labels y by strata and verdicts v of all N traces, is
  sum W_h mean(y)_h + lambda (mean(v) - sum W_h mean(v)_h), with the interval of `goldassay.statistics.sampling`. One
  lambda for all strata makes this the stratified estimate, though nobody knows the strata of unread traces: the mean
  verdict over all traces is enough.
* Demonstrations were chosen by their label, so leaving them out would change the share. They keep their labels; in
  place of their verdicts they have the mean verdict of the unseen traces with the same label.
* If the traces are not those that the labelled ones were drawn from, the share is Rogan and Gladen's. Labelled traces
  that do not say how they were chosen are a random sample of them.

An unknown verdict is not a yes in the share, and is left out of sensitivity and specificity. How often the intervals
hold the truth: docs/labels.md.
"""

from __future__ import annotations

import copy
import hashlib
import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import dspy
from pydantic import BaseModel

from goldassay._support import files
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.secrets import redact, scrub
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.ext.labelling.modes import Mode, ModeTable, ReviewedTrace, design_of, mode_shares, read_modes
from goldassay.ext.labelling.review.session import all_traces, reviewed_traces
from goldassay.judges.agreement import Report, rate
from goldassay.judges.judge import Judge, data
from goldassay.judges.labels import JudgedItem, poll
from goldassay.judges.questions import Kind, failure
from goldassay.results.view import Note, Sentence, Table, TableRow, View
from goldassay.statistics.design import Sampling
from goldassay.statistics.intervals import Interval, share_difference
from goldassay.statistics.ppi import corrected

SHOWN = 3  # demonstrations with the failure, at most, and as many without it
JUDGES = "judges"  # the folder, inside that of a review
Case = tuple[Record, Record]
"""The inputs of a trace, and what a system answered."""


@dataclass
class ModeJudge:
    """A judge of one failure mode.

    It is asked by the mode's name and description, and the notes of demonstrations with the failure (``question``).

    Args:
        mode: The mode.
        judge: The judge that it is made of; a copy of it is shown the demonstrations.
        demos: The demonstrations, each with the id of its trace.
    """

    mode: Mode
    judge: Judge
    demos: Sequence[Fields]

    def __post_init__(self) -> None:
        noted = [demo["note"] for demo in self.demos if demo["verdict"] == "yes" and demo["note"]]
        self.question = failure(self.mode.name, self.mode.description, noted)
        signature = self.question.signature
        program = dspy.Predict(signature)
        program.demos = [dspy.Example(**{name: demo[name] for name in signature.fields}) for demo in self.demos]
        self.judge = copy.copy(self.judge)
        self.judge.programs = {**self.judge.programs, signature.__name__: program}

    @property
    def shown(self) -> list[str]:
        """The ids of the traces that it is shown."""
        return [demo["id"] for demo in self.demos]

    def verdicts(self, cases: Sequence[Case], *, threads: int = 1) -> list[bool | None]:
        """Whether each output has the failure; None is unknown.

        Args:
            cases: The inputs and the output of each trace.
            threads: How many at once.
        """
        items = [JudgedItem(str(index), _inputs(case)) for index, case in enumerate(cases)]
        votes = poll(self.judge, self.question, items, threads=threads)
        return [None if vote.label is None else vote.label == "yes" for vote in votes]

    def save(self, folder: Path | str, alignment: ModeAlignment) -> Path:
        """Write the judge and how good it is to the folder of a review, without secrets; returns the file."""
        file = _file(folder, self.mode.name)
        state = {"description": self.mode.description, "demos": self.demos, "judge": str(self.judge)}
        files.save_json(file, scrub({**state, **alignment.state()}))
        return file


def mode_judge(mode: Mode, traces: Sequence[ReviewedTrace], judge: Judge, *, seed: int = 0) -> ModeJudge:
    """A judge of a mode, with some of the traces as demonstrations; nothing is asked yet.

    Traces with a note but no mode are not shown: they may have this failure.

    Args:
        mode: The mode.
        traces: The traces that a person read.
        judge: The judge.
        seed: Chooses the demonstrations.

    Raises:
        DataError: There are fewer than two traces with the mode, or without it.
    """
    failed = [trace for trace in traces if mode.name in trace.modes]
    fine = [trace for trace in traces if mode.name not in trace.modes and (trace.modes or not trace.note)]
    if min(len(failed), len(fine)) < 2:
        counts = f"{len(failed)} of {len(traces)} have it"
        raise DataError(f"a judge of {mode.name!r} needs 2 reviewed traces with it and 2 without; {counts}")
    rng = random.Random(f"{seed} {mode.name}")
    demos: list[JsonObject] = []
    for label, side in (("yes", failed), ("no", fine)):
        # at most one in four of either kind, so that most are left to measure the judge
        for trace in rng.sample(side, min(SHOWN, max(1, len(side) // 4))):
            texts = {name: data(text) for name, text in _inputs((trace.fields, trace.output)).items()}
            demos.append({"id": trace.id, **texts, "verdict": label, "note": trace.note or ""})
    rng.shuffle(demos)
    return ModeJudge(mode, judge, demos)


def _inputs(case: Case) -> dict[str, str]:
    """The parts of a trace that the judge reads."""
    texts = ["\n".join(f"{name}: {value}" for name, value in fields.items()) for fields in case]
    return dict(zip(("input", "output"), texts, strict=True))


@dataclass(frozen=True)
class ModeAlignment(Report):
    """A judge of a mode against the labels that it has not seen, and the share of the mode.

    Args:
        mode: The name of the mode.
        unseen: How many other labelled traces have a verdict.
        with_mode: How many of those have the failure.
        sensitivity: The share of yes among the unseen traces with the failure.
        specificity: The share of no among those without it.
        youden: Sensitivity + specificity - 1: 0 is chance.
        better_than_chance: Whether all of that interval is above 0.
        traces: How many traces the share is of.
        verdicts: The share of yes among their verdicts, as they are.
        labels_only: The share among the traces that were drafted from, from the labels alone; None if the design tells
            none.
        share: The share corrected by the verdicts; None if the judge is not better than chance.
        warnings: What a reader should know.
    """

    mode: str
    unseen: int
    with_mode: int
    sensitivity: Interval | None
    specificity: Interval | None
    youden: Interval | None
    better_than_chance: bool
    traces: int
    verdicts: float | None
    labels_only: Interval | None
    share: Interval | None
    warnings: Sequence[str]

    def view(self) -> View:
        """Its errors on labels that it has not seen, and the share of the mode."""
        title = f"a judge of {self.mode!r}: {self.unseen} labels that it has not seen, {self.with_mode} with it"
        values: list[TableRow] = [
            ["sensitivity", self.sensitivity],
            ["specificity", self.specificity],
            ["Youden's J", self.youden],
            [f"share of {self.traces:,} traces, corrected", self.share],
            ["the same by the labels alone", self.labels_only],
            ["verdicts as they are", self.verdicts],
        ]
        view: View = [Table(title, ["value", "estimate [95 %]"], values)]
        if not self.better_than_chance:
            chance = "No better than chance (J may be 0): its verdicts are not used."
            view.append(Sentence(f"{chance} The share is that of the labels alone."))
        return [*view, *map(Note, self.warnings)]


def align(
    judge: ModeJudge, traces: Sequence[ReviewedTrace], population: Mapping[str, Case], *, threads: int = 1
) -> ModeAlignment:
    """A judge against the labels that it has not seen, and the share of its mode among all traces.

    Args:
        judge: The judge.
        traces: The traces that a person read.
        population: All traces by id; those that were read may be among them.
        threads: How many traces are judged at once.

    Raises:
        ModelError: The judge's model gives no answer.
    """
    cases = {**population, **{trace.id: (trace.fields, trace.output) for trace in traces}}
    unseen = [name for name in cases if name not in judge.shown]
    votes = judge.verdicts([cases[name] for name in unseen], threads=threads)
    return alignment(judge.mode.name, traces, dict(zip(unseen, votes, strict=True)), population)


def alignment(
    mode: str, traces: Sequence[ReviewedTrace], verdicts: Mapping[str, bool | None], population: Collection[str]
) -> ModeAlignment:
    """The same from verdicts by id; a trace without one was shown to the judge.

    >>> traces = [ReviewedTrace(str(n), modes=("no total",) if n < 20 else ()) for n in range(60)]
    >>> verdicts = {str(n): n < 18 or 50 <= n < 54 for n in range(1, 400)}
    >>> result = alignment("no total", traces, verdicts, [str(n) for n in range(400)])
    >>> result.better_than_chance, round(result.sensitivity.value, 3), round(result.specificity.value, 3)
    (True, 0.895, 0.9)
    """
    labels = {trace.id: mode in trace.modes for trace in traces}
    seen = [(label, verdicts[name]) for name, label in labels.items() if verdicts.get(name) is not None]
    hits = [bool(verdict) for label, verdict in seen if label]
    alarms = [bool(verdict) for label, verdict in seen if not label]
    youden = share_difference((sum(hits), len(hits)), (sum(alarms), len(alarms))) if hits and alarms else None
    better = youden is not None and youden.low > 0
    values = {name: float(verdict is True) for name, verdict in verdicts.items()}
    for side in (True, False):
        same = [name for name, label in labels.items() if label == side]
        usual = fmean([values[name] for name in same if name in values] or [0.0])
        values |= {name: usual for name in same if name not in values}
    mean = fmean(values[name] for name in population)
    design = design_of([trace for trace in traces if trace.sampling])
    drafted = design.population if design.drafted else len(population)
    sample = labels.keys() <= {*population} and drafted == len(population)
    share = None
    if better and sample:
        plain = Sampling(question="level", stratum="all", size=drafted, population=drafted, position=0)
        judged = []
        for trace in traces:  # with the judge's verdict, and the mean verdict of all traces
            verdict = {"verdict": values[trace.id], "verdict_mean": mean}
            judged.append(replace(trace, sampling=(trace.sampling or plain).model_copy(update=verdict)))
        share = _share(mode, judged)
    elif better:
        unseen = [name for name in labels if name in verdicts]
        unlabelled = [values[name] for name in population if name not in labels]
        pairs = [labels[name] for name in unseen], [values[name] for name in unseen]
        share = corrected(*pairs, unlabelled, origin="elsewhere").chosen
    unknown = sum(verdict is None for verdict in verdicts.values())
    warnings = {
        f"{unknown} of {len(verdicts)} verdicts are unknown and count as no in the share": unknown,
        "the labelled traces are not a sample of these traces: only the judge's error rates give the share": not sample,
    }
    return ModeAlignment(
        mode=mode,
        unseen=len(seen),
        with_mode=len(hits),
        sensitivity=rate(hits),
        specificity=rate([not verdict for verdict in alarms]),
        youden=youden,
        better_than_chance=better,
        traces=len(population),
        verdicts=mean,
        labels_only=_share(mode, traces),
        share=share,
        warnings=[warning for warning, holds in warnings.items() if holds],
    )


def _share(mode: str, traces: Sequence[ReviewedTrace]) -> Interval | None:
    return next(item.share for item in mode_shares(traces, [Mode(mode)]) if item.mode.name == mode)


def judge_from_notes(
    folder: Path, mode: str, judge: Judge, traces: Sequence[Path] = (), *, threads: int = 1, seed: int = 0
) -> tuple[ModeAlignment, Path]:
    """A judge of a mode made from the notes of a review, measured, and written to the folder: how good it is, its file.

    Args:
        folder: The folder of the review.
        mode: The mode, as the reviewers named it.
        judge: The judge that it is made of.
        traces: All traces, if they are not where the folder says; or other traces.
        threads: How many traces are judged at once.
        seed: Chooses the demonstrations.

    Raises:
        GoldassayError: There is no such mode.
        DataError: There are too few traces with the mode or without it, or they cannot be read.
    """
    reviewed = reviewed_traces(folder)
    modes = {share.mode.name: share.mode for share in ModeTable.of(reviewed, read_modes(folder)).shares}
    if mode not in modes:
        raise GoldassayError(f"no mode {mode!r}; there are {', '.join(modes) or 'none'}")
    population = all_traces(folder, traces)
    bound = mode_judge(modes[mode], reviewed, judge, seed=seed)
    result = align(bound, reviewed, population, threads=threads)
    return result, bound.save(folder, result)


def suggest_modes(
    traces: Sequence[ReviewedTrace], modes: Sequence[Mode], judge: Judge
) -> dict[str, list[ReviewedTrace]]:
    """The traces with a note but no mode, by the mode that a model suggests for each: one of these, or a new one.

    Nothing is written. A note for which no answer can be read is under the empty name.

    Args:
        traces: The traces that a person read.
        modes: The modes that there are; what is suggested for one note is offered for the next.
        judge: The judge that is asked.
    """
    kinds = {mode.name.casefold(): mode for mode in modes}
    groups: dict[str, list[ReviewedTrace]] = {}
    for trace in traces:
        if not trace.note or trace.modes:
            continue
        listed = "\n".join(f"{mode.name}: {mode.description}" for mode in kinds.values())
        fields = judge.ask(Kind, None, kinds=listed, note=redact(trace.note)) or {"kind": ""}
        name = " ".join(fields["kind"].split()).strip(" .\"'")[:60]
        if name:
            name = kinds.setdefault(name.casefold(), Mode(name)).name
        groups.setdefault(name, []).append(trace)
    return groups


class _Saved(BaseModel):
    """The fields of a judge's file that are needed to ask it again."""

    mode: str
    description: str
    demos: tuple[dict[str, str], ...]
    better_than_chance: bool


def load_judge(folder: Path | str, mode: str, judge: Judge) -> ModeJudge | None:
    """The saved judge of a mode, bound to a model; None if none was saved that is better than chance.

    Args:
        folder: The folder of the review.
        mode: The name of the mode.
        judge: The judge without demonstrations.

    Raises:
        DataError: The file is not that of a judge.
    """
    file = _file(folder, mode)
    if not file.exists():
        return None
    saved = files.validated(_Saved, files.json_value(file), file)
    if saved.mode != mode or not saved.better_than_chance:
        return None
    return ModeJudge(Mode(mode, saved.description), judge, saved.demos)


def _file(folder: Path | str, mode: str) -> Path:
    """The file of a mode's judge: its words as far as they are safe on every system, and a hash of its name."""
    words = re.sub(r"[^a-z0-9]+", "-", mode.casefold())[:60].strip("-")
    return Path(folder) / JUDGES / f"{words}-{hashlib.sha256(mode.encode()).hexdigest()[:8]}.json"

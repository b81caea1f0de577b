"""A judge for a failure mode: whether an output has a kind of failure that a reviewer named, yes or no.

    judge = mode_judge(mode, traces, Judge(lm))
    result = align(judge, traces, population)
    if result.better_than_chance:
        judge.save(folder, result)

It is asked by the mode's name and description. Of the traces that a person read, a seed chooses some with the failure
and some without as demonstrations, with the reviewer's notes as reasons. All others are labels that it has not seen:

* Sensitivity and specificity have Wilson's intervals. Youden's J = sensitivity + specificity - 1 has Newcombe's; a
  judge is better than chance if all of it is above 0. Only then are its verdicts used.
* The share of all traces, from labels y by strata and verdicts v of all N traces, is
  sum W_h mean(y)_h + lambda (mean(v) - sum W_h mean(v)_h), with the interval of `goldassay.statistics.sampling`. One
  lambda for all strata makes this the stratified estimate, though nobody knows the strata of unread traces: the mean
  verdict over all traces is enough.
* Demonstrations were chosen by their label, so leaving them out would change the share. They keep their labels; in
  place of their verdicts they have the mean verdict of the unseen traces with the same label.
* If the traces are not those that the labelled ones were drawn from, the share is Rogan and Gladen's.

An unknown verdict is not a yes in the share, and is left out of sensitivity and specificity. How often the intervals
hold the truth: docs/labels.md.
"""

from __future__ import annotations

import copy
import hashlib
import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean

import dspy
from pydantic import BaseModel

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.fields import Fields, Record
from goldassay.gold.modes import Mode, ReviewedTrace, design_of, mode_shares
from goldassay.gold.outputs import as_text
from goldassay.judges.agreement import Report, rate
from goldassay.judges.judge import Judge, Panel
from goldassay.judges.labels import JudgedItem, poll
from goldassay.judges.questions import Kind, Question, failure
from goldassay.judges.tuning import examples
from goldassay.secrets import redact, scrub
from goldassay.statistics.design import Sampling
from goldassay.statistics.intervals import Interval, share_difference
from goldassay.statistics.ppi import corrected

SHOWN = 3  # demonstrations with the failure, at most, and as many without it
PART = 4  # at most one in so many of either kind is shown, so that most are left to measure the judge
LONGEST_NAME = 60  # characters of a suggested mode
JUDGES = "judges"  # the folder, inside that of a review
Case = tuple[Record, Record]
"""The inputs of a trace, and what a system answered."""


@dataclass(frozen=True)
class ModeJudge:
    """A judge of one failure mode.

    Args:
        mode: The mode.
        judge: The judge, with the demonstrations.
        demos: The demonstrations, each with the id of its trace.
    """

    mode: Mode
    judge: Judge
    demos: tuple[Fields, ...]

    @cached_property
    def question(self) -> Question:
        """What it is asked."""
        return failure(self.mode.name, self.mode.description)

    @property
    def learnt(self) -> list[str]:
        """The ids of the traces that it is shown."""
        return [demo["id"] for demo in self.demos]

    def verdicts(
        self, cases: Sequence[Case], *, threads: int = 1, on_vote: Callable[[int], object] | None = None
    ) -> list[bool | None]:
        """Whether each output has the failure; None is unknown.

        Args:
            cases: The inputs and the output of each trace.
            threads: How many at once.
            on_vote: Called with how many are done.
        """
        items = [JudgedItem(str(place), _inputs(case)) for place, case in enumerate(cases)]
        votes = poll(self.judge, self.question, items, threads=threads, on_vote=on_vote)
        return [None if vote.label is None else vote.label == "yes" for vote in votes]

    def save(self, folder: Path | str, alignment: ModeAlignment) -> Path:
        """Write the judge and how good it is to the folder of a review, without secrets; returns the file."""
        file = _file(folder, self.mode.name)
        state = {"description": self.mode.description, "demos": self.demos, **alignment.state()}
        files.save_json(file, scrub(state))
        return file


def mode_judge(mode: Mode, traces: Sequence[ReviewedTrace], judge: Judge, *, seed: int = 0) -> ModeJudge:
    """A judge of a mode, with some of the traces as demonstrations; nothing is asked yet.

    Traces with a note but no mode are not shown: they may have this failure.

    Args:
        mode: The mode.
        traces: The traces that a person read.
        judge: The judge, or a panel.
        seed: Chooses the demonstrations.

    Raises:
        DataError: There are fewer than two traces with the mode, or without it.
    """
    sides = {
        "yes": [trace for trace in traces if mode.name in trace.modes],
        "no": [trace for trace in traces if mode.name not in trace.modes and (trace.modes or not trace.note)],
    }
    if min(map(len, sides.values())) < 2:
        counts = f"{len(sides['yes'])} of {len(traces)} have it"
        raise DataError(f"a judge of {mode.name!r} needs 2 reviewed traces with it and 2 without; {counts}")
    rng = random.Random(f"{seed} {mode.name}")
    items = []
    for label, side in sides.items():
        for trace in rng.sample(side, min(SHOWN, max(1, len(side) // PART))):
            reason = {"reason": trace.note} if trace.note and label == "yes" else {}
            items.append(JudgedItem(trace.id, _inputs((trace.fields, trace.output)), {"reviewer": label}, notes=reason))
    rng.shuffle(items)
    question = failure(mode.name, mode.description)
    fields = ("id", *question.signature.fields)
    demos = [{name: demo[name] for name in fields if name in demo} for demo in examples(items, question)]
    return ModeJudge(mode, _taught(judge, question, demos), tuple(demos))


def _taught(judge: Judge, question: Question, demos: Sequence[Fields]) -> Judge:
    """The same judge (or panel) with demonstrations for a question."""
    program = dspy.Predict(question.signature)
    program.demos = [dspy.Example(**demo).without("id") for demo in demos]
    taught = copy.copy(judge)
    taught.programs = {**judge.programs, question.signature.__name__: program}
    if isinstance(taught, Panel):
        taught.members = tuple(_taught(member, question, demos) for member in taught.members)
    return taught


def _inputs(case: Case) -> dict[str, str]:
    """What the judge reads of a trace: its fields by name, or the only one as it is."""
    texts = []
    for fields in case:
        lines = {name: value if isinstance(value, str) else as_text(value) for name, value in fields.items()}
        text = "\n".join(lines.values() if len(lines) == 1 else map(": ".join, lines.items()))
        texts.append(text or "(nothing)")
    return dict(zip(("input", "output"), texts, strict=True))


@dataclass(frozen=True)
class ModeAlignment(Report):
    """A judge of a mode beside the labels that it has not seen, and the share of the mode.

    Args:
        mode: The name of the mode.
        judge: The judge.
        shown: How many traces it is shown.
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
        elsewhere: Whether the labelled traces are not a part of these.
        warnings: What a reader should know.
    """

    mode: str
    judge: str
    shown: int
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
    elsewhere: bool
    warnings: Sequence[str]


def align(
    judge: ModeJudge,
    traces: Sequence[ReviewedTrace],
    population: Mapping[str, Case],
    *,
    threads: int = 1,
    on_vote: Callable[[int], object] | None = None,
) -> ModeAlignment:
    """A judge beside the labels that it has not seen, and the share of its mode among all traces.

    Args:
        judge: The judge.
        traces: The traces that a person read.
        population: All traces by id; those that were read may be among them.
        threads: How many traces are judged at once.
        on_vote: Called with how many are done.

    Raises:
        ModelError: The judge's model gives no answer.
    """
    cases = {**population, **{trace.id: (trace.fields, trace.output) for trace in traces}}
    unseen = [name for name in cases if name not in judge.learnt]
    votes = judge.verdicts([cases[name] for name in unseen], threads=threads, on_vote=on_vote)
    verdicts = dict(zip(unseen, votes, strict=True))
    return replace(alignment(judge.mode.name, traces, verdicts, population), judge=str(judge.judge))


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
    hits = [verdict for name, label in labels.items() if label and (verdict := verdicts.get(name)) is not None]
    alarms = [verdict for name, label in labels.items() if not label and (verdict := verdicts.get(name)) is not None]
    youden = share_difference((sum(hits), len(hits)), (sum(alarms), len(alarms))) if hits and alarms else None
    better = youden is not None and youden.low > 0
    values = _values(labels, verdicts)
    mean = fmean(values[name] for name in population) if population else None
    design = design_of(traces)
    elsewhere = not population or not labels.keys() <= {*population}
    if design is not None and any(trace.sampling for trace in traces):
        elsewhere = elsewhere or design.population != len(population)
    share = None
    if better and mean is not None and not elsewhere:
        share = _by_design(labels, traces, values, mean)
    if better and elsewhere:
        share = _elsewhere(labels, verdicts, population)
    unknown = sum(verdict is None for verdict in verdicts.values())
    untagged = sum(bool(trace.note) and not trace.modes for trace in traces)
    warnings = {
        f"{unknown} of {len(verdicts)} verdicts are unknown and count as no in the share": unknown,
        f"{untagged} notes have no mode yet and count as without {mode!r}": untagged,
        "the labelled traces do not say how they were chosen; they count as a random sample": not any(
            trace.sampling for trace in traces
        ),
        "the labelled traces are not a sample of these traces, so only the judge's error rates tell the share": better
        and elsewhere,
    }
    return ModeAlignment(
        mode=mode,
        judge="",
        shown=len(labels.keys() - verdicts.keys()),
        unseen=len(hits) + len(alarms),
        with_mode=len(hits),
        sensitivity=rate(hits),
        specificity=rate([not verdict for verdict in alarms]),
        youden=youden,
        better_than_chance=better,
        traces=len(population),
        verdicts=mean,
        labels_only=next(each.share for each in mode_shares(traces, [Mode(mode)]) if each.mode.name == mode),
        share=share,
        elsewhere=elsewhere,
        warnings=[warning for warning, holds in warnings.items() if holds],
    )


def _values(labels: Mapping[str, bool], verdicts: Mapping[str, bool | None]) -> dict[str, float]:
    """Each verdict as a number; of a trace that the judge was shown, the mean of the unseen ones with its label."""
    values = {name: float(verdict is True) for name, verdict in verdicts.items()}
    for side in (True, False):
        same = [name for name, label in labels.items() if label == side]
        unseen = [values[name] for name in same if name in verdicts]
        mean = fmean(unseen) if unseen else 0.0
        values |= {name: mean for name in same if name not in verdicts}
    return values


def _by_design(
    labels: Mapping[str, bool], traces: Sequence[ReviewedTrace], values: Mapping[str, float], mean: float
) -> Interval | None:
    """The share from labels of a design, with the verdicts as a covariate; None if the design tells none."""
    size = len(values)
    plain = Sampling(question="level", stratum="all", size=size, population=size, position=0)
    judged = []
    for trace in traces:
        verdict = {"verdict": values[trace.id], "verdict_mean": mean}
        judged.append(replace(trace, sampling=(trace.sampling or plain).model_copy(update=verdict)))
    design = design_of(judged)
    if design is None or design.groups() is None:
        return None
    return design.interval([float(label) for label in labels.values()], bounds=(0.0, 1.0))


def _elsewhere(
    labels: Mapping[str, bool], verdicts: Mapping[str, bool | None], population: Collection[str]
) -> Interval | None:
    """The share among other traces, by the judge's error rates on the labelled ones; None without other traces."""
    unseen = [name for name in labels if name in verdicts]
    others = [float(verdicts[name] is True) for name in population if name not in labels]
    if not others:
        return None
    seen = [float(verdicts[name] is True) for name in unseen]
    return corrected([labels[name] for name in unseen], seen, others, origin="elsewhere").chosen


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

    def check(answer: Fields) -> str:
        words = answer["kind"].split()
        return "" if words and len(" ".join(words)) <= LONGEST_NAME else "no short name of a kind of failure"

    for trace in traces:
        if not trace.note or trace.modes:
            continue
        listed = [f"{mode.name}: {mode.description}" if mode.description else mode.name for mode in kinds.values()]
        fields = judge.ask(Kind, check, kinds="\n".join(listed) or "(none yet)", note=redact(trace.note))
        name = " ".join(fields["kind"].split()).strip(" .\"'") if fields else ""
        if name:
            name = kinds.setdefault(name.casefold(), Mode(name)).name
        groups.setdefault(name, []).append(trace)
    return groups


class _Saved(BaseModel):
    """What the file of a judge holds that is needed to ask it again."""

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
    question = failure(mode, saved.description)
    return ModeJudge(Mode(mode, saved.description), _taught(judge, question, saved.demos), saved.demos)


def _file(folder: Path | str, mode: str) -> Path:
    """The file of a mode's judge: its words, where they are safe on every system, else with a hash."""
    name = re.sub(r"[^a-z0-9]+", "-", mode.casefold()).strip("-")[:60]
    if name != mode.replace(" ", "-") or "-" in mode:
        name = f"{name}-{hashlib.sha256(mode.encode()).hexdigest()[:8]}".lstrip("-")
    return Path(folder) / JUDGES / f"{name}.json"

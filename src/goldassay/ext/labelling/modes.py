"""Failure modes: the kinds of failure that people named while they read traces, and how frequent each is.

    traces = read_traces("week.review")
    mode_shares(traces, read_modes("week.review"))

The share of a mode is that among all traces, not among those that were read: a draft for ``errors`` has many likely
failures, and each record says how it was chosen (`goldassay.statistics.design`). Its interval is that of the design;
traces that do not say how they were chosen count as a simple random sample. Its cost is the mean over all traces of the
grade, 1 to 3, of those with the mode and 0 of the others; where a reviewer gave no grade it counts as 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from goldassay._support import files, jsonl
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import Fields, JsonObject
from goldassay.measures.trajectories.records import steps_of
from goldassay.measures.trajectories.scorecard import AT_END, START
from goldassay.results.view import Cell, Note, Sentence, Table, TableRow, View
from goldassay.statistics.design import SAMPLING, UNCOVERED, Design, Sampling
from goldassay.statistics.intervals import Interval

__all__ = ["Mode", "ModeShare", "ModeTable", "ReviewedTrace", "mode_shares", "read_modes", "read_traces"]
MODES_FILE = "modes.yaml"
TRACES_FILE = "reviewed.jsonl"


@dataclass(frozen=True)
class ReviewedTrace:
    """A trace that a person read.

    Args:
        id: Its id.
        fields: The inputs, as the record has them.
        output: What the system answered; empty if nothing.
        gold: The gold fields, corrected where the answer was wrong; None if no gold was made.
        modes: What went wrong; empty if nothing.
        note: The reviewer's remark.
        grade: How bad it is, 1 to 3, where the reviewer graded it.
        sampling: How it was chosen; None: as one of a simple random sample.
        wave: When its draft was made, an ISO date.
        step: The first wrong step, from 0, among the steps of its output; its modes belong to it.
    """

    id: str
    fields: JsonObject = field(default_factory=dict)
    output: Fields = field(default_factory=dict)
    gold: JsonObject | None = None
    modes: tuple[str, ...] = ()
    note: str | None = None
    grade: int | None = None
    sampling: Sampling | None = None
    wave: str | None = None
    step: int | None = None

    @property
    def transition(self) -> tuple[str, str] | None:
        """The names of the last call before the first wrong step, and of that step; None if no step is wrong.

        >>> calls = [{"name": "search"}, {"kind": "model", "name": "plan"}, {"name": "read"}]
        >>> ReviewedTrace("a", output={"trajectory": calls}, step=2).transition
        ('search', 'read')
        """
        if self.step is None:
            return None
        steps = steps_of(self.output)
        before = [step.name for step in steps[: self.step] if step.is_call]
        return (
            before[-1] if before else START,
            steps[self.step].name if self.step < len(steps) else AT_END,
        )


@dataclass(frozen=True)
class Mode:
    """A kind of failure: its name, what it is, and the ids of some traces that have it."""

    name: str
    description: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModeShare:
    """How frequent a mode is.

    Args:
        mode: The mode.
        records: How many of the traces that were read have it.
        share: Its share of all traces; None if the design gives none.
        cost: The mean grade of a trace for this mode, from 0 to 3; None without grades.
    """

    mode: Mode
    records: int
    share: Interval | None = None
    cost: Interval | None = None

    def state(self) -> JsonObject:
        """As JSON."""
        fields = asdict(self)
        return {**fields.pop("mode"), **fields}


def mode_shares(traces: Iterable[ReviewedTrace], modes: Iterable[Mode] = ()) -> list[ModeShare]:
    """The share of each mode, most frequent first: of those named here, and all others that a trace has.

    Args:
        traces: The traces that a person read.
        modes: The modes with their descriptions; those that no trace has are counted, too.

    Raises:
        DataError: Traces of two designs are mixed.

    >>> traces = [ReviewedTrace(str(number), modes=("no total",) if number < 3 else ()) for number in range(30)]
    >>> (share,) = mode_shares(traces)
    >>> share.records, share.share and round(share.share.high, 2)
    (3, 0.27)
    """
    reviewed = list(traces)
    design = design_of(reviewed)
    has_shares = bool(reviewed) and design.groups() is not None
    names = dict.fromkeys(name for trace in reviewed for name in trace.modes)
    every = {name: Mode(name) for name in names} | {mode.name: mode for mode in modes}
    shares: list[ModeShare] = []
    for mode in every.values():
        rows = [trace for trace in reviewed if mode.name in trace.modes]
        share: Interval | None = None
        cost: Interval | None = None
        if has_shares:
            share = design.interval([float(mode.name in trace.modes) for trace in reviewed], bounds=(0.0, 1.0))
        if has_shares and any(trace.grade is not None for trace in rows):
            costs = [float(trace.grade or 1) if mode.name in trace.modes else 0.0 for trace in reviewed]
            cost = design.interval(costs, bounds=(0.0, 3.0))
        shares.append(ModeShare(mode, len(rows), share, cost))
    return sorted(shares, key=lambda item: (-(item.share.value if item.share else 0), -item.records, item.mode.name))


def step_shares(traces: Sequence[ReviewedTrace]) -> tuple[list[ModeShare], list[ModeShare]]:
    """How frequent each first wrong step is, and each way from the last call before it to it, as shares of all traces.

    Raises:
        DataError: Traces of two designs are mixed.

    >>> calls = {"trajectory": [{"name": "search"}, {"name": "read"}]}
    >>> traces = [ReviewedTrace(str(number), output=calls, step=1 if number < 3 else None) for number in range(30)]
    >>> [share.mode.name for shares in step_shares(traces) for share in shares]
    ['read', 'search → read']
    """
    ways = [trace.transition for trace in traces]

    def shares(names: Sequence[str | None]) -> list[ModeShare]:
        pairs = zip(traces, names, strict=True)
        named = [replace(trace, modes=(name,) if name else (), grade=None) for trace, name in pairs]
        return mode_shares(named, examples_of(named))

    return shares([way and way[1] for way in ways]), shares([way and " → ".join(way) for way in ways])


def examples_of(traces: Iterable[ReviewedTrace], texts: Mapping[str, str] = {}) -> list[Mode]:
    """The modes that a trace has, and those with a description, with the first traces that have them."""
    examples: dict[str, list[str]] = {}
    for trace in traces:
        for mode in trace.modes:
            examples.setdefault(mode, []).append(trace.id)
    names = dict.fromkeys([*examples, *texts])
    return [Mode(name, texts.get(name, ""), tuple(examples.get(name, ())[:5])) for name in names]


def design_of(traces: Sequence[ReviewedTrace]) -> Design:
    """How traces were chosen.

    Those without a sampling are a simple random sample: a stratum of their wave, which was read as a whole.

    Raises:
        DataError: Traces of two designs are mixed.
    """
    sampled = [trace.sampling for trace in traces if trace.sampling]
    size = len(traces) - len(sampled)
    question = sampled[0].question if sampled else "level"
    plain = {"question": question, "stratum": "all", "size": size, "population": size, "position": 0}
    return Design.of({"id": trace.id, SAMPLING: trace.sampling or plain} for trace in traces)


def waves(traces: Iterable[ReviewedTrace]) -> dict[str, list[ReviewedTrace]]:
    """The traces of each wave, the oldest wave first."""
    groups: dict[str, list[ReviewedTrace]] = {}
    for trace in traces:
        groups.setdefault(trace.wave or "", []).append(trace)
    return dict(sorted(groups.items()))


def since_new(traces: Sequence[ReviewedTrace]) -> int:
    """How many traces were read, in this order, since a mode appeared for the first time.

    >>> since_new([ReviewedTrace("a"), ReviewedTrace("b", modes=("slow",)), ReviewedTrace("c", modes=("slow",))])
    1
    """
    seen: set[str] = set()
    count = 0
    for trace in traces:
        count = count + 1 if seen.issuperset(trace.modes) else 0
        seen.update(trace.modes)
    return count


@dataclass(frozen=True)
class ModeWave:
    """A wave of a review: when it was drafted (empty: the first), how much was read, and the share of each mode."""

    when: str
    read: int
    shares: list[ModeShare]

    @property
    def name(self) -> str:
        """When it was drafted, in words."""
        return self.when or "(first)"

    def share(self, mode: str) -> Interval | None:
        """The share of a mode; None if it is not known."""
        return next(item.share for item in self.shares if item.mode.name == mode)

    def state(self) -> JsonObject:
        """As JSON."""
        return {"when": self.when, "read": self.read, "modes": [share.state() for share in self.shares]}


@dataclass(frozen=True)
class ModeTable:
    """The modes of a review, and how much was read. Of several waves the shares are those of the latest: a share over
    the weeks before and after a patch is that of no program.

    Args:
        shares: The share of each mode in the latest wave, most frequent first.
        read: How many traces of it were read.
        since_new: How many of them since a mode appeared for the first time.
        untagged: How many have a note and no mode.
        population: How many traces there are; None if they do not say how they were chosen.
        warnings: What a reader of the shares should know.
        suggestions: Traces with a note but no mode, by the mode that a model suggests (`suggest_modes`).
        waves: All waves with a trace that was read, the oldest first.
        steps: The share of each first wrong step, by its name.
        transitions: The share of each way from the last call before it to the first wrong step.
    """

    shares: list[ModeShare]
    read: int
    since_new: int
    untagged: int
    population: int | None
    warnings: list[str]
    suggestions: dict[str, list[ReviewedTrace]] = field(default_factory=dict)
    waves: list[ModeWave] = field(default_factory=list)
    steps: list[ModeShare] = field(default_factory=list)
    transitions: list[ModeShare] = field(default_factory=list)

    @classmethod
    def of(cls, traces: Sequence[ReviewedTrace], modes: Iterable[Mode] = ()) -> ModeTable:
        """The table of traces in the order in which they were read.

        Raises:
            DataError: Traces of two designs are mixed.
        """
        every = [share.mode for share in mode_shares(traces, modes)]
        history = [ModeWave(when, len(group), mode_shares(group, every)) for when, group in waves(traces).items()]
        latest = [trace for trace in traces if not history or (trace.wave or "") == history[-1].when]
        shares = history[-1].shares if history else mode_shares(traces, every)
        warnings: list[str] = []
        sampled = [trace for trace in latest if trace.sampling]
        if len(sampled) < len(latest):
            warnings.append(
                f"{len(latest) - len(sampled)} traces count as a random sample: how they were chosen is not known"
            )
        if any(share.share is None for share in shares):
            warnings.append(f"no shares: {UNCOVERED}")
        design = design_of(sampled)
        untagged = sum(bool(trace.note) and not trace.modes for trace in traces)
        population = design.population if design.drafted else None
        steps, transitions = step_shares(latest)
        return cls(
            *(shares, len(latest), since_new(traces), untagged, population, warnings),
            waves=history,
            steps=steps,
            transitions=transitions,
        )

    def view(self, *, described: bool = False) -> View:
        """The modes with their shares, whether new ones still appear, and those suggested for notes without one.

        Args:
            described: Whether the descriptions of the modes are shown, too, for which a page has room.
        """
        of_all = f" of {self.population:,}" if self.population else ""
        view: View = []
        if self.shares:
            graded = any(share.cost for share in self.shares)
            columns = ["mode", "records", "share [95 %]", *(["cost [95 %]"] if graded else [])]
            earlier = self.waves[-2::-1]
            days = {wave.when[:10] for wave in self.waves}
            to = 10 if len(days) == len(self.waves) else 19  # the day, or the second of waves of one day
            times = [wave.when[:to].replace("T", " ") for wave in self.waves]
            columns += [
                f"{time or 'first'}, {wave.read} read" for time, wave in zip(times[-2::-1], earlier, strict=True)
            ]
            rows: list[TableRow] = []
            for share in self.shares:
                cost = [share.cost] if graded else []
                before = [wave.share(share.mode.name) for wave in earlier]
                examples = ", ".join(share.mode.examples[:3])
                named = Cell(share.mode.name, detail=share.mode.description if described else "")
                rows.append([named, share.records, share.share, *cost, *before, examples])
            latest = f", the wave of {times[-1]}" if earlier else ""
            view.append(Table(f"{self.read}{of_all} traces read{latest}", [*columns, "examples"], rows))
            total = sum(wave.read for wave in self.waves)
            view.append(Sentence(f"no new mode in the last {self.since_new} of {total} records"))
        else:
            nothing = "no failure mode named; name them in the review (key m)"
            view.append(Sentence(f"{self.read}{of_all} traces read, and {nothing}"))
        for title, ways in (("first wrong step", self.steps), ("last call → first wrong step", self.transitions)):
            counts: list[TableRow] = [
                [share.mode.name, share.records, share.share, ", ".join(share.mode.examples[:3])] for share in ways
            ]
            if counts:
                view.append(Table(title, ["", "records", "share [95 %]", "examples"], counts, most=20))
        if self.untagged:
            view.append(Sentence(f"notes without a mode: {self.untagged}"))
        names = {share.mode.name for share in self.shares}
        for name, traces in self.suggestions.items():
            new = "" if name in names else " (new)"
            title = f"suggested: {name}{new}" if name else "no suggestion"
            view.append(Table(title, ["record", "note"], [[trace.id, trace.note or ""] for trace in traces], left=2))
        if self.suggestions:
            advice = "give modes on the page (goldassay review FOLDER)."
            view.append(Sentence(f"These are suggestions, and nothing is written: {advice}"))
        return [*view, *map(Note, self.warnings)]

    def state(self) -> Fields:
        """As JSON."""
        suggestions = {name: [trace.id for trace in traces] for name, traces in self.suggestions.items()}
        shares = {"modes": self.shares, "steps": self.steps, "transitions": self.transitions}
        counts = {name: value for name, value in vars(self).items() if name not in ("shares", "waves")}
        states = {name: [share.state() for share in group] for name, group in shares.items()}
        waves = [wave.state() for wave in self.waves]
        return {**counts, **states, "suggestions": suggestions, "waves": waves}


def over(shares: Iterable[ModeShare], limits: Mapping[str, float]) -> list[str]:
    """A message for each mode whose share is over its limit, or not known; the share itself counts, not its interval.

    Raises:
        GoldassayError: There is no mode of a name.

    >>> over([ModeShare(Mode("slow"), 4, Interval(0.08, 0.02, 0.2))], {"slow": 0.05})
    ['slow is 0.0800, over 0.05']
    """
    by_name = {share.mode.name: share.share for share in shares}
    messages: list[str] = []
    for name, limit in limits.items():
        if name not in by_name:
            raise GoldassayError(f"no mode {name!r} for the limit {limit:g}; there are {', '.join(by_name) or 'none'}")
        share = by_name[name]
        if share is None:
            messages.append(f"{name} has no share, so it is not known to be at most {limit:g}")
        elif not share.value <= limit:
            messages.append(f"{name} is {share.value:.4f}, over {limit:g}")
    return messages


class _ModesFile(TypedDict, total=False):
    modes: list[Mode]


def read_traces(folder: Path | str) -> list[ReviewedTrace]:
    """The traces that were read in a review, in that order.

    Args:
        folder: The folder of the review.

    Raises:
        DataError: The folder has no ``reviewed.jsonl``, which ``goldassay review --export`` writes, or it is broken.
    """
    file = Path(folder) / TRACES_FILE
    if not file.exists():
        message = "no review was exported here, which would have written reviewed.jsonl"
        raise DataError(message, file=folder)
    return [files.validated(ReviewedTrace, row, file) for row in jsonl.rows(file, what="a trace")]


def traces_as_text(traces: Iterable[ReviewedTrace]) -> str:
    """Traces as ``reviewed.jsonl`` has them."""
    adapter = TypeAdapter(ReviewedTrace)
    return "".join(f"{jsonl.dumps(adapter.dump_python(trace, mode='json'))}\n" for trace in traces)


def read_modes(folder: Path | str) -> list[Mode]:
    """The modes of a review, with their descriptions; none if nobody named one.

    Args:
        folder: The folder of the review.

    Raises:
        DataError: ``modes.yaml`` is broken.
    """
    file = Path(folder) / MODES_FILE
    content = files.yaml_value(file) if file.exists() else {}
    return files.validated(_ModesFile, content, file).get("modes", [])

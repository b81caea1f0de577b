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
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from goldassay import files, jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.shapes import Fields
from goldassay.statistics.design import SAMPLING, UNCOVERED, Design, Sampling
from goldassay.statistics.intervals import Interval

__all__ = ["Mode", "ModeShare", "ModeTable", "ReviewedTrace", "mode_shares", "read_modes", "read_traces"]
MODES = "modes.yaml"
REVIEWED = "reviewed.jsonl"
REVIEW = "review.json"  # the settings, which every folder of a review has
WORST = 3  # the highest grade


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
    """

    id: str
    fields: Fields = field(default_factory=dict)
    output: Fields = field(default_factory=dict)
    gold: Fields | None = None
    modes: tuple[str, ...] = ()
    note: str | None = None
    grade: int | None = None
    sampling: Sampling | None = None
    wave: str | None = None


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
        share: Its share of all traces; None if the design tells none.
        cost: The mean grade of a trace for this mode, from 0 to 3; None without grades.
    """

    mode: Mode
    records: int
    share: Interval | None = None
    cost: Interval | None = None

    def state(self) -> Fields:
        """As JSON."""
        own = asdict(self)
        return {**own.pop("mode"), **own}


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
    names = dict.fromkeys(name for trace in reviewed for name in trace.modes)
    every = {name: Mode(name) for name in names} | {mode.name: mode for mode in modes}
    shares: list[ModeShare] = []
    for mode in every.values():
        rows = [trace for trace in reviewed if mode.name in trace.modes]
        share = _mean(design, [float(mode.name in trace.modes) for trace in reviewed], 1)
        graded = any(trace.grade is not None for trace in rows)
        costs = [float(trace.grade or 1) if mode.name in trace.modes else 0.0 for trace in reviewed]
        shares.append(ModeShare(mode, len(rows), share, _mean(design, costs, WORST) if graded else None))
    return sorted(shares, key=lambda each: (-(each.share.value if each.share else 0), -each.records, each.mode.name))


def _mean(design: Design | None, values: Sequence[float], most: float) -> Interval | None:
    """The mean of a value from 0 to ``most`` over all traces; None if some of them are unknown."""
    if design is None or design.groups() is None:
        return None
    return design.interval(values, bounds=(0.0, most))


def design_of(traces: Sequence[ReviewedTrace]) -> Design | None:
    """How traces were chosen; None without traces.

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
class ModeTable:
    """The modes of a review, and how much was read.

    Args:
        shares: The share of each mode, most frequent first.
        read: How many traces were read.
        since_new: How many of them since a mode appeared for the first time.
        untagged: How many have a note and no mode.
        population: How many traces there are; None if they do not say how they were chosen.
        warnings: What a reader of the shares should know.
    """

    shares: list[ModeShare]
    read: int
    since_new: int
    untagged: int
    population: int | None
    warnings: list[str]

    @classmethod
    def of(cls, traces: Sequence[ReviewedTrace], modes: Iterable[Mode] = ()) -> ModeTable:
        """The table of traces in the order in which they were read.

        Raises:
            DataError: Traces of two designs are mixed.
        """
        shares = mode_shares(traces, modes)
        warnings: list[str] = []
        sampled = [trace for trace in traces if trace.sampling]
        if traces and len(sampled) < len(traces):
            warnings.append(
                f"{len(traces) - len(sampled)} traces count as a random sample: how they were chosen is not known"
            )
        if any(share.share is None for share in shares):
            warnings.append(f"no shares: {UNCOVERED}")
        design = design_of(sampled)
        untagged = sum(bool(trace.note) and not trace.modes for trace in traces)
        population = design.population if design else None
        return cls(shares, len(traces), since_new(traces), untagged, population, warnings)

    def state(self) -> Fields:
        """As JSON."""
        rest = {name: value for name, value in vars(self).items() if name != "shares"}
        return {"modes": [share.state() for share in self.shares], **rest}


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
    file = Path(folder) / REVIEWED
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
    file = Path(folder) / MODES
    content: Any = files.yaml_value(file) if file.exists() else {}
    return files.validated(_ModesFile, content, file).get("modes", [])

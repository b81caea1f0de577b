"""Measuring programs on the same examples: each answer once, paired, in stages that stop as soon as the result is sure.

A `Bench` keeps what was measured, by the program's prompts and the example, on disk too if it has a journal: a tuning
that was killed goes on without asking anything twice. A candidate is measured on documents in a random order; at each
stage the sequential test by betting (`goldassay.statistics.sequential_test`) may accept or reject it.

A `Race` chooses between sets of demonstrations by successive halving (Jamieson and Talwalkar 2016): all are measured on
a third of the examples, the better half of them on the next third, and so on. Its examples are train examples that the
campaign does not measure and that no set shows, so they have no part in the test that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goldassay import jsonl
from goldassay.exceptions import GoldassayError, RunStopped
from goldassay.fields import clusters, read, shuffled_documents
from goldassay.metric import AnyMetric, Metric
from goldassay.running import Run
from goldassay.running.evaluate import evaluate
from goldassay.running.identity import fingerprint
from goldassay.running.options import RunOptions
from goldassay.running.run import Case
from goldassay.statistics import compare, contributions
from goldassay.statistics.sequential import LEAST, sequential_test, stages
from goldassay.tally import Evidence
from goldassay.tuning.patches import Effect

if TYPE_CHECKING:
    import dspy

TEXTS = {"inputs", "gold", "prediction", "calls"}  # of a row, which no test needs
COSTS = ("calls", "prompt_tokens", "completion_tokens", "seconds")
CHUNK = 8  # examples between two lines of the journal, and between two lines of progress
MEASURED = 240  # examples that a campaign measures by default, at most
FEWEST, MOST, RUNGS = 8, 24, 3  # examples of a race, and in how many steps it goes through them
QUIET = RunOptions(progress=False, max_failures=1.0)


class Outcome(StrEnum):
    """How the measuring of a candidate ended."""

    ACCEPT = "accept"  # the sequential test accepted it early
    REJECT = "reject"  # the sequential test gave it up early
    FULL = "full"  # after all examples
    FAILED = "failed"  # the program failed on every example


@dataclass(frozen=True)
class CandidateResult:
    """A candidate beside what it was measured against: its cases, the effect, and how the measuring ended.

    ``sequential_p`` may be read at any time.
    """

    cases: dict[int, Case]
    effect: Effect | None
    ended: str
    sequential_p: float = 1.0
    failure: str = ""

    @property
    def p(self) -> float:
        """The one-sided p of "better" on the measured examples: half the two-sided one of the paired permutation."""
        return self.effect.p / 2 if self.effect is not None and self.effect.difference > 0 else 1.0

    @property
    def gain(self) -> float:
        """The difference of the corpus values; minus infinity if there is none."""
        return self.effect.difference if self.effect is not None else float("-inf")


@dataclass
class Bench:
    """Programs on these examples, with this metric.

    ``guarded`` maps a measure's name to the drop that is tolerated (where lower is better, the rise). ``on_progress``
    gets a line now and then: what is measured, its effect so far, how many examples of this candidate are left.
    """

    examples: Sequence[Any]
    metric: AnyMetric
    guarded: Mapping[str, float] = field(default_factory=dict)
    options: RunOptions = QUIET
    alpha: float = 0.01  # the level of accepting a candidate before all examples are measured
    resamples: int = 4000
    journal: Path | None = None
    on_progress: Callable[[str], None] | None = None
    split: str = "train+dev"  # what the examples are called in an effect
    cost: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COSTS, 0.0), init=False)
    _rows: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.order = shuffled_documents(self.examples, self.options.seed)
        self.zero: Evidence = with_tallies(self.metric).zero
        if self.journal and self.journal.is_file():
            self._rows = {(row["program"], row["index"]): row for row in jsonl.rows(self.journal)}

    def cases(self, program: dspy.Module, indices: Sequence[int], name: str = "", after: int = 0) -> list[Case]:
        """The program's cases of these examples, measured unless they are in the journal.

        Args:
            name: What is measured, for the progress line.
            after: How many examples are left to measure after these.
        """
        version = fingerprint(program)
        new = [index for index in indices if (version, index) not in self._rows]
        for start in range(0, len(new), CHUNK):
            chunk = new[start : start + CHUNK]
            run = evaluated(program, [self.examples[index] for index in chunk], self.metric, self.options)
            for key in COSTS:
                self.cost[key] += float(run.cost.get(key, 0))
            rows = [
                {key: row[key] for key in row.keys() - TEXTS} | {"program": version, "index": index}
                for index, row in zip(chunk, run.rows, strict=True)
            ]
            self._rows |= {(version, row["index"]): row for row in rows}
            if self.journal is not None:
                with jsonl.Log(self.journal) as log:
                    log.lines([jsonl.dumps(row) for row in rows])
            if self.on_progress is not None:
                self.on_progress(f"{name}, {len(new) - start - len(chunk) + after} examples left")
        return Run({}, [self._rows[version, index] for index in indices], self.zero).cases

    def base(self, program: dspy.Module, name: str = "") -> dict[int, Case]:
        """The cases of all examples; raises if the program never works, since its prompts are not to blame."""
        indices = range(len(self.examples))
        cases = dict(zip(indices, self.cases(program, indices, name), strict=True))
        if why := self._failure([program], [0] * len(indices), indices):
            raise GoldassayError(f"the program failed on all examples; the first: {why}")
        return cases

    def test(
        self,
        name: str,
        programs: Sequence[dspy.Module],
        folds: Sequence[int],
        base: Mapping[int, Case],
        *,
        stop: bool = True,
        futility: bool = True,
    ) -> CandidateResult:
        """The candidate whose program for example i is ``programs[folds[i]]``, paired with the cases of ``base``.

        Args:
            name: the candidate, for the progress line.
            programs: one a fold.
            folds: the fold of each example.
            base: the cases to compare with; only their examples are measured.
            stop: whether to stop as soon as the result is sure.
            futility: whether to give up a candidate that is not better on the way, too.
        """
        start, cases, so_far = dict(self.cost), dict[int, Case](), ""
        order = [part for document in self.order if (part := [index for index in document if index in base])]
        count, looks = sum(map(len, order)), stages(len(order))
        result = CandidateResult(cases, None, Outcome.FULL)
        for look in looks if stop else looks[-1:]:
            seen = [index for document in order[:look] for index in document]
            for fold in sorted({folds[index] for index in seen}):  # equal prompts follow each other
                mine = [index for index in seen if folds[index] == fold and index not in cases]
                left = count - len(cases) - len(mine)
                cases.update(zip(mine, self.cases(programs[fold], mine, f"{name}{so_far}", left), strict=True))
            if why := self._failure(programs, folds, seen):
                return CandidateResult(cases, None, Outcome.FAILED, 1.0, why)
            after, before = ([side[index] for index in seen] for side in (cases, base))
            examples, cost = (
                [self.examples[index] for index in seen],
                {key: self.cost[key] - start[key] for key in COSTS},
            )
            how = {"seed": self.options.seed, "resamples": self.resamples}
            difference = effect(after, before, examples, self.split, cost, zero=self.zero, **how)
            decision = sequential_test(
                [case.evidence for case in after],
                [case.evidence for case in before],
                self.zero,
                looks=[past for past in looks if past <= look],
                clusters=clusters(examples) or list(range(len(examples))),
                alpha=self.alpha,
            )
            result = CandidateResult(cases, difference, Outcome.FULL, decision.p)
            if len(seen) == count:
                return result
            if decision.decision != "continue":
                return replace(result, ended=Outcome(decision.decision))
            if futility and result.gain <= 0 and (difference.high or 0.0) < 0.01:
                return replace(result, ended=Outcome.REJECT)
            so_far = f", {result.gain:+.3f} so far"
        return result

    def _failure(self, programs: Sequence[dspy.Module], folds: Sequence[int], indices: Sequence[int]) -> str:
        """The first error if the programs failed on all of these examples; else empty."""
        versions = [fingerprint(program) for program in programs]
        errors = [self._rows[versions[folds[index]], index].get("error") for index in indices]
        return str(errors[0]) if errors and all(errors) else ""

    def drops(self, after: Sequence[Case], before: Sequence[Case], documents: Sequence[object] | None = None) -> str:
        """The guarded values that drop by more than is tolerated, for a message; empty if none does.

        From ``LEAST`` examples on, a drop within one standard error of the paired difference is noise, over documents
        where examples share them.
        """
        messages = []
        for name, tolerated in self.guarded.items():
            new, old = ([case.evidence[name] for case in side] for side in (after, before))
            drop = float(sum(old[1:], old[0]).value - sum(new[1:], new[0]).value)
            drop = -drop if name in self.zero.worst else drop
            noise = 0.0
            if len(after) >= LEAST:
                parts = contributions(new, old, self.zero[name], clusters=documents)
                noise = float(np.std(parts, ddof=1) * len(parts) ** 0.5)
            if drop > tolerated + max(noise, 1e-12):
                messages.append(f"{name} by {drop:.4f}")
        return ", ".join(messages)


def effect(
    after: Sequence[Case],
    before: Sequence[Case],
    examples: Sequence[dspy.Example],
    split: str,
    cost: Mapping[str, float],
    *,
    zero: Evidence,
    **how: Any,
) -> Effect:
    """The paired difference of the corpus values on these examples, and what measuring it cost.

    ``after`` and ``before`` are the cases of ``examples``; those that share a document are resampled together.

    Args:
        split: The split that the examples come from.
        zero: Empty evidence of the metric.
        how: ``seed``, ``resamples`` and ``level`` of `goldassay.statistics.compare`.
    """
    documents, (new, past) = clusters(examples), ([case.evidence for case in side] for side in (after, before))
    difference = compare(new, past, zero, clusters=documents, **how)
    old = float(total(before).value)
    return Effect(
        split=split,
        before=old,
        after=old + difference.difference,
        difference=difference.difference,
        low=difference.interval.low,
        high=difference.interval.high,
        p=difference.p,
        n=len(after),
        documents=difference.n if documents else None,
        calls=int(cost.get("calls", 0)),
        tokens=int(cost.get("prompt_tokens", 0) + cost.get("completion_tokens", 0)),
        seconds=round(float(cost.get("seconds", 0.0)), 3),
    )


def evaluated(
    program: dspy.Module, examples: Sequence[dspy.Example], metric: AnyMetric, options: RunOptions = QUIET
) -> Run:
    """A run; an error of the metric becomes one line that names the example."""
    try:
        return evaluate(program, examples, metric, options, max_failures=1.0, check_leaks=False)
    except RunStopped as stopped:
        raise stopped.__cause__ or stopped from None  # the tuning is resumed, not this run of it
    except GoldassayError:
        raise
    except Exception as error:
        where = "".join(f" ({note})" for note in getattr(error, "__notes__", ())[:1])
        raise GoldassayError(f"the metric raised {type(error).__name__}: {error}{where}") from error


def failure(run: Run) -> str:
    """A message if the program failed on all examples of a run; empty if it worked on any."""
    errors = [row["error"] for row in run.rows if row.get("error")]
    if not errors or len(errors) < len(run.rows):
        return ""
    return f"failed on all {len(run.rows)} examples; the first: {errors[0]}"


def with_tallies(metric: AnyMetric) -> Metric:
    """The metric as one that gives tallies; a plain function has the mean of what it returns."""
    return metric if isinstance(metric, Metric) else Metric.of(metric)


def guards(metric: AnyMetric, guarded: Mapping[str, float] | None) -> dict[str, float]:
    """The values that must not drop: those given, or by default every measure of weight 0."""
    measured = with_tallies(metric)
    if guarded is None:
        return {name: 0.0 for name, weight in measured.weights.items() if not weight}
    if unknown := [name for name in guarded if name not in measured.zero]:
        raise GoldassayError(f"{unknown[0]!r} cannot be guarded: the metric has {', '.join(measured.zero)}")
    return dict(guarded)


def total(cases: Sequence[Case]) -> Evidence:
    """The evidence of all cases together."""
    return sum((case.evidence for case in cases[1:]), cases[0].evidence)


def left_out(train: int) -> int:
    """How many of so many train examples a campaign does not measure, half to race on and half to show.

    They are a third of train, but no more than a race takes, and none if they would be too few for a race.

    >>> [left_out(count) for count in (40, 60, 160)]
    [0, 20, 48]
    """
    count = min(2 * MOST, train // 3)
    return count if count >= 2 * FEWEST else 0


def count_measured(train: int, dev: int, most: int = MEASURED, races: bool = True) -> int:
    """How many of ``train`` examples a campaign measures beside those of dev: ``most`` together.

    >>> count_measured(160, 34), count_measured(30, 30), count_measured(160, 34, most=100)
    (112, 30, 66)
    """
    return max(0, min(most - dev, train - left_out(train) if races else train))


def spare(train: Sequence[dspy.Example], measured: Sequence[dspy.Example]) -> list[dspy.Example]:
    """The train examples that are not measured and share no document with one that is."""
    ids = {id(example) for example in measured}
    documents = {read(example, "document", None) for example in measured} - {None}
    left = [example for example in train if id(example) not in ids]
    return [example for example in left if read(example, "document", None) not in documents]


def race_calls(left: int, sets: int = 6) -> int:
    """How many calls a race of ``sets`` takes if so many examples are left to race on and to show.

    >>> race_calls(48)
    88
    """
    count, calls = min(MOST, left // 2), 0
    for rung in range(1, RUNGS + 1):
        calls += sets * (ceil(count * rung / RUNGS) - ceil(count * (rung - 1) / RUNGS))
        sets = ceil(sets / 2)
    return calls if count >= FEWEST else 0


@dataclass(frozen=True)
class Race:
    """Where sets are raced: ``bench`` has train examples that the campaign does not measure, ``pool`` those to show."""

    bench: Bench
    pool: Sequence[dspy.Example]

    @classmethod
    def on(cls, bench: Bench, train: Sequence[dspy.Example]) -> Race | None:
        """A race beside a campaign's bench, on what that leaves of train; None if that is too little."""
        left = spare(train, bench.examples)
        if len(left) < 2 * FEWEST:
            return None
        count = min(MOST, len(left) // 2)
        journal = bench.journal and bench.journal.with_name("raced.jsonl")
        own = Bench(left[:count], bench.metric, options=bench.options, journal=journal, on_progress=bench.on_progress)
        return cls(own, left[count:])

    def winner(self, programs: Sequence[dspy.Module]) -> tuple[int, list[float]]:
        """The number of the best program, and the value of each when it was last measured."""
        order = [index for document in self.bench.order for index in document]
        left, values = list(range(len(programs))), [0.0] * len(programs)
        for rung in range(1, RUNGS + 1):
            seen = order[: ceil(len(order) * rung / RUNGS)]
            for number in left:
                cases = self.bench.cases(programs[number], seen, f"set {number + 1}")
                values[number] = float(total(cases).value)
            left = sorted(left, key=lambda number: (-values[number], number))[: ceil(len(left) / 2)]
        return left[0], values

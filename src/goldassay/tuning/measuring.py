"""Measuring programs on the same examples, each answer once and paired; and the one rule by which edits are accepted.

A `Bench` keeps what was measured, by the program's prompts and the example, on disk too if it has a journal: a tuning
that was killed goes on without asking anything twice. A candidate is measured on documents in a random order; at each
stage the sequential test by betting (`goldassay.statistics.sequential_test`) may accept or reject it.

Two verdicts are never mixed. *Kept* is what was best on the examples that it was chosen on: better by the estimate,
with a two-sided p of ``KEEP`` at most (`keeps`). It may be luck, and has no interval: where nothing helps, a 95 %
interval of what was kept holds the truth in six of ten campaigns (docs/power.md). *Proven* is said of a program, and of
a patch only if it was tested alone. It rests on evidence that the choice had no part in: one look at a held-out test
split, or, if there is none, the campaign's own hypotheses in a fixed order, each tested at the full level and only if
all before it were shown (Maurer, Hothorn, Lehmacher 1995), so that the chance of proving anything when no edit helps is
``ALPHA`` at most. One hypothesis is tested twice (`proves`): by betting at every look, at ``EARLY`` of the level, and
by the paired permutation test at the end, one-sided, at what is left; the two levels add up to ``ALPHA``. A p is never
smaller than that of the difference over its standard error (`goldassay.statistics.paired.Comparison.p`).

A `Race` chooses between sets of demonstrations by successive halving (Jamieson and Talwalkar 2016): all are measured on
a third of the examples, the better half of them on the next third, and so on. Its examples are train examples that the
campaign does not measure and that no set shows, so they have no part in the test that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from goldassay import jsonl
from goldassay.exceptions import GoldassayError, RunStopped
from goldassay.fields import clusters, read, shuffled_documents
from goldassay.metric import AnyMetric, Metric
from goldassay.running import Run
from goldassay.running.evaluate import RunOptions, evaluate
from goldassay.running.hashing import fingerprint
from goldassay.running.run import Case
from goldassay.statistics import compare, contributions
from goldassay.statistics.sequential import LEAST, sequential_test, stages
from goldassay.tally import Evidence
from goldassay.tuning.patches import Effect
from goldassay.tuning.wrappers import Examples

ALPHA, KEEP = 0.05, 0.2
EARLY = 0.2  # of alpha, for accepting at a look before the last
WINS = 5  # examples: with fewer wins and no loss no test at .05 shows anything (2^-5 = .031)
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


def proves(result: CandidateResult, alpha: float = ALPHA) -> bool:
    """Whether the level allows to say "better": by betting at any look, or one-sided after all examples."""
    effect = result.effect
    if effect is None or effect.difference <= 0:
        return False
    at_the_end = result.ended == Outcome.FULL and effect.p / 2 <= (1 - EARLY) * alpha
    return result.sequential_p <= EARLY * alpha or at_the_end


def keeps(result: CandidateResult, keep: float = KEEP) -> bool:
    """Whether the estimate speaks for it: better, and the two-sided p is ``keep`` at most."""
    effect = result.effect
    if effect is None or effect.difference <= 0 or result.ended in (Outcome.REJECT, Outcome.FAILED):
        return False
    return result.ended == Outcome.ACCEPT or effect.p <= keep


@dataclass
class Bench:
    """Programs on these examples, with this metric.

    ``guarded`` maps a measure's name to the drop that is tolerated (where lower is better, the rise). ``on_progress``
    gets a line now and then: what is measured, its effect so far, how many examples of this candidate are left.
    """

    examples: Examples
    metric: AnyMetric
    guarded: Mapping[str, float] = field(default_factory=dict)
    options: RunOptions = QUIET
    alpha: float = EARLY * ALPHA  # the level of accepting a candidate before all examples are measured
    resamples: int = 4000
    journal: Path | None = None
    on_progress: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        self.order = shuffled_documents(self.examples, self.options.seed)
        self.zero: Evidence = with_tallies(self.metric).zero
        self.cost = dict.fromkeys(COSTS, 0.0)
        rows = jsonl.rows(self.journal) if self.journal and self.journal.is_file() else ()
        self._rows: dict[tuple[str, int], Any] = {(row["program"], row["index"]): row for row in rows}

    def run(self, program: Any, indices: Sequence[int], name: str = "", after: int = 0) -> Run:
        """The program on these examples, each measured unless it is in the journal.

        ``name`` and ``after``, how many examples are left to measure after these, are for the progress line.
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
        return Run({}, [self._rows[version, index] for index in indices], self.zero)

    def base(self, program: Any, name: str = "") -> Run:
        """The program on all examples; raises if the program never works, since its prompts are not to blame."""
        run = self.run(program, range(len(self.examples)), name)
        if why := failure(run):
            raise GoldassayError(f"the program {why}")
        return run

    def test(
        self,
        name: str,
        programs: Sequence[Any],
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
        start, cases, works, why, so_far = dict(self.cost), dict[int, Case](), False, "", ""
        order = [part for document in self.order if (part := [index for index in document if index in base])]
        looks, result = stages(len(order)), CandidateResult(cases, None, Outcome.FULL)
        for look in looks if stop else looks[-1:]:
            seen = [index for document in order[:look] for index in document]
            for fold in sorted({folds[index] for index in seen}):  # equal prompts follow each other
                mine = [index for index in seen if folds[index] == fold and index not in cases]
                run = self.run(programs[fold], mine, f"{name}{so_far}", len(base) - len(cases) - len(mine))
                cases.update(zip(mine, run.cases, strict=True))
                works, why = works or run.available, why or failure(run)
            if not works:
                return CandidateResult(cases, None, Outcome.FAILED, failure=why)
            after, before = ([side[index] for index in seen] for side in (cases, base))
            examples = [self.examples[index] for index in seen]
            cost = {key: self.cost[key] - start[key] for key in COSTS}
            draws = {"seed": self.options.seed, "resamples": self.resamples}
            difference = effect(after, before, examples, "train+dev", cost, zero=self.zero, **draws)
            decision = sequential_test(
                [case.evidence for case in after],
                [case.evidence for case in before],
                self.zero,
                looks=[past for past in looks if past <= look],
                clusters=clusters(examples) or list(range(len(examples))),
                alpha=self.alpha,
            )
            ended = Outcome.FULL
            if len(seen) < len(base) and decision.decision != "continue":
                ended = Outcome(decision.decision)
            elif len(seen) < len(base) and futility and difference.difference <= 0 and (difference.high or 0) < 0.01:
                ended = Outcome.REJECT
            result = CandidateResult(cases, difference, ended, decision.p)
            if ended != Outcome.FULL:
                break
            so_far = f", {difference.difference:+.3f} so far"
        return result

    def drops(self, after: Sequence[Case], before: Sequence[Case], documents: Sequence[object] | None = None) -> str:
        """The guarded values that drop by more than is tolerated, for a message; empty if none does.

        From ``LEAST`` examples on, a drop within one standard error of the paired difference is noise, over documents
        where examples share them.
        """
        messages = []
        for name, tolerated in self.guarded.items():
            new, old = ([case.evidence[name] for case in side] for side in (after, before))
            drop = float(sum(old, self.zero[name]).value - sum(new, self.zero[name]).value)
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
    examples: Examples,
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
    documents, (new, old) = clusters(examples), ([case.evidence for case in side] for side in (after, before))
    difference = compare(new, old, zero, clusters=documents, **how)
    value = float(sum(old, zero).value)
    return Effect(
        split=split,
        before=value,
        after=value + difference.difference,
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


def evaluated(program: Any, examples: Examples, metric: AnyMetric, options: RunOptions = QUIET) -> Run:
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
    if run.available or not run.rows:
        return ""
    return f"failed on all {len(run.rows)} examples; the first: {run.rows[0]['error']}"


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


def count_measured(train: int, dev: int, most: int = MEASURED, races: bool = True) -> int:
    """How many of ``train`` examples a campaign measures beside those of dev: ``most`` together.

    A third of train is left for a race, half to race on and half to show: no more than a race takes, and none if they
    would be too few for one.

    >>> count_measured(160, 34), count_measured(30, 30), count_measured(160, 34, most=100)
    (112, 30, 66)
    """
    left_out = min(2 * MOST, train // 3)
    return max(0, min(most - dev, train - left_out if races and left_out >= 2 * FEWEST else train))


def spare(train: Examples, measured: Examples) -> list[Any]:
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
    pool: Examples

    @classmethod
    def on(cls, bench: Bench, train: Examples) -> Race | None:
        """A race beside a campaign's bench, on what that leaves of train; None if that is too little."""
        left = spare(train, bench.examples)
        if len(left) < 2 * FEWEST:
            return None
        count = min(MOST, len(left) // 2)
        journal = bench.journal and bench.journal.with_name("raced.jsonl")
        own = Bench(left[:count], bench.metric, options=bench.options, journal=journal, on_progress=bench.on_progress)
        return cls(own, left[count:])

    def winner(self, programs: Sequence[Any]) -> tuple[int, list[float]]:
        """The number of the best program, and the value of each when it was last measured."""
        order = [index for document in self.bench.order for index in document]
        left, values = list(range(len(programs))), [0.0] * len(programs)
        for rung in range(1, RUNGS + 1):
            seen = order[: ceil(len(order) * rung / RUNGS)]
            for number in left:
                values[number] = self.bench.run(programs[number], seen, f"set {number + 1}").value
            left = sorted(left, key=lambda number: (-values[number], number))[: ceil(len(left) / 2)]
        return left[0], values

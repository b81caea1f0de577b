"""Measuring programs on the same examples, each answer once and paired; the options of a tuning.

A `Bench` keeps what was measured, by the program's prompts and the example, on disk too if it has a journal: a tuning
that was killed resumes without asking anything twice. A candidate is measured on documents in a random order; at each
stage the sequential test by betting (`goldassay.statistics.sequential_test`) may accept or reject it.

A `Race` chooses between sets of demonstrations by successive halving (Jamieson and Talwalkar 2016): all are measured on
a third of the examples, the better half of them on the next third, and so on. Its examples are train examples that the
campaign does not measure and that no set shows, so they have no part in the test that follows.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any

import dspy
import numpy as np
from dspy import Example, Module

from goldassay._support import jsonl
from goldassay._support.exceptions import GoldassayError, RunStopped
from goldassay.core.evidence import contributions
from goldassay.core.fields import Record, clusters, read, shuffled_documents
from goldassay.core.metric import AnyMetric, as_metric
from goldassay.core.tally import Evidence
from goldassay.running import Run
from goldassay.running.budget import EndpointDown
from goldassay.running.evaluate import evaluate
from goldassay.running.hashing import fingerprint
from goldassay.running.head import RunHead
from goldassay.running.options import RunOptions
from goldassay.running.rows import Row
from goldassay.running.run import Case
from goldassay.statistics import compare
from goldassay.statistics.design import SIMPLE, Design
from goldassay.statistics.labels import compare_weighted
from goldassay.statistics.sequential import FIRST_LOOK, sequential_test, stages
from goldassay.tuning.acceptance import ALPHA, EARLY, REVIEWED_SPLIT, CandidateResult, Effect, Outcome, ended_early
from goldassay.tuning.wrappers import Examples

LEAST_WINS = 5  # examples: with fewer wins and no loss no test at .05 shows anything (2^-5 = .031)
COSTS = ("calls", "cached", "prompt_tokens", "completion_tokens", "seconds")
JOURNAL_CHUNK = 8  # examples between two lines of the journal, and between two lines of progress
QUIET_OPTIONS = RunOptions(progress=False, max_failures=1.0)


@dataclass(frozen=True)
class TuneOptions:
    """The options of `tune`.

    Args:
        settings: The optimizer's own settings, such as ``{"k": 8}``.
        lm: The language model (or its name) that runs the examples; by default the one that DSPy is configured with.
        adapter: How prompts are written and answers read.
        reflection_lm: The model that writes instructions; by default ``lm``, with room for that.
        budget: What the tuning may use, such as ``"calls=200,minutes=5"``. When it is spent, the result is the best
            program that was evaluated on the whole dev split.
        seed: Of everything that is drawn at random.
        threads: How many examples are in flight at once.
        repeats: How often each example is asked before and after, without a cache. Optimizers ask once.
        folder: Where everything is saved.
        resume: Resume a tuning that was interrupted or stopped in ``folder`` (see `goldassay.tuning.saved`).
        test: Report on the test split.
        race: Of several optimizers: give each a quarter of its share of the budget first, and the rest to those that
            are not shown to be worse.
        progress: Show a bar.
    """

    settings: Record = field(default_factory=dict)
    lm: dspy.BaseLM | str | None = None
    adapter: dspy.Adapter | None = None
    reflection_lm: dspy.BaseLM | str | None = None
    budget: str | None = None
    seed: int = 0
    threads: int = 1
    repeats: int = 1
    folder: Path | None = None
    resume: bool = False
    test: bool = True
    race: bool = False
    progress: bool = True

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise GoldassayError(f"a seed is not negative: {self.seed}")
        if self.resume and self.folder is None:
            raise GoldassayError("to resume a tuning, name its folder")

    def resolved(self) -> TuneOptions:
        """These options with the models and the adapter that names stand for."""
        running = RunOptions(lm=self.lm, adapter=self.adapter).resolved()
        reflection = RunOptions(lm=self.reflection_lm).resolved().lm
        folder = None if self.folder is None else Path(self.folder).absolute()
        return replace(self, lm=running.lm, adapter=running.adapter, reflection_lm=reflection, folder=folder)


@dataclass
class Bench:
    """Programs on these examples, with this metric.

    ``guarded`` maps a measure's name to the drop that is tolerated (where lower is better, the rise); by default no
    measure of weight 0 may drop. ``on_progress`` gets a line now and then: what is measured, its effect so far, how
    many examples of this candidate are left.

    Raises:
        GoldassayError: The metric has no measure of a guarded name.
    """

    examples: Examples
    metric: AnyMetric
    guarded: Mapping[str, float] | None = None
    options: RunOptions = QUIET_OPTIONS
    alpha: float = EARLY * ALPHA  # the level of accepting a candidate before all examples are measured
    resamples: int = 4000
    journal: Path | None = None
    on_progress: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        self.order = shuffled_documents(self.examples, self.options.seed)
        self.scorer = as_metric(self.metric)
        self.tolerated = {name: 0.0 for name, weight in self.scorer.weights.items() if not weight}
        if self.guarded is not None:
            if unknown := [name for name in self.guarded if name not in self.zero]:
                raise GoldassayError(f"{unknown[0]!r} cannot be guarded: the metric has {', '.join(self.zero)}")
            self.tolerated = dict(self.guarded)
        self.cost: dict[str, float] = dict.fromkeys(COSTS, 0.0)
        self._rows: dict[tuple[str, int], Row] = {}
        if self.journal and self.journal.is_file():
            read = jsonl.parsed_rows(self.journal, lambda row: (row["program"], Row.of(row)), what="a measured example")
            self._rows = {(version, row.index): row for (version, row), _ in read}

    @property
    def zero(self) -> Evidence:
        """No evidence yet; the names of what a function returns are known after its first example."""
        return self.scorer.zero

    @property
    def runs(self) -> int:
        """How many examples were measured, those of every program together."""
        return len(self._rows)

    def run(self, program: Module, indices: Sequence[int], name: str = "", after: int = 0) -> Run:
        """The program on these examples, each measured unless it is in the journal.

        ``name`` and ``after``, how many examples are left to measure after these, are for the progress line.
        """
        version = fingerprint(program)
        new = [index for index in indices if (version, index) not in self._rows]
        if not new and not self.scorer.has_fixed_names:
            names = {name for index in indices for name in self._rows[version, index].tallies}
            if names - self.zero.keys():  # a function's values are known after it was called once
                new = [*indices[:1]]
        began = time.monotonic()
        for start in range(0, len(new), JOURNAL_CHUNK):
            chunk = new[start : start + JOURNAL_CHUNK]
            run = evaluated(program, [self.examples[index] for index in chunk], self.scorer, self.options)
            for key in COSTS:
                self.cost[key] += float(run.cost.get(key, 0))
            rows = [  # without the texts, which no test needs
                replace(row, index=index, inputs=None, gold=None, prediction=None, calls=())
                for index, row in zip(chunk, run.rows, strict=True)
            ]
            self._rows |= {(version, row.index): row for row in rows}
            if self.journal is not None:
                with jsonl.Log(self.journal) as log:
                    log.lines([jsonl.dumps({**row.state(), "program": version}) for row in rows])
            if self.on_progress is not None:
                measured = start + len(chunk)
                left = len(new) - measured + after
                seconds = (time.monotonic() - began) / measured * left
                self.on_progress(f"{name}, {left} examples left, about {seconds:.0f} s")
        return Run(RunHead(), [self._rows[version, index] for index in indices], self.zero)

    def base(self, program: Module, name: str = "") -> Run:
        """The program on all examples.

        Raises:
            GoldassayError: The program never works, so its prompts are not to blame.
        """
        run = self.run(program, range(len(self.examples)), name)
        if why := failure(run):
            raise GoldassayError(f"the program {why}")
        return run

    def test(
        self,
        name: str,
        programs: Sequence[Module],
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
        cost_before = dict(self.cost)
        cases: dict[int, Case] = {}
        works = False
        problem = ""
        so_far = ""
        result = CandidateResult(cases, None, Outcome.FULL)
        order = [indices for document in self.order if (indices := [index for index in document if index in base])]
        looks = stages(len(order))
        for look in looks if stop else looks[-1:]:
            seen = [index for document in order[:look] for index in document]
            for fold in sorted({folds[index] for index in seen}):  # equal prompts follow each other
                new = [index for index in seen if folds[index] == fold and index not in cases]
                run = self.run(programs[fold], new, f"{name}{so_far}", len(base) - len(cases) - len(new))
                cases.update(zip(new, run.cases, strict=True))
                works = works or run.available
                problem = problem or failure(run)
            if not works:
                return CandidateResult(cases, None, Outcome.FAILED, failure=problem)
            after = [cases[index] for index in seen]
            before = [base[index] for index in seen]
            examples = [self.examples[index] for index in seen]
            cost = {key: self.cost[key] - cost_before[key] for key in COSTS}
            difference = effect(
                after,
                before,
                examples,
                "train+dev",
                cost,
                zero=self.zero,
                seed=self.options.seed,
                resamples=self.resamples,
            )
            decision = sequential_test(
                [case.evidence for case in after],
                [case.evidence for case in before],
                self.zero,
                looks=[past for past in looks if past <= look],
                clusters=clusters(examples) or list(range(len(examples))),
                alpha=self.alpha,
            )
            ended = Outcome.FULL
            if len(seen) < len(base):
                ended = ended_early(decision.decision, difference, futility)
            result = CandidateResult(cases, difference, ended, decision.p)
            if ended != Outcome.FULL:
                break
            so_far = f", {difference.difference:+z.3f} so far"
        return result

    def drops(self, after: Sequence[Case], before: Sequence[Case], documents: Sequence[Hashable] | None = None) -> str:
        """The guarded values that drop by more than is tolerated, for a message; empty if none does.

        From ``FIRST_LOOK`` examples on, a drop within one standard error of the paired difference is noise, over
        documents where examples share them.
        """
        messages = []
        for name, tolerated in self.tolerated.items():
            new = [case.evidence[name] for case in after]
            old = [case.evidence[name] for case in before]
            drop = float(sum(old, self.zero[name]).value - sum(new, self.zero[name]).value)
            drop = -drop if name in self.zero.worst else drop
            noise = 0.0
            if len(after) >= FIRST_LOOK:
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
    documents = clusters(examples)
    old = [case.evidence for case in before]
    new = [case.evidence for case in after]
    design = Design.of(examples) if split in ("test", REVIEWED_SPLIT) else SIMPLE
    if split != "test":
        # Records that were drafted for their likely errors are a random sample inside each stratum, so a difference can
        # be weighed though the question was another one. Without a record of some stratum those that are there count
        # the same.
        level = replace(design, first=design.first.model_copy(update={"question": "level"}))
        design = SIMPLE if level.why_no_estimate else level
    if design.drafted:
        difference = compare_weighted(old, new, zero, design, documents)
        value = design.interval(old, zero, clusters=documents).value
    else:
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


def evaluated(program: Module, examples: Examples, metric: AnyMetric, options: RunOptions = QUIET_OPTIONS) -> Run:
    """A run of a program on examples.

    Raises:
        GoldassayError: The metric raised: one line that names the example.
        RunStopped: A model answers no more.
    """
    try:
        return evaluate(program, examples, metric, options, max_failures=1.0, check_leaks=False)
    except RunStopped as stopped:
        cause = stopped.__cause__ or stopped  # the tuning is resumed, not this run of it
        raise (RunStopped(str(cause)) if isinstance(cause, EndpointDown) else cause) from None
    except GoldassayError:
        raise
    except Exception as error:
        where = "".join(f" ({note})" for note in getattr(error, "__notes__", ())[:1])
        raise GoldassayError(f"the metric raised {type(error).__name__}: {error}{where}") from error


def measured(
    program: Module,
    examples: Examples,
    metric: AnyMetric,
    name: str,
    options: TuneOptions,
    resume: bool = False,
) -> Run:
    """A run of a program on a split, measured by ``metric``, below the folder of the options.

    A program that fails on all examples has no value there: that is an error, not a loss or a tie. ``name`` is the
    split and what the program is, such as ``test-after``; with ``resume`` the rows of an earlier part of this tuning
    stay, else they are removed.

    Raises:
        GoldassayError: The program fails on all examples.
    """
    folder = options.folder and options.folder / name
    if folder is not None and not resume:
        shutil.rmtree(folder, ignore_errors=True)
    running = RunOptions(
        name=name,
        lm=options.lm,
        adapter=options.adapter,
        threads=options.threads,
        repeats=options.repeats,
        seed=options.seed,
        progress=options.progress,
        folder=folder,
    )
    run = evaluated(program, examples, metric, running)
    if why := failure(run):
        split, _, which = name.partition("-")
        subject = {"before": "the program", "after": "the tuned program"}.get(which, which)
        raise GoldassayError(f"{subject} {why.replace('examples', f'{split} examples', 1)}")
    return run


def resumable(program: Module, examples: Examples, metric: AnyMetric, name: str, options: TuneOptions) -> Run:
    """A run as `measured` makes it, outside of a tuning: if it stops, its error says how to resume it.

    Args:
        program: The program.
        examples: The examples.
        metric: What measures it.
        name: The run's folder in that of the options.
        options: How it is run, and whether an earlier run is resumed.

    Raises:
        RunStopped: A model answers no more.
    """
    try:
        return measured(program, examples, metric, name, options, resume=options.resume)
    except RunStopped as stopped:
        then = "the same call continues" if options.resume else f"resume with `resume={options.folder}`"
        raise RunStopped(f"{stopped}{f'; fix it and {then}' if options.folder else ''}") from stopped


def failure(run: Run) -> str:
    """A message if the program failed on all examples of a run; empty if it worked on any."""
    if run.available or not run.rows:
        return ""
    return f"failed on all {len(run.rows)} examples; the first: {run.rows[0].error}"


MOST_MEASURED = 240  # examples that a campaign measures by default, at most
LEAST_RACED = 8  # examples of a race, at least
MOST_RACED = 24  # examples of a race, at most
RUNGS = 3  # steps in which it goes through them


def count_measured(train: int, dev: int, most: int = MOST_MEASURED, races: bool = True) -> int:
    """How many of ``train`` examples a campaign measures besides those of dev: ``most`` together.

    A third of train is left for a race, half to race on and half to show: no more than a race takes, and none if they
    would be too few for one.

    >>> count_measured(160, 34), count_measured(30, 30), count_measured(160, 34, most=100)
    (112, 30, 66)
    """
    left_out = min(2 * MOST_RACED, train // 3)
    return max(0, min(most - dev, train - left_out if races and left_out >= 2 * LEAST_RACED else train))


def spare(train: Examples, measured: Examples) -> list[Example]:
    """The train examples that are not measured and share no document with one that is."""
    ids = {id(example) for example in measured}
    documents = {read(example, "document", None) for example in measured} - {None}
    return [item for item in train if id(item) not in ids and read(item, "document", None) not in documents]


def race_calls(left: int, sets: int = 6) -> int:
    """How many calls a race of ``sets`` takes if so many examples are left to race on and to show.

    >>> race_calls(48)
    88
    """
    count = min(MOST_RACED, left // 2)
    calls = 0
    for rung in range(1, RUNGS + 1):
        calls += sets * (ceil(count * rung / RUNGS) - ceil(count * (rung - 1) / RUNGS))
        sets = ceil(sets / 2)
    return calls if count >= LEAST_RACED else 0


@dataclass(frozen=True)
class Race:
    """Where sets are raced: ``bench`` has train examples that the campaign does not measure, ``pool`` those to show."""

    bench: Bench
    pool: Examples

    @classmethod
    def on(cls, bench: Bench, train: Examples) -> Race | None:
        """A race on what a campaign's bench leaves of train; None if that is too little."""
        left = spare(train, bench.examples)
        if len(left) < 2 * LEAST_RACED:
            return None
        count = min(MOST_RACED, len(left) // 2)
        journal = bench.journal and bench.journal.with_name("raced.jsonl")
        raced = Bench(left[:count], bench.scorer, options=bench.options, journal=journal, on_progress=bench.on_progress)
        return cls(raced, left[count:])

    def winner(self, programs: Sequence[Module]) -> tuple[int, list[float]]:
        """The number of the best program, and the value of each when it was last measured."""
        order = [index for document in self.bench.order for index in document]
        left = list(range(len(programs)))
        values = [0.0] * len(programs)
        for rung in range(1, RUNGS + 1):
            seen = order[: ceil(len(order) * rung / RUNGS)]
            for number in left:
                values[number] = self.bench.run(programs[number], seen, f"set {number + 1}").value
            left = sorted(left, key=lambda number: (-values[number], number))[: ceil(len(left) / 2)]
        return left[0], values

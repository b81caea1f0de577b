"""Measuring programs on the same examples, each answer once and paired.

A `Bench` keeps what was measured, by the program's prompts and the example, on disk too if it has a journal: a tuning
that was killed resumes without asking anything twice. A candidate is measured on documents in a random order; at each
stage the sequential test by betting (`goldassay.statistics.sequential_test`) may accept or reject it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from dspy import Module

from goldassay import jsonl
from goldassay.exceptions import GoldassayError, RunStopped
from goldassay.fields import clusters, shuffled_documents
from goldassay.metric import AnyMetric, Metric
from goldassay.running import Run
from goldassay.running.budget import EndpointDown
from goldassay.running.drafted import weighed
from goldassay.running.evaluate import RunOptions, evaluate
from goldassay.running.hashing import fingerprint
from goldassay.running.run import Case
from goldassay.statistics import compare, contributions
from goldassay.statistics.design import Design
from goldassay.statistics.sequential import LEAST, sequential_test, stages
from goldassay.tally import Evidence
from goldassay.tuning.acceptance import ALPHA, EARLY, REVIEWED, CandidateResult, Effect, Outcome, ended_early
from goldassay.tuning.wrappers import Examples

WINS = 5  # examples: with fewer wins and no loss no test at .05 shows anything (2^-5 = .031)
TEXTS = {"inputs", "gold", "prediction", "calls"}  # fields of a row that no test needs
COSTS = ("calls", "prompt_tokens", "completion_tokens", "seconds")
CHUNK = 8  # examples between two lines of the journal, and between two lines of progress
QUIET = RunOptions(progress=False, max_failures=1.0)


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

    def run(self, program: Module, indices: Sequence[int], name: str = "", after: int = 0) -> Run:
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
        order = [part for document in self.order if (part := [index for index in document if index in base])]
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
            if len(seen) < len(base):
                ended = ended_early(decision.decision, difference, futility)
            result = CandidateResult(cases, difference, ended, decision.p)
            if ended != Outcome.FULL:
                break
            so_far = f", {difference.difference:+.3f} so far"
        return result

    def drops(self, after: Sequence[Case], before: Sequence[Case], documents: Sequence[Hashable] | None = None) -> str:
        """The guarded values that drop by more than is tolerated, for a message; empty if none does.

        From ``LEAST`` examples on, a drop within one standard error of the paired difference is noise, over documents
        where examples share them.
        """
        messages = []
        for name, tolerated in self.guarded.items():
            new = [case.evidence[name] for case in after]
            old = [case.evidence[name] for case in before]
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
    documents = clusters(examples)
    old = [case.evidence for case in before]
    new = [case.evidence for case in after]
    design = _design(examples, split)
    if design:
        difference = weighed(old, new, zero, design, documents)
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


def _design(examples: Examples, split: str) -> Design | None:
    """How the examples of a split are weighed; None if all count the same.

    Records that were drafted for their likely errors are a random sample inside each stratum, so a difference can be
    weighed though the question was another one. Without a record of some stratum those that are there count the same.
    """
    design = Design.of(examples) if split in ("test", REVIEWED) else None
    if design is None or split == "test":
        return design
    level = replace(design, first=design.first.model_copy(update={"question": "level"}))
    return None if level.no_level else level


def evaluated(program: Module, examples: Examples, metric: AnyMetric, options: RunOptions = QUIET) -> Run:
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


def failure(run: Run) -> str:
    """A message if the program failed on all examples of a run; empty if it worked on any."""
    if run.available or not run.rows:
        return ""
    return f"failed on all {len(run.rows)} examples; the first: {run.rows[0]['error']}"


def with_tallies(metric: AnyMetric) -> Metric:
    """The metric as one that gives tallies; a plain function has the mean of what it returns."""
    return metric if isinstance(metric, Metric) else Metric.of(metric)


def guards(metric: AnyMetric, guarded: Mapping[str, float] | None) -> dict[str, float]:
    """The values that must not drop: those given, or by default every measure of weight 0.

    Raises:
        GoldassayError: The metric has no measure of a name.
    """
    measured = with_tallies(metric)
    if guarded is None:
        return {name: 0.0 for name, weight in measured.weights.items() if not weight}
    if unknown := [name for name in guarded if name not in measured.zero]:
        raise GoldassayError(f"{unknown[0]!r} cannot be guarded: the metric has {', '.join(measured.zero)}")
    return dict(guarded)

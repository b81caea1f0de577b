"""Measuring programs on the same examples: each answer once, paired, in stages that stop as soon as the result is sure.

A `Bench` keeps what was measured, by the program's prompts and the example, on disk too where it has a journal: a
tuning that was killed goes on without asking anything twice. A candidate is measured on documents in a random order;
at each stage the sequential test by betting (`goldassay.statistics.sequential_test`) may accept or reject it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goldassay import jsonl
from goldassay.exceptions import GoldassayError, RunStopped
from goldassay.measure import Error
from goldassay.metric import AnyMetric, Metric
from goldassay.running import Run, evaluate
from goldassay.running.identity import fingerprint
from goldassay.running.run import Case
from goldassay.score import Evidence
from goldassay.statistics import compare, contributions
from goldassay.statistics.sequential import LEAST, sequential_test, stages
from goldassay.tuning.leaks import clusters, ordered
from goldassay.tuning.patches import Effect

if TYPE_CHECKING:
    import dspy

COSTS = ("calls", "prompt_tokens", "completion_tokens", "seconds")
CHUNK = 8  # examples between two lines of the journal, and between two looks at the progress


@dataclass(frozen=True)
class CandidateResult:
    """A candidate beside what it was measured against: its cases, the effect, and how the measuring ended.

    ``ended`` is ``accept`` or ``reject`` where the sequential test stopped it early, ``full`` after all examples,
    ``failed`` where the program never worked. ``sequential_p`` may be read at any time.
    """

    cases: dict[int, Case]
    effect: Effect | None
    ended: str
    sequential_p: float = 1.0
    failure: str = ""

    @property
    def p(self) -> float:
        """The one-sided p of "better" on the examples looked at: half the two-sided one of the paired permutation."""
        if self.effect is None or self.effect.difference <= 0:
            return 1.0
        return self.effect.p / 2

    @property
    def gain(self) -> float:
        """The difference of the corpus values; minus infinity where there is none."""
        return self.effect.difference if self.effect is not None else float("-inf")


@dataclass
class Bench:
    """Programs on these examples, with this metric.

    ``guarded`` maps a measure's name to the drop that is tolerated. ``tell`` hears a line now and then: what is
    measured, its effect so far, how many calls of this candidate are left.
    """

    examples: Sequence[Any]
    metric: AnyMetric
    guarded: Mapping[str, float] = field(default_factory=dict)
    threads: int = 1
    seed: int = 0
    resamples: int = 4000
    journal: Path | None = None
    tell: Callable[[str], None] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    worked: int = field(default=0, init=False)
    failure: str = field(default="", init=False)
    cost: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COSTS, 0.0), init=False)
    _known: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.order = ordered(self.examples, self.seed)
        if self.journal is not None and self.journal.is_file():
            for line in self.journal.read_bytes().split(b"\n"):
                try:
                    row = json.loads(line)
                    self._known[row["program"], int(row["index"])] = row
                except (ValueError, KeyError, TypeError, RecursionError):  # a line that was cut off is measured again
                    continue

    @property
    def zero(self) -> Evidence:
        """No evidence yet."""
        zero: Evidence = tallied(self.metric).zero
        return zero

    def cases(
        self, program: dspy.Module, indices: Sequence[int], note: Callable[[int], None] | None = None
    ) -> list[Case]:
        """The program's cases of these examples, measured where they are not known yet."""
        version = fingerprint(program)
        left = [index for index in indices if (version, index) not in self._known]
        for start in range(0, len(left), CHUNK):
            some = left[start : start + CHUNK]
            chosen = [self.examples[index] for index in some]
            options: dict[str, Any] = {"threads": self.threads, "progress": False, "seed": self.seed}
            options.update(self.options)
            done = evaluated(program, chosen, self.metric, **options)
            for key in COSTS:
                self.cost[key] += float(done.cost.get(key, 0))
            self._keep(version, some, done)
            if note is not None:
                note(len(left) - start - len(some))
        found = [self._known[version, index] for index in indices]
        errors = [row["failed"] for row in found if row["failed"]]
        self.worked += len(found) - len(errors)
        self.failure = self.failure or next(iter(errors), "")
        return [self._case(row) for row in found]

    def check(self) -> None:
        """Raise if the program never worked: its prompts are not to blame."""
        if self.failure and not self.worked:
            raise GoldassayError(f"the program failed on all examples; the first: {self.failure}")

    def test(
        self,
        name: str,
        programs: Sequence[dspy.Module],
        folds: Sequence[int],
        base: Mapping[int, Case],
        *,
        alpha: float = 0.01,
        split: str = "train+dev",
        stop: bool = True,
        worse: bool = True,
    ) -> CandidateResult:
        """The candidate whose program for example i is ``programs[folds[i]]``, paired with the cases of ``base``.

        Args:
            name: what is measured, for the progress line.
            programs: one a fold.
            folds: the fold of each example.
            base: the cases to compare with; only their examples are measured.
            alpha: the level of accepting early.
            split: what the examples are called in the effect.
            stop: whether to stop as soon as the result is sure.
            worse: whether what is not better on the way is given up too (not so for what is tried to be left out).
        """
        cases: dict[int, Case] = {}
        before, ended, found, p = dict(self.cost), "full", None, 1.0
        order = [some for one in self.order if (some := [index for index in one if index in base])]
        flat, stops = [index for one in order for index in one], stages(len(order))
        ends = [sum(len(one) for one in order[:stop]) for stop in stops]
        for look, end in list(zip(stops, ends, strict=True))[0 if stop else -1 :]:
            wanted = flat[len(cases) : end]
            for fold in sorted({folds[index] for index in wanted}):  # equal prompts follow each other
                mine = [index for index in wanted if folds[index] == fold]
                left = len(flat) - len(cases) - len(mine)
                note = self._noted(name, found, left)
                cases.update(zip(mine, self.cases(programs[fold], mine, note), strict=True))
            seen = flat[:end]
            if all(self._failed(programs[folds[index]], index) for index in seen):
                return CandidateResult(cases, None, "failed", 1.0, self._failed(programs[folds[seen[0]]], seen[0]))
            spent = {key: self.cost[key] - before[key] for key in COSTS}
            after, old = ([where[index] for index in seen] for where in (cases, base))
            examples = [self.examples[index] for index in seen]
            found = effect(after, old, examples, self.zero, split, spent, seed=self.seed, resamples=self.resamples)
            told = sequential_test(
                [case.evidence for case in after],
                [case.evidence for case in old],
                self.zero,
                looks=[one for one in stops if one <= look],
                clusters=clusters(examples) or list(range(len(examples))),
                alpha=alpha,
            )
            p = told.p
            if end == len(flat):
                break
            if told.decision != "continue":
                ended = told.decision
                break
            if worse and found.difference <= 0 and found.high < 0.01:
                ended = "reject"
                break
        return CandidateResult(cases, found, ended, p)

    def worsened(self, after: Sequence[Case], before: Sequence[Case]) -> str:
        """The guarded values that drop by more than is tolerated, in words; empty when none does.

        From ``LEAST`` examples on a drop within one standard error of the paired difference is none: it is noise.
        """
        if not self.guarded:
            return ""
        new, old = total(after), total(before)
        drops = {name: float(old[name].value - new[name].value) for name in self.guarded}
        worse = {name: drop for name, drop in drops.items() if drop > self.guarded[name] + 1e-12}
        if len(after) >= LEAST:
            worse = {
                name: drop
                for name, drop in worse.items()
                if drop > self.guarded[name] + self._noise(name, after, before)
            }
        return ", ".join(f"{name} by {drop:.4f}" for name, drop in worse.items())

    def _noise(self, name: str, after: Sequence[Case], before: Sequence[Case]) -> float:
        """The standard error of the paired difference of one measure."""
        new, old = ([case.evidence[name] for case in some] for some in (after, before))
        parts = contributions(new, old, self.zero[name])
        return float(np.std(parts, ddof=1) * len(parts) ** 0.5)

    def _noted(self, name: str, found: Effect | None, after: int) -> Callable[[int], None]:
        so_far = f", {found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}] so far" if found else ""

        def note(left: int) -> None:
            if self.tell is not None:
                self.tell(f"{name}{so_far}, {left + after} examples left")

        return note

    def _failed(self, program: dspy.Module, index: int) -> str:
        return str(self._known[fingerprint(program), index]["failed"])

    def _keep(self, version: str, indices: Sequence[int], run: Run) -> None:
        rows = []
        for index, row, case in zip(indices, run.rows, run.cases, strict=True):
            kept = {
                "program": version,
                "index": index,
                "id": case.id,
                "tallies": row["tallies"],
                "errors": [error.state() for error in case.errors],
                "strata": dict(case.strata),
                "failed": row.get("error") or "",
            }
            self._known[version, index] = kept
            rows.append(kept)
        if self.journal is not None:
            with jsonl.Log(self.journal) as log:
                log.lines([json.dumps(row, ensure_ascii=False, default=str) for row in rows])

    def _case(self, row: Mapping[str, Any]) -> Case:
        errors = tuple(Error(**error) for error in row["errors"])
        return Case(str(row["id"]), self.zero.from_state(row["tallies"]), errors, row["strata"])


def effect(
    after: Sequence[Case],
    before: Sequence[Case],
    examples: Sequence[dspy.Example],
    zero: Evidence,
    split: str,
    cost: Mapping[str, float],
    *,
    seed: int = 0,
    resamples: int = 10_000,
) -> Effect:
    """The paired difference of the corpus values on these examples, and what measuring it cost.

    ``after`` and ``before`` are the cases of ``examples``; those that share a document are resampled together.

    Args:
        zero: Empty evidence of the metric.
        split: The split that the examples come from.
        seed: Of everything that is drawn at random.
        resamples: How many resamples the bootstrap draws.
    """
    found = compare(
        [case.evidence for case in after],
        [case.evidence for case in before],
        zero,
        clusters=clusters(examples),
        seed=seed,
        resamples=resamples,
    )
    old = float(total(before).value)
    return Effect(
        split=split,
        before=old,
        after=old + found.difference,
        difference=found.difference,
        low=found.interval.low,
        high=found.interval.high,
        p=found.p,
        n=len(after),
        calls=int(cost.get("calls", 0)),
        tokens=int(cost.get("prompt_tokens", 0) + cost.get("completion_tokens", 0)),
        seconds=round(float(cost.get("seconds", 0.0)), 3),
    )


def evaluated(program: dspy.Module, examples: Sequence[dspy.Example], metric: AnyMetric, **options: Any) -> Run:
    """A run; what the metric raises becomes one line that says on which example."""
    try:
        options.setdefault("max_failures", 1.0)
        return evaluate(program, examples, metric, **options)
    except RunStopped as stopped:
        raise stopped.__cause__ or stopped from None  # it is the tuning that is gone on with, not this run of it
    except GoldassayError:
        raise
    except Exception as error:
        where = "".join(f" ({note})" for note in getattr(error, "__notes__", ())[:1])
        raise GoldassayError(f"the metric raised {type(error).__name__}: {error}{where}") from error


def failure(run: Run) -> str:
    """In words that the program failed on all examples of a run, and how; empty where it worked on any."""
    errors = [row["error"] for row in run.rows if row.get("error")]
    if not errors or len(errors) < len(run.rows):
        return ""
    return f"failed on all {len(run.rows)} examples; the first: {errors[0]}"


def tallied(metric: AnyMetric) -> Metric:
    """The metric as one that gives tallies; a plain function has the mean of what it returns."""
    return metric if isinstance(metric, Metric) else Metric.of(metric)


def guards(metric: AnyMetric, guarded: Mapping[str, float] | None) -> dict[str, float]:
    """The guarded values: those given, else every measure that weighs nothing, which must not drop at all."""
    known = tallied(metric).zero
    if guarded is None:
        return {name: 0.0 for name, weight in tallied(metric).weights.items() if not weight}
    unknown = [name for name in guarded if name not in known]
    if unknown:
        raise GoldassayError(f"{unknown[0]!r} cannot be guarded: the metric has {', '.join(known)}")
    return dict(guarded)


def total(cases: Sequence[Case]) -> Evidence:
    """The evidence of all cases together."""
    return sum((case.evidence for case in cases[1:]), cases[0].evidence)

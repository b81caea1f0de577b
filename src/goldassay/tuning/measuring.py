"""Testing a patch: paired on dev, on the corpus value, in a race that clearly worse ones leave early.

Looking early can only reject, never accept, so it does not raise the chance of accepting something useless.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.metric import Metric
from goldassay.running import Run, evaluate
from goldassay.running.run import Case
from goldassay.score import Evidence
from goldassay.statistics import compare
from goldassay.tuning.patches import Effect, Patch

COSTS = ("calls", "prompt_tokens", "completion_tokens", "seconds")


@dataclass
class Race:
    """How patches are tested: on these examples, with this metric.

    ``guarded`` maps a measure's name to the drop that is tolerated. Examples that share a document are resampled
    together.
    """

    examples: Sequence[Any]
    metric: Any
    guarded: Mapping[str, float]
    threads: int = 1
    seed: int = 0
    resamples: int = 4000
    worked: int = field(default=0, init=False)
    failure: str = field(default="", init=False)

    @property
    def zero(self) -> Evidence:
        """No evidence yet."""
        zero: Evidence = tallied(self.metric).zero
        return zero

    def run(self, program: Any, examples: Sequence[Any] | None = None) -> Run:
        """The program on the race's examples, or on others."""
        chosen = self.examples if examples is None else examples
        done = evaluated(
            program, chosen, self.metric, threads=self.threads, folder=None, progress=False, seed=self.seed
        )
        errors = [row["error"] for row in done.rows if row.get("error")]
        self.worked += len(done.rows) - len(errors)
        self.failure = self.failure or next(iter(errors), "")
        return done

    def check(self) -> None:
        """Raise if the program never worked: its prompts are not to blame."""
        if self.failure and not self.worked:
            raise GoldassayError(f"the program failed on all examples; the first: {self.failure}")

    def test(self, patch: Patch, program: Any, base: Sequence[Case]) -> list[Case] | None:
        """The patched program's cases, or ``None`` if the patch is rejected; its effect is written on the patch."""
        cases: list[Case] = []
        cost = dict.fromkeys(COSTS, 0.0)
        for stop in stages(len(self.examples)):
            done = self.run(program, self.examples[len(cases) : stop])
            if failure(done):
                patch.status, patch.reason = "rejected", f"not available: the program {failure(done)}"
                return None
            cases += done.cases
            cost = {key: value + float(done.cost.get(key, 0)) for key, value in cost.items()}
            found = effect(
                cases,
                base[: len(cases)],
                self.examples,
                self.zero,
                "dev",
                cost,
                seed=self.seed,
                resamples=self.resamples,
            )
            if stop < len(self.examples) and found.difference <= 0 and found.high < 0.01:
                break
        patch.effects = [found]
        if len(cases) < len(self.examples):
            patch.status = "rejected"
            patch.reason = f"lost the race after {len(cases)} of {len(self.examples)} examples"
            return None
        worse = self.worsened(cases, base)
        if worse:
            patch.status, patch.reason = "rejected", f"worsens {worse}"
            return None
        return cases

    def worsened(self, after: Sequence[Case], before: Sequence[Case]) -> str:
        """The guarded values that drop by more than is tolerated, in words; empty when none does."""
        new, old = total(after), total(before)
        drops = {name: float(old[name].value - new[name].value) for name in self.guarded}
        worse = (f"{name} by {drop:.4f}" for name, drop in drops.items() if drop > self.guarded[name] + 1e-12)
        return ", ".join(worse)


def effect(
    after: Sequence[Case],
    before: Sequence[Case],
    examples: Sequence[Any],
    zero: Evidence,
    split: str,
    cost: Mapping[str, Any],
    *,
    seed: int = 0,
    resamples: int = 10_000,
) -> Effect:
    """The paired difference of the corpus values on the first ``len(after)`` examples, and what measuring it cost.

    ``after`` and ``before`` are the cases of the same examples; those that share a document are resampled together.
    """
    found = compare(
        [case.evidence for case in after],
        [case.evidence for case in before],
        zero,
        clusters=clusters(examples[: len(after)]),
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


def evaluated(program: Any, examples: Sequence[Any], metric: Any, **options: Any) -> Run:
    """A run; what the metric raises becomes one line that says on which example."""
    try:
        return evaluate(program, examples, metric, **{"max_failures": 1.0, **options})
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


def tallied(metric: Any) -> Any:
    """The metric as one that gives tallies; a plain function has the mean of what it returns."""
    return metric if isinstance(metric, Metric) else Metric.of(metric)


def guards(metric: Any, guarded: Mapping[str, float] | None) -> dict[str, float]:
    """The guarded values: those given, else every measure that weighs nothing, which must not drop at all."""
    known = tallied(metric).zero
    if guarded is None:
        return {name: 0.0 for name, weight in tallied(metric).weights.items() if not weight}
    unknown = [name for name in guarded if name not in known]
    if unknown:
        raise GoldassayError(f"{unknown[0]!r} cannot be guarded: the metric has {', '.join(known)}")
    return dict(guarded)


def stages(n: int) -> list[int]:
    """Where the race looks: after a quarter, a half and all of the examples (never fewer than 8).

    >>> stages(40), stages(12), stages(5)
    ([10, 20, 40], [8, 12], [5])
    """
    return sorted({max(8, n // 4), max(8, n // 2), n} & set(range(1, n + 1)) | {n})


def clusters(examples: Sequence[Any]) -> list[Any] | None:
    """The document of each example, if any two share one."""
    found = [read(example, "document", None) or ("example", index) for index, example in enumerate(examples)]
    return found if len(set(found)) < len(found) else None


def total(cases: Sequence[Case]) -> Evidence:
    """The evidence of all cases together."""
    return sum((case.evidence for case in cases[1:]), cases[0].evidence)

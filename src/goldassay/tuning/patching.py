"""``Patches``: an optimizer that patches prompts from their errors, and proves each patch.

Pattern by pattern, most costly first: propose, test on dev against the program as it is (paired, on the corpus value,
racing: what is clearly worse stops early), correct for the number of candidates (Holm), accept what is better and
worsens no guarded value. Everything tried stands in the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dspy.teleprompt import Teleprompter

from goldassay.exceptions import DataError
from goldassay.running import evaluate
from goldassay.score import Evidence
from goldassay.statistics import compare, holm
from goldassay.tuning.edits import apply
from goldassay.tuning.leaks import check_instructions
from goldassay.tuning.patches import Effect, Patch
from goldassay.tuning.patterns import Case, Pattern, find
from goldassay.tuning.proposers import Examples, Proposer, Rules


@dataclass
class Ledger:
    """Everything that was tried, in order."""

    patches: list[Patch] = field(default_factory=list)
    patterns: list[list[Pattern]] = field(default_factory=list)

    @property
    def accepted(self) -> list[Patch]:
        """The patches that were kept."""
        return [patch for patch in self.patches if patch.status in ("accepted", "applied")]


class Patches(Teleprompter):  # type: ignore[misc]
    """Patch a program's prompts from its errors.

    ``alpha`` is the chance of accepting anything when no edit helps: it is divided by ``rounds``, and Holm corrects
    within a round. ``guarded`` maps a measure of the metric to the drop that is tolerated. After `compile`, ``ledger``
    holds every patch with its measured effect and verdict.
    """

    def __init__(
        self,
        metric: Any,
        *,
        proposers: Sequence[Proposer] = (),
        rounds: int = 3,
        patterns: int = 3,
        candidates: int = 6,
        alpha: float = 0.05,
        guarded: dict[str, float] | None = None,
        threads: int = 1,
        seed: int = 0,
        resamples: int = 4000,
    ) -> None:
        super().__init__()
        self.metric, self.threads, self.seed, self.resamples = metric, threads, seed, resamples
        self.proposers = list(proposers) or [Rules(), Examples()]
        self.rounds, self.patterns, self.candidates, self.alpha = rounds, patterns, candidates, alpha
        self.guarded = dict(guarded or {})
        self.ledger = Ledger()
        self.program: Any = None
        """The best program so far, also when `compile` is stopped by a budget."""
        self.value = 0.0

    def compile(self, student: Any, *, trainset: list[Any], valset: list[Any] | None = None, **_: Any) -> Any:
        """The student with all accepted patches; without ``valset`` the last third of ``trainset`` is dev."""
        if valset is None:
            cut = max(1, len(trainset) * 2 // 3)
            trainset, valset = trainset[:cut], trainset[cut:]
        if not trainset or not valset:
            raise DataError("patching needs train examples to learn from and dev examples to test on")
        program, self.ledger = student, Ledger()
        self.program, self.value = student, 0.0
        tried: set[str] = set()
        base = self._cases(program, valset)
        self.value = float(_total(base).value)
        for _round in range(self.rounds):
            patterns = find(self._cases(program, trainset))[: self.patterns]
            self.ledger.patterns.append(patterns)
            proposed = self._proposed(patterns, program, trainset, valset, tried)
            if not proposed:
                break
            results = [self._tested(patch, program, valset, base) for patch in proposed]
            best = self._verdicts(proposed, results)
            if best is None:
                continue
            program, base = apply(program, proposed[best], any_version=True), results[best] or base
            self.program, self.value = program, float(_total(base).value)
        return program

    def _proposed(
        self, patterns: list[Pattern], program: Any, train: list[Any], dev: list[Any], tried: set[str]
    ) -> list[Patch]:
        """The proposers' patches for the patterns in turn, each edit once per tuning, copies of dev refused."""
        queues = [
            [patch for p in self.proposers for patch in p.propose(pattern, program, train)] for pattern in patterns
        ]
        out: list[Patch] = []
        while any(queues) and len(out) < self.candidates:
            for queue in filter(None, queues):
                patch = queue.pop(0)
                if patch.id in tried or len(out) == self.candidates:
                    continue
                tried.add(patch.id)
                if patch.text:
                    check_instructions([patch.text], {"dev": dev})
                out.append(patch)
                self.ledger.patches.append(patch)
        return out

    def _tested(self, patch: Patch, program: Any, dev: list[Any], base: list[Case]) -> list[Case] | None:
        """The patched program's cases on dev, or ``None`` if it lost the race; the effect is written on the patch."""
        made = apply(program, patch, any_version=True)
        cases: list[Case] = []
        for stop in _stages(len(dev)):
            cases += self._cases(made, dev[len(cases) : stop])
            found = compare(
                [case.evidence for case in cases],
                [case.evidence for case in base[: len(cases)]],
                self.metric.zero,
                seed=self.seed,
                resamples=self.resamples,
            )
            if stop < len(dev) and found.difference <= 0 and found.interval.high < 0.01:
                break
        before = float(_total(base[: len(cases)]).value)
        patch.effects = [
            Effect(
                split="dev",
                before=before,
                after=before + found.difference,
                difference=found.difference,
                low=found.interval.low,
                high=found.interval.high,
                p=found.p,
                n=len(cases),
            )
        ]
        if len(cases) < len(dev):
            patch.status, patch.reason = "rejected", f"lost the race after {len(cases)} of {len(dev)} examples"
            return None
        worse = self._worsened(cases, base)
        if worse:
            patch.status, patch.reason = "rejected", f"worsens {worse}"
            return None
        return cases

    def _worsened(self, cases: list[Case], base: list[Case]) -> str:
        after, before = _total(cases), _total(base)
        drops = {name: float(before[name].value - after[name].value) for name in self.guarded}
        return ", ".join(f"{name} by {drop:.4f}" for name, drop in drops.items() if drop > self.guarded[name])

    def _verdicts(self, patches: list[Patch], results: list[list[Case] | None]) -> int | None:
        """Accept the best of a round if its difference stands after correction; say of the others why not."""
        adjusted = holm([patch.effects[0].p for patch in patches])
        best: int | None = None
        for index, patch in enumerate(patches):
            effect = patch.effects[0]
            if results[index] is None:
                continue
            if effect.difference > 0 and adjusted[index] <= self.alpha / self.rounds:
                if best is None or effect.difference > patches[best].effects[0].difference:
                    best = index
                patch.status, patch.reason = "rejected", "better, but another one of this round was better still"
            else:
                patch.status = "rejected"
                patch.reason = f"not shown to be better (p {effect.p:.3f}, corrected {adjusted[index]:.3f})"
        if best is not None:
            patches[best].status, patches[best].reason = "accepted", "better on dev after correction"
        return best

    def _cases(self, program: Any, examples: list[Any]) -> list[Case]:
        run = evaluate(
            program, examples, self.metric, threads=self.threads, folder=None, progress=False, seed=self.seed
        )
        return run.cases


def _stages(n: int) -> list[int]:
    """Where the race looks: after a quarter, a half and all of the dev examples (never fewer than 8)."""
    return sorted({max(8, n // 4), max(8, n // 2), n} & set(range(1, n + 1)) | {n})


def _total(cases: Sequence[Case]) -> Evidence:
    return sum((case.evidence for case in cases[1:]), cases[0].evidence)

"""``Patches``: an optimizer that patches prompts from their errors, and proves each patch.

Pattern by pattern, most costly first: propose, test on dev against the program as it is (paired, on the corpus value,
racing: what is clearly worse stops early), correct for the number of candidates (Holm), accept what is better and
worsens no guarded value. Everything tried stands in the ledger. Errors are those made on train; dev only decides; the
result is confirmed on test once, by `goldassay.tuning.tune`.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from dspy.teleprompt import Teleprompter

from goldassay.exceptions import DataError, GoldassayError, LeakError
from goldassay.running.identity import fingerprint
from goldassay.running.run import Case
from goldassay.statistics import holm
from goldassay.tuning.leaks import check_patch
from goldassay.tuning.measuring import Race, guards, total
from goldassay.tuning.patches import Patch, apply
from goldassay.tuning.patterns import Pattern, find
from goldassay.tuning.proposing import Examples, Proposer, Rules
from goldassay.tuning.results import Ledger


class Patches(Teleprompter):  # type: ignore[misc]
    """Patch a program's prompts from its errors.

    ``alpha`` is the chance of accepting anything when no edit helps: it is divided by ``rounds``, and Holm corrects
    within a round. ``guarded`` maps a measure of the metric to the drop that is tolerated; by default no measure of
    weight 0 may drop. After `compile`, ``ledger`` holds every patch with its measured effect and verdict.
    ``held_out`` are splits whose sentences no instruction may copy, beside dev. ``heard`` is called with the value and
    the program whenever a better one is kept.
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
        guarded: Mapping[str, float] | None = None,
        threads: int = 1,
        seed: int = 0,
        resamples: int = 4000,
        held_out: Mapping[str, Sequence[Any]] | None = None,
        heard: Callable[[float, Any], None] | None = None,
    ) -> None:
        super().__init__()
        if min(rounds, patterns, candidates) < 1 or not 0 < alpha < 1:
            raise GoldassayError("patching needs at least one round, pattern and candidate, and an alpha in (0, 1)")
        self.metric, self.threads, self.seed, self.resamples = metric, threads, seed, resamples
        self.proposers = list(proposers) or [Rules(), Examples()]
        self.rounds, self.patterns, self.candidates, self.alpha = rounds, patterns, candidates, alpha
        self.guarded = guards(self.metric, guarded)
        self.held_out, self.heard = dict(held_out or {}), heard
        self.ledger = Ledger()

    def compile(self, student: Any, *, trainset: list[Any], valset: list[Any] | None = None, **_: Any) -> Any:
        """The student with all accepted patches; without ``valset`` the last third of ``trainset`` is dev."""
        if valset is None:
            cut = max(1, len(trainset) * 2 // 3)
            trainset, valset = trainset[:cut], trainset[cut:]
        if not trainset or not valset:
            raise DataError("patching needs train examples to learn from and dev examples to test on")
        shuffled = random.Random(self.seed).sample(valset, len(valset))  # a race's first examples speak for all
        race = Race(shuffled, self.metric, self.guarded, self.threads, self.seed, self.resamples)
        self.ledger, tried, program = Ledger(), set[str](), student
        base = race.run(program).cases
        self._say(base, program)
        queues: list[Iterator[Patch]] | None = None
        again: list[Patch] = []
        try:
            for number in range(1, self.rounds + 1):
                if queues is None:
                    queues = self._queues(program, trainset, race)
                round_ = self._round(again, queues, tried, valset)
                if not round_:
                    break
                made = [_applied(program, patch) for patch in round_]
                results = [one and race.test(patch, one, base) for patch, one in zip(round_, made, strict=True)]
                best, again = self._verdicts(round_, results)
                for patch in round_:
                    self.ledger.note(number, patch)
                if best is not None:
                    program, base, queues = made[best], results[best] or base, None
                    self._say(base, program)
        finally:
            _close(self.ledger)
        race.check()
        return program

    def _queues(self, program: Any, train: list[Any], race: Race) -> list[Iterator[Patch]]:
        """For each pattern of the program's train errors, most costly first, the patches proposed for it; lazily."""
        patterns = find(race.run(program, train).cases)
        self.ledger.patterns.append(patterns)
        return [self._proposed(place, pattern, program, train) for place, pattern in enumerate(patterns)]

    def _proposed(self, place: int, pattern: Pattern, program: Any, train: list[Any]) -> Iterator[Patch]:
        """The proposers in turn, an edit of each; another one begins with each pattern, so a round has of all kinds."""
        first = place % len(self.proposers)
        waiting = deque(
            self._asked(proposer, pattern, program, train)
            for proposer in (*self.proposers[first:], *self.proposers[:first])
        )
        while waiting:
            asked = waiting.popleft()
            for patch in islice(asked, 1):
                yield patch
                waiting.append(asked)

    def _asked(self, proposer: Proposer, pattern: Pattern, program: Any, train: list[Any]) -> Iterator[Patch]:
        """What a proposer proposes; it is asked when its first edit is wanted."""
        try:
            yield from proposer.propose(pattern, program, train)
        except GoldassayError as error:  # the other proposers need no model
            self.ledger.failures.append(f"{pattern.name}: {error}")

    def _round(self, again: list[Patch], queues: list[Iterator[Patch]], tried: set[str], dev: list[Any]) -> list[Patch]:
        """The round's candidates: what deserves another test, then new edits of the costliest patterns in turn."""
        out = again[: self.candidates]
        while queues and len(out) < self.candidates:
            for queue in queues[: self.patterns]:
                patch = self._new(queue, tried, dev)
                if patch is None:
                    queues.remove(queue)
                elif len(out) < self.candidates:
                    out.append(patch)
                if len(out) == self.candidates:
                    break
        return out

    def _new(self, queue: Iterator[Patch], tried: set[str], dev: list[Any]) -> Patch | None:
        """The next edit of a pattern that was not tried yet and copies nothing held out."""
        for patch in queue:
            if patch.id in tried:
                continue
            tried.add(patch.id)
            self.ledger.patches.append(patch)
            try:
                check_patch(patch, {**self.held_out, "dev": dev})
            except LeakError as error:
                patch.status, patch.reason = "rejected", str(error)
                self.ledger.note(0, patch)
                continue
            return patch
        return None

    def _verdicts(self, patches: list[Patch], results: list[list[Case] | None]) -> tuple[int | None, list[Patch]]:
        """Accept the best of a round if its difference stands after correction; the index, and what to test again."""
        lost = [result is None for result in results]
        adjusted = holm([1.0 if out else patch.effects[-1].p for patch, out in zip(patches, lost, strict=True)])
        better: list[int] = []
        for index, patch in enumerate(patches):
            if lost[index]:
                continue
            effect = patch.effects[-1]
            patch.status = "rejected"
            if effect.difference > 0 and adjusted[index] <= self.alpha / self.rounds:
                better.append(index)
                patch.reason = "better, but another one was better still"
            else:
                patch.reason = f"not shown to be better (p {effect.p:.3f}, corrected {adjusted[index]:.3f})"
        if not better:
            return None, []
        best = max(better, key=lambda index: (patches[index].effects[-1].difference, -index))
        patches[best].status, patches[best].reason = "accepted", "better on dev after correction"
        return best, [patches[index] for index in better if index != best]

    def _say(self, base: Sequence[Case], program: Any) -> None:
        if self.heard is not None:
            self.heard(float(total(base).value), program)


def _applied(program: Any, patch: Patch) -> Any:
    """The patched program; ``None``, and a rejected patch, if the edit does not fit (any more)."""
    patch.program = fingerprint(program)
    try:
        return apply(program, patch)
    except GoldassayError as error:
        patch.status, patch.reason = "rejected", str(error)
        return None


def _close(ledger: Ledger) -> None:
    """What is still open when the tuning ends has no verdict, and the ledger says so."""
    for patch in ledger.patches:
        if patch.status == "proposed":
            patch.reason = f"{'no verdict' if patch.effects else 'not tested'}: the tuning ended before"
            ledger.note(len(ledger.patterns), patch)

"""``Patches``: an optimizer that patches prompts from their errors, in bundles, and says what it could prove.

Every example of train and dev is measured with edits that were made without it: examples are dealt into folds, and what
a fold is measured with comes from the errors of the others (demonstrations always from train). So all examples that are
not test say whether the edits help. The order of a campaign is fixed: the *bundle* of demonstrations that covers the
most costly errors is tested alone, at the full level; leave-one-out drops what carries nothing; then the same with
edits in words, and with the nearest demonstrations for each input (these first, where the answer is one label of
several). Each is kept if it is better than what was kept before (see `goldassay.tuning.acceptance`). The program that
comes out has the edits made from all examples.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_origin

from goldassay.exceptions import DataError, GoldassayError, LeakError
from goldassay.insides import Teleprompter
from goldassay.measure import Error
from goldassay.running.identity import fingerprint
from goldassay.running.run import Case
from goldassay.tuning.acceptance import ALPHA, EARLY, KEEP, WINS, Verdict, keeps, proves
from goldassay.tuning.demonstrations import CounterExample, Covering, Found, NearestExamples, check_fits, traced
from goldassay.tuning.leaks import check_patch
from goldassay.tuning.measuring import Bench, Outcome, document, guards, total
from goldassay.tuning.patches import Effect, Patch, apply
from goldassay.tuning.patterns import find
from goldassay.tuning.proposing import Bounds, Definitions, LabelOrder, Part, PerPattern, Proposer, Reflection, Rules
from goldassay.tuning.results import Ledger

CARRIES = 0.5  # the two-sided p up to which an edit carries something, where the bundle is worse without it
Bundle = dict[str, list[Patch]]


class Patches(Teleprompter):  # type: ignore[misc]
    """Patch a program's prompts from its errors.

    Args:
        metric: a `goldassay.Metric`, or any function of (gold, prediction) that DSPy takes.
        proposers: who proposes edits for a pattern; with them these alone make the bundle.
        reflection_lm: a model that proposes edits in words, too.
        bundles: parts of the bundles that are tested one after the other; by default demonstrations, then words.
        rounds: how often new errors are looked for, as long as the round before kept anything.
        folds: into how many parts train and dev are dealt.
        alpha: the chance of proving anything in a whole campaign when no edit helps.
        keep: the two-sided p up to which what is better by the estimate is kept: for the first bundle; half of it for
            each later one, and half of it together for the edits of a bundle that are tried alone.
        nearest: how many nearest demonstrations to show each input; 0 tries none.
        singles: how many edits of a bundle that failed are tried alone.
        guarded: measures that must not drop, with the drop that is tolerated; by default those of weight 0.
        threads: how many examples at once.
        seed: of the folds, of the order of examples, of the resamples.
        resamples: of the intervals and permutations.
        most: how many examples are measured at most; more of train are only shown.
        held_out: splits that no edit may show or copy, beside dev.
        heard: called with the value and the program whenever a better one is kept.
        tell: called with a line on what is measured, now and then.
        journal: the file in which measured examples are kept; a campaign that was killed goes on from it.

    After `compile`, ``ledger`` holds every edit with its effect and verdict, the patterns, and ``ledger.verdict``.
    """

    def __init__(
        self,
        metric: Any,
        *,
        proposers: Sequence[Proposer] = (),
        reflection_lm: Any = None,
        bundles: Sequence[Sequence[Part]] = (),
        rounds: int = 1,
        folds: int = 3,
        alpha: float = ALPHA,
        keep: float = KEEP,
        nearest: int = 4,
        singles: int = 4,
        guarded: Mapping[str, float] | None = None,
        threads: int = 1,
        seed: int = 0,
        resamples: int = 4000,
        most: int = 240,
        held_out: Mapping[str, Sequence[Any]] | None = None,
        heard: Callable[[float, Any], None] | None = None,
        tell: Callable[[str], None] | None = None,
        journal: Path | None = None,
    ) -> None:
        super().__init__()
        if min(rounds, most) < 1 or folds < 2 or not 0 < alpha < 1 or not 0 < keep <= 1:
            raise GoldassayError(
                "patching needs at least one round, two folds and an example, an alpha in (0, 1) and a keep in (0, 1]"
            )
        self.metric, self.threads, self.seed, self.resamples = metric, threads, seed, resamples
        self.rounds, self.folds, self.alpha, self.keep, self.singles, self.most = (
            rounds,
            folds,
            alpha,
            keep,
            singles,
            most,
        )
        self.guarded = guards(self.metric, guarded)
        own: list[list[Part]] = [[PerPattern(one) for one in proposers]] if proposers else []
        words: list[Part] = [PerPattern(Rules()), Definitions(), Bounds(), LabelOrder()]
        if reflection_lm is not None:
            words.insert(0, PerPattern(Reflection(reflection_lm), 2))
        self.bundles: list[list[Part]] = (
            [list(one) for one in bundles] or own or [[Covering(), CounterExample()], words]
        )
        if nearest and not (bundles or proposers):
            self.bundles.append([NearestExamples(nearest)])
        self.held_out, self.heard, self.tell, self.journal = dict(held_out or {}), heard, tell, journal
        self.ledger = Ledger()

    def compile(self, student: Any, *, trainset: list[Any], valset: list[Any] | None = None, **_: Any) -> Any:
        """The student with the edits that are kept; without ``valset`` everything is learnt from ``trainset``."""
        dev = list(valset or [])
        if not trainset:
            raise DataError("patching needs train examples to learn from")
        if not student.named_predictors():
            raise GoldassayError("this program has no predictor, so there is no prompt to patch")
        shuffled = random.Random(self.seed).sample(trainset, len(trainset))
        examples = [*dev, *shuffled[: max(0, self.most - len(dev))]]
        if len(examples) < WINS and not self.held_out:
            raise DataError(
                f"train and dev have {len(examples)} examples: nothing can be shown on fewer than {WINS}; add some"
            )
        bench = Bench(
            examples, self.metric, self.guarded, self.threads, self.seed, self.resamples, self.journal, self.tell
        )
        self.ledger = Ledger()
        campaign = _Campaign(self, bench, student, shuffled, dev, self._order(student))
        try:
            return campaign.run()
        finally:
            campaign.close()

    def _order(self, student: Any) -> list[list[Part]]:
        """The bundles in their order, which no result changes: where a choice is asked for, the nearest come first."""
        outputs = [info for one in student.predictors() for info in one.signature.output_fields.values()]
        choice = any(get_origin(info.annotation) is Literal for info in outputs)
        first = [one for one in self.bundles if choice and any(isinstance(part, NearestExamples) for part in one)]
        return [*first, *(one for one in self.bundles if one not in first)]


class _Campaign:
    """One campaign: what is kept so far, for each fold and as the final program (the last of ``programs``)."""

    def __init__(
        self, asked: Patches, bench: Bench, student: Any, train: list[Any], dev: list[Any], bundles: list[list[Part]]
    ) -> None:
        self.bundles = bundles
        self.asked, self.bench, self.train, self.dev, self.ledger = asked, bench, train, dev, asked.ledger
        self.folds = dealt(bench.examples, asked.folds, asked.seed)
        self.start = student
        self.programs = [student] * (asked.folds + 1)
        self.everything = list(range(len(bench.examples)))
        self.base: dict[int, Case] = {}
        self.cases: dict[int, Case] = {}
        self.proven = False
        self.first, self.open = True, False
        self.effect_of: Effect | None = None
        self.traces: dict[str, list[Any]] = {}
        self.known: set[str] = set()

    def run(self) -> Any:
        """The rounds."""
        self.base = dict(
            zip(self.everything, self.bench.cases(self.start, self.everything, self._noting()), strict=True)
        )
        self.bench.check()
        self.cases = dict(self.base)
        wrong = [index for index, case in self.base.items() if not _right(case)]
        self._heard()
        if not wrong:
            return self.start
        learnt = self.everything[len(self.dev) :]
        right = [_right(self.base[index]) for index in learnt]
        self.traces = traced(self.start, [self.bench.examples[index] for index in learnt], right)
        if any(isinstance(part, (Covering, NearestExamples)) for bundle in self.asked.bundles for part in bundle):
            check_fits(self.start, self.train, self.traces)
        for number in range(1, self.asked.rounds + 1):
            before = fingerprint(self.programs[-1])
            for parts in self.bundles:
                self._bundle(number, parts)
            if fingerprint(self.programs[-1]) == before:
                break
        return self.programs[-1]

    def _bundle(self, number: int, parts: Sequence[Part]) -> None:
        """Propose a bundle for every fold, test it, keep it, drop what carries nothing; else its edits alone."""
        self.cases = self._completed(self.programs, self.cases)
        if all(_right(case) for case in self.cases.values()):
            return
        made = [self._proposed(parts, fold) for fold in range(self.asked.folds + 1)]
        slots = list(dict.fromkeys(slot for bundle in (made[-1], *made[:-1]) for slot in bundle))
        slots = [slot for slot in slots if made[-1].get(slot)]
        for slot in slots:
            again = {patch.id for patch in made[-1][slot]}  # what is tried once more has one verdict, the last
            self.ledger.patches[:] = [patch for patch in self.ledger.patches if patch.id not in again]
            self.ledger.patches += made[-1][slot]
            self.known |= again
        if not slots:
            return
        name = slots[0] if len(slots) == 1 else f"bundle of {len(slots)}: {', '.join(slots)}"
        first, self.first = self.first, False
        level = self.asked.keep if first else self.asked.keep / 2
        tested = self._tested(number, name, made, slots, keep=level)
        if tested is not None and keeps(tested, level):
            if first:
                self.open = proves(tested, self.asked.alpha)
            self._keep(made, self._pruned(number, made, slots, tested))
            return
        if first:
            self.open = False  # what comes later is proven only where the first hypothesis was
        if len(slots) < 2:
            return
        found: list[tuple[float, str, Outcome]] = []
        some = slots[: self.asked.singles]
        for slot in some:
            level = self.asked.keep / 2 / len(some)
            alone = self._tested(number, f"{slot} alone", made, [slot], keep=level)
            if alone is not None and keeps(alone, level):
                found.append((alone.gain, slot, alone))
        if found:
            _, slot, alone = max(found, key=lambda one: one[0])
            self._keep(made, ([slot], alone.cases))

    def _pruned(
        self, number: int, made: list[Bundle], slots: list[str], tested: Outcome
    ) -> tuple[list[str], dict[int, Case]]:
        """Leave-one-out: a slot goes if the bundle without it is no worse on all examples."""
        left, cases = list(slots), tested.cases
        if len(left) > 1:  # where it was accepted early, the rest is measured now
            cases = self._completed(self._programs(made, left), cases)
        for slot in reversed(slots):
            if len(left) == 1:
                break
            rest = [one for one in left if one != slot]
            without = self._tested(number, f"without {slot}", made, rest, against=cases, dropping=slot)
            if without is not None and without.ended != "needed":
                left, cases = rest, self._completed(self._programs(made, rest), without.cases)
                for patch in made[-1][slot]:
                    patch.reason = patch.reason or "carries nothing: the bundle is no worse without it"
                    patch.status = "rejected"
        return left, cases

    def _completed(self, programs: Sequence[Any], cases: Mapping[int, Case]) -> dict[int, Case]:
        """The cases of all examples, where some were left out."""
        out = dict(cases)
        for fold in range(self.asked.folds):
            mine = [index for index in self.everything if index not in out and self.folds[index] == fold]
            out.update(zip(mine, self.bench.cases(programs[fold], mine), strict=True))
        return out

    def _keep(self, made: list[Bundle], taken: tuple[list[str], dict[int, Case]]) -> None:
        """Take these slots: for the folds, and for the final program. Its cases beside those of the program as it was
        say whether it is proven; nothing new is measured."""
        slots, self.cases = taken
        here = self.programs[-1]
        for patch in (patch for slot in slots for patch in made[-1].get(slot, ())):
            patch.program = fingerprint(here)  # edits build on each other
            here = self._with(here, patch)
        self.programs = self._programs(made, slots)
        base = {index: self.base[index] for index in self.cases}
        level = self.asked.alpha * EARLY
        against = self.bench.test("what is kept", self.programs[:-1], self.folds, base, alpha=level, stop=False)
        self.proven = self.open and proves(against, self.asked.alpha)
        self.effect_of = against.effect
        status = "proven" if self.proven else "kept"
        for slot in slots:
            for patch in made[-1][slot]:
                patch.status, patch.reason = (
                    "kept",
                    f"{status} as part of {', '.join(slots)}" if len(slots) > 1 else status,
                )
        self._heard()

    def _tested(
        self,
        number: int,
        name: str,
        made: list[Bundle],
        slots: list[str],
        against: dict[int, Case] | None = None,
        dropping: str = "",
        keep: float = KEEP,
    ) -> Outcome | None:
        """Measure these slots beside what is kept (``keep``: the p up to which they are); ``None`` where there is
        nothing to measure, and the ledger says why."""
        patches = [patch for slot in ([dropping] if dropping else slots) for patch in made[-1].get(slot, ())]
        programs = self._programs(made, slots)
        same = all(fingerprint(new) == fingerprint(old) for new, old in zip(programs, self.programs, strict=True))
        if same:
            self._note(number, name, patches, "rejected", "the prompt stays the same: nothing of it fits the program")
            return None
        base = self.cases if against is None else against
        level = self.asked.alpha * EARLY
        tested = self.bench.test(name, programs[:-1], self.folds, base, alpha=level, worse=not dropping)
        reason, status = self._reason(tested, base, dropping, keep), "needed" if dropping else "rejected"
        if not reason and dropping:
            status, reason = "dropped", f"no worse without {dropping}"
        elif not reason:
            status = "better" if name.endswith(" alone") else "kept"
            reason = f"better, {'accepted early' if tested.ended == 'accept' else 'on all examples'}"
        if tested.effect is not None:
            for patch in patches:
                patch.effects = [_turned(tested.effect) if dropping else tested.effect]
        self._note(number, name, patches, status, reason, tested)
        return tested if status in ("kept", "better", "dropped") else Outcome(tested.cases, tested.effect, status)

    def _reason(self, tested: Outcome, base: Mapping[int, Case], dropping: str, keep: float) -> str:
        """Why it is not kept, or not dropped; empty where it is."""
        if tested.ended == "failed" or tested.effect is None:
            return f"not available: the program failed on all examples; the first: {tested.failure}"
        one, ids = tested.effect, sorted(tested.cases)
        after, before = [tested.cases[i] for i in ids], [base[i] for i in ids]
        if all(new.evidence.state() == old.evidence.state() for new, old in zip(after, before, strict=True)):
            return "" if dropping else f"changes the prompt, but the result of none of {one.n} examples"
        if dropping:
            carries = tested.ended == "reject" or (one.difference < 0 and one.p <= CARRIES)
            return f"worse without it ({one.difference:+.3f})" if carries else ""
        if tested.ended == "reject":
            return f"lost the race after {one.n} of {len(base)} examples"
        if not keeps(tested, keep):
            return f"not shown to be better (p {one.p:.3f})"
        worse = self.bench.worsened(after, before)
        return f"worsens {worse}" if worse else ""

    def _programs(self, made: list[Bundle], slots: Sequence[str]) -> list[Any]:
        """The programs of all folds, and the final one, with these slots on top of what is kept."""
        out = []
        for program, bundle in zip(self.programs, made, strict=True):
            for slot in slots:
                for patch in bundle.get(slot, ()):
                    program = self._with(program, patch)
            out.append(program)
        return out

    @staticmethod
    def _with(program: Any, patch: Patch) -> Any:
        """The program with an edit, or as it is where the edit does not fit."""
        try:
            return apply(program, patch, any_version=True)
        except GoldassayError as error:
            patch.status, patch.reason = "rejected", str(error)
            return program

    def _proposed(self, parts: Sequence[Part], fold: int) -> Bundle:
        """The bundle of a fold, from the errors made on the others; the last one's is made from all examples."""
        others = [index for index in sorted(self.cases) if self.folds[index] != fold]
        names = {str(self.bench.examples[i].get("id")) for i in range(len(self.folds)) if self.folds[i] == fold}
        mine = {id(self.bench.examples[index]) for index in range(len(self.folds)) if self.folds[index] == fold}
        train = [one for one in self.train if id(one) not in mine]
        shown = {
            name: [one for one in found if str(one.get("id")) not in names]
            for name, found in self.traces.items()
            if found
        }
        patterns = find([_worded(self.cases[index]) for index in others])
        if fold == self.asked.folds:
            self.ledger.patterns.append(patterns)
        found = Found(patterns, self.programs[fold], train, shown, self.ledger.tried)
        bundle: Bundle = {}
        seen: set[str] = set()
        for place, part in enumerate(parts):
            for slot, patches in part.edits(found).items():
                slot = slot if slot not in bundle else f"{slot} ({place + 1})"
                good = [patch for patch in patches if patch.id not in seen and self._allowed(patch, fold)]
                seen |= {patch.id for patch in good}
                if good:
                    bundle[slot] = good
            if fold == self.asked.folds:
                self.ledger.failures += [
                    why for why in getattr(part, "failures", ()) if why not in self.ledger.failures
                ]
        return bundle

    def _allowed(self, patch: Patch, fold: int) -> bool:
        """Whether a patch shows and copies nothing that is held out."""
        try:
            check_patch(patch, {**self.asked.held_out, "dev": self.dev})
        except LeakError as error:
            if fold == self.asked.folds and patch.id not in self.known:
                self.known.add(patch.id)
                patch.status, patch.reason = "rejected", str(error)
                self.ledger.patches.append(patch)
                self._note(0, "leak guard", [patch], "rejected", str(error))
            return False
        return True

    def _note(
        self, number: int, name: str, patches: Sequence[Patch], status: str, reason: str, tested: Outcome | None = None
    ) -> None:
        for patch in patches:
            if status == "rejected":
                patch.status, patch.reason = "rejected", patch.reason or reason
        self.ledger.note(number, name, patches, status, reason, tested.effect if tested else None)

    def _heard(self) -> None:
        if self.asked.heard is not None:
            self.asked.heard(float(total([self.cases[index] for index in sorted(self.cases)]).value), self.programs[-1])

    def _noting(self) -> Callable[[int], None] | None:
        tell = self.asked.tell
        return None if tell is None else lambda left: tell(f"the program as it is, {left} examples left")

    def close(self) -> None:
        """Write the verdict; what is still open when the campaign ends has none, and the ledger says so."""
        kept = fingerprint(self.programs[-1]) != fingerprint(self.start)
        by = "cross-fitting over train and dev" if self.proven else ""
        self.ledger.verdict = Verdict(kept, kept and self.proven, self.effect_of, by)
        for patch in self.ledger.patches:
            if patch.status == "proposed":
                patch.reason = f"{'no verdict' if patch.effects else 'not tested'}: the tuning ended before"


def dealt(examples: Sequence[Any], folds: int, seed: int) -> list[int]:
    """The fold of each example: documents whole, in a random order, as even as they allow.

    >>> sorted(dealt([{"id": i} for i in range(7)], 3, seed=0))
    [0, 0, 0, 1, 1, 2, 2]
    """
    found: dict[Any, list[int]] = {}
    for index, example in enumerate(examples):
        found.setdefault(document(example, index), []).append(index)
    documents = list(found.values())
    out, sizes = [0] * len(examples), [0] * folds
    for indices in random.Random(seed + 1).sample(documents, len(documents)):
        fold = sizes.index(min(sizes))
        sizes[fold] += len(indices)
        for index in indices:
            out[index] = fold
    return out


def _turned(effect: Effect) -> Effect:
    """What the edits carry, from the effect of leaving them out."""
    one = effect
    turned = {
        "before": one.after,
        "after": one.before,
        "difference": -one.difference,
        "low": -one.high,
        "high": -one.low,
    }
    return effect.model_copy(update=turned)


def _right(case: Case) -> bool:
    """Whether nothing is left to gain in an example."""
    return not case.errors and float(case.evidence.value) >= 1 - 1e-9


def _worded(case: Case) -> Case:
    """The case; where a metric names no error of an example that is not right, its low score is one."""
    if case.errors or _right(case):
        return case
    error = Error("low_score", f"Scored {float(case.evidence.value):.3f}.")
    return Case(case.id, case.evidence, (error,), case.strata)

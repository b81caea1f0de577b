"""A campaign: bundles of edits, each tested beside what is kept, in a fixed order.

Every example of train and dev is measured with edits that were made without it: examples are assigned to folds, and the
edits for a fold come from the errors of the others (demonstrations always from train). So all examples that are not
test say whether the edits help. Each bundle is tested alone, the first at the full level, and kept if it is better than
what was kept before (see `goldassay.tuning.acceptance`); a set in the place of the nearest, which costs no more, is
kept if it is better by the estimate. Leave-one-out drops what contributes nothing. The resulting program has the edits
made from all examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import dspy
from dspy import Example, Module

from goldassay._support.exceptions import DataError, GoldassayError, LeakError
from goldassay.core.fields import assign_folds, clusters, shuffled_documents
from goldassay.core.metric import AnyMetric
from goldassay.results.view import p_value
from goldassay.running.hashing import fingerprint
from goldassay.running.leaks import find_leaks
from goldassay.running.run import Case
from goldassay.tuning import measuring
from goldassay.tuning.acceptance import (
    ALPHA,
    EARLY,
    KEEP,
    CampaignVerdict,
    CandidateResult,
    Outcome,
    Status,
    is_kept,
    is_needed,
    is_proven,
)
from goldassay.tuning.edits import (
    Diagnosis,
    Edit,
    PatternSource,
    Slots,
    covering,
    nearest_examples,
    selected_examples,
    wraps,
)
from goldassay.tuning.measuring import MOST_MEASURED, Bench, Race
from goldassay.tuning.patches import Ledger, Patch, apply, check_patch
from goldassay.tuning.patterns import find, is_right, with_error
from goldassay.tuning.wrappers import Splits, check_fits, shows_nearest

Cases = dict[int, Case]
"""Measured examples by their index on the bench."""


@dataclass(frozen=True)
class PatchOptions:
    """The options of `Patches`.

    Args:
        bundles: edits of the bundles that are tested one after the other; by default
            `goldassay.tuning.patching.strongest_first`.
        notes: what a person noted while reading traces; the patterns are then the failure modes.
        reflection_lm: a model that also proposes edits in words.
        nearest: how many demonstrations to show each input, the nearest ones or a set for all; 0 tries neither.
        rounds: how often new errors are looked for, as long as the round before kept anything.
        folds: into how many parts train and dev are divided.
        alpha: the chance of proving anything in a whole campaign when no edit helps.
        keep: the two-sided p up to which an edit that is better by the estimate is kept: for the first bundle; half of
            it for each later one, and half of it together for the edits of a bundle that are tried alone.
        singles: how many edits of a bundle that failed are tried alone.
        guarded: measures that must not drop, with the drop that is tolerated; by default those of weight 0.
        most: how many examples are measured at most; more of train are only shown. A third of train is left out of the
            measuring, for the race of sets (`goldassay.tuning.measuring.count_measured`).
        threads: how many examples at once.
        seed: of the folds, of the order of examples, of the resamples.
        resamples: of the permutations.
        held_out: splits that no edit may show or copy, beside dev.
        on_candidate: called with the value and the program whenever a better one is kept.
        on_progress: called with a line on what is measured, now and then.
        journal: the file in which measured examples are kept; a campaign that was killed resumes from it.
    """

    bundles: Sequence[Sequence[Edit]] = ()
    notes: PatternSource | None = None
    reflection_lm: dspy.BaseLM | None = None
    nearest: int = 4
    rounds: int = 1
    folds: int = 3
    alpha: float = ALPHA
    keep: float = KEEP
    singles: int = 4
    guarded: Mapping[str, float] | None = None
    most: int = MOST_MEASURED
    threads: int = 1
    seed: int = 0
    resamples: int = 4000
    held_out: Splits = field(default_factory=dict)
    on_candidate: Callable[[float, Module], None] | None = None
    on_progress: Callable[[str], None] | None = None
    journal: Path | None = None

    def __post_init__(self) -> None:
        if min(self.rounds, self.most) < 1 or self.folds < 2 or not 0 < self.alpha < 1 or not 0 < self.keep <= 1:
            raise GoldassayError(
                "patching needs at least one round, two folds and an example, an alpha in (0, 1) and a keep in (0, 1]"
            )


class Campaign:
    """One campaign: the programs and cases that are kept so far, for each fold and for the final program.

    The final program is the last of ``programs``; its edits come from all examples.

    Args:
        student: The program as it is.
        metric: A `goldassay.Metric`, or any function of (gold, prediction).
        bundles: The edits of each bundle.
        options: `PatchOptions`.
        ledger: Where every test is noted.
        trainset: The examples that edits may show.
        dev: More examples to measure on, which no edit may show.

    Raises:
        DataError: The examples are too few to show anything.
    """

    def __init__(
        self,
        student: Module,
        metric: AnyMetric,
        bundles: Sequence[Sequence[Edit]],
        options: PatchOptions,
        ledger: Ledger,
        trainset: list[Example],
        dev: list[Example],
    ) -> None:
        self.start = student
        self.bundles = bundles
        self.options = options
        self.ledger = ledger
        self.dev = dev
        races = self._proposes(selected_examples)
        # Train in the order in which it is used, and the examples that are measured: dev, and the first of train. Those
        # that the program's prompts show come last: measured, they would flatter, so they are only shown.
        leaking = {leak.index for leak in find_leaks(student, trainset)}
        order = [index for document in shuffled_documents(trainset, options.seed) for index in document]
        self.train = [trainset[index] for index in sorted(order, key=leaking.__contains__)]
        measurable = self.train[: len(trainset) - len(leaking)]
        count = measuring.count_measured(len(trainset), len(dev), options.most, races)
        examples = [*dev, *measurable[:count]]
        if len(measuring.spare(self.train, examples)) < 2 * measuring.LEAST_RACED:  # one document leaves no race
            examples = [*dev, *measurable[: max(0, options.most - len(dev))]]
        if len(examples) < measuring.LEAST_WINS and not options.held_out:
            few = f"nothing can be shown on fewer than {measuring.LEAST_WINS}; add some"
            raise DataError(f"train and dev have {len(examples)} examples: {few}")
        self.bench = Bench(
            examples,
            metric,
            measuring.guards(metric, options.guarded),
            measuring.QUIET_OPTIONS.changed(threads=options.threads, seed=options.seed),
            options.alpha * EARLY,
            options.resamples,
            options.journal,
            options.on_progress,
        )
        self.race = Race.on(self.bench, self.train) if races else None
        self.folds = assign_folds(examples, options.folds, options.seed)
        self.programs: list[Module] = [student] * (options.folds + 1)
        self.proposed: list[Slots] = []  # the bundle that is tested now, of each fold
        self.base: Cases = {}  # of the program as it is
        self.cases: Cases = {}  # of what is kept
        self.verdict = CampaignVerdict(by="cross-fitting over train and dev")
        self.round = 0
        self.is_first_bundle = True
        self.may_prove = False  # whether the first hypothesis was shown, so that later ones can be proven
        self.tested_alone: set[str] = set()  # ids of patches that were shown by themselves
        self.tested_prompts: dict[tuple[str, ...], str] = {}  # the candidate that had these programs first

    def _proposes(self, *edits: Edit) -> bool:
        """Whether any of these edits is in a bundle."""
        return any(wraps(edit, *edits) for bundle in self.bundles for edit in bundle)

    def run(self) -> Module:
        """The rounds."""
        self.base = dict(enumerate(self.bench.base(self.start, "the program as it is").cases))
        self.cases = dict(self.base)
        self._report()
        if all(map(is_right, self.base.values())):
            return self.start
        if self._proposes(covering, nearest_examples, selected_examples):
            self.ledger.failures += filter(None, [check_fits(self.start, self.train, required=False)])
        for _ in range(self.options.rounds):
            self.round += 1
            before = fingerprint(self.programs[-1])
            for edits in self.bundles:
                self._try_bundle(edits)
            if fingerprint(self.programs[-1]) == before:
                break
        return self.programs[-1]

    def _try_bundle(self, edits: Sequence[Edit]) -> None:
        """Propose a bundle for every fold and test it; keep the slots that it needs, or else the best one alone."""
        self.cases = self._completed(self.programs, self.cases)
        if all(map(is_right, self.cases.values())):
            return
        self.proposed = [self._proposed_for(edits, fold) for fold in range(self.options.folds + 1)]
        slots = list(self.proposed[-1])
        patches = self._patches(self.proposed[-1])
        ids = {patch.id for patch in patches}  # an edit that is tried again has one verdict, the last
        earlier = [patch for patch in self.ledger.patches if patch.id not in ids]
        self.ledger.patches[:] = [*earlier, *patches]
        if not slots:
            return
        first = self.is_first_bundle
        self.is_first_bundle = False
        name = slots[0] if len(slots) == 1 else f"bundle of {len(slots)}: {', '.join(slots)}"
        level = self.options.keep if first else self.options.keep / 2
        nearest_are_kept = shows_nearest(self.programs[-1]) and not shows_nearest(self.start)
        if nearest_are_kept and all(wraps(edit, selected_examples) for edit in edits):
            level = 1.0  # a set in the place of the nearest costs no more: the better one by the estimate is kept
        result = self._tested(name, slots, keep=level)
        if first:
            # The hypotheses have a fixed order: the later ones, and so the program, can be proven only if the first
            # one is. If the first bundle was one patch, this test was of that patch by itself.
            self.may_prove = result is not None and is_proven(result, self.options.alpha)
            self.tested_alone = ids if self.may_prove and len(ids) == 1 else set()
        if result is not None:
            self._keep(*self._pruned(slots, result))
            return
        # The first slots of a bundle that failed are tested by themselves, and the best of them is kept.
        singles = slots[: self.options.singles] if len(slots) > 1 else []
        gains: dict[str, float] = {}
        cases: dict[str, Cases] = {}
        for slot in singles:
            alone = self._tested(f"{slot} alone", [slot], keep=self.options.keep / 2 / len(singles))
            if alone is not None and alone.effect is not None:
                gains[slot] = alone.effect.difference
                cases[slot] = alone.cases
        if gains:
            best = max(gains, key=gains.__getitem__)
            self._keep([best], cases[best])

    def _pruned(self, slots: list[str], result: CandidateResult) -> tuple[list[str], Cases]:
        """Leave-one-out: a slot goes if the bundle without it is no worse on all examples."""
        left = list(slots)
        cases = result.cases
        if len(left) > 1:  # if it was accepted early, the rest is measured now
            cases = self._completed(self._programs(left), cases)
        for slot in reversed(slots):
            if len(left) == 1:
                break
            others_left = [other for other in left if other != slot]
            without = self._tested(f"without {slot}", others_left, against=cases, dropping=slot)
            if without is not None:
                left = others_left
                cases = self._completed(self._programs(others_left), without.cases)
                for patch in self.proposed[-1][slot]:
                    patch.reject("contributes nothing: the bundle is no worse without it")
        return left, cases

    def _completed(self, programs: Sequence[Module], cases: Mapping[int, Case]) -> Cases:
        """The cases of all examples, if some were left out."""
        complete = dict(cases)
        for fold in range(self.options.folds):
            missing = [index for index, other in enumerate(self.folds) if index not in cases and other == fold]
            complete.update(zip(missing, self.bench.run(programs[fold], missing, "the rest").cases, strict=True))
        return complete

    def _keep(self, slots: list[str], cases: Cases) -> None:
        """Take these slots, for the folds and for the final program.

        Their cases beside those of the program as it was say whether it is proven; nothing new is measured.
        """
        self.cases = cases
        new = self._patches(self.proposed[-1], slots)
        program = self.programs[-1]
        for patch in new:
            patch.program = fingerprint(program)  # edits build on each other
            program = self._with(program, patch)
        self.programs = self._programs(slots)
        base = {index: self.base[index] for index in cases}
        result = self.bench.test("what is kept", self.programs[:-1], self.folds, base, stop=False)
        effect = result.effect.as_chosen if result.effect is not None else None
        proven = self.may_prove and is_proven(result, self.options.alpha)
        self.verdict = replace(self.verdict, proven=proven, effect=effect)
        if any(patch.action == "show_nearest" for patch in new):
            for patch in self.ledger.kept:
                if patch.action == "show_nearest" and patch not in new:
                    patch.status = Status.REJECTED
                    patch.reason = f"{', '.join(slots)} took its place"
        for patch in new:
            patch.status = Status.KEPT
            patch.effects = [effect.as_chosen for effect in patch.effects]
        self._report()

    def _tested(
        self,
        name: str,
        slots: list[str],
        *,
        keep: float = KEEP,
        against: Cases | None = None,
        dropping: str = "",
    ) -> CandidateResult | None:
        """Measure these slots beside what is kept, at the level ``keep``; None if they are not accepted.

        With ``dropping``, the slots are measured ``against`` the bundle that has that slot, too, and accepted if they
        are no worse. The ledger says why.
        """
        patches = self._patches(self.proposed[-1], [dropping] if dropping else slots)
        programs = self._programs(slots)
        note = partial(self.ledger.note, self.round, name, patches)
        # Candidates are told apart by the fingerprints of their programs, of all folds and the final one. Those of what
        # is kept mean that no edit fits the program. Those of an earlier candidate mean that its test was of the same
        # prompts; to test them again would give the edit a second chance at the same level. Leave-one-out is the
        # exception: there the candidate may be the program of an earlier test, but it is compared with another one.
        versions = tuple(map(fingerprint, programs))
        if versions == tuple(map(fingerprint, self.programs)):
            note("rejected", "the prompt stays the same: nothing of it fits the program")
            return None
        twin = self.tested_prompts.setdefault(versions, name)
        if twin != name and not dropping:
            note("rejected", f"identical with {twin}, which was measured: the same prompts")
            return None
        base = self.cases if against is None else against
        result = self.bench.test(name, programs[:-1], self.folds, base, futility=not dropping)
        if result.effect is not None:
            for patch in patches:
                patch.effects = [result.effect.reversed if dropping else result.effect]
        objection = self._objection(result, base, keep, dropping)
        if dropping:
            note("needed" if objection else "dropped", objection or f"no worse without {dropping}", result.effect)
        elif objection:
            note("rejected", objection, result.effect)
        else:
            how = "accepted early" if result.ended == Outcome.ACCEPT else "on all examples"
            note("better" if name.endswith(" alone") else "kept", f"better, {how}", result.effect)
        return None if objection else result

    def _objection(self, result: CandidateResult, base: Mapping[int, Case], keep: float, dropping: str) -> str:
        """Why a candidate is not kept, or a slot is not dropped; empty if it is."""
        effect = result.effect
        if effect is None:
            return f"not available: the program {result.failure}"
        indices = sorted(result.cases)
        after = [result.cases[index] for index in indices]
        before = [base[index] for index in indices]
        is_same = all(new.evidence.state() == old.evidence.state() for new, old in zip(after, before, strict=True))
        if dropping:
            return f"worse without it ({effect.difference:+z.3f})" if is_needed(result) and not is_same else ""
        if is_same:
            return f"changes the prompt, but the result of none of {effect.n} examples"
        if result.ended == Outcome.REJECT:
            return f"lost the race after {effect.n} of {len(base)} examples"
        if not is_kept(result, keep):
            return f"not shown to be better (p {p_value(effect.p)})"
        documents = clusters([self.bench.examples[index] for index in indices])
        drops = self.bench.drops(after, before, documents)
        return f"worsens {drops}" if drops else ""

    @staticmethod
    def _patches(bundle: Slots, slots: Sequence[str] | None = None) -> list[Patch]:
        """The patches of a bundle, or of some slots of it."""
        return [patch for slot in (bundle if slots is None else slots) for patch in bundle.get(slot, ())]

    def _programs(self, slots: Sequence[str]) -> list[Module]:
        """The programs of all folds, and the final one, with these slots on top of what is kept."""
        programs = []
        for program, bundle in zip(self.programs, self.proposed, strict=True):
            for patch in self._patches(bundle, slots):
                program = self._with(program, patch)
            programs.append(program)
        return programs

    @staticmethod
    def _with(program: Module, patch: Patch) -> Module:
        """The program with an edit, or as it is if the edit does not fit."""
        try:
            return apply(program, patch, any_version=True)
        except GoldassayError as error:
            patch.status = Status.REJECTED
            patch.reason = str(error)
            return program

    def _proposed_for(self, edits: Sequence[Edit], fold: int) -> Slots:
        """The bundle of a fold, from the errors made on the others; the last one's is made from all examples."""
        held_out = {id(self.bench.examples[index]) for index, other in enumerate(self.folds) if other == fold}
        cases = [with_error(case) for index, case in sorted(self.cases.items()) if self.folds[index] != fold]
        patterns = self.options.notes.of_cases(cases) if self.options.notes else find(cases)
        train = [example for example in self.train if id(example) not in held_out]
        diagnosis = Diagnosis(patterns, self.programs[fold], train, self.ledger.tried, self.race)
        final = fold == self.options.folds
        bundle = Slots()
        seen = set()
        for number, edit in enumerate(edits, start=1):
            for slot, patches in edit(diagnosis).items():
                allowed = []
                for patch in patches:
                    if patch.id in seen:
                        continue
                    try:
                        check_patch(patch, {**self.options.held_out, "dev": self.dev})
                    except LeakError as error:
                        if final and all(patch.id != earlier.id for earlier in self.ledger.patches):
                            self.ledger.patches.append(patch)
                            self.ledger.note(0, "leak guard", [patch], "rejected", str(error))
                        continue
                    allowed.append(patch)
                    seen.add(patch.id)
                if allowed:
                    bundle[f"{slot} ({number})" if slot in bundle else slot] = allowed
        if final:
            self.ledger.patterns.append(patterns)
            self.ledger.failures += [text for text in diagnosis.failures if text not in self.ledger.failures]
        return bundle

    def _report(self) -> None:
        if self.options.on_candidate is not None:
            value = sum((self.cases[index].evidence for index in sorted(self.cases)), self.bench.zero).value
            self.options.on_candidate(float(value), self.programs[-1])

    def close(self) -> None:
        """Write the verdict; an edit that is still open when the campaign ends has none, and the ledger says so."""
        changed = fingerprint(self.programs[-1]) != fingerprint(self.start)
        verdict = replace(
            self.verdict,
            kept=changed,
            proven=changed and self.verdict.proven,
            by=self.verdict.by if self.verdict.proven else "",
        )
        self.ledger.conclude(verdict, self.tested_alone)
        for patch in self.ledger.patches:
            if patch.status == Status.PROPOSED:
                patch.reason = f"{'no verdict' if patch.effects else 'not tested'}: the tuning ended before"

"""``Patches``: an optimizer that patches prompts from their errors, in bundles, and says what it could prove.

A campaign tests bundles of edits, each against what is kept, in a fixed order. What moves models most comes first (see
docs/how-to/tuning.md): the nearest demonstrations for each input; a few that are the same for all, chosen in a race;
the other form of the answer; the demonstrations that cover the most costly errors; edits in words; the whole
instruction as a model writes it. With a reviewer's notes the edits made from these are first.

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
from itertools import chain
from pathlib import Path
from typing import Any

import dspy
from dspy import Example, Module

from goldassay._support.dspy_compat import Teleprompter
from goldassay._support.exceptions import DataError, GoldassayError, LeakError
from goldassay.core.fields import assign_folds, clusters, shuffled_documents
from goldassay.core.metric import AnyMetric
from goldassay.results.view import p_value
from goldassay.running.hashing import fingerprint
from goldassay.running.leaks import find_leaks
from goldassay.running.run import Case
from goldassay.tuning import instructions, measuring
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
    counter_example,
    covering,
    functions_of,
    nearest_examples,
    selected_examples,
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
            `strongest_first`.
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
        held_out: splits that no edit may show or copy, besides dev.
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


def strongest_first(nearest: int = 4, reflection_lm: dspy.BaseLM | None = None) -> list[list[Edit]]:
    """The bundles in the order in which they are tested; no result changes it."""
    phrases: list[Edit] = [
        partial(instructions.rules, patterns=3, each=1),
        partial(instructions.tool_descriptions, patterns=3),
        instructions.definitions,
        instructions.list_length,
    ]
    if reflection_lm is not None:
        phrases.insert(0, partial(instructions.reflection, lm=reflection_lm, patterns=2, each=1))
    sets: list[list[Edit]] = [[partial(nearest_examples, k=nearest)], [partial(selected_examples, k=nearest)]]
    bundles: list[list[Edit]] = [
        *(sets if nearest else []),
        [instructions.answer_form],
        [covering, counter_example],
        phrases,
    ]
    if reflection_lm is not None:
        bundles.append([partial(instructions.rewritten, lm=reflection_lm)])
    return bundles


class Patches(Teleprompter):  # type: ignore[misc]
    """Patch a program's prompts from its errors.

    Args:
        metric: a `goldassay.Metric`, or any function of (gold, prediction) that DSPy takes.
        options: `PatchOptions`; ``changes`` replace fields of it.

    After `compile`, ``ledger`` holds every edit with its effect and verdict, the patterns, and ``ledger.verdict``.
    """

    def __init__(self, metric: AnyMetric, options: PatchOptions | None = None, **changes: Any) -> None:
        super().__init__()
        self.metric = metric
        self.options = replace(options or PatchOptions(), **changes)
        default = strongest_first(self.options.nearest, self.options.reflection_lm)
        if self.options.notes is not None:
            default.insert(0, self.options.notes.edits(self.options.reflection_lm))
        self.bundles = [list(bundle) for bundle in self.options.bundles or default]
        self.ledger = Ledger()

    def compile(
        self,
        student: Module,
        *,
        trainset: list[Example],
        valset: list[Example] | None = None,
        **_: object,
    ) -> Module:
        """The student with the edits that are kept; without ``valset`` everything is learnt from ``trainset``.

        Raises:
            DataError: There are no train examples, or too few examples to show anything.
            GoldassayError: The program has no predictor.
        """
        if not trainset:
            raise DataError("patching needs train examples to learn from")
        if not student.named_predictors():
            raise GoldassayError("this program has no predictor, so there is no prompt to patch")
        self.ledger = Ledger()
        return Campaign(self, student, trainset, list(valset or [])).run()


class Campaign:
    """One campaign: the programs and cases that are kept so far, for each fold and for the final program.

    The final program is the last of ``programs``; its edits come from all examples.

    Args:
        patches: The metric, the edits of each bundle, the options, and the ledger in which every test is noted.
        student: The program as it is.
        trainset: The examples that edits may show.
        dev: More examples to measure on, which no edit may show.

    Raises:
        DataError: The examples are too few to show anything.
    """

    def __init__(self, patches: Patches, student: Module, trainset: list[Example], dev: list[Example]) -> None:
        options = patches.options
        self.start = student
        self.bundles = patches.bundles
        self.options = options
        self.ledger = patches.ledger
        self.dev = dev
        self.functions = functions_of(chain.from_iterable(self.bundles))
        races = selected_examples in self.functions
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
            patches.metric,
            options.guarded,
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

    def run(self) -> Module:
        """The rounds; an edit that is still open when the campaign ends, however it does, has no verdict."""
        try:
            self.base = dict(enumerate(self.bench.base(self.start, "the program as it is").cases))
            self.cases = dict(self.base)
            self._report()
            if all(map(is_right, self.base.values())):
                return self.start
            if self.functions & {covering, nearest_examples, selected_examples}:
                self.ledger.failures += filter(None, [check_fits(self.start, self.train, required=False)])
            for _ in range(self.options.rounds):
                self.round += 1
                before = fingerprint(self.programs[-1])
                for edits in self.bundles:
                    self._try_bundle(edits)
                if fingerprint(self.programs[-1]) == before:
                    break
            return self.programs[-1]
        finally:
            changed = fingerprint(self.programs[-1]) != fingerprint(self.start)
            by = self.verdict.by if self.verdict.proven else ""
            self.ledger.conclude(replace(self.verdict, kept=changed, by=by), self.tested_alone)
            for patch in self.ledger.patches:
                if patch.status == Status.PROPOSED:
                    patch.reason = f"{'no verdict' if patch.effects else 'not tested'}: the tuning ended before"

    def _try_bundle(self, edits: Sequence[Edit]) -> None:
        """Propose a bundle for every fold and test it; keep the slots that it needs, or else the best one alone."""
        self.cases = self._completed(self.programs, self.cases)
        if all(map(is_right, self.cases.values())):
            return
        self.proposed = [self._proposed_for(edits, fold) for fold in range(self.options.folds + 1)]
        slots = list(self.proposed[-1])
        patches = self._patches(slots)
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
        if nearest_are_kept and functions_of(edits) == {selected_examples}:
            level = 1.0  # a set in the place of the nearest costs no more: the better one by the estimate is kept
        result = self._tested(name, slots, level)
        if first:
            # The hypotheses have a fixed order: the later ones, and so the program, can be proven only if the first
            # one is. If the first bundle was one patch, this test was of that patch by itself.
            self.may_prove = result is not None and is_proven(result, self.options.alpha)
            self.tested_alone = ids if self.may_prove and len(ids) == 1 else set()
        if result is not None:
            self._keep_needed(slots, result.cases)
            return
        # The first slots of a bundle that failed are tested by themselves, and the best of them is kept.
        singles = slots[: self.options.singles] if len(slots) > 1 else []
        gains: dict[str, float] = {}
        cases: dict[str, Cases] = {}
        for slot in singles:
            alone = self._tested(f"{slot} alone", [slot], self.options.keep / 2 / len(singles))
            if alone is not None and alone.effect is not None:
                gains[slot] = alone.effect.difference
                cases[slot] = alone.cases
        if gains:
            best = max(gains, key=gains.__getitem__)
            self._keep([best], cases[best])

    def _keep_needed(self, slots: list[str], cases: Cases) -> None:
        """Leave-one-out, and keep what is left: a slot goes if the bundle without it is no worse on all examples."""
        left = list(slots)
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
        self._keep(left, cases)

    def _completed(self, programs: Sequence[Module], cases: Mapping[int, Case]) -> Cases:
        """The cases of all examples, if some were left out."""
        complete = dict(cases)
        for fold in range(self.options.folds):
            missing = [index for index, other in enumerate(self.folds) if index not in cases and other == fold]
            complete.update(zip(missing, self.bench.run(programs[fold], missing, "the rest").cases, strict=True))
        return complete

    def _keep(self, slots: list[str], cases: Cases) -> None:
        """Take these slots, for the folds and for the final program.

        Their cases, compared with those of the program as it was, say whether it is proven; nothing new is measured.
        """
        self.cases = cases
        new = self._patches(slots)
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
        keep: float = KEEP,
        *,
        against: Cases | None = None,
        dropping: str = "",
    ) -> CandidateResult | None:
        """Measure these slots against what is kept, at the level ``keep``; None if they are not accepted.

        With ``dropping``, the slots are measured ``against`` the bundle that has that slot, too, and accepted if they
        are no worse. The ledger says why.
        """
        patches = self._patches([dropping] if dropping else slots)
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
        effect = result.effect
        if effect is None:
            note("needed" if dropping else "rejected", f"not available: the program {result.failure}")
            return None
        for patch in patches:
            patch.effects = [effect.reversed if dropping else effect]
        indices = sorted(result.cases)
        after = [result.cases[index] for index in indices]
        before = [base[index] for index in indices]
        is_same = all(new.evidence.state() == old.evidence.state() for new, old in zip(after, before, strict=True))
        if dropping:
            needed = is_needed(result) and not is_same
            why = f"worse without it ({effect.difference:+z.3f})" if needed else f"no worse without {dropping}"
            note("needed" if needed else "dropped", why, effect)
            return None if needed else result
        objection = ""
        if is_same:
            objection = f"changes the prompt, but the result of none of {effect.n} examples"
        elif result.ended == Outcome.REJECT:
            objection = f"lost the race after {effect.n} of {len(base)} examples"
        elif not is_kept(result, keep):
            objection = f"not shown to be better (p {p_value(effect.p)})"
        elif drops := self.bench.drops(after, before, clusters([self.bench.examples[index] for index in indices])):
            objection = f"worsens {drops}"
        if objection:
            note("rejected", objection, effect)
            return None
        how = "accepted early" if result.ended == Outcome.ACCEPT else "on all examples"
        note("better" if name.endswith(" alone") else "kept", f"better, {how}", effect)
        return result

    def _patches(self, slots: Sequence[str], fold: int = -1) -> list[Patch]:
        """The patches in some slots of the bundle that is tested now: those of a fold, or of the final program."""
        return [patch for slot in slots for patch in self.proposed[fold].get(slot, ())]

    def _programs(self, slots: Sequence[str]) -> list[Module]:
        """The programs of all folds, and the final one, with these slots on top of what is kept."""
        programs = []
        for fold, program in enumerate(self.programs):
            for patch in self._patches(slots, fold):
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

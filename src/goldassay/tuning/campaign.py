"""``Patches``: an optimizer that patches prompts from their errors, in bundles, and says what it could prove.

Every example of train and dev is measured with edits that were made without it: examples are assigned to folds, and the
edits for a fold come from the errors of the others (demonstrations always from train). So all examples that are not
test say whether the edits help. The order of a campaign is fixed, and what moves models most comes first (see
docs/how-to/tuning.md): the nearest demonstrations for each input; a few that are the same for all, chosen in a race;
the other form of the answer; the demonstrations that cover the most costly errors; edits in words. Each bundle is
tested alone, the first at the full level, and kept if it is better than what was kept before (see
`goldassay.tuning.measuring`); a set in the place of the nearest, which costs no more, is kept if it is better by the
estimate. Leave-one-out drops what carries nothing. The resulting program has the edits made from all examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import dspy
from dspy import Example, Module

from goldassay._dspy_compat import Teleprompter
from goldassay.exceptions import DataError, GoldassayError, LeakError
from goldassay.fields import assign_folds, clusters, shuffled_documents
from goldassay.running.hashing import fingerprint
from goldassay.running.leaks import find_leaks
from goldassay.running.run import Case
from goldassay.tuning import instructions as words
from goldassay.tuning import measuring
from goldassay.tuning.edits import (
    Diagnosis,
    Edit,
    Slots,
    counter_example,
    covering,
    nearest_examples,
    selected_examples,
    wraps,
)
from goldassay.tuning.measuring import (
    ALPHA,
    EARLY,
    KEEP,
    MEASURED,
    Bench,
    CandidateResult,
    Outcome,
    Race,
    keeps,
    proves,
)
from goldassay.tuning.patches import CampaignVerdict, Ledger, Patch, Status, apply, check_patch
from goldassay.tuning.patterns import find, is_right, with_error
from goldassay.tuning.wrappers import Splits, check_fits, shows_nearest

CARRIES = 0.5  # the two-sided p up to which an edit carries something, if the bundle is worse without it


def strongest_first(nearest: int = 4, reflection_lm: dspy.BaseLM | None = None) -> list[list[Edit]]:
    """The bundles in the order in which they are tested; no result changes it."""
    phrases: list[Edit] = [partial(words.rules, patterns=3, each=1), words.definitions, words.list_length]
    if reflection_lm is not None:
        phrases.insert(0, partial(words.reflection, lm=reflection_lm, patterns=2, each=1))
    sets: list[list[Edit]] = [[partial(nearest_examples, k=nearest)], [partial(selected_examples, k=nearest)]]
    return [*(sets if nearest else []), [words.answer_form], [covering, counter_example], phrases]


@dataclass(frozen=True)
class PatchOptions:
    """The options of `Patches`.

    Args:
        bundles: edits of the bundles that are tested one after the other; by default `strongest_first`.
        reflection_lm: a model that proposes edits in words, too.
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
        journal: the file in which measured examples are kept; a campaign that was killed goes on from it.
    """

    bundles: Sequence[Sequence[Edit]] = ()
    reflection_lm: Any = None
    nearest: int = 4
    rounds: int = 1
    folds: int = 3
    alpha: float = ALPHA
    keep: float = KEEP
    singles: int = 4
    guarded: Mapping[str, float] | None = None
    most: int = MEASURED
    threads: int = 1
    seed: int = 0
    resamples: int = 4000
    held_out: Splits = field(default_factory=dict)
    on_candidate: Callable[[float, Any], None] | None = None
    on_progress: Callable[[str], None] | None = None
    journal: Path | None = None

    def __post_init__(self) -> None:
        if min(self.rounds, self.most) < 1 or self.folds < 2 or not 0 < self.alpha < 1 or not 0 < self.keep <= 1:
            raise GoldassayError(
                "patching needs at least one round, two folds and an example, an alpha in (0, 1) and a keep in (0, 1]"
            )


class Patches(Teleprompter):  # type: ignore[misc]
    """Patch a program's prompts from its errors.

    Args:
        metric: a `goldassay.Metric`, or any function of (gold, prediction) that DSPy takes.
        options: `PatchOptions`; ``changes`` replace fields of it.

    After `compile`, ``ledger`` holds every edit with its effect and verdict, the patterns, and ``ledger.verdict``.
    """

    def __init__(self, metric: Any, options: PatchOptions | None = None, **changes: Any) -> None:
        super().__init__()
        self.metric, self.options = metric, replace(options or PatchOptions(), **changes)
        default = strongest_first(self.options.nearest, self.options.reflection_lm)
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
        """The student with the edits that are kept; without ``valset`` everything is learnt from ``trainset``."""
        if not trainset:
            raise DataError("patching needs train examples to learn from")
        if not student.named_predictors():
            raise GoldassayError("this program has no predictor, so there is no prompt to patch")
        self.ledger = Ledger()
        campaign = Campaign(self, student, trainset, list(valset or []))
        try:
            return campaign.run()
        finally:
            campaign.close()

    def proposes(self, *edits: Any) -> bool:
        """Whether any of these edits is in a bundle."""
        return any(wraps(edit, *edits) for bundle in self.bundles for edit in bundle)


class Campaign:
    """One campaign: what is kept so far, for each fold and as the final program (the last of ``programs``).

    Args:
        optimizer: Its metric, bundles, options and ledger.
        student: The program as it is.
        trainset: The examples that edits may show.
        dev: More examples to measure on, which no edit may show.
    """

    def __init__(self, optimizer: Patches, student: Module, trainset: list[Any], dev: list[Any]) -> None:
        self.optimizer, self.options, self.ledger = optimizer, optimizer.options, optimizer.ledger
        self.start, self.dev, options = student, dev, optimizer.options
        leaks = {leak.index for leak in find_leaks(student, trainset)}  # measured, they would flatter it: only shown on
        order = [index for document in shuffled_documents(trainset, options.seed) for index in document]
        self.train = [trainset[index] for index in sorted(order, key=leaks.__contains__)]
        measurable, races = len(self.train) - len(leaks), optimizer.proposes(selected_examples)
        count = measuring.count_measured(len(self.train), len(dev), options.most, races)
        examples = [*dev, *self.train[: min(measurable, count)]]
        if len(measuring.spare(self.train, examples)) < 2 * measuring.FEWEST:  # one document leaves no race
            examples = [*dev, *self.train[: min(measurable, max(0, options.most - len(dev)))]]
        if len(examples) < measuring.WINS and not options.held_out:
            few = f"nothing can be shown on fewer than {measuring.WINS}; add some"
            raise DataError(f"train and dev have {len(examples)} examples: {few}")
        self.bench = Bench(
            examples,
            optimizer.metric,
            measuring.guards(optimizer.metric, options.guarded),
            measuring.QUIET.changed(threads=options.threads, seed=options.seed),
            options.alpha * EARLY,
            options.resamples,
            options.journal,
            options.on_progress,
        )
        self.race = Race.on(self.bench, self.train) if races else None
        self.folds = assign_folds(examples, options.folds, options.seed)
        self.programs: list[Any] = [student] * (options.folds + 1)
        self.proposed: list[Slots] = []  # the bundle that is tested now, of each fold
        self.base: dict[int, Case] = {}
        self.cases: dict[int, Case] = {}
        self.round, self.first, self.open = 0, True, False
        self.verdict = CampaignVerdict(by="cross-fitting over train and dev")
        self.alone: set[str] = set()
        self.measured: dict[tuple[str, ...], str] = {}

    def run(self) -> Module:
        """The rounds."""
        self.base = dict(enumerate(self.bench.base(self.start, "the program as it is").cases))
        self.cases = dict(self.base)
        self._report()
        if all(map(is_right, self.base.values())):
            return self.start
        if self.optimizer.proposes(covering, nearest_examples, selected_examples):
            check_fits(self.start, self.train)
        for _ in range(self.options.rounds):
            self.round, before = self.round + 1, fingerprint(self.programs[-1])
            for edits in self.optimizer.bundles:
                self._bundle(edits)
            if fingerprint(self.programs[-1]) == before:
                break
        return self.programs[-1]

    def _bundle(self, edits: Sequence[Edit]) -> None:
        """Propose a bundle for every fold and test it; keep what carries it, or else the best of its edits alone."""
        self.cases = self._completed(self.programs, self.cases)
        if all(map(is_right, self.cases.values())):
            return
        self.proposed = [self._of_fold(edits, fold) for fold in range(self.options.folds + 1)]
        patches, slots = self._patches(self.proposed[-1]), list(self.proposed[-1])
        again = {patch.id for patch in patches}  # an edit that is tried again has one verdict, the last
        self.ledger.patches[:] = [*(patch for patch in self.ledger.patches if patch.id not in again), *patches]
        if not slots:
            return
        name = slots[0] if len(slots) == 1 else f"bundle of {len(slots)}: {', '.join(slots)}"
        first, self.first = self.first, False
        level = self.options.keep if first else self.options.keep / 2
        if not shows_nearest(self.start) and shows_nearest(self.programs[-1]):
            # A set of examples in the place of the nearest costs no more: the better one by the estimate is kept.
            level = 1.0 if all(wraps(edit, selected_examples) for edit in edits) else level
        result = self._tested(name, slots, keep=level)
        if first:  # later hypotheses can be proven only if the first one is
            self.open = result is not None and proves(result, self.options.alpha)
            self.alone = again if self.open and len(again) == 1 else set()
        if result is not None:
            self._keep(*self._pruned(slots, result))
            return
        singles = slots[: self.options.singles] if len(slots) > 1 else []
        level = self.options.keep / 2 / max(1, len(singles))
        better: dict[str, tuple[float, dict[int, Case]]] = {}
        for slot in singles:
            result = self._tested(f"{slot} alone", [slot], keep=level)
            if result is not None and result.effect is not None:
                better[slot] = result.effect.difference, result.cases
        if better:
            best = max(better, key=lambda slot: better[slot][0])
            self._keep([best], better[best][1])

    def _pruned(self, slots: list[str], result: CandidateResult) -> tuple[list[str], dict[int, Case]]:
        """Leave-one-out: a slot goes if the bundle without it is no worse on all examples."""
        left, cases = list(slots), result.cases
        if len(left) > 1:  # if it was accepted early, the rest is measured now
            cases = self._completed(self._programs(left), cases)
        for slot in reversed(slots):
            if len(left) == 1:
                break
            rest = [other for other in left if other != slot]
            without = self._tested(f"without {slot}", rest, against=cases, dropping=slot)
            if without is not None:
                left, cases = rest, self._completed(self._programs(rest), without.cases)
                for patch in self.proposed[-1][slot]:
                    patch.reject("carries nothing: the bundle is no worse without it")
        return left, cases

    def _completed(self, programs: Sequence[Any], cases: Mapping[int, Case]) -> dict[int, Case]:
        """The cases of all examples, if some were left out."""
        complete = dict(cases)
        for fold in range(self.options.folds):
            mine = [index for index, other in enumerate(self.folds) if index not in cases and other == fold]
            complete.update(zip(mine, self.bench.run(programs[fold], mine, "the rest").cases, strict=True))
        return complete

    def _keep(self, slots: list[str], cases: dict[int, Case]) -> None:
        """Take these slots, for the folds and for the final program.

        Their cases beside those of the program as it was say whether it is proven; nothing new is measured.
        """
        self.cases, program = cases, self.programs[-1]
        new = self._patches(self.proposed[-1], slots)
        for patch in new:
            patch.program = fingerprint(program)  # edits build on each other
            program = self._with(program, patch)
        self.programs = self._programs(slots)
        base = {index: self.base[index] for index in cases}
        result = self.bench.test("what is kept", self.programs[:-1], self.folds, base, stop=False)
        proven, effect = self.open and proves(result, self.options.alpha), result.effect
        self.verdict = replace(self.verdict, proven=proven, effect=effect and effect.as_chosen)
        if any(patch.action == "show_nearest" for patch in new):
            for patch in self.ledger.kept:
                if patch.action == "show_nearest" and patch not in new:
                    patch.status, patch.reason = Status.REJECTED, f"{', '.join(slots)} took its place"
        for patch in new:
            patch.status, patch.effects = Status.KEPT, [effect.as_chosen for effect in patch.effects]
        self._report()

    def _tested(
        self,
        name: str,
        slots: list[str],
        *,
        keep: float = KEEP,
        against: dict[int, Case] | None = None,
        dropping: str = "",
    ) -> CandidateResult | None:
        """Measure these slots beside what is kept, at the level ``keep``; None if they are not accepted.

        With ``dropping``, the slots are measured ``against`` the bundle that has that slot, too, and accepted if they
        are no worse. The ledger says why.
        """
        patches = self._patches(self.proposed[-1], [dropping] if dropping else slots)
        programs, note = self._programs(slots), partial(self.ledger.note, self.round, name, patches)
        versions = tuple(map(fingerprint, programs))
        twin = self.measured.setdefault(versions, name) if versions != tuple(map(fingerprint, self.programs)) else None
        if twin is None or (twin != name and not dropping):
            unchanged = "the prompt stays the same: nothing of it fits the program"
            note("rejected", f"identical with {twin}, which was measured: the same prompts" if twin else unchanged)
            return None
        base = self.cases if against is None else against
        result = self.bench.test(name, programs[:-1], self.folds, base, futility=not dropping)
        if result.effect is not None:
            for patch in patches:
                patch.effects = [result.effect.reversed if dropping else result.effect]
        objection = self._objection(result, base, dropping, keep)
        if dropping:
            status, reason = "needed" if objection else "dropped", f"no worse without {dropping}"
        else:
            status = "rejected" if objection else "better" if name.endswith(" alone") else "kept"
            reason = f"better, {'accepted early' if result.ended == Outcome.ACCEPT else 'on all examples'}"
        note(status, objection or reason, result.effect)
        return None if objection else result

    def _objection(self, result: CandidateResult, base: Mapping[int, Case], dropping: str, keep: float) -> str:
        """Why a candidate is not kept, or a slot not dropped; empty if it is."""
        effect = result.effect
        if effect is None:
            return f"not available: the program {result.failure}"
        after, before = ([cases[index] for index in sorted(result.cases)] for cases in (result.cases, base))
        if all(new.evidence.state() == old.evidence.state() for new, old in zip(after, before, strict=True)):
            return "" if dropping else f"changes the prompt, but the result of none of {effect.n} examples"
        if dropping:
            carries = result.ended == Outcome.REJECT or (effect.difference < 0 and effect.p <= CARRIES)
            return f"worse without it ({effect.difference:+.3f})" if carries else ""
        if result.ended == Outcome.REJECT:
            return f"lost the race after {effect.n} of {len(base)} examples"
        if not keeps(result, keep):
            return f"not shown to be better (p {effect.p:.3f})"
        documents = clusters([self.bench.examples[index] for index in sorted(result.cases)])
        drops = self.bench.drops(after, before, documents)
        return f"worsens {drops}" if drops else ""

    @staticmethod
    def _patches(bundle: Slots, slots: Sequence[str] | None = None) -> list[Patch]:
        """The patches of a bundle, or of some slots of it."""
        return [patch for slot in (bundle if slots is None else slots) for patch in bundle.get(slot, ())]

    def _programs(self, slots: Sequence[str]) -> list[Any]:
        """The programs of all folds, and the final one, with these slots on top of what is kept."""
        programs = []
        for program, bundle in zip(self.programs, self.proposed, strict=True):
            for patch in self._patches(bundle, slots):
                program = self._with(program, patch)
            programs.append(program)
        return programs

    @staticmethod
    def _with(program: Module, patch: Patch) -> Any:
        """The program with an edit, or as it is if the edit does not fit."""
        try:
            return apply(program, patch, any_version=True)
        except GoldassayError as error:
            patch.status, patch.reason = Status.REJECTED, str(error)
            return program

    def _of_fold(self, edits: Sequence[Edit], fold: int) -> Slots:
        """The bundle of a fold, from the errors made on the others; the last one's is made from all examples."""
        own = {id(self.bench.examples[index]) for index, other in enumerate(self.folds) if other == fold}
        patterns = find([with_error(case) for index, case in sorted(self.cases.items()) if self.folds[index] != fold])
        train = [example for example in self.train if id(example) not in own]
        diagnosis = Diagnosis(patterns, self.programs[fold], train, self.ledger.tried, self.race)
        final, bundle, seen = fold == self.options.folds, Slots(), set[str]()
        for place, edit in enumerate(edits):
            for slot, patches in edit(diagnosis).items():
                slot, allowed = slot if slot not in bundle else f"{slot} ({place + 1})", []
                for patch in patches:
                    if patch.id in seen:
                        continue
                    try:  # a patch may show and copy nothing that is held out
                        check_patch(patch, {**self.options.held_out, "dev": self.dev})
                    except LeakError as error:
                        if final and all(patch.id != old.id for old in self.ledger.patches):
                            self.ledger.patches.append(patch)
                            self.ledger.note(0, "leak guard", [patch], "rejected", str(error))
                        continue
                    allowed.append(patch)
                    seen.add(patch.id)
                if allowed:
                    bundle[slot] = allowed
        if final:
            self.ledger.patterns.append(patterns)
            self.ledger.failures += [why for why in diagnosis.failures if why not in self.ledger.failures]
        return bundle

    def _report(self) -> None:
        if self.options.on_candidate is not None:
            value = sum((self.cases[index].evidence for index in sorted(self.cases)), self.bench.zero).value
            self.options.on_candidate(float(value), self.programs[-1])

    def close(self) -> None:
        """Write the verdict; an edit that is still open when the campaign ends has none, and the ledger says so."""
        kept, verdict = fingerprint(self.programs[-1]) != fingerprint(self.start), self.verdict
        proven = kept and verdict.proven
        self.ledger.conclude(replace(verdict, kept=kept, proven=proven, by=verdict.by * verdict.proven), self.alone)
        for patch in self.ledger.patches:
            if patch.status == Status.PROPOSED:
                patch.reason = f"{'no verdict' if patch.effects else 'not tested'}: the tuning ended before"

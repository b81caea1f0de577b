"""A campaign: bundles of edits, measured by cross-fitting in a fixed order, kept or not, proven or not.

`goldassay.tuning.teleprompter` says what the bundles are and why this is fair; `goldassay.tuning.measuring` measures,
`goldassay.tuning.acceptance` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from goldassay.exceptions import GoldassayError, LeakError
from goldassay.running.identity import fingerprint
from goldassay.running.run import Case
from goldassay.tuning.acceptance import ALPHA, EARLY, KEEP, CampaignVerdict, Ledger, keeps, proves
from goldassay.tuning.demonstrations import Covering, Diagnosis, NearestExamples, SelectedExamples
from goldassay.tuning.fitting import check_fits, traced
from goldassay.tuning.leaks import check_patch, dealt
from goldassay.tuning.measuring import Bench, CandidateResult, total
from goldassay.tuning.patches import Effect, Patch, apply
from goldassay.tuning.patterns import find, right, worded
from goldassay.tuning.proposing import Part
from goldassay.tuning.race import Race
from goldassay.tuning.wrappers import Nearest, wrappers

if TYPE_CHECKING:
    import dspy

CARRIES = 0.5  # the two-sided p up to which an edit carries something, where the bundle is worse without it
SHOWING = (Covering, NearestExamples, SelectedExamples)  # parts that need examples which fit
Bundle = dict[str, list[Patch]]


@dataclass(frozen=True)
class Settings:
    """How a campaign goes: the arguments of `Patches` that it needs."""

    bundles: Sequence[Sequence[Part]]
    rounds: int = 1
    folds: int = 3
    alpha: float = ALPHA
    keep: float = KEEP
    singles: int = 4
    seed: int = 0
    held_out: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    heard: Callable[[float, Any], None] | None = None
    tell: Callable[[str], None] | None = None

    @property
    def races(self) -> bool:
        """Whether sets of examples are raced."""
        return any(isinstance(part, SelectedExamples) for parts in self.bundles for part in parts)


class Campaign:
    """One campaign: what is kept so far, for each fold and as the final program (the last of ``programs``).

    Args:
        asked: What the campaign tries, and how much of it.
        bench: What measures programs on the examples, within the budget.
        student: The program as it is.
        train: The examples that edits may show.
        dev: The examples that come first among those of the bench.
        ledger: Where each test is written down.
    """

    def __init__(
        self, asked: Settings, bench: Bench, student: dspy.Module, train: list[Any], dev: list[Any], ledger: Ledger
    ) -> None:
        self.asked, self.bench, self.train, self.dev, self.ledger = asked, bench, train, dev, ledger
        self.race = Race.on(bench, train) if asked.races else None
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
        self.measured: dict[tuple[str, ...], str] = {}

    def run(self) -> dspy.Module:
        """The rounds."""
        self.base = dict(
            zip(self.everything, self.bench.cases(self.start, self.everything, self._noting()), strict=True)
        )
        self.bench.check()
        self.cases = dict(self.base)
        wrong = [index for index, case in self.base.items() if not right(case)]
        self._heard()
        if not wrong:
            return self.start
        learnt = self.everything[len(self.dev) :]
        good = [right(self.base[index]) for index in learnt]
        self.traces = traced(self.start, [self.bench.examples[index] for index in learnt], good)
        if any(isinstance(part, SHOWING) for bundle in self.asked.bundles for part in bundle):
            check_fits(self.start, self.train, self.traces)
        for number in range(1, self.asked.rounds + 1):
            before = fingerprint(self.programs[-1])
            for parts in self.asked.bundles:
                self._bundle(number, parts)
            if fingerprint(self.programs[-1]) == before:
                break
        return self.programs[-1]

    def _bundle(self, number: int, parts: Sequence[Part]) -> None:
        """Propose a bundle for every fold, test it, keep it, drop what carries nothing; else its edits alone."""
        self.cases = self._completed(self.programs, self.cases)
        if all(right(case) for case in self.cases.values()):
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
        if self._swaps(parts):
            level = 1.0  # one of two takes the other's place at the same cost: the better one by the estimate
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
        found: list[tuple[float, str, CandidateResult]] = []
        some = slots[: self.asked.singles]
        for slot in some:
            level = self.asked.keep / 2 / len(some)
            alone = self._tested(number, f"{slot} alone", made, [slot], keep=level)
            if alone is not None and keeps(alone, level):
                found.append((alone.gain, slot, alone))
        if found:
            _, slot, alone = max(found, key=lambda one: one[0])
            self._keep(made, ([slot], alone.cases))

    def _swaps(self, parts: Sequence[Part]) -> bool:
        """Whether a bundle puts a set of examples in the place of the nearest, which this campaign kept."""
        near = [any(isinstance(one, Nearest) for one in wrappers(it)) for it in (self.start, self.programs[-1])]
        return near == [False, True] and all(isinstance(part, SelectedExamples) for part in parts)

    def _pruned(
        self, number: int, made: list[Bundle], slots: list[str], tested: CandidateResult
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
        new = [patch for slot in slots for patch in made[-1][slot]]
        if any(patch.action == "show_nearest" for patch in new):
            for patch in self.ledger.kept:
                if patch.action == "show_nearest" and patch not in new:
                    patch.status, patch.reason = "rejected", f"{', '.join(slots)} took its place"
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
    ) -> CandidateResult | None:
        """Measure these slots beside what is kept (``keep``: the p up to which they are); ``None`` where there is
        nothing to measure, and the ledger says why."""
        patches = [patch for slot in ([dropping] if dropping else slots) for patch in made[-1].get(slot, ())]
        programs = self._programs(made, slots)
        same = all(fingerprint(new) == fingerprint(old) for new, old in zip(programs, self.programs, strict=True))
        if same:
            self._note(number, name, patches, "rejected", "the prompt stays the same: nothing of it fits the program")
            return None
        versions = tuple(fingerprint(program) for program in programs)
        twin = self.measured.setdefault(versions, name)
        if twin != name and not dropping:
            self._note(
                number, name, patches, "rejected", f"identical with {twin}, which was measured: the same prompts"
            )
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
                patch.effects = [tested.effect.turned if dropping else tested.effect]
        self._note(number, name, patches, status, reason, tested)
        return (
            tested if status in ("kept", "better", "dropped") else CandidateResult(tested.cases, tested.effect, status)
        )

    def _reason(self, tested: CandidateResult, base: Mapping[int, Case], dropping: str, keep: float) -> str:
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
    def _with(program: dspy.Module, patch: Patch) -> Any:
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
        patterns = find([worded(self.cases[index]) for index in others])
        if fold == self.asked.folds:
            self.ledger.patterns.append(patterns)
        found = Diagnosis(patterns, self.programs[fold], train, shown, self.ledger.tried, self.race)
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
        self,
        number: int,
        name: str,
        patches: Sequence[Patch],
        status: str,
        reason: str,
        tested: CandidateResult | None = None,
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
        self.ledger.verdict = CampaignVerdict(kept, kept and self.proven, self.effect_of, by)
        for patch in self.ledger.patches:
            if patch.status == "proposed":
                patch.reason = f"{'no verdict' if patch.effects else 'not tested'}: the tuning ended before"

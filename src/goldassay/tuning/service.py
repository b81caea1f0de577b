"""A program's patches in a folder: proposed, measured, judged, applied and taken back.

A folder holds a YAML file a patch; ``applied.json`` holds those that are applied, in their order, and ``state.json`` is
the program with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dspy import Module

from goldassay._support import jsonl
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import identity
from goldassay.core.metric import AnyMetric
from goldassay.results.comparison import Comparison
from goldassay.running import Run
from goldassay.running.hashing import fingerprint
from goldassay.running.leaks import find_leaks
from goldassay.running.options import RunOptions
from goldassay.running.run import Case
from goldassay.statistics import Interval, holm
from goldassay.tuning.acceptance import (
    ALPHA,
    JUDGED_SPLIT,
    LABELS_SPLIT,
    REVIEWED_SPLIT,
    Status,
    after_labels,
    after_test,
)
from goldassay.tuning.edits import Diagnosis, Edit, covering, propose_patches
from goldassay.tuning.instructions import rules
from goldassay.tuning.measuring import LEAST_WINS, effect, evaluated, failure
from goldassay.tuning.patches import Patch, apply, check_patch, read, write
from goldassay.tuning.patterns import find
from goldassay.tuning.saved import STATE, diff, load_state
from goldassay.tuning.units import PROOF, prove_patched
from goldassay.tuning.wrappers import Examples, demonstrations, saveable

APPLIED = "applied.json"

WORD_EDITS: tuple[Edit, ...] = (rules, covering)  # those that need no model


def check_train(cases: Sequence[Case], train: Examples) -> None:
    """Check that errors were made on train: patches are made from train errors only.

    Raises:
        GoldassayError: Some examples of the run are not in train.
    """
    ids = {identity(example, index) for index, example in enumerate(train)}
    outside = [case.id for case in cases if case.id not in ids]
    if outside:
        raise GoldassayError(
            f"{len(outside)} examples of the run are not in train (such as {outside[0]}): patches are made from "
            "train errors only; evaluate the program on the train split first"
        )


def measure(
    base: Module,
    candidates: Sequence[tuple[Patch, Module]],
    examples: Examples,
    metric: AnyMetric,
    split: str,
    options: RunOptions,
    level: float = 0.95,
) -> dict[str, float]:
    """Give each patch its effect on a split, measured alone, or the reason why it has none.

    Args:
        base: The program as it is.
        candidates: Each patch with the program that has it.
        examples: The examples of the split.
        metric: A `Metric`, or any function of (gold, prediction).
        split: The name of the split.
        options: How the programs are run.
        level: That of the intervals.

    Returns:
        By id the p of each patch that was measured, corrected for their number (Holm).

    Raises:
        GoldassayError: The program fails on all examples as it is.
    """
    first = evaluated(base, examples, metric, options.changed(name="as it is"))
    if why := failure(first):
        raise GoldassayError(f"the program {why}")
    measured = []
    for patch, program in candidates:
        patch.effects = [old for old in patch.effects if old.split != split]
        places = [*range(len(examples))]
        if split == REVIEWED_SPLIT:  # only what the patch was not made from, and the program with it does not show
            sources = {*patch.examples, *(leak.id for leak in find_leaks(program, examples))}
            places = [index for index in places if identity(examples[index], index) not in sources]
            if len(places) < LEAST_WINS:
                patch.reason = f"not available on {split}: only {len(places)} corrected records did not make it"
                continue
        measured_examples = [examples[index] for index in places]
        run = evaluated(program, measured_examples, metric, options.changed(name=patch.id))
        if why := failure(run):
            patch.reason = f"not available on {split}: the program {why}"
            continue
        before = [first.cases[index] for index in places]
        patch.effects.append(
            effect(run.cases, before, measured_examples, split, run.cost, zero=first.zero, level=level)
        )
        measured.append(patch)
    adjusted = holm([patch.effects[-1].p for patch in measured])
    return {patch.id: float(p) for patch, p in zip(measured, adjusted, strict=True)}


class PatchFolder:
    """The patches of one program. ``program`` is as its file gives it; `current` has the applied patches."""

    def __init__(self, folder: Path, program: Module) -> None:
        self.folder = folder
        self.program = program

    @property
    def current(self) -> Module:
        """The program with its applied patches."""
        state = self.folder / STATE
        return load_state(self.program, state) if state.is_file() else self.program

    @property
    def applied(self) -> list[Patch]:
        """The applied patches, in their order.

        Raises:
            DataError: ``applied.json`` is damaged.
        """
        file = self.folder / APPLIED
        rows = jsonl.value(file.read_bytes(), file=file) if file.is_file() else []
        try:
            return [Patch(**row) for row in rows]
        except (TypeError, ValueError) as error:
            raise DataError(f"the applied patches cannot be read: {error}", file=file) from None

    def all(self) -> list[tuple[Path, Patch]]:
        """Every patch with its file, by priority, then by name."""
        patches = [(file, read(file)) for file in sorted(self.folder.glob("*.yaml"))]
        return sorted(patches, key=lambda pair: (pair[1].priority, pair[0].name))

    def find(self, name: str) -> Path:
        """The file of a patch: a path, or an id or a file's name in the folder.

        Raises:
            GoldassayError: There is no such patch.
        """
        for file in (Path(name), self.folder / f"{name}.yaml", self.folder / name):
            if file.is_file():
                return file
        files = sorted(self.folder.glob("*.yaml"))
        for file in files:
            with suppress(DataError):  # another file's faults are not this patch's
                if read(file).id == name:
                    return file
        names = ", ".join(file.stem for file in files) or "none yet"
        raise GoldassayError(f"no patch {name!r} in {self.folder}; there are: {names}")

    def propose(self, run: Run, train: Examples, *, edits: Sequence[Edit] = WORD_EDITS, most: int = 12) -> list[Patch]:
        """Patches for the errors of a run on train; the first ``most`` new ones are written as files.

        A patch that the folder has already, for this version of the program or applied to it, keeps its evidence.
        """
        program = self.current
        examples = demonstrations(program, train)
        check_train(run.cases, examples)
        proposed = propose_patches(Diagnosis(find(run.cases), program, examples), edits)
        self.add(proposed, most)
        return proposed

    def add(self, proposed: Sequence[Patch], most: int) -> None:
        """Write the first ``most`` patches that the folder does not have for this version of the program."""
        versions = (fingerprint(self.program), fingerprint(self.current))
        present = {old.id for _, old in self.all() if old.status == Status.APPLIED or old.program in versions}
        new = [patch for patch in proposed if patch.id not in present][:most]
        for number, patch in enumerate(new, start=1):
            patch.priority = number
            write(patch, self.folder)

    def test(
        self,
        names: Sequence[str],
        examples: Examples,
        metric: AnyMetric,
        split: str,
        options: RunOptions,
        any_version: bool = False,
    ) -> list[tuple[Path, Patch]]:
        """Measure patches (``names``; by default all that are not applied) on a split, each alone, and write verdicts.

        The intervals hold for all of them together at 95 % (Bonferroni), so also for those that are kept for them.

        Args:
            names: Ids or files.
            examples: The examples of the split.
            metric: A `Metric`, or any function of (gold, prediction).
            split: ``dev``, or ``test`` for the final proof; ``reviewed``: each on the records that did not make it.
            options: How the program is run.
            any_version: Measure patches of another version of the program, too.

        Raises:
            GoldassayError: There is nothing to measure, a patch is applied, or none could be measured.
            LeakError: A patch shows an example of the split.
        """
        if split not in ("dev", "test", REVIEWED_SPLIT):
            raise GoldassayError(f"patches are tested on dev, and on test for the final proof, not on {split}")
        files = [self.find(name) for name in names] or [file for file, patch in self.all() if patch.status != "applied"]
        if not files:
            raise GoldassayError(f"there are no patches in {self.folder} to test; goldassay patch propose makes some")
        candidates = [self.with_patch(str(file), any_version) for file in files]
        patches = [patch for patch, _ in candidates]
        for patch in patches if split != REVIEWED_SPLIT else ():
            check_patch(patch, {split: examples})
        level = 1 - ALPHA / len(patches)
        adjusted = measure(self.current, candidates, examples, metric, split, options, level)
        for file, patch in zip(files, patches, strict=True):
            if patch.id in adjusted:
                gain = patch.effects[-1].difference
                patch.status, patch.reason = after_test(gain, adjusted[patch.id], split, patch.status)
            write(patch, file)
        if not adjusted:
            raise GoldassayError(f"no patch could be measured; {patches[0].id} is {patches[0].reason}")
        return list(zip(files, patches, strict=True))

    def with_patch(self, name: str, any_version: bool = False) -> tuple[Patch, Module]:
        """A patch that is not applied, and the program with it.

        Raises:
            GoldassayError: There is no such patch, it is applied, or does not fit.
        """
        patch = read(self.find(name))
        if patch.status == Status.APPLIED:
            raise GoldassayError(f"{patch.id} is applied: revert it to test it")
        return patch, self._with(self.current, patch, any_version)

    def prove(self, name: str, verdict: Comparison) -> Patch:
        """Write the verdict of labels, of the program without a patch and with it, as the patch's.

        Raises:
            GoldassayError: There is no such patch, or the verdict is on another one.
        """
        patch = read(self.find(name))
        if verdict.systems[-1] != patch.id:
            raise GoldassayError(f"these labels are about {verdict.systems[-1]}, not about {patch.id}")
        patch.status, patch.reason = after_labels(verdict, patch.status)
        if verdict.interval is not None:
            patch.measured(LABELS_SPLIT, verdict.gain.interval, verdict.gain.p, verdict.n)
        write(patch, self.find(name))
        return patch

    def note_judged(self, name: str, fewer: Interval, p: float) -> None:
        """Write what an aligned judge says of a patch's mode on inputs without gold; it proves nothing.

        Args:
            name: The patch.
            fewer: By how much the share of the mode falls.
            p: The p of this change.
        """
        patch = read(self.find(name))
        patch.measured(JUDGED_SPLIT, fewer, p, fewer.n)
        if patch.status in (Status.PROPOSED, Status.REJECTED):
            patch.status, patch.reason = after_test(fewer.value, p, REVIEWED_SPLIT, patch.status)
        write(patch, self.find(name))

    def apply(self, names: Sequence[str], *, any_version: bool = False) -> list[Patch]:
        """Apply patches to the program's state, in the order given; all of them, or none if one does not fit.

        The patches are returned with the status that they had before.

        Raises:
            GoldassayError: A patch does not fit, or is applied already.
        """
        program = self.current
        applied = self.applied
        patches = [(file, read(file)) for file in map(self.find, names)]
        for number, (_, patch) in enumerate(patches):
            if any(patch.id == other.id for other in applied):
                raise GoldassayError(f"{patch.id} is applied already")
            program = self._with(program, patch, any_version or number > 0)
            applied = [*applied, patch]
        before = [patch.model_copy() for _, patch in patches]
        for file, patch in patches:
            patch.status = Status.APPLIED
            write(patch, file)
            if file.resolve().parent != self.folder.resolve():
                write(patch, self.folder)
        self._save(program, applied)
        return before

    def revert(self, names: Sequence[str]) -> list[str]:
        """Take patches back: the state is the program with the other applied patches, in their order.

        A patch can be taken back by its id even if its file was edited or removed since.

        Raises:
            GoldassayError: A patch is not applied, or another one builds on it.
        """
        program = self.program
        applied = self.applied
        ids = {patch.id for patch in applied}
        reverted = [name if name in ids else read(self.find(name)).id for name in names]
        if unknown := [name for name in reverted if name not in ids]:
            raise GoldassayError(f"{unknown[0]} is not applied")
        left = [patch for patch in applied if patch.id not in reverted]
        for patch in left:
            try:
                program = apply(program, patch, any_version=True)
            except GoldassayError as error:
                raise GoldassayError(f"{error}: it builds on what is taken back; take {patch.id} back first") from None
        for file, patch in self.all():
            if patch.id in reverted:
                patch.status = Status.REVERTED
                write(patch, file)
        self._save(program, left)
        return reverted

    def show(self, name: str) -> tuple[Patch, list[str]]:
        """A patch and its change of the prompt as it is really sent, as a diff."""
        patch = read(self.find(name))
        try:
            return patch, diff(self.program, apply(self.program, patch, any_version=True)).splitlines()
        except GoldassayError as error:  # the patch is shown all the same, with the reason why it has no diff
            return patch, [str(error)]

    def _with(self, program: Module, patch: Patch, any_version: bool) -> Module:
        """The program with a patch that was made for it, as it is in its file or with the patches applied so far."""
        return apply(program, patch, any_version=any_version or patch.program == fingerprint(self.program))

    def _save(self, program: Module, applied: Sequence[Patch]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        saveable(program).save(str(self.folder / STATE))
        prove_patched(program, applied, self.folder / PROOF)
        rows = [patch.model_dump(mode="json", exclude_none=True) for patch in applied]
        jsonl.replace(self.folder / APPLIED, f"{jsonl.dumps(rows, indent=1)}\n")

"""A program's patches in a folder: proposed, measured, judged, applied and taken back. One place for all of it.

`Patches`, ``goldassay patch``, the founding `goldassay.compat.PromptTuner` and the Wikidata command propose with
`proposed` and judge with `goldassay.tuning.acceptance`. A folder holds a YAML file a patch; ``applied.json`` lists
those that are applied, in their order, and ``state.json`` is the program with them.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay import jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.running import Run
from goldassay.running.identity import fingerprint
from goldassay.running.run import Case
from goldassay.tuning.acceptance import judge
from goldassay.tuning.leaks import check_patch
from goldassay.tuning.measuring import effect, evaluated, failure
from goldassay.tuning.patches import Patch, apply, read, read_all, rewrite, write
from goldassay.tuning.patterns import Pattern, find
from goldassay.tuning.proposing import Examples, Proposer
from goldassay.tuning.rules import Rules
from goldassay.tuning.saved import load_state, rendered
from goldassay.tuning.wrappers import demonstrations

if TYPE_CHECKING:
    import dspy

    from goldassay.metric import AnyMetric

APPLIED, STATE = "applied.json", "state.json"
SPLITS = ("dev", "test")


def proposed(
    patterns: Iterable[Pattern],
    program: dspy.Module,
    train: Sequence[dspy.Example],
    proposers: Sequence[Proposer] = (),
    most: int | None = None,
) -> list[Patch]:
    """Patches for these patterns, most costly first: each edit once, at most ``most``, numbered by priority.

    Args:
        program: The program.
        train: The examples that demonstrations may come from.
        proposers: What makes edits of a pattern; the usual ones without them.
    """
    found: dict[str, Patch] = {}
    for pattern in patterns:
        for proposer in list(proposers) or [Rules(), Examples()]:
            for patch in proposer.propose(pattern, program, train):
                if most is None or len(found) < most:
                    found.setdefault(patch.id, patch)
    for number, patch in enumerate(found.values(), start=1):
        patch.priority = number
    return list(found.values())


def refuse_outside(cases: Sequence[Case], train: Sequence[dspy.Example], mend: str = "") -> None:
    """Raise if errors were made on examples that are not in train: patches are made from train errors only."""
    known = {str(example.get("id")) for example in train}
    outside = [case.id for case in cases if case.id not in known]
    if outside:
        raise GoldassayError(
            f"{len(outside)} examples of the run are not in train (such as {outside[0]}): patches are made from "
            f"train errors only{mend}"
        )


class PatchFolder:
    """The patches of one program. ``program`` is as its file gives it; `current` has the applied patches."""

    def __init__(self, folder: Path, program: dspy.Module) -> None:
        self.folder, self.program = folder, program

    @property
    def current(self) -> dspy.Module:
        """The program with its applied patches."""
        state = self.folder / STATE
        return load_state(self.program, state) if state.is_file() else self.program

    @property
    def applied(self) -> list[str]:
        """The ids of the applied patches, in their order."""
        file = self.folder / APPLIED
        found = jsonl.value(file.read_bytes(), file=file) if file.is_file() else []
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise DataError("the applied patches are a list of ids", file=file)
        return found

    def all(self) -> list[tuple[Path, Patch]]:
        """Every patch with its file, by priority."""
        return read_all(self.folder)

    def find(self, name: str) -> Path:
        """The file of a patch: a path, or an id or a file's name in the folder."""
        for file in (Path(name), self.folder / f"{name}.yaml", self.folder / name):
            if file.is_file():
                return file
        for file in sorted(self.folder.glob("*.yaml")):
            with suppress(DataError):  # another file's faults are not this patch's
                if read(file).id == name:
                    return file
        known = ", ".join(sorted(file.stem for file in self.folder.glob("*.yaml"))) or "none yet"
        raise GoldassayError(f"no patch {name!r} in {self.folder}; there are: {known}")

    def propose(
        self, run: Run, train: Sequence[dspy.Example], *, proposers: Sequence[Proposer] = (), most: int = 12
    ) -> list[Patch]:
        """Patches for the errors of a run on train, the ``most`` first of those that are new written as files.

        One that is there already, for this version of the program or applied to it, is left with what it measured.
        """
        made = self.current
        shown = demonstrations(made, train)
        refuse_outside(run.cases, shown, "; evaluate the program with --split train first")
        found = proposed(find(run.cases), made, shown, proposers)
        versions = self._versions()
        kept = {one.id for _, one in self.all() if one.status == "applied" or one.program in versions}
        new = [patch for patch in found if patch.id not in kept][:most]
        for number, patch in enumerate(new, start=1):
            patch.priority = number
            write(patch, self.folder)
        return found

    def test(
        self,
        names: Sequence[str],
        examples: Sequence[dspy.Example],
        metric: AnyMetric,
        split: str,
        *,
        any_version: bool = False,
        passages: Sequence[object] = (),
        **options: Any,
    ) -> list[tuple[Path, Patch]]:
        """Measure patches (``names``; all without) on a split, each alone; effect and verdict go into their files.

        A patch that is applied already is measured against the program without it. ``passages`` are what a program
        searches; ``options`` go to `goldassay.running.evaluate`.

        Args:
            examples: The examples of the split.
            metric: A `Metric`, or any function of (gold, prediction).
            any_version: Measure patches of another version of the program, too.
        """
        if split not in SPLITS:
            raise GoldassayError(f"patches are measured on dev, and on test for the final proof, not on {split}")
        files = [self.find(name) for name in names] or [file for file, _ in self.all()]
        if not files:
            raise GoldassayError(f"there are no patches in {self.folder}; goldassay patch propose makes some")
        patches, made, on = [read(file) for file in files], self.current, self.applied
        for patch in patches:
            check_patch(patch, {split: examples})
        others = [
            self._built([one for one in on if one != patch.id])
            if patch.id in on
            else self._fitting(made, patch, any_version)
            for patch in patches
        ]

        def run(program: Any, name: str) -> Run:
            searching = program.index(passages) if passages and hasattr(program, "index") else program
            return evaluated(searching, examples, metric, **{**options, "name": name})

        base = run(made.deepcopy(), "as it is")
        if failure(base):
            raise GoldassayError(f"the program {failure(base)}")
        measured = []
        for patch, other in zip(patches, others, strict=True):
            found = run(other, patch.id)
            patch.effects = [one for one in patch.effects if one.split != split]
            if failure(found):
                patch.reason = f"not available on {split}: the program {failure(found)}"
                continue
            before, after = (found, base) if patch.id in on else (base, found)
            patch.effects.append(effect(after.cases, before.cases, examples, base.zero, split, found.cost))
            measured.append(patch)
        judge(measured, split)
        for file, patch in zip(files, patches, strict=True):
            rewrite(patch, file)
        if not measured:
            raise GoldassayError(f"no patch could be measured; {patches[0].id} is {patches[0].reason}")
        return list(zip(files, patches, strict=True))

    def apply(self, names: Sequence[str], *, any_version: bool = False) -> list[Patch]:
        """Apply patches to the program's state, in the order given; all of them, or none if one does not fit."""
        made, known = self.current, self.applied
        done: list[tuple[Path, Patch]] = []
        for name in names:
            file = self.find(name)
            patch = read(file)
            if patch.id in [*known, *(one.id for _, one in done)]:
                raise GoldassayError(f"{patch.id} is applied already")
            made = self._fitting(made, patch, any_version or bool(done))
            done.append((file, patch))
        out = [patch.model_copy() for _, patch in done]
        for file, patch in done:
            patch.status = "applied"
            rewrite(patch, file)
            if file.resolve().parent != self.folder.resolve():
                write(patch, self.folder)
        self._keep(made, [*known, *(patch.id for _, patch in done)])
        return out

    def revert(self, names: Sequence[str]) -> list[str]:
        """Take patches back: the state is the program with the other applied patches, in their order.

        What was applied can be taken back also where its file was edited or removed since.
        """
        known = self.applied
        gone = dict(self._asked_back(name, known) for name in names)
        left = [one for one in known if one not in gone]
        for one in gone:
            self._refuse_moved(one, [later for later in known[known.index(one) :] if later in left])
        made = self._built(left)
        for one, (file, patch) in gone.items():
            if file is not None and patch is not None and patch.id == one:
                patch.status = "reverted"
                rewrite(patch, file)
        self._keep(made, left)
        return list(gone)

    def show(self, name: str, adapter: dspy.Adapter | None = None) -> tuple[Patch, list[str]]:
        """A patch and its change of the prompt as it is really sent with ``adapter``, as a diff."""
        patch = read(self.find(name))
        try:
            patched = apply(self.program, patch, any_version=True)
        except GoldassayError as error:  # it is shown all the same, and why it has no diff
            return patch, [str(error)]
        before, after = (rendered(one, adapter).splitlines() for one in (self.program, patched))
        return patch, list(difflib.unified_diff(before, after, "before", "after", lineterm="", n=2))

    def _versions(self) -> list[str]:
        """The versions that a patch may have been made for: the program of the file, and with its applied patches."""
        return [fingerprint(self.program), fingerprint(self.current)]

    def _fitting(self, made: Any, patch: Patch, any_version: bool) -> Any:
        """The program with a patch that was made for it, as it is in its file or with the patches applied so far."""
        known = [fingerprint(self.program), fingerprint(made)]
        if patch.program and patch.program not in known and not any_version:
            raise GoldassayError(
                f"patch {patch.id} was made for version {patch.program} of the program; this is {known[0]}, with the "
                f"applied patches {known[1]}: propose it again, or say --force"
            )
        return apply(made, patch, any_version=True)

    def _asked_back(self, name: str, known: list[str]) -> tuple[str, tuple[Path | None, Patch | None]]:
        """The id that is meant, and its file with the patch, where there is one."""
        try:
            file = self.find(name)
        except GoldassayError:
            if name not in known:
                raise
            return name, (None, None)
        patch = read(file)
        one = name if name in known else patch.id
        if one not in known:
            raise GoldassayError(f"{one} is not applied (it is {patch.status})")
        return one, (file, patch)

    def _built(self, ids: list[str]) -> Any:
        """The program with these patches, in this order; their files must hold the edits that were applied."""
        made = self.program
        for one in ids:
            patch = self._as_applied(one)
            try:
                made = apply(made, patch, any_version=True)
            except GoldassayError as error:
                raise GoldassayError(f"{error}: it builds on what is taken back; take {one} back first") from None
        return made

    def _as_applied(self, one: str) -> Patch:
        """An applied patch from its file, which must hold the edit that was applied."""
        try:
            patch = read(self.find(one))
        except DataError:
            raise
        except GoldassayError:
            patch = None
        if patch is None or patch.id != one:
            what = "is gone" if patch is None else "was edited since"
            raise GoldassayError(f"the file of {one}, which is applied, {what}; put it back, or take {one} back first")
        return patch

    def _refuse_moved(self, one: str, later: list[str]) -> None:
        """Examples are named by their place: one that goes moves those behind it; a later patch would mean another."""
        if not one.startswith(("add_example", "remove_example")):
            return
        for other in reversed(later):
            if self._as_applied(other).index is not None:
                raise GoldassayError(
                    f"{other} names an example by its place, and was applied after {one}: take {other} back first"
                )

    def _keep(self, made: Any, ids: list[str]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        made.save(str(self.folder / STATE))
        jsonl.replace(self.folder / APPLIED, f"{json.dumps(ids, indent=1)}\n")

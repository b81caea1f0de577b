"""The lock file beside a program: what is shown of each unit of its prompts, with which model and on which gold.

``PROGRAM.proof.json`` has ``schema`` 1 and ``proofs``, one for each model. `goldassay explain` measures each unit; a
tuning and applied patches write who wrote a unit, and what a patch alone was shown to do. Effects of units whose text
is the same stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from dspy import Module
from pydantic import TypeAdapter

from goldassay import workspace
from goldassay._support import files, jsonl
from goldassay._support.exceptions import DataError, GoldassayError, one_line
from goldassay.results.view import Note, Sentence, View
from goldassay.tuning.explain import Explanation
from goldassay.tuning.patches import Patch
from goldassay.tuning.units import Unit, UnitVerdict, short, summary, units_of, view_of
from goldassay.workspace import Target

PROOF_SCHEMA = 1
PROOF = "state.proof.json"  # of a folder with a saved program


@dataclass(frozen=True)
class PromptProof:
    """What is shown of the units of a program's prompts with one model; ``gold`` is the hash of the examples."""

    model: str | None
    units: list[Unit]
    gold: str = ""
    n: int = 0
    value: float | None = None
    margin: float | None = None
    date: str = ""

    @classmethod
    def of(cls, explanation: Explanation) -> PromptProof:
        """The proof that an explanation is."""
        names = ("model", "units", "gold", "n", "value", "margin")
        return cls(**{name: getattr(explanation, name) for name in names})

    def view(self) -> View:
        """The prompt, with the effect of each unit."""
        verdicts = f" {summary(self.units)}" if any(unit.n for unit in self.units) else ""
        title = Sentence(f"Which line helps?{verdicts}", "head")
        size = [f"{len(self.units)} units", f"{sum(unit.tokens for unit in self.units)} tokens"]
        measured = [f"{self.n} examples"] if self.n else []
        value = [] if self.value is None else [f"value {self.value:.3f}"]
        about = Sentence(", ".join([*size, *measured, *([self.model] if self.model else []), *value]))
        command = "goldassay explain PROGRAM --gold SET"
        unknown = [] if any(unit.n for unit in self.units) else [Note(f"No unit is measured yet: {command}")]
        return [title, about, *unknown, *view_of(self.units, 100_000, in_halves=True)]


def proof_places(target: Target, state: Path | None = None) -> tuple[Path, Path]:
    """The file of a program's proofs, and the folder of the patches that may have written its prompts.

    They are beside its saved state, if there is one, else beside its file and in the workspace.
    """
    if state is not None:
        file = proofs_at(state)
        if state.resolve() == target.patches.resolve():
            return file, target.patches
        return file, (state if state.is_dir() else state.parent) / "patches"
    folder = target.file.parent
    if folder.is_relative_to(workspace.installed()):
        folder = workspace.own_root() / "programs"
    return folder / f"{target.slug}.proof.json", target.patches


def proofs_at(state: Path) -> Path:
    """The file of the proofs of a saved program, or of a folder that holds one; such a file is its own.

    >>> proofs_at(Path("tuned.json")).name, proofs_at(Path("tuned.proof.json")).name
    ('tuned.proof.json', 'tuned.proof.json')
    """
    if state.is_dir():
        return state / PROOF
    return state if state.name.endswith(".proof.json") else state.with_suffix(".proof.json")


def write_proof(proof: PromptProof, file: Path) -> None:
    """Write a proof beside the program, in the place of an earlier one with the same model.

    Units that the proof does not measure keep what the earlier one shows of them.
    """
    earlier = read_proofs(file) if file.is_file() else []
    measured = {unit.sha256: unit for old in earlier if old.model == proof.model for unit in old.units if unit.n}
    units = []
    for unit in proof.units:
        if not unit.n and (old_unit := measured.get(unit.sha256)):
            unit = replace(old_unit, index=unit.index, notes=unit.notes, origin={**old_unit.origin, **unit.origin})
        units.append(unit)
    new = replace(proof, units=units, date=datetime.now(UTC).isoformat(timespec="seconds"))
    proofs = []
    for written in [*(old for old in earlier if old.model != proof.model), new]:
        rows = [{name: value for name, value in unit.state().items() if name != "index"} for unit in written.units]
        proofs.append({**asdict(written), "units": rows})
    jsonl.replace(file, f"{jsonl.dumps({'schema': PROOF_SCHEMA, 'proofs': proofs}, indent=1)}\n")


def prove_patched(
    program: Module,
    patches: Sequence[Patch],
    file: Path,
    proof: PromptProof | None = None,
    tuned: tuple[Module, str] | None = None,
) -> None:
    """Write the proofs of a program whose prompts patches or an optimizer changed: with each model that the file has.

    Args:
        program: The program with the patches.
        patches: What wrote its units; the effect of a patch alone is that of its unit.
        file: The file.
        proof: The model and the gold of the tuning that made them, if it was one.
        tuned: The program before that tuning, and the optimizer, which wrote all units that are new.
    """
    units = []
    effects = {patch.id: patch.effects[-1] for patch in patches if patch.effects}
    before = {unit.sha256 for unit in units_of(tuned[0])} if tuned else set[str]()
    for unit in units_of(program, patches):
        if tuned and unit.sha256 not in before:
            unit = replace(unit, origin={"optimizer": tuned[1], **unit.origin})
        effect = effects.get(unit.origin.get("patch", ""))
        if effect is not None and effect.low is not None and effect.high is not None:
            verdict = UnitVerdict.OPEN
            if effect.low > 0 or effect.high < 0:
                verdict = UnitVerdict.HELPS if effect.low > 0 else UnitVerdict.HURTS
            unit = replace(
                unit, verdict=verdict, effect=effect.difference, low=effect.low, high=effect.high, n=effect.n
            )
        units.append(unit)
    earlier = read_proofs(file) if file.is_file() and proof is None else []
    for earlier_proof in earlier or [proof or PromptProof(None, [])]:
        write_proof(replace(earlier_proof, units=units), file)


def read_proofs(file: Path) -> list[PromptProof]:
    """The proofs of a program, one for each model.

    Raises:
        DataError: The file is not a lock file of this schema.
    """
    content = files.json_value(file)
    if not isinstance(content, dict) or content.get("schema") != PROOF_SCHEMA:
        raise DataError(f"not a proof of schema {PROOF_SCHEMA}", file=file)
    proofs = []
    try:
        for row in content["proofs"]:
            units = [{**unit, "index": index} for index, unit in enumerate(row["units"])]
            proofs.append(TypeAdapter(PromptProof).validate_python({**row, "units": units}))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"not a proof: {one_line(error)[:200]}", file=file) from None
    return proofs


def check_proof(program: Module, file: Path, model: str | None, gold: Sequence[str] = ()) -> list[str]:
    """What has no proof any more: units that were written or edited since, units that are gone, other gold or models.

    Nothing is run, so it is a check for continuous integration.

    Args:
        program: The program as it is now.
        file: The file.
        model: The model that it runs with.
        gold: The hashes of the gold, any of which it may have, to be checked too.

    Raises:
        GoldassayError: There is no proof.
    """
    if not file.is_file():
        raise GoldassayError(f"no proof at {file}; goldassay explain writes it")
    proofs = read_proofs(file)
    proof = next((proof for proof in proofs if proof.model in (model, None)), None)
    if proof is None:
        models = " and ".join(str(proof.model) for proof in proofs)
        running = f"and the program runs with {model}" if model else "so say which model the program runs with"
        return [f"the proof is of {models}, {running}"]
    units = {unit.sha256: unit for unit in units_of(program)}
    proven = {unit.sha256: unit for unit in proof.units}
    changes = []
    for what, some, others in (("no proof of", units, proven), ("proven and gone", proven, units)):
        changes += [f"{what}: {short(unit.text)} ({unit.predictor})" for key, unit in some.items() if key not in others]
    if gold and proof.gold not in ("", *gold):
        changes.append(f"the gold changed: the proof is on {proof.gold[:12]}, and the gold is {gold[0][:12]}")
    return changes

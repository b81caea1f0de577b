"""The units of a program's prompts, and the lock file beside the program with what is shown of each.

A unit is a statement of an instruction (`goldassay.text.statements`; headings are not tested), or a demonstration.

``PROGRAM.proof.json`` has ``schema`` 1 and ``proofs``, one for each model. `goldassay explain` measures each unit; a
tuning and applied patches write who wrote a unit, and what a patch alone was shown to do. Effects of units whose text
is the same stay.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import scipy
from dspy import Module
from pydantic import TypeAdapter
from rapidfuzz import fuzz

from goldassay import workspace
from goldassay._support import files, jsonl
from goldassay._support.dspy_compat import copy_program, serialize_for_json, signature_of
from goldassay._support.exceptions import DataError, GoldassayError, one_line
from goldassay.core.fields import JsonObject
from goldassay.results.comparison import ComparisonVerdict
from goldassay.results.view import Cell, Chart, Note, Point, Sentence, Table, View
from goldassay.statistics import Interval, PairedTest, examples_needed
from goldassay.text.near import NEAR_DUPLICATE
from goldassay.text.normal import plain
from goldassay.text.statements import statements, without
from goldassay.text.words import NEGATIONS, statement
from goldassay.tuning.patches import Patch
from goldassay.tuning.wrappers import Wrapped, predictors, signatures
from goldassay.workspace import Target


class UnitVerdict(StrEnum):
    """The figures of a unit."""

    HELPS = "helps"
    HURTS = "hurts"
    NOTHING = "nothing"
    OPEN = "open"

    @property
    def style(self) -> str:
        """How the verdict is shown."""
        return {"helps": "better", "hurts": "worse", "nothing": "same"}.get(self, "open")


OF_GAIN = {
    ComparisonVerdict.BETTER: UnitVerdict.HELPS,
    ComparisonVerdict.WORSE: UnitVerdict.HURTS,
    ComparisonVerdict.NO_LARGER: UnitVerdict.NOTHING,
    ComparisonVerdict.OPEN: UnitVerdict.OPEN,
}


@dataclass(frozen=True)
class Unit:
    """A statement of an instruction, or a demonstration: what it is worth, and what it costs.

    ``kind`` is that of a `Statement`, ``demonstration``, or ``example``: one of a set that patches show all predictors,
    or all of those that each input is shown its nearest of.

    ``effect`` is the value of the whole program less that without the unit, with the ends of its interval, on ``n``
    examples (0: not measured); ``halves``
    is its mean effect with random halves of the other units, with the ends of its interval. ``needed`` is how many
    examples would settle an open unit: they show an effect of this size, or else that it is no larger than the margin,
    four times in five. ``notes`` name units that say the same, or the opposite, those that stand in for it, and the
    only stratum in which the unit helps. ``origin`` says who wrote the unit, if that is known: optimizer, patch,
    pattern, examples, failure mode.
    """

    text: str
    kind: str
    predictor: str
    index: int
    tokens: int
    effect: float = 0.0
    low: float = 0.0
    high: float = 0.0
    n: int = 0
    verdict: UnitVerdict = UnitVerdict.OPEN
    needed: int | None = None
    halves: tuple[float, float, float] | None = None
    notes: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_statement(self) -> bool:
        """Whether it is part of an instruction."""
        return self.kind not in ("demonstration", "example")

    @property
    def sha256(self) -> str:
        """The hash of the text, in which blanks do not count, with the predictor's name."""
        return hashlib.sha256(f"{self.predictor}\n{' '.join(self.text.split())}".encode()).hexdigest()

    @property
    def sentence(self) -> str:
        """The verdict as people read it."""
        if not self.n:
            return "not measured"
        if self.verdict == UnitVerdict.NOTHING:
            return f"nothing larger than {max(-self.low, self.high):.3f}"
        return f"open: {self.needed} examples would settle it" if self.needed else str(self.verdict)

    def judged(self, test: PairedTest, level: float, margin: float) -> Unit:
        """The unit with its effect and verdict, by a test of the whole program against the one without it."""
        low, high = test.interval.ends
        verdict = OF_GAIN[ComparisonVerdict.of_gain(low, high, margin)]
        needed = None
        if verdict == UnitVerdict.OPEN:
            error = max(test.standard_error, (high - low) / 2 / float(scipy.special.ndtri((1 + level) / 2)))
            size = max(abs(test.difference), margin)
            needed = max(test.n + 1, examples_needed(size, error, test.n, alpha=1 - level))
        return replace(self, effect=test.difference, low=low, high=high, n=test.n, verdict=verdict, needed=needed)

    def state(self) -> JsonObject:
        """As JSON."""
        return {**asdict(self), "sha256": self.sha256}


def units_of(program: Module, origins: Sequence[Patch] = ()) -> list[Unit]:
    """The statements and demonstrations of all predictors; an instruction that DSPy wrote itself has none.

    Units that say the same, or the opposite, are noted.

    Args:
        program: The program.
        origins: Patches of this program: a unit that one of them wrote names it.
    """
    units = []
    named = predictors(program)
    for name, predictor in named.items():
        signature = signature_of(predictor)
        text = signature.instructions
        if text != signature.with_instructions("").instructions:
            for index, part in enumerate(statements(text)):
                if not part.heads:
                    units.append(Unit(part.text.strip(), part.kind, name, index, tokens(part.text)))
        for index, demo in enumerate(predictor.demos or []):
            lines = "\n".join(_lines({key: demo[key] for key in signature.fields if key in demo}))
            units.append(Unit(lines, "demonstration", name, index, tokens(lines)))
    if isinstance(program, Wrapped):  # the examples besides the predictors' own
        keys = {key for signature in signatures(program).values() for key in signature.fields}
        shown_to_all = [
            "\n".join(_lines({key: value for key, value in example.items() if key in keys}))
            for example in program.examples
        ]
        all_names = ", ".join(named)
        if len(shown_to_all) > program.k:  # chosen for each input: one unit, as long as k of them are on average
            text = f"the {program.k} nearest of {len(shown_to_all)} examples, for each input"
            length = round(program.k * sum(map(tokens, shown_to_all)) / len(shown_to_all))
            units.append(Unit(text, "example", all_names, 0, length))
        else:
            units += [Unit(text, "example", all_names, i, tokens(text)) for i, text in enumerate(shown_to_all)]
    forbids = {*NEGATIONS, "avoid", "vermeide", "vermeiden", "vermijd", "évite", "évitez", "éviter"}
    texts = [plain(unit.text).rstrip(".!?") for unit in units]
    negated = [not forbids.isdisjoint(statement(unit.text)) for unit in units]
    noted = []
    for index, unit in enumerate(units):
        notes = []
        prompts = {*unit.predictor.split(", ")}
        for other, text in enumerate(texts):
            if other == index or prompts.isdisjoint(units[other].predictor.split(", ")):
                continue  # predictors may each need a line
            if fuzz.token_set_ratio(texts[index], text) < NEAR_DUPLICATE:
                continue
            if unit.is_statement and units[other].is_statement and negated[other] != negated[index]:
                notes.append(f"contradicts {other + 1}")
            elif fuzz.ratio(texts[index], text) >= NEAR_DUPLICATE:
                notes.append(f"repeats {other + 1}")
        origin: dict[str, str] = {}  # who wrote the unit, and from what: what is known of it
        if patch := next((patch for patch in origins if _wrote(patch, unit)), None):
            names = {
                "optimizer": patch.proposer,
                "patch": patch.id,
                "pattern": patch.pattern,
                "examples": ", ".join(patch.examples),
                "mode": patch.mode,
                "review": patch.review,
            }
            origin = {name: text for name, text in names.items() if text}
        noted.append(replace(unit, notes=tuple(notes), origin=origin))
    return noted


def unmeasured_parts(program: Module) -> list[str]:
    """The rest of the prompts of all predictors: headings, and fields with their descriptions.

    >>> import dspy
    >>> unmeasured_parts(dspy.Predict(dspy.Signature("text -> label", "Label it.\\n# Rules\\n- One.")))
    ['# Rules (self)', 'field text (self)', 'field label (self)']
    """
    parts = []
    for name, signature in signatures(program).items():
        texts = [part.text for part in statements(signature.instructions) if part.heads]
        for key, about in signature.fields.items():
            description = str((about.json_schema_extra or {}).get("desc", "")).replace(f"${{{key}}}", "")
            texts.append(f"field {key}: {description}" if description else f"field {key}")
        parts += [f"{' '.join(text.split())} ({name})" for text in texts]
    return parts


def _wrote(patch: Patch, unit: Unit) -> bool:
    """Whether a patch wrote a unit."""
    if unit.kind == "example":
        return patch.action == "show_nearest"
    if unit.is_statement:
        return bool(patch.text) and " ".join(unit.text.split()) in " ".join(str(patch.text).split())
    return patch.action == "add_example" and set(unit.text.splitlines()) <= set(_lines(patch.example or {}))


def _lines(example: JsonObject) -> list[str]:
    """A demonstration as text, a line a field."""
    return [f"{key}: {jsonl.dumps(serialize_for_json(value))}" for key, value in example.items()]


def omit(program: Module, units: Sequence[Unit], removed: Collection[int]) -> Module:
    """A copy of a program without some of its units."""
    copy = copy_program(program)
    gone = [units[index] for index in removed]
    examples = {unit.index for unit in gone if unit.kind == "example"}
    if isinstance(copy, Wrapped) and examples:
        at_choice = len(copy.examples) > copy.k
        left = [] if at_choice else [example for index, example in enumerate(copy.examples) if index not in examples]
        copy.learn(left, copy.keys, copy.k)
    for name, predictor in predictors(copy).items():
        lines = {unit.index for unit in gone if unit.predictor == name and unit.is_statement}
        demos = {unit.index for unit in gone if unit.predictor == name and unit.kind == "demonstration"}
        if lines:
            signature = signature_of(predictor)
            predictor.signature = signature.with_instructions(without(statements(signature.instructions), lines))
        predictor.demos = [demo for index, demo in enumerate(predictor.demos or []) if index not in demos]
    return copy


def tokens(text: str) -> int:
    """The tokens of a text, as LiteLLM counts them where it does not know the model."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # to count, no prices are fetched from the net
    import litellm

    return int(litellm.token_counter(model="", text=text))


def short(text: str, most: int = 70) -> str:
    """A text in one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def summary(units: Sequence[Unit]) -> str:
    """How many units help, hurt or do nothing, in one line.

    >>> summary([Unit("Be brief.", "sentence", "self", 0, 3, n=9, verdict=UnitVerdict.HELPS)])
    '1 helps'
    """
    one = {"helps": "helps", "hurts": "hurts", "nothing": "does nothing", "open": "is open"}
    many = {"helps": "help", "hurts": "hurt", "nothing": "do nothing", "open": "are open"}
    counts = Counter(str(unit.verdict) for unit in units)
    return ", ".join(f"{counts[name]} {(one if counts[name] == 1 else many)[name]}" for name in one if counts[name])


def view_of(units: Sequence[Unit], most: int = 70, in_halves: bool = False) -> View:
    """The units in their order: what each is worth, and a chart of their effects.

    Args:
        units: The units.
        most: Characters of a unit that are shown.
        in_halves: Whether to show their effects in random halves, if these were measured.
    """
    rows = []
    points = []
    in_halves = in_halves and any(unit.halves for unit in units)
    named = len({unit.predictor for unit in units}) > 1
    for number, unit in enumerate(units, start=1):
        origin = [f"{name} {text}" for name, text in unit.origin.items()]
        text = Cell(short(unit.text, most), detail="; ".join([*unit.notes, *origin]))
        effect = None
        if unit.n:
            effect = Interval(unit.effect, unit.low, unit.high, 0.95, unit.n, "newcombe")
            points.append(Point(f"{number} {short(unit.text, 28)}", unit.effect, unit.low, unit.high))
        halves = [unit.halves and Interval(*unit.halves, 0.95, unit.n, "newcombe")] if in_halves else []
        verdict = Cell(unit.sentence, unit.verdict.style)
        predictor = [unit.predictor] if named else []
        rows.append([number, text, *predictor, verdict, effect, unit.tokens, *halves])
    columns = ["", "unit", *(["predictor"] if named else []), "verdict", "effect", "tokens"]
    columns += ["in random halves"] if in_halves else []
    chart = Chart("intervals", "effect", [("effect", points)])
    return [Table(None, columns, rows, left=3 + named, bars=True), *([chart] if points else [])]


PROOF_SCHEMA = 1
PROOF = "state.proof.json"  # of a folder with a saved program


@dataclass(frozen=True)
class PromptProof:
    """The figures of the units of a program's prompts with one model; ``gold`` is the hash of the examples.

    ``unmeasured`` are headings and fields with their descriptions: part of the prompt, and no units.
    """

    model: str | None
    units: list[Unit]
    gold: str = ""
    n: int = 0
    value: float | None = None
    margin: float | None = None
    date: str = ""
    unmeasured: list[str] | None = None

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
        proofs.append({item.name: getattr(written, item.name) for item in fields(PromptProof)} | {"units": rows})
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
        write_proof(replace(earlier_proof, units=units, unmeasured=unmeasured_parts(program)), file)


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
    """The units without a valid proof: what was written, edited, moved or removed since, other gold or models.

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
    if proof.unmeasured is not None:
        parts = unmeasured_parts(program)
        changes += [f"no proof of: {short(text)}" for text in parts if text not in proof.unmeasured]
        changes += [f"proven and gone: {short(text)}" for text in proof.unmeasured if text not in parts]
    if [key for key in units if key in proven] != [key for key in proven if key in units]:
        changes.append("the units are in another order than in the proof")
    if gold and proof.gold not in ("", *gold):
        changes.append(f"the gold changed: the proof is on {proof.gold[:12]}, and the gold is {gold[0][:12]}")
    return changes

"""Saved programs, read into a program without executing anything; and the folder of a tuning.

``program.save("x.json")`` writes JSON: instructions, field descriptions and demonstrations. ``program.save("x.pkl")``
and ``save_program=True`` write pickles, which can run any code when they are opened, so they are never opened here.

`load_state` is the one function through which ``eval``, ``compare``, ``tune``, ``audit`` and `goldassay.case` read a
saved program.

A tuned program is a folder: ``state.json``, ``tuning.json``, ``prompt.diff``, and ``patches/`` that were tried.
``tuning.json`` is written when a tuning starts, so that the folder says what it holds however it ended. A tuning can be
resumed with the same program, splits, optimizer and settings only, and only by optimizers that keep a state (GEPA and
patches); the others start again, in another folder. The cost is that of the last part (``resumed``).
"""

from __future__ import annotations

import difflib
import hashlib
import json
import logging
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dspy
from dspy import Module

from goldassay import __version__, jsonl
from goldassay._dspy_compat import signature_of
from goldassay.exceptions import DataError, GoldassayError, StorageError
from goldassay.fields import Fields, Record, read
from goldassay.running import Run
from goldassay.running.folder import locked
from goldassay.running.hashing import fingerprint
from goldassay.running.leaks import text_of
from goldassay.secrets import scrub
from goldassay.statistics import Comparison
from goldassay.tuning.acceptance import Verdict, one_look
from goldassay.tuning.options import TuneOptions
from goldassay.tuning.patches import Ledger, write
from goldassay.tuning.proof import Proof
from goldassay.tuning.verdict import Audit, of_comparison, of_runs
from goldassay.tuning.wrappers import Splits, Wrapped, inmost, predictors, rebuilt

STATE = "state.json"
ABOUT = "tuning.json"
PICKLE = "program.pkl"


def load_state(program: Module, place: Path | str) -> Module:
    """A copy of ``program`` with a saved state.

    A language model that the state names is left out, with a warning: the program keeps its own, and else runs on the
    model of the call.

    Args:
        program: The program that was saved, as its file defines it; it stays as it is.
        place: A JSON file that ``program.save`` wrote, with any DSPy from 3.0 on, or a folder with a ``state.json``.

    Raises:
        DataError: The file is a pickle, or not the state of this program.

    >>> import tempfile
    >>> program = dspy.Predict("text -> label")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     program.save(f"{folder}/short.json")
    ...     load_state(program, f"{folder}/short.json").signature.instructions
    'Given the fields `text`, produce the fields `label`.'
    """
    place = Path(place)
    file = place / STATE if place.is_dir() else place
    if place.is_dir() and (place / ABOUT).is_file():
        read_about(place / ABOUT)  # a damaged folder is not trusted
    if file.suffix == ".pkl" or (not file.is_file() and (place / PICKLE).is_file()):
        raise DataError(
            "a pickle can run any code when it is opened, so it is not; load it where you trust it (dspy.load, "
            "program.load) and write program.save('state.json')",
            file=place / PICKLE if place.is_dir() else place,
        )
    if not file.is_file():
        expected = f"a file of program.save('x.json'), or a folder with {STATE}"
        raise GoldassayError(f"no saved program at {place}: expected {expected}")
    state = jsonl.value(file.read_bytes(), file=file, unique=False)
    if not isinstance(state, dict):
        raise DataError("not the state of a program, which program.save('x.json') writes", file=file)
    try:
        loaded: Any = rebuilt(program, state)
        models = _checked(loaded, state, file)
        own = {name: predictor.lm for name, predictor in loaded.named_predictors()}
        loaded.load_state(state)
        for name, predictor in loaded.named_predictors():
            predictor.lm = own[name]
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"not the state of this program: {type(error).__name__}: {error}", file=file) from None
    if models:
        names = " and ".join(sorted(set(models)))
        warning = "%s was saved with %s, which is not used: the program runs on the model of this call"
        logging.getLogger("goldassay").warning(warning, file, names)
    return loaded


def _checked(program: Module, state: Record, file: Path) -> list[str]:
    """Take the models out of a state, and name them, if it has the predictors of this program, each with as many
    fields: DSPy takes what fits, without a word.
    """
    inside = inmost(program)
    if inside is not program:
        state = state["program"]
    parts: Fields = {name: part for name, part in state.items() if name != "metadata"}
    if isinstance(inside, dspy.Predict):
        parts = {"self": state}
    parameters = dict(inside.named_parameters())
    models: list[str] = []
    if parts.keys() != parameters.keys():
        saved = ", ".join(sorted(parts)) or "none"
        expected = ", ".join(sorted(parameters)) or "none"
        raise DataError(f"not the state of this program: it has {saved}, and the program {expected}", file=file)
    for name, predictor in inside.named_predictors():
        saved_fields = len(parts[name]["signature"]["fields"])
        fields = len(signature_of(predictor).fields)
        if saved_fields != fields:
            message = f"not the state of this program: {saved_fields} fields, and the program's signature has {fields}"
            raise DataError(message, file=file, field=name)
        if parts[name].get("lm"):
            models.append(str(parts[name].pop("lm").get("model")))
            parts[name]["lm"] = None
    return models


def read_about(file: Path) -> Fields:
    """The content of ``tuning.json``.

    Raises:
        GoldassayError: There is no tuning.
        DataError: The file is damaged.
    """
    try:
        about = jsonl.value(file.read_bytes(), file=file)
    except OSError:
        raise GoldassayError(f"no tuning at {file.parent}: expected tuning.json there") from None
    if not isinstance(about, dict):
        raise DataError("not a tuning", file=file)
    return about


def state_names(places: Sequence[Path]) -> list[str]:
    """Names for runs of saved programs: that of each file, or of the folder of a ``state.json``, after as many of the
    folders above as tell them apart.

    >>> state_names([Path("runs/gepa/state.json"), Path("short.json")])
    ['gepa', 'short']
    >>> state_names([Path("a/best.json"), Path("b/best.json")])
    ['a-best', 'b-best']
    """
    paths = [place.resolve() for place in places]
    parts = [list((path.parent if path.name == STATE else path.with_suffix("")).parts[1:]) for path in paths]
    names: list[str] = []
    for size in range(1, max(map(len, parts), default=0) + 1):
        names = ["-".join(each[-size:]) for each in parts]
        if len(set(names)) == len(set(paths)):
            break
    return names


SCHEMA = 1
JOURNAL = "measured.jsonl"
RESUMABLE = ("gepa", "patches")
SAME = ("optimizer", "seed", "program", "splits", "options", "lm")  # parts of a plan that a resumed tuning has too


@dataclass(frozen=True)
class Trial:
    """A program before and after on one split, and the paired difference.

    ``chosen`` says that these examples also chose the program after. Its value is then too good, and has no interval.
    """

    before: Run
    after: Run
    difference: Comparison
    chosen: bool = False

    def state(self) -> Fields:
        """As JSON."""
        inference = dict.fromkeys(("interval", "p", "test_p", "smallest_detectable")) if self.chosen else {}
        return {
            "before": self.before.values,
            "after": self.after.values,
            **({"by": self.after.breakdowns} if self.after.breakdowns else {}),
            "runs": [run.folder.name for run in (self.before, self.after) if run.folder],
            "difference": {**self.difference.state(), **inference},
            "chosen": self.chosen,
        }


@dataclass(frozen=True)
class Tuned:
    """The result of a tuning: the program, its values on dev and test, the cost, and the reason if it stopped early."""

    program: Module
    optimizer: str
    dev: Trial
    test: Trial | None
    cost: dict[str, float]
    seed: int
    stopped: str = ""
    ledger: Ledger = field(default_factory=Ledger)
    """Every patch that was tried, with its effect and verdict (``patches`` only)."""
    note: str = ""
    """A part that never worked, such as a reflection model whose answers cannot be read; or why nothing was tried."""
    references: Mapping[str, Trial] = field(default_factory=dict)
    """Labeled and nearest examples on test, which take no tuning, beside the tuned program (``patches`` only)."""

    @property
    def beside(self) -> list[str]:
        """The references in words, and those that the tuned program is not better than; a better one is recommended."""
        lines: list[str] = []
        no_better: list[str] = []
        better: list[str] = []
        for name, trial in self.references.items():
            test = trial.difference
            calls = trial.before.cost.get("calls", 0)
            gain = f"{test.difference:+.3f} [{test.interval.low:+.3f}, {test.interval.high:+.3f}], p {test.p:.3f}"
            value = f"{trial.before.value:.3f}, {calls} calls"
            lines.append(f"{name} on test: {value}; {self.optimizer} against it {gain}.")
            verdict = one_look(test)
            if verdict == Verdict.WORSE:
                better.append(name)
            elif verdict != Verdict.HELPED:
                no_better.append(name)
        if no_better:
            names = " and ".join(no_better)
            lines.append(f"{self.optimizer} is not shown to be better than {names}: these take no tuning.")
        if better:
            best = max(better, key=lambda name: self.references[name].before.value)
            lines.append(f"{self.optimizer} is worse than {' and '.join(better)}: use {best}, which takes no tuning.")
        return lines

    @property
    def audit(self) -> Audit:
        """Whether the optimizer helped: by the one look at test, else by dev, which chose and so proves nothing."""
        trial = self.test or self.dev
        if trial.chosen:
            return of_runs([trial.before, trial.after], selection="bred", source=self.optimizer, chosen="after")
        return of_comparison(trial.difference, examples=len(trial.before.rows), source=self.optimizer)

    @property
    def verdict(self) -> str:
        """Whether the result is proven on test, where it was looked at once, by the verdict of its audit."""
        if self.test is None:
            return "not tested"
        return one_look(self.test.difference).on_test


def plan_of(program: Module, splits: Splits, optimizer: str, options: TuneOptions) -> Fields:
    """The material of a tuning with `goldassay.tune`, which must be the same when it is resumed."""
    digests = {}
    for name, part in splits.items():  # by ids and inputs, whatever their order
        lines = sorted(f"{read(example, 'id', '')}\t{text_of(example)}" for example in part)
        digests[name] = {"examples": len(part), "sha256": hashlib.sha256("\n".join(lines).encode()).hexdigest()}
    return {
        "optimizer": optimizer,
        "seed": options.seed,
        "program": fingerprint(program),
        "splits": digests,
        "options": {key: str(value) for key, value in options.settings.items()},
        "lm": options.lm and str(getattr(options.lm, "model", options.lm)),
        "resumed": options.resume,
    }


def begin(folder: Path, resume: bool, plan: Record) -> None:
    """Write that a tuning starts in ``folder``.

    Raises:
        GoldassayError: The folder holds another tuning, or one that cannot be resumed.
    """
    file = folder / ABOUT
    if resume and plan["optimizer"] not in RESUMABLE:
        only = f"(only {', '.join(RESUMABLE)} does): start it again without resuming"
        raise GoldassayError(f"{plan['optimizer']} keeps no state to resume {only}")
    earlier = read_about(file) if resume or file.is_file() else {}
    if resume:
        for key in SAME:
            if earlier.get(key) != plan[key]:
                which = "on other examples" if key == "splits" else f"with another {key}"
                then = _short(earlier.get(key))
                now = _short(plan[key])
                raise GoldassayError(f"{folder} holds a tuning {which}: {then} then, {now} now")
        if earlier.get("status") == "finished":
            raise GoldassayError(f"the tuning in {folder} is finished; nothing to resume")
    elif (folder / "gepa").is_dir() or earlier.get("status") in ("finished", "stopped"):
        raise GoldassayError(f"{folder} holds a tuning already; choose another folder, or resume it")
    else:
        (folder / JOURNAL).unlink(missing_ok=True)  # of a tuning that ended badly
    _write(file, {"schema": SCHEMA, "status": "running", **plan})


def _short(value: object) -> str:
    """A part of a plan in one line: splits with their sizes and the first digits of their hashes."""
    parts = value.items() if isinstance(value, dict) else ()
    sizes = [f"{name} {part['examples']} ({part['sha256'][:8]})" for name, part in parts if "sha256" in part]
    return ", ".join(sizes) or str(value)


@contextmanager
def locked_folder(folder: Path | None) -> Iterator[None]:
    """Own a tuning's folder, and write in ``tuning.json`` how the tuning ended if it failed."""
    if folder is None:
        yield
        return
    with jsonl.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        try:
            with jsonl.writing(folder), chdir("."):  # a program may change the current folder
                yield
        except BaseException as error:
            status = "interrupted" if isinstance(error, (KeyboardInterrupt, StorageError)) else "failed"
            with suppress(GoldassayError):  # the first error is the one to report
                about = read_about(folder / ABOUT)
                if about.get("status") == "running":
                    _write(folder / ABOUT, {**about, "status": status})
            raise


def save(tuned: Tuned, folder: Path, plan: Mapping[str, object], diff: str) -> None:
    """Write a tuned program into ``folder``; ``state.json`` is DSPy's own and loads with ``program.load``.

    ``plan`` is what the tuning worked on (`plan_of`), ``diff`` what it changed in the prompts.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tuned.program.save(str(folder / STATE))
    jsonl.replace(folder / "prompt.diff", diff)
    about = {
        "schema": SCHEMA,
        "status": "stopped" if tuned.stopped else "finished",
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        **plan,
        "stopped": tuned.stopped or None,
        "note": tuned.note or None,
        "versions": {"goldassay": __version__, "dspy": version("dspy"), "python": platform.python_version()},
        "dev": tuned.dev.state(),
        "test": tuned.test.state() if tuned.test else None,
        "verdict": tuned.verdict,
        "audit": tuned.audit.state(),
        "references": {name: trial.state() for name, trial in tuned.references.items()},
        "beside": tuned.beside,
        "cost": tuned.cost,
    }
    ledger = tuned.ledger
    if ledger.patches:
        for patch in ledger.patches:
            write(patch, folder / "patches")
        jsonl.replace(folder / "ledger.jsonl", "".join(f"{jsonl.dumps(scrub(entry))}\n" for entry in ledger.entries))
        patterns = [[pattern.state() for pattern in bundle] for bundle in ledger.patterns]
        jsonl.replace(folder / "patterns.json", json.dumps(patterns, ensure_ascii=False, indent=1))
        about["kept"] = ledger.verdict.state()
        about["failed_proposals"] = ledger.failures
        about["patches"] = ledger.statuses
    _write(folder / ABOUT, about)


def conclude(tuned: Tuned, folder: Path, proof: Proof) -> None:
    """Write the verdict of labels on a tuned program into its folder, and what follows for its patches."""
    ledger = tuned.ledger
    proven = ledger.verdict.kept and proof.verdict.better > 0
    ledger.conclude(replace(ledger.verdict, proven=proven, by=f"{proof.verdict.labels} labels"))
    for patch in ledger.kept:
        write(patch, folder / "patches")
    about = read_about(folder / ABOUT)
    about |= {"kept": ledger.verdict.state(), "patches": ledger.statuses, "proof": proof.state()}
    _write(folder / ABOUT, about)


def _write(file: Path, about: Mapping[str, object]) -> None:
    jsonl.replace(file, f"{jsonl.dumps(scrub(about), indent=1)}\n")


def rendered(program: Module, adapter: dspy.Adapter | None = None, inputs: Mapping[str, object] | None = None) -> str:
    """The messages that each predictor of a program would send, with ``{name}`` for its inputs.

    With ``inputs`` it has those, and a program that has nearest examples shows them too.
    """
    using: dspy.Adapter = adapter or dspy.settings.adapter or dspy.ChatAdapter()
    inside = inmost(program)
    if isinstance(program, Wrapped):
        using = program.adapter(using) or using
        inside = program.inside(inputs) if inputs else inside
    parts: list[str] = []
    for name, predictor in predictors(inside).items():
        signature = signature_of(predictor)
        values = {key: (inputs or {}).get(key, f"{{{key}}}") for key in signature.input_fields}
        parts.append(f"=== {name}")
        for message in using.format(signature, list(predictor.demos or []), values):
            text = message["content"]
            if not isinstance(text, str):
                text = json.dumps(text, ensure_ascii=False, indent=1, default=str)
            parts += [f"--- {message['role']}", text]
    return "\n".join(parts) + "\n"


def diff(
    before: Module,
    after: Module,
    adapter: dspy.Adapter | None = None,
    inputs: Mapping[str, object] | None = None,
) -> str:
    """The rendered prompts of two programs as a unified diff; empty when they are the same.

    A wrapper changes the prompt by its inputs, so with one the prompts are those for ``inputs``.
    """
    values = inputs if isinstance(before, Wrapped) or isinstance(after, Wrapped) else None
    old = rendered(before, adapter, values).splitlines()
    new = rendered(after, adapter, values).splitlines()
    text = "\n".join(difflib.unified_diff(old, new, "before", "after", lineterm=""))
    return f"{text}\n" if text else ""

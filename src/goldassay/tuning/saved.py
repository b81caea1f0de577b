"""A tuned program is a folder: ``state.json``, ``tuning.json``, ``prompt.diff``, and ``patches/`` that were tried.

The prompts of a program as text, and what changed between two of them.

Going on with an interrupted tuning: the same program, splits, optimizer and settings, or not at all.

``tuning.json`` is written when a tuning starts, so that what stands in a folder is known however it ended. Only GEPA
keeps a state that it can go on from; the other optimizers start again, in another folder. The cost that is written is
that of the last part (``resumed``).
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dspy

from goldassay import __version__, jsonl
from goldassay.exceptions import DataError, GoldassayError, StorageError
from goldassay.fields import read
from goldassay.insides import signature_of
from goldassay.running.folder import locked
from goldassay.running.identity import fingerprint
from goldassay.tuning.leaks import text_of
from goldassay.tuning.patches import write
from goldassay.tuning.wrappers import Formed, predictors, rebuilt, unfolded, wrappers

if TYPE_CHECKING:
    from goldassay.tuning.tuner import Trial, Tuned

SCHEMA = 1


def save(
    tuned: Tuned,
    before: dspy.Module,
    folder: Path,
    plan: Mapping[str, object],
    adapter: dspy.Adapter | None = None,
    asked: Mapping[str, object] | None = None,
) -> Path:
    """Write a tuned program; ``state.json`` is DSPy's own and loads with ``program.load``.

    Args:
        before: The program as it was.
        folder: Where it goes.
        plan: What must be the same when the tuning goes on.
        adapter: How prompts are written and answers read.
        asked: Inputs for which the prompts are shown, where what is shown depends on them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tuned.program.save(str(folder / "state.json"))
    (folder / "prompt.diff").write_text(diff(before, tuned.program, adapter, asked), encoding="utf-8")
    about = {
        "schema": SCHEMA,
        "status": "stopped" if tuned.stopped else "finished",
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "optimizer": tuned.optimizer,
        "wrappers": [type(one).__name__.lower() for one in wrappers(tuned.program)],
        **plan,
        "stopped": tuned.stopped or None,
        "note": tuned.note or None,
        "versions": {"goldassay": __version__, "dspy": version("dspy"), "python": platform.python_version()},
        "dev": _trial(tuned.dev),
        "test": _trial(tuned.test) if tuned.test else None,
        "verdict": tuned.verdict,
        "cost": tuned.cost,
    }
    if tuned.ledger.patches:
        for patch in tuned.ledger.patches:
            write(patch, folder / "patches")
        jsonl.replace(folder / "ledger.jsonl", "".join(f"{jsonl.dumps(entry)}\n" for entry in tuned.ledger.entries))
        found = [[one.state() for one in patterns] for patterns in tuned.ledger.patterns]
        (folder / "patterns.json").write_text(json.dumps(found, ensure_ascii=False, indent=1), encoding="utf-8")
        about["kept"] = tuned.ledger.verdict.state()
        about["failed_proposals"] = tuned.ledger.failures
        about["patches"] = [{"id": p.id, "status": p.status, "reason": p.reason} for p in tuned.ledger.patches]
    text = json.dumps(about, ensure_ascii=False, indent=1)
    (folder / "tuning.json").write_text(f"{text}\n", encoding="utf-8")
    return folder


def _trial(trial: Trial) -> dict[str, Any]:
    difference = trial.difference
    return {
        "before": trial.before.summary()["values"],
        "after": trial.after.summary()["values"],
        "runs": [trial.before.folder.name, trial.after.folder.name]
        if trial.before.folder and trial.after.folder
        else [],
        "difference": difference.state(),
    }


def digest(examples: Sequence[dspy.Example]) -> str:
    """A hash of the examples' ids and inputs, independent of their order."""
    lines = sorted(f"{read(example, 'id', '')}\t{text_of(example)}" for example in examples)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def load_state(program: dspy.Module, place: Path) -> dspy.Module:
    """``program`` with the state of a tuned folder, or of a ``state.json`` alone."""
    file = place / "state.json" if place.is_dir() else place
    if not file.is_file():
        raise GoldassayError(f"no tuned program at {place}: expected state.json there")
    about = file.with_name("tuning.json")
    if about.is_file():
        read_about(about)  # a folder that is spoilt in part is not half trusted
    try:
        made = rebuilt(program, json.loads(file.read_bytes()))
        made.load(str(file))
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:  # among them what is not JSON
        raise DataError(f"not the state of this program: {type(error).__name__}: {error}", file=file) from None
    return made


def read_about(file: Path) -> dict[str, Any]:
    """What ``tuning.json`` says."""
    try:
        found = jsonl.value(file.read_bytes(), file=file)
    except OSError:
        raise GoldassayError(f"no tuning at {file.parent}: expected tuning.json there") from None
    if not isinstance(found, dict):
        raise DataError("not a tuning", file=file)
    return found


def rendered(
    program: dspy.Module, adapter: dspy.Adapter | None = None, asked: Mapping[str, object] | None = None
) -> str:
    """The messages that each predictor of a program would send, with ``{name}`` where its inputs go, or the inputs
    ``asked``, for which a program that has nearest examples shows them too."""
    using: Any = adapter or dspy.settings.adapter or dspy.ChatAdapter()
    for one in wrappers(program):
        using = one.asking(using) if isinstance(one, Formed) else using
    asked = dict(asked or {})
    parts: list[str] = []
    for name, predictor in predictors(unfolded(program, asked) if asked else program).items():
        signature = signature_of(predictor)
        inputs = {key: asked.get(key, f"{{{key}}}") for key in signature.input_fields}
        parts.append(f"=== {name}")
        for message in using.format(signature, list(predictor.demos or []), inputs):
            parts += [f"--- {message['role']}", _text(message["content"])]
    return "\n".join(parts) + "\n"


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=1, default=str)


def diff(
    before: dspy.Module,
    after: dspy.Module,
    adapter: dspy.Adapter | None = None,
    asked: Mapping[str, object] | None = None,
) -> str:
    """The rendered prompts of two programs as a unified diff; empty when they are the same.

    A wrapper shows other examples for other inputs, so with one the prompts are those for the inputs ``asked``.
    """
    inputs = asked if wrappers(before) or wrappers(after) else None
    old, new = (rendered(made, adapter, inputs).splitlines() for made in (before, after))
    lines = difflib.unified_diff(old, new, "before", "after", lineterm="")
    text = "\n".join(lines)
    return f"{text}\n" if text else ""


def instructions(program: dspy.Module) -> list[str]:
    """The instructions of all predictors."""
    return [str(signature_of(predictor).instructions) for predictor in program.predictors()]


RESUMABLE = ("gepa", "patches")
JOURNAL = "measured.jsonl"
SAME = ("optimizer", "seed", "program", "splits", "options", "lm")


def begin(folder: Path, resume: bool, optimizer: str, **about: object) -> None:
    """Write that a tuning starts in ``folder``; refuse another tuning's folder, and one that cannot go on."""
    plan = {"schema": SCHEMA, "status": "running", "optimizer": optimizer, **about}
    file = folder / "tuning.json"
    kept = file.is_file() and read_about(file).get("status") not in ("failed", "interrupted", "running")
    if not resume and (kept or (folder / "gepa").is_dir()):
        raise GoldassayError(f"{folder} holds a tuning already; choose another folder, or go on with it (--resume)")
    if resume:
        if optimizer not in RESUMABLE:
            raise GoldassayError(
                f"{optimizer} keeps no state to go on from (only {', '.join(RESUMABLE)} does): "
                "leave --resume out, and it starts over"
            )
        _refuse_another(read_about(file), plan, folder)
    else:
        (folder / JOURNAL).unlink(missing_ok=True)  # of a tuning that ended badly
    _write(file, plan)


def plan(
    program: dspy.Module,
    splits: Mapping[str, Sequence[dspy.Example]],
    seed: int,
    options: Mapping[str, object],
    lm: dspy.BaseLM | str | None,
) -> dict[str, object]:
    """What must be the same when a tuning goes on.

    Args:
        program: The program.
        splits: Examples by split: train, dev, and test where there is one.
        seed: Of everything that is drawn at random.
        options: The optimizer's options.
        lm: The language model that examples are run with.
    """
    return {
        "seed": seed,
        "program": fingerprint(program),
        "splits": {name: {"examples": len(part), "sha256": digest(part)} for name, part in splits.items()},
        "options": {key: str(value) for key, value in options.items()},
        "lm": None if lm is None else str(getattr(lm, "model", lm)),
    }


@contextmanager
def minded(folder: Path | None) -> Iterator[None]:
    """Write in ``tuning.json`` how a tuning ended, if it did not end well; what cannot be written is one line."""
    try:
        with jsonl.writing(folder) if folder is not None else nullcontext():
            yield
    except BaseException as error:
        if folder is not None:
            file = folder / "tuning.json"
            status = "interrupted" if isinstance(error, (KeyboardInterrupt, StorageError)) else "failed"
            with suppress(StorageError):  # the disk may be full: the first error says it
                _write(file, {**read_about(file), "status": status})
        raise


@contextmanager
def alone(folder: Path | None) -> Iterator[None]:
    """A tuning's folder, which no other process writes meanwhile."""
    if folder is None:
        yield
        return
    with jsonl.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    handle = locked(folder)
    try:
        yield
    finally:
        os.close(handle)


def _refuse_another(earlier: dict[str, Any], now: dict[str, Any], folder: Path) -> None:
    for key in SAME:
        if key == "splits" and earlier.get(key) != now[key]:
            raise GoldassayError(
                f"{folder} holds a tuning on other examples: {_sizes(earlier)} then, {_sizes(now)} now"
            )
        if earlier.get(key) != now[key]:
            raise GoldassayError(f"{folder} holds a tuning with another {key}: {earlier.get(key)} then, {now[key]} now")
    if earlier.get("status") == "finished":
        raise GoldassayError(f"the tuning in {folder} is finished; there is nothing to go on with")


def _sizes(about: dict[str, Any]) -> str:
    """The splits in words, such as ``train 30 (0fe78029), dev 30 (4c638ed2)``."""
    parts = about.get("splits") or {}
    return ", ".join(f"{name} {part['examples']} ({part['sha256'][:8]})" for name, part in parts.items())


def _write(file: Path, about: dict[str, Any]) -> None:
    jsonl.replace(file, f"{json.dumps(about, ensure_ascii=False, indent=1)}\n")

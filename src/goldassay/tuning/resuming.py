"""Going on with an interrupted tuning: the same program, splits, optimizer and settings, or not at all.

``tuning.json`` is written when a tuning starts, so that what stands in a folder is known however it ended. Only GEPA
and patches keep a state that they can go on from; the other optimizers start again, in another folder. The cost that
is written is that of the last part (``resumed``).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import dspy

from goldassay import jsonl
from goldassay.exceptions import GoldassayError, StorageError
from goldassay.fields import read
from goldassay.running.folder import locked
from goldassay.running.identity import fingerprint
from goldassay.tuning.leaks import text_of
from goldassay.tuning.saved import SCHEMA, read_about

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


def digest(examples: Sequence[dspy.Example]) -> str:
    """A hash of the examples' ids and inputs, independent of their order."""
    lines = sorted(f"{read(example, 'id', '')}\t{text_of(example)}" for example in examples)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


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

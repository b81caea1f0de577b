"""Going on with an interrupted tuning: the same program, splits, optimizer and settings, or not at all.

``tuning.json`` is written when a tuning starts, so that what stands in a folder is known however it ended. Only GEPA
keeps a state that it can go on from; the other optimizers start again, in another folder. The cost that is written is
that of the last part (``resumed``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.running.identity import fingerprint
from goldassay.tuning.saved import SCHEMA, digest, read_about

RESUMABLE = ("gepa",)
SAME = ("optimizer", "seed", "program", "splits", "options", "lm")


def begin(folder: Path, resume: bool, optimizer: str, **about: Any) -> None:
    """Write that a tuning starts in ``folder``; refuse another tuning's folder, and one that cannot go on."""
    plan = {"schema": SCHEMA, "status": "running", "optimizer": optimizer, **about}
    file = folder / "tuning.json"
    kept = file.is_file() and read_about(file).get("status") not in ("failed", "interrupted", "running")
    if not resume and (kept or (folder / "gepa").is_dir()):
        raise GoldassayError(f"{folder} holds a tuning already; choose another folder, or go on with it (--resume)")
    if resume:
        if optimizer not in RESUMABLE:
            raise GoldassayError(f"{optimizer} keeps no state to go on from (only {', '.join(RESUMABLE)} does)")
        _refuse_another(read_about(file), plan, folder)
    _write(file, plan)


def plan(
    program: Any, splits: Mapping[str, Sequence[Any]], seed: int, options: Mapping[str, Any], lm: Any
) -> dict[str, Any]:
    """What must be the same when a tuning goes on."""
    return {
        "seed": seed,
        "program": fingerprint(program),
        "splits": {name: {"examples": len(part), "sha256": digest(part)} for name, part in splits.items()},
        "options": {key: str(value) for key, value in options.items()},
        "lm": None if lm is None else str(getattr(lm, "model", lm)),
    }


@contextmanager
def minded(folder: Path | None) -> Iterator[None]:
    """Write in ``tuning.json`` how a tuning ended, if it did not end well."""
    try:
        yield
    except BaseException as error:
        if folder is not None:
            file = folder / "tuning.json"
            status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            _write(file, {**read_about(file), "status": status})
        raise


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
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{json.dumps(about, ensure_ascii=False, indent=1)}\n", encoding="utf-8")

"""A tuned program is a folder: ``state.json``, ``tuning.json``, ``prompt.diff``, and ``patches/`` that were tried.

The prompts of a program as text, and what changed between two of them, are made here too.
"""

from __future__ import annotations

import difflib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dspy

from goldassay import __version__, jsonl
from goldassay._dspy_compat import signature_of
from goldassay.exceptions import DataError, GoldassayError
from goldassay.running import Run
from goldassay.statistics import Comparison
from goldassay.tuning.acceptance import Ledger
from goldassay.tuning.patches import write
from goldassay.tuning.wrappers import Formed, predictors, rebuilt, unfolded, wrappers

SCHEMA = 1


@dataclass(frozen=True)
class Trial:
    """A program before and after on one split, and the paired difference."""

    before: Run
    after: Run
    difference: Comparison


@dataclass(frozen=True)
class Tuned:
    """What tuning made: the program, what it was worth on dev and test, what it cost, and how it ended."""

    program: dspy.Module
    optimizer: str
    dev: Trial
    test: Trial | None
    cost: dict[str, float]
    seed: int
    stopped: str = ""
    ledger: Ledger = field(default_factory=Ledger)
    """Every patch that was tried, with its effect and verdict (``patches`` only)."""
    note: str = ""
    """What never worked on the way, such as a reflection model whose answers cannot be read; why nothing was tried."""

    @property
    def verdict(self) -> str:
        """Whether the result is proven on test, where it was looked at once: the paired test, two-sided, at 5 %."""
        if self.test is None:
            return "not tested"
        found = self.test.difference
        shown = found.p <= 0.05
        return "not proven on test" if not shown else "proven on test" if found.difference > 0 else "worse on test"


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

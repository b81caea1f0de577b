"""What a run says of itself: with what it was made, so that it can be made again and compared with others."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from goldassay import __version__
from goldassay.exceptions import ConventionError
from goldassay.measure import stored
from goldassay.running.run import PLAIN


def about_run(
    program: Any, gold: Sequence[Any], metric: Any, name: str, seed: int, settings: dict[str, Any], lm: Any, kept: bool
) -> dict[str, Any]:
    """The head of ``run.json``. Gold is hashed only where the run is ``kept``."""
    measures = {
        key: {
            "measure": stored(measure),
            "conventions": measure.conventions,
            "weight": metric.weights[key],
            "target": metric.targets.get(key),
        }
        for key, measure in metric.measures.items()
    } or {PLAIN: {"measure": PLAIN, "conventions": "mean of a plain function", "weight": 1.0, "target": None}}
    return {
        "schema": 1,
        "name": name,
        "settings": settings,
        "lm": None if lm is None else str(getattr(lm, "model", lm)),
        "seed": seed,
        "versions": {"goldassay": __version__, "dspy": version("dspy"), "python": platform.python_version()},
        "gold": {"examples": len(gold), "sha256": gold_hash(gold) if kept else None},
        "program": {
            "class": type(program).__qualname__,
            "version": fingerprint(program) if hasattr(program, "named_predictors") else None,
        },
        "measures": measures,
        "started": now(),
        "cost": {},
    }


def gold_hash(gold: Sequence[Any]) -> str:
    """A hash of the gold examples, in their order."""
    digest = hashlib.sha256()
    for example in gold:
        record = example.toDict() if hasattr(example, "toDict") else example
        digest.update(json.dumps(record, sort_keys=True, ensure_ascii=False, default=str).encode())
    return digest.hexdigest()


def refuse_another(earlier: dict[str, Any], about: dict[str, Any], folder: Path) -> None:
    """A run is only gone on with as it was begun: the same gold, program and measures."""
    for what in ("gold", "program", "measures"):
        if json.loads(json.dumps(earlier.get(what))) != json.loads(json.dumps(about[what])):
            raise ConventionError(f"{folder} was begun with another {what.rstrip('s')}; start a new run")


def now() -> str:
    """This moment, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def fingerprint(program: Any) -> str:
    """A hash of all instructions, field descriptions and demonstrations: the version that a patch applies to.

    A program that puts more than its predictors' demonstrations into its prompts (such as the nearest examples of
    `goldassay.tuning.nearest`) says with a method ``prompt_parts`` what that is.
    """
    parts: list[list[Any]] = []
    for name, predictor in program.named_predictors():
        fields = {key: str(info.json_schema_extra.get("desc", "")) for key, info in predictor.signature.fields.items()}
        demos = [_shown(demo) for demo in predictor.demos or []]
        parts.append([name, predictor.signature.instructions, fields, demos])
    if hasattr(type(program), "prompt_parts"):
        parts.append(program.prompt_parts())
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _shown(demo: Any) -> dict[str, Any]:
    return {key: demo[key] for key in demo.keys()} if hasattr(demo, "keys") else dict(demo)  # noqa: SIM118

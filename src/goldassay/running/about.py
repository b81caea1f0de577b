"""The head of a run, ``run.json``: what ran, so that the run can be repeated, resumed and compared.

A run is only resumed as it was started: with the same gold, metric, model and adapter, and the same program, prompts
and code.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from goldassay import __version__, jsonl
from goldassay.fields import Fields
from goldassay.measure import Measure, stored
from goldassay.running.hashing import code_hash, fingerprint, gold_hash, settings_hash
from goldassay.secrets import SETTING, remember, scrub

if TYPE_CHECKING:
    import dspy

    from goldassay.metric import Metric
    from goldassay.running.evaluate import RunOptions
    from goldassay.running.guard import Program

SAME = {
    "gold": "another gold",
    "program": "another program, or other prompts",
    "code": "another version of the program's code",
    "measures": "another measure",
    "metric": "another version of the metric's code",
    "model": "another model, or other settings of it",
    "adapter": "another adapter",
}
"""The parts that have to be the same for a run to be resumed, each with the words for a difference."""


def about_run(
    program: Program, gold: Sequence[dspy.Example], metric: Metric, options: RunOptions, lm: dspy.BaseLM | None
) -> Fields:
    """The head of ``run.json``. Gold and code are hashed only if the run has a folder.

    Args:
        program: What runs.
        gold: The examples.
        metric: What measures them.
        options: The options of the run.
        lm: The model that will be called.
    """
    import dspy

    stays = options.folder is not None or options.resume is not None
    function = getattr(metric, "function", None)
    about: Fields = {
        "schema": 1,
        "name": options.name,
        "settings": options.settings,
        "lm": None if lm is None else str(getattr(lm, "model", lm)),
        "model": described(lm),
        "adapter": type(options.adapter or dspy.settings.adapter or dspy.ChatAdapter()).__name__,
        "seed": options.seed,
        "repeats": options.repeats,
        "pass_mark": metric.pass_mark,
        "versions": {"goldassay": __version__, "dspy": version("dspy"), "python": platform.python_version()},
        "gold": {"examples": len(gold), "sha256": gold_hash(gold)},
        "program": {
            "class": type(program).__qualname__,
            "version": fingerprint(program) if hasattr(program, "named_predictors") else None,
            "settings": settings_hash(program),
        },
        "code": code_hash(program) if stays else None,
        "metric": code_hash(function) if stays and function is not None else None,
        "measures": described_measures(metric.measures, metric.weights, metric.targets),
        "process": {"id": os.getpid(), "host": platform.node()},
        "started": now(),
        "cost": {},
    }
    if options.judge_labels:
        about["judge_labels"] = {name: dict(labels) for name, labels in options.judge_labels.items()}
    return about


def described_measures(
    measures: Mapping[str, Measure], weights: Mapping[str, float] = {}, targets: Mapping[str, float] = {}
) -> Fields:
    """Measures as ``run.json`` holds them: as they parse back, with conventions, weight and target."""
    return {
        key: {
            "measure": stored(measure),
            "conventions": measure.conventions,
            "weight": weights.get(key, 1.0),
            "target": targets.get(key),
        }
        for key, measure in measures.items()
    }


def described(lm: dspy.BaseLM | None) -> Fields | None:
    """A model's settings that change its answers, without keys."""
    if lm is None:
        return None
    remember(lm)
    options = {
        str(key): scrub(json.loads(jsonl.dumps(value)))
        for key, value in sorted((getattr(lm, "kwargs", None) or {}).items())
        if not SETTING.search(str(key)) and not isinstance(value, Mapping) and value is not None
    }
    return {"name": str(getattr(lm, "model", type(lm).__name__)), **options}


def different(earlier: Mapping[str, object], about: Mapping[str, object]) -> str | None:
    """The first thing in which two runs differ."""
    return next((name for name in SAME if jsonl.dumps(earlier.get(name)) != jsonl.dumps(about.get(name))), None)


def now() -> str:
    """This moment, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")

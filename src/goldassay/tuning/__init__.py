"""The loop: make a program better on train, choose on dev, prove it on test.

The names below are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldassay.tuning.budget import Budget, BudgetSpent, Meter
    from goldassay.tuning.nearest import NearestDemos
    from goldassay.tuning.optimizers import OPTIMIZERS
    from goldassay.tuning.patches import Effect, Patch
    from goldassay.tuning.patching import Patches
    from goldassay.tuning.prompt_tuner import PromptTuner, TuningReport
    from goldassay.tuning.saved import load_state
    from goldassay.tuning.trials import Trial, Tuned
    from goldassay.tuning.tuner import tune

_HOME = {
    "OPTIMIZERS": "optimizers",
    "Budget": "budget",
    "BudgetSpent": "budget",
    "Effect": "patches",
    "Meter": "budget",
    "NearestDemos": "nearest",
    "Patch": "patches",
    "Patches": "patching",
    "PromptTuner": "prompt_tuner",
    "Trial": "trials",
    "Tuned": "trials",
    "TuningReport": "prompt_tuner",
    "load_state": "saved",
    "tune": "tuner",
}

__all__ = [
    "OPTIMIZERS",
    "Budget",
    "BudgetSpent",
    "Effect",
    "Meter",
    "NearestDemos",
    "Patch",
    "Patches",
    "PromptTuner",
    "Trial",
    "Tuned",
    "TuningReport",
    "load_state",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"goldassay.tuning.{_HOME[name]}"), name)
    raise AttributeError(f"module 'goldassay.tuning' has no attribute {name!r}")

"""The loop: make a program better on train, choose on dev, prove it on test.

The names below are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldassay.tuning.optimizers import OPTIMIZERS
    from goldassay.tuning.patches import Effect, Patch
    from goldassay.tuning.saved import Trial, Tuned, load_state
    from goldassay.tuning.teleprompter import Patches
    from goldassay.tuning.tuner import atune, tune
    from goldassay.tuning.wrappers import NearestDemos

_HOME = {
    "OPTIMIZERS": "optimizers",
    "Effect": "patches",
    "NearestDemos": "wrappers",
    "Patch": "patches",
    "Patches": "teleprompter",
    "Trial": "saved",
    "Tuned": "saved",
    "atune": "tuner",
    "load_state": "saved",
    "tune": "tuner",
}

__all__ = [
    "OPTIMIZERS",
    "Effect",
    "NearestDemos",
    "Patch",
    "Patches",
    "Trial",
    "Tuned",
    "atune",
    "load_state",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"goldassay.tuning.{_HOME[name]}"), name)
    raise AttributeError(f"module 'goldassay.tuning' has no attribute {name!r}")

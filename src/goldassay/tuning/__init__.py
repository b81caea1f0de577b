"""Tuning: make a program better on train, choose on dev, prove it on test. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldassay.tuning.acceptance import Effect
    from goldassay.tuning.campaign import Patches, PatchOptions
    from goldassay.tuning.measuring import TuneOptions
    from goldassay.tuning.optimizers import OPTIMIZERS, Accept
    from goldassay.tuning.patches import Patch
    from goldassay.tuning.saved import Arm, Trial, Tuned, load_state
    from goldassay.tuning.tuner import atune, tune
    from goldassay.tuning.wrappers import NearestDemos

_HOME = {
    "Accept": "optimizers",
    "Arm": "saved",
    "Effect": "acceptance",
    "NearestDemos": "wrappers",
    "OPTIMIZERS": "optimizers",
    "Patch": "patches",
    "PatchOptions": "campaign",
    "Patches": "campaign",
    "Trial": "saved",
    "TuneOptions": "measuring",
    "Tuned": "saved",
    "atune": "tuner",
    "load_state": "saved",
    "tune": "tuner",
}

__all__ = [
    "OPTIMIZERS",
    "Accept",
    "Arm",
    "Effect",
    "NearestDemos",
    "Patch",
    "PatchOptions",
    "Patches",
    "Trial",
    "TuneOptions",
    "Tuned",
    "atune",
    "load_state",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"goldassay.tuning.{_HOME[name]}"), name)
    raise AttributeError(f"module 'goldassay.tuning' has no attribute {name!r}")

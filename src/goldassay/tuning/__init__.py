"""Tuning: make a program better on train, choose on dev, prove it on test. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldassay.tuning.accept import Accept
    from goldassay.tuning.acceptance import Effect
    from goldassay.tuning.campaign import PatchOptions
    from goldassay.tuning.optimizers import OPTIMIZERS
    from goldassay.tuning.options import TuneOptions
    from goldassay.tuning.patches import Patch
    from goldassay.tuning.patching import Patches
    from goldassay.tuning.saved import Arm, Trial, Tuned, load_state
    from goldassay.tuning.tuner import atune, tune
    from goldassay.tuning.wrappers import NearestDemos

_MODULES = {
    "accept": ("Accept",),
    "acceptance": ("Effect",),
    "campaign": ("PatchOptions",),
    "patching": ("Patches",),
    "optimizers": ("OPTIMIZERS",),
    "patches": ("Patch",),
    "saved": ("Arm", "Trial", "Tuned", "load_state"),
    "options": ("TuneOptions",),
    "tuner": ("atune", "tune"),
    "wrappers": ("NearestDemos",),
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
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"goldassay.tuning.{module}"), name)
    raise AttributeError(f"module 'goldassay.tuning' has no attribute {name!r}")

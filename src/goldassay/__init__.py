"""goldassay: score DSPy programs against gold, and tune them in the same loop.

The names below are loaded when first used, so that ``import goldassay`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldassay._support.exceptions import GoldassayError
    from goldassay._support.extensions import Extension
    from goldassay.core.measure import Assessment, Error, Measure
    from goldassay.core.metric import Metric
    from goldassay.core.score import Score, Total
    from goldassay.core.tally import Bins, By, Confusion, Counts, Mean, Tally
    from goldassay.ext.labelling.review import review
    from goldassay.gold import load
    from goldassay.results.result import Result
    from goldassay.running.comparing import acompare, compare
    from goldassay.running.evaluate import aevaluate, evaluate
    from goldassay.running.guard import guard
    from goldassay.running.options import RunOptions
    from goldassay.running.run import Run
    from goldassay.running.scoring import score
    from goldassay.testing import case
    from goldassay.tuning import atune, tune
    from goldassay.tuning.audit import audit, save_result
    from goldassay.tuning.explain import explain

__version__ = "0.1.0"
import_module("goldassay.reporting")  # registers the cards that a notebook shows

_HOME = {
    "Assessment": "core.measure",
    "Bins": "core.tally",
    "By": "core.tally",
    "Confusion": "core.tally",
    "Counts": "core.tally",
    "Error": "core.measure",
    "Extension": "_support.extensions",
    "GoldassayError": "_support.exceptions",
    "Mean": "core.tally",
    "Measure": "core.measure",
    "Metric": "core.metric",
    "Result": "results.result",
    "Run": "running.run",
    "RunOptions": "running.options",
    "Score": "core.score",
    "Tally": "core.tally",
    "Total": "core.score",
    "acompare": "running.comparing",
    "aevaluate": "running.evaluate",
    "atune": "tuning",
    "audit": "tuning.audit",
    "case": "testing",
    "compare": "running.comparing",
    "evaluate": "running.evaluate",
    "explain": "tuning.explain",
    "save_result": "tuning.audit",
    "guard": "running.guard",
    "load": "gold",
    "review": "ext.labelling.review",
    "score": "running.scoring",
    "tune": "tuning",
}

__all__ = [
    "Assessment",
    "Bins",
    "By",
    "Confusion",
    "Counts",
    "Error",
    "Extension",
    "GoldassayError",
    "Mean",
    "Measure",
    "Metric",
    "Result",
    "Run",
    "RunOptions",
    "Score",
    "Tally",
    "Total",
    "acompare",
    "aevaluate",
    "atune",
    "audit",
    "case",
    "compare",
    "evaluate",
    "explain",
    "guard",
    "load",
    "review",
    "save_result",
    "score",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"goldassay.{_HOME[name]}"), name)
    raise AttributeError(f"module 'goldassay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

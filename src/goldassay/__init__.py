"""goldassay: score DSPy programs against gold, and tune them in the same loop.

The names below are loaded when first used, so that ``import goldassay`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldassay.corpus_score import Score, Total
    from goldassay.exceptions import GoldassayError
    from goldassay.gold import load
    from goldassay.measure import Assessment, Error, Measure
    from goldassay.metric import Metric
    from goldassay.reviewing import review
    from goldassay.running.comparing import acompare, compare
    from goldassay.running.evaluate import RunOptions, aevaluate, evaluate
    from goldassay.running.guard import guard
    from goldassay.scoring import score
    from goldassay.tally import Bins, By, Confusion, Counts, Mean, Tally
    from goldassay.testing import case
    from goldassay.tuning import atune, tune
    from goldassay.tuning.audit import audit

__version__ = "0.1.0"
import_module("goldassay.reporting")  # registers the cards that a notebook shows

_HOME = {
    "Assessment": "measure",
    "Bins": "tally",
    "By": "tally",
    "Confusion": "tally",
    "Counts": "tally",
    "Error": "measure",
    "GoldassayError": "exceptions",
    "Mean": "tally",
    "Measure": "measure",
    "Metric": "metric",
    "RunOptions": "running.evaluate",
    "Score": "corpus_score",
    "Tally": "tally",
    "Total": "corpus_score",
    "acompare": "running.comparing",
    "aevaluate": "running.evaluate",
    "atune": "tuning",
    "audit": "tuning.audit",
    "case": "testing",
    "compare": "running.comparing",
    "evaluate": "running.evaluate",
    "guard": "running.guard",
    "load": "gold",
    "review": "reviewing",
    "score": "scoring",
    "tune": "tuning",
}

__all__ = [
    "Assessment",
    "Bins",
    "By",
    "Confusion",
    "Counts",
    "Error",
    "GoldassayError",
    "Mean",
    "Measure",
    "Metric",
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
    "guard",
    "load",
    "review",
    "score",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"goldassay.{_HOME[name]}"), name)
    raise AttributeError(f"module 'goldassay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

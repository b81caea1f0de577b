"""Live conformance: our numbers beside those of the implementations that are installed, on the same data.

What is compared stands with each of the ``ORACLES``. The data are the heritage gold of the workspace (or the copy
that comes with goldassay) with predictions made by damaging it, and generated cases; both come from a fixed seed, so
that two machines compare the same numbers. An oracle that is not installed is named, with the line that installs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from goldassay.exceptions import GoldassayError
from goldassay.proof.conform.live import packages
from goldassay.proof.conform.suite import SuiteResult


@dataclass(frozen=True)
class Oracle:
    """An implementation: the module that is imported, what pip installs, and what compares with it."""

    module: str
    requirement: str
    compare: Callable[[SuiteResult], None]

    @property
    def missing(self) -> str:
        """What to do if it is not installed; nothing if it is."""
        return "" if find_spec(self.module) else f"not installed; pip install {self.requirement}"


ORACLES = {
    "seqeval": Oracle("seqeval", "seqeval==1.2.2", packages.seqeval),
    "nervaluate": Oracle("nervaluate", "nervaluate==1.2.1", packages.nervaluate),
    "scikit-learn": Oracle("sklearn", "scikit-learn", packages.scikit_learn),
    "krippendorff": Oracle("krippendorff", "krippendorff==0.9.0", packages.krippendorff),
    "statsmodels": Oracle("statsmodels", "statsmodels==0.15.0", packages.statsmodels),
    "pytrec_eval": Oracle("pytrec_eval", "pytrec-eval-terrier==0.5.11", packages.pytrec_eval),
    "ir_measures": Oracle("ir_measures", "ir-measures==0.4.3", packages.ir_measures),
    "rouge-score": Oracle("rouge_score", "rouge-score==0.1.2", packages.rouge_score),
}


def run(names: Sequence[str] | None = None) -> list[SuiteResult]:
    """Compare with the oracles named, or with all; those that are not installed have ``missing`` and no numbers.

    >>> run(["trec"])
    Traceback (most recent call last):
    goldassay.exceptions.GoldassayError: no oracle 'trec'; there are seqeval, nervaluate, scikit-learn, krippendorff, \
statsmodels, pytrec_eval, ir_measures, rouge-score
    """
    wrong = next((name for name in names or () if name not in ORACLES), None)
    if wrong is not None:
        raise GoldassayError(f"no oracle {wrong!r}; there are {', '.join(ORACLES)}")
    results = []
    for name in names or ORACLES:
        result = SuiteResult(name, missing=ORACLES[name].missing)
        if not result.missing:
            ORACLES[name].compare(result)
        results.append(result)
    return results


__all__ = ["ORACLES", "Oracle", "run"]

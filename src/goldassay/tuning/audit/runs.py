"""Runs of goldassay side by side: the verdict by the metric's corpus value, not by a mean of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.running import Run
from goldassay.running.comparing import check_comparable
from goldassay.statistics import compare, contributions
from goldassay.tuning.audit.artefacts import of_scores
from goldassay.tuning.audit.verdict import MARGIN, Audit, Selected, judge, of_comparison


def of_runs(
    runs: Sequence[Run],
    *,
    selection: Selected | None = None,
    leaks: Sequence[str] = (),
    margin: float = MARGIN,
    **about: Any,
) -> Audit:
    """The verdict on runs on the same gold, the baseline first.

    Args:
        runs: Two, or a baseline and the candidates that it was to be replaced by.
        selection: How the candidates came about; by default ``none`` for two runs, else ``independent``.
        leaks: Leaks that were found.
        margin: The largest difference that does not matter.
        about: Other fields of `Audit`.
    """
    first, *others = runs
    if not others:
        raise GoldassayError("an audit needs two runs or more, the baseline first")
    for other in others:
        check_comparable(first, other)
    scores = np.array(
        [[np.nan if row.get("error") else row["score"] for row in run.rows] for run in runs], dtype=float
    ).T
    zero, n = first.zero, len(first.rows)
    selection = selection or ("none" if len(others) == 1 else "independent")
    about = {"source": "runs", "baseline": "before", "margin": margin, **about}
    if selection == "none":
        difference = compare(others[0].evidence, first.evidence, zero, clusters=first.clusters)
        audit = of_comparison(difference, examples=n, **about)
        column = 1
    else:
        gains = n * np.stack([contributions(run.evidence, first.evidence, zero) for run in others], axis=1)
        best = 1 + int(gains.mean(0).argmax())
        names = [str(run.folder or run.name) for run in runs]
        about |= {"chosen": names[best], "baseline": names[0]} if len(others) > 1 else {}
        audit = judge(gains, selection=selection, clusters=first.clusters, **about)
        column = best
    leaks = [*leaks, *(f"{run.name}: {warning}" for run in runs for warning in run.about.get("warnings") or ())]
    noise = dict.fromkeys(text for run in runs for text in run.warnings[len(run.about.get("warnings") or ()) :])
    return audit.with_findings(leaks, [*noise, *of_scores(scores, [run.name for run in runs], column)])

"""Fresh proof: two programs on examples that neither was chosen on, once, paired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from goldassay.metric import AnyMetric
from goldassay.running import Run
from goldassay.running.leaks import find_leaks, leak_warning
from goldassay.tuning.audit.runs import of_runs
from goldassay.tuning.audit.verdict import Audit
from goldassay.tuning.saved import diff
from goldassay.tuning.tuner import TuneOptions, measured


def prove(
    before: dspy.Module,
    after: dspy.Module,
    examples: Sequence[dspy.Example],
    metric: AnyMetric,
    options: TuneOptions | None = None,
    **about: Any,
) -> Audit:
    """Run both programs once on the same examples.

    Args:
        before: The program as it was.
        after: The program that an optimizer made.
        examples: Examples that no optimizer has seen.
        metric: A `Metric`, or any function of (gold, prediction).
        options: How the programs are run.
        about: Other fields of the `Audit`.

    Returns:
        The verdict; its ``details`` hold the ``diff`` of the prompts and what an example costs before and after.
    """
    options = (options or TuneOptions(progress=False)).resolved()
    leaks = [
        f"{name}: {warning}"
        for name, program in (("before", before), ("after", after))
        if (warning := leak_warning(find_leaks(program, examples), examples))
    ]
    sides = (("before", before), ("after", after))
    runs = [measured(program, examples, metric, f"test-{when}", options) for when, program in sides]
    inputs = dict(examples[0].inputs())
    details = {
        "values": {"before": runs[0].value, "after": runs[1].value},
        "costs": {"before": costs(runs[0]), "after": costs(runs[1])},
        "diff": diff(before, after, options.adapter, inputs),
    }
    details["runs"] = [str(run.folder) for run in runs if run.folder]
    return of_runs(runs, leaks=leaks, details=details, **about)


def costs(run: Run) -> Mapping[str, float]:
    """What an example costs on average: calls, cached answers, tokens, US dollars and seconds."""
    n = len(run.rows)
    usage = [row.get("usage") or {} for row in run.rows]
    tokens = sum(each.get("prompt_tokens", 0) + each.get("completion_tokens", 0) for each in usage)
    return {
        "calls": sum(each.get("calls", 0) for each in usage) / n,
        "cached": sum(each.get("cached", 0) for each in usage) / n,
        "tokens": tokens / n,
        "usd": float(run.cost.get("usd") or 0) / n,
        "seconds": sum(float(row.get("latency_s") or 0) for row in run.rows) / n,
    }

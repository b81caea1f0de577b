"""GEPA's own rule of acceptance beside `goldassay.tuning.Accept`, with a real model that is also its own reflector.

``python -m benchmarks.accept MODEL.gguf [SEED]``: heritage classification, 60 examples of train, 20 of dev, 150 calls
of the metric for each rule, in minibatches of 3 and of 8. A line of JSON a rule; about 15 minutes each with 0.5 billion
parameters.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

import dspy

from goldassay import workspace
from goldassay.gold import load
from goldassay.models import lm as models
from goldassay.running.evaluate import evaluate
from goldassay.tuning import Accept

TASK = "classification"
CALLS = 150


def tuned(rule: str, model: str, seed: int) -> dict[str, object]:
    """What GEPA makes of the program with a rule."""
    began = time.perf_counter()
    lm = models.resolve(f"local:{model},max_tokens=24,slots=1")
    reflection: Any = models.resolve(f"local:{model},max_tokens=300,slots=1")
    data = load("heritage", task=TASK).task(TASK)
    metric = workspace.metric(TASK)
    program = workspace.target(TASK).tunable()
    options = {"lm": lm, "adapter": models.adapter(lm), "threads": 1, "progress": False}
    with dspy.context(lm=lm, adapter=options["adapter"]):
        gepa = dspy.GEPA(
            metric=metric,
            max_metric_calls=CALLS,
            reflection_lm=reflection,
            reflection_minibatch_size=8 if rule == "Accept" else 3,
            num_threads=1,
            seed=seed,
            track_stats=True,
            gepa_kwargs={"acceptance_criterion": Accept()} if rule == "Accept" else {},
        )
        best = gepa.compile(program, trainset=list(data.train)[:60], valset=list(data.dev)[:20])
    details = best.detailed_results
    test = list(data.test)
    return {
        "rule": rule,
        "seed": seed,
        "candidates": len(details.candidates),
        "metric_calls": details.total_metric_calls,
        "dev": details.val_aggregate_scores,
        "before": evaluate(program, test, metric, **options).value,
        "after": evaluate(best, test, metric, **options).value,
        "minutes": round((time.perf_counter() - began) / 60, 1),
    }


def main() -> None:
    logging.getLogger("dspy").setLevel(logging.WARNING)
    for rule in ("Accept", "GEPA"):
        print(json.dumps(tuned(rule, sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else 0)), flush=True)


if __name__ == "__main__":
    main()

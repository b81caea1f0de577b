"""The options of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import dspy

from goldassay._support.exceptions import GoldassayError
from goldassay.measures.judged import JudgeLabels
from goldassay.models.lm import models

ENGINES = ("threads", "ray")


@dataclass(frozen=True)
class RunOptions:
    """The options of `goldassay.evaluate` and of everything that evaluates on the way (tuning, patches).

    >>> RunOptions(threads=8).changed(seed=3, limit=20).seed
    3

    Args:
        threads: How many examples are in flight at once.
        engine: ``threads`` of this process, or ``ray``: actors on this machine or on a cluster. The rows are the same.
        workers: The number of Ray actors; by default one for each processor, and at most ``threads``.
        ray_address: The Ray cluster to join; by default Ray runs on this machine.
        limit: Run only the first ``limit`` examples.
        repeats: How often each example is asked, without DSPy's cache. Its mean answer counts, and the model's own
            noise is separated from the differences between examples.
        seed: The seed of the intervals.
        timeout: Seconds that one example may take.
        max_failures: The share of failed examples (after 20) at which the run stops; 1 never stops it. An
            endpoint that stopped answering always does.
        budget: What the run may use, such as ``"calls=200,tokens=1e6,usd=2,minutes=5"``. A run stops when its budget is
            spent, and can be resumed.
        folder: The folder of this run, which goes on if it began there; by default the run stays in memory.
        name: The name of the run.
        resume: The folder of an unfinished run. Missing rows are made and failed rows are retried; program, code,
            model, adapter, gold and metric must be the same.
        progress: Show a progress bar if standard error is a terminal.
        trace: Store inputs, gold, prompts, raw answers and steps in the rows of the folder, for reports.
        settings: More entries for the ``settings`` of ``run.json``.
        lm: The language model or its name (`goldassay.models.lm.resolve`); by default the one that DSPy is configured
        with.
        adapter: The adapter; by default the one that DSPy is configured with.
        check_leaks: Warn before any call if the program's prompts show gold examples (`goldassay.running.leaks`), or if
            examples share texts and name no document (`goldassay.core.fields.shared_text`).
        judge_labels: Human labels of some examples, by the name of a judged value (``{"relevance": {"q1": 0.5}}``). The
            run then also has corrected values (`goldassay.measures.judged`).

    Raises:
        GoldassayError: An option is out of range.
    """

    threads: int = 1
    engine: str = "threads"
    workers: int | None = None
    ray_address: str | None = None
    limit: int | None = None
    repeats: int = 1
    seed: int = 0
    timeout: float | None = None
    max_failures: float = 0.5
    budget: str | None = None
    folder: Path | str | None = None
    name: str = ""
    resume: Path | str | None = None
    progress: bool = True
    trace: bool = True
    settings: Mapping[str, object] = field(default_factory=dict)
    lm: dspy.BaseLM | str | None = None
    adapter: dspy.Adapter | None = None
    judge_labels: JudgeLabels | None = None
    check_leaks: bool = True

    def __post_init__(self) -> None:
        for name in ("threads", "repeats", "workers"):
            if (number := getattr(self, name)) is not None and number < 1:
                raise GoldassayError(f"{name} are at least 1, not {number}")
        if self.engine not in ENGINES:
            raise GoldassayError(f"no engine {self.engine!r}; there are {', '.join(ENGINES)}")
        if self.timeout is not None and not self.timeout > 0:
            raise GoldassayError(f"a timeout is a number of seconds above 0, not {self.timeout:g}")
        if not 0 <= self.max_failures <= 1:
            raise GoldassayError(f"max_failures is a share between 0 and 1, not {self.max_failures:g}")

    def changed(self, **changes: Any) -> RunOptions:
        """These options with other values for some fields."""
        return replace(self, **changes)

    def resolved(self) -> RunOptions:
        """These options with a model and an adapter in place of the model's name."""
        if not isinstance(self.lm, str):
            return self
        model = models.resolve(self.lm)
        return self.changed(lm=model, adapter=self.adapter or models.adapter(model))

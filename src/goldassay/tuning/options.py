"""The options of a tuning."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import dspy

from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import Record
from goldassay.running.options import RunOptions


@dataclass(frozen=True)
class TuneOptions:
    """The options of `tune`.

    Args:
        settings: The optimizer's own settings, such as ``{"k": 8}``.
        lm: The language model (or its name) that runs the examples; by default the one that DSPy is configured with.
        adapter: How prompts are written and answers read.
        reflection_lm: The model that writes instructions; by default ``lm``, with room for that.
        budget: What the tuning may use, such as ``"calls=200,minutes=5"``. When it is spent, the result is the best
            program that was evaluated on the whole dev split.
        seed: Of everything that is drawn at random.
        threads: How many examples are in flight at once.
        repeats: How often each example is asked before and after, without a cache. Optimizers ask once.
        folder: Where everything is saved.
        resume: Resume a tuning that was interrupted or stopped in ``folder`` (see `goldassay.tuning.saved`).
        test: Report on the test split.
        race: Of several optimizers: give each a quarter of its share of the budget first, and the rest to those that
            are not shown to be worse.
        progress: Show a bar.
    """

    settings: Record = field(default_factory=dict)
    lm: dspy.BaseLM | str | None = None
    adapter: dspy.Adapter | None = None
    reflection_lm: dspy.BaseLM | str | None = None
    budget: str | None = None
    seed: int = 0
    threads: int = 1
    repeats: int = 1
    folder: Path | None = None
    resume: bool = False
    test: bool = True
    race: bool = False
    progress: bool = True

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise GoldassayError(f"a seed is not negative: {self.seed}")
        if self.resume and self.folder is None:
            raise GoldassayError("to resume a tuning, name its folder")

    def resolved(self) -> TuneOptions:
        """These options with the models and the adapter that names stand for."""
        running = RunOptions(lm=self.lm, adapter=self.adapter).resolved()
        reflection = RunOptions(lm=self.reflection_lm).resolved().lm
        folder = None if self.folder is None else Path(self.folder).absolute()
        return replace(self, lm=running.lm, adapter=running.adapter, reflection_lm=reflection, folder=folder)

"""``goldassay tune --judge``: a judge tuned against people's labels, like any program."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goldassay.cli.judge.asked import Asked, labels_of


def tune(
    asked: Asked,
    *,
    gold: Path,
    optimizer: str = "bootstrap",
    lm: str | None = None,
    reflection_lm: str | None = None,
    budget: str | None = None,
    seed: int = 0,
    options: Sequence[str] = (),
    out: Path | None = None,
    as_json: bool = False,
) -> None:
    """``goldassay tune --judge``: tune a judge against the labels of a file and print what that brought."""
    from goldassay import lm as models
    from goldassay.cli.tune import settings
    from goldassay.judges.people.tuning import tune_judge
    from goldassay.reporting import terminal, tuning
    from goldassay.running import new_folder
    from goldassay.tuning.saved import read_about

    logging.getLogger("dspy").setLevel(logging.ERROR)
    labels = labels_of(gold, asked)
    model = models.resolve(lm)
    folder = out or new_folder(Path("runs"), f"tune-judge-{asked.question}-{optimizer}")
    chosen: dict[str, Any] = {"budget": budget, "seed": seed, "threads": asked.threads}
    chosen |= {"adapter": models.adapter(model), "options": settings(options, (), optimizer)}
    chosen["reflection_lm"] = models.resolve(reflection_lm) if reflection_lm else None
    with terminal.quiet():
        tuned = tune_judge(labels, optimizer, folder=folder, lm=model, **chosen)
    if as_json:
        terminal.answer(read_about(folder / "tuning.json"))
        return
    tuning.tuned(tuned, folder)

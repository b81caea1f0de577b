"""The whole loop on ``gold/heritage``, offline, with the embedded model: what ``goldassay demo`` runs.

Per task: the program as it is (zero-shot), tuned with nearest demonstrations and with bootstrapped ones, chosen on dev,
measured once on test, beside baselines that need no model. What is printed is what happened. Where the embedded model
cannot be had (its extra is not installed, or its file cannot be fetched), the baselines are measured all the same, and
what is missing is said.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy
from dspy import BootstrapFewShot

from goldassay import workspace
from goldassay.exceptions import MissingExtra, ModelError
from goldassay.lm import Model, for_program
from goldassay.measure import Measure
from goldassay.reporting import runs as tables
from goldassay.reporting import terminal
from goldassay.running import Run, evaluate, new_folder
from goldassay.running.guarding import guarded, unguarded
from goldassay.statistics import compare
from goldassay.tuning.nearest import NearestDemos, demonstrations


@dataclass(frozen=True)
class Part:
    """One task of the demo: which value is shown, and how many examples are used where (``bootstrap``: of train)."""

    task: str
    value: str
    dev: int
    test: int
    nearest: int
    pass_mark: float
    bootstrap: int


PARTS = (
    Part("extraction", "strict_f1", dev=10, test=16, nearest=4, pass_mark=0.3, bootstrap=10),
    Part("classification", "accuracy", dev=12, test=28, nearest=4, pass_mark=1.0, bootstrap=24),
)


def run(*, runs: Path = Path("runs"), lm: str | None = None, limit: int | None = None, threads: int = 1) -> None:
    """Run the demo and print its tables."""
    started = time.monotonic()
    logging.getLogger("dspy").setLevel(logging.ERROR)
    dspy.configure_cache(enable_disk_cache=False)  # what is printed as cost is what this run cost
    folder = new_folder(runs, "demo")
    for part in PARTS:
        _part(part, folder / part.task, lm, limit, threads)
    terminal.line(f"All in {time.monotonic() - started:.0f} s. Run folders: {folder}/")


def _part(part: Part, folder: Path, lm: str | None, limit: int | None, threads: int) -> None:
    """Measure, tune, measure again, for one task."""
    from goldassay.gold import load

    data = getattr(load("heritage", task=part.task), part.task)
    train, dev, test = (list(split)[:limit] for split in (data.train, data.dev[: part.dev], data.test[: part.test]))
    metric = workspace.metric(part.task)
    program = workspace.target(part.task).load()
    missing = None
    try:
        model = for_program(program, lm)
    except (MissingExtra, ModelError) as error:
        if lm is not None:
            raise
        model, missing = Model(), error
    terminal.line(
        f"\n[bold]{part.task}[/] on gold/heritage: {len(train)} train, {len(dev)} dev, {len(test)} test examples; "
        + ("no model" if missing else f"model {model.name}, temperature 0")
    )

    def measured(made: Any, examples: Sequence[Any], name: str, with_model: bool = True) -> Run:
        used = model if with_model else Model()
        return evaluate(
            made, examples, metric, lm=used.lm, adapter=used.adapter, threads=threads, folder=folder / name, name=name
        )

    rows: list[tables.Row] = []
    for name, baseline in _baselines(part.task, train).items():
        rows.append(tables.Row(f"{name} (no model)", measured(baseline, test, f"test-{name}", with_model=False)))
    if missing:
        tables.demo_table(part.task, part.value, rows, {})
        terminal.line(f"Only the part without a model ran: {missing}")
        return
    candidates = {"zero-shot": program} | _tuned(part, program, train, metric, model)
    on_dev = {name: measured(made, dev, f"dev-{name}") for name, made in candidates.items()}
    best = max(on_dev, key=lambda name: (on_dev[name].value, name == "zero-shot"))
    before = measured(program, test, "test-zero-shot")
    rows.append(tables.Row("zero-shot", before))
    if best == "zero-shot":
        tables.demo_table(part.task, part.value, rows, {name: run.value for name, run in on_dev.items()})
        terminal.line("No tuned program was better than zero-shot on dev, so none was taken to test.")
        return
    after = measured(candidates[best], test, f"test-{best}")
    rows.append(tables.Row(f"tuned: {best}", after))
    tables.demo_table(part.task, part.value, rows, {name: run.value for name, run in on_dev.items()})
    measure: Measure[Any] = metric.measures[part.value]
    terminal.line(
        _verdict(
            "Tuned against zero-shot", compare(after.tallies(part.value), before.tallies(part.value), measure.zero)
        )
    )
    for row in rows[:-2]:
        found = compare(after.tallies(part.value), row.run.tallies(part.value), measure.zero)
        terminal.line(_verdict(f"Tuned against {row.name}", found))


def _tuned(part: Part, program: Any, train: list[Any], metric: Any, model: Model) -> dict[str, Any]:
    """Programs tuned on train: nearest and bootstrapped demonstrations."""
    shown = demonstrations(program, train)
    makers: dict[str, Callable[[], Any]] = {
        "nearest demos": lambda: NearestDemos(k=part.nearest).compile(program, trainset=shown),
        "bootstrapped demos": lambda: _bootstrapped(part, program, shown, metric),
    }
    out = {}
    for name, make in makers.items():
        with terminal.working(f"{part.task}: tuning with {name}"), dspy.context(lm=model.lm, adapter=model.adapter):
            out[name] = make()
    return out


def _bootstrapped(part: Part, program: Any, train: list[Any], metric: Any) -> Any:
    """Demonstrations that the program itself got right; one must reach the part's pass mark."""
    optimizer = BootstrapFewShot(
        metric=metric, metric_threshold=part.pass_mark, max_bootstrapped_demos=3, max_labeled_demos=3
    )
    with terminal.quiet():
        return unguarded(optimizer.compile(guarded(program), trainset=train[: part.bootstrap]))


def _baselines(task: str, train: list[Any]) -> dict[str, Any]:
    """The baselines of a task, fitted on train where they learn."""
    module = workspace.load(workspace.target(task).file)
    found = dict(getattr(module, "baselines", None) or {"baseline": module.baseline})
    return {name: made.fit(train) if hasattr(made, "fit") else made for name, made in found.items()}


def _verdict(what: str, found: Any) -> str:
    """The paired difference in one honest sentence."""
    shown = (
        "better" if found.interval.low > 0 and found.p <= 0.05
        else "worse" if found.interval.high < 0 and found.p <= 0.05
        else "no difference shown"
    )  # fmt: skip
    return (
        f"{what}: {found.difference:+.3f} [{found.interval.low:+.3f}, {found.interval.high:+.3f}], "
        f"paired on {found.n} examples, p = {found.p:.4f}: [bold]{shown}[/]"
    )

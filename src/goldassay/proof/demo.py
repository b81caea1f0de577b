"""The whole loop on ``gold/heritage``, offline, with the embedded model: what ``goldassay demo`` runs.

Names are extracted. A campaign (`goldassay.tuning.Patches`) chooses edits of the prompt on dev, by cross-fitting, and
what it keeps is looked at once on test, beside the program as it was and beside patterns that need no model. Printed
are an error, the prompt that is really sent for it before and after as a diff, the verdict on every candidate, and the
values with their intervals. What is printed is what happened. Where the embedded model cannot be had (its extra is not
installed, or its file cannot be fetched) the patterns are measured all the same, and what is missing is said.
"""

from __future__ import annotations

import difflib
import logging
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import dspy

from goldassay import workspace
from goldassay.exceptions import MissingExtra, ModelError
from goldassay.lm import Model, for_program
from goldassay.reporting import runs as tables
from goldassay.reporting import terminal
from goldassay.running import Run, evaluate, new_folder
from goldassay.running.example import guarded, unguarded
from goldassay.statistics import compare
from goldassay.tuning import Patches
from goldassay.tuning.demonstrations import nearest_examples, selected_examples
from goldassay.tuning.edits import Edit
from goldassay.tuning.instructions import rules
from goldassay.tuning.saved import rendered
from goldassay.tuning.wrappers import demonstrations

TASK, VALUE, TOKENS, LINES = "extraction", "strict_f1", 90, 16
LEVEL = 0.025  # of .05, for each of the two comparisons on the same test examples


def run(*, runs: Path = Path("runs"), lm: str | None = None, limit: int | None = None, threads: int = 1) -> None:
    """Run the demo and print what happened; ``limit`` bounds dev and test, for a quick look."""
    from goldassay.gold import load

    started = time.monotonic(), time.process_time()
    logging.getLogger("dspy").setLevel(logging.ERROR)
    dspy.configure_cache(enable_disk_cache=False)  # what is printed as cost is what this run cost
    folder = new_folder(runs, "demo")
    data = getattr(load("heritage", task=TASK), TASK)
    train, dev, test = list(data.train), list(data.dev)[:limit], list(data.test)[:limit]
    metric, target = workspace.metric(TASK), workspace.target(TASK)
    program, module = target.tunable(), workspace.load(target.file)
    patterns = module.baseline.fit(train)
    model, missing = _model(program, lm)

    def measured(made: Any, name: str, used: Model) -> Run:
        options: dict[str, Any] = {"lm": used.lm, "adapter": used.adapter, "threads": threads}
        return evaluate(made, test, metric, folder=folder / name.replace(" ", "-"), name=name, **options)

    terminal.line(
        f"[bold]{TASK}[/] on gold/heritage: {len(train)} train examples may be shown, {len(dev)} of dev choose, "
        f"{len(test)} of test are looked at once; " + ("no model" if missing else f"{model.name}, temperature 0")
    )
    rows = [tables.NamedRun("patterns (no model)", measured(patterns, "patterns", Model()))]
    if missing:
        tables.demo_table(TASK, VALUE, rows, {})
        terminal.line(f"Only the part without a model ran: {missing}")
        return
    shown = demonstrations(program, train)
    with dspy.context(lm=model.lm, adapter=model.adapter):
        campaign = _campaign(metric, test, threads)
        with terminal.working("patches are made from the errors on dev and tested"), terminal.quiet():
            tuned = unguarded(campaign.compile(guarded(program), trainset=shown, valset=dev))
        _told(campaign, program, tuned, dev, model.adapter)
    rows.append(tables.NamedRun("the model as it is", measured(program, "as it is", model)))
    rows.append(tables.NamedRun("tuned", measured(tuned, "tuned", model)))
    both = module.Together(tuned, patterns)  # the model's answers are known by now: nothing is asked again
    rows.append(tables.NamedRun("patterns + tuned", measured(both, "patterns and tuned", model)))
    terminal.line("")
    tables.demo_table(TASK, VALUE, rows, {})
    _compared(rows, metric)
    wall, cpu = time.monotonic() - started[0], time.process_time() - started[1]
    terminal.line(f"All in {wall:.0f} s, {cpu:.0f} s of processor time. Run folders: {folder}/")


def _model(program: dspy.Module, lm: str | None) -> tuple[Model, Exception | None]:
    """The model, or none and why: only where none was asked for by name."""
    try:
        found = for_program(program, lm, () if lm else (f"max_tokens={TOKENS}",))
    except (MissingExtra, ModelError) as error:
        if lm is not None:
            raise
        return Model(), error
    return found, None


def _campaign(metric: Any, test: Sequence[Any], threads: int) -> Patches:
    """Bundles of every campaign, in their order, as many as fit into the demo's minutes; dev alone is measured."""
    worded = partial(rules, patterns=1, each=1)
    bundles: list[list[Edit]] = [[partial(nearest_examples, k=2)], [selected_examples], [worded]]
    return Patches(metric, bundles=bundles, most=1, threads=threads, held_out={"test": test})


def _told(campaign: Patches, before: Any, after: Any, dev: Sequence[Any], adapter: dspy.Adapter | None) -> None:
    """The costliest errors, one of them, what is sent for its text before and after, and all verdicts."""
    ledger = campaign.ledger
    first = ledger.patterns[0] if ledger.patterns else []
    terminal.line("\n[bold]The errors[/] that cost most:")
    for pattern in first[:3]:
        terminal.plain(f"  {pattern.name}: {pattern.count} times, costs {pattern.loss:.3f}")
    if first:
        error, name = first[0].errors[0], first[0].documents[0]
        terminal.plain(f"One of them, in {name}: {error.message}")
        example = next(one for one in dev if str(one["id"]) == name)
        asked = dict(example.inputs())
        old, new = (rendered(made, adapter, asked).splitlines() for made in (before, after))
        lines = list(difflib.unified_diff(old, new, "the prompt as it was", "patched", lineterm="", n=1))
        if lines:
            terminal.line("\n[bold]The patch[/], as the prompt for that text:")
        for line in lines[:LINES]:
            terminal.plain(f"  {line}")
        if len(lines) > LINES:
            terminal.plain(f"  … {len(lines) - LINES} lines more")
    terminal.line("\n[bold]The verdicts[/] on dev, cross-fitted, in a fixed order:")
    for entry in ledger.entries:
        effect = entry.get("train+dev")
        how = "" if effect is None else (
            f"{effect['before']:.3f} → {effect['after']:.3f}, {effect['difference']:+.3f} "
            f"[{effect['low']:+.3f}, {effect['high']:+.3f}], n {effect['n']}: "
        )  # fmt: skip
        terminal.plain(f"  {entry['candidate']}: {how}{entry['status']} ({entry['reason']})")
    terminal.plain(f"  {ledger.verdict.sentence}")


def _compared(rows: Sequence[tables.NamedRun], metric: Any) -> None:
    """The two differences that were asked about before test was looked at, at .025 each, with 97.5 % intervals."""
    zero = metric.measures[VALUE].zero
    for one, other in ((rows[2], rows[1]), (rows[3], rows[0])):
        found = compare(one.run.tallies(VALUE), other.run.tallies(VALUE), zero, level=1 - LEVEL)
        verdict = "not shown to differ"
        if found.p <= LEVEL:
            verdict = "better: proven" if found.difference > 0 else "worse"
        terminal.line(
            f"{one.name} against {other.name}: {found.difference:+.3f} "
            f"[{found.interval.low:+.3f}, {found.interval.high:+.3f}], n {found.n}, p {found.p:.4f}: [bold]{verdict}[/]"
        )

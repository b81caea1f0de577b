"""The whole loop on ``gold/heritage``, offline, with the embedded model: ``goldassay demo``.

The task is to extract names. `goldassay.tuning.Patches` tests edits of the prompt on dev, by cross-fitting; what it
keeps is measured once on test, next to the program as it was and patterns that need no model. Printed are an
error, the prompt sent for it before and after as a diff, the verdict on every candidate, and the values with their
intervals. Without the model (``--no-model``, its extra is not installed, or its file cannot be fetched) the program is
one that obeys rules of its prompt without a model: the loop is the same, and takes seconds.
"""

from __future__ import annotations

import difflib
import logging
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import dspy

from goldassay import workspace
from goldassay._support import options as use
from goldassay._support.exceptions import MissingExtra, ModelError
from goldassay.gold import load
from goldassay.models.lm import Model, for_program
from goldassay.reporting import terminal
from goldassay.results.view import p_value
from goldassay.running import new_folder
from goldassay.running.evaluate import evaluate
from goldassay.running.guard import guarded, unguarded
from goldassay.running.summary import run_value, tokens
from goldassay.statistics import compare
from goldassay.tuning import Patches
from goldassay.tuning.edits import Diagnosis, Edit, Slots, covering, nearest_examples
from goldassay.tuning.saved import rendered
from goldassay.tuning.wrappers import demonstrations

TASK = "extraction"
VALUE = "strict_f1"
# few examples and short answers: the loop takes two to three minutes of processor time
DEV = 10
TEST = 14
ANSWER_TOKENS = 48
NEXT = """
With data of your own (a table whose column LABEL is to be predicted):
  goldassay init mine --task labels --from FILE.csv --outputs LABEL
  cd mine && goldassay eval labels --lm MODEL
  goldassay tune labels --lm MODEL""".splitlines()


def demo(
    no_model: Annotated[bool, use.flag("The same loop in seconds, with a program that needs no model.")] = False,
) -> None:
    """The whole loop, offline, in two to three minutes: measure, tune, measure again."""
    run(no_model=no_model)


def run(*, runs: Path = Path("runs"), limit: int | None = None, no_model: bool = False) -> None:
    """Run the demo and print its results.

    Args:
        runs: Where its run folder goes.
        limit: Use only so many examples of dev and test.
        no_model: Use the program that obeys rules of its prompt without a model.
    """
    started = time.monotonic(), time.process_time()
    logging.getLogger("dspy").setLevel(logging.ERROR)
    dspy.configure_cache(enable_disk_cache=False)  # so that the printed cost is the cost of this run
    folder = new_folder(runs, "demo")
    data = load("heritage", task=TASK).task(TASK)
    train = list(data.train)
    metric = workspace.metric(TASK)
    target = workspace.target(TASK)
    program = target.tunable()
    module = workspace.load(target.file)
    patterns = module.baseline.fit(train)
    most = 1  # none of train
    model = Model()
    if not no_model:
        try:
            model = for_program(program, f",max_tokens={ANSWER_TOKENS}")
        except (MissingExtra, ModelError) as error:
            terminal.warn(f"without a model: {error}")
    if model.lm is None:
        program = module.prompted
        most = 120
        dev = list(data.dev)[:limit]
        test = list(data.test)[:limit]
        bundles: list[list[Edit]] = [[_rules], [covering]]
    else:
        dev = list(data.dev)[:: len(data.dev) // (limit or DEV)][: limit or DEV]  # of every language
        test = list(data.test)[:: len(data.test) // (limit or TEST)][: limit or TEST]
        bundles = [[partial(nearest_examples, k=2)]]
    terminal.line(
        f"{TASK} on gold/heritage: {len(train)} train examples for demonstrations, {len(dev)} of dev choose, "
        f"{len(test)} of test are measured once; " + (f"{model.name}, temperature 0" if model.name else "no model")
    )
    campaign = Patches(metric, bundles=bundles, most=most, held_out={"test": test})
    with dspy.context(lm=model.lm, adapter=model.adapter):
        with terminal.working("testing patches of the prompt on dev"), terminal.quiet():
            trainset = demonstrations(program, train)
            tuned = unguarded(campaign.compile(guarded(program), trainset=trainset, valset=dev))
        ledger = campaign.ledger
        costliest = ledger.patterns[0] if ledger.patterns else []
        terminal.line("\nThe costliest errors:", style="bold")
        for pattern in costliest[:3]:
            terminal.echo(f"  {pattern.name}: {pattern.count} times, loss {pattern.loss:.3f}")
        if costliest:
            mistake = costliest[0].errors[0]
            name = costliest[0].documents[0]
            terminal.echo(f"One of them, in {name}: {mistake.message}")
            inputs = dict(next(example for example in dev if str(example["id"]) == name).inputs())
            old = rendered(program, model.adapter, inputs).splitlines()
            new = rendered(tuned, model.adapter, inputs).splitlines()
            lines = list(difflib.unified_diff(old, new, "zero-shot", "patched", lineterm="", n=1))
            terminal.line("\nThe patch, as the prompt for that text:", style="bold")
            for line in lines[:16]:
                terminal.echo(f"  {line}")
            terminal.echo(f"  {len(lines)} lines in all")
        terminal.line("\nThe verdicts on dev, cross-fitted, in a fixed order:", style="bold")
        for entry in ledger.entries:
            numbers = ""
            if effect := entry.get("train+dev"):
                numbers = "{before:.3f} → {after:.3f}, {difference:+z.3f}, n {n}: ".format(**effect)
            terminal.echo(f"  {entry['candidate']}: {numbers}{entry['status']} ({entry['reason']})")
        terminal.echo(f"  {ledger.verdict.sentence}")
    # the answers of the tuned program are in DSPy's cache when it is measured together with the patterns
    together = module.Together(tuned, patterns)
    candidates = {"patterns (no model)": patterns, "zero-shot": program, "tuned": tuned, "patterns + tuned": together}
    terminal.line("")
    options: dict[str, Any] = {"lm": model.lm, "adapter": model.adapter}
    rows = []
    for name, candidate in candidates.items():
        run_folder = folder / name.replace(" ", "-")
        rows.append(evaluate(candidate, test, metric, name=name, folder=run_folder, **options))
    costs = [[row.cost.get("calls", 0), tokens(row.cost), f"{row.cost.get('seconds', 0):.1f}"] for row in rows]
    cells = [[row.name, run_value(row, VALUE), *cost] for row, cost in zip(rows, costs, strict=True)]
    terminal.print_table(f"{TASK} on test", ["program", f"{VALUE} [95 %]", "calls", "tokens", "seconds"], cells)
    # two differences were planned before test was measured: at .025 of .05 each, with 97.5 % intervals
    level = 0.025
    for row, other in ((rows[2], rows[1]), (rows[3], rows[0])):
        tallies = row.tallies(VALUE), other.tallies(VALUE)
        effect = compare(*tallies, metric.measures[VALUE].zero, clusters=row.clusters, level=1 - level)
        verdict = "no difference shown"
        if effect.p <= level:
            verdict = "better: proven" if effect.difference > 0 else "worse"
        terminal.line(
            f"{row.name} against {other.name}: {effect.difference:+z.3f} [{effect.interval.low:+z.3f}, "
            f"{effect.interval.high:+z.3f}], {effect.n} {effect.unit}, p {p_value(effect.p)}: {verdict}"
        )
    wall = time.monotonic() - started[0]
    cpu = time.process_time() - started[1]
    terminal.line(f"All in {wall:.0f} s, {cpu:.0f} s of processor time. Run folders: {folder}/")
    terminal.echo(*NEXT)


def _rules(diagnosis: Diagnosis) -> Slots:
    """Rules as somebody writes them who has read what the program for English misses in other languages."""
    texts = {"places": "TOP after te, uit, bei, aus, am, à, près de.", "archives": "GRP.HER.ARC also archief, archiv."}
    texts["libraries"] = "GRP.HER.LIB also bibliotheek, bibliothek, médiathèque."
    return {name: [diagnosis.draft(action="add_instruction", text=text)] for name, text in texts.items()}

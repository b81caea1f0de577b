"""Tuning on the terminal: what it gained, error patterns, and patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from goldassay.reporting.summary import noise_lines
from goldassay.reporting.terminal import (
    Cell,
    bounds,
    line,
    number,
    p_value,
    plain,
    print_table,
    with_interval,
)

if TYPE_CHECKING:  # a terminal that shows a run loads nothing of tuning
    from goldassay.tuning.patches import Effect, Patch
    from goldassay.tuning.patterns import Pattern
    from goldassay.tuning.saved import Tuned
    from goldassay.tuning.verdict import Audit


def tuned(result: Tuned, folder: object) -> None:
    """The values before and after on dev and on test, the patches, the verdict, the cost and the folder."""
    trials = [(split, trial) for split, trial in (("dev", result.dev), ("test", result.test)) if trial is not None]
    rows = [
        [
            split,
            name,
            with_interval(trial.before, name),
            number(trial.after.values[name]) if trial.chosen else with_interval(trial.after, name),
        ]
        for split, trial in trials
        for name in trial.after.values
    ]
    print_table(f"tuned with {result.optimizer}", ["split", "value", "before [95 %]", "after [95 %]"], rows, left=2)
    line("The metric before and after, and the paired difference [95 %]:")
    for split, trial in trials:
        test = trial.difference
        size = f"n {test.n}" if test.unit == "examples" else f"{test.n} {test.unit}"
        detectable = f", detectable {test.smallest_detectable:.3f}" if test.smallest_detectable else ""
        sure = f"{bounds(test.interval, '+')}, p {p_value(test.p)}, {size}{detectable}"
        values = f"{number(trial.before.value)} → {number(trial.after.value)}, {test.difference:+.4f}"
        plain(f"{split:<5}{values}{f', {size}; it also chose, so no interval' if trial.chosen else sure}")
        for text in noise_lines(trial.after):
            line(f"{split}, after: {text}")
    if result.ledger.patches:
        patches(result.ledger.patches)
        line(result.ledger.verdict.sentence)
    notes = [f"Note: {result.note}"] if result.note else []
    notes += [*result.beside, *([f"The gain is {result.verdict}."] if result.test is not None else [])]
    for text in [*notes, *([f"Stopped early: {result.stopped}."] if result.stopped else [])]:
        line(text)
    cost = result.cost
    cached = f" and {cost['cached']} cached answers" if cost.get("cached") else ""
    plain(f"{cost['calls']} calls{cached}, {cost['tokens']} tokens, {cost['seconds']:.0f} s to tune. Folder: {folder}")


def audit(result: Audit) -> None:
    """The verdict of an audit; of fresh runs what an example costs before and after, and the diff of the prompts."""
    first, *rest = result.lines()
    line(first)
    for text in rest:
        line(f"- {text}")
    costs = result.details.get("costs")
    if costs:
        names = ["calls", "cached", "tokens", "usd", "seconds"]
        values = [[f"{costs[side][name]:.4g}" for name in names] for side in ("before", "after")]
        print_table(
            "an example costs", ["", "before", "after"], [list(row) for row in zip(names, *values, strict=True)]
        )
        _diff(str(result.details["diff"]).splitlines() or ["The prompts are the same."])


def patterns(patterns: Sequence[Pattern], most: int = 8) -> None:
    """Error patterns, the most costly first: examples, how many errors, in how many examples, the loss."""
    rows = []
    for pattern in patterns:
        types = " → ".join(dict.fromkeys(part for part in (pattern.gold_type, pattern.pred_type) if part))
        name = Cell(f"{pattern.kind} {types}", detail="\n".join(f"  {text}" for text in _details(pattern)))
        rows.append([name, pattern.count, len(pattern.documents), f"{pattern.loss:.4f}"])
    if rows:
        print_table("error patterns", ["pattern, with its forms", "errors", "examples", "loss"], rows, most=most)
    else:
        plain("No errors.")


def _details(pattern: Pattern) -> list[str]:
    """A pattern's surface forms and place, its languages, and the strata that hold at least four in five of it."""
    forms = "; ".join(form for form in dict.fromkeys(pattern.surfaces[:6]) if form != pattern.gold_type)
    details = [text for text in (forms, pattern.place) if text]
    n = len(pattern.documents)
    for name, counts in pattern.strata.items():
        shares = counts if name == "language" else {k: c for k, c in counts.items() if c >= 0.8 * n and n > 2}
        if shares:
            details.append(f"{name} {', '.join(f'{key} {count}' for key, count in list(shares.items())[:4])}")
    return details[:4]


def patches(patches: Sequence[Patch]) -> None:
    """Patches with what they change, the measured effect and the status."""
    rows = []
    for patch in patches:
        effect = patch.effects[-1] if patch.effects else None
        p = p_value(effect.p) if effect and not effect.chosen else ""
        reason = patch.reason if "program" in patch.reason else ""
        cells = [Cell(patch.id, detail=patch.edit[:160]), Cell(patch.status, detail=reason)]
        rows.append([*cells, _effect(effect), p])
    if rows:
        print_table("patches", ["patch", "status", "effect [95 %]", "p"], rows, left=2)
    else:
        plain("No patches yet. To make some:  goldassay patch propose TASK --run RUN")


def _effect(effect: Effect | None) -> str:
    if effect is None:
        return "–"
    on = f"on {effect.split}, {effect.size}{', which chose it' * effect.chosen}"
    return Cell(f"{effect.difference:+.3f}{bounds(effect, '+')}", detail=on)


def patch(patch: Patch, diff: Sequence[str]) -> None:
    """One patch: the reason, the measured effects, and the diff of the prompt."""
    line(f"{patch.id} {patch.status} {patch.reason}", "bold")
    line(f"why: {patch.rationale}")
    for effect in patch.effects:
        values = f"{effect.before:.4f} → {effect.after:.4f}, {effect.difference:+.4f}{bounds(effect, '+')}"
        sure = "which also chose it, so no interval" if effect.chosen else f"p {effect.p:.4f}"
        line(f"on {effect.split}: {values}, {sure}, {effect.size}, {effect.calls} calls")
    _diff(diff)


def _diff(rows: Sequence[str]) -> None:
    for row in rows:
        line(row, {"+": "green", "-": "red"}.get(row[:1]))

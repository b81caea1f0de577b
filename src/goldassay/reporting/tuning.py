"""Tuning for the terminal: what it brought, error patterns, and patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape

from goldassay.reporting.terminal import console, number, p_value, under_title, with_interval

if TYPE_CHECKING:  # a terminal that shows a run loads nothing of tuning
    from goldassay.statistics import Comparison
    from goldassay.tuning.patches import Effect, Patch
    from goldassay.tuning.patterns import Pattern
    from goldassay.tuning.saved import Tuned


def tuned(done: Tuned, folder: object) -> None:
    """What tuning brought on dev and on test, what it cost, where it is."""
    table = under_title(f"tuned with {done.optimizer}")
    table.add_column("split")
    table.add_column("value", overflow="fold")
    for head in ("before [95 %]", "after [95 %]"):
        table.add_column(head, justify="right", no_wrap=True)
    trials = [(split, trial) for split, trial in (("dev", done.dev), ("test", done.test)) if trial is not None]
    for split, trial in trials:
        for place, name in enumerate(trial.after.values):
            shown = with_interval(trial.before, name), with_interval(trial.after, name)
            table.add_row("" if place else split, name, *shown, end_section=place == len(trial.after.values) - 1)
    out = console()
    out.print(table)
    out.print("The metric, before and after, and the paired difference [95 %]:")
    for split, trial in trials:
        f = trial.difference
        out.print(
            f"{split:<5}{number(trial.before.value)} → {number(trial.after.value)}, {f.difference:+.4f} "
            f"[{f.interval.low:+.3f}, {f.interval.high:+.3f}], p {p_value(f.p)}, n {f.n}{detectable(f)}",
            markup=False,
        )
    if done.ledger.patches:
        patches(done.ledger.patches)
        out.print(done.ledger.verdict.sentence, markup=False)
    if done.note:
        out.print(f"Note: {done.note}", markup=False)
    if done.test is not None:
        out.print(f"The gain is {done.verdict}.")
    if done.stopped:
        out.print(f"Stopped early: {done.stopped}.")
    cost = done.cost
    cached = f" and {cost['cached']} cached answers" if cost.get("cached") else ""
    spent = f"{cost['calls']} calls{cached}, {cost['tokens']} tokens, {cost['seconds']:.0f} s to tune"
    out.print(f"{spent}. Folder: {folder}", soft_wrap=True)


def detectable(found: Comparison) -> str:
    """The smallest difference that so many examples show at 80 % power; nothing where the pairs do not vary."""
    return f", detectable {found.smallest_detectable:.3f}" if found.smallest_detectable else ""


def patterns(found: Sequence[Pattern]) -> None:
    """Error patterns, most costly first: such as what, how many errors, in how many examples, at what loss."""
    table = under_title("error patterns")
    table.add_column(
        "pattern, with its forms", no_wrap=True, overflow="ellipsis", max_width=max(46, console().width - 34)
    )
    for head in ("errors", "examples", "loss"):
        table.add_column(head, justify="right", no_wrap=True)
    for one in found:
        types = " → ".join(part for part in (one.gold_type, one.pred_type) if part)
        forms = "; ".join(form for form in dict.fromkeys(one.surfaces[:6]) if form != one.gold_type)
        table.add_row(
            f"{escape(one.kind)} {escape(types)}[dim]{escape(_where(one, forms))}[/]",
            str(one.count),
            str(len(one.documents)),
            f"{one.loss:.4f}",
        )
    console().print(table if found else "No errors.")


def _where(pattern: Pattern, forms: str) -> str:
    """A pattern's surface forms and place, its languages, and the strata that hold at least four in five of it."""
    lines = [line for line in (forms, pattern.place) if line]
    for name, counts in pattern.strata.items():
        many = {key: count for key, count in counts.items() if count >= 0.8 * len(pattern.documents)}
        shown = counts if name == "language" else many if len(pattern.documents) > 2 else {}
        if shown:
            lines.append(f"{name} {', '.join(f'{key} {count}' for key, count in list(shown.items())[:4])}")
    return "".join(f"\n  {line}" for line in lines[:4])


def patches(found: Sequence[Patch]) -> None:
    """Patches with what they change, what they measured and the verdict."""
    table = under_title("patches")
    effects = [patch.effects[-1] if patch.effects else None for patch in found]
    shown = [_effect(one) for one in effects]
    others = max([len("status"), *(len(patch.status) for patch in found)]), max(map(_width, shown), default=0), 5
    room = console().width - sum(others) - 13  # the lines of the table
    table.add_column("patch", no_wrap=True, overflow="ellipsis", max_width=max(28, room))
    for head in ("status", "effect [95 %]", "p"):
        table.add_column(head, no_wrap=True)
    for patch, effect, said in zip(found, effects, shown, strict=True):
        edit = escape(patch.edit[:160])
        table.add_row(f"{patch.id}\n[dim]{edit}[/]", patch.status, said, p_value(effect.p) if effect else "")
    console().print(table if found else "No patches yet. To make some:  goldassay patch propose TASK --run RUN")


def _effect(one: Effect | None) -> str:
    if one is None:
        return "–"
    ends = f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"
    return f"{ends}\n[dim]on {escape(one.split)}, n {one.n}[/]"


def _width(text: str) -> int:
    return max(len("effect [95 %]"), *map(len, text.replace("[dim]", "").replace("[/]", "").splitlines()))


def patch(one: Patch, diff: Sequence[str]) -> None:
    """One patch: why, what it measured, and the prompt's diff."""
    out = console()
    out.print(f"[bold]{one.id}[/] {one.status} {escape(one.reason)}", markup=True)
    out.print(f"why: {one.rationale}", markup=False)
    for effect in one.effects:
        out.print(
            f"on {effect.split}: {effect.before:.4f} → {effect.after:.4f}, {effect.difference:+.4f} "
            f"[{effect.low:+.3f}, {effect.high:+.3f}], p {effect.p:.4f}, n {effect.n}, {effect.calls} calls",
            markup=False,
        )
    for row in diff:
        out.print(row, markup=False, style="green" if row.startswith("+") else "red" if row.startswith("-") else None)

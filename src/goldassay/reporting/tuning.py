"""A tuning shown: on the terminal what it brought, error patterns and patches; in a report what it tried, as a tree.

The root of the tree is the program as it was. A bundle of edits is a branch, in the order in which bundles were tested;
under it stand the tests that followed from it: the bundle without one of its edits, or an edit alone. The ledger of the
tuning says all of this; a tuning without one (of another optimizer) has no tree.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from goldassay import jsonl
from goldassay.reporting.pages import charts
from goldassay.reporting.terminal import console, number, p_value, under_title, with_interval

if TYPE_CHECKING:  # what shows a run loads nothing of tuning
    from goldassay.statistics import Comparison
    from goldassay.tuning.patches import Effect, Patch
    from goldassay.tuning.patterns import Pattern
    from goldassay.tuning.tuner import Tuned


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
        out.print(done.ledger.verdict.words, markup=False)
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


SHOWN = 2000  # characters of an edit
GOOD = ("kept", "proven", "applied", "better", "needed")
WORDS = {"needed": "stays", "dropped": "left out", "proposed": "not tested"}


@dataclass
class Node:
    """A candidate that was tested: its edits, how it ended and why, its effect, and what was tested because of it."""

    name: str
    status: str
    reason: str
    effect: Mapping[str, Any] | None
    edits: Sequence[Mapping[str, Any]] = ()
    split: str = ""
    children: list[Node] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether it speaks for what was tested: it is better, or the bundle needs it."""
        return self.status in GOOD

    @property
    def word(self) -> str:
        """How it ended, for a person."""
        return WORDS.get(self.status, self.status)


@dataclass(frozen=True)
class Tuning:
    """A tuning on disk: what ``tuning.json`` says, its patches, the diff of the prompt."""

    about: Mapping[str, Any]
    patches: Sequence[Mapping[str, Any]] = ()
    ledger: Sequence[Mapping[str, Any]] = ()
    diff: str = ""
    folder: Path | None = None

    @classmethod
    def load(cls, folder: Path) -> Tuning:
        """A tuning from its folder."""
        from goldassay.tuning.patches import read
        from goldassay.tuning.saved import read_about

        about = read_about(folder / "tuning.json")
        files = sorted((folder / "patches").glob("*.yaml"))
        found = [(one, {"id": one.id, "edit": one.edit, **one.model_dump()}) for one in map(read, files)]
        diff = folder / "prompt.diff"
        text = diff.read_text(encoding="utf-8") if diff.is_file() else ""
        order = {entry["id"]: place for place, entry in enumerate(about.get("patches", ()))}
        shown = sorted((state for _, state in found), key=lambda state: order.get(state["id"], len(order)))
        ledger = folder / "ledger.jsonl"
        return cls(about, shown, list(jsonl.rows(ledger)) if ledger.is_file() else (), text, folder)

    @property
    def runs(self) -> list[Path]:
        """The folders of its runs before and after, on test where there is one, else on dev."""
        part = self.about.get("test") or self.about.get("dev") or {}
        places = [self.folder / name for name in part.get("runs", ())] if self.folder else []
        return [place for place in places if (place / "run.json").is_file()]

    @property
    def tree(self) -> list[Node]:
        """What was tested, a branch a bundle; edits that no test names stand at the end."""
        known = {str(one["id"]): one for one in self.patches}
        out: list[Node] = []
        for entry in self.ledger:
            split, effect = next(((key, one) for key, one in entry.items() if isinstance(one, Mapping)), ("", None))
            edits = [_edit(known.get(name, {"id": name, "edit": text})) for name, text in _named(entry)]
            node = Node(str(entry["candidate"]), str(entry["status"]), str(entry["reason"]), effect, edits, split)
            follows = node.name.startswith("without ") or node.name.endswith(" alone")
            (out[-1].children if follows and out else out).append(node)
        tested = {name for entry in self.ledger for name in entry["patches"]}
        for patch in self.patches:
            if str(patch["id"]) not in tested:
                effect = (patch.get("effects") or [None])[-1]
                edit = _edit(patch)
                split = effect["split"] if effect else ""
                out.append(Node(edit["id"], str(patch["status"]), str(patch["reason"]), effect, [edit], split))
        return out


def _named(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(str(name), str(text)) for name, text in zip(entry["patches"], entry["edits"], strict=True)]


def _edit(patch: Mapping[str, Any]) -> dict[str, Any]:
    """An edit as lines that go and lines that come, with why it was proposed and how it ended."""
    example = patch.get("example")
    added = patch.get("text") or (json.dumps(example, ensure_ascii=False, indent=1) if example else "")
    if patch.get("action") == "show_nearest" or not (added or patch.get("old")):
        added = str(patch.get("edit", ""))  # a show of the nearest holds the whole of train
    return {
        "id": str(patch["id"]),
        "gone": str(patch.get("old") or "")[:SHOWN].splitlines(),
        "come": str(added)[:SHOWN].splitlines(),
        "status": str(patch.get("status", "")),
        "reason": str(patch.get("reason", "")),
        "why": str(patch.get("rationale", "")),
        "examples": list(patch.get("examples") or ()),
        "predictor": str(patch.get("predictor", "")),
    }


def effects(tree: Sequence[Node]) -> charts.Chart | None:
    """Each test's effect with its interval, in the order of the tree."""
    some = [node for one in tree for node in (one, *one.children) if node.effect]
    if not some:
        return None
    rows = [[float((node.effect or {})[key]) for key in ("difference", "low", "high")] for node in some]
    figure = charts.forest([_short(node.name) for node in some], ["effect"], [rows])
    figure["label"] = "Effects of what was tested, with their intervals"
    low, high = min(0.0, *(row[1] for row in rows)), max(0.0, *(row[2] for row in rows))
    room = 0.05 * (high - low) or 0.1  # so that a mark at 0 is whole
    title = "difference of the metric, with its interval"
    figure["layout"]["xaxis"] = {"title": title, "range": [low - room, high + room], "zeroline": True}
    return figure


def _short(text: str, most: int = 34) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"

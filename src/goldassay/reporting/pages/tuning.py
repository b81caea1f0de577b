"""A tuning in a report: what it tested as a tree, with effects, what it kept and why.

The root is the program before tuning. Each bundle of edits is a branch, in the order of testing. Under it stand the
tests that followed: the bundle without one of its edits, or one edit alone. This comes from the tuning's ledger; a
tuning without one (by a DSPy optimizer) has no tree.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay import jsonl
from goldassay.reporting.pages import charts
from goldassay.reporting.terminal import signed

LONGEST = 2000  # characters of an edit
GOOD = ("kept", "proven", "applied", "better", "needed")
WORDS = {"needed": "stays", "dropped": "left out", "proposed": "not tested"}


@dataclass
class Node:
    """A tested candidate: its edits, the outcome and the reason, the effect, and the tests that followed from it."""

    name: str
    status: str
    reason: str
    effect: Mapping[str, Any] | None
    edits: Sequence[Mapping[str, Any]] = ()
    split: str = ""
    children: list[Node] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether the outcome favours what was tested: it is better, or the bundle needs it."""
        return self.status in GOOD

    @property
    def word(self) -> str:
        """The outcome in plain words."""
        return WORDS.get(self.status, self.status)


@dataclass(frozen=True)
class Tuning:
    """A tuning folder: ``tuning.json``, its patches, its ledger, and the diff of the prompt."""

    about: Mapping[str, Any]
    patches: Sequence[Mapping[str, Any]] = ()
    ledger: Sequence[Mapping[str, Any]] = ()
    diff: str = ""
    folder: Path | None = None

    @classmethod
    def load(cls, folder: Path) -> Tuning:
        """Reads a tuning from its folder."""
        from goldassay.tuning.patches import read
        from goldassay.tuning.states import read_about

        about = read_about(folder / "tuning.json")
        order = {entry["id"]: place for place, entry in enumerate(about.get("patches", ()))}
        files = [read(file) for file in sorted((folder / "patches").glob("*.yaml"))]
        patches = [{"id": patch.id, "edit": patch.edit, **patch.model_dump()} for patch in files]
        patches.sort(key=lambda patch: order.get(patch["id"], len(order)))
        diff, ledger = folder / "prompt.diff", folder / "ledger.jsonl"
        entries = list(jsonl.rows(ledger)) if ledger.is_file() else ()
        return cls(about, patches, entries, diff.read_text(encoding="utf-8") if diff.is_file() else "", folder)

    @property
    def sentence(self) -> str:
        """What the tuning came to, with what it took."""
        split = "test" if self.about.get("test") else "dev"
        part, cost = self.about.get(split) or {}, self.about.get("cost") or {}
        spent = f"{cost.get('calls', 0):,} calls, {cost.get('seconds', 0) or 0:.0f} s"
        start = f"Tuning with {self.about.get('optimizer') or 'an optimizer'}"
        if not part:
            return f"{start} changed nothing ({spent})."
        gap = part["difference"]
        ends = f"[{signed(gap['interval']['low'])}, {signed(gap['interval']['high'])}]"
        verdict = f": {self.about['verdict']}" if self.about.get("verdict") else ""
        return f"{start}: {signed(gap['difference'])} {ends} on {gap['n']} {split} examples{verdict} ({spent})."

    @property
    def runs(self) -> list[Path]:
        """The folders of its runs before and after, on test if there is one, else on dev."""
        part = self.about.get("test") or self.about.get("dev") or {}
        places = [self.folder / name for name in part.get("runs", ())] if self.folder else []
        return [place for place in places if (place / "run.json").is_file()]

    @property
    def tree(self) -> list[Node]:
        """What was tested, a branch a bundle; edits that no test names stand at the end."""
        patches = {str(patch["id"]): patch for patch in self.patches}
        branches: list[Node] = []
        for entry in self.ledger:
            split, effect = next(((key, part) for key, part in entry.items() if isinstance(part, Mapping)), ("", None))
            names = zip(map(str, entry["patches"]), entry["edits"], strict=True)
            edits = [_edit(patches.get(name, {"id": name, "edit": str(text)})) for name, text in names]
            node = Node(str(entry["candidate"]), str(entry["status"]), str(entry["reason"]), effect, edits, split)
            follows = node.name.startswith("without ") or node.name.endswith(" alone")
            (branches[-1].children if follows and branches else branches).append(node)
        tested = {name for entry in self.ledger for name in entry["patches"]}
        for name, patch in patches.items():
            if name not in tested:
                effect = (patch.get("effects") or [None])[-1]
                split = effect["split"] if effect else ""
                branches.append(Node(name, str(patch["status"]), str(patch["reason"]), effect, [_edit(patch)], split))
        return branches


def _edit(patch: Mapping[str, Any]) -> dict[str, Any]:
    """An edit as removed and added lines, with why it was proposed and how it ended."""
    example = patch.get("example")
    rule = False  # a choice among all of train is shown as a rule, not as its examples
    if patch.get("action") == "show_nearest" and example:
        rule = len(example.get("examples", ())) > example.get("k", 0)
        example = example.get("examples")
    added = patch.get("text") or (json.dumps(example, ensure_ascii=False, indent=1) if example else "")
    if rule or not (added or patch.get("old")):
        added = patch.get("edit", "")
    texts = {key: str(patch.get(key, "")) for key in ("id", "status", "reason", "predictor")}
    return {
        **texts,
        "gone": str(patch.get("old") or "")[:LONGEST].splitlines(),
        "come": str(added)[:LONGEST].splitlines(),
        "why": str(patch.get("rationale", "")),
        "examples": list(patch.get("examples") or ()),
    }


def effects(tree: Sequence[Node]) -> charts.Chart | None:
    """Each test's effect with its interval, in the order of the tree; None without any."""
    nodes = [node for branch in tree for node in (branch, *branch.children) if node.effect]
    if not nodes:
        return None
    measured = [node.effect or {} for node in nodes]
    values = [float(effect["difference"]) for effect in measured]
    ends = [[effect.get("low"), effect.get("high")] for effect in measured]  # what was kept has none, and is a point
    rows = [
        [value, *(value if end is None else float(end) for end in pair)]
        for value, pair in zip(values, ends, strict=True)
    ]
    names = [node.name if len(node.name) <= 34 else f"{node.name[:33]}…" for node in nodes]
    figure = charts.forest(names, ["effect"], [rows], "difference of the metric")
    low, high = min(0.0, *(row[1] for row in rows)), max(0.0, *(row[2] for row in rows))
    margin = 0.05 * (high - low) or 0.1  # so that a mark at 0 is not cut
    figure["layout"]["xaxis"] |= {"range": [low - margin, high + margin], "zeroline": True}
    return figure

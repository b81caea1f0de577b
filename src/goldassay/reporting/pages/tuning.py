"""A tuning in a report: what it tried as a tree, with effects, what was kept and why.

The root is the program as it was. A bundle of edits is a branch, in the order in which bundles were tested; under it
stand the tests that followed from it: the bundle without one of its edits, or an edit alone. The ledger of the tuning
says all of this; a tuning without one (of another optimizer) has no tree.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay import jsonl
from goldassay.reporting.pages import charts

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
    whole = False
    if patch.get("action") == "show_nearest" and example:
        whole = len(example.get("examples", ())) > example.get("k", 0)  # of train, as a rule
        example = example.get("examples")
    added = patch.get("text") or (json.dumps(example, ensure_ascii=False, indent=1) if example else "")
    if whole or not (added or patch.get("old")):
        added = str(patch.get("edit", ""))
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

"""A tuning in a report: what it tested, in order, with effects, what it kept and why.

This comes from the tuning's ledger; a tuning without one (by a DSPy optimizer) has no tests to list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldassay import jsonl
from goldassay.reporting.pages import charts
from goldassay.reporting.terminal import signed

LONGEST = 2000  # characters of an edit
GOOD = ("kept", "proven", "applied", "better", "needed")
WORDS = {"needed": "stays", "dropped": "left out", "proposed": "not tested"}


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
        from goldassay.tuning.saved import read_about

        about = read_about(folder / "tuning.json")
        order = [entry["id"] for entry in about.get("patches", ())]
        files = [read(file) for file in sorted((folder / "patches").glob("*.yaml"))]
        patches = [{"id": patch.id, "edit": patch.edit, **patch.model_dump()} for patch in files]
        patches.sort(key=lambda patch: order.index(patch["id"]) if patch["id"] in order else len(order))
        diff, ledger = folder / "prompt.diff", folder / "ledger.jsonl"
        entries = list(jsonl.rows(ledger)) if ledger.is_file() else ()
        return cls(about, patches, entries, diff.read_text(encoding="utf-8") if diff.is_file() else "", folder)

    @property
    def title(self) -> str:
        """With what it tuned."""
        return f"Tuning with {self.about.get('optimizer') or 'an optimizer'}"

    @property
    def sentence(self) -> str:
        """What the tuning came to, with what it took."""
        split = "test" if self.about.get("test") else "dev"
        part, cost = self.about.get(split) or {}, self.about.get("cost") or {}
        spent = f"{cost.get('calls', 0):,} calls, {cost.get('seconds', 0) or 0:.0f} s"
        if not part:
            return f"{self.title} changed nothing ({spent})."
        gap = part["difference"]
        ends = f"[{signed(gap['interval']['low'])}, {signed(gap['interval']['high'])}]"
        verdict = f": {self.about['verdict']}" if self.about.get("verdict") else ""
        return f"{self.title}: {signed(gap['difference'])} {ends} on {gap['n']} {split} examples{verdict} ({spent})."

    @property
    def runs(self) -> list[Path]:
        """The folders of its runs before and after, on test if there is one, else on dev."""
        part = self.about.get("test") or self.about.get("dev") or {}
        places = [self.folder / name for name in part.get("runs", ())] if self.folder else []
        return [place for place in places if (place / "run.json").is_file()]

    @property
    def tests(self) -> list[dict[str, Any]]:
        """What was tested, in order: name, outcome, reason, effect, edits; then the edits that no test names."""
        patches = {str(patch["id"]): patch for patch in self.patches}
        tests = []
        for entry in self.ledger:
            split, effect = next(((key, part) for key, part in entry.items() if isinstance(part, Mapping)), ("", None))
            names = zip(map(str, entry["patches"]), entry["edits"], strict=True)
            edits = [patches.get(name, {"id": name, "edit": str(text)}) for name, text in names]
            tests.append(_test(entry["candidate"], entry, effect, edits, split))
        tested = {name for entry in self.ledger for name in entry["patches"]}
        for name, patch in patches.items():
            if name not in tested:
                effect = (patch.get("effects") or [None])[-1]
                tests.append(_test(name, patch, effect, [patch], effect["split"] if effect else ""))
        return tests


def _test(name: object, about: Mapping[str, Any], effect: Any, edits: Sequence[Any], split: str) -> dict[str, Any]:
    status = str(about["status"])
    outcome = {"good": status in GOOD, "word": WORDS.get(status, status), "reason": str(about["reason"])}
    return {"name": str(name), **outcome, "effect": effect, "split": split, "edits": list(map(_edit, edits))}


def _edit(patch: Mapping[str, Any]) -> dict[str, Any]:
    """An edit as removed and added lines, with why it was proposed and how it ended."""
    example = patch.get("example")
    if example and patch.get("action") == "show_nearest":  # a choice among all of train is shown in words
        example = example["examples"] if len(example["examples"]) <= example["k"] else None
    words = "" if patch.get("old") else patch.get("edit", "")
    added = patch.get("text") or (json.dumps(example, ensure_ascii=False, indent=1) if example else words)
    return {
        **{key: str(patch.get(key, "")) for key in ("id", "status", "reason", "predictor", "rationale")},
        "gone": str(patch.get("old") or "")[:LONGEST].splitlines(),
        "come": str(added)[:LONGEST].splitlines(),
        "examples": list(patch.get("examples") or ()),
    }


def effects(tests: Sequence[Mapping[str, Any]]) -> charts.Chart | None:
    """Each test's effect with its interval, in order; None without any. What was kept has no interval: a point."""
    measured = [(test["name"][:34], test["effect"]) for test in tests if test["effect"]]
    if not measured:
        return None
    rows = []
    for _, effect in measured:
        value = float(effect["difference"])
        rows.append([value, *(value if effect.get(end) is None else float(effect[end]) for end in ("low", "high"))])
    figure = charts.forest([name for name, _ in measured], ["effect"], [rows], "difference of the metric")
    figure["layout"]["xaxis"] |= {"zeroline": True, "rangemode": "tozero"}
    return figure

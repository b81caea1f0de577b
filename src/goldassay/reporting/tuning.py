"""Tuning: what a folder of it holds for a report, and what it gained, error patterns and patches on the terminal.

What was tested comes from the tuning's ledger; a tuning without one (by a DSPy optimizer) has no tests to list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay import jsonl
from goldassay.reporting.terminal import Cell, bounds, echo, line, number, p_value, print_table, signed, with_interval

if TYPE_CHECKING:  # a terminal that shows a run loads nothing of tuning
    from goldassay.tuning.patches import Patch
    from goldassay.tuning.patterns import Pattern
    from goldassay.tuning.saved import Tuned
    from goldassay.tuning.verdict import Audit

LONGEST = 2000  # characters of an edit
GOOD = ("kept", "proven", "applied", "better", "needed")
WORDS = {"needed": "stays", "dropped": "left out", "proposed": "not tested"}


@dataclass(frozen=True)
class Tuning:
    """A tuning folder: ``tuning.json``, its patches, its ledger, and the diff of the prompt."""

    about: Mapping[str, Any]
    patches: Mapping[str, Mapping[str, Any]]
    ledger: Sequence[Mapping[str, Any]]
    diff: str
    folder: Path

    @classmethod
    def load(cls, folder: Path) -> Tuning:
        """Reads a tuning from its folder."""
        from goldassay.tuning.patches import read
        from goldassay.tuning.saved import read_about

        about = read_about(folder / "tuning.json")
        files = {patch.id: patch for patch in map(read, sorted((folder / "patches").glob("*.yaml")))}
        order = dict.fromkeys([entry["id"] for entry in about.get("patches", ()) if entry["id"] in files] + [*files])
        patches = {name: {"id": name, "edit": files[name].edit, **files[name].model_dump()} for name in order}
        diff, ledger = folder / "prompt.diff", folder / "ledger.jsonl"
        entries = list(jsonl.rows(ledger)) if ledger.is_file() else []
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
        test = part["difference"]
        gap = signed(test["difference"], (test["interval"]["low"], test["interval"]["high"]))
        verdict = f": {self.about['verdict']}" if self.about.get("verdict") else ""
        return f"{self.title}: {gap} on {test['n']} {split} examples{verdict} ({spent})."

    @property
    def runs(self) -> list[Path]:
        """The folders of its runs before and after, on test if there is one, else on dev."""
        part = self.about.get("test") or self.about.get("dev") or {}
        return [place for name in part.get("runs", ()) if ((place := self.folder / name) / "run.json").is_file()]

    @property
    def tests(self) -> list[dict[str, Any]]:
        """What was tested, in order: name, outcome, reason, effect, edits; then the edits that no test names."""
        tests = []
        for entry in self.ledger:
            split, effect = next(((key, part) for key, part in entry.items() if isinstance(part, Mapping)), ("", None))
            names = zip(map(str, entry["patches"]), entry["edits"], strict=True)
            edits = [self.patches.get(name, {"id": name, "edit": str(text)}) for name, text in names]
            tests.append((entry["candidate"], entry, effect, split, edits))
        tested = {name for entry in self.ledger for name in entry["patches"]}
        for name, patch in self.patches.items():
            if name not in tested:
                effect = (patch.get("effects") or [None])[-1]
                tests.append((name, patch, effect, effect["split"] if effect else "", [patch]))
        return [
            {
                "name": str(name),
                "good": str(about["status"]) in GOOD,
                "word": WORDS.get(about["status"], str(about["status"])),
                "reason": str(about["reason"]),
                "effect": effect,
                "split": split,
                "edits": list(map(_edit, edits)),
            }
            for name, about, effect, split, edits in tests
        ]


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


def tuned(result: Tuned, folder: object) -> None:
    """The values before and after on dev and on test, the patches, the verdict, the cost and the folder."""
    from goldassay.reporting.summary import noise_lines, spent

    rows: list[list[str]] = []
    sentences = ["The metric before and after, and the paired difference [95 %]:"]
    for split, trial in (("dev", result.dev), ("test", result.test)):
        if trial is None:
            continue
        before, after, test = trial.before, trial.after, trial.difference
        for name, value in after.values.items():
            rows.append([split, name, with_interval(before, name)])
            rows[-1].append(number(value) if trial.chosen else with_interval(after, name))
        size = f"n {test.n}" if test.unit == "examples" else f"{test.n} {test.unit}"
        sure = f", {size}; it also chose, so no interval"
        if not trial.chosen:
            detectable = f", detectable {test.smallest_detectable:.3f}" if test.smallest_detectable else ""
            sure = f"{bounds(test.interval, '+')}, p {p_value(test.p)}, {size}{detectable}"
        sentences.append(f"{split:<5}{number(before.value)} → {number(after.value)}, {test.difference:+.4f}{sure}")
        sentences += [f"{split}, after: {text}" for text in noise_lines(after)]
    print_table(f"tuned with {result.optimizer}", ["split", "value", "before [95 %]", "after [95 %]"], rows, left=2)
    echo(*sentences)
    if result.ledger.patches:
        patches(result.ledger.patches)
        line(result.ledger.verdict.sentence)
    notes = [f"Note: {result.note}"] if result.note else []
    notes += [*result.beside, *([f"The gain is {result.verdict}."] if result.test is not None else [])]
    for text in [*notes, *([f"Stopped early: {result.stopped}."] if result.stopped else [])]:
        line(text)
    echo(f"{spent(result.cost)} to tune. Folder: {folder}")


def audit(result: Audit) -> None:
    """The verdict of an audit; of fresh runs what an example costs before and after, and the diff of the prompts."""
    first, *rest = result.lines()
    line(first)
    line(*(f"- {text}" for text in rest))
    if costs := result.details.get("costs"):
        rows = [[name, *(f"{costs[side][name]:.4g}" for side in ("before", "after"))] for name in costs["before"]]
        print_table("an example costs", ["", "before", "after"], rows)
        _diff(str(result.details["diff"]).splitlines() or ["The prompts are the same."])


def patterns(patterns: Sequence[Pattern], most: int = 8) -> None:
    """Error patterns, the most costly first: examples, how many errors, in how many examples, the loss."""
    rows = []
    for pattern in patterns:
        types = " → ".join(dict.fromkeys(part for part in (pattern.gold_type, pattern.pred_type) if part))
        name = Cell(f"{pattern.kind} {types}", detail="\n".join(f"  {text}" for text in _details(pattern)))
        rows.append([name, pattern.count, len(pattern.documents), f"{pattern.loss:.4f}"])
    print_table("error patterns", ["pattern, with its forms", "errors", "examples", "loss"], rows, most=most)
    if not rows:
        echo("No errors.")


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
        reason = patch.reason if "program" in patch.reason else ""
        rows.append([Cell(patch.id, detail=patch.edit[:160]), Cell(patch.status, detail=reason), "–", ""])
        if effect:
            on = f"on {effect.split}, {effect.size}{', which chose it' * effect.chosen}"
            p = "" if effect.chosen else p_value(effect.p)
            rows[-1][2:] = Cell(signed(effect.difference, effect), detail=on), p
    print_table("patches", ["patch", "status", "effect [95 %]", "p"], rows, left=2)
    if not rows:
        echo("No patches yet. To make some:  goldassay patch propose TASK --run RUN")


def patch(patch: Patch, diff: Sequence[str]) -> None:
    """One patch: the reason, the measured effects, and the diff of the prompt."""
    line(f"{patch.id} {patch.status} {patch.reason}", style="bold")
    line(f"why: {patch.rationale}")
    for effect in patch.effects:
        values = f"{effect.before:.4f} → {effect.after:.4f}, {signed(effect.difference, effect, 4)}"
        sure = "which also chose it, so no interval" if effect.chosen else f"p {effect.p:.4f}"
        line(f"on {effect.split}: {values}, {sure}, {effect.size}, {effect.calls} calls")
    _diff(diff)


def _diff(rows: Sequence[str]) -> None:
    for row in rows:
        line(row, style={"+": "green", "-": "red"}.get(row[:1]))

"""Tuning: its folder as a report shows it, and its gain, error patterns and patches on the terminal.

The tests come from the tuning's ledger; a tuning without one (by a DSPy optimizer) has no tests to list.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goldassay import jsonl
from goldassay.fields import Fields, Record
from goldassay.reporting.cells import Cell, Row, bounds, number, p_value, signed, with_interval
from goldassay.reporting.terminal import echo, line, print_table

if TYPE_CHECKING:  # a terminal that shows a run loads nothing of tuning
    from goldassay.measure import Error
    from goldassay.tuning.patches import Patch
    from goldassay.tuning.patterns import Pattern
    from goldassay.tuning.saved import Trial, Tuned
    from goldassay.tuning.verdict import Audit

LONGEST = 2000  # characters of an edit
GOOD = ("kept", "proven", "applied", "better", "needed")
WORDS = {"needed": "stays", "dropped": "left out", "proposed": "not tested"}


@dataclass(frozen=True)
class Tuning:
    """A tuning folder: ``tuning.json``, its patches, its ledger, and the diff of the prompt."""

    about: Record
    patches: Mapping[str, Record]
    ledger: Sequence[Record]
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
        ledger = folder / "ledger.jsonl"
        entries = list(jsonl.rows(ledger)) if ledger.is_file() else []
        prompts = folder / "prompt.diff"
        diff = prompts.read_text(encoding="utf-8") if prompts.is_file() else ""
        return cls(about, patches, entries, diff, folder)

    @property
    def title(self) -> str:
        """The name of the optimizer."""
        return f"Tuning with {self.about.get('optimizer') or 'an optimizer'}"

    @property
    def sentence(self) -> str:
        """The outcome of the tuning, with what it cost."""
        split = "test" if self.about.get("test") else "dev"
        part = self.about.get(split) or {}
        cost = self.about.get("cost") or {}
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
    def tests(self) -> list[Fields]:
        """The tests in order: name, outcome, reason, effect and edits; then the edits that no test names."""
        tests = []
        for entry in self.ledger:
            names = zip(map(str, entry["patches"]), entry["edits"], strict=True)
            edits = [self.patches.get(name, {"id": name, "edit": str(text)}) for name, text in names]
            split = next((key for key, part in entry.items() if isinstance(part, Mapping)), "")
            tests.append(_test(str(entry["candidate"]), entry, entry.get(split), split, edits))
        tested = {name for entry in self.ledger for name in entry["patches"]}
        for name, patch in self.patches.items():
            if name not in tested:
                effect = (patch.get("effects") or [None])[-1]
                tests.append(_test(name, patch, effect, effect["split"] if effect else "", [patch]))
        return tests


def _test(
    name: str,
    about: Record,
    effect: Record | None,
    split: str,
    edits: Sequence[Record],
) -> Fields:
    """A test of edits as the page shows it; ``about`` holds its status and the reason."""
    status = str(about["status"])
    return {
        "name": name,
        "good": status in GOOD,
        "word": WORDS.get(status, status),
        "reason": str(about["reason"]),
        "effect": effect,
        "split": split,
        "edits": list(map(_edit, edits)),
    }


def _edit(patch: Record) -> Fields:
    """An edit as removed and added lines, with the reason for it and its outcome."""
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


def tuned(result: Tuned, folder: Path | str) -> None:
    """The values before and after on dev and on test, the patches, the verdict, the cost and the folder."""
    from goldassay.reporting.runs import breakdowns
    from goldassay.reporting.summary import noise_lines, spent

    values: list[list[str]] = []
    sentences = ["The metric before and after, and the paired difference [95 %]:"]
    for split, trial in (("dev", result.dev), ("test", result.test)):
        if trial is None:
            continue
        for name, value in trial.after.values.items():
            after = number(value) if trial.chosen else with_interval(trial.after, name)
            values.append([split, name, with_interval(trial.before, name), after])
        sentences.append(f"{split:<5}{_trial(trial)}")
        sentences += [f"{split}, after: {text}" for text in noise_lines(trial.after)]
    print_table(f"tuned with {result.optimizer}", ["split", "value", "before [95 %]", "after [95 %]"], values, left=2)
    echo(*sentences)
    breakdowns((result.test or result.dev).after, f"{'test' if result.test else 'dev'}, after: ")
    if result.ledger.patches:
        patches(result.ledger.patches)
        line(result.ledger.verdict.sentence)
    if result.note:
        line(f"Note: {result.note}")
    line(*result.beside)
    if result.test is not None:
        line(f"The gain is {result.verdict}.")
    if result.stopped:
        line(f"Stopped early: {result.stopped}.")
    echo(f"{spent(result.cost)} to tune. Folder: {folder}")


def _trial(trial: Trial) -> str:
    """The metric before and after with the paired test; no interval if the same examples also chose the program."""
    test = trial.difference
    size = f"n {test.n}" if test.unit == "examples" else f"{test.n} {test.unit}"
    change = f"{number(trial.before.value)} → {number(trial.after.value)}, {test.difference:+.4f}"
    if trial.chosen:
        return f"{change}, {size}; it also chose, so no interval"
    detectable = f", detectable {test.smallest_detectable:.3f}" if test.smallest_detectable else ""
    return f"{change}{bounds(test.interval, '+')}, p {p_value(test.p)}, {size}{detectable}"


def audit(result: Audit) -> None:
    """The verdict of an audit; of fresh runs what an example costs before and after, and the diff of the prompts."""
    first, *rest = result.lines()
    line(first)
    line(*(f"- {text}" for text in rest))
    if costs := result.details.get("costs"):
        before = costs["before"]
        after = costs["after"]
        cells = [[name, f"{before[name]:.4g}", f"{after[name]:.4g}"] for name in before]
        print_table("an example costs", ["", "before", "after"], cells)
        _diff(str(result.details["diff"]).splitlines() or ["The prompts are the same."])


def patterns(patterns: Sequence[Pattern], most: int = 8) -> None:
    """Error patterns, the most costly first: examples, how many errors, in how many examples, the loss."""
    rows: list[Row] = []
    for pattern in patterns:
        types = " → ".join(dict.fromkeys(part for part in (pattern.gold_type, pattern.pred_type) if part))
        name = Cell(f"{pattern.kind} {types}", detail="\n".join(f"  {text}" for text in details(pattern)))
        rows.append([name, pattern.count, len(pattern.documents), f"{pattern.loss:.4f}"])
    print_table("error patterns", ["pattern, with its forms", "errors", "examples", "loss"], rows, most=most)
    if not rows:
        echo("No errors.")


def details(pattern: Pattern) -> list[str]:
    """A pattern's surface forms and place, its languages, and the strata that hold at least four in five of it."""
    types = (pattern.gold_type, f"{pattern.gold_type} → {pattern.pred_type}", "")
    forms = [form for form, _ in Counter(map(_form, pattern.errors)).most_common(6) if form not in types]
    details = [text for text in ("; ".join(forms), pattern.place) if text]
    n = len(pattern.documents)
    for name, counts in pattern.strata.items():
        shares = counts if name == "language" else {k: c for k, c in counts.items() if c >= 0.8 * n and n > 2}
        if shares:
            details.append(f"{name} {', '.join(f'{key} {count}' for key, count in list(shares.items())[:4])}")
    return details[:4]


def _form(error: Error) -> str:
    """What gold has and what was predicted, if both have something and differ; else the one that is there."""
    differs = error.gold and error.pred and error.gold != error.pred
    return f"{error.gold} → {error.pred}" if differs else error.gold or error.pred


def patches(patches: Sequence[Patch]) -> None:
    """Patches with their edit, the measured effect and the status."""
    rows = []
    for patch in patches:
        reason = patch.reason if "program" in patch.reason else ""
        rows.append([Cell(patch.id, detail=patch.edit[:160]), Cell(patch.status, detail=reason), *_effect(patch)])
    print_table("patches", ["patch", "status", "effect [95 %]", "p"], rows, left=2)
    if not rows:
        echo("No patches yet. To make some:  goldassay patch propose TASK --run RUN")


def _effect(patch: Patch) -> list[str]:
    """The cells of a patch's latest effect and its p-value; a patch that was chosen on these examples has none."""
    if not patch.effects:
        return ["–", ""]
    effect = patch.effects[-1]
    examples = f"on {effect.split}, {effect.size}"
    if effect.chosen:
        return [Cell(signed(effect.difference, effect), detail=f"{examples}, which chose it"), ""]
    return [Cell(signed(effect.difference, effect), detail=examples), p_value(effect.p)]


def patch(patch: Patch, diff: Sequence[str]) -> None:
    """One patch: the reason, the measured effects, and the diff of the prompt."""
    line(f"{patch.id} {patch.status} {patch.reason}", style="bold")
    line(f"why: {patch.rationale}")
    for effect in patch.effects:
        ends = "" if effect.before is None else f"{effect.before:.4f} → {effect.after:.4f}, "
        values = f"{ends}{signed(effect.difference, effect, 4)}"
        sure = "which also chose it, so no interval" if effect.chosen else f"p {effect.p:.4f}"
        line(f"on {effect.split}: {values}, {sure}, {effect.size}, {effect.calls} calls")
    _diff(diff)


def _diff(rows: Sequence[str]) -> None:
    for row in rows:
        line(row, style={"+": "green", "-": "red"}.get(row[:1]))

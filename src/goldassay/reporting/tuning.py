"""Tuning: its folder as a report shows it, and its gain, error patterns and patches on the terminal.

The tests come from the tuning's ledger; a tuning without one (by a DSPy optimizer) has no tests to list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goldassay._support import jsonl
from goldassay.core.fields import Record
from goldassay.results.view import Cell, Chart, Diff, Point, Sentence, Table, TableRow, View, number, p_value, signed
from goldassay.running.summary import duration, spent

if TYPE_CHECKING:  # a terminal that shows a run loads nothing of tuning
    from goldassay.tuning.patches import Patch
    from goldassay.tuning.patterns import Pattern


@dataclass(frozen=True)
class Tuning:
    """A tuning folder: ``tuning.json``, its patches, its ledger, and the diff of the prompt."""

    about: Record
    patches: Mapping[str, Patch]
    ledger: Sequence[Record]
    diff: str
    folder: Path

    @classmethod
    def load(cls, folder: Path) -> Tuning:
        """Reads a tuning from its folder.

        Raises:
            DataError: A file of it is damaged.
        """
        from goldassay.tuning import patches, saved  # loads DSPy

        about = saved.read_about(folder / "tuning.json")
        files = {patch.id: patch for patch in map(patches.read, sorted((folder / "patches").glob("*.yaml")))}
        ledger = folder / "ledger.jsonl"
        entries = list(jsonl.rows(ledger)) if ledger.is_file() else []
        prompts = folder / "prompt.diff"
        diff = prompts.read_text(encoding="utf-8", errors="replace") if prompts.is_file() else ""
        with saved.reading(folder):  # and all that a page shows of it
            names = [entry["id"] for entry in about.get("patches", ()) if entry["id"] in files]
            ordered = {name: files[name] for name in dict.fromkeys([*names, *files])}
            tuning = cls(about, ordered, entries, diff, folder)
            _ = tuning.sentence, tuning.runs, tuning.view()
        return tuning

    @property
    def title(self) -> str:
        """The name of the optimizer, or of several."""
        return f"Tuning with {self.optimizers or 'an optimizer'}"

    @property
    def optimizers(self) -> str:
        """The names of its optimizers."""
        return str(self.about.get("optimizer") or "").replace(",", ", ")

    @property
    def sentence(self) -> str:
        """The outcome of the tuning, with what it cost."""
        split = "test" if self.about.get("test") else "dev"
        trial = self.about.get(split) or {}
        cost = self.about.get("cost") or {}
        used = f"{cost.get('calls', 0):,} calls, {duration(cost.get('seconds') or 0)}"
        if not trial:
            return f"{self.title} changed nothing ({used})."
        test = trial["difference"]
        ends = test["interval"] and (test["interval"]["low"], test["interval"]["high"])
        gap = signed(test["difference"], tuple(self.corrected["interval"]) if self.corrected else ends)
        chose = "" if ends else " that chose it"
        verdict = f": {self.about['verdict']}" if self.about.get("verdict") else ""
        return f"{self.title}: {gap} on {test['n']} {split} examples{chose}{verdict} ({used})."

    @property
    def corrected(self) -> Record | None:
        """The verdict on the chosen one of several optimizers, corrected for their number."""
        audit = self.about.get("audit") or {}
        return audit if self.about.get("arms") and self.about.get("test") and audit.get("interval") else None

    @property
    def runs(self) -> list[Path]:
        """The folders of its runs before and after, on test if there is one, else on dev."""
        trial = self.about.get("test") or self.about.get("dev") or {}
        return [folder for name in trial.get("runs", ()) if ((folder := self.folder / name) / "run.json").is_file()]

    def view(self) -> View:
        """The outcome, the metric before and after, the tests of edits in order, the edits, and the prompt's change."""
        about = self.about
        gain = f"; the gain is {about['verdict']}" if about.get("verdict") else ""
        stopped = f" Stopped early: {about['stopped']}." if about.get("stopped") else ""
        used = spent(about.get("cost") or {})
        head = f"Optimizer {self.optimizers}{gain}.{stopped} {about.get('note') or ''} {used}."
        values: list[TableRow] = []
        for split in ("dev", "test"):
            if trial := about.get(split):
                test = trial["difference"]
                ends = test["interval"] and (test["interval"]["low"], test["interval"]["high"])
                p = test["p"]
                if split == "test" and self.corrected:
                    ends = tuple(self.corrected["interval"])
                    p = self.corrected["p"]
                gap = Cell(signed(test["difference"], ends), detail="" if ends else "chosen on these examples")
                pairs = [(name, trial["before"].get(name), after) for name, after in trial["after"].items()]
                texts = [f"{name} {number(before, 3)} → {number(after, 3)}" for name, before, after in pairs]
                values.append([split, gap, p_value(p) if ends else "", int(test["n"]), "; ".join(texts)])
        columns = ["split", "difference [95 %]", "p", "n", "values, before → after"]
        view: View = [Sentence("Tuning", "head"), Sentence(head), *(arena(about) if about.get("arms") else ())]
        view.append(Table("The metric before and after", columns, values))
        # the tests in order, then the edits that no test names
        tests = [*self.ledger]
        tested = {name for entry in self.ledger for name in entry["patches"]}
        for name, patch in self.patches.items():
            if name not in tested:
                untested = {"candidate": name, "status": patch.status, "reason": patch.reason, "patches": [name]}
                tests.append({**untested, **{effect.split: effect.model_dump() for effect in patch.effects[-1:]}})
        rows: list[TableRow] = []
        points: list[Point] = []
        for entry in tests:
            name = str(entry["candidate"])
            status = str(entry["status"])
            word = {"needed": "stays", "dropped": "left out", "proposed": "not tested"}.get(status, status)
            good = status in ("kept", "proven", "applied", "better", "needed")
            text: Cell | None = None
            for split, effect in [pair for pair in entry.items() if isinstance(pair[1], Mapping)][:1]:
                ends = None if effect.get("chosen") else (effect["low"], effect["high"])
                sure = "chosen on these examples" if ends is None else f"p {p_value(effect['p'])}"
                detail = f"{sure}, n {effect['n']}{f' on {split}' if split else ''}"
                text = Cell(signed(effect["difference"], ends), detail=detail)
                mark = name if len(name) <= 34 else f"{name[:33]}…"
                points.append(Point(mark, float(effect["difference"]), effect.get("low"), effect.get("high")))
            test = Cell(name, detail="" if entry["reason"] == word else str(entry["reason"]))
            rows.append([Cell(word, "better" if good else ""), test, text, ", ".join(entry["patches"])])
        if rows:
            view += [
                Sentence("What was tested", "head"),
                Sentence(
                    "Each bundle of edits in turn, then the bundle without one of its edits, or an edit alone. Effects "
                    "are paired differences of the metric with their 95 % intervals, before any correction. Kept edits "
                    "have none: the same examples chose them."
                ),
                *([Chart("intervals", "difference of the metric", [("effect", points)])] if points else []),
                Table(None, ["outcome", "test", "effect", "edits"], rows, left=4),
            ]
        view += map(Sentence, [about["kept"]["words"]] if about.get("kept") and rows else [])
        view += map(Sentence, about.get("reference_lines") or ())
        view += [patch.change for patch in self.patches.values()]
        if self.diff:
            return [*view, Diff("What changed in the prompt", self.diff.splitlines())]
        return [*view, Sentence("The prompt is as it was.")]


def arena(about: Record) -> View:
    """The optimizers of an arena from its ``tuning.json``: the table, the verdict, value against calls and length.

    The front of a chart has those that no other one beats in value without costing more.
    """
    before = about["before"]
    rows: list[TableRow] = [["as it is", *map(number, (before["dev"], before["test"])), "", "", "", "", "", ""]]
    for arm in about["arms"]:
        values = [number(arm[split]) for split in ("dev", "test")]
        gap = "–" if arm["gap"] is None else f"{arm['gap']:+z.3f}"
        calls = f"{arm['calls']:,}"
        if arm["reflection_calls"]:
            calls += f" ({arm['reflection_calls']:,} to reflect)"
        length = "–" if arm["prompt_tokens"] is None else f"{arm['prompt_tokens']:,}"
        usage = [calls, f"{arm['tokens']:,}", length, f"{arm['minutes']:.1f}"]
        rows.append([arm["optimizer"], *values, gap, *usage, Cell(arm["verdict"], detail=arm["stopped"])])
    names = ["optimizer", "dev", "test", "dev − test", "calls", "tokens", "prompt", "minutes", "verdict"]
    view: View = [Sentence("Optimizers, an equal share of the budget each", "head"), Table(None, names, rows)]
    if about["chosen"] is None:
        view.append(Sentence("None is chosen: no program is better on dev than the program as it is."))
    else:
        view.append(Sentence(f"Chosen on dev: {about['chosen']}."))
        if interval := about["audit"]["interval"]:
            gain = signed(about["audit"]["gain"], tuple(interval))
            among = f"corrected for {len(about['arms'])} optimizers"
            view.append(Sentence(f"On test {gain}: the gain is {about['verdict']}, {among}."))
    split = "test" if before["test"] is not None else "dev"
    for unit, axis in (("calls", "calls to tune"), ("prompt_tokens", "tokens of the prompt")):
        measured = [arm for arm in about["arms"] if arm[split] is not None]
        points = {arm["optimizer"]: Point(arm[unit], arm[split], text=arm["optimizer"]) for arm in measured}
        front: list[Point] = []
        for point in sorted(points.values(), key=lambda point: (float(point.at), -point.value)):
            if not front or point.value > front[-1].value:
                front.append(point)
        series = [("best for its cost", front), *((name, [point]) for name, point in points.items())]
        if len({point.at for point in points.values()}) > 1:
            view.append(Chart("curves", f"Value on {split} against {axis}", series, axes=(axis, "value")))
    return [*view, Sentence(f"{spent(about['cost'])} to tune.")]


def patterns(patterns: Sequence[Pattern], most: int = 8) -> View:
    """Error patterns, the most costly first: examples, how many errors, in how many examples, the loss."""
    rows: list[TableRow] = []
    for pattern in patterns:
        types = " → ".join(dict.fromkeys(part for part in (pattern.gold_type, pattern.pred_type) if part))
        step = "" if pattern.step is None else f" at step {pattern.step + 1}"
        name = Cell(f"{pattern.kind} {types}{step}", detail="\n".join(f"  {text}" for text in details(pattern)))
        rows.append([name, pattern.count, len(pattern.documents), f"{pattern.loss:.4f}"])
    columns = ["pattern, with its forms", "errors", "examples", "loss"]
    return [Table("error patterns", columns, rows, most=most) if rows else Sentence("No errors.")]


def details(pattern: Pattern) -> list[str]:
    """A pattern's surface forms and place, its languages, and the strata that hold at least four in five of it."""
    types = (pattern.gold_type, f"{pattern.gold_type} → {pattern.pred_type}", "")
    counts = Counter[str]()
    for error in pattern.errors:  # gold and what was predicted, if both have something and differ
        differs = error.gold and error.pred and error.gold != error.pred
        counts[f"{error.gold} → {error.pred}" if differs else error.gold or error.pred] += 1
    forms = [form for form, _ in counts.most_common(6) if form not in types]
    details = [text for text in ("; ".join(forms), pattern.place) if text]
    n = len(pattern.documents)
    for name, by_key in pattern.strata.items():
        shares = by_key if name == "language" else {k: c for k, c in by_key.items() if c >= 0.8 * n and n > 2}
        if shares:
            details.append(f"{name} {', '.join(f'{key} {count}' for key, count in list(shares.items())[:4])}")
    return details[:4]

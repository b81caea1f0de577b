"""The facts of a run for pages, tables and charts: values with intervals, parts, confusions, latency.

They come from the run's own rows and the measures that the run names. A run without trace has no gold, so it has no
parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldassay.core.fields import JsonObject
from goldassay.core.tally import Confusion, Counts
from goldassay.measures import trajectories
from goldassay.measures.classification.scorecard import breakdown as by_label
from goldassay.measures.extraction.scorecard import breakdown as by_type
from goldassay.measures.trajectories.measures import TrajectoryMeasure
from goldassay.measures.triples.scorecard import breakdown as by_property
from goldassay.results.view import Sentence, Table, TableRow, View
from goldassay.running.rows import Row
from goldassay.running.run import Run
from goldassay.running.summary import overall, values
from goldassay.statistics.intervals import Interval

MISSED_SPAN = "(missed)"  # in a confusion matrix of spans
SPURIOUS = "(spurious)"
ONE_SIDED = (MISSED_SPAN, SPURIOUS)
BREAKDOWNS = {
    "classification": by_label,
    "extraction": by_type,
    "triples": by_property,
}
"""The values by type, label or property, of the tasks that have them."""


class RunSummary:
    """Everything there is to say about one run.

    ``by`` holds values by type, label or property; ``counts`` the `Counts` of each, one entry an example; ``steps`` the
    tables of the first wrong step: by its position, and by the calls before and at it.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.overall = overall(run)
        self.values = values(run)
        self.by: dict[str, Mapping[str, Mapping[str, float | None]]] = {}
        self.counts: dict[str, Mapping[str, Counts]] = {}
        self.confusion: Confusion | None = None
        tasks = {measure.task for measure in run.result.measures.values()}
        facets = ("type", "label", "property", "domain")
        one_sided = {"MISSED": MISSED_SPAN, "SPURIOUS": SPURIOUS}  # by the scorecard's names
        for task in () if run.why_no_estimate else sorted(tasks & BREAKDOWNS.keys()):
            card = run.measured(BREAKDOWNS[task], run.rows)
            if card is None:
                continue
            self.by |= {facet: keys for facet, keys in card.by.items() if facet in facets}
            facet = next((facet for facet in facets if facet in card.by), "")
            parts: Any = card.columns.get("strict_macro_f1", card.columns.get("macro_f1", {}))
            self.counts[facet] = parts.by_label() if isinstance(parts, Confusion) else parts
            if cells := card.by.get("confusion"):
                pairs = {(gold, label): n for gold, row in cells.items() for label, n in row.items() if n}
                named_cells: Any = {(one_sided.get(a, a), one_sided.get(b, b)): float(n) for (a, b), n in pairs.items()}
                self.confusion = Confusion(named_cells)
        self.steps: Mapping[str, Mapping[str, Mapping[str, float]]] = {}
        calls = next(
            (measure for measure in run.result.measures.values() if isinstance(measure, TrajectoryMeasure)), None
        )
        if calls and not run.why_no_estimate:
            options = {name: getattr(calls, name) for name in calls.shares}
            card = run.measured(lambda shared: trajectories.scorecard(shared.gold, shared.pred, **options), run.rows)
            self.steps = card.by if card else {}

    @property
    def wrong(self) -> int:
        """How many examples failed, or have a score below 1."""
        return sum(map(is_wrong, self.run.rows))

    @property
    def latency(self) -> list[float]:
        """Median and 95th percentile of the seconds per example."""
        seconds = [float(row.latency_s or 0.0) for row in self.run.rows]
        ends: list[float] = np.percentile(seconds or [0.0], [50, 95]).tolist()
        return ends


def gold_name(settings: JsonObject) -> str:
    """The gold of a run: a set with its split, or a file by its name (a file has no splits).

    >>> gold_name({"gold": "heritage", "split": "dev"})
    'heritage dev'
    >>> gold_name({"gold": "/home/ann/xquad.en.json", "split": "dev"})
    'xquad.en.json'
    """
    name = re.split(r"[/\\]", str(settings.get("gold") or ""))[-1]
    return name if "." in name or not name else f"{name} {settings.get('split') or ''}".strip()


def is_wrong(row: Row) -> bool:
    """Whether an example failed, or scored below 1: an error by a measure without a weight does not make it wrong."""
    return bool(row.error) or row.score < 1 - 1e-9


def confidences(run: Run) -> NDArray[np.float64]:
    """The confidence and the score of each example whose prediction has a confidence.

    Returns:
        An array of shape (examples, 2), empty if all confidences are the same.
    """
    pairs = [((row.prediction or {}).get("confidence"), float(row.score)) for row in run.rows]
    table = np.array([pair for pair in pairs if isinstance(pair[0], (int, float)) and 0 <= pair[0] <= 1], dtype=float)
    return table if len(table) and np.ptp(table[:, 0]) else table[:0]


def step_view(name: str, tables: Mapping[str, Mapping[str, Mapping[str, float]]]) -> View:
    """Where trajectories first go wrong: from step to step, and from the last right call to the first wrong one.

    Empty if none goes wrong. Of many steps only those are listed at which one does.
    """
    most = 20
    steps = tables.get("step", {})
    wrong = sum(int(row["wrong"]) for row in steps.values())
    if not wrong:
        return []
    rows: list[TableRow] = []
    for step, row in steps.items():
        if not row["wrong"] and len(steps) > most:
            continue
        share = Interval(row["share"], row["low"], row["high"])
        rows.append([f"step {step}", int(row["reached"]), int(row["wrong"]), share, f"{row['loss']:.0%}"])
    transitions: list[TableRow] = [
        [pair, int(row["trajectories"]), f"{row['trajectories'] / wrong:.0%}"]
        for pair, row in tables.get("transition", {}).items()
    ]
    return [
        Sentence(f"{name}: where trajectories first go wrong", "head"),
        Table(
            "from step to step",
            ["", "reached", "wrong", "of those that reach it [95 %]", "of all wrong"],
            rows,
            most=most,
        ),
        Table("last right call → first wrong one", ["", "trajectories", "of all wrong"], transitions, most=most),
    ]

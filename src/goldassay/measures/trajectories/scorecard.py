"""The scorecard of trajectories: its measures, folded; tools, categories, and the step at which they first go wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from goldassay.core.fields import read
from goldassay.core.measure import Batches
from goldassay.measures import Examples
from goldassay.measures.protocols import official_result
from goldassay.measures.trajectories.matching import CallPair
from goldassay.measures.trajectories.measures import ByTool, TrajectoryMatch, listed
from goldassay.measures.trajectories.records import TRAJECTORY, dropped
from goldassay.results.result import Result, Sections, by_key, facts_of, fold
from goldassay.statistics.intervals import wilson

START = "start"
AT_END = "end"


def scorecard(
    gold: Examples,
    pred: Examples,
    *,
    arguments: str = "exact",
    compare: Mapping[str, object] | Sequence[object] = (),
    protocol: str = "",
) -> Result:
    """All values over aligned trajectories; by tool, by category where gold names it, and by the first wrong step.

    ``by["step"]`` says of each step how many trajectories were right until then (``reached``), how many went wrong
    there, and that share with its interval. ``by["transition"]`` counts from the last right call to
    the first wrong one.

    Args:
        gold: The gold records, with ``calls``.
        pred: The predictions, with ``trajectory``, ``calls`` or ``messages``.
        arguments: How arguments match: ``exact``, ``ignore``, ``subset`` or ``superset``.
        compare: Comparators by ``TOOL.ARGUMENT`` or ``ARGUMENT``.
        protocol: An official protocol, which counts in its own way: ``bfcl``, ``agentevals``.

    >>> calls = [{"name": "search", "args": {"q": "Delft"}}, {"name": "read", "args": {"id": 7}}]
    >>> card = scorecard([{"calls": calls}] * 2, [{"calls": calls}, {"calls": [calls[0], {"name": "look"}]}])
    >>> card.values["trajectory_exact_match"], card.by["step"]["2"]["wrong"], list(card.by["transition"])
    (0.5, 1, ['search → look'])
    """
    shared = Batches(gold, pred)
    options: dict[str, Any] = {"arguments": arguments, "compare": compare}
    if official := official_result("trajectories", shared, protocol, **options):
        return official
    by_tool = ByTool(**options)
    by = {"tool": lambda card: by_key(card.totals[by_tool.key])}
    warnings = {
        "failed": "{n} of {examples} programs failed, so their calls count as missed",
        "absent": "{n} of {examples} predictions have no trajectory, calls or messages and count as without a call",
        "dropped": "{n} of {examples} trajectories lack their first calls, which DSPy dropped to fit the context",
        "unfinished": "{n} of {examples} trajectories were cut before their end",
    }
    sections = Sections(_facts, by, warnings)
    card = fold("trajectories", listed(**options), shared, {by_tool.key: by_tool}, sections=sections)
    facts = card.facts
    lost = facts_of(facts, "wrong").total()
    card.by["step"] = {}
    step = 1
    while reached := facts["reached", step]:  # the step after the last call is the end
        wrong = facts["wrong", step]
        low, high = wilson(wrong, reached)
        loss = wrong / lost if lost else 0.0
        row = {"reached": reached, "wrong": wrong, "share": wrong / reached, "low": low, "high": high, "loss": loss}
        card.by["step"][str(step)] = row
        step += 1
    transitions = facts_of(facts, "transition").most_common()
    if transitions:
        card.by["transition"] = {name: {"trajectories": count} for name, count in transitions}
    if categories := facts_of(facts, "category"):
        card.by["category"] = {
            name: {"trajectory_exact_match": facts["exact", name] / number, "examples": number}
            for name, number in sorted(categories.items())
        }
    return card


def _facts(chunk: Batches, first: TrajectoryMatch) -> Counter[Hashable]:
    """The counts of each trajectory: where it first went wrong, its category, whether it failed."""
    facts: Counter[Hashable] = Counter()
    lengths: Counter[int] = Counter()
    pairs: list[CallPair] = chunk.of(first)
    for gold, pred, pair in zip(chunk.gold, chunk.pred, pairs, strict=True):
        if not pair.trajectory.steps and not pair.trajectory.failure:
            facts["absent"] += all(read(pred, name, None) is None for name in (*TRAJECTORY, "history"))
        facts["dropped"] += dropped(read(pred, TRAJECTORY[0], None)) > 0
        wrong = pair.first_wrong
        calls = pair.trajectory.calls
        lengths[len(calls) + 1 if wrong is None else wrong + 1] += 1
        if wrong is not None:
            facts["wrong", wrong + 1] += 1
            last = calls.names[wrong - 1] if wrong else START
            facts["transition", f"{last} → {calls.names[wrong] if wrong < len(calls) else AT_END}"] += 1
        if not pair.trajectory.finished:
            facts["failed" if pair.trajectory.failure else "unfinished"] += 1
        category = read(gold, "category", None)
        if category is not None:
            facts["category", str(category)] += 1
            facts["exact", str(category)] += wrong is None
    reached = 0
    for length in range(max(lengths, default=0), 0, -1):
        reached += lengths[length]
        facts["reached", length] = reached
    return facts

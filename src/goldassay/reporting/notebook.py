"""A result as a card for a notebook: its verdict in a sentence, its values in a table; readable on light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from html import escape

from goldassay.reporting.pages.document import environment
from goldassay.reporting.ranking import Ranking, leader
from goldassay.reporting.runs import difference_rows, ranking_rows, value_cells
from goldassay.reporting.scorecards import convention, titled
from goldassay.reporting.summary import values as reported
from goldassay.reporting.summary import warnings
from goldassay.reporting.terminal import bounds, number
from goldassay.reporting.verdicts import against, run_sentence
from goldassay.running.comparing import RunComparisons
from goldassay.running.run import Run
from goldassay.scorecard import Scorecard
from goldassay.tuning.verdict import Audit


@dataclass(frozen=True)
class Card:
    """Sentences, each with its verdict (``better``, ``worse`` or another), a table, and lines below it."""

    sentences: Sequence[tuple[str, str]]
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()


@singledispatch
def card(result: object) -> Card:
    """The card of a result."""
    return Card([("", escape(repr(result)))])


@card.register
def _(result: Run) -> Card:
    columns = ["value", "[95 %]", "target", "met"]
    rows = [[str(value_cells(value)[column]) for column in columns] for value in reported(result)]
    sentence = run_sentence(result, result.name) if result.rows else f"{result.name} has no rows."
    return Card([("", sentence)], columns, rows if result.rows else (), warnings(result))


@card.register
def _(result: RunComparisons) -> Card:
    columns, rows = difference_rows(result)
    rows = [[each.run.name, *row] for each, row in zip(result, rows, strict=True)]
    return Card([(each.verdict, each.sentence) for each in against(result)], ["run", *columns], rows)


@card.register
def _(result: Ranking) -> Card:
    first, *rest = leader(result)
    return Card([("", first)], *ranking_rows(result), rest)


@card.register
def _(result: Audit) -> Card:
    first, *rest = result.lines()
    verdict = {"helped": "better", "made it worse": "worse"}.get(result.verdict, "")
    return Card([(verdict, f"{first[:1].upper()}{first[1:]}.")], notes=rest)


@card.register
def _(result: Scorecard) -> Card:
    rows = [
        [name, number(value) + bounds(result.intervals.get(name)), convention(result, name)]
        for name, value in result.values.items()
    ]
    return Card([("", titled(result))], ["value", "[95 %]", "convention"], rows, result.warnings)


def html(result: object) -> str:
    """The card as HTML that needs nothing else; everything in it is escaped."""
    return environment().get_template("notebook.html").render(card=card(result))

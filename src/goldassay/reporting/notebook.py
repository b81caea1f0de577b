"""The card of a result in a notebook: its verdict in a sentence, its figures in tables, readable on light and dark.

It needs nothing else, and everything in it is escaped.
"""

from __future__ import annotations

from goldassay._support.display import Displayed
from goldassay.reporting.pages.document import environment
from goldassay.results.view import Sentence, View, Viewable


def card(result: Displayed) -> str:
    """A result as HTML for a notebook: what it shows of itself, or its text."""
    view: View = result.view() if isinstance(result, Viewable) else [Sentence(repr(result), "open")]
    return environment().get_template("notebook.html").render(view=view)

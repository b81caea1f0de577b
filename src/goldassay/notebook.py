"""What a notebook shows of a result: the sentence of its report, and its values, as HTML."""

from __future__ import annotations


class Displayed:
    """A result that a notebook shows as a card. Whoever shows it loads what draws it."""

    def _repr_html_(self) -> str:
        from goldassay.reporting.exports import card

        return card(self)

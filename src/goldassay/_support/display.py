"""Results that a notebook shows as cards. The reports, which draw the cards, register themselves here."""

from __future__ import annotations

from collections.abc import Callable

_formatters: list[Callable[[Displayed], str]] = []


class Displayed:
    """A result that a notebook shows as a card."""

    def _repr_html_(self) -> str | None:
        """The card; None, so that the notebook shows the repr, if nothing is registered that draws it."""
        return _formatters[-1](self) if _formatters else None


def register_formatter(formatter: Callable[[Displayed], str]) -> None:
    """Draw the cards of results with ``formatter``."""
    _formatters.append(formatter)

"""Results for people: tables for the terminal, pages, rankings; and the cards of results in notebooks."""

from __future__ import annotations

from goldassay._support.display import Displayed, register_formatter


def _card(result: Displayed) -> str:
    from goldassay.reporting.notebook import card

    return card(result)


register_formatter(_card)

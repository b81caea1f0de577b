"""What a judge says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said: ``label`` (``None`` is unknown), and the quote that it rests on, which stands in the text."""

    label: str | None
    quote: str = ""
    reason: str = ""

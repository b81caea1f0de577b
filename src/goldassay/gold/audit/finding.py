"""What an audit says: findings, and what could be counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

KINDS = {
    "unreadable": "a file or a line that cannot be read",
    "schema": "a record that is not as its task's shape",
    "offset": "a span that does not stand where it says",
    "edge": "a span that begins or ends with a space",
    "crossing": "two spans that overlap without one holding the other",
    "repeated": "the same thing twice in one record",
    "id": "an id that another record has",
    "duplicate": "a text that another record has",
    "near": "a text that is nearly another record's",
    "leak": "the same or nearly the same text on two sides of a split",
    "conflict": "records that contradict each other",
    "label": "a type, label or grade that the card does not name, that looks like another one, or that occurs once",
    "identifier": "an identifier that is not well formed",
    "reference": "a document, passage or fact that is not there",
    "count": "a declared count that is not what is there",
    "language": "a language that is not declared, or not a language tag",
    "promise": "a promise of the card that is not kept",
    "text": "an empty text, or characters that do not belong in one",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is off, where it is, and how to mend it (``fix``: the new values of the field)."""

    kind: str
    message: str
    file: str
    line: int | None = None
    record: str | None = None
    field: str | None = None
    fix: Mapping[str, Any] | None = None

    @property
    def place(self) -> str:
        """File, line, record and field."""
        file = self.file if self.line is None else f"{self.file}:{self.line}"
        return " ".join(part for part in (file, self.record, self.field) if part)


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings of an audit; ``records`` says for each task how many records were looked at."""

    name: str
    findings: Sequence[Finding]
    records: Mapping[str, int]
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether nothing is off."""
        return not self.findings

    @property
    def kinds(self) -> dict[str, int]:
        """How many findings of each kind."""
        return dict(Counter(found.kind for found in self.findings))

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "clean": self.clean, "kinds": self.kinds}

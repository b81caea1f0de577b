"""The rows of a run: in memory while they are few, else on disk alone, from where they are read when asked for.

One walk over them gives the values, in all and by stratum (`Folded`); errors by type, and flat records and a small
table for notebooks, come from them too. What a row keeps of a call are `messages` and `answer`, as text.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, overload

from goldassay import jsonl
from goldassay.jsonl import dumps
from goldassay.score import Evidence
from goldassay.statistics.evidence import joined, stacked

Row = dict[str, Any]
FEW = 20_000  # rows that are kept in memory too
CHUNK = 4096  # rows whose evidence is laid into columns at once


class Rows(Sequence[Row]):
    """The rows that there are, in the order of their examples; ``file`` is where they stand, if they stand anywhere.

    Of more than `FEW` rows only the places in the file are kept, eight bytes each.

    >>> rows = Rows()
    >>> rows.add({"index": 7, "id": "b"}), rows.add({"index": 2, "id": "a"})
    (None, None)
    >>> [row["id"] for row in rows], 2 in rows.indices, rows[-1]["id"]
    (['a', 'b'], True, 'b')
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.kept: dict[int, Row] | None = {}
        self._places = array("q")  # by index; -1 where there is no row
        self._count = 0
        self._order: list[int] | None = None

    def add(self, row: Row, place: int = 0) -> None:
        """One more row, whose line starts at this place of the file; it replaces an earlier one of its example."""
        index = row["index"]
        if index >= len(self._places):
            self._places.extend([-1]) if index == len(self._places) else self._reach(index)
        self._count += self._places[index] < 0
        self._places[index], self._order = place, None
        if self.kept is not None:
            self.kept[index] = row
            if len(self.kept) > FEW and self.file is not None:
                self.kept = None

    def drop(self, index: int) -> None:
        """A row that does not count any more."""
        self._count, self._places[index], self._order = self._count - 1, -1, None
        if self.kept is not None:
            del self.kept[index]

    @property
    def indices(self) -> Sequence[int]:
        """The indices of the examples that have a row, in order."""
        if self._order is None:
            self._order = [index for index, place in enumerate(self._places) if place >= 0]
        return self._order

    def missing(self, size: int) -> Iterator[int]:
        """The indices below ``size`` that have no row."""
        return (index for index in range(size) if index >= len(self._places) or self._places[index] < 0)

    def settled(self) -> Sequence[Row]:
        """The rows as a list where they are few; else themselves."""
        return self if self.kept is None else list(self)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        if self.kept is not None:
            return map(self.kept.__getitem__, self.indices)
        return self._read(self.indices)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            some = self.indices[at]
            return list(self._read(some) if self.kept is None else map(self.kept.__getitem__, some))
        index = self.indices[at]
        return next(self._read([index])) if self.kept is None else self.kept[index]

    def _read(self, indices: Sequence[int]) -> Iterator[Row]:
        file = self.file or Path()  # rows without a file are all in memory
        return jsonl.rows_at(file, (self._places[index] for index in indices))

    def _reach(self, index: int) -> None:
        self._places.extend([-1] * (index + 1 - len(self._places)))


def facets(row: Mapping[str, Any]) -> dict[str, str]:
    """What a row's example belongs to: its strata, and its language where it has one.

    >>> facets({"strata": {"tier": 1}, "language": "nl"})
    {'tier': '1', 'language': 'nl'}
    """
    language = {"language": row["language"]} if row.get("language") else {}
    return {key: str(value) for key, value in {**(row.get("strata") or {}), **language}.items()}


@dataclass
class Folded:
    """What one walk over the rows of a run tells.

    ``clusters`` are the documents of the rows, where several rows name one; ``columns`` the evidence as tallies whose
    fields are arrays, by measure, where that was asked for.
    """

    total: Evidence
    again: Evidence
    others: Evidence
    by_stratum: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    clusters: list[Any] | None = None
    failed: int = 0
    truncated: int = 0
    retried: int = 0

    @classmethod
    def of(cls, rows: Iterable[tuple[Mapping[str, object], Evidence]], zero: Evidence, *, columns: bool) -> Folded:
        """Fold rows with their evidence, in their order; none of them is kept."""
        out = cls(zero, zero, zero)
        strata: dict[str, dict[str, tuple[int, Evidence]]] = {}
        chunk: list[Evidence] = []
        chunks: list[dict[str, Any]] = []
        named: dict[Any, int] = {}
        documents = array("q")
        for row, evidence in rows:
            if row.get("retried"):
                out.others = out.others if out.retried else out.total
                out.retried, out.again = out.retried + 1, out.again + evidence
            elif out.retried:
                out.others = out.others + evidence
            out.total = out.total + evidence
            out.failed += bool(row.get("error"))
            out.truncated += bool(row.get("truncated"))
            for stratum, key in facets(row).items():
                keys = strata.setdefault(stratum, {})
                size, sum_ = keys.get(key, (0, zero))
                keys[key] = size + 1, sum_ + evidence
            documents.append(
                named.setdefault(row["document"], len(named)) if "document" in row else -1 - len(documents)
            )
            if columns:
                chunk.append(evidence)
                if len(chunk) == CHUNK:
                    chunks.append(_columns(chunk, zero))
                    chunk = []
        if chunk:
            chunks.append(_columns(chunk, zero))
        out.columns = {key: joined([one[key] for one in chunks], zero[key]) for key in zero} if chunks else {}
        alone = sum(1 for place in documents if place < 0)
        out.clusters = documents.tolist() if len(named) + alone < len(documents) else None
        out.by_stratum = {
            stratum: {key: {"examples": size, **values(sum_)} for key, (size, sum_) in sorted(keys.items())}
            for stratum, keys in strata.items()
        }
        return out


def _columns(some: Sequence[Evidence], zero: Evidence) -> dict[str, Any]:
    return {key: stacked([evidence[key] for evidence in some], zero[key]) for key in zero}


def values(total: Evidence) -> dict[str, float]:
    """Each measure's corpus value; measures without evidence are left out."""
    return {key: float(tally.value) for key, tally in total.items() if tally.weight > 0}


def errors_by_type(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many errors each type has: gold's type, the predicted one where gold has none, else the kind of error.

    >>> errors_by_type([{"errors": [{"kind": "missed", "gold_type": "TOP"}, {"kind": "spurious", "pred_type": "TOP"}]}])
    {'TOP': 2}
    """
    errors = [error for row in rows for error in row.get("errors", ())]
    return dict(Counter(error.get("gold_type") or error.get("pred_type") or error["kind"] for error in errors))


def records(rows: Sequence[Mapping[str, Any]], evidence: Sequence[Evidence]) -> list[dict[str, object]]:
    """A flat record an example: id, strata, score, each measure's value, errors, seconds, tokens, inputs."""
    out = []
    for row, one in zip(rows, evidence, strict=True):
        usage = row.get("usage") or {}
        out.append(
            {
                "id": row["id"],
                **{f"stratum.{name}": key for name, key in facets(row).items()},
                "score": row["score"],
                **{name: float(tally.value) if tally.weight else None for name, tally in one.items()},
                "failed": row.get("error", ""),
                "errors": len(row.get("errors", ())),
                "seconds": row.get("latency_s"),
                "calls": usage.get("calls", 0),
                "tokens": usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0),
                **{f"input.{name}": _cell(value) for name, value in (row.get("inputs") or {}).items()},
                **{f"gold.{name}": _cell(value) for name, value in (row.get("gold") or {}).items() if name != "id"},
                **{f"prediction.{name}": _cell(value) for name, value in (row.get("prediction") or {}).items()},
            }
        )
    return out


def _cell(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool)) or value is None else dumps(value)


def messages(inputs: dict[str, object]) -> list[dict[str, str]]:
    """The messages of a call, as role and text.

    >>> messages({"messages": None, "prompt": "Where is Delft?"})
    [{'role': 'user', 'content': 'Where is Delft?'}]
    """
    found = inputs.get("messages")
    if not isinstance(found, list):
        return [{"role": "user", "content": text(inputs.get("prompt") or found or "")}]
    return [
        {"role": str(one.get("role", "")), "content": text(one.get("content", ""))}
        if isinstance(one, dict)
        else {"role": str(getattr(one, "role", "")), "content": text(getattr(one, "text", one))}
        for one in found
    ]


def answer(outputs: object) -> str:
    """What came back as text; several completions follow each other.

    >>> answer(["Delft", {"text": "Gouda", "logprobs": None}])
    'Delft\\n\\nGouda'
    """
    found = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return "\n\n".join(text(one.get("text", one) if isinstance(one, dict) else one) for one in found)


def text(content: object) -> str:
    """The text of a message's content; parts that are no text (pictures, files) are only named."""
    if isinstance(content, list):
        return "\n".join(text(part) for part in content)
    if isinstance(content, dict):
        return str(content["text"]) if "text" in content else f"[{content.get('type', 'part')}]"
    return content if isinstance(content, str) else str(getattr(content, "text", content))


def html(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for notebooks; everything in it is escaped.

    >>> html("a < b", ["value"], [["1"]])
    '<table><caption>a &lt; b</caption><thead><tr><th>value</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

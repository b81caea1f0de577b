"""The rows of a run: in memory if they are few, else only in their file, from which they are read when asked for.

One walk over them gives the values, in all and by stratum (`fold`).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

from goldassay import jsonl
from goldassay.fields import cluster
from goldassay.score import Evidence
from goldassay.statistics.evidence import joined, stacked

Row = dict[str, Any]
FEW = 20_000  # rows that stay in memory too
CHUNK = 4096  # rows whose evidence is put into columns at once


class Rows(Sequence[Row]):
    """Rows in the order of their examples; ``file`` is the file that holds them, if any.

    Of more than `FEW` rows only the offsets in the file stay in memory.

    >>> rows = Rows()
    >>> rows.add({"index": 7, "id": "b"}), rows.add({"index": 2, "id": "a"})
    (None, None)
    >>> [row["id"] for row in rows], 2 in rows.indices, rows[-1]["id"]
    (['a', 'b'], True, 'b')
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.cached: dict[int, Row] | None = {}
        self._offsets: dict[int, int] = {}
        self._order: list[int] | None = None

    def add(self, row: Row, offset: int = 0) -> None:
        """Add a row whose line starts at this offset of the file; it replaces an earlier one of its example."""
        index = row["index"]
        self._offsets[index], self._order = offset, None
        if self.cached is not None:
            self.cached[index] = row
            if len(self.cached) > FEW and self.file is not None:
                self.cached = None

    def drop(self, index: int) -> None:
        """Forget a row."""
        del self._offsets[index]
        self._order = None
        if self.cached is not None:
            del self.cached[index]

    @property
    def indices(self) -> Sequence[int]:
        """The indices of the examples that have a row, in order."""
        if self._order is None:
            self._order = sorted(self._offsets)
        return self._order

    def missing(self, size: int) -> Iterator[int]:
        """The indices below ``size`` that have no row."""
        return (index for index in range(size) if index not in self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[Row]:
        return self._read(self.indices)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return list(self._read(self.indices[at]))
        return next(self._read([self.indices[at]]))

    def _read(self, indices: Sequence[int]) -> Iterator[Row]:
        if self.cached is not None:
            return map(self.cached.__getitem__, indices)
        return jsonl.rows_at(self.file or Path(), map(self._offsets.__getitem__, indices))


def facets(row: Mapping[str, Any]) -> dict[str, str]:
    """What a row's example belongs to: its strata, and its language if it has one.

    >>> facets({"strata": {"tier": 1}, "language": "nl"})
    {'tier': '1', 'language': 'nl'}
    """
    language = {"language": row["language"]} if row.get("language") else {}
    return {key: str(value) for key, value in {**(row.get("strata") or {}), **language}.items()}


@dataclass
class Folded:
    """The sums over the rows of a run.

    ``clusters`` has the document of each row, if any two share one; ``columns`` the evidence by measure, as tallies
    whose fields are arrays.
    """

    total: Evidence
    by_stratum: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    clusters: list[int] | None = None
    failed: int = 0
    truncated: int = 0


def fold(rows: Iterable[tuple[Mapping[str, Any], Evidence]], zero: Evidence) -> Folded:
    """Fold rows with their evidence, in their order; none of them stays in memory."""
    folded = Folded(zero)
    strata: dict[tuple[str, str], tuple[int, Evidence]] = {}
    chunk: list[Evidence] = []
    chunks: list[dict[str, Any]] = []
    numbers: dict[Any, int] = {}
    documents = array("q")
    for place, (row, evidence) in enumerate(rows):
        folded.total = folded.total + evidence
        folded.failed += bool(row.get("error"))
        folded.truncated += bool(row.get("truncated"))
        for facet in facets(row).items():
            size, part = strata.get(facet, (0, zero))
            strata[facet] = size + 1, part + evidence
        documents.append(numbers.setdefault(cluster(row, place), len(numbers)))
        chunk.append(evidence)
        if len(chunk) == CHUNK:
            chunks.append(_columns(chunk, zero))
            chunk = []
    chunks += [_columns(chunk, zero)] if chunk else []
    folded.columns = {key: joined([columns[key] for columns in chunks], zero[key]) for key in zero} if chunks else {}
    folded.clusters = documents.tolist() if len(numbers) < len(documents) else None
    folded.by_stratum = {
        name: {
            key: {"examples": size, **values(part)}
            for (stratum, key), (size, part) in sorted(strata.items())
            if stratum == name
        }
        for name in dict.fromkeys(stratum for stratum, _ in strata)
    }
    return folded


def _columns(rows: Sequence[Evidence], zero: Evidence) -> dict[str, Any]:
    return {key: stacked([evidence[key] for evidence in rows], zero[key]) for key in zero}


def values(total: Evidence) -> dict[str, float]:
    """Each measure's corpus value; measures without evidence are left out."""
    return {key: float(tally.value) for key, tally in total.items() if tally.weight > 0}


def errors_by_type(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many errors each type has: gold's type, else the predicted one, else the kind of error.

    >>> errors_by_type([{"errors": [{"kind": "missed", "gold_type": "TOP"}, {"kind": "spurious", "pred_type": "TOP"}]}])
    {'TOP': 2}
    """
    errors = [error for row in rows for error in row.get("errors", ())]
    return dict(Counter(error.get("gold_type") or error.get("pred_type") or error["kind"] for error in errors))


def record(row: Mapping[str, Any], evidence: Evidence) -> dict[str, object]:
    """A row as a flat record: id, strata, score, each measure's value, errors, seconds, tokens, inputs."""
    usage = row.get("usage") or {}
    parts = {"input": row.get("inputs"), "gold": row.get("gold"), "prediction": row.get("prediction")}
    return {
        "id": row["id"],
        **{f"stratum.{name}": key for name, key in facets(row).items()},
        "score": row["score"],
        **{name: float(tally.value) if tally.weight else None for name, tally in evidence.items()},
        "failed": row.get("error", ""),
        "errors": len(row.get("errors", ())),
        "seconds": row.get("latency_s"),
        "calls": usage.get("calls", 0),
        "tokens": usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0),
        **{
            f"{part}.{name}": value if isinstance(value, str | int | float | None) else jsonl.dumps(value)
            for part, fields in parts.items()
            for name, value in (fields or {}).items()
            if (part, name) != ("gold", "id")
        },
    }


def messages(call: Mapping[str, Any]) -> list[dict[str, str]]:
    """The messages of a call, as role and text.

    >>> messages({"messages": None, "prompt": "Where is Delft?"})
    [{'role': 'user', 'content': 'Where is Delft?'}]
    """
    parts = call.get("messages") or [{"role": "user", "content": call.get("prompt") or ""}]
    return [{"role": str(part["role"]), "content": text(part.get("content"))} for part in parts]


def answer(outputs: object) -> str:
    """The outputs of a call as text; several completions follow each other.

    >>> answer(["Delft", {"text": "Gouda", "logprobs": None}])
    'Delft\\n\\nGouda'
    """
    return "\n\n".join(map(text, outputs if isinstance(outputs, (list, tuple)) else [outputs]))


def text(content: object) -> str:
    """The text of a message's content; parts that are no text (pictures, files) are only named."""
    if isinstance(content, list):
        return "\n".join(map(text, content))
    if isinstance(content, dict):
        return str(content["text"]) if "text" in content else f"[{content.get('type', 'part')}]"
    return str(content)

"""A run in parts: values by stratum and language, errors by type; flat records and a small table for notebooks."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from goldassay.jsonl import dumps
from goldassay.score import Evidence
from goldassay.statistics.evidence import joined, stacked

Row = Mapping[str, Any]


def facets(row: Row) -> dict[str, str]:
    """What a row's example belongs to: its strata, and its language where it has one.

    >>> facets({"strata": {"tier": 1}, "language": "nl"})
    {'tier': '1', 'language': 'nl'}
    """
    language = {"language": row["language"]} if row.get("language") else {}
    return {key: str(value) for key, value in {**(row.get("strata") or {}), **language}.items()}


CHUNK = 4096  # rows whose evidence is laid into columns at once


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
    def of(cls, rows: Iterable[tuple[Row, Evidence]], zero: Evidence, *, columns: bool) -> Folded:
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


def errors_by_type(rows: Iterable[Row]) -> dict[str, int]:
    """How many errors each type has: gold's type, the predicted one where gold has none, else the kind of error.

    >>> errors_by_type([{"errors": [{"kind": "missed", "gold_type": "TOP"}, {"kind": "spurious", "pred_type": "TOP"}]}])
    {'TOP': 2}
    """
    errors = [error for row in rows for error in row.get("errors", ())]
    return dict(Counter(error.get("gold_type") or error.get("pred_type") or error["kind"] for error in errors))


def records(rows: Sequence[Mapping[str, Any]], evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
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


def html(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for notebooks; everything in it is escaped.

    >>> html("a < b", ["value"], [["1"]])
    '<table><caption>a &lt; b</caption><thead><tr><th>value</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

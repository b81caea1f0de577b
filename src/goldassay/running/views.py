"""A run as flat records, and as a small table: what data frames, csv and notebooks show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from goldassay.jsonl import dumps
from goldassay.running.parts import facets
from goldassay.score import Evidence


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

"""A run in parts: values by stratum and language, errors by type; flat records and a small table for notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from goldassay.jsonl import dumps
from goldassay.score import Evidence

Row = Mapping[str, Any]


def facets(row: Row) -> dict[str, str]:
    """What a row's example belongs to: its strata, and its language where it has one.

    >>> facets({"strata": {"tier": 1}, "language": "nl"})
    {'tier': '1', 'language': 'nl'}
    """
    language = {"language": row["language"]} if row.get("language") else {}
    return {key: str(value) for key, value in {**(row.get("strata") or {}), **language}.items()}


def by_stratum(
    rows: Sequence[Row], evidence: Sequence[Evidence], zero: Evidence
) -> dict[str, dict[str, dict[str, float]]]:
    """For each stratum its keys, with the number of examples and each measure's corpus value."""
    sums: dict[str, dict[str, Evidence]] = {}
    sizes: Counter[tuple[str, str]] = Counter()
    for row, one in zip(rows, evidence, strict=True):
        for stratum, key in facets(row).items():
            found = sums.setdefault(stratum, {})
            found[key] = found.get(key, zero) + one
            sizes[stratum, key] += 1
    return {
        stratum: {
            key: {
                "examples": sizes[stratum, key],
                **{name: float(tally.value) for name, tally in one.items() if tally.weight > 0},
            }
            for key, one in sorted(keys.items())
        }
        for stratum, keys in sums.items()
    }


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

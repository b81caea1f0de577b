"""Parts of a run: values by stratum and language, errors by type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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

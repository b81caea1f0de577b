"""Replay of RAGChecker's example: from the verdicts of its file, every value of every answer and all eleven means.

The means are printed in per cent with one place and compared as printed; the values of an answer are given in full.

Source: https://github.com/amazon-science/RAGChecker, examples/checking_outputs.json
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.measures.answering import Support
from goldassay.proof.conform.suite import SuiteResult

NAME = "ragchecker"
FILE = "checking_outputs.json"


def run(data: Path) -> SuiteResult:
    """Every number of the file."""
    path, result = data / "ragchecker" / FILE, SuiteResult(NAME)
    found = files.json_value(path)
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise DataError("not RAGChecker's output: an object with 'results' and 'metrics' is needed", file=path)
    rows = []
    for row in found["results"]:
        ours = {name: share.value for name, share in Support.of(row, row.get("query_id")).values.items()}
        rows.append(ours)
        for name, official in row.get("metrics", {}).items():
            result.near(f"{name} of query {row['query_id']}", float(official), ours.get(name))
    for group in found.get("metrics", {}).values():
        for name, official in group.items():
            result.add(f"mean {name}", official, _mean(rows, name))
    return result


def _mean(rows: list[dict[str, Any]], name: str) -> float | None:
    """The mean over the answers, in per cent with one place."""
    values = [row[name] for row in rows if name in row]
    return round(100 * sum(values) / len(values), 1) if values else None

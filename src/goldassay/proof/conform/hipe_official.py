"""Replay of the HIPE-2022 scorer's counts on 14 damaged system files: entities and links, strict and fuzzy.

The files were made from gold by what real submissions do to it: forms written otherwise, tags in capitals, all
documents as one, mentions split, cut, mistyped and invented, links that change inside a mention. ``expected.json``
beside them holds, for each, the gold file and the official TP, FP and FN.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from goldassay.gold import pairs
from goldassay.proof.conform.suite import SuiteResult

NAME = "hipe-official"
PARTS = {
    "nerc": ("extraction", {"strict": "strict", "fuzzy": "partial"}),
    "nel": ("linking", {"strict": "strong_link", "fuzzy": "link"}),
}
"""By name there: the task, and what we call the two counts."""


def run(data: Path) -> SuiteResult:
    """Every file, both tasks: TP, FP and FN together are one number each."""
    result = SuiteResult(NAME)
    expected = json.loads((data / NAME / "expected.json").read_text(encoding="utf-8"))
    for system, official in expected.items():
        for part, (task, names) in PARTS.items():
            both = pairs(task, data / official["gold"], data / NAME / system, format="hipe", protocol="hipe")
            scorecard: Any = import_module(f"goldassay.measures.{task}").scorecard
            counts = scorecard(both.gold, both.pred, protocol="hipe").counts
            for theirs, ours in names.items():
                result.add(f"{system} {part} {theirs} TP FP FN", official[part][theirs], [*counts[ours].values()])
    return result

"""Pages of one result each: the stages of a pipeline, and drafted gold to correct."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.reporting.pages import charts
from goldassay.reporting.pages.document import packed, page
from goldassay.running.waterfall import Waterfall


def waterfall(stages: Waterfall, title: str) -> str:
    """The page of a pipeline's stages (`goldassay eval --stages`)."""
    steps = [(share.stage, share.cost, share.low, share.high) for share in stages.shares]
    figure = charts.waterfall(stages.value, stages.rest, steps)
    return page("waterfall.html", {"title": f"What each stage costs: {title}", "stages": stages, "cascade": figure})


def correcting(records: Sequence[Mapping[str, Any]], task: str, outputs: Sequence[str]) -> str:
    """The page that corrects drafted gold by keyboard; it keeps the work in the browser and exports JSONL.

    Args:
        records: The drafted records.
        task: The task.
        outputs: The fields to be corrected.
    """
    content = json.dumps({"task": task, "outputs": list(outputs), "records": list(records)}, ensure_ascii=False)
    key = hashlib.sha256(content.encode()).hexdigest()[:16]
    context = {"title": f"Correct {task}", "total": len(records), "key": key}
    return page("correcting.html", context, scripts=["correcting.js"], data={"drafts": packed(content)})

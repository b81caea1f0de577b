"""The page that corrects drafted gold by keyboard: one file, which keeps the work in the browser and exports JSONL."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.reporting.pages.document import packed, page


def correcting(records: Sequence[Mapping[str, Any]], task: str, outputs: Sequence[str]) -> str:
    """The page of these drafts.

    Args:
        records: The drafted records.
        task: The task.
        outputs: The fields to be corrected.
    """
    content = json.dumps({"task": task, "outputs": list(outputs), "records": list(records)}, ensure_ascii=False)
    key = hashlib.sha256(content.encode()).hexdigest()[:16]
    context = {"title": f"Correct {task}", "total": len(records), "key": key}
    return page("correcting.html", context, scripts=("correcting.js",), data={"drafts": packed(content)})

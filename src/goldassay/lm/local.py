"""``dspy.LM`` over a local engine, which says which answers were cut short."""

from __future__ import annotations

from typing import Any

import dspy

from goldassay.lm import truncation


class LocalLM(dspy.LM):  # type: ignore[misc]
    """A local model as DSPy's LM.

    An answer that ended at ``max_tokens`` has the finish reason ``length`` in ``history[-1]["response"]``, and is
    reported to `goldassay.lm.truncation` whether the model made it now or DSPy's cache had it.
    """

    def update_history(self, entry: dict[str, Any]) -> None:
        """Keep the call as DSPy does, and note a cut answer."""
        super().update_history(entry)
        found = entry["response"]
        for response in found if isinstance(found, (list, tuple)) else [found]:
            if getattr(response, "finish_reason", None) == "length":
                truncation.note(self.model)

"""The prompts of a program as text, and what changed between two of them."""

from __future__ import annotations

import difflib
import json
from typing import Any

import dspy


def rendered(program: Any, adapter: Any = None) -> str:
    """The messages that each predictor of a program would send, with ``{name}`` where its inputs go."""
    adapter = adapter or dspy.settings.adapter or dspy.ChatAdapter()
    parts: list[str] = []
    for name, predictor in program.named_predictors():
        signature = predictor.signature
        inputs = {key: f"{{{key}}}" for key in signature.input_fields}
        parts.append(f"=== {name}")
        for message in adapter.format(signature, list(predictor.demos or []), inputs):
            parts += [f"--- {message['role']}", _text(message["content"])]
    return "\n".join(parts) + "\n"


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=1, default=str)


def diff(before: Any, after: Any, adapter: Any = None) -> str:
    """The rendered prompts of two programs as a unified diff; empty when they are the same."""
    lines = difflib.unified_diff(
        rendered(before, adapter).splitlines(), rendered(after, adapter).splitlines(), "before", "after", lineterm=""
    )
    text = "\n".join(lines)
    return f"{text}\n" if text else ""


def instructions(program: Any) -> list[str]:
    """The instructions of all predictors."""
    return [str(predictor.signature.instructions) for predictor in program.predictors()]

"""What was sent to a language model and what came back, kept with the example that it was asked for."""

from __future__ import annotations

from typing import Any


def messages(inputs: dict[str, Any]) -> list[dict[str, str]]:
    """The messages of a call, as role and text.

    >>> messages({"messages": None, "prompt": "Where is Delft?"})
    [{'role': 'user', 'content': 'Where is Delft?'}]
    """
    found = inputs.get("messages")
    if not isinstance(found, list):
        return [{"role": "user", "content": text(inputs.get("prompt") or found or "")}]
    return [
        {"role": str(one.get("role", "")), "content": text(one.get("content", ""))}
        if isinstance(one, dict)
        else {"role": str(getattr(one, "role", "")), "content": text(getattr(one, "text", one))}
        for one in found
    ]


def answer(outputs: Any) -> str:
    """What came back as text; several completions follow each other.

    >>> answer(["Delft", {"text": "Gouda", "logprobs": None}])
    'Delft\\n\\nGouda'
    """
    found = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return "\n\n".join(text(one.get("text", one) if isinstance(one, dict) else one) for one in found)


def text(content: Any) -> str:
    """The text of a message's content; parts that are no text (pictures, files) are only named."""
    if isinstance(content, list):
        return "\n".join(text(part) for part in content)
    if isinstance(content, dict):
        return str(content["text"]) if "text" in content else f"[{content.get('type', 'part')}]"
    return content if isinstance(content, str) else str(getattr(content, "text", content))

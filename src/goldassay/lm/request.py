"""A canonical request of DSPy as the body of llama.cpp's chat completion."""

from __future__ import annotations

from typing import Any

from dspy.lm15 import TextPart

from goldassay.lm.schema import bounded, grammar

SAMPLING = ("top_p", "top_k", "seed", "frequency_penalty", "presence_penalty")


def body(request: Any, items: int, characters: int) -> dict[str, Any]:
    """The messages, the sampling settings, and the grammar that a wanted response format stands for."""
    config = request.config
    messages = [{"role": "system", "content": _text(request.system)}] if request.system else []
    messages += [{"role": message.role, "content": _text(message.parts)} for message in request.messages]
    made: dict[str, Any] = {
        "messages": messages,
        "temperature": config.temperature or 0.0,
        "max_tokens": config.max_tokens or 256,
        "cache_prompt": True,
    }
    made |= {key: getattr(config, key) for key in SAMPLING if getattr(config, key) is not None}
    if config.stop:
        made["stop"] = list(config.stop)
    if config.response_format:
        schema = config.response_format.get("schema") or {"type": "object"}
        made["grammar"] = grammar(bounded(schema, items, characters))
    return made


def _text(parts: Any) -> str:
    return parts if isinstance(parts, str) else "".join(part.text for part in parts if isinstance(part, TextPart))

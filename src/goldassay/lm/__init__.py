"""Language models by name: ``local/smollm2-135m``, ``local:FILE.gguf``, or any name that ``dspy.LM`` knows."""

from __future__ import annotations

import os
from typing import Any

import dspy

from goldassay.lm.engine import AsyncLlamaEngine, LlamaEngine
from goldassay.lm.files import embedded, given
from goldassay.lm.terse import TerseAdapter

DEFAULT = "local/smollm2-135m"


def resolve(name: str | None = None, **options: Any) -> dspy.LM:
    """A language model by its name.

    Without a name it is ``$GOLDASSAY_MODEL`` (a GGUF file or a name), else the embedded ``local/smollm2-135m``.
    ``options`` go to ``dspy.LM``; local models take ``context`` too (tokens, 4096).
    """
    if name is None:
        own = os.environ.get("GOLDASSAY_MODEL")
        name = DEFAULT if not own else f"local:{own}" if own.endswith(".gguf") and ":" not in own else own
    if name.startswith("local:"):
        return _local(name, LlamaEngine(given(name.removeprefix("local:")), options.pop("context", 4096)), options)
    if name.startswith("local/"):
        return _local(name, LlamaEngine(embedded(name.removeprefix("local/")), options.pop("context", 4096)), options)
    return dspy.LM(name, **options)


def _local(name: str, engine: LlamaEngine, options: dict[str, Any]) -> dspy.LM:
    settings = {"temperature": 0.0, "max_tokens": 256, **options}
    return dspy.LM(name, engine=engine, async_engine=AsyncLlamaEngine(engine), **settings)


def adapter(lm: Any) -> dspy.Adapter | None:
    """The adapter that suits a model: the terse one for local models, DSPy's own choice (``None``) for others."""
    return TerseAdapter() if str(getattr(lm, "model", "")).startswith(("local/", "local:")) else None


__all__ = ["DEFAULT", "LlamaEngine", "TerseAdapter", "adapter", "resolve"]

"""Language models by name: ``local/smollm2-135m``, ``local:FILE.gguf``, or any name that ``dspy.LM`` knows.

Local models run in this process through xllamacpp (extra ``local``), on the processors that are idle when a model is
loaded, or on ``GOLDASSAY_LM_THREADS`` of them. Their answers are constrained by the JSON schema of the program's typed
outputs, so that even a very small model returns what parses.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from goldassay.exceptions import ModelError
from goldassay.lm.choosing import ADAPTERS, adapter_of, listed, options_of
from goldassay.lm.engine import AsyncLlamaEngine, LlamaEngine
from goldassay.lm.limits import limited
from goldassay.lm.lines import Copied
from goldassay.lm.local import LocalLM
from goldassay.lm.terse import TerseAdapter

DEFAULT = "local/smollm2-135m"
LOCAL = ("local/", "local:")


def resolve(name: str | None = None, **options: Any) -> dspy.LM:
    """A language model by its name.

    Without a name it is ``$GOLDASSAY_MODEL`` (a GGUF file or a name), else the embedded ``local/smollm2-135m``;
    ``FILE.yaml:NAME`` is a model of a file of models (`goldassay.lm.choosing`).
    ``options`` go to ``dspy.LM``, but for ``rpm`` and ``tpm``: requests and tokens a minute that runs keep to
    (`goldassay.lm.limits`). Local models answer with temperature 0 and at most 256 tokens unless told otherwise,
    and take ``context`` (tokens, 4096), ``items`` and ``characters`` too (the bounds of arrays and of the strings in
    them where a schema states none), and ``slots``: how many requests the model works on at once, for as many threads.
    The file is looked for (and fetched, if it is the embedded one) here; it is loaded on the first call.

    >>> resolve("openai/gpt-4o-mini", max_tokens=50).model
    'openai/gpt-4o-mini'
    >>> resolve("local:absent.gguf")
    Traceback (most recent call last):
    goldassay.exceptions.ModelError: no such model file: absent.gguf; give a GGUF file as local:FILE.gguf
    """
    name = name or _default()
    found = listed(name)
    if found is not None:
        name, options = found[0], {**{key: value for key, value in found[1].items() if key != "adapter"}, **options}
    limits = {key: options.pop(key) for key in ("rpm", "tpm") if key in options}
    if not name.startswith(LOCAL):
        made = dspy.LM(name, **options)
        return limited(made, **limits) if limits else made
    own = {key: options.pop(key) for key in ("context", "items", "characters", "slots") if key in options}
    engine = LlamaEngine(name, **own)
    engine.check()
    settings = {"temperature": 0.0, "max_tokens": 256, **options}
    local = LocalLM(name, engine=engine, async_engine=AsyncLlamaEngine(engine), **settings)
    return limited(local, **limits) if limits else local


def _default() -> str:
    own = os.environ.get("GOLDASSAY_MODEL", "").strip()
    if not own:
        return DEFAULT
    if own.startswith(LOCAL) or not own.endswith(".gguf"):
        return own
    return f"local:{own}"


def adapter(lm: Any) -> dspy.Adapter | None:
    """The adapter that suits a model: the terse one for local models, DSPy's own choice (``None``) for others.

    >>> adapter(resolve("openai/gpt-4o-mini")) is None
    True
    """
    return TerseAdapter() if str(getattr(lm, "model", "")).startswith(LOCAL) else None


@dataclass(frozen=True)
class Model:
    """A language model with the adapter that suits it; all ``None`` for a program that needs none."""

    name: str | None = None
    lm: Any = None
    adapter: Any = None


def for_program(
    program: Any,
    name: str | None = None,
    options: Sequence[str] = (),
    adapter_name: str | None = None,
    cache: bool = True,
) -> Model:
    """The model that a program runs on, by its name as `resolve` takes it: none where it has no predictor.

    ``options`` are those of the model as words (``temperature=0.2``), ``adapter_name`` is one of `ADAPTERS`; without
    it the adapter is that of a file of models, or the one that suits the model. Without ``cache`` the model is asked
    also what DSPy's cache has.

    >>> import dspy
    >>> for_program(dspy.Module()).name is None
    True
    """
    if hasattr(program, "predictors") and not program.predictors():
        return Model()
    model = resolve(name, **options_of(options), **({} if cache else {"cache": False}))
    chosen = adapter_name or ((listed(name) or ("", {}))[1].get("adapter") if name else None)
    return Model(str(model.model), model, adapter_of(chosen) if chosen else adapter(model))


__all__ = [
    "ADAPTERS",
    "DEFAULT",
    "AsyncLlamaEngine",
    "Copied",
    "LlamaEngine",
    "LocalLM",
    "Model",
    "ModelError",
    "TerseAdapter",
    "adapter",
    "for_program",
    "limited",
    "resolve",
]

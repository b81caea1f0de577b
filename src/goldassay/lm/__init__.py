"""Language models by name: ``resolve("local/smollm2-135m")``, ``local:FILE.gguf``, or whatever ``dspy.LM`` takes.

Local models run in this process through xllamacpp (extra ``local``), on the processors that are idle when a model is
loaded, or on ``GOLDASSAY_LM_THREADS`` of them. Their answers are constrained by the JSON schema of the program's typed
outputs, so that even a very small model returns what parses.

A file of models is YAML, a model a name::

    small:
      model: openai/gpt-4o-mini
      temperature: 0
    ours:
      model: openai/llama
      api_base: http://127.0.0.1:8000/v1
      api_key_env: OUR_KEY        # the name of a variable of the environment; keys do not stand in files
      adapter: chat

and ``models.yaml:small`` names one of them wherever a model is asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import dspy

from goldassay._dspy_compat import LM_ERRORS
from goldassay.exceptions import DataError, GoldassayError, ModelError
from goldassay.files import yaml_value
from goldassay.lm.limits import limited
from goldassay.lm.lines import Asked, Copied
from goldassay.lm.local import AsyncLlamaEngine, LlamaEngine, LocalLM
from goldassay.lm.terse import TerseAdapter

DEFAULT = "local/smollm2-135m"
LOCAL = ("local/", "local:")
WHOLE = {"max_tokens": 1, "n": 1, "context": 1, "items": 1, "characters": 1, "slots": 1}
NUMBERS = {"temperature": 0.0, "top_p": 0.0, "presence_penalty": -2.0, "frequency_penalty": -2.0}
"""Options of models that are numbers, whole or not, with the least that each may be."""


def resolve(name: str | None = None, **options: Any) -> dspy.BaseLM:
    """A language model by its name.

    Without a name it is ``$GOLDASSAY_MODEL`` (a GGUF file or a name), else the embedded ``local/smollm2-135m``;
    ``FILE.yaml:NAME`` is a model of a file of models (`goldassay.lm`).
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
    _refuse_no_numbers(name, options)
    limits = {key: options.pop(key) for key in ("rpm", "tpm") if key in options}
    if not name.startswith(LOCAL):
        try:
            made = dspy.LM(name, **options)
        except (TypeError, ValueError, *LM_ERRORS) as error:
            raise ModelError(f"{name}: {' '.join(str(error).split())}") from None
        return limited(made, **limits) if limits else made
    own = {key: options.pop(key) for key in ("context", "items", "characters", "slots") if key in options}
    engine = LlamaEngine(name, **own)
    engine.check()
    settings = {"temperature": 0.0, "max_tokens": 256, **options}
    local = LocalLM(name, engine=engine, async_engine=AsyncLlamaEngine(engine), **settings)
    return limited(local, **limits) if limits else local


def _refuse_no_numbers(name: str, options: Mapping[str, object]) -> None:
    for key, value in options.items():
        least = WHOLE.get(key, NUMBERS.get(key))
        if least is None or value is None:
            continue
        kind, said = (int, "a whole number") if key in WHOLE else ((int, float), "a number")
        if isinstance(value, bool) or not isinstance(value, kind) or not value >= least:
            raise ModelError(f"{name}: {key} is {said} from {least:g} on, not {value!r}")


def _default() -> str:
    own = os.environ.get("GOLDASSAY_MODEL", "").strip()
    if not own:
        return DEFAULT
    if own.startswith(LOCAL) or not own.endswith(".gguf"):
        return own
    return f"local:{own}"


def adapter(lm: dspy.BaseLM) -> dspy.Adapter | None:
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
    program: dspy.Module,
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


ADAPTERS = ("chat", "json", "xml", "terse", "terse-json", "terse-lines", "terse-types")


def options_of(words: Sequence[str]) -> dict[str, object]:
    """``["temperature=0.2", "api_base=http://…"]`` as options; a value is JSON where it reads as JSON, else a text.

    >>> options_of(["temperature=0.2", "stop=[\\"END\\"]", "api_base=http://127.0.0.1:1/v1"])
    {'temperature': 0.2, 'stop': ['END'], 'api_base': 'http://127.0.0.1:1/v1'}
    """
    out: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise GoldassayError(f"--lm-option {word!r}: an option of a model is NAME=VALUE, such as temperature=0.2")
        try:
            out[name] = json.loads(value)
        except (ValueError, RecursionError):
            out[name] = value
    return out


def listed(name: str) -> tuple[str, dict[str, Any]] | None:
    """The model and options that ``FILE.yaml:NAME`` stands for; ``None`` for any other name."""
    place, _, wanted = name.rpartition(":")
    if not place.endswith((".yaml", ".yml")):
        return None
    models = yaml_value(place)
    if not isinstance(models, dict) or not all(isinstance(one, dict) and "model" in one for one in models.values()):
        raise DataError("a file of models maps names to mappings with a 'model'", file=place)
    if wanted not in models:
        near = get_close_matches(wanted, map(str, models), 1)
        raise DataError(
            f"no model {wanted!r}; there are {', '.join(map(str, models))}{f': {near[0]}?' if near else ''}", file=place
        )
    options = {str(key): value for key, value in models[wanted].items()}
    model = str(options.pop("model"))
    variable = options.pop("api_key_env", None)
    if variable is not None:
        if not os.environ.get(str(variable)):
            raise GoldassayError(f"{place}: {wanted} wants its key in ${variable}, which is not set")
        options["api_key"] = os.environ[str(variable)]
    return model, options


def adapter_of(name: str) -> dspy.Adapter:
    """An adapter by its name.

    >>> type(adapter_of("chat")).__name__, adapter_of("terse-lines").form
    ('ChatAdapter', 'lines')
    """
    if name not in ADAPTERS:
        raise GoldassayError(f"no adapter {name!r}; there are {', '.join(ADAPTERS)}")
    if name.startswith("terse"):
        return TerseAdapter(name.partition("-")[2] or "auto")
    made: dspy.Adapter = {"chat": dspy.ChatAdapter, "json": dspy.JSONAdapter, "xml": dspy.XMLAdapter}[name]()
    return made


__all__ = [
    "ADAPTERS",
    "DEFAULT",
    "Asked",
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

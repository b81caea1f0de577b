"""A model, its options and its adapter by name, as a command line or a file of models gives them.

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
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import dspy

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.lm.terse import TerseAdapter

ADAPTERS = ("chat", "json", "xml", "terse", "terse-json", "terse-lines")


def options_of(words: Sequence[str]) -> dict[str, Any]:
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
        except ValueError:
            out[name] = value
    return out


def listed(name: str) -> tuple[str, dict[str, Any]] | None:
    """The model and options that ``FILE.yaml:NAME`` stands for; ``None`` for any other name."""
    place, _, wanted = name.rpartition(":")
    if not place.endswith((".yaml", ".yml")):
        return None
    models = files.yaml_value(place)
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

"""Language models by name: ``resolve("local/smollm2-135m")``, ``local:FILE.gguf``, or any name that ``dspy.LM`` takes.

A file of models is YAML, one model a name::

    small:
      model: openai/gpt-4o-mini
      temperature: 0
    ours:
      model: openai/llama
      api_base: http://127.0.0.1:8000/v1
      api_key_env: OUR_KEY        # the name of an environment variable: keys do not belong in files
      adapter: chat

and ``models.yaml:small`` names one of them wherever a model is expected.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dspy

from goldassay._support.dspy_compat import LM_ERRORS
from goldassay._support.exceptions import DataError, GoldassayError, ModelError
from goldassay._support.files import yaml_value
from goldassay._support.secrets import remember
from goldassay.core.fields import Fields
from goldassay.models.lm.limits import limited
from goldassay.models.lm.local import LocalLM, located, require
from goldassay.models.lm.terse import TerseAdapter

DEFAULT_MODEL = "local/smollm2-135m"
LOCAL = ("local/", "local:")
YAML = (".yaml", ".yml")
REFUSED: tuple[type[Exception], ...] = (TypeError, ValueError, *LM_ERRORS)
ADAPTERS: dict[str, Callable[[], dspy.Adapter]] = {
    "chat": dspy.ChatAdapter,
    "json": dspy.JSONAdapter,
    "xml": dspy.XMLAdapter,
    "terse": TerseAdapter,
    "terse-json": partial(TerseAdapter, "json"),
    "terse-lines": partial(TerseAdapter, "lines"),
}


def resolve(name: str | None = None, **options: Any) -> dspy.BaseLM:
    """A language model by its name.

    A local model's file is found (and fetched, if it is the embedded one) here; it is loaded on the first call.

    Args:
        name: a model of ``dspy.LM``, ``local/NAME``, ``local:FILE.gguf``, or ``FILE.yaml:NAME`` for a model of a file
            of models; without it ``$GOLDASSAY_MODEL`` (a name or a GGUF file), else ``local/smollm2-135m``. Options may
            follow: ``openai/gpt-4o,temperature=0.2``.
        options: those of ``dspy.LM``; also ``rpm`` and ``tpm``, requests and tokens a minute (`limited`), and, for
            local models, ``context``, ``items``, ``characters`` and ``slots`` (`goldassay.models.lm.local.LocalLM`).

    Raises:
        ModelError: There is no such model, or it cannot be set up with these options.
        MissingExtra: A local model needs xllamacpp.

    >>> resolve("openai/gpt-4o-mini", max_tokens=50).model
    'openai/gpt-4o-mini'
    >>> resolve("local:absent.gguf")
    Traceback (most recent call last):
    goldassay._support.exceptions.ModelError: no such model file: absent.gguf; give a GGUF file as local:FILE.gguf
    """
    name, options_of_name = _named(name)
    options = {**options_of_name, **options}
    options.pop("adapter", None)
    limits = {key: options.pop(key) for key in ("rpm", "tpm") if key in options}
    if name.startswith(LOCAL):
        require()
        located(name)
    try:
        lm = LocalLM(name, **options) if name.startswith(LOCAL) else dspy.LM(name, **options)
    except REFUSED as error:
        raise ModelError(f"{name}: {' '.join(str(error).split())}") from None
    remember(lm)
    return limited(lm, **limits) if limits else lm


def adapter(lm: dspy.BaseLM) -> dspy.Adapter | None:
    """The adapter that suits a model: the terse one for local models, DSPy's own choice (None) for others.

    A predictor that is bound to another model gets DSPy's own form, too.

    >>> adapter(resolve("openai/gpt-4o-mini")) is None
    True
    """
    return TerseAdapter(others=dspy.ChatAdapter()) if str(getattr(lm, "model", "")).startswith(LOCAL) else None


@dataclass(frozen=True)
class Model:
    """A language model with the adapter that suits it; all None for a program that needs none."""

    name: str | None = None
    lm: dspy.BaseLM | None = None
    adapter: dspy.Adapter | None = None


def bound_model(program: object) -> dspy.BaseLM | None:
    """The model that a program's predictors are bound to (the first one's), if all of them are; else None.

    DSPy asks a predictor's own model before that of its settings.
    """
    bound = [predictor.lm for predictor in program.predictors()] if isinstance(program, dspy.Module) else []
    return bound[0] if bound and all(bound) else None


def answers_instead(lm: dspy.BaseLM, other: str) -> str:
    """What to do where a program is bound to a model and another one is named."""
    return (
        f"the program's predictors are bound to {lm.model}, so {other} would answer nothing: leave the model out, or"
        " unbind them where the program is made, by program.set_lm(None)"
    )


def check_bound(program: object, lm: object) -> None:
    """Refuse a model that would answer nothing, since the program's predictors are bound to another one.

    Raises:
        GoldassayError: It would.

    >>> program = dspy.Predict("question -> answer")
    >>> program.set_lm(dspy.LM("openai/own"))
    >>> check_bound(program, program.lm)
    >>> check_bound(program, dspy.LM("openai/other"))
    Traceback (most recent call last):
        ...
    goldassay._support.exceptions.GoldassayError: the program's predictors are bound to openai/own, so openai/other ...
    """
    own = bound_model(program)
    name = str(getattr(lm, "model", lm))
    if own is not None and lm is not None and name not in {str(p.lm.model) for p in program.predictors()}:  # type: ignore[attr-defined]
        raise GoldassayError(answers_instead(own, name))


def for_program(
    program: dspy.Module | Callable[..., Any],
    name: str | None = None,
) -> Model:
    """The model that a program runs on; none if the program has no predictor, or is a function and none is named.

    Args:
        program: the program.
        name: as `resolve` takes it; its option ``adapter`` is one of `ADAPTERS`, else the one that suits the model.
            Without a name it is the model that the program's predictors are bound to, if all of them are; else
            ``$GOLDASSAY_MODEL``, or the model that the program's file gave to ``dspy.configure``.

    Raises:
        GoldassayError: There is no such model or adapter, or all predictors are bound to another model.

    >>> import dspy
    >>> for_program(dspy.Module()).name is None, for_program(lambda text: {"label": "M"}).name is None
    (True, True)
    """
    is_named = bool(name or os.environ.get("GOLDASSAY_MODEL"))
    if not (program.predictors() if isinstance(program, dspy.Module) else is_named):
        return Model()
    lm = bound_model(program)
    if lm is not None and name is not None:
        other, _ = _named(name)  # without its options, one of which may be a key
        raise GoldassayError(answers_instead(lm, other))
    if lm is None and not is_named:
        lm = dspy.settings.lm
    if lm is not None:
        return Model(str(lm.model), lm, dspy.settings.adapter or adapter(lm))
    model = resolve(name)
    chosen = _named(name)[1].get("adapter")
    if chosen and chosen not in ADAPTERS:
        raise GoldassayError(f"no adapter {chosen!r}; there are {', '.join(ADAPTERS)}")
    return Model(str(model.model), model, ADAPTERS[chosen]() if chosen else adapter(model))


def _named(name: str | None) -> tuple[str, Fields]:
    """The model that a name means, and its options."""
    name, *settings = (name or "").split(",")
    options = options_of(settings)
    name = name or os.environ.get("GOLDASSAY_MODEL", "").strip() or DEFAULT_MODEL
    if name.endswith(".gguf") and not name.startswith(LOCAL):
        name = f"local:{name}"
    entry = _listed(name)
    return str(entry.pop("model", name)), {**entry, **options}


def options_of(words: Sequence[str]) -> Fields:
    """``["temperature=0.2", "api_base=http://…"]`` as options; a value that is not JSON is a text.

    Raises:
        GoldassayError: A word is not NAME=VALUE.

    >>> options_of(["temperature=0.2", "stop=[\\"END\\"]", "api_base=http://127.0.0.1:1/v1"])
    {'temperature': 0.2, 'stop': ['END'], 'api_base': 'http://127.0.0.1:1/v1'}
    """
    options = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise GoldassayError(f"an option of a model is NAME=VALUE, such as temperature=0.2, not {word!r}")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


def _listed(name: str) -> Fields:
    """The model and options of ``FILE.yaml:NAME``; empty for any other name."""
    if name.endswith(YAML):
        name = f"{name}:"
    file, _, key = name.rpartition(":")
    if not file.endswith(YAML):
        return {}
    models = yaml_value(file)
    entry = models.get(key) if isinstance(models, dict) else None
    if not isinstance(entry, dict) or "model" not in entry:
        names = f"there are {', '.join(map(str, models))}" if isinstance(models, dict) else "it has no names"
        message = f"no model {key!r}; {names}" if key else f"name one of its models, as {file}:NAME; {names}"
        raise DataError(f"{message} (a file of models maps names to a mapping with a 'model')", file=file)
    options = {str(option): value for option, value in entry.items()}
    if variable := options.pop("api_key_env", None):
        if not os.environ.get(str(variable)):
            raise GoldassayError(f"{file}: {key} takes its key from ${variable}, which is not set")
        options["api_key"] = os.environ[str(variable)]
    return options

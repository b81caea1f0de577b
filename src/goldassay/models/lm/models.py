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

There is one rate limit for each endpoint (model and address) in a process: all threads of a run, its judge and a
reflection model share it. It is a callback of the model (``dspy.utils.callback``) around token buckets of
`pyrate_limiter`: so many requests and tokens a minute, spread evenly, whoever asks. Calls that DSPy's cache answers
give their place back. Retries are DSPy's own (``num_retries``). Each process has limits of its own: the workers of a
Ray run call `share_among`, which gives each an equal part.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dspy
from pyrate_limiter import Duration, Limiter, Rate, SingleBucketFactory, StateBucket, TokenBucket

from goldassay._support.dspy_compat import LM_ERRORS, BaseCallback, history_entry
from goldassay._support.exceptions import DataError, GoldassayError, MissingExtra, ModelError
from goldassay._support.files import yaml_value
from goldassay._support.secrets import remember
from goldassay._support.workspace import settings_of
from goldassay.core.fields import Fields, JsonObject
from goldassay.models.lm.local import LocalLM, TerseAdapter, located

_limits: dict[tuple[str, str], EndpointLimit] = {}
_lock = threading.Lock()
_processes = 1


@dataclass
class CallNotes:
    """How many seconds calls have waited for a limit since `watch`."""

    waited: float = 0.0


_notes: ContextVar[CallNotes | None] = ContextVar("notes", default=None)


def watch() -> CallNotes:
    """Start to count in this context; replaces what was counted before."""
    notes = CallNotes()
    _notes.set(notes)
    return notes


class EndpointLimit:
    """The rate limits of one endpoint: calls `enter`, and `leave` with the tokens that they used.

    How many tokens an answer takes is known only afterwards, so a call reserves its prompt (four characters a token)
    and the running mean of what answers took besides.
    """

    def __init__(self, rpm: float | None, tpm: float | None) -> None:
        self.burst = max(1, int((tpm or 0) / 4))  # tokens that may start at once
        self.requests = _bucket(rpm, 1)
        self.tokens = _bucket(tpm, self.burst)
        self.mean = 0.0
        self.spare = 0  # places of calls that the cache answered
        self.lock = threading.Lock()

    def enter(self, prompt: float) -> None:
        """Wait until a call with about so many tokens in its prompt may start."""
        tokens = round(prompt + self.mean)
        free = self._wait(self.requests, 1)
        while free and tokens > 0:
            free = self._wait(self.tokens, min(tokens, self.burst))
            tokens -= self.burst

    def _wait(self, bucket: Limiter | None, weight: int) -> bool:
        """Wait for a bucket; False if a spare place came first."""
        poll = 0.02  # seconds after which a waiting call asks again
        while bucket and not bucket.try_acquire("call", weight, blocking=False):
            with self.lock:
                if self.spare:
                    self.spare -= 1
                    return False
            time.sleep(poll)
        return True

    def leave(self, prompt: float, used: float | None) -> None:
        """The call has ended: with so many tokens, or (None) from the cache."""
        with self.lock:
            if used is None:
                self.spare += 1
            else:
                self.mean += (max(used - prompt, 0.0) - self.mean) / 8


def _bucket(per_minute: float | None, burst: int) -> Limiter | None:
    if not per_minute:
        return None
    thousandths = max(1, round(1000 * per_minute / _processes))  # so that half a request a minute is a rate too
    rate = Rate(thousandths, 1000 * Duration.MINUTE, burst=burst)
    return Limiter(SingleBucketFactory(StateBucket([rate], algorithm=TokenBucket()), schedule_leak=False))


@dataclass(eq=False)
class RateLimit(BaseCallback):  # type: ignore[misc]
    """The callback that makes a model keep to its limits.

    Raises:
        GoldassayError: A limit is not a number above 0.

    >>> RateLimit(rpm=60)
    RateLimit(rpm=60, tpm=None)
    """

    rpm: float | None = None
    tpm: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("rpm", self.rpm), ("tpm", self.tpm)):
            if value is not None and (isinstance(value, bool | str) or not value > 0):
                raise GoldassayError(f"{name}: expected a number above 0 (a minute), got {value!r}")
        self.calls: dict[str, tuple[dspy.BaseLM, float]] = {}

    def endpoint(self, lm: dspy.BaseLM) -> EndpointLimit:
        """The limit of the model's endpoint in this process."""
        with _lock:
            return _limits.setdefault(_address(lm), EndpointLimit(self.rpm, self.tpm))

    def on_lm_start(self, call_id: str, instance: dspy.BaseLM, inputs: dict[str, object]) -> None:
        """Wait for a place. In asynchronous code this holds up the event loop."""
        prompt = len(str(inputs.get("messages") or inputs.get("prompt") or "")) / 4
        self.calls[call_id] = instance, prompt
        began = time.monotonic()
        self.endpoint(instance).enter(prompt)
        if notes := _notes.get():
            notes.waited += time.monotonic() - began

    def on_lm_end(self, call_id: str, outputs: Sequence[object] | None, exception: BaseException | None = None) -> None:
        """Count the tokens, or give the place back."""
        lm, prompt = self.calls.pop(call_id)
        entry = history_entry(lm, outputs)
        usage = entry.get("usage") or {}
        cached = bool(entry) and not usage
        self.endpoint(lm).leave(prompt, None if cached else float(usage.get("total_tokens") or prompt))


def _address(lm: dspy.BaseLM) -> tuple[str, str]:
    return str(lm.model), str(lm.kwargs.get("api_base") or lm.kwargs.get("base_url") or "")


def limited(lm: dspy.BaseLM, rpm: float | None = None, tpm: float | None = None) -> dspy.BaseLM:
    """The same model, which from now on is called no more often than this.

    Raises:
        GoldassayError: A limit is not a number above 0.

    >>> limited(dspy.LM("openai/gpt-4o-mini"), rpm=500).callbacks
    [RateLimit(rpm=500, tpm=None)]
    """
    limit = RateLimit(rpm, tpm)
    with _lock:
        _limits.pop(_address(lm), None)
    lm.callbacks.append(limit)
    return lm


def share_among(processes: int) -> None:
    """Give this process an equal part of every limit: it is one of several that ask the same endpoints."""
    global _processes
    _processes = processes


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
        if find_spec("xllamacpp") is None:
            raise MissingExtra("xllamacpp", "local", "; or name another model (`lm=openai/gpt-4o-mini`)")
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
    """The advice where a program is bound to a model and another one is named."""
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
    bound = bound_model(program)
    name = str(getattr(lm, "model", lm))
    if bound is not None and lm is not None and name not in {str(p.lm.model) for p in program.predictors()}:  # type: ignore[attr-defined]
        raise GoldassayError(answers_instead(bound, name))


def for_program(
    program: dspy.Module | Callable[..., object],
    name: str | None = None,
    file: Path | None = None,
) -> Model:
    """The model that a program runs on; none if the program has no predictor, or is a function and none is named.

    Args:
        program: the program.
        name: as `resolve` takes it; its option ``adapter`` is one of `ADAPTERS`, else the one that suits the model.
            Without a name it is the model that the program's predictors are bound to, if all of them are; else
            ``$GOLDASSAY_MODEL``, or the model that the program's file gave to ``dspy.configure``.
        file: the program's file, where other files (of programs, of the metric) may configure models, too.

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
    settings = settings_of(file)
    if lm is None and not is_named:
        lm = settings["lm"]
    if lm is not None:
        return Model(str(lm.model), lm, settings["adapter"] or adapter(lm))
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


def options_of(words: Sequence[str]) -> JsonObject:
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


def _listed(name: str) -> JsonObject:
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

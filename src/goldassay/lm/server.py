"""GGUF files in the memory of this process, each loaded once."""

from __future__ import annotations

import importlib
import importlib.util
import os
import secrets
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay.exceptions import MissingExtra, ModelError


@dataclass(frozen=True)
class Loaded:
    """A loaded model. It answers ``slots`` requests at a time; ``server`` must stay referenced, or the model goes."""

    server: Any
    slots: int = 1
    free: threading.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "free", threading.Semaphore(self.slots))

    def ask(self, body: dict[str, Any]) -> Any:
        """The answer to the body of a chat completion."""
        with self.free:
            return self.server.handle_chat_completions(body)


_LOADED: dict[tuple[str, int, int], Loaded] = {}
_LOCK = threading.Lock()


def loaded(file: Path, context: int, slots: int = 1) -> Loaded:
    """The model of a file with a context of so many tokens for each of its slots, loaded on first use."""
    key = (str(file.resolve()), context, slots)
    with _LOCK:
        if key not in _LOADED:
            _LOADED[key] = Loaded(_load(file, context, slots), slots)
        return _LOADED[key]


def require() -> None:
    """MissingExtra where xllamacpp is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra("xllamacpp", "local")


def library() -> Any:
    """xllamacpp, imported when it is first used."""
    require()
    return importlib.import_module("xllamacpp")


def threads() -> int:
    """How many threads a model computes on: ``$GOLDASSAY_LM_THREADS``, else the processors that are idle now.

    llama.cpp's threads wait for each other, so on a busy machine two are slower than one.
    """
    text = os.environ.get("GOLDASSAY_LM_THREADS", "").strip()
    if not text:
        return idle()
    if not text.isdecimal() or int(text) < 1:
        raise ModelError(f"GOLDASSAY_LM_THREADS is {text!r}; it takes a whole number of threads, 1 or more")
    return int(text)


def idle(load: Path = Path("/proc/loadavg"), most: int = 8) -> int:
    """Processors of this process that nothing else computes on (Linux says what runs; elsewhere 1), at least 1."""
    try:
        running = int(load.read_text(encoding="ascii").split()[3].split("/")[0]) - 1  # this thread runs too
        return max(1, min(most, len(os.sched_getaffinity(0)) - running))
    except (OSError, AttributeError, IndexError, ValueError):
        return 1


def _load(file: Path, context: int, slots: int = 1) -> Any:
    xllamacpp = library()
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx, params.n_parallel, params.cache_ram_mib = context * slots, slots, 0
    params.verbosity = -1  # nothing of llama.cpp's own on standard output or error
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads()
    # xllamacpp opens a port with every model; nothing here uses it, and without this key nobody else can.
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [secrets.token_urlsafe()]
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError, OSError) as error:
        raise ModelError(f"llama.cpp cannot load {file}: {error}; is the file whole, and is there memory?") from None

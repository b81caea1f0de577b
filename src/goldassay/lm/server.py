"""GGUF files in the memory of this process, each loaded once, and what is asked of them.

A canonical request of DSPy becomes the body of llama.cpp's chat completion; its JSON schema gets bounds, so that a
constrained answer ends before the tokens do, and becomes a grammar.

Array and string limits that a schema states are kept. DSPy drops the limits of a top-level output field's annotation,
so without bounds here a small model fills a list until ``max_tokens``.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dspy.lm15 import TextPart

from goldassay.exceptions import MissingExtra, ModelError
from goldassay.lm.files import end_tokens
from goldassay.lm.grammar import CHARACTERS, ITEMS, TOP_CHARACTERS, bounded, copied, of_lines
from goldassay.lm.lines import Lines


@dataclass(frozen=True)
class Loaded:
    """A loaded model, with the tokens that end its turn. It answers ``slots`` requests at a time; ``server`` must stay
    referenced, or the model goes."""

    server: Any
    slots: int = 1
    ends: tuple[int, ...] = ()
    free: threading.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "free", threading.Semaphore(self.slots))

    def ask(self, body: dict[str, object]) -> Any:
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
            _LOADED[key] = Loaded(_load(file, context, slots), slots, end_tokens(file))
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


FORM, COPY = "x-form", "x-copy"  # what the adapter says of an answer beside its schema
SAMPLING = ("top_p", "top_k", "seed", "frequency_penalty", "presence_penalty")


def body(request: Any, items: int, characters: int, ends: Sequence[int] = ()) -> dict[str, object]:
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
        made["grammar"] = written(schema, messages[-1]["content"], items, characters, ends)
    return made


def written(
    schema: Mapping[str, Any], asked: str, items: int = ITEMS, characters: int = CHARACTERS, ends: Sequence[int] = ()
) -> str:
    """The grammar of an answer: as lines where the adapter asked for them, else JSON.

    Args:
        schema: What is wanted.
        asked: The last message, from whose words copied fields are copied.
        items: The most items of a list whose schema states no limit.
        characters: The most characters of a text in a list, likewise.
        ends: The tokens that end the model's turn.
    """
    source = _source(asked, schema.get(COPY) or {})
    form = Lines.of(schema) if schema.get(FORM) == "lines" else None
    if form is not None:
        return of_lines(form, source, items, characters, TOP_CHARACTERS, ends)
    plain = {key: part for key, part in schema.items() if key not in (FORM, COPY)}
    return grammar(bounded(copied(plain, source, characters), items, characters))


def _source(asked: str, inputs: Mapping[str, bool]) -> str:
    """What may be copied of a message: the values of those inputs of which it is said, without their names."""
    if not inputs:
        return ""
    first, *parts = re.split(rf"^({'|'.join(map(re.escape, inputs))}): ", asked, flags=re.MULTILINE)
    named = zip(parts[::2], parts[1::2], strict=True)
    return "\n".join(text for text in (first, *(value for name, value in named if inputs[name])) if text.strip())


def _text(parts: Any) -> str:
    return parts if isinstance(parts, str) else "".join(part.text for part in parts if isinstance(part, TextPart))


# One line, with the separators of json.dumps: what the demonstrations look like, at two thirds of the tokens.
COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


def grammar(schema: dict[str, object]) -> str:
    """llama.cpp's grammar of a schema; answers come on one line where the build has llguidance (the wheels have)."""
    made: str = library().json_schema_to_grammar(json.dumps({**schema, "x-guidance": COMPACT}))
    return made

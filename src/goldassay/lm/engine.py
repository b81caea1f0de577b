"""A GGUF file in this process, as an engine for ``dspy.LM``; answers are constrained by the adapter's JSON schema."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any, ClassVar

from dspy.lm15 import Message, Response, TextPart, Usage

from goldassay.exceptions import MissingExtra, ModelError
from goldassay.lm import truncation
from goldassay.lm.repair import complete as completed
from goldassay.lm.schema import bounded

_SERVERS: dict[tuple[str, int], Any] = {}
_LOCK = threading.Lock()


def server(file: Path, context: int) -> Any:
    """The model of a file, loaded once per process."""
    key = (str(file.resolve()), context)
    with _LOCK:
        if key not in _SERVERS:
            _SERVERS[key] = _load(file, context)
        return _SERVERS[key]


def _load(file: Path, context: int) -> Any:
    try:
        import xllamacpp
    except ImportError:
        raise MissingExtra("xllamacpp", "local") from None
    threads = int(os.environ.get("GOLDASSAY_LM_THREADS", "0")) or max(1, min(4, (os.cpu_count() or 1)))
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx, params.n_parallel, params.cache_ram_mib, params.verbosity = context, 1, 0, -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.hostnames, params.port = ["127.0.0.1"], 0
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError, OSError) as error:
        raise ModelError(f"{file} could not be loaded: {error}") from None


class LlamaEngine:
    """Answers requests of ``dspy.LM`` with a local model. Saved programs name the file; it is loaded on first use."""

    supports_function_calling: ClassVar[bool] = False
    supports_reasoning: ClassVar[bool] = False
    supports_response_schema: ClassVar[bool] = True
    supported_params: ClassVar[frozenset[str]] = frozenset(
        {"response_format", "temperature", "max_tokens", "stop", "seed"}
    )

    def __init__(self, file: Path | str, context: int = 4096) -> None:
        self.file, self.context = Path(file), context
        self._busy = threading.Lock()

    def complete(self, request: Any) -> Response:
        """One chat completion; an answer that was cut short keeps its complete parts and ends with ``length``."""
        model = server(self.file, self.context)
        with self._busy:
            reply = model.handle_chat_completions(_body(request))
        if "choices" not in reply:
            raise ModelError(_why(reply, self.context))
        choice, usage = reply["choices"][0], reply["usage"]
        text, reason = choice["message"]["content"], choice["finish_reason"]
        if reason == "length" and request.config.response_format:
            text, _ = completed(text)
            truncation.note(request.model)
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant([TextPart(text)]),
            finish_reason="length" if reason == "length" else "stop",
            usage=Usage(
                input_tokens=usage["prompt_tokens"],
                output_tokens=usage["completion_tokens"],
                total_tokens=usage["prompt_tokens"] + usage["completion_tokens"],
            ),
        )

    def dump_state(self) -> dict[str, Any]:
        """The file and the context size; no weights."""
        return {"file": str(self.file), "context": self.context}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> LlamaEngine:
        """The engine again; the file is not opened before the first call."""
        return cls(state["file"], state["context"])


class AsyncLlamaEngine:
    """The same engine for ``acall``: the model runs in a thread."""

    def __init__(self, engine: LlamaEngine) -> None:
        self.engine = engine

    async def complete(self, request: Any) -> Response:
        """One chat completion."""
        return await asyncio.to_thread(self.engine.complete, request)

    def dump_state(self) -> dict[str, Any]:
        """As the engine inside."""
        return self.engine.dump_state()

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> AsyncLlamaEngine:
        """The engine again."""
        return cls(LlamaEngine.load_state(state))


def _body(request: Any) -> dict[str, Any]:
    config = request.config
    messages = [{"role": "system", "content": _text(request.system)}] if request.system else []
    messages += [{"role": message.role, "content": _text(message.parts)} for message in request.messages]
    body: dict[str, Any] = {
        "messages": messages,
        "temperature": config.temperature or 0.0,
        "max_tokens": config.max_tokens or 256,
        "cache_prompt": True,
    }
    if config.seed is not None:
        body["seed"] = config.seed
    if config.stop:
        body["stop"] = list(config.stop)
    wanted = config.response_format
    if wanted and wanted.get("type") == "json_schema":
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": bounded(wanted["schema"])},
        }
    elif wanted:
        body["response_format"] = {"type": "json_object"}
    return body


def _text(parts: Any) -> str:
    return parts if isinstance(parts, str) else "".join(part.text for part in parts if isinstance(part, TextPart))


def _why(reply: Any, context: int) -> str:
    error = reply.get("error", reply) if isinstance(reply, dict) else reply
    text = " ".join(str(error.get("message", error) if isinstance(error, dict) else error).split())
    if "context" in text:
        return f"the prompt does not fit the model's context of {context} tokens; show fewer or shorter examples ({text})"
    return f"the local model gave no answer: {text[:300]}"

"""A GGUF file in this process, as an engine for ``dspy.LM``; answers are constrained by the adapter's JSON schema.

An answer that was cut short keeps its complete parts. What a constrained model writes is JSON up to the point where the
tokens ended. Of that, complete fields and complete items of lists are kept. Text that was being written as a field of
its own is kept as far as it goes, like any answer that ends at ``max_tokens``; anything else that was begun is dropped.
`watch` gathers which answers were cut short while an example was worked on.

DSPy turns whatever an engine raises into its own ``LMError``. What a local model can fail with is both, and DSPy hands
it on as it is: a `ModelError` for goldassay, and an ``LMError`` for programs that catch DSPy's.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextvars import ContextVar
from typing import Any, ClassVar

import dspy
from dspy.lm15 import Message, Response, TextPart, Usage

from goldassay._dspy_compat import LM_ERRORS, ContextWindowExceededError
from goldassay.exceptions import GoldassayError, ModelError
from goldassay.lm.files import located
from goldassay.lm.grammar import CHARACTERS, ITEMS
from goldassay.lm.server import body, loaded, require


class LocalLM(dspy.LM):  # type: ignore[misc]
    """A local model as DSPy's LM.

    An answer that ended at ``max_tokens`` has the finish reason ``length`` in ``history[-1]["response"]``, and is
    reported to `goldassay.lm.local` whether the model made it now or DSPy's cache had it.
    """

    def update_history(self, entry: dict[str, object]) -> None:
        """Keep the call as DSPy does, and note a cut answer."""
        super().update_history(entry)
        found = entry["response"]
        for response in found if isinstance(found, (list, tuple)) else [found]:
            if getattr(response, "finish_reason", None) == "length":
                note(self.model)


class LocalModelError(ModelError, *LM_ERRORS):  # type: ignore[misc]
    """A local model could not be loaded, or gave no answer."""


class PromptTooLongError(LocalModelError, ContextWindowExceededError, ValueError):  # type: ignore[misc]
    """The prompt does not fit the context of a local model.

    DSPy's agents catch it and shorten their history; its InferRules, which shows fewer examples then, wants a
    ``ValueError``.
    """

    def __init__(self, message: str) -> None:
        ContextWindowExceededError.__init__(self, message=message)


_CUT: ContextVar[list[str] | None] = ContextVar("cut", default=None)


def watch() -> list[str]:
    """A list that the engines called from here on add to, one entry per answer that was cut short."""
    found: list[str] = []
    _CUT.set(found)
    return found


def note(model: str) -> None:
    """An answer of this model was cut short."""
    found = _CUT.get()
    if found is not None:
        found.append(model)


class LlamaEngine:
    """Answers requests of ``dspy.LM`` with a local model, which is loaded on the first call.

    The engine itself holds a name and numbers, so it is cheap to copy, to pickle and to save with a program; all
    engines of a file share one model, which takes ``slots`` requests at a time.

    Args:
        context: Tokens of a prompt and its answer together.
        items: The most items of a list whose schema states no limit.
        characters: The most characters of a text in a list, likewise.
    """

    supports_function_calling: ClassVar[bool] = False
    supports_reasoning: ClassVar[bool] = False
    supports_response_schema: ClassVar[bool] = True
    supported_params: ClassVar[frozenset[str]] = frozenset(
        {"response_format", "temperature", "max_tokens", "stop", "seed", "top_p", "top_k"}
        | {"frequency_penalty", "presence_penalty"}
    )

    def __init__(
        self, name: str, context: int = 4096, items: int = ITEMS, characters: int = CHARACTERS, slots: int = 1
    ) -> None:
        if slots < 1:
            raise GoldassayError(f"a model has at least one slot, not {slots}")
        self.name, self.context, self.items, self.characters, self.slots = name, context, items, characters, slots

    def check(self) -> None:
        """Whether the extra is installed and the file is there; an embedded model's file is fetched."""
        require()
        located(self.name)

    def complete(self, request: Any) -> Response:
        """One chat completion; a constrained answer that was cut short keeps its complete parts."""
        try:
            model = loaded(located(self.name), self.context, self.slots)
            reply = model.ask(body(request, self.items, self.characters, model.ends))
        except GoldassayError as error:
            raise LocalModelError(str(error)) from error
        if "choices" not in reply:
            raise _refusal(reply, self.name, self.context)
        choice, usage = reply["choices"][0], reply["usage"]
        text, cut = choice["message"]["content"] or "", choice["finish_reason"] == "length"
        if cut and request.config.response_format:
            text = complete(text)[0] if text.lstrip().startswith("{") else _whole_lines(text)
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant([TextPart(text)]),
            finish_reason="length" if cut else "stop",
            usage=Usage(
                input_tokens=usage["prompt_tokens"],
                output_tokens=usage["completion_tokens"],
                total_tokens=usage["prompt_tokens"] + usage["completion_tokens"],
            ),
        )

    def dump_state(self) -> dict[str, object]:
        """The model's name and the bounds; no weights, no path of this machine."""
        return {name: getattr(self, name) for name in ("name", "context", "items", "characters", "slots")}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> LlamaEngine:
        """The engine again; nothing is looked for before the first call."""
        return cls(**state)


class AsyncLlamaEngine:
    """The same engine for ``acall``: the model runs in a thread."""

    def __init__(self, engine: LlamaEngine) -> None:
        self.engine = engine

    async def complete(self, request: Any) -> Response:
        """One chat completion."""
        return await asyncio.to_thread(self.engine.complete, request)

    def dump_state(self) -> dict[str, object]:
        """As the engine inside."""
        return self.engine.dump_state()

    @classmethod
    def load_state(cls, state: dict[str, object]) -> AsyncLlamaEngine:
        """The engine again."""
        return cls(LlamaEngine.load_state(state))


def _whole_lines(text: str) -> str:
    """The lines that were finished; a single one is kept as far as it goes."""
    return text.rpartition("\n")[0] or text


def _refusal(reply: Any, name: str, context: int) -> LocalModelError:
    """The error of llama.cpp as ours."""
    error = reply.get("error", reply) if isinstance(reply, dict) else reply
    if not isinstance(error, dict):
        error = {"message": error}
    if error.get("type") == "exceed_context_size_error":
        return PromptTooLongError(
            f"the prompt has {error.get('n_prompt_tokens', 'too many')} tokens, {name} takes {context}; "
            "show fewer or shorter examples, or ask for more with lm.resolve(name, context=…)"
        )
    return LocalModelError(f"{name} gave no answer: {' '.join(str(error.get('message', error)).split())[:300]}")


DECODER = json.JSONDecoder()
KEY = re.compile(r'\s*,?\s*("(?:[^"\\]|\\.)*")\s*:\s*')
AFTER = re.compile(r"[\s,\]}]")
BETWEEN = re.compile(r"[\s,]*")


def complete(text: str) -> tuple[str, bool]:
    """The JSON object that a cut answer surely holds, and whether anything was cut off.

    >>> complete('{"entities": [{"type": "TOP", "text": "Delft"}, {"type": "TM')
    ('{"entities": [{"type": "TOP", "text": "Delft"}]}', True)
    >>> complete('{"entities": [{"type": "TOP"')
    ('{"entities": []}', True)
    >>> complete('{"label": "Museum"}')
    ('{"label": "Museum"}', False)
    """
    try:
        json.loads(text)
    except json.JSONDecodeError:
        start = text.find("{")
        return (json.dumps(_fields(text, start + 1), ensure_ascii=False) if start >= 0 else text), True
    return text, False


def _fields(text: str, place: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    while key := KEY.match(text, place):
        whole = _value(text, key.end())
        if whole is None:
            part = _begun(text, key.end())
            return fields if part is None else {**fields, json.loads(key[1]): part}
        fields[json.loads(key[1])], place = whole
    return fields


def _value(text: str, place: int) -> tuple[Any, int] | None:
    """A complete value and where it ends. A number with nothing after it may lack digits."""
    try:
        value, end = DECODER.raw_decode(text, place)
    except json.JSONDecodeError:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    unsure = number and not AFTER.match(text, end)
    return None if unsure else (value, end)


def _begun(text: str, place: int) -> Any:
    """What is sure of a value that was cut: the complete items of a list, the words of a text so far."""
    if text[place : place + 1] == "[":
        items, place = [], place + 1
        while found := _value(text, _skip(text, place)):
            items.append(found[0])
            place = found[1]
        return items
    if text[place : place + 1] == '"':
        for end in range(len(text), max(place, len(text) - 12), -1):  # the end may cut an escape (\ud83d\ude00) in two
            if found := _value(f'{text[place:end]}"', 0):
                return found[0].encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
    return None


def _skip(text: str, place: int) -> int:
    found = BETWEEN.match(text, place)
    return found.end() if found else place

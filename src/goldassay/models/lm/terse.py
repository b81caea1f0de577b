"""A short prompt for small models: instructions, ``name: value`` lines, compact JSON demonstrations."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, get_args, get_origin

import dspy
from pydantic import PydanticUserError, create_model

from goldassay._support.dspy_compat import serialize_for_json
from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import Fields, JsonObject
from goldassay.models.lm.grammar import TEXT_CHARACTERS, Lines, json_grammar, text_limits, texts
from goldassay.models.lm.local import LocalLM

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
        if self.others is not None and not isinstance(lm, LocalLM):
            answered_by_other: list[JsonObject] = self.others(lm, lm_kwargs, signature, demos, inputs)
            return answered_by_other
        options = dict(lm_kwargs)
        adapter: type[dspy.Adapter] = dspy.JSONAdapter
        if isinstance(lm, LocalLM):
            options["extra_body"] = {"grammar": self.grammar(lm, signature, inputs, demos)}
            adapter = dspy.Adapter
        answers: list[JsonObject] = adapter.__call__(self, lm, options, signature, demos, inputs)
        if isinstance(lm, LocalLM):
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

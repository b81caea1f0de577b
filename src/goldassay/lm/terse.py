"""A short prompt for very small models: instructions, ``name: value`` lines, compact JSON demonstrations."""

from __future__ import annotations

import json
from typing import Any, Literal, get_args, get_origin

import dspy
from dspy.adapters.utils import serialize_for_json


class TerseAdapter(dspy.JSONAdapter):  # type: ignore[misc]
    """JSON under a schema, with about half the words of DSPy's own prompt.

    What a field means stays in the prompt when the signature describes it, and so do the labels of an output that is a
    choice of a few; the form of the answer is left to the schema.

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

    def format_system_message(self, signature: Any) -> str:
        """The instructions, then a line for each field that is described or is a choice of labels."""
        lines = [str(signature.instructions)]
        for name, field in signature.fields.items():
            about = (field.json_schema_extra or {}).get("desc") or ""
            about = "" if about == f"${{{name}}}" else about
            labels = _labels(field.annotation) if name in signature.output_fields else ""
            if about or labels:
                lines.append(f"{name}: {'; '.join(part for part in (about, labels) if part)}")
        return "\n".join(lines)

    def user_message_output_requirements(self, signature: Any) -> str | None:
        """None: the schema says it."""
        return None

    def format_user_message_content(
        self, signature: Any, inputs: dict[str, Any], prefix: str = "", suffix: str = "", main_request: bool = False
    ) -> str:
        """The inputs, a line each."""
        return "\n".join(f"{name}: {_plain(inputs[name])}" for name in signature.input_fields if name in inputs)

    def format_assistant_message_content(
        self, signature: Any, outputs: dict[str, Any], missing_field_message: Any = None
    ) -> str:
        """The outputs that there are, as one line of JSON."""
        known = [name for name in signature.output_fields if outputs.get(name) is not None]
        return json.dumps({name: serialize_for_json(outputs[name]) for name in known}, ensure_ascii=False)


def _labels(annotation: Any) -> str:
    return ", ".join(map(str, get_args(annotation))) if get_origin(annotation) is Literal else ""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(serialize_for_json(value), ensure_ascii=False)

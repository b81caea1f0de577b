"""A short prompt for very small models: instructions, ``name: value`` lines, compact JSON demonstrations."""

from __future__ import annotations

import json
from typing import Any

import dspy
from dspy.adapters.utils import serialize_for_json


class TerseAdapter(dspy.JSONAdapter):  # type: ignore[misc]
    """JSON under a schema, with about half the words of DSPy's own prompt. What a field means stays in the prompt when
    the signature describes it."""

    def format_system_message(self, signature: Any) -> str:
        """The instructions, and the descriptions of described fields."""
        lines = [str(signature.instructions)]
        for name, field in signature.fields.items():
            about = (field.json_schema_extra or {}).get("desc") or ""
            if about and about != f"${{{name}}}":
                lines.append(f"{name}: {about}")
        return "\n".join(lines)

    def user_message_output_requirements(self, signature: Any) -> str | None:
        """None: the schema says it."""
        return None

    def format_user_message_content(
        self, signature: Any, inputs: dict[str, Any], prefix: str = "", suffix: str = "", main_request: bool = False
    ) -> str:
        """The inputs, a line each."""
        return "\n".join(f"{name}: {inputs[name]}" for name in signature.input_fields if name in inputs)

    def format_assistant_message_content(
        self, signature: Any, outputs: dict[str, Any], missing_field_message: Any = None
    ) -> str:
        """The outputs as compact JSON."""
        answer = {name: serialize_for_json(outputs.get(name)) for name in signature.output_fields}
        return json.dumps(answer, ensure_ascii=False)

"""The entry point of the extension ``interop``."""

from __future__ import annotations

from goldassay._support.extensions import Extension

TOOLS = (
    *("Inspect", "promptfoo", "deepeval", "MLflow", "OpenTelemetry"),
    *("Phoenix", "Langfuse", "LangSmith", "chats", "dspy.Evaluate"),
)

extension = Extension(
    "interop",
    formats={"traces": "goldassay.ext.interop.traces:TRACES"},
    readers=dict.fromkeys(TOOLS, "goldassay.ext.interop.logs:read_place"),
)

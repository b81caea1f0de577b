"""What the tests of tuning share."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest

RULE = "Find names. A number is TMP. A museum is MUS."


class Reflector:
    """Proposes the rule; at call ``stop`` it interrupts its own process, as Ctrl-C does."""

    def __init__(self, text: str = json.dumps({"new_instruction": RULE}), stop: int = 0) -> None:
        self.text, self.stop, self.calls = text, stop, 0

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        self.calls += 1
        if self.calls == self.stop:
            os.kill(os.getpid(), signal.SIGINT)
        if self.text == "refuse":
            raise ConnectionError("the service is gone")
        parts = [TextPart(self.text)]
        return Response(
            id=None, model=request.model, message=Message.assistant(parts), finish_reason="stop", usage=Usage()
        )


def scripted(engine: Any) -> Any:
    """A model of an engine."""
    import dspy

    return dspy.LM("scripted/engine", engine=engine, cache=False)


@pytest.fixture
def reflector() -> Any:
    """A function of a text that makes a model which answers so; without a text it proposes the rule."""
    return lambda *text: scripted(Reflector(*text))


@pytest.fixture
def lm(learner: Any) -> Any:
    """The scripted model that learns from its prompt."""
    return scripted(learner)

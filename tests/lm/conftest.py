"""A scripted model in the place of llama.cpp, and a cache of DSPy's that no other test sees."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay.lm import local as engine
from goldassay.lm.server import Loaded


class Scripted:
    """Answers chat completions from a list, the last one again and again; keeps what it was asked."""

    def __init__(self, *replies: Any, pause: float = 0.0) -> None:
        self.replies, self.pause = list(replies), pause
        self.bodies: list[dict[str, Any]] = []
        self.inside = self.most = 0
        self.count = threading.Lock()

    def handle_chat_completions(self, body: dict[str, Any]) -> Any:
        with self.count:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(self.pause)
        self.bodies.append(body)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        with self.count:
            self.inside -= 1
        return reply if isinstance(reply, dict) else answer(reply)


def answer(text: str, reason: str = "stop", prompt: int = 11, completion: int = 7) -> dict[str, Any]:
    """What llama.cpp returns."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": reason}], "usage": usage}


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scripted]:
    """Loads a scripted model under every local name."""

    def load(*replies: Any, pause: float = 0.0) -> Scripted:
        model = Scripted(*replies, pause=pause)
        one = Loaded(model)
        monkeypatch.setattr(engine, "located", Path)
        monkeypatch.setattr(engine, "loaded", lambda file, context, slots=1: one)
        return model

    return load


@pytest.fixture(autouse=True)
def fresh_cache() -> Iterator[None]:
    """DSPy's cache, in memory and empty."""
    module: Any = dspy
    before = module.cache
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)
    yield
    module.cache = before

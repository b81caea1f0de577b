"""A scripted server in the place of llama.cpp, and a cache of DSPy's that no other test sees."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay.models.lm import local
from goldassay.models.lm.local import Server


class Scripted(ThreadingHTTPServer):
    """Answers chat completions from a list, the last one again and again; ``bodies`` are the requests.

    A reply is a text, a whole response, or a function of the request.
    """

    daemon_threads = True

    def __init__(self, *replies: Any) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies = list(replies)
        self.bodies: list[dict[str, Any]] = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: Any = self.server
        server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        reply = server.replies.pop(0) if len(server.replies) > 1 else server.replies[0]
        reply = reply(server.bodies[-1]) if callable(reply) else reply
        reply = reply if isinstance(reply, dict) else answer(reply)
        data = json.dumps(reply).encode()
        self.send_response(reply.get("error", {}).get("code", 200))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


def answer(text: str, reason: str = "stop", prompt: int = 11, completion: int = 7) -> dict[str, Any]:
    """What llama.cpp returns."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    about = {"id": "1", "object": "chat.completion", "created": 1, "model": "any"}
    return {**about, "choices": [choice], "usage": usage}


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Scripted]]:
    """Starts a scripted server for every local name."""
    servers: list[Scripted] = []

    def load(*replies: Any) -> Scripted:
        server = Scripted(*replies)
        servers.append(server)
        address = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setattr("goldassay.models.lm.models.located", Path)
        monkeypatch.setattr(local, "located", Path)
        monkeypatch.setattr(local, "_loaded", lambda *_: Server(server, address, "key", (2,)))
        return server

    yield load
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def fresh_cache() -> Iterator[None]:
    """DSPy's cache, in memory and empty."""
    module: Any = dspy
    before = module.cache
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)
    yield
    module.cache = before

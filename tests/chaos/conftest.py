"""A small OpenAI-shaped server on the loopback that misbehaves as it is told."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.nightly import by_day

ROOM = 3  # calls that a crowded endpoint takes at once
FOUND = '[[ ## years ## ]]\n["1885"]\n\n[[ ## completed ## ]]'


class Endpoint:
    """``mode`` is how the next requests are answered; ``calls`` counts them."""

    def __init__(self) -> None:
        self.mode, self.calls = "well", 0
        self.elsewhere = ""
        self.reply: Callable[[list[dict[str, str]]], str] = lambda messages: FOUND  # of an endpoint that is well
        self.busy = self.most = self.refused = 0
        self.times: list[float] = []
        self.stop = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self.stop.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                pass

            body = b""

            def do_POST(self) -> None:
                self.body = self.rfile.read(int(self.headers.get("content-length") or 0))
                with endpoint._lock:
                    endpoint.calls += 1
                    number = endpoint.calls
                    endpoint.busy += 1
                    endpoint.most = max(endpoint.most, endpoint.busy)
                    endpoint.times.append(time.monotonic())
                try:
                    endpoint.answer(self, endpoint.mode, number)
                finally:
                    with endpoint._lock:
                        endpoint.busy -= 1

        return Handler

    def answer(self, to: BaseHTTPRequestHandler, mode: str, number: int) -> None:
        """Answer one request; the modes are those of `MODES`."""
        if mode == "alternating":
            mode = "well" if number % 2 else "500"
        elif mode == "503, then well":
            mode = "503" if number <= 2 else "well"
        if mode == "crowded":
            mode = "slow" if self.busy <= ROOM else "429"
            self.refused += mode == "429"
        elif mode == "429 with Retry-After, then well":
            mode = "well" if number > 3 else "429 for three seconds"
        if mode == "dead":
            to.close_connection = True
            to.connection.close()
        elif mode == "hanging":
            self.stop.wait(30)
        elif mode == "reset midway":
            whole = completion(FOUND)
            self.send(to, 200, whole[:20], length=len(whole))
            to.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            to.connection.close()
        elif mode == "elsewhere":
            to.send_response(307)
            to.send_header("location", f"{self.elsewhere}/chat/completions")
            to.send_header("content-length", "0")
            to.end_headers()
        elif mode == "no body":
            self.send(to, 200, b"")
        elif mode == "a list":
            self.send(to, 200, b"[]")
        elif mode == "null content":
            self.send(to, 200, completion(None))
        elif mode == "null choices":
            self.send(to, 200, json.dumps({**json.loads(completion("")), "choices": None}).encode())
        elif mode == "usage of words":
            usage = {"prompt_tokens": "many", "total_tokens": None}
            self.send(to, 200, json.dumps({**json.loads(completion(FOUND)), "usage": usage}).encode())
        elif mode == "plain text":
            self.send(to, 200, completion(FOUND), kind="text/plain")
        elif mode == "a lie about gzip":
            self.send(to, 200, completion(FOUND), encoding="gzip")
        elif mode == "deep":
            self.send(to, 200, b"[" * 100_000)
        elif mode == "half a character":
            self.send(to, 200, completion(FOUND.replace("1885", "\ud800")))
        elif mode == "slow":
            time.sleep(0.15)
            self.send(to, 200, completion(FOUND))
        elif mode == "garbage":
            self.send(to, 200, b"\xff\x00{not json")
        elif mode == "html":
            self.send(to, 200, b"<html>Bad gateway</html>", kind="text/html")
        elif mode == "truncated":
            whole = completion(FOUND)
            self.send(to, 200, whole[: len(whole) // 2], length=len(whole))
        elif mode == "no choices":
            self.send(to, 200, json.dumps({**json.loads(completion("")), "choices": []}).encode())
        elif mode == "empty":
            self.send(to, 200, completion(""))
        elif mode == "nonsense":
            self.send(to, 200, completion("I would rather talk of \x1b[2J something else."))
        elif mode == "huge":
            self.send(to, 200, completion("x" * 300_000))
        elif mode == "429 with Retry-After":
            self.send(to, 429, error("slow down"), retry="1")
        elif mode == "429 for three seconds":
            self.send(to, 429, error("slow down"), retry="3")
        elif mode == "429 for an hour":
            self.send(to, 429, error("slow down"), retry="3600")
        elif mode == "wrong key":
            self.send(to, 401, error("Incorrect API key provided: sk-chaos-0123456789"))
        elif mode.isdecimal():
            self.send(to, int(mode), error(f"status {mode}"))
        else:
            self.send(to, 200, completion(self.reply(json.loads(getattr(to, "body", b"{}")).get("messages", []))))

    def send(
        self,
        to: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        *,
        kind: str = "application/json",
        length: int | None = None,
        retry: str = "",
        encoding: str = "",
    ) -> None:
        """One response, however wrong."""
        try:
            to.send_response(status)
            to.send_header("content-type", kind)
            to.send_header("content-length", str(len(body) if length is None else length))
            if encoding:
                to.send_header("content-encoding", encoding)
            if retry:
                to.send_header("retry-after", retry)
            to.end_headers()
            to.wfile.write(body)
            to.close_connection = True
        except OSError:  # whoever asked is gone
            pass


MODES = (
    "well", "slow", "alternating", "429", "429 with Retry-After", "500", "503", "garbage", "html", "truncated",
    "no choices", "empty", "nonsense", "huge", "dead", "hanging", "wrong key", "402", "404", "413", "reset midway",
    "elsewhere", "no body", "a list", "null content", "null choices", "usage of words", "plain text",
    "a lie about gzip", "deep", "503, then well",
)  # fmt: skip


def completion(text: str | None) -> bytes:
    """A chat completion with this text."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return json.dumps(reply).encode()


def error(text: str) -> bytes:
    """An error as such servers say it."""
    return json.dumps({"error": {"message": text, "type": "error"}}).encode()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    reply = Endpoint()
    yield reply
    reply.close()


BY_DAY = (
    "well", "slow", "alternating", "429 with Retry-After", "500", "404", "wrong key", "garbage", "no choices",
    "null content", "usage of words", "dead", "hanging", "reset midway", "elsewhere", "a lie about gzip", "deep",
    "503, then well",
)  # fmt: skip
"""Of each kind of fault one: a status, a body that is no answer, a connection that ends, a host that was not named."""


@pytest.fixture(params=by_day(MODES, *BY_DAY))
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)

"""A small OpenAI-shaped server on the loopback that misbehaves as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

ROOM = 3  # calls that a crowded endpoint takes at once
FOUND = '[[ ## years ## ]]\n["1885"]\n\n[[ ## completed ## ]]'


class Endpoint:
    """``mode`` is how the next requests are answered; ``calls`` counts them."""

    def __init__(self) -> None:
        self.mode, self.calls = "well", 0
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

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
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
            self.send(to, 200, completion("x" * 2_000_000))
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
            self.send(to, 200, completion(FOUND))

    def send(
        self,
        to: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        *,
        kind: str = "application/json",
        length: int | None = None,
        retry: str = "",
    ) -> None:
        """One response, however wrong."""
        try:
            to.send_response(status)
            to.send_header("content-type", kind)
            to.send_header("content-length", str(len(body) if length is None else length))
            if retry:
                to.send_header("retry-after", retry)
            to.end_headers()
            to.wfile.write(body)
            to.close_connection = True
        except OSError:  # whoever asked is gone
            pass


MODES = (
    "well", "slow", "alternating", "429", "429 with Retry-After", "500", "503", "garbage", "html", "truncated",
    "no choices", "empty", "nonsense", "huge", "dead", "hanging", "wrong key",
)  # fmt: skip


def completion(text: str) -> bytes:
    """A chat completion with this text."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    made = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return json.dumps(made).encode()


def error(text: str) -> bytes:
    """An error as such servers say it."""
    return json.dumps({"error": {"message": text, "type": "error"}}).encode()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.close()


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)

"""The local server: who is answered, with which headers, and how it ends."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from goldassay._support.exceptions import GoldassayError
from goldassay._support.server import HEADERS, LocalServer


async def echo(request: Request) -> Response:
    return PlainTextResponse(f"{request.method} {request.path_params['place']}")


def app() -> Starlette:
    return Starlette(routes=[Route("/{place:path}", echo, methods=["GET", "POST"])])


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer(app()) as running:
        yield running


def answer(server: LocalServer, method: str, place: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request(method, place, headers=headers)
    response = connection.getresponse()
    assert {name: response.headers[name] for name in HEADERS} == HEADERS, "a refusal has them, too"
    text = response.read().decode()
    connection.close()
    return response.status, text


def test_a_request_with_the_token_is_answered(server: LocalServer) -> None:
    assert answer(server, "GET", f"/{server.token}/report?run=x") == (200, "GET report")
    own = f"http://127.0.0.1:{server.port}"
    assert answer(server, "POST", f"/{server.token}/decisions", Origin=own) == (200, "POST decisions")
    assert answer(server, "GET", f"/{server.token}/", Host=f"localhost:{server.port}")[0] == 200


@pytest.mark.parametrize(
    "token", ["", "x", "%00", "é".encode().hex(), "%C3%A9", "%2e%2e", "..", "TOKEN%2f..", "//TOKEN"]
)
def test_an_address_without_the_token_is_refused(server: LocalServer, token: str) -> None:
    written = token.replace("TOKEN", server.token[:-1])
    assert answer(server, "GET", f"/{written}/report")[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:PORT", ""])
def test_another_host_is_refused(server: LocalServer, host: str) -> None:
    assert answer(server, "GET", f"/{server.token}/", Host=host.replace("PORT", str(server.port)))[0] == 403


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "https://127.0.0.1:PORT", "http://127.0.0.1", ""])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_origin_is_refused(server: LocalServer, method: str, origin: str) -> None:
    headers = {"Origin": origin.replace("PORT", str(server.port))}
    assert answer(server, method, f"/{server.token}/x", **headers)[0] == 403


def test_a_change_without_an_origin_is_refused(server: LocalServer) -> None:
    assert answer(server, "POST", f"/{server.token}/decisions")[0] == 403


def test_two_hosts_are_refused(server: LocalServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        own = f"Host: 127.0.0.1:{server.port}\r\n"
        client.sendall(f"GET /{server.token}/ HTTP/1.1\r\n{own}{own}Connection: close\r\n\r\n".encode())
        assert client.recv(100).split()[1] in (b"400", b"403")


def test_a_port_that_is_taken_is_one_line(server: LocalServer) -> None:
    with pytest.raises(GoldassayError, match=f"port {server.port} cannot be used"):
        LocalServer(app(), server.port)
    with pytest.raises(GoldassayError, match="port 99999 cannot be used"):
        LocalServer(app(), 99999)


def test_it_listens_on_the_loopback_alone(server: LocalServer) -> None:
    with socket.socket() as other, pytest.raises(OSError, match="refused"):
        other.connect(("127.0.0.2", server.port))


@pytest.mark.parametrize("host", ["127.0.0.2", "0.0.0.0"])
def test_an_address_that_is_named_reaches_it_with_the_same_checks(host: str) -> None:
    with LocalServer(app(), host=host) as server:
        place = urlsplit(server.address).netloc
        assert place != f"127.0.0.1:{server.port}"
        for path, status in ((f"/{server.token}/", 200), ("/", 403)):
            with closing(http.client.HTTPConnection(place, timeout=10)) as connection:
                connection.request("GET", path)
                assert connection.getresponse().status == status
        for header, value in (("Host", "evil.example"), ("Origin", "http://evil.example")):
            with closing(http.client.HTTPConnection(place, timeout=10)) as connection:
                connection.request("GET", f"/{server.token}/", headers={header: value})
                assert connection.getresponse().status == 403


WAITING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from starlette.applications import Starlette
from goldassay._support.server import LocalServer
with LocalServer(Starlette()) as server:
    print(server.address, flush=True)
    server.wait()
print("ended")
"""


def test_ctrl_c_ends_it_and_nothing_else_reaches_the_terminal() -> None:
    """Also with connections open, and after requests that are none: a scanner's, and one for a WebSocket."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", WAITING], **pipes) as process, ExitStack() as stack:
        assert process.stdout
        address = urlsplit(process.stdout.readline())
        get = f"GET {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\n"
        upgrade = f"{get}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        for sent in (
            "\x16\x03\x01 nonsense\r\n\r\n",
            upgrade,
            f"GET {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n",
        ):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", int(address.port or 0)), timeout=10))
            client.sendall(sent.encode())
            assert client.recv(100).startswith(b"HTTP/1.1 ")
        os.kill(process.pid, signal.SIGINT)
        try:
            assert process.communicate(timeout=20) == ("ended\n", "")
        finally:
            process.kill()
    assert process.returncode == 0

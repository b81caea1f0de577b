"""A local server for the browser of one person: the report of a folder of runs, and the page of a review.

It listens on the loopback, unless an address of the machine is named for other people. Three checks keep others out.
The address has a random token as its first part, which other users of the machine do not know. The Host header has to
be an address of this server, which keeps out web pages that point their own name at it. A request that changes
something needs an Origin of this server, which keeps out forms and scripts of other pages.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Sequence
from contextlib import suppress
from threading import Event, Thread

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goldassay._support.exceptions import GoldassayError

LOOPBACK = "127.0.0.1"
WAIT_SECONDS = 0.2  # between two looks of a waiting main thread at Ctrl-C, where a wait cannot be interrupted
SHUTDOWN_SECONDS = 2  # seconds that answers in work have left when the server stops
SAFE_METHODS = ("GET", "HEAD")
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class RequestGuard:
    """Passes on the requests that come from this server's own pages, and adds the headers of every answer."""

    def __init__(self, app: ASGIApp, token: str, port: int, hosts: Sequence[str] = (LOOPBACK, "localhost")) -> None:
        self.app = app
        self.token = token
        self.hosts = [f"{host}:{port}" for host in hosts]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self.refusal(scope)
        inner = PlainTextResponse(refusal, 403) if refusal else self.app

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await inner({**scope, "root_path": f"/{self.token}"}, receive, with_headers)

    def refusal(self, scope: Scope) -> str | None:
        """Why a request comes from somebody else, if it does."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return f"this server answers at {' or '.join(self.hosts)} only"
        token = scope["path"].strip("/").partition("/")[0]
        if not secrets.compare_digest(token.encode(errors="replace"), self.token.encode()):
            return "the address lacks its token; open the address that goldassay printed"
        origins = headers.getlist("origin")
        if not origins and scope["method"] in SAFE_METHODS:
            return None
        ours = [f"http://{host}" for host in self.hosts]
        return None if len(origins) == 1 and origins[0] in ours else "another page sent this request"


class LocalServer:
    """Serves an application, in a thread; open ``address``. Ctrl-C ends its ``with`` block.

    Args:
        app: The application.
        port: The port; any free one by default.
        host: An address or name of this machine, for other people; ``0.0.0.0`` for all that it has.

    Raises:
        GoldassayError: The address or the port cannot be used.
    """

    def __init__(self, app: ASGIApp, port: int = 0, host: str | None = None) -> None:
        interface = host or LOOPBACK
        try:
            self._socket = socket.create_server((interface, port))
        except (OSError, OverflowError) as error:
            at = f" of {host}" if host else ""
            raise GoldassayError(f"port {port}{at} cannot be used: {error}; choose another") from None
        self.port = int(self._socket.getsockname()[1])
        self.token = secrets.token_urlsafe(18)
        hosts = [interface, LOOPBACK, "localhost"]
        if interface == "0.0.0.0":
            # The address at which the network reaches this machine; the loopback if there is no network.
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                try:
                    probe.connect(("192.0.2.1", 9))  # an address for documentation: nothing is sent to it
                    hosts[0] = str(probe.getsockname()[0])
                except OSError:
                    hosts[0] = LOOPBACK
            hosts.append(socket.gethostname())
            with suppress(OSError):  # a name that nobody resolves
                hosts += socket.gethostbyname_ex(socket.gethostname())[2]
        self.address = f"http://{hosts[0]}:{self.port}/{self.token}/"
        config = uvicorn.Config(
            RequestGuard(app, self.token, self.port, hosts),
            lifespan="off",
            ws="none",
            log_config=None,
            log_level="error",  # a request that nobody sends by hand needs no line on the terminal
            access_log=False,  # it would hold the token
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._ended = Event()
        self._thread = Thread(target=self._run, daemon=True, name="goldassay server")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._server.run([self._socket])
        finally:
            self._ended.set()

    def wait(self) -> None:
        """Wait until the server ends, or for Ctrl-C.

        A `Thread.join` that Ctrl-C interrupts takes a running thread for an ended one (Python 3.11), and its socket
        would be closed below it.
        """
        while not self._ended.wait(WAIT_SECONDS):
            pass

    def stop(self) -> None:
        """Answer what was asked, and end; `wait` returns then."""
        self._server.should_exit = True

    def close(self) -> None:
        """Stop the server, and wait until it has ended."""
        self.stop()
        self._ended.wait()
        self._socket.close()

    def __enter__(self) -> LocalServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self.close()
        return kind is KeyboardInterrupt

"""A local server for the browser of one person: the report of a folder of runs, and the page of a review.

It listens on the loopback only. Three checks keep others out. The address has a random token as its first part, which
other users of the machine do not know. The Host header has to name the loopback, which keeps out web pages that point
their own name at it. A request that changes something needs an Origin of this server, which keeps out forms and scripts
of other pages.
"""

from __future__ import annotations

import secrets
import socket
from threading import Thread

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goldassay.exceptions import GoldassayError

LOOPBACK = "127.0.0.1"
POLL = 0.2  # seconds after which a waiting main thread sees Ctrl-C, on systems where a join cannot be interrupted
LAST = 2  # seconds that answers in work have left when the server stops
READING = ("GET", "HEAD")
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Passes on the requests that come from this server's own pages, and adds the headers of every answer."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app = app
        self.token = token
        self.hosts = [f"{LOOPBACK}:{port}", f"localhost:{port}"]

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
            return "this server answers on the loopback only"
        token = scope["path"].strip("/").partition("/")[0]
        if not secrets.compare_digest(token.encode(errors="replace"), self.token.encode()):
            return "the address lacks its token; open the address that goldassay printed"
        origins = headers.getlist("origin")
        if not origins and scope["method"] in READING:
            return None
        own = [f"http://{host}" for host in self.hosts]
        return None if len(origins) == 1 and origins[0] in own else "another page sent this request"


class LocalServer:
    """Serves an application on the loopback, in a thread; open ``address``. Ctrl-C ends its ``with`` block.

    Raises:
        GoldassayError: The port cannot be used.
    """

    def __init__(self, app: ASGIApp, port: int = 0) -> None:
        try:
            self._socket = socket.create_server((LOOPBACK, port))
        except (OSError, OverflowError) as error:
            raise GoldassayError(f"port {port} cannot be used: {error}; choose another") from None
        self.port = int(self._socket.getsockname()[1])
        self.token = secrets.token_urlsafe(18)
        self.address = f"http://{LOOPBACK}:{self.port}/{self.token}/"
        config = uvicorn.Config(
            Guard(app, self.token, self.port),
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,  # it would hold the token
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=LAST,
        )
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run, args=([self._socket],), daemon=True, name="goldassay server")
        self._thread.start()

    def wait(self) -> None:
        """Wait until the server ends, or for Ctrl-C."""
        while self._thread.is_alive():
            self._thread.join(POLL)

    def close(self) -> None:
        """Stop the server."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> LocalServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self.close()
        return kind is KeyboardInterrupt

"""The HTTP side of a review: JSON for the page, and the page's own files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from goldassay._support import jsonl
from goldassay._support.exceptions import DataError, GoldassayError, StorageError, one_line
from goldassay._support.secrets import redact
from goldassay.core.fields import JsonObject
from goldassay.ext.labelling.review.folder import Folder
from goldassay.ext.labelling.review.journal import Decision, ModeChange, NothingToUndoError
from goldassay.ext.labelling.review.session import Session
from goldassay.reporting.pages import document

ASSETS = Path(__file__).parent / "assets"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
STATUS: dict[type[GoldassayError], int] = {NothingToUndoError: 409, StorageError: 507, DataError: 422}
FAULT = (
    "A fault in goldassay: what was decided before is saved. Reload the page; if this happens again, end the review, "
    "start it again, and report what its terminal shows"
)
M = TypeVar("M", bound=BaseModel)


class Guidelines(BaseModel):
    """A text of guidelines, and the version that it was written from."""

    text: str
    version: str
    record: str | None = None


class Answer(JSONResponse):
    """JSON of whatever a review holds."""

    def render(self, content: object) -> bytes:
        """The JSON as UTF-8."""
        return jsonl.dumps(content).encode()


def who(request: Request) -> dict[str, str]:
    """The reviewer and the page that a request comes from."""
    names = request.query_params
    session: Session = request.app.state.session
    reviewer = names.get("who", "").strip()[:200] or session.folder.settings.who
    return {"who": redact(reviewer), "sitting": redact(names.get("sitting", "")[:200])}


def application(session: Session) -> Starlette:
    """The application of a review, for `goldassay._support.server.LocalServer`; ``state.end`` stops that server."""
    routes = [
        Route("/", asset),
        Route("/assets/{name:path}", asset),
        Route("/setup", show_setup),
        Route("/records", show_records, methods=["POST"]),
        Route("/decisions", decide, methods=["POST"]),
        Route("/reveal", reveal, methods=["POST"]),
        Route("/progress", show_progress),
        Route("/search", search),
        Route("/guidelines", guidelines, methods=["GET", "PUT"]),
        Route("/modes", modes, methods=["GET", "POST"]),
        Route("/export", write_gold, methods=["POST"]),
        Route("/end", end, methods=["POST"]),
    ]
    app = Starlette(
        routes=routes, exception_handlers={GoldassayError: show_error, HTTPException: show_error, Exception: show_error}
    )
    app.state.session = session
    return app


def show_setup(request: Request) -> Response:
    """The data that a page needs once."""
    return Answer(request.app.state.session.setup(**who(request)))


async def show_records(request: Request) -> Response:
    """The records of some items.

    Raises:
        HTTPException: The request names no list of items, or too many.
    """
    items = (await body(request)).get("items")
    if not isinstance(items, list) or len(items) > 16:
        raise HTTPException(400, "items is a list of at most 16")
    reviewer = who(request)["who"]
    return Answer({"records": [request.app.state.session.record(str(item), reviewer) for item in items]})


async def decide(request: Request) -> Response:
    """Write a decision; the answer comes once it is on the disk."""
    decision = validated(Decision, await body(request))
    check_id(decision.decision)
    return Answer(await run_in_threadpool(request.app.state.session.decide, decision, **who(request)))


async def reveal(request: Request) -> Response:
    """Show the systems' names from now on."""
    await body(request)
    session: Session = request.app.state.session
    await run_in_threadpool(session.decide, Decision(decision=str(uuid4()), kind="reveal"), **who(request))
    return Answer({"systems": session.folder.systems})


def show_progress(request: Request) -> Response:
    """How far the review is, and how sure its result."""
    return Answer(request.app.state.session.progress(**who(request), fresh=True))


def search(request: Request) -> Response:
    """The entries of the knowledge base whose names are nearest to a text."""
    return Answer({"results": request.app.state.session.search(request.query_params.get("q", "")[:200])})


async def guidelines(request: Request) -> Response:
    """The guidelines, or a new text of them."""
    folder: Folder = request.app.state.session.folder
    if request.method == "PUT":
        sent = validated(Guidelines, await body(request))
        current = folder.guidelines()
        if sent.version != current["version"]:
            return Answer({"error": "somebody else changed the guidelines", **current}, 409)
        folder.write_guidelines(sent.text, sent.record)
    return Answer(folder.guidelines())


async def modes(request: Request) -> Response:
    """The failure modes, or a change of them."""
    session: Session = request.app.state.session
    if request.method == "POST":
        change = validated(ModeChange, await body(request))
        check_id(change.change)
        return Answer(await run_in_threadpool(session.journal.change_modes, change, who(request)["who"]))
    with session.journal.lock:
        return Answer(session.journal.mode_state(session.journal.traces()))


async def write_gold(request: Request) -> Response:
    """Write the gold."""
    await body(request)
    return Answer(await run_in_threadpool(request.app.state.session.export))


async def end(request: Request) -> Response:
    """End the review: whoever started it goes on, with the verdict."""
    await body(request)
    request.app.state.end()
    return Answer({})


async def body(request: Request) -> JsonObject:
    """The JSON object of a request.

    Raises:
        HTTPException: It is too large, or no JSON object.
    """
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise HTTPException(415, "send application/json")
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > 4 * 1024**2:
            raise HTTPException(413, "a request has at most 4 MB")
    try:
        value = jsonl.value(content)
    except DataError as error:
        raise HTTPException(400, str(error)) from None
    if not isinstance(value, dict):
        raise HTTPException(400, "send a JSON object")
    return value


def validated(model: type[M], value: JsonObject) -> M:
    """A request's object, checked.

    Raises:
        HTTPException: It has another shape; the message names the first field that is wrong.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise HTTPException(400, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def check_id(name: str) -> None:
    """Check that the id that a page gave a decision may be written.

    Raises:
        HTTPException: It holds what looks like a key or password.
    """
    if redact(name) != name:
        raise HTTPException(400, "an id of a decision holds what looks like a key or password; send another")


def show_error(request: Request, error: Exception) -> Response:
    """An error as one line, with the field that it is about."""
    if isinstance(error, HTTPException):
        return Answer({"error": error.detail}, error.status_code)
    if not isinstance(error, GoldassayError):
        return Answer({"error": f"{FAULT} ({one_line(error)})"}, 500)
    status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400)
    field = error.field if isinstance(error, DataError) else None
    return Answer({"error": str(error), "field": field}, status)


@cache
def assets() -> dict[str, Path]:
    """The files of the page by their names; a name that is not among them is not a file."""
    files = {file.relative_to(ASSETS).as_posix(): file for file in ASSETS.rglob("*.*")}
    shared = document.HERE / "assets"
    return {**files, "report.css": shared / "page.css", "steps.js": shared / "steps.js"}


def asset(request: Request) -> Response:
    """The page, or one of its scripts and style sheets.

    Raises:
        HTTPException: There is no such file.
    """
    file = assets().get(request.path_params.get("name", "page.html"))
    if file is None:
        raise HTTPException(404, "no such file")
    kinds = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".txt": "text/plain"}
    return Response(file.read_bytes(), media_type=kinds[file.suffix], headers={"Content-Security-Policy": POLICY})

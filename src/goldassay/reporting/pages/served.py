"""A folder of runs as a local server shows it: the list, reports of any runs, and the progress of running ones.

It answers GET only and changes nothing.
"""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from goldassay._support.exceptions import GoldassayError
from goldassay.reporting.pages import report, sources
from goldassay.reporting.pages.dashboard import entries, listing


def application(runs: Path) -> Starlette:
    """The application of a folder of runs, for `goldassay._support.server.LocalServer`.

    Raises:
        GoldassayError: The folder does not exist.
    """
    entries(runs)  # a missing folder is an error now, not at the first request

    def show_list(request: Request) -> Response:
        return HTMLResponse(encoded(listing(entries(runs), runs, live=True)))

    def show_progress(request: Request) -> Response:
        return JSONResponse({"runs": [run.progress() for run in entries(runs)]})

    def show_report(request: Request) -> Response:
        folders = {run.key: run.folder for run in entries(runs)}
        keys = request.query_params.getlist("run") or [""]
        if unknown := [key for key in keys if key not in folders]:
            raise GoldassayError(f"no run {unknown[0]!r} in {runs}")
        return HTMLResponse(encoded(report(sources([folders[key] for key in keys])["runs"])))

    routes = [Route("/", show_list), Route("/progress", show_progress), Route("/report", show_report)]
    return Starlette(routes=routes, exception_handlers={GoldassayError: show_error})


def encoded(page: str) -> bytes:
    """A page as UTF-8; half of a character becomes ``?``."""
    return page.encode("utf-8", "replace")


def show_error(request: Request, error: Exception) -> Response:
    """The message of an error of ours; others are reported as usual."""
    return PlainTextResponse(encoded(str(error)), 404)

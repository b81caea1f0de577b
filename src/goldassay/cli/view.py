"""``goldassay view`` and ``goldassay dashboard``: a folder of runs in the browser, served or as static pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError

Folder = Annotated[Path, typer.Argument(metavar="[RUNS]", help="The folder of runs.")]


def view(
    runs: Folder = Path("runs"),
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port (default: any free one).")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in a browser.")] = True,
) -> None:
    """Look at a folder of runs in the browser: list, history, progress, comparing by ticking. Ctrl-C ends it."""
    import webbrowser

    from goldassay.reporting.pages.dashboard import Server

    with Server(runs, port) as server:
        print(server.address, flush=True)
        if browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print()


def dashboard(
    runs: Folder = Path("runs"),
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the pages go.")] = Path("dashboard"),
    force: use.Force = False,
) -> None:
    """Write a folder of runs as static pages: list, history, a report of each run."""
    from goldassay.reporting import terminal
    from goldassay.reporting.pages.dashboard import dashboard as write

    use.free(out, force)
    try:
        files = write(runs, out)
    except OSError as error:
        raise GoldassayError(f"cannot write to {out}: {error.strerror}; choose another place with --out") from None
    terminal.line(f"{len(files)} pages. Open {files[0]}")

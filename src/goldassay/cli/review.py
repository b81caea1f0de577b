"""``goldassay review``: label a draft on a local page."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

from goldassay.cli import options as use
from goldassay.reporting import terminal


def review(
    source: Annotated[Path, use.argument("SOURCE", "A draft (gold draft), or the folder of a review to go on with.")],
    task: use.OfTask = None,
    who: str | None = use.option("NAME", "Who labels (default: me). Others open the address with ?who=NAME."),
    overlap: float | None = use.option("SHARE", "The share of the records that two reviewers label: .1.", min=0, max=1),
    judge: bool = use.flag("--judge", "Show a judge's verdict once a record is decided."),
    export: bool = use.flag("--export", "Write gold.jsonl and its card, and open no page."),
    browser: bool = use.option(None, "Open no browser.", "--browser/--no-browser", default=True),
    port: int = use.option("N", "The port of the page (default: any).", min=0, max=65535, default=0),
    json: bool = False,
) -> None:
    """Label a draft, compare two systems blindly, settle conflicts, on a page. Ctrl-C ends it."""
    from goldassay.reviewing import Review, exporting
    from goldassay.reviewing.folder import Folder
    from goldassay.reviewing.session import Session

    session = Session(Folder.open(source, task, who=who, overlap=overlap, judge=judge or None))
    if export:
        written = exporting.export(session)
        terminal.warn(*written["warnings"])
        if json:
            terminal.answer(written)
        else:
            print(f"{written['path']}: {written['records']} records")
        return
    with Review(session, port) as opened:
        if json:
            terminal.answer({"url": opened.url, "folder": str(opened.folder)})
        else:
            print(opened.url, flush=True)
        if browser:
            webbrowser.open(opened.url)
        opened.server.wait()

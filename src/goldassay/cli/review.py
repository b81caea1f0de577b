"""``goldassay review``: label a draft on a local page."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from goldassay.cli import options as use
from goldassay.reporting import terminal


@dataclass(frozen=True)
class ReviewOptions:
    """What is labelled, by whom, and how."""

    task: str | None = use.for_gold(
        "TASK|FILE", "The task, or the file of its program, if the draft does not imply it."
    )
    question: str | None = use.for_gold("QUESTION", "Of a new draft: compare, level, errors or tuning.", "--for")
    n: int = use.for_gold("N", "Of a new draft or wave: at most so many records.", min=1, default=40)
    add: list[Path] | None = use.for_gold(
        "TRACES", "Draft a wave of new traces into FOLDER, the first SOURCE (repeat)."
    )
    who: str | None = use.option("NAME", "Who labels (default: me). Others open the address with ?who=NAME.")
    overlap: float | None = use.option("SHARE", "The share of the records that two reviewers label.", min=0, max=1)
    judge: bool = use.flag("--judge", "Show the judge's verdict of the draft once a record is decided.")


def review(
    sources: Annotated[
        list[Path],
        use.argument("SOURCE...", "A draft, the folder of a review to go on with, or whatever gold draft takes."),
    ],
    options: ReviewOptions,
    export: bool = use.flag("--export", "Write gold.jsonl and its card, and open no page."),
    no_browser: bool = use.flag("--no-browser", "Open no browser."),
    port: int = use.option("N", "The port of the page (default: any).", min=0, max=65535, default=0),
    seed: int = 0,
    json: bool = False,
) -> None:
    """Label a draft, compare two systems blindly, settle conflicts, on a page. Ctrl-C ends it."""
    from goldassay.reviewing import Review, exporting
    from goldassay.reviewing.folder import Folder
    from goldassay.reviewing.session import Session
    from goldassay.reviewing.waves import add_wave

    chosen = {**vars(options), "judge": options.judge or None}
    added = chosen.pop("add")
    folder = Folder.open(sources[:1] if added else sources, chosen.pop("task"), seed=seed, **chosen)
    if added:
        folder, messages = add_wave(folder, [*added, *sources[1:]], n=options.n, seed=seed)
        print("\n".join(messages), file=sys.stderr)
    if export:
        with closing(Session(folder, read_only=True)) as session:
            written = exporting.export(session)
        terminal.warn(*written["warnings"])
        terminal.output(written, json, lambda gold: print(f"{gold['path']}: {gold['records']} records"))
        return
    with Review(folder, port) as opened:
        where = {"url": opened.url, "folder": str(opened.folder)}
        terminal.output(where, json, lambda page: print(page["url"], flush=True))
        if not no_browser:
            webbrowser.open(opened.url)
        opened.server.wait()

"""Gold made by people on a local page: drafts are labelled, sides compared, conflicts settled.

`review` opens the page. The folder of a review is in `folder`, its decisions and what went wrong are in `journal`, the
order in which records come in `queue`; `session` is a review at work, which writes the gold, and `app` its HTTP side;
`quality` measures the reviewers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypedDict, Unpack

from goldassay._support.server import LocalServer
from goldassay.core.fields import JsonObject
from goldassay.ext.labelling.review.app import application
from goldassay.ext.labelling.review.folder import Folder, add_wave
from goldassay.ext.labelling.review.session import Session

__all__ = ["Review", "review"]


class ReviewChoices(TypedDict, total=False):
    """How a review is made.

    Args:
        question: What the labels of a new draft are for: ``compare``, ``level``, ``errors`` or ``tuning``.
        n: How many records a new draft has.
        seed: The seed of a new draft.
        who: Who labels, where the page does not say.
        overlap: The share of the records that two reviewers label.
        judge: Whether the judge's verdicts of the draft are shown next to people's.
        map: The fields of the sources under other names.
        add: New traces, of which a wave is drafted into the folder.
    """

    question: str | None
    n: int
    seed: int
    who: str | None
    overlap: float | None
    judge: bool | None
    map: str | Mapping[str, str] | None
    add: Sequence[str | Path]


class Review:
    """An open review; open ``url`` in a browser. `close` it when you are done.

    Args:
        folder: The folder of the review.
        port: The port of the page; any free one by default.
        host: An address of this machine at which other people reach the page; by default only this machine does.

    Raises:
        GoldassayError: Another process has the folder open, or the port cannot be used.
    """

    def __init__(self, folder: Folder, port: int = 0, host: str | None = None) -> None:
        with ExitStack() as opened:  # closed again if what comes next fails
            folder.lock()
            opened.callback(folder.close)
            self.session = Session(folder)
            opened.callback(self.session.close)
            page = application(self.session)
            self.server = LocalServer(page, port, host)
            page.state.end = self.server.stop
            opened.pop_all()
        self.url = self.server.address
        self.folder = folder.path

    def export(self) -> JsonObject:
        """Write ``gold.jsonl`` and ``card.yaml`` into the folder; returns what was written and left out."""
        return self.session.export()

    def close(self) -> None:
        """Stop the page."""
        self.server.close()
        self.session.close()

    def __enter__(self) -> Review:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self.close()
        return kind is KeyboardInterrupt

    def __repr__(self) -> str:
        return f"Review of {self.folder}: open {self.url}"


def review(
    *sources: str | Path,
    task: str | None = None,
    port: int = 0,
    host: str | None = None,
    **options: Unpack[ReviewChoices],
) -> Review:
    """Open the page on which people label a draft.

    Args:
        sources: A draft (``gold draft``); the folder of a review to go on with; or what a draft is made of.
        task: The task, or the file of its program; of a draft it is guessed if not given.
        port: The port of the page; any free one by default.
        host: An address of this machine at which other people reach the page, ``0.0.0.0`` for all; by default only this
            machine does. Whoever has the address of the page can read and label.
        options: The draft that is made, and the settings of the review.

    Raises:
        GoldassayError: Another process has the folder open, the port cannot be used, or nothing can be drafted.
        DataError: The draft cannot be read.
    """
    new = options.pop("add", ())
    sizes = {"n": options.pop("n", 40), "seed": options.pop("seed", 0)} if new else {}
    folder = Folder.open([Path(source) for source in sources], task, **options)
    if new:
        folder, _ = add_wave(folder, [Path(source) for source in new], **sizes)
    return Review(folder, port, host)

"""Gold made by people on a local page: drafts are labelled, sides compared, conflicts settled.

`review` opens the page. The folder of a review is in `folder`, its decisions are in `journal`, the order in which
records come in `queue`; `session` is a review at work and `app` its HTTP side; `quality` measures the reviewers, and
`exporting` writes the gold.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldassay.reviewing.app import application
from goldassay.reviewing.exporting import export
from goldassay.reviewing.folder import Folder
from goldassay.reviewing.session import Session
from goldassay.serving import LocalServer

__all__ = ["Review", "review"]


class Review:
    """An open review; open ``url`` in a browser. `close` it when you are done.

    Args:
        session: The review.
        port: The port of the page; any free one by default.
    """

    def __init__(self, session: Session, port: int = 0) -> None:
        self.session = session
        self.server = LocalServer(application(session), port)
        self.url = self.server.address
        self.folder = session.folder.path

    def export(self) -> dict[str, Any]:
        """Write ``gold.jsonl`` and ``card.yaml`` into the folder; returns what was written and left out."""
        return export(self.session)

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


def review(source: str | Path, *, task: str | None = None, port: int = 0, **settings: Any) -> Review:
    """Open the page on which people label a draft.

    Args:
        source: A draft (``gold draft``), or the folder of a review to go on with.
        task: The task of the draft; guessed if not given.
        port: The port of the page; any free one by default.
        settings: ``who`` labels by default, the ``overlap`` that two reviewers share, and whether a ``judge`` is shown
            beside people.

    Raises:
        GoldassayError: Another process has the folder open, or the port cannot be used.
        DataError: The draft cannot be read.
    """
    return Review(Session(Folder.open(Path(source), task, **settings)), port)

"""The folder of a review as gold: a format that every command reads, also of the draft that a review was made of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from goldassay._support import files
from goldassay.core.measure import TASKS
from goldassay.ext.labelling import REVIEW, SUFFIX
from goldassay.gold.formats import HEAD_BYTES, Format, Source, SourceRecord


def review_of(path: Path) -> Path | None:
    """The folder of a review: this one, or that beside a draft, which has the labels; None if there is none."""
    folder = path if path.is_dir() else path.with_suffix(SUFFIX)
    if not (folder / REVIEW).is_file():
        return None
    if path.is_dir():
        return folder
    from goldassay.statistics.design import SAMPLING  # loads numpy, which reading gold does not need

    with files.opened(path) as stream:
        return folder if SAMPLING.encode() in stream.read(HEAD_BYTES) else None


def _labelled(source: Source) -> Iterator[SourceRecord]:
    """The records of a review with the labels that they have."""
    from goldassay.ext.labelling.review.session import labels_of  # loads the server of the page

    return map(SourceRecord, labels_of(review_of(source.path) or source.path)[0])


def _is_review(path: Path, task: str) -> bool:
    return review_of(path) is not None


REVIEW_FORMAT = Format(TASKS, _labelled, recognises=_is_review)
"""The folder of a review as gold, or a draft that has one: whatever is labelled so far."""

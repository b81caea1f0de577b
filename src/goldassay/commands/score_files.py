"""The files that ``goldassay score`` reads beside gold and predictions: tables of ids, lists of labels, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError


def table(file: Path) -> dict[str, str]:
    """Equivalent ids: each line two ids, separated by a tab or a comma; the second is the one counted."""
    out: dict[str, str] = {}
    for number, line in enumerate(text(file).splitlines(), start=1):
        cells = [cell.strip() for cell in line.replace("\t", ",").split(",")]
        if line.strip() and not line.startswith("#"):
            if len(cells) != 2 or not all(cells):
                raise DataError(
                    f"expected two ids, separated by a tab or a comma, not {line!r}", file=file, line=number
                )
            out[cells[0]] = cells[1]
    return out


def parsed(file: Path) -> Any:
    """What a JSON file holds."""
    try:
        return json.loads(text(file))
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg} at column {error.colno}", file=file, line=error.lineno) from None


def text(file: Path) -> str:
    """A file's text."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}", file=file) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=file) from None


def labels(words: str) -> list[str]:
    """A list of labels: in a file, one a line, or on the command line, separated by commas.

    >>> labels("pos, neg")
    ['pos', 'neg']
    """
    file = Path(words)
    lines = text(file).splitlines() if file.is_file() else words.split(",")
    found = [line.strip() for line in lines if line.strip()]
    if not found or len(set(found)) < len(found):
        raise GoldassayError(f"--labels needs labels that differ, separated by commas or one a line in a file: {words}")
    return found

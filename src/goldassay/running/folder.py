"""Writing a run folder: ``run.json`` at the start and at the end, ``rows.jsonl`` row by row."""

from __future__ import annotations

import json
import math
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from goldassay.running.secrets import redact, scrub


def new_folder(runs: Path, name: str, lm: str | None = None) -> Path:
    """A run folder that does not exist yet, named after the time, the program and the model.

    ``runs/20261121-101500-extraction-smollm2-135m``; it is made when it is written to.
    """
    named = name if lm is None else f"{name}-{lm.rstrip('/').rpartition('/')[2]}"
    safe = re.sub(r"[^\w.-]+", "-", named).strip("-.")[:120] or "run"
    stem = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{safe}"
    folder, number = runs / stem, 2
    while folder.exists():
        folder, number = runs / f"{stem}-{number}", number + 1
    return folder


class Writer:
    """Appends rows (one thread at a time) and replaces ``run.json``; whatever a row holds, no secret is written."""

    def __init__(self, folder: Path, secrets: tuple[str, ...]) -> None:
        self.folder, self.secrets = folder, secrets
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "rows.jsonl"
        self._rows = file.open("a+", encoding="utf-8")
        _drop_cut_line(file)

    def row(self, row: dict[str, Any]) -> None:
        """One more row; it is on disk when this returns, so that a crash loses only what is in flight."""
        line = dumps(row)
        if redact(line, self.secrets) != line:  # rare, so that rows without secrets are written at once
            line = dumps(scrub(json.loads(line), self.secrets))
        self._rows.write(f"{line}\n")
        self._rows.flush()

    def about(self, about: dict[str, Any]) -> None:
        """Replace ``run.json``, whole or not at all."""
        part = self.folder / "run.json.part"
        part.write_text(f"{dumps(scrub(json.loads(dumps(about)), self.secrets), indent=1)}\n", encoding="utf-8")
        os.replace(part, self.folder / "run.json")

    def close(self) -> None:
        """No more rows."""
        self._rows.close()


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON of whatever a program returned: a run is not lost because of one odd value.

    >>> print(dumps({("a", 1): {3}, "score": float("nan")}))
    {"('a', 1)": [3], "score": null}
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=plain, indent=indent, allow_nan=False)
        text.encode()  # half of a surrogate pair cannot be written as UTF-8
    except (TypeError, ValueError):
        return json.dumps(_odd(value, 0), default=plain, indent=indent)
    return text


def _odd(value: Any, depth: int) -> Any:
    """``value`` with what JSON has no word for: other keys as text, numbers that are not finite as null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if depth > 50:
        return "…"  # nested without end
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _odd(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_odd(inner, depth + 1) for inner in value]
    return _odd(plain(value), depth + 1)


def _drop_cut_line(file: Path) -> None:
    """Cut off a last line that was being written when a run was stopped."""
    content = file.read_bytes()
    if content and not content.endswith(b"\n"):
        os.truncate(file, content.rfind(b"\n") + 1)


def plain(value: Any) -> Any:
    """What JSON cannot write by itself: models as dicts, arrays as lists, the rest as text."""
    for method in ("model_dump", "toDict", "tolist"):
        if hasattr(value, method):
            return getattr(value, method)()
    return sorted(value, key=str) if isinstance(value, (set, frozenset)) else str(value)

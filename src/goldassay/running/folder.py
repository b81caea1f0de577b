"""Writing a run folder: ``run.json`` at the start and at the end, ``rows.jsonl`` row by row."""

from __future__ import annotations

import json
import os
import re
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from goldassay.running.secrets import redact


def new_folder(runs: Path, name: str) -> Path:
    """A run folder that does not exist yet: ``runs/20261121-101500-extraction``; it is made when it is written to."""
    safe = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    stem = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{safe}"
    folder, number = runs / stem, 2
    while folder.exists():
        folder, number = runs / f"{stem}-{number}", number + 1
    return folder


class Writer:
    """Appends rows and replaces ``run.json``; whatever a row holds, no secret is written."""

    def __init__(self, folder: Path, secrets: tuple[str, ...]) -> None:
        self.folder, self.secrets = folder, secrets
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "rows.jsonl"
        self._rows = file.open("a+", encoding="utf-8")
        _drop_cut_line(file)
        self._lock = threading.Lock()

    def row(self, row: dict[str, Any]) -> None:
        """One more row; it is on disk when this returns, so that a crash loses only what is in flight."""
        line = redact(json.dumps(row, ensure_ascii=False, default=plain), self.secrets)
        with self._lock:
            self._rows.write(f"{line}\n")
            self._rows.flush()

    def about(self, about: dict[str, Any]) -> None:
        """Replace ``run.json``, whole or not at all."""
        text = redact(json.dumps(about, ensure_ascii=False, indent=1, default=plain), self.secrets)
        part = self.folder / "run.json.part"
        part.write_text(f"{text}\n", encoding="utf-8")
        os.replace(part, self.folder / "run.json")

    def close(self) -> None:
        """No more rows."""
        self._rows.close()


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

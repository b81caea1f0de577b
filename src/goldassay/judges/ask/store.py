"""Verdicts in a file, so that a run that is begun again asks for none twice.

One JSON object a line: the key of a question (a hash of judge, version, model, signature and inputs) and the fields of
the answer, ``null`` for an unknown one. A last line that was cut off is overlooked.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError

Fields = dict[str, Any]


class Verdicts(MutableMapping[str, Fields | None]):
    """A mapping that is written to its file as it grows: ``Judge(lm, verdicts=Verdicts("runs/verdicts.jsonl"))``."""

    def __init__(self, file: Path | str) -> None:
        self.file = Path(file)
        self._found: dict[str, Fields | None] = {}
        self._lock = threading.Lock()
        if self.file.is_file():
            self._read()

    def _read(self) -> None:
        whole = self.file.read_bytes()
        lines = whole.rpartition(b"\n")[0]
        for number, line in enumerate(lines.split(b"\n"), start=1):
            try:
                row = json.loads(line) if line.strip() else None
                if row is not None:
                    self._found[row["key"]] = row["fields"]
            except (ValueError, KeyError, TypeError):
                raise DataError("not a verdict: expected {key, fields}", file=self.file, line=number) from None
        if not whole.endswith(b"\n"):
            self.file.write_bytes(lines + b"\n" if lines else b"")

    def __getitem__(self, key: str) -> Fields | None:
        return self._found[key]

    def __setitem__(self, key: str, fields: Fields | None) -> None:
        line = json.dumps({"key": key, "fields": fields}, ensure_ascii=False, default=str)
        with self._lock:
            self._found[key] = fields
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as out:
                out.write(f"{line}\n")

    def __delitem__(self, key: str) -> None:
        raise GoldassayError(f"a verdict is not taken back; delete {self.file} to ask for all of them again")

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._found))

    def __len__(self) -> int:
        return len(self._found)

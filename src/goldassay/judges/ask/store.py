"""Verdicts in a file, so that a run that is begun again asks for none twice.

One JSON object a line: the key of a question (a hash of judge, version, model, signature and inputs) and the fields of
the answer, ``null`` for an unknown one. A last line that was cut off is overlooked.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

from goldassay import jsonl
from goldassay.exceptions import GoldassayError

Fields = dict[str, Any]


class Verdicts(MutableMapping[str, Fields | None]):
    """A mapping that is written to its file as it grows: ``Judge(lm, verdicts=Verdicts("runs/verdicts.jsonl"))``."""

    def __init__(self, file: Path | str) -> None:
        self.file = Path(file)
        self._found: dict[str, Fields | None] = {}
        self._lock = threading.Lock()
        self._log: jsonl.Log | None = None
        if self.file.is_file():
            self._read()

    def __reduce__(self) -> tuple[type[Verdicts], tuple[Path]]:
        return Verdicts, (self.file,)  # elsewhere the file is read anew, and several processes may write to it

    def _read(self) -> None:
        for row in jsonl.rows(self.file, what="a verdict: expected {key, fields}", check=_checked):
            self._found[row["key"]] = row["fields"]

    def __getitem__(self, key: str) -> Fields | None:
        return self._found[key]

    def __setitem__(self, key: str, fields: Fields | None) -> None:
        with self._lock:
            self._found[key] = fields
            if self._log is None:
                self._log = jsonl.Log(self.file)
        self._log.add({"key": key, "fields": fields})

    def __delitem__(self, key: str) -> None:
        raise GoldassayError(f"a verdict is not taken back; delete {self.file} to ask for all of them again")

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._found))

    def __len__(self) -> int:
        return len(self._found)


def _checked(row: Fields) -> None:
    if not isinstance(row["key"], str) or not isinstance(row["fields"], (dict, type(None))):
        raise TypeError

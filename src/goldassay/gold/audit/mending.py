"""``--fix``: a repaired copy. Only what has one right answer is mended (offsets, edges); the rest stays as it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import files, formats
from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import SPANS
from goldassay.gold.formats import entries


def repaired(source: Path, target: Path, findings: Iterable[Finding], name: str | None = None) -> int:
    """Write a copy of ``source`` (a file or a folder) with the fixes of the findings; how many were made."""
    if target.resolve() == source.resolve() or target.resolve().is_relative_to(source.resolve()):
        raise GoldassayError(f"the repaired copy needs a place of its own, not {target}")
    if target.exists() and (target.is_dir() or source.is_dir()):
        raise GoldassayError(f"{target} exists already; name a new place for the repaired copy")
    fixes = [found for found in findings if found.fix]
    if source.is_dir():
        try:
            shutil.copytree(source, target)
        except OSError as error:  # shutil's own Error is one too, with a list of files in place of a reason
            raise DataError(
                f"cannot be written: {error.strerror or 'not all files could be copied'}", file=target
            ) from None
        return sum(
            _file(target / file, target / file, [found for found in fixes if found.file == file])
            for file in dict.fromkeys(found.file for found in fixes)
        )
    return _file(source, target, fixes)


def _file(source: Path, target: Path, fixes: Sequence[Finding]) -> int:
    kind = formats.by_name(source)
    if kind == "jsonl":
        return _lines(source, target, fixes)
    if kind == "json":
        return _entries(source, target, fixes)
    raise DataError("a repaired copy is written of jsonl and json; convert it first (gold convert)", file=source)


def _lines(source: Path, target: Path, fixes: Sequence[Finding]) -> int:
    """Lines without a fix stay byte for byte."""
    content = files.text(source)
    lines = content.split("\n")
    by_line: dict[int, list[Finding]] = {}
    for found in fixes:
        by_line.setdefault(found.line or 0, []).append(found)
    for number, here in by_line.items():
        raw = lines[number - 1]
        record = json.loads(raw)
        for found in here:
            _mend(record, found)
        lines[number - 1] = json.dumps(record, ensure_ascii=False) + ("\r" if raw.endswith("\r") else "")
    files.save(target, "\n".join(lines))
    return len(fixes)


def _mend(record: dict[str, Any], found: Finding) -> None:
    field, _, rest = str(found.field).partition("[")
    record[field][int(rest.rstrip("]"))].update(found.fix or {})


def _entries(source: Path, target: Path, fixes: Sequence[Finding]) -> int:
    content = files.json_value(source)
    made = 0
    for entry in content if isinstance(content, list) else [content]:
        for found in fixes:
            # Only annotated spans have offsets of their own; links stand where these do.
            if str(found.field).startswith(SPANS["extraction"]) and found.record == str(entry.get("id")):
                _mend({SPANS["extraction"]: entry[entries.PART["extraction"]]}, found)
                made += 1
    files.save_json(target, content)
    return made

"""``--fix``: a repaired copy. Only what has one right answer is mended (offsets, edges); the rest stays as it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from goldassay import files, jsonl
from goldassay.exceptions import DataError, GoldassayError, StorageError
from goldassay.files import go_on
from goldassay.gold import formats
from goldassay.gold.audit.rows import Finding
from goldassay.gold.formats import brat, entries
from goldassay.gold.records import SPANS


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
            why = error.strerror or "not all files could be copied"
            raise StorageError(f"{target}: cannot be written: {why}") from None
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
        content = files.json_value(source)
        made = _squad(content, fixes) if isinstance(content, dict) and "data" in content else _entries(content, fixes)
        files.save_json(target, content)
        return made
    if kind == "brat":
        return _standoff(source, target, fixes)
    raise DataError("a repaired copy is written of jsonl, json and brat; convert it first (gold convert)", file=source)


def _lines(source: Path, target: Path, fixes: Sequence[Finding]) -> int:
    """Lines without a fix stay byte for byte."""
    content = files.text(source)
    lines = content.split("\n")
    by_line: dict[int, list[Finding]] = {}
    for found in fixes:
        by_line.setdefault(found.line or 0, []).append(found)
    for number, here in by_line.items():
        raw = lines[number - 1]
        record = jsonl.value(raw, file=source, line=number)
        for found in here:
            _mend(record, found)
        lines[number - 1] = json.dumps(record, ensure_ascii=False) + ("\r" if raw.endswith("\r") else "")
    files.save(target, "\n".join(lines))
    return len(fixes)


def _mend(record: dict[str, Any], found: Finding) -> None:
    field, _, rest = str(found.field).partition("[")
    index, fix = int(rest.rstrip("]")), found.fix or {}
    if field == "answers":
        record["answer_starts"][index] = fix["start"]
    else:
        record[field][index].update(fix)


def _entries(content: Any, fixes: Sequence[Finding]) -> int:
    """Mend the founding format's entries in place."""
    made, name = 0, SPANS["extraction"]
    for entry in content if isinstance(content, list) else [content]:
        spans = entry.get(entries.PART["extraction"]) or []
        for found in fixes:
            field, _, rest = str(found.field).partition("[")
            # Only annotated spans have offsets of their own; links stand where these do.
            if field == name and found.record == str(entry.get("id")) and found.fix:
                span = spans[int(rest.rstrip("]"))] if int(rest.rstrip("]")) < len(spans) else {}
                # Two entries may have one id: only what stands there is put there.
                if entry["text"].startswith(found.fix.get("text", span.get("text")) or "\0", found.fix["start"]):
                    _mend({name: spans}, found)
                    made += 1
    return made


def _squad(content: Any, fixes: Sequence[Finding]) -> int:
    """Mend the starts of SQuAD's answers in place."""
    by_id = {(found.record, found.field): found for found in fixes}
    made = 0
    for article in content["data"]:
        for paragraph in article.get("paragraphs", []):
            for qa in paragraph.get("qas", []):
                for index, answer in enumerate(qa.get("answers", [])):
                    found = by_id.get((str(qa.get("id")), f"answers[{index}]"))
                    # Two questions may have one id: only what stands there is put there.
                    if found and found.fix and paragraph["context"].startswith(answer["text"], found.fix["start"]):
                        answer["answer_start"] = found.fix["start"]
                        made += 1
    return made


def _standoff(source: Path, target: Path, fixes: Sequence[Finding]) -> int:
    """The lines of an ``.ann`` file with mended offsets; the others stay byte for byte."""
    lines = files.text(source).split("\n")
    marks = brat.parse(source, source.stem, None, go_on)
    linked = [key for key in marks.spans if key in marks.ids or key in marks.nil]
    keys = {SPANS["extraction"]: list(marks.spans), SPANS["linking"]: linked}
    mended: dict[str, Finding] = {}
    for found in fixes:
        field, _, rest = str(found.field).partition("[")
        mended[keys[field][int(rest.rstrip("]"))]] = found
    for number, line in enumerate(lines):
        key, tab, rest = line.partition("\t")
        fix = mended[key].fix if tab and key in mended else None
        if fix:
            kind, words = rest.split(" ", 1)[0], fix.get("text", rest.partition("\t")[2])
            lines[number] = f"{key}\t{kind} {fix['start']} {fix['end']}\t{words}"
    files.save(target, "\n".join(lines))
    return len(mended)

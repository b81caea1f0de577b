"""Inspect (inspect-ai): logs ``.eval``, a zip of JSON files, and ``.json``.

A score is a number, a bool, a letter (C, I, P, N) or a dict of those. Epochs are repeats of a sample.
"""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, MissingExtra
from goldassay.running.logs.system import Sample, System

LARGEST = 2**31  # bytes that an archive may unpack to
HEADER = "header.json"


def unzipped(data: bytes, file: Path) -> dict[str, Any]:
    """An ``.eval`` archive as the object that a ``.json`` log holds; its members are read by name, in memory."""
    with suppress(ModuleNotFoundError):
        import_module("zipfile_zstd")  # Zstandard, which Inspect writes, is in zipfile from Python 3.14 on
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members: list[Any] = [info for info in archive.infolist() if info.filename.startswith("samples/")]
        if sum(info.file_size for info in members) > LARGEST:
            raise DataError(f"it unpacks to more than {LARGEST >> 30} GiB", file=file)
        log, *samples = (json.loads(archive.read(name)) for name in (HEADER, *members))
    except NotImplementedError:
        raise MissingExtra("zipfile-zstd", "inspect") from None
    except KeyError:
        raise DataError(f"not a whole log of Inspect: it has no {HEADER}", file=file) from None
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError) as error:
        raise DataError(f"not a readable log of Inspect: {error}", file=file) from None
    return {**log, "samples": samples}


def systems(content: Any, file: Path) -> list[System]:
    """The one system of a log; none if this is no log of Inspect."""
    if not isinstance(content, dict) or not isinstance(content.get("eval"), dict):
        return []
    head, samples = content["eval"], content.get("samples")
    if not samples:
        raise DataError("the log has no samples: it was written with log_samples=False, or cut off", file=file)
    warnings = [] if content["status"] == "success" else [f"Inspect's log ends with the status {content['status']!r}"]
    return [System("Inspect", head["task"], list(map(_sample, samples)), lm=head.get("model"), warnings=warnings)]


def _sample(sample: dict[str, Any]) -> Sample:
    values: dict[str, Any] = {}
    reasons, usage = {}, list((sample.get("model_usage") or {}).values())
    for scorer, score in (sample.get("scores") or {}).items():
        values |= score["value"] if isinstance(score["value"], dict) else {scorer: score["value"]}
        if score.get("explanation") != score.get("answer"):
            reasons[scorer] = score["explanation"]
    return Sample(
        sample["id"],
        values,
        {"input": sample["input"]},
        {"output": sample["target"]},
        {"output": sample.get("output", {}).get("completion")},
        sample.get("metadata") or {},
        (sample.get("error") or {}).get("message", ""),
        reasons,
        sample["epoch"],
        sample.get("total_time"),
        (sum(each["input_tokens"] for each in usage), sum(each["output_tokens"] for each in usage)) if usage else None,
    )

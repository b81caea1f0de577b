"""Inspect (inspect-ai): logs ``.eval``, a zip of JSON files, and ``.json``.

Epochs are repeats of a sample. A score is a number, a bool, a letter (C, I, P, N) or a dict of those; a reducer other
than the mean (``mode``, ``at_least_2`` …) gives a value of its own, ``SCORER_REDUCER``, from the log's reductions.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, MissingExtra
from goldassay.running.logs.system import MOST, Sample, System, number

LARGEST = 2**31  # bytes that an archive may unpack to
ZSTANDARD = 93  # the method of compression in zips that Inspect writes today
ATTACHMENT = "attachment://"


def unzipped(data: bytes, file: Path) -> dict[str, Any]:
    """An ``.eval`` archive as the object that a ``.json`` log holds; its members are read by name, in memory."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = {info.filename: info for info in archive.infolist()}
        header = members.get("header.json") or members.get("_journal/start.json")  # the latter of a log that was cut
        if header is None:
            raise DataError("a zip, but no log of Inspect: it has no header.json", file=file)
        samples = [info for name, info in members.items() if name.startswith("samples/") and name.endswith(".json")]
        reductions = [members["reductions.json"]] if "reductions.json" in members else []
        if sum(info.file_size for info in (header, *samples, *reductions)) > LARGEST:
            raise DataError(f"it unpacks to more than {LARGEST >> 30} GiB", file=file)
        log: dict[str, Any] = json.loads(_member(data, archive, header))
        log["samples"] = [json.loads(_member(data, archive, info)) for info in samples]
        log["reductions"] = [each for info in reductions for each in json.loads(_member(data, archive, info))]
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, RecursionError) as error:
        raise DataError(f"not a readable log of Inspect: {' '.join(str(error).split())}", file=file) from None
    return log


def _member(data: bytes, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A member's content: never more than it claims to have."""
    try:
        with archive.open(info) as stream:
            return stream.read(info.file_size)
    except NotImplementedError:  # zipfile knows Zstandard from Python 3.14 on
        if info.compress_type != ZSTANDARD:
            raise
    at = info.header_offset  # the local header has 30 bytes, then a name and more, whose lengths it ends with
    lengths = (int.from_bytes(data[at + place : at + place + 2], "little") for place in (26, 28))
    start = at + 30 + sum(lengths)
    return _zstandard(data[start : start + info.compress_size], info.file_size)


def _zstandard(data: bytes, size: int) -> bytes:
    """The first ``size`` bytes of compressed data."""
    try:
        reader: Any = import_module("zstandard").ZstdDecompressor().stream_reader(data, read_across_frames=True)
    except ModuleNotFoundError:
        try:
            pyarrow: Any = import_module("pyarrow")
        except ModuleNotFoundError:
            raise MissingExtra("zstandard", "inspect") from None
        reader = pyarrow.CompressedInputStream(pyarrow.py_buffer(data), "zstd")
    content = bytearray()
    while len(content) < size and (chunk := reader.read(size - len(content))):
        content += chunk
    return bytes(content)


def systems(content: Any, file: Path) -> list[System] | None:
    """The one system of a log; None if this is no log of Inspect."""
    if not isinstance(content, dict) or not isinstance(content.get("eval"), dict) or "version" not in content:
        return None
    head, stats, results = content["eval"], content.get("stats") or {}, content.get("results") or {}
    dataset, samples = head.get("dataset") or {}, content.get("samples") or []
    if not samples:
        raise DataError("the log has no samples: it was written with log_samples=False, or cut off", file=file)
    order = {str(key): place for place, key in enumerate(dataset.get("sample_ids") or ())}
    samples = sorted(samples, key=lambda sample: order.get(str(sample["id"]), len(order)))
    reduced: dict[str, dict[str, float | None]] = defaultdict(dict)
    for reduction in content.get("reductions") or ():
        if reduction.get("reducer") not in (None, "mean"):
            for score in reduction["samples"]:
                values = _values({reduction["scorer"]: score}, f"_{reduction['reducer']}")
                reduced[str(score["sample_id"])].update(values)
    status = str(content.get("status") or "cut off")
    warnings = [] if status == "success" else [f"Inspect's log ends with the status {status!r}"]
    missing = int(dataset.get("samples") or 0) - len({str(sample["id"]) for sample in samples})
    warnings += [f"{missing} samples of the data set are not in the log"] if missing > 0 else []
    about = {
        "started": stats.get("started_at") or head.get("created"),
        "finished": stats.get("completed_at") or None,
        "versions": {name: str(version) for name, version in (head.get("packages") or {}).items()},
    }
    name = str(head.get("task_display_name") or head.get("task") or file.stem)
    scored = [_sample(sample, reduced[str(sample["id"])]) for sample in samples]
    secondary = frozenset(key for values in reduced.values() for key in values)
    means, lm = _means(results), head.get("model") or None
    return [System("Inspect", name, scored, means, secondary=secondary, lm=lm, warnings=warnings, about=about)]


def _values(scores: Mapping[str, Any], ending: str = "") -> dict[str, float | None]:
    """The values of a sample's scores; one with several names has as many."""
    values: dict[str, float | None] = {}
    for scorer, score in scores.items():
        parts = score["value"] if isinstance(score["value"], dict) else {scorer: score["value"]}
        for name, value in parts.items():
            values[f"{name if name not in values else f'{scorer}/{name}'}{ending}"] = number(value)
    return values


def _means(results: Mapping[str, Any]) -> dict[str, float]:
    """Inspect's own means by the names of `_values`."""
    means: dict[str, float] = {}
    for score in results.get("scores") or ():
        reducer = score.get("reducer")
        name = score["name"] if reducer in (None, "mean") else f"{score['name']}_{reducer}"
        own = next(
            (score["metrics"][metric]["value"] for metric in ("accuracy", "mean") if metric in score["metrics"]), None
        )
        if (mean := number(own)) is not None:
            means.setdefault(name, mean)
    return means


def _sample(sample: Mapping[str, Any], reduced: Mapping[str, float | None]) -> Sample:
    scores, output = sample.get("scores") or {}, sample.get("output") or {}
    values = {**_values(scores), **reduced}
    answers = [score["answer"] for score in scores.values() if score.get("answer") is not None]
    wrong = {
        name: score for name, score in scores.items() if any((v or 0) < 1 for v in _values({name: score}).values())
    }
    reasons = [f"{name}: {_reason(score, sample.get('target'))}" for name, score in wrong.items()]
    usage = sum((Counter(used) for used in _token_counts(sample)), Counter[str]())
    return Sample(
        str(sample["id"]),
        values,
        question=[sample["input"], sample.get("target")],
        inputs={"input": _text(sample["input"], sample.get("attachments") or {})},
        gold={"target": sample.get("target")},
        prediction={"output": output.get("completion", ""), **({"answer": answers[0]} if answers else {})},
        metadata=sample.get("metadata") or {},
        repeat=int(sample.get("epoch") or 1),
        error=" ".join(str((sample.get("error") or {}).get("message") or "").split())[:MOST],
        reason="; ".join(reasons),
        seconds=sample.get("total_time"),
        usage=usage,
    )


def _reason(score: Mapping[str, Any], target: object) -> str:
    """The scorer's explanation, unless that is the answer itself."""
    explanation, answer = score.get("explanation"), score.get("answer")
    text = explanation if explanation and explanation != answer else f"expected {target!r}, got {answer!r}"
    return " ".join(str(text).split())[:MOST]


def _token_counts(sample: Mapping[str, Any]) -> Iterator[dict[str, int]]:
    for used in (sample.get("model_usage") or {}).values():
        yield {name: int(used.get(name) or 0) for name in ("input_tokens", "output_tokens")}


def _text(content: Any, attachments: Mapping[str, str]) -> Any:
    """An input as text: that of the last message, and of an attachment what it stands for."""
    if isinstance(content, list) and content:
        content = content[-1].get("content", "")
    if isinstance(content, str) and content.startswith(ATTACHMENT):
        return attachments.get(content.removeprefix(ATTACHMENT), content)
    return content

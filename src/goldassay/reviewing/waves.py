"""Waves of a review: new traces week after week, in the same folder, with the same modes.

Each wave is drafted from its own traces (`goldassay.gold.drafts`) for the question of the first. Its records carry the
time of the draft, and estimates take waves as strata of all traces (`goldassay.statistics.design`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from os.path import relpath
from pathlib import Path

from goldassay import files, jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.anyfields import ABOUT
from goldassay.gold.drafts import Pool, draft, text_of
from goldassay.gold.shapes import Record
from goldassay.reviewing.folder import DRAFT, SETTINGS, Folder
from goldassay.running.logs.sources import pool_of
from goldassay.secrets import redact
from goldassay.statistics.design import SAMPLING


def add_wave(folder: Folder, sources: Sequence[Path], *, n: int = 40, seed: int = 0) -> tuple[Folder, list[str]]:
    """Draft a wave of new traces into a review; returns the folder with them, and what a reader should know.

    Traces that the review was drafted from before are left out.

    Args:
        folder: The folder.
        sources: What the wave is drafted from, as a draft is (`goldassay.running.logs.sources.pool_of`).
        n: At most so many records.
        seed: The seed of the wave's draft.

    Raises:
        GoldassayError: The review compares systems, does not say how its records were chosen, or has all these traces;
            or another process has it open.
        DataError: A source cannot be read, or has an id that the review has for other inputs.
    """
    if folder.design is None:
        message = "its records do not say how they were chosen, so no wave can be weighed beside them"
        raise GoldassayError(f"{folder.path}: {message}; draft the new traces into a folder of their own")
    if folder.mode == "compare":
        raise GoldassayError(f"{folder.path} compares systems; draft the new traces into a folder of their own")
    wave = datetime.now(UTC).isoformat()
    pool = _new(folder, sources)
    left_out = len(pool_of(sources, folder.task, repeats=True).inputs) - len(pool.inputs)
    if not pool.inputs:
        raise GoldassayError(f"{folder.path}: all {left_out} traces of these sources are in it already")
    drafted = draft(pool, folder.design.question, n=n, seed=seed)
    records = [{**record, SAMPLING: {**record[SAMPLING], "wave": wave}} for record in drafted.records]
    places = [relpath(source, folder.path) for source in sources]
    settings = folder.settings.model_copy(update={"sources": [*folder.settings.sources, *places]})
    old = (folder.path / DRAFT).read_bytes().removesuffix(b"\n") + b"\n"
    folder.lock()
    try:
        contents: dict[Path, str | bytes] = {
            folder.path / DRAFT: old + "".join(f"{jsonl.dumps(record)}\n" for record in records).encode(),
            folder.path / SETTINGS: f"{jsonl.dumps(settings.model_dump(), 2)}\n",
        }
        files.save_all(contents)
    finally:
        folder.close()
    messages = [f"drafted: {len(records)} of {len(pool.inputs)} new traces", *drafted.warnings]
    if left_out:
        messages.append(f"left out, since the review was drafted from them before: {left_out}")
    return Folder.read(folder.path), messages


def _new(folder: Folder, sources: Sequence[Path]) -> Pool:
    """What sources have beside those of earlier waves; ids are as if all of them had been read at once.

    Raises:
        DataError: An id is that of other inputs.
    """
    earlier = [place for place in folder.sources if place.exists()]
    known = {str(record["id"]): _text(record, folder) for record in folder.records}
    known |= {
        name: _text(record, folder) for name, record in pool_of(earlier, folder.task, repeats=True).inputs.items()
    }
    pool = pool_of([*earlier, *sources], folder.task, repeats=True)
    inputs = {name: record for name, record in pool.inputs.items() if name not in known}
    for name in pool.inputs.keys() & known:
        if _text(pool.inputs[name], folder) != known[name]:
            raise DataError(
                f"{folder.path} has this id for other inputs; new traces need ids of their own", record=name
            )
    answers = {system: {name: each[name] for name in inputs if name in each} for system, each in pool.answers.items()}
    return Pool(folder.task, inputs, {system: each for system, each in answers.items() if each})


def _text(record: Record, folder: Folder) -> str:
    """What a trace is recognised by."""
    hidden = (*ABOUT, *folder.outputs)
    return redact(text_of({name: value for name, value in record.items() if name not in hidden}, folder.task))

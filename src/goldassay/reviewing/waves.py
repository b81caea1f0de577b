"""Waves of a review: new traces week after week, in the same folder, with the same modes.

Each wave is drafted from its own traces (`goldassay.gold.drafts`) for the question of the first. Its records carry the
time of the draft, and estimates take waves as strata of all traces (`goldassay.statistics.design`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from os.path import relpath
from pathlib import Path

from goldassay import files, jsonl
from goldassay.exceptions import GoldassayError
from goldassay.gold.anyfields import ABOUT
from goldassay.gold.drafts import Pool, draft, text_of
from goldassay.gold.shapes import Record
from goldassay.reviewing.folder import DRAFT, SETTINGS, Folder
from goldassay.running.logs.sources import pool_of
from goldassay.secrets import redact
from goldassay.statistics.design import SAMPLING


def add_wave(folder: Folder, sources: Sequence[Path], *, n: int = 40, seed: int = 0) -> tuple[Folder, list[str]]:
    """Draft a wave of new traces into a review; returns the folder with them, and what a reader should know.

    Traces that the review was drafted from before are left out: the same id with the same inputs. An id that other
    inputs have there gets the date of the wave before it.

    Args:
        folder: The folder.
        sources: What the wave is drafted from, as a draft is (`goldassay.running.logs.sources.pool_of`).
        n: At most so many records.
        seed: The seed of the wave's draft.

    Raises:
        GoldassayError: The review compares systems, does not say how its records were chosen, or has all these traces;
            or another process has it open.
        DataError: A source cannot be read.
    """
    if folder.design is None:
        message = "its records do not say how they were chosen, so no wave can be weighed beside them"
        raise GoldassayError(f"{folder.path}: {message}; draft the new traces into a folder of their own")
    if folder.mode == "compare":
        raise GoldassayError(f"{folder.path} compares systems; draft the new traces into a folder of their own")
    wave = datetime.now(UTC).isoformat()
    pool, left_out = _new(folder, pool_of(sources, folder.task), wave[:10])
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
    messages = [f"drafted: {len(records)} of {len(pool.inputs)} new traces", *pool.warnings, *drafted.warnings]
    if left_out:
        messages.append(f"left out, since the review was drafted from them before: {left_out}")
    return Folder.read(folder.path), messages


def _new(folder: Folder, pool: Pool, date: str) -> tuple[Pool, int]:
    """The part of a pool that the review does not have, under ids that are free there, and how much is left out."""
    before = {str(record["id"]): _text(record, folder) for record in folder.records}
    places = [place for place in folder.sources if place.exists()]
    if places:
        before |= {name: _text(record, folder) for name, record in pool_of(places, folder.task).inputs.items()}
    names: dict[str, str] = {}
    for old, record in pool.inputs.items():
        text = _text(record, folder)
        name = old
        while before.get(name, text) != text:
            name = f"{date}-{name}"
        if name not in before:
            names[old] = name
    new = replace(
        pool,
        inputs={name: {**pool.inputs[old], "id": name} for old, name in names.items()},
        answers={
            system: {name: {**answers[old], "id": name} for old, name in names.items() if old in answers}
            for system, answers in pool.answers.items()
        },
        verdicts={name: pool.verdicts[old] for old, name in names.items() if old in pool.verdicts},
    )
    return new, len(pool.inputs) - len(names)


def _text(record: Record, folder: Folder) -> str:
    """What a trace is recognised by."""
    hidden = (*ABOUT, *folder.outputs)
    return redact(text_of({name: value for name, value in record.items() if name not in hidden}, folder.task))

"""The gold of a review: the labelled records of the draft, and a card that says how good the labels are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import yaml

from goldassay._support import files
from goldassay._support.exceptions import DataError, GoldassayError, StorageError
from goldassay.core.measure import TASKS
from goldassay.ext.labelling.drafts import draft
from goldassay.ext.labelling.modes import ReviewedTrace
from goldassay.ext.labelling.review.folder import Folder, json_lines
from goldassay.ext.labelling.review.quality import GOOD
from goldassay.ext.labelling.review.session import Session
from goldassay.gold.shapes import Fields

GOLD_FILE = "gold.jsonl"


def export(session: Session) -> Fields:
    """Write ``gold.jsonl`` and ``card.yaml``; returns where, how many records, and what was left out.

    If somebody named a failure mode, or the draft is for errors, each record has its ``errors``: the modes, with note
    and grade; none means that it was read and nothing went wrong. ``reviewed.jsonl`` has all records that were read.

    Where a judge was asked, ``judge.jsonl`` has people's labels beside its verdicts, for `goldassay judge eval`.
    Records whose decisions differ, on which somebody is unsure, or whose decision made no gold have none. Where systems
    are compared, they stay in the file, so that a comparison counts them as the page does; else they are left out.

    Raises:
        StorageError: A file cannot be written.
    """
    folder = session.folder
    with session.journal.lock:
        settled = session.journal.all_settled()
        lines = session.journal.in_force()
        traces = {trace.id: trace for trace in session.modes.save()}
    records = session.quality.records(settled)
    if folder.design.question == "errors" or any(trace.modes for trace in traces.values()):
        for index, record in enumerate(records):
            if trace := traces.get(record["id"]):
                step = {} if trace.step is None else {"step": trace.step}
                errors = [{"mode": mode, "note": trace.note, "grade": trace.grade, **step} for mode in trace.modes]
                records[index] = {**record, "errors": errors}
    with_gold = {line.record for line in settled if line and line.value is not None}
    labelled = [record for record in records if record["id"] in with_gold]
    gold = records if folder.mode == "compare" else labelled
    decided = {line.index for line in lines if line.kind != "skip"}
    left_out = len(decided) - len(labelled)
    card = {
        "name": folder.path.stem,
        "source": f"labelled with goldassay review by {len({line.who for line in lines})} people",
        "created": datetime.now(UTC).date().isoformat(),
        "files": {folder.task: GOLD_FILE},
        **({} if folder.task in TASKS else {"inputs": list(folder.fields(0))}),
        "tasks": {folder.task: {"records": len(labelled)}},
        "review": {
            "records_in_draft": len(folder.records),
            "decided": len(decided),
            "left_out": left_out,
            "conflicts": len(session.journal.conflicts()),
            **session.quality.state(lines, settled)["quality"],
        },
    }
    verdicts: dict[str, Fields] = {}
    for line in lines:
        good = session.quality.is_good(line)
        verdict = session.quality.judged(line.index)
        if line.visit == "first" and good is not None and verdict is not None:
            row = verdicts.setdefault(line.record, {"id": line.record, "verdict": verdict >= GOOD, "labels": {}})
            row["labels"][line.who] = good
    judged = list(verdicts.values())
    contents: dict[str, str | bytes] = {
        GOLD_FILE: json_lines(gold),
        "card.yaml": yaml.safe_dump(card, sort_keys=False, allow_unicode=True),
    }
    if judged:
        contents["judge.jsonl"] = json_lines(judged)
    files.save_all({folder.path / name: text for name, text in contents.items()})
    counts = {
        "decided records have no gold: conflicts, unsure, or answers that are all right or wrong": left_out,
        "records of the draft are not decided": len(folder.records) - len(decided),
    }
    return {
        "path": str(folder.path / GOLD_FILE),
        "records": len(labelled),
        "left_out": left_out,
        "warnings": [f"{count} {what}" for what, count in counts.items() if count],
        "systems": session.systems(),
    }


def reviewed_traces(folder: Path) -> list[ReviewedTrace]:
    """The traces of a review that somebody has read, in that order, and writes ``reviewed.jsonl`` and ``modes.yaml``.

    Another process may have the folder open; of one that cannot be written the files stay as they are.

    Raises:
        DataError: It is no folder of a review, or cannot be read.
    """
    with closing(Session(Folder.read(folder), read_only=True)) as session:
        try:
            return session.modes.save()
        except StorageError:  # whoever may only read the folder may count what is in it
            return session.modes.traces()


def all_traces(folder: Path, sources: Sequence[Path] = ()) -> dict[str, tuple[Fields, Fields]]:
    """The inputs and the output of every trace that a review was drafted from, by id; read or not.

    Args:
        folder: The folder of the review.
        sources: Where the traces are, if not where the folder says.

    Raises:
        DataError: They are gone, or cannot be read.
    """
    review = Folder.read(folder)
    places = [*sources] or review.sources
    try:
        pool = review.pool(places)
        records = draft(pool, "level", n=len(pool.inputs)).records
    except GoldassayError as error:
        if sources:
            raise
        raise DataError(f"its traces cannot be read; name them, too: {error}", file=folder) from None
    everything = Folder(folder, review.settings, records)
    traces: dict[str, tuple[Fields, Fields]] = {}
    for index, record in enumerate(records):
        answer = everything.first(index)
        traces[record["id"]] = (everything.inputs(index), answer.output if answer else {})
    return traces


def labels_of(folder: Path) -> tuple[list[Fields], dict[str, dict[str, Sequence[str]]]]:
    """The records of a review with their labels, in the order of these, and by their ids the modes of each system.

    Another process may have the folder open.

    Raises:
        DataError: It is no folder of a review, or cannot be read.
    """
    with closing(Session(Folder.read(folder), read_only=True)) as session:
        settled = session.journal.all_settled()
        modes = {trace.id: trace.modes for trace in session.modes.traces()}
        failures = {line.record: session.quality.failures(line, modes[line.record]) for line in settled if line}
        return session.quality.records(settled), failures

"""The gold of a review: the labelled records of the draft, and a card that says how good the labels are."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path

import yaml

from goldassay import files, jsonl
from goldassay.gold.modes import REVIEWED, ReviewedTrace, traces_as_text
from goldassay.gold.shapes import Fields, Record
from goldassay.measure import TASKS
from goldassay.reviewing.folder import Folder
from goldassay.reviewing.quality import GOOD
from goldassay.reviewing.session import Session
from goldassay.statistics.design import SAMPLING, sampling_of

GOLD = "gold.jsonl"


def export(session: Session) -> Fields:
    """Write ``gold.jsonl`` and ``card.yaml``; returns where, how many records, and what was left out.

    Where a judge was asked, ``judge.jsonl`` has people's labels beside its verdicts, for `goldassay judge align`.
    Records whose decisions differ, on which somebody is unsure, or whose decision made no gold have none. Where systems
    are compared, they stay in the file, so that a comparison counts them as the page does; else they are left out.

    Raises:
        StorageError: A file cannot be written.
    """
    folder = session.folder
    with session.lock:
        settled = [session.queue.settled(index) for index in range(session.queue.count)]
        lines = session.journal.in_force()
    records = session.quality.records(settled)
    with_gold = {line.record for line in settled if line and line.value is not None}
    labelled = [record for record in records if record["id"] in with_gold]
    gold = records if folder.mode == "compare" else labelled
    decided = {line.index for line in lines if line.kind != "skip"}
    left_out = len(decided) - len(labelled)
    state = session.quality.state(lines, settled)
    card = {
        "name": folder.path.stem,
        "source": f"labelled with goldassay review by {len({line.who for line in lines})} people",
        "created": datetime.now(UTC).date().isoformat(),
        "files": {folder.task: GOLD},
        **({} if folder.task in TASKS else {"inputs": list(folder.fields(0))}),
        "tasks": {folder.task: {"records": len(labelled)}},
        "review": {
            "records_in_draft": session.queue.count,
            "decided": len(decided),
            "left_out": left_out,
            "conflicts": len(session.queue.conflicts()),
            **state["quality"],
        },
    }
    judged: dict[str, Fields] = {}
    for line in lines:
        good = session.quality.is_good(line)
        verdict = session.quality.judged(line.index)
        if line.visit == "first" and good is not None and verdict is not None:
            row = judged.setdefault(line.record, {"id": line.record, "verdict": verdict >= GOOD, "labels": {}})
            row["labels"][line.who] = good
    contents = {GOLD: json_lines(gold), "card.yaml": yaml.safe_dump(card, sort_keys=False, allow_unicode=True)}
    if judged:
        contents["judge.jsonl"] = json_lines(judged.values())
    files.save_all({folder.path / name: text for name, text in contents.items()})
    warnings = []
    if left_out:
        warnings.append(
            f"{left_out} decided records have no gold: conflicts, unsure, or answers that are all right or wrong"
        )
    if session.queue.count > len(decided):
        warnings.append(f"{session.queue.count - len(decided)} records of the draft are not decided")
    return {
        "path": str(folder.path / GOLD),
        "records": len(labelled),
        "left_out": left_out,
        "warnings": warnings,
        "systems": session.systems(),
    }


def reviewed_traces(folder: Path) -> list[ReviewedTrace]:
    """The traces of a review that somebody has read, in that order; ``reviewed.jsonl`` is written anew.

    Another process may have the folder open.

    Raises:
        DataError: It is no folder of a review, or cannot be read.
        StorageError: The file cannot be written.
    """
    with closing(Session(Folder.read(folder), read_only=True)) as session:
        traces = traces_of(session)
    files.save(folder / REVIEWED, traces_as_text(traces))
    return traces


def traces_of(session: Session) -> list[ReviewedTrace]:
    """The traces that somebody has read, in that order.

    What several reviewers noted is put together: a trace has every mode that one of them gave it, and the last note and
    grade. A repeated visit measures the reviewer, and is left out.
    """
    folder = session.folder
    journal = session.journal
    traces: list[tuple[int, ReviewedTrace]] = []
    for index, record in enumerate(folder.records):
        lines = [line for line in journal.decisions(index).values() if line.kind != "skip" and line.visit != "repeat"]
        if not lines:
            continue
        lines.sort(key=lambda line: journal.order[line.decision])
        settled = session.queue.settled(index)
        answers = {each.system: each.output for each in folder.suggestions(index)}
        sampling = sampling_of(record[SAMPLING]) if record.get(SAMPLING) else None
        trace = ReviewedTrace(
            str(record["id"]),
            folder.inputs(index),
            next((answers[name] for name in folder.systems if name in answers), {}),
            settled.value if settled else None,
            tuple(dict.fromkeys(name for line in lines for name in line.modes)),
            next((line.note for line in reversed(lines) if line.note), None),
            next((line.grade for line in reversed(lines) if line.grade), None),
            sampling,
            (sampling.wave if sampling else None) or folder.settings.created,
        )
        traces.append((journal.order[lines[0].decision], trace))
    return [trace for _, trace in sorted(traces, key=itemgetter(0))]


def json_lines(rows: Iterable[Record]) -> str:
    """Rows as JSON Lines."""
    return "".join(f"{jsonl.dumps(row)}\n" for row in rows)

"""Drafts in files: sources are read, records chosen and written, or written behind those that are there.

draft_sources([Path("runs/a"), Path("runs/b")], "extraction", Path("draft.jsonl"), "compare")
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os.path import relpath
from pathlib import Path

from goldassay import workspace
from goldassay._support import files
from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import Fields
from goldassay.ext.interop.logs.tools import rows_of_table
from goldassay.ext.labelling import SUFFIX
from goldassay.ext.labelling.drafts import Draft, Pool, draft
from goldassay.ext.labelling.review.folder import Folder
from goldassay.ext.labelling.sources import pool_of
from goldassay.gold import read, write
from goldassay.gold.anyfields import mapping
from goldassay.statistics.design import SAMPLING


def draft_sources(
    sources: Sequence[Path],
    task: str,
    out: Path,
    question: str | None = None,
    *,
    n: int = 40,
    more: int | None = None,
    measure: str | None = None,
    strata: str | None = None,
    verdicts: Path | None = None,
    map: str | None = None,
    seed: int = 0,
    fixed: bool = False,
) -> tuple[Draft, Pool, int]:
    """Choose inputs to label for a question and write them; returns the draft, its pool, and how many were there.

    Args:
        sources: Run folders, traces, logs, predictions, or inputs.
        task: The task, or the file of its program.
        out: A file (.jsonl, .csv, .json of Label Studio); the folder of a review only to continue it.
        question: ``compare``, ``level``, ``errors`` or ``tuning``; by default the first of several sources.
        n: How many records at most.
        more: Continue the draft in ``out`` with so many: its records stay as they are, with all that people added.
        measure: The measure that is asked about.
        strata: The strata of a level, or a function in a file (``FILE.py:NAME``).
        verdicts: A judge's verdicts on the answers.
        map: Fields under other names.
        seed: Of the draw.
        fixed: All drafted records will be labelled before anybody looks (`draft`).

    Raises:
        GoldassayError: The draft cannot be continued, or a source cannot be read.
    """
    program = workspace.own_program(task)
    name = program.task if program else task
    form = "label-studio" if out.suffix == ".json" else None
    continued = (".jsonl", ".csv", ".json")
    if more and out.suffix not in continued and not out.is_dir():
        raise GoldassayError(f"a draft is continued in {', '.join(continued)}, not in {out}; draft into one of these")
    drafted: Sequence[Mapping[str, object]] = read(out, name, format=form, drafts=True) if more else ()
    rule = strata if ".py" in (strata or "") else None
    pool = pool_of(sources, task, map=map, verdicts=verdicts, rule=rule)
    chosen = draft(
        pool,
        question,
        n=more or n,
        measure=measure,
        strata=None if rule else strata,
        seed=seed,
        fixed=fixed,
        drafted=drafted,
    )
    about: Fields = {"sources": [relpath(source, out.with_suffix(SUFFIX)) for source in sources]}
    about |= {"map": mapping(map)} if map else {}
    records = [{**record, SAMPLING: {**record[SAMPLING], **about}} for record in chosen.records]
    chosen = replace(chosen, records=records)
    if not drafted:
        write(out, chosen.records, format=form, task=name)
    elif out.is_dir():
        Folder.read(out).append(chosen.records)
    else:
        new = out.with_name(f".{out.stem}.more{out.suffix}")
        try:
            write(new, chosen.records, format=form, task=name)
            if form:
                tasks = [*files.json_value(out), *files.json_value(new)]
                text = json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"
            elif out.suffix == ".csv":
                text = files.csv_of_records([*rows_of_table(out), *rows_of_table(new)])
            else:
                text = "".join(f"{line}\n" for file in (out, new) for line in files.lines(file))
            files.save(out, text)
        finally:
            new.unlink(missing_ok=True)
    return chosen, pool, len(drafted)

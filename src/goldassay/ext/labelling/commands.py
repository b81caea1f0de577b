"""The commands of labels: choose records (``gold draft``), label them (``review``), count failures (``gold modes``)."""

from __future__ import annotations

import json as jsons
import sys
import webbrowser
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from os.path import relpath
from pathlib import Path
from typing import Annotated

from goldassay import workspace
from goldassay._support import files
from goldassay._support import options as use
from goldassay._support.exceptions import GoldassayError
from goldassay._support.options import shell_line
from goldassay.core.fields import Fields
from goldassay.ext.interop.logs.tools import rows_of_table
from goldassay.ext.labelling import SUFFIX
from goldassay.ext.labelling.drafts import draft as choose
from goldassay.ext.labelling.drafts import next_steps
from goldassay.ext.labelling.mode_judges import suggest_modes
from goldassay.ext.labelling.modes import ModeTable, over, read_modes
from goldassay.ext.labelling.review import Review
from goldassay.ext.labelling.review.folder import Folder, add_wave, task_of
from goldassay.ext.labelling.review.session import Session, reviewed_traces
from goldassay.ext.labelling.sources import pool_of
from goldassay.gold import anyfields, read, write
from goldassay.judges.tuning import panel
from goldassay.reporting import terminal
from goldassay.statistics.design import SAMPLING


@dataclass(frozen=True)
class ReviewOptions:
    """The options of a review."""

    task: str | None = None
    question: Annotated[
        str | None, use.for_gold("QUESTION", "Of a new draft: compare, level, errors or tuning.", "--for")
    ] = None
    n: Annotated[int | None, use.for_gold("N", "Of a new draft or wave: the most records (default: 40).", min=1)] = None
    add: Annotated[
        list[Path] | None, use.for_gold("TRACES", "Draft a wave of new traces into FOLDER, the first SOURCE (repeat).")
    ] = None
    who: Annotated[
        str | None, use.option("NAME", "Who labels (default: me). Others open the address with ?who=NAME.")
    ] = None
    overlap: Annotated[
        float | None, use.option("SHARE", "The share of the records that two reviewers label.", min=0, max=1)
    ] = None
    show_judge: Annotated[bool, use.flag("Show the judge's verdict of the draft once a record is decided.")] = False
    map: str | None = None


def review(
    sources: Annotated[
        list[Path],
        use.argument("SOURCE...", "A draft, the folder of a review to continue, or whatever gold draft takes."),
    ],
    options: ReviewOptions,
    export: Annotated[bool, use.flag("Write gold.jsonl and its card, and open no page.")] = False,
    no_browser: Annotated[bool, use.flag("Open no browser.")] = False,
    port: Annotated[int, use.option("N", "The port of the page (default: any).", min=0, max=65535)] = 0,
    host: Annotated[
        str | None, use.option("ADDRESS", "Open the page to the network at this address of yours, or 0.0.0.0 for all.")
    ] = None,
    seed: int | None = None,
    json: bool = False,
) -> None:
    """Open a page to label a draft, compare two systems blindly or settle conflicts. Ctrl-C or the page ends it."""
    folder = Folder.open(
        sources[:1] if options.add else sources,
        options.task,
        question=options.question,
        n=None if options.add else options.n,
        seed=None if options.add else seed,
        map=options.map,
        who=options.who,
        overlap=options.overlap,
        judge=options.show_judge or None,
    )
    if options.add:
        folder, messages = add_wave(folder, [*options.add, *sources[1:]], n=options.n or 40, seed=seed or 0)
        print("\n".join(messages), file=sys.stderr)
    if export:
        with closing(Session(folder, read_only=True)) as session:
            written = session.export()
        terminal.warn(*written["warnings"])
        terminal.output(written, json, [f"{written['path']}: {written['records']} records"])
        return
    with Review(folder, port, host) as opened:
        if host is not None:
            terminal.warn(
                "whoever has this address can read and label: send it only to people who may; it is not encrypted, so "
                "use a network that you trust. Each adds ?who=NAME to it"
            )
        where = {"url": opened.url, "folder": str(opened.folder)}
        terminal.output(where, json, [opened.url])
        if not no_browser:
            webbrowser.open(opened.url)
        opened.server.wait()
    if not json:
        terminal.echo(*folder.next_steps)


@dataclass(frozen=True)
class DraftOptions:
    """Which inputs are drafted, and for which question."""

    question: Annotated[
        str | None,
        use.option(
            "QUESTION",
            "compare the sources (default of two or more), the level of one (default), its errors, or examples for "
            "tuning.",
            "--for",
        ),
    ] = None
    n: Annotated[int, use.option("N", "The most records to draft.", min=1)] = 40
    more: Annotated[int | None, use.option("N", "Add so many records to the draft in --out.", min=1)] = None
    measure: Annotated[
        str | None,
        use.option("NAME", "The measure to compare by, such as f1 (default: any difference of the outputs)."),
    ] = None
    strata: Annotated[
        str | None,
        use.option(
            "NAME|FILE.py:NAME",
            "The strata of a level: confidence, agreement, a field, or a function of (example, prediction). For "
            "errors: a function that says where one is likely.",
        ),
    ] = None
    fixed: Annotated[
        bool, use.flag("For compare: label all N before anybody looks, so that a test of that number decides.")
    ] = False
    verdicts: Annotated[
        Path | None, use.option("FILE|RUN", "Verdicts of a judge on the answers (judge eval --out).")
    ] = None
    map: str | None = None


def draft(
    sources: Annotated[
        list[Path],
        use.argument("SOURCE...", "Run folders, traces, logs, predictions, or inputs (jsonl, csv, txt)."),
    ],
    task: str,
    out: Annotated[
        Path, use.option("FILE", "The draft: .jsonl, .csv or .json (Label Studio); with --more also a review.")
    ],
    options: DraftOptions,
    seed: int = 0,
    force: bool = False,
    json: bool = False,
) -> None:
    """Choose the inputs to label for a question; each has the answers of the sources and how it was chosen."""
    if options.more is None:
        use.check_new(out, force)
    program = workspace.own_program(task)
    name = program.task if program else task
    columns = anyfields.mapping(options.map) or {}
    with terminal.working("reading"):
        form = "label-studio" if out.suffix == ".json" else None
        continued = (".jsonl", ".csv", ".json")
        if options.more and out.suffix not in continued and not out.is_dir():
            message = f"a draft is continued in {', '.join(continued)}, not in {out}; draft into one of these"
            raise GoldassayError(message)
        drafted: Sequence[Mapping[str, object]] = ()
        if options.more:
            drafted = read(out, name, format=form, drafts=True)
        rule = options.strata if ".py" in (options.strata or "") else None
        pool = pool_of(sources, task, map=options.map, verdicts=options.verdicts, rule=rule)
        chosen = choose(
            pool,
            options.question,
            n=options.more or options.n,
            measure=options.measure,
            strata=None if rule else options.strata,
            seed=seed,
            fixed=options.fixed,
            drafted=drafted,
        )
        about: Fields = {"sources": [relpath(source, out.with_suffix(SUFFIX)) for source in sources]}
        about |= {"map": columns} if columns else {}
        records = [{**record, SAMPLING: {**record[SAMPLING], **about}} for record in chosen.records]
        if not drafted:
            write(out, records, format=form, task=name)
        elif out.is_dir():
            Folder.read(out).append(records)
        else:  # behind those that are there, which stay as they are, with all that people added
            new = out.with_name(f".{out.stem}.more{out.suffix}")
            try:
                write(new, records, format=form, task=name)
                if form:
                    tasks = [*files.json_value(out), *files.json_value(new)]
                    text = jsons.dumps(tasks, ensure_ascii=False, indent=1) + "\n"
                elif out.suffix == ".csv":
                    text = files.csv_of_records([*rows_of_table(out), *rows_of_table(new)])
                else:
                    text = "".join(f"{line}\n" for file in (out, new) for line in files.lines(file))
                files.save(out, text)
            finally:
                new.unlink(missing_ok=True)
    terminal.output(chosen, json)
    if not json:
        terminal.line(f"{out}: {len(drafted) + len(records)} records; label them from the top, then go on:")
        terminal.echo(shell_line("goldassay review", out, task=None if task_of(records) == pool.task else task))
        terminal.echo(*next_steps(chosen.question, task, out, pool.files, columns))


def modes(
    folder: Annotated[Path, use.argument("FOLDER", "The folder of a review.")],
    fail_over: Annotated[
        list[str] | None,
        use.for_result(
            "NAME=SHARE", "Exit with status 1 if the share of this mode (not its interval) is higher (repeat)."
        ),
    ] = None,
    lm: Annotated[
        str | None, use.for_model("MODEL", "A model suggests modes for notes that have none; nothing is written.")
    ] = None,
    json: bool = False,
) -> None:
    """Count what went wrong: the failure modes of a review, each with its share of all traces."""
    limits = use.numbers("fail_over", fail_over)
    traces = reviewed_traces(folder)
    table = ModeTable.of(traces, read_modes(folder))
    missed = over(table.shares, limits)
    if lm is not None:
        modes = [share.mode for share in table.shares]
        table = replace(table, suggestions=suggest_modes(traces, modes, panel("support", [lm])))
    terminal.output(table, json)
    for message in missed:
        print(f"goldassay: {message}", file=sys.stderr)
    if missed:
        raise SystemExit(1)

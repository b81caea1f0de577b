"""``goldassay gold …``: validate, count, split, convert gold; the agreement of annotators; what went wrong."""

from __future__ import annotations

import json as jsons
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from goldassay import files
from goldassay.cli import options as use
from goldassay.cli.settings import Setting, settings
from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting import tables, terminal

if TYPE_CHECKING:
    from goldassay.gold.modes import ReviewedTrace

app = use.commands("Gold: validate, count, split, convert it; measure the agreement of annotators.")
CONTINUED = (".jsonl", ".csv", ".json")
READING = {"topics": Setting(["retrieval"], Path)}


@dataclass(frozen=True)
class ReadingOptions(use.FormatOptions):
    """How a file of gold is read."""

    task: use.OfTask = None

    def load(self, gold: str) -> Any:
        """A gold set, or a file of a task."""
        from goldassay.gold import load

        return load(gold, task=self.task, **self.reading())


@use.command(app)
def validate(
    gold: use.GoldSet,
    reading: ReadingOptions,
    fix: Path | None = use.option("PLACE", "Write a copy with corrected offsets here."),
    json: bool = False,
) -> None:
    """Find everything that is wrong in gold; exit with status 1 if anything is."""
    from goldassay.gold.audit import audit, repaired
    from goldassay.gold.sets import find

    result = audit(gold, task=reading.task, **reading.reading())
    terminal.output(result, json, tables.gold_audit)
    if fix is not None:
        fixed = repaired(find(gold), fix, result.findings)
        terminal.warn(f"{fixed} of {len(result.findings)} findings corrected in {fix}")
    if not result.clean:
        raise SystemExit(1)


@use.command(app)
def stats(gold: use.GoldSet, reading: ReadingOptions, json: bool = False) -> None:
    """Count records by split, language, type and stratum."""
    from goldassay.gold.sets import stats as count

    terminal.output(count(reading.load(gold)), json, tables.gold_stats)


@use.command(app)
def split(
    gold: use.GoldSet,
    reading: ReadingOptions,
    ratios: str | None = use.option("NAME=SHARE,…", "Default: train=0.7,dev=0.15,test=0.15."),
    by: list[str] | None = use.option("NAME", "Keep this stratum or field in proportion (repeat)."),
    out: Path | None = use.option("FOLDER", "Write the records with their split here."),
    seed: int = 0,
    force: bool = False,
    json: bool = False,
) -> None:
    """Split gold without leaks: stratified, documents whole, near duplicates on the same side.

    All tasks of a set are split together, so that a document is on the same side in all of them.
    """
    from goldassay.gold import splits, write

    loaded = reading.load(gold)
    records = [record for part in loaded.tasks.values() for record in part.records]
    shares = use.numbers("--ratios", ratios.split(",")) if ratios else splits.DATASET_SPLITS
    division = splits.split(records, ratios=shares, factors=by or None, seed=seed)
    if out is not None:
        for name in loaded.tasks:
            use.new_place(out / f"{name}.jsonl", force)
        for name, part in loaded.tasks.items():
            rows = [{**record, "split": division.of[str(record["id"])]} for record in part.records]
            write(out / f"{name}.jsonl", rows, format="jsonl", task=name)
    terminal.output(division, json, tables.gold_split)
    if not json:
        terminal.line("nothing written; --out FOLDER writes it" if out is None else f"written to {out}")


@use.command(app)
def agree(
    files: Annotated[list[Path], use.argument("FILE...", "One file an annotator, or one labelled draft.")],
    task: use.OfTask = None,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Measure the agreement of annotators, and list their disagreements.

    One file alone is a labelled draft (gold draft): its labels are held against each system's suggestions.
    """
    from goldassay.gold.agreement import agree_files

    file = files[0]
    if task is None and not file.exists():
        raise DataError("no such file", file=file)
    if task is None and file.is_dir():
        raise GoldassayError(f"{file} is a folder; name the task that was annotated with --task")
    job = task or next(iter(ReadingOptions().load(str(file)).tasks))
    terminal.output(agree_files(files, job, seed=seed), json, tables.agreement)


@use.command(app)
def convert(
    source: Annotated[Path, use.argument("FROM", "The file to read.")],
    target: Annotated[Path, use.argument("TO", "The file to write.")],
    task: Annotated[str, use.for_gold("TASK", "The task of the gold.")],
    reading: use.FormatOptions,
    to: str | None = use.option("NAME", "The format of TO, if its name does not imply it."),
    option: list[str] | None = use.option(
        "NAME=VALUE", "topics=FILE: the texts of the queries of trec, id<TAB>text a line."
    ),
    pred: bool = use.flag("--pred", "Convert predictions, not gold."),
    force: bool = False,
) -> None:
    """Convert gold from one format to another, and report what is lost."""
    from goldassay import gold as library

    use.new_place(target, force)
    options = {**reading.reading(), **settings(option, allowed=READING)}
    options |= {"side": "pred" if pred else "gold", "source_format": options.pop("format"), "target_format": to}
    print(f"{target}: {library.convert(source, target, task=task, **options)}")


@dataclass(frozen=True)
class DraftOptions:
    """Which inputs are drafted, and for which question."""

    question: str | None = use.option(
        "QUESTION",
        "compare the sources (default of two or more), the level of one (default), its errors, or examples for tuning.",
        "--for",
    )
    n: int = use.option("N", "At most so many records.", min=1, default=40)
    more: int | None = use.option("N", "Continue the draft in --out by so many records.", min=1)
    measure: str | None = use.option("NAME", "The measure that is asked about, as f1 (default: any of the output).")
    strata: str | None = use.option(
        "NAME|FILE.py:NAME",
        "The strata of a level: confidence, agreement, a field, or a function of (example, prediction); of errors such "
        "a function, which says where one is likely.",
    )
    judge: Path | None = use.option("FILE|RUN", "Verdicts of a judge on the answers (judge eval --out).")
    map: use.FieldMap = None


@use.command(app)
def draft(
    sources: Annotated[
        list[Path],
        use.argument("SOURCE...", "Run folders, traces, logs, predictions, or inputs (jsonl, csv, txt)."),
    ],
    task: Annotated[str, use.for_gold("TASK", "The task of the gold.")],
    out: Annotated[Path, use.option("FILE", ".jsonl, .csv or .json (Label Studio).")],
    options: DraftOptions,
    seed: int = 0,
    force: bool = False,
    json: bool = False,
) -> None:
    """Choose the inputs to label for a question, each with what the sources answered and how it was chosen."""
    from goldassay import gold as library
    from goldassay.gold.reading import records_of, source_of
    from goldassay.running.logs.sources import pool_of

    form = "label-studio" if out.suffix == ".json" else None
    drafted: Sequence[dict[str, Any]] = ()
    if options.more is None:
        use.new_place(out, force)
    elif out.suffix not in CONTINUED:
        raise GoldassayError(f"--more continues a draft in {', '.join(CONTINUED)}, not {out}; draft into one of these")
    else:
        drafted = records_of(source_of(out, task, "gold", form, drafts=True))
    rule = options.strata if ".py" in (options.strata or "") else None
    with terminal.working("reading"):
        pool = pool_of(sources, task, map=options.map, verdicts=options.judge, rule=rule)
        strata = None if rule else options.strata
        chosen: Any = {"measure": options.measure, "strata": strata, "seed": seed, "drafted": drafted}
        result = library.draft(pool, options.question, n=options.more or options.n, **chosen)
    if drafted:
        _append(out, result.records, form, task)
    else:
        library.write(out, result.records, format=form, task=task)
    terminal.warn(*result.warnings)
    terminal.output(result, json, tables.gold_draft)
    if not json:
        page = f"(goldassay review {out})"
        terminal.line(f"{out}: {len(drafted) + len(result.records)} records; label them from the top {page}, then:")
        compared = pool.files if result.question == "compare" else pool.files[:1]
        pred = " --pred ".join(map(str, compared)) or "FILE"
        terminal.echo(NEXT[result.question].format(task=task, gold=out, pred=pred))


def _append(out: Path, records: Sequence[dict[str, Any]], form: str | None, task: str) -> None:
    """Write records behind those of a draft, which stay as they are, with all that people added to them."""
    from goldassay import gold as library
    from goldassay.running.logs.tools import rows_of_table

    more = out.with_name(f".{out.stem}.more{out.suffix}")
    try:
        library.write(more, records, format=form, task=task)
        if form:
            tasks = [*files.json_value(out), *files.json_value(more)]
            text = jsons.dumps(tasks, ensure_ascii=False, indent=1) + "\n"
        elif out.suffix == ".csv":
            rows = [*rows_of_table(out), *rows_of_table(more)]
            columns = list(dict.fromkeys(column for row in rows for column in row))
            text = files.csv_text([columns, *([row.get(column) or "" for column in columns] for row in rows)])
        else:
            text = "".join(f"{line}\n" for file in (out, more) for line in files.lines(file))
        files.save(out, text)
    finally:
        more.unlink(missing_ok=True)


NEXT = {
    "compare": "goldassay compare {task} --gold {gold} --pred {pred}",
    "level": "goldassay score {task} --gold {gold} --pred {pred}",
    "errors": "goldassay score {task} --gold {gold} --pred {pred}",
    "tuning": "goldassay tune {task} --gold {gold}",
}
"""The command that takes the labels, by question."""


@use.command(app)
def modes(
    folder: Annotated[Path, use.argument("FOLDER", "The folder of a review.")],
    fail_over: list[str] | None = use.for_result(
        "NAME=SHARE", "Exit with status 1 if the share of this mode (not its interval) is higher (repeat)."
    ),
    suggest: bool = use.flag("--suggest", "Let a model suggest modes for notes that have none; nothing is written."),
    lm: use.Lm = None,
    json: bool = False,
) -> None:
    """Count what went wrong: the failure modes of a review, each with its share of all traces."""
    from goldassay.gold.modes import ModeTable, over, read_modes
    from goldassay.reviewing.exporting import reviewed_traces

    limits = use.numbers("--fail-over", fail_over)
    traces = reviewed_traces(folder)
    table = ModeTable.of(traces, read_modes(folder))
    missed = over(table.shares, limits)
    groups: dict[str, list[ReviewedTrace]] = {}
    if suggest:
        from goldassay.judges.judge import Judge
        from goldassay.judges.modes import suggest_modes
        from goldassay.lm import models

        model = models.resolve(lm)
        judge = Judge(model, adapter=models.adapter(model))
        groups = suggest_modes(traces, [each.mode for each in table.shares], judge)
    terminal.output(
        {**table.state(), "suggestions": {name: [trace.id for trace in group] for name, group in groups.items()}},
        json,
        lambda _: tables.modes(table, groups),
    )
    terminal.warn(*table.warnings)
    for message in missed:
        print(f"goldassay: {message}", file=sys.stderr)
    if missed:
        raise SystemExit(1)


@use.command(app)
def schema(task: use.Task, pred: bool = use.flag("--pred", "Of predictions, not gold.")) -> None:
    """Print the JSON Schema of a task's records."""
    import json

    from goldassay import gold as library

    print(json.dumps(library.schema(task, "pred" if pred else "gold"), ensure_ascii=False, indent=2))

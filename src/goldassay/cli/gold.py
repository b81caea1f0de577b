"""``goldassay gold …``: validate, count, split, convert gold; measure the agreement of annotators."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from goldassay.cli import options as use
from goldassay.cli.settings import Setting, settings
from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting import tables, terminal

app = use.commands("Gold: validate, count, split, convert it; measure the agreement of annotators.")
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
    files: Annotated[list[Path], use.argument("FILE...", "One file an annotator, or one corrected draft.")],
    task: use.OfTask = None,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Measure the agreement of annotators, and list their disagreements.

    One file alone is a corrected draft (gold from-traces): its labels are held against its suggestions.
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


@use.command(app, "from-traces")
def from_traces(
    sources: Annotated[
        list[Path],
        use.argument("SOURCE...", "Run folders, traces of MLflow or OpenTelemetry (JSON)."),
    ],
    task: Annotated[str, use.for_gold("TASK", "The task of the gold.")],
    out: Annotated[
        Path,
        use.option("FILE", ".jsonl, .csv, .json (Label Studio), .html to correct by keys."),
    ],
    map: use.FieldMap = None,
    n: int = use.option("N", "At most so many records.", min=1, default=50),
    by: str | None = use.option("WAY", "disagreement (of the sources), stratum or random."),
    seed: int = 0,
    force: bool = False,
) -> None:
    """Draft gold from what programs answered: inputs, with an answer as a suggestion to correct."""
    from goldassay import files
    from goldassay.gold import write
    from goldassay.running.logs import draft

    use.new_place(out, force)
    drafts = draft(sources, task, n=n, by=by, map=map, seed=seed)
    terminal.warn(*drafts.warnings)
    if out.suffix == ".html":
        from goldassay.reporting.pages import correcting

        files.save(out, correcting(drafts.records, task, drafts.outputs))
    elif out.suffix == ".json":
        write(out, drafts.records, format="label-studio", task=task, side="pred")
    else:
        write(out, drafts.records, task=task)
    print(f"{out}: {len(drafts.records)} records chosen by {drafts.by}; correct {', '.join(drafts.outputs)}")
    back = "the file it exports" if out.suffix == ".html" else "the corrected file"
    terminal.echo(f"goldassay gold agree FILE --task {task} says what was changed in {back}")


@use.command(app)
def schema(task: use.Task, pred: bool = use.flag("--pred", "Of predictions, not gold.")) -> None:
    """Print the JSON Schema of a task's records."""
    import json

    from goldassay import gold as library

    print(json.dumps(library.schema(task, "pred" if pred else "gold"), ensure_ascii=False, indent=2))

"""Gold: validate, count, split, convert it; measure the agreement of annotators."""

from __future__ import annotations

import json as jsons
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from goldassay import gold as library
from goldassay._support import options as use
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.cli.options import FormatOptions
from goldassay.cli.settings import Setting, settings
from goldassay.gold import GoldSet, load, splits, write
from goldassay.gold.agreement import agree_files
from goldassay.gold.audit import audit, repaired
from goldassay.gold.sets import find, view_of_stats
from goldassay.gold.sets import stats as count
from goldassay.reporting import terminal


@dataclass(frozen=True)
class ReadingOptions(FormatOptions):
    """How a file of gold is read."""

    task: str | None = None

    def load(self, gold: str) -> GoldSet:
        """A gold set, or a file of a task."""
        return load(gold, task=self.task, **self.reading())


def validate(
    gold: use.GoldSet,
    reading: ReadingOptions,
    fix: Annotated[Path | None, use.option("PLACE", "Write a copy with corrected offsets here.")] = None,
    json: bool = False,
) -> None:
    """Find everything that is wrong in gold; exit with status 1 if anything is."""
    result = audit(gold, task=reading.task, **reading.reading())
    result = replace(
        result, findings=[replace(finding, message=use.with_flags(finding.message)) for finding in result.findings]
    )
    terminal.output(result, json)
    if fix is not None:
        fixed = repaired(find(gold), fix, result.findings)
        terminal.warn(f"{fixed} of {len(result.findings)} findings corrected in {fix}")
    if not result.clean:
        raise SystemExit(1)


def stats(gold: use.GoldSet, reading: ReadingOptions, json: bool = False) -> None:
    """Count records by split, language, type and stratum."""
    counts = count(reading.load(gold))
    terminal.output(counts, json, view_of_stats(counts))


def split(
    gold: use.GoldSet,
    reading: ReadingOptions,
    ratios: Annotated[str | None, use.option("NAME=SHARE,…", "Default: train=0.7,dev=0.15,test=0.15.")] = None,
    by: Annotated[list[str] | None, use.option("NAME", "Keep this stratum or field in proportion (repeat).")] = None,
    out: Annotated[Path | None, use.option("FOLDER", "Write the records with their split here.")] = None,
    seed: int = 0,
    force: bool = False,
    json: bool = False,
) -> None:
    """Split gold without leaks: stratified, documents whole, near duplicates on the same side.

    All tasks of a set are split together, so that a document is on the same side in all of them.
    """
    loaded = reading.load(gold)
    records = [record for task_set in loaded.tasks.values() for record in task_set.records]
    shares = use.numbers("ratios", ratios.split(",")) if ratios else splits.DATASET_SPLITS
    inputs = list(dict.fromkeys(name for task_set in loaded.tasks.values() for name in task_set.content()))
    division = splits.split(records, ratios=shares, factors=by or None, inputs=inputs, seed=seed)
    if out is not None:
        for name in loaded.tasks:
            use.check_new(out / f"{name}.jsonl", force)
        for name, task_set in loaded.tasks.items():
            rows = [{**record, "split": division.of[str(record["id"])]} for record in task_set.records]
            write(out / f"{name}.jsonl", rows, format="jsonl", task=name)
    terminal.output(division, json)
    if not json:
        terminal.line("nothing written; --out FOLDER writes it" if out is None else f"written to {out}")


def agree(
    files: Annotated[
        list[Path],
        use.argument("FILE...", "One file for each annotator, one file with the labels of all, or one labelled draft."),
    ],
    reading: ReadingOptions,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Measure the agreement of annotators, and list their disagreements.

    One file with the labels of all has a column label_NAME for each annotator, or a row for each label with a column
    annotator. The labels of a draft (gold draft) are compared with each system's suggestions.
    """
    file = files[0]
    task = reading.task
    if task is None and not file.exists():
        raise DataError("no such file", file=file)
    if task is None and file.is_dir():
        raise GoldassayError(f"{file} is a folder; name the task that was annotated with --task")
    job = task or next(iter(reading.load(str(file)).tasks))
    terminal.output(agree_files(files, job, seed=seed, **reading.reading()), json)


def convert(
    source: Annotated[Path, use.argument("FROM", "The file to read.")],
    target: Annotated[Path, use.argument("TO", "The file to write.")],
    task: str,
    reading: FormatOptions,
    to: Annotated[str | None, use.option("NAME", "The format of TO, if its name does not imply it.")] = None,
    option: Annotated[
        list[str] | None,
        use.option(
            "NAME=VALUE", "A setting of the task: topics=FILE, the texts of the queries of trec, id<TAB>text a line."
        ),
    ] = None,
    side: use.Side = "gold",
    force: bool = False,
) -> None:
    """Convert gold from one format to another, and report what is lost."""
    use.check_new(target, force)
    options = {**reading.reading(), **settings(option, allowed={"topics": Setting(["retrieval"], Path)})}
    options |= {"side": side, "source_format": options.pop("format"), "target_format": to}
    print(f"{target}: {library.convert(source, target, task=task, **options)}")


def schema(task: use.Task, side: use.Side = "gold") -> None:
    """Print the JSON Schema of a task's records."""
    print(jsons.dumps(library.schema(task, side), ensure_ascii=False, indent=2))

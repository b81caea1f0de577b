"""``goldassay gold …``: validate, stats, split, agree, convert, schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay import gold as library
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.agreement import agree_files
from goldassay.gold.audit import audit, repaired
from goldassay.gold.goldset import GoldSet
from goldassay.gold.sets import find, load
from goldassay.gold.splits import DATASET_SPLITS, split
from goldassay.gold.stats import stats
from goldassay.reporting import gold as tables
from goldassay.reporting import terminal

MAIN = {"extraction": "strict_f1", "triples": "triple_f1"}


def validate(
    gold: str,
    *,
    task: str | None = None,
    format: str | None = None,
    near: float = 90.0,
    fix: Path | None = None,
    annotators: Sequence[Path] = (),
    as_json: bool = False,
) -> None:
    """Audit and print; exit code 1 when something is off."""
    measured = {}
    if annotators:
        if task is None:
            raise GoldassayError("--annotator needs --task: which task did they annotate?")
        measured = {task: lowest(agree_files(annotators, task, format=format).figures, task)}
    found = audit(gold, task=task, format=format, near=near, agreement=measured)
    made = repaired(find(gold), fix, found.findings) if fix is not None else None
    if as_json:
        print(json.dumps({**found.state(), **({} if made is None else {"repaired": made})}, ensure_ascii=False))
    else:
        tables.audit(found)
        if made is not None:
            rest = "run validate on it" if made else "only offsets have one right answer, so it is a plain copy"
            terminal.line(f"{made} of {len(found.findings)} findings mended in {fix}; {rest}")
    if not found.clean:
        raise SystemExit(1)


def lowest(figures: Sequence[Any], task: str) -> float:
    """The agreement that a promise is held to: the lowest of all pairs, span F1 or Cohen's kappa."""
    name = MAIN.get(task, "cohen_kappa")
    found = [figure.value for figure in figures if figure.name == name and figure.type is None]
    return min((value for value in found if value is not None), default=0.0)


def show_stats(
    gold: str, *, task: str | None = None, format: str | None = None, by: Sequence[str] = (), as_json: bool = False
) -> None:
    """Count and print."""
    found = stats(_load(gold, task, format))
    there = list(dict.fromkeys(facet for one in found.tasks.values() for facet in one.by))
    absent = [facet for facet in by if facet not in there]
    if absent:
        raise GoldassayError(f"no record has {', '.join(absent)}; there are {', '.join(there) or 'none'}")
    if as_json:
        print(json.dumps(found.state(), ensure_ascii=False))
    else:
        tables.stats(found, by)


def make_split(
    gold: str,
    *,
    task: str | None = None,
    format: str | None = None,
    out: Path | None = None,
    ratios: str | None = None,
    factors: Sequence[str] = (),
    group: str | None = None,
    near: float = 90.0,
    seed: int = 0,
    as_json: bool = False,
) -> None:
    """Split all tasks of a set together, so that a document is on one side in all of them; print, and write."""
    loaded = _load(gold, task, format)
    records = [record for found in loaded.tasks.values() for record in found.records]
    made = split(records, ratios=shares(ratios), factors=factors or None, group=group, near=near, seed=seed)
    if out is not None:
        for job, found in loaded.tasks.items():
            file = out / f"{job}.jsonl"
            if file.exists():
                raise GoldassayError(f"{file} exists already; name a new folder with --out")
            rows = [{**record, "split": made.of[str(record["id"])]} for record in found.records]
            library.write(file, rows, format="jsonl", task=job)
    if as_json:
        print(json.dumps(made.state(), ensure_ascii=False))
    else:
        tables.split(made, len(records), out)


def shares(said: str | None) -> Mapping[str, float]:
    """``train=0.8,test=0.2`` as shares.

    >>> shares("train=0.8, test=0.2")
    {'train': 0.8, 'test': 0.2}
    """
    if said is None:
        return DATASET_SPLITS
    try:
        pairs = [part.split("=") for part in said.split(",")]
        return {name.strip(): float(share) for name, share in pairs}
    except ValueError:
        raise GoldassayError(f"shares are written train=0.7,dev=0.15,test=0.15, not {said!r}") from None


def agree(
    files: Sequence[Path],
    *,
    task: str | None = None,
    format: str | None = None,
    level: str | None = None,
    most: int = 20,
    seed: int = 0,
    as_json: bool = False,
) -> None:
    """Measure the agreement of annotators and print."""
    found = agree_files(files, task or told(files[0], format), format=format, level=level, seed=seed)
    if as_json:
        print(json.dumps(found.state(), ensure_ascii=False))
    else:
        tables.agreement(found, most)


def told(file: Path, format: str | None) -> str:
    """The task that an annotator's file tells by its name, its format or its fields."""
    if not file.exists():
        raise DataError("no such file", file=file)
    if file.is_dir():
        raise GoldassayError(f"{file} is a folder, which does not tell what was annotated; say it with --task")
    return next(iter(load(file, format=format).tasks))


def convert(
    source: Path,
    target: Path,
    *,
    task: str,
    source_format: str | None = None,
    target_format: str | None = None,
    column: str | None = None,
    scheme: str | None = None,
    topics: Path | None = None,
    pred: bool = False,
) -> None:
    """Convert, and say what the new file cannot hold."""
    made = library.convert(
        source,
        target,
        task=task,
        side="pred" if pred else "gold",
        source_format=source_format,
        target_format=target_format,
        column=column,
        scheme=scheme,
        topics=topics,
    )
    print(f"{target}: {made}")


def schema(task: str, *, pred: bool = False) -> None:
    """Print the JSON Schema of a task's records."""
    print(json.dumps(library.schema(task, "pred" if pred else "gold"), ensure_ascii=False, indent=2))


def _load(gold: str, task: str | None, format: str | None) -> GoldSet:
    return load(gold, task=task, format=format)

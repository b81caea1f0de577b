"""``goldassay judge …``, and ``goldassay tune --judge``: what the commands do."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from goldassay.cli.judge_options import Asked
from goldassay.exceptions import DataError
from goldassay.gold import files, load
from goldassay.judges.ask.panel import Vote
from goldassay.judges.audit.audit import audit, probes
from goldassay.judges.audit.checks import OF_SUPPORT, TESTS
from goldassay.judges.people import grades as graded
from goldassay.judges.people import preferences
from goldassay.judges.people.agreement import align
from goldassay.judges.people.labels import Labels, read
from goldassay.judges.people.rates import estimate
from goldassay.judges.people.verdicts import poll, recorded
from goldassay.reporting import judge as tables


def evaluate(path: Path, asked: Asked, *, out: Path | None = None, as_json: bool = False) -> None:
    """Ask, count, print and write."""
    labels = _read(path, asked, labelled=False)
    judge = asked.judge()
    votes = _votes(judge, labels, asked)
    found = estimate(labels, votes, judge)
    if out is not None:
        write(out, labels, votes)
    if as_json:
        print(json.dumps(found.state(), ensure_ascii=False))
    else:
        tables.estimate(found, out)


def align_labels(
    path: Path, asked: Asked, *, split: str | None, width: float, seed: int, as_json: bool = False
) -> None:
    """Compare and print. Verdicts of the file are taken where no model is named."""
    labels = _read(path, asked)
    splits = {item.split for item in labels.items}
    if split or "test" in splits:
        labels = labels.part(split or "test")
    if labels.judged and not asked.names_a_model:
        judge, votes = "verdicts of the file", recorded(labels)
    else:
        live = asked.judge()
        votes = _votes(live, labels, asked)
        judge = str(live)
    found = align(labels, votes, width=width, seed=seed)
    if as_json:
        print(json.dumps({"judge": judge, **found.state()}, ensure_ascii=False))
    else:
        tables.alignment(judge, found)


def average(path: Path, asked: Asked, *, as_json: bool = False) -> None:
    """The mean of the numbers that stand in a file."""
    bounds = asked.ends()
    people, said = graded.read(path, asked.renamed(), bounds)
    found = graded.estimated(people, said, bounds)
    if found.naive is None:
        raise DataError("a mean with an interval needs the verdicts of 2 items or more", file=path)
    if as_json:
        print(json.dumps(found.state(), ensure_ascii=False))
    else:
        tables.average(found)


def audit_judge(
    gold: str,
    asked: Asked,
    *,
    format: str | None = None,
    only: Sequence[str] = (),
    seed: int = 0,
    gate: bool = False,
    as_json: bool = False,
) -> None:
    """Put a judge to the checks and print; exit code 1 with ``gate`` where one is not passed."""
    task = "answering" if Path(gold).is_file() else None
    chosen = probes(load(gold, format=format, task=task), limit=asked.limit, seed=seed)
    judge = asked.judge()
    checks = len(only) or len(TESTS if hasattr(judge, "ask") else OF_SUPPORT)
    with tables.progress("auditing", checks * len(chosen)) as tell:
        found = audit(judge, chosen, only=only, threads=asked.threads, tell=tell)
    if as_json:
        print(json.dumps(found.state(), ensure_ascii=False))
    else:
        tables.audit(found)
    if gate and not found.passed:
        raise SystemExit(1)


def tune(
    asked: Asked,
    *,
    gold: Path,
    optimizer: str = "bootstrap",
    lm: str | None = None,
    reflection_lm: str | None = None,
    budget: str | None = None,
    seed: int = 0,
    options: Sequence[str] = (),
    out: Path | None = None,
    as_json: bool = False,
) -> None:
    """``goldassay tune --judge``: tune a judge against the labels of a file and print what that brought."""
    from goldassay import lm as models
    from goldassay.cli.tune import settings
    from goldassay.judges.people.tuning import tune_judge
    from goldassay.reporting import terminal, tuning
    from goldassay.running import new_folder

    logging.getLogger("dspy").setLevel(logging.ERROR)
    labels = _read(gold, asked)
    model = models.resolve(lm)
    folder = out or new_folder(Path("runs"), f"tune-judge-{asked.question}-{optimizer}")
    chosen: dict[str, Any] = {"budget": budget, "seed": seed, "threads": asked.threads}
    chosen |= {"adapter": models.adapter(model), "options": settings(options, (), optimizer)}
    chosen["reflection_lm"] = models.resolve(reflection_lm) if reflection_lm else None
    with terminal.quiet():
        tuned = tune_judge(labels, optimizer, folder=folder, lm=model, **chosen)
    if as_json:
        print((folder / "tuning.json").read_text(encoding="utf-8").strip().replace("\n", " "))
        return
    tuning.tuned(tuned, folder)


def write(path: Path, labels: Labels, votes: Sequence[Vote]) -> None:
    """Items with their verdicts, as ``judge align`` reads them."""
    rows = []
    for item, vote in zip(labels.items, votes, strict=True):
        score = vote.share(labels.question.positive)
        row = {"id": item.id, "inputs": dict(item.inputs), "label": None, "verdict": vote.label, "score": score}
        row |= {"labels": dict(item.labels)} if item.labels else {}
        rows.append({**row, "dissent": vote.dissent, **({"split": item.split} if item.split else {})})
    files.save(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _read(path: Path, asked: Asked, labelled: bool = True) -> Labels:
    if asked.question == "preference" and path.suffix == ".json":
        labels = replace(preferences.read(path, limit=asked.limit), question=asked.about())
    else:
        labels = read(path, asked.about(), labelled=labelled, columns=asked.renamed())
    if asked.state is not None:
        from goldassay.judges.people.tuning import unseen

        kept = unseen(asked.state, labels)
        if left := len(labels.items) - len(kept.items):
            tables.warn(f"{left} items are left out: the judge was tuned on them")
        labels = kept
    return labels if asked.limit is None else replace(labels, items=labels.items[: asked.limit])


def _votes(judge: Any, labels: Labels, asked: Asked) -> list[Vote]:
    with tables.progress("judging", len(labels.items)) as tell:
        votes = poll(judge, labels.question, labels.items, threads=asked.threads, tell=lambda done, _: tell(done))
    if getattr(judge, "warning", ""):
        tables.warn(judge.warning)
    return votes

"""``goldassay compare``: runs, or files of predictions, on the same gold, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError
from goldassay.reporting import terminal

if TYPE_CHECKING:
    from goldassay.running import Run

VALUES = {
    "extraction": ("strict_f1", "partial_f1"),
    "classification": ("accuracy", "macro_f1"),
    "linking": ("hits@1", "mrr", "nil_f1"),
    "retrieval": ("nDCG@10", "RR", "AP"),
    "answering": ("exact_match", "f1"),
    "triples": ("precision", "recall", "f1"),
}
"""What files are compared by unless ``--measure`` says: every value more costs power, since all are corrected for."""


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN RUN... | TASK", help="Run folders; or a task, with --gold and two --pred or more."),
    ],
    gold: Annotated[Path | None, typer.Option(metavar="FILE", help="With a task: the gold file or folder.")] = None,
    pred: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="With a task: predictions (repeat), the base first."),
    ] = None,
    format: use.Format = None,
    column: Annotated[str | None, typer.Option(metavar="NAME", help="hipe: the column, as for score.")] = None,
    measure: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="With a task: a value of its scorecard (repeat).")
    ] = None,
    protocol: Annotated[str | None, typer.Option(metavar="NAME", help="An official protocol, as for score.")] = None,
    ontology: Annotated[Path | None, typer.Option(metavar="FILE", help="The ontology, as for score.")] = None,
    equivalent: Annotated[Path | None, typer.Option(metavar="FILE", help="Equivalent ids, as for score.")] = None,
    labels: Annotated[str | None, typer.Option(metavar="A,B|FILE", help="The list of labels, as for score.")] = None,
    bounds: Annotated[str | None, typer.Option(metavar="NAME", help="word, as for score.")] = None,
    test: Annotated[
        str, typer.Option(metavar="NAME", help="permutation, bootstrap, paired_t, wilcoxon or mcnemar.")
    ] = "permutation",
    seed: use.Seed = 0,
    json: use.Json = False,
) -> None:
    """Compare runs, or files of predictions, on the same gold: paired tests, ranks, what was won and lost."""
    from goldassay.reporting import runs as tables
    from goldassay.running.comparing import by_stratum, compared, errors_by_type, ranked, worked

    asked = {
        "column": column,
        "protocol": protocol,
        "ontology": ontology,
        "equivalent": equivalent,
        "labels": labels,
        "bounds": bounds,
    }
    if gold is None and not pred:
        extra = next((name for name, value in {"measure": measure, "format": format, **asked}.items() if value), None)
        if extra:
            raise GoldassayError(f"--{extra} is for files: goldassay compare TASK --gold FILE --pred FILE --pred FILE")
        loaded = _runs(runs)
    elif gold is None or len(runs) != 1:
        raise GoldassayError("files are compared as: goldassay compare TASK --gold FILE --pred FILE --pred FILE")
    else:
        loaded = _files(runs[0], gold, pred or [], measure or (), format=format, **asked)
    usable = [made for made in loaded if worked(made)]
    missing = [str(made.folder) for made in loaded if not worked(made)]
    arms = [made if worked(made) else None for made in loaded]
    found = compared(usable, test=test, seed=seed) if len(usable) > 1 else []
    places = ranked(usable, seed=seed) if len(usable) > 2 else {}
    if json:
        body = {
            "runs": [{**made.summary(), "available": worked(made)} for made in loaded],
            "comparisons": [one.state() for one in found],
            "ranks": {
                name: {str(made.folder): [one.low, one.high] for made, one in zip(usable, each, strict=True)}
                for name, each in places.items()
            },
            "by": by_stratum(arms),
            "errors": errors_by_type(arms),
            "not_available": missing,
        }
        terminal.answer(body)
        return
    tables.comparison(loaded, found, missing)
    tables.ranks(places, [place for place, arm in enumerate(arms, start=1) if arm])
    tables.parts(by_stratum(arms), errors_by_type(arms), next(iter(usable[0].values), "") if usable else "")


def _runs(folders: Sequence[str]) -> list[Run]:
    from goldassay.running import Run

    if len(folders) < 2:
        raise GoldassayError("compare needs two runs or more; for files: TASK --gold FILE --pred FILE --pred FILE")
    return [Run.load(Path(folder)) for folder in folders]


def _files(
    task: str, gold: Path, preds: Sequence[Path], names: Sequence[str], *, format: str | None, **asked: Any
) -> list[Run]:
    """A run of each file of predictions, by the values that were asked for."""
    from goldassay.cli.score import read
    from goldassay.reporting.terminal import warn
    from goldassay.running.comparing import given

    if len(preds) < 2:
        raise GoldassayError("compare needs two files of predictions or more: --pred FILE --pred FILE")
    out = []
    for file in preds:
        aligned, options = read(task, gold, file, format=format, **asked)
        if task == "retrieval" and names:
            options["measures"] = list(names)
        card = import_module(f"goldassay.measures.{task}").scorecard(aligned.gold, aligned.pred, **options)
        chosen = [name for name in names or VALUES[task] if names or name in card.measures]
        unknown = next((name for name in chosen if name not in card.measures), None)
        if unknown:
            raise GoldassayError(f"{task} has no value {unknown!r} here; there are {', '.join(card.measures)}")
        for warning in aligned.warnings:
            warn(f"{file}: {warning}")
        measures = {name: card.measures[name] for name in chosen}
        out.append(given(aligned.gold, aligned.pred, measures, name=file.name, file=file))
    return out

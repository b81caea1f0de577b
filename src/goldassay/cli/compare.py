"""``goldassay compare`` and ``goldassay rescore``: one thing beside another, and what a change comes from.

``compare`` puts runs, or files of predictions, on the same gold side by side; ``rescore`` scores stored predictions
with other measures or other gold, and says what of a change is the model's, the gold's and the measure's.
"""

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


Test = Annotated[
    str, typer.Option("--test", metavar="NAME", help="permutation, bootstrap, paired_t, wilcoxon or mcnemar.")
]


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN RUN... | TASK", help="Run folders; or a task, with --gold and two --pred or more."),
    ],
    reading: use.FileOptions,
    gold: Annotated[
        Path | None, use.of_gold("--gold", metavar="FILE", help="With a task: the gold file or folder.")
    ] = None,
    pred: Annotated[
        list[Path] | None,
        use.of_gold("--pred", metavar="FILE|RUN", help="With a task: predictions (repeat), the base first."),
    ] = None,
    test: Test = "permutation",
    seed: use.Seed = 0,
    json: use.Json = False,
) -> None:
    """Compare runs, or files of predictions, on the same gold: paired tests, ranks, what was won and lost."""
    if gold is None and not pred:
        if extra := next((name for name, value in vars(reading).items() if value), None):
            flag = "measure" if extra == "measures" else extra.replace("_", "-")
            raise GoldassayError(f"--{flag} is for files: goldassay compare TASK --gold FILE --pred FILE --pred FILE")
        loaded = _runs(runs)
    elif gold is None or len(runs) != 1:
        raise GoldassayError("files are compared as: goldassay compare TASK --gold FILE --pred FILE --pred FILE")
    else:
        loaded = _files(runs[0], gold, pred or [], **reading.given())
    show(loaded, test, seed, json)


def compare_runs(
    runs: Annotated[list[str], typer.Argument(metavar="RUN RUN...", help="Run folders; the first is the base.")],
    test: Test = "permutation",
    seed: use.Seed = 0,
    json: use.Json = False,
) -> None:
    """Compare runs on the same gold: what `goldassay compare RUN RUN...` gives."""
    show(_runs(runs), test, seed, json)


def show(loaded: Sequence[Run], test: str, seed: int, json: bool) -> None:
    """Paired differences, ranks where there are three or more, what was won and lost."""
    from goldassay.reporting import runs as tables
    from goldassay.running.comparing import by_stratum, compared, errors_by_type, ranked, worked

    usable = [made for made in loaded if worked(made)]
    missing = [str(made.folder) for made in loaded if not worked(made)]
    arms = [made if worked(made) else None for made in loaded]
    found = compared(usable, test=test, seed=seed) if len(usable) > 1 else []
    places = ranked(usable, seed=seed) if len(usable) > 2 else {}
    protocol = tables.protocol(loaded)
    if json:
        body = {
            **({"protocol": protocol} if protocol else {}),
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
    tables.ranks(places, [place for place, arm in enumerate(arms, start=1) if arm], protocol)
    value = next(iter(usable[0].values), "") if usable else ""
    tables.parts(by_stratum(arms), errors_by_type(arms), value, protocol=protocol)


def _runs(folders: Sequence[str]) -> list[Run]:
    from goldassay.running import Run

    if len(folders) < 2:
        raise GoldassayError("compare needs two runs or more; for files: TASK --gold FILE --pred FILE --pred FILE")
    return [Run.load(Path(folder)) for folder in folders]


def _files(task: str, gold: Path, preds: Sequence[Path], *, measures: Sequence[str] = (), **asked: Any) -> list[Run]:
    """A run of each file of predictions, by the values that were asked for."""
    from goldassay.cli.score import read
    from goldassay.reporting.terminal import warn
    from goldassay.running.comparing import given

    if len(preds) < 2:
        raise GoldassayError("compare needs two files of predictions or more: --pred FILE --pred FILE")
    out = []
    for file in preds:
        aligned, options = read(task, gold, file, **asked)
        if task == "retrieval" and measures:
            options["measures"] = list(measures)
        card = import_module(f"goldassay.measures.{task}").scorecard(aligned.gold, aligned.pred, **options)
        chosen = [name for name in measures or VALUES[task] if measures or name in card.measures]
        unknown = next((name for name in chosen if name not in card.measures), None)
        if unknown:
            raise GoldassayError(f"{task} has no value {unknown!r} here; there are {', '.join(card.measures)}")
        for warning in aligned.warnings:
            warn(f"{file}: {warning}")
        counted = {name: card.measures[name] for name in chosen}
        protocol = asked.get("protocol")
        out.append(given(aligned.gold, aligned.pred, counted, name=file.name, file=file, protocol=protocol))
    return out


def rescore(
    task: use.Task,
    gold: Annotated[Path, typer.Option(metavar="FILE|RUN", help="Gold; of a run, the gold that it kept.")],
    pred: Annotated[Path, typer.Option(metavar="FILE|RUN", help="Stored predictions.")],
    measures: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="NAME(…)", help='"LinkF1(k=3)" (repeat); of a run by default its metric\'s.'),
    ] = None,
    before: Annotated[
        list[str] | None,
        typer.Option(
            metavar="gold=FILE|pred=FILE|measure=NAME(…)",
            help="What was another at the earlier date (repeat; measures in their order).",
        ),
    ] = None,
    format: use.Format = None,
    json: use.Json = False,
) -> None:
    """Score stored predictions again; with an earlier date, split each change into model, gold and measure."""
    from goldassay.cli.score import MOST
    from goldassay.running.rescoring import PARTS, Setting, changes
    from goldassay.running.rescoring import rescore as again

    now = Setting(pred, gold, tuple(measures or ()))
    earlier = _earlier(before or ())
    if earlier["measure"] and not measures:
        raise GoldassayError("--before measure=… needs --measure: what counts now")
    card = again(task, now, format=format)
    if card.examples <= MOST:
        card.estimate()
    found = {}
    if before:
        old_pred, old_gold = (Path(next(iter(earlier[name]), one)) for name, one in (("pred", pred), ("gold", gold)))
        then = Setting(old_pred, old_gold, tuple(earlier["measure"] or measures or ()))
        found = changes(task, then, now, format=format)
    if json:
        terminal.answer({**card.state(), "changes": {name: change.state() for name, change in found.items()}})
        return
    from goldassay.reporting import scorecards

    if not found:
        scorecards.show(card)
        return
    table = terminal.under_title(f"{task}: what each change comes from")
    for name in ("value", "before", "after", *PARTS):
        table.add_column(name, justify="left" if name == "value" else "right")
    for name, change in found.items():
        shares = [f"{getattr(change, part):+.4f}" for part in PARTS]
        table.add_row(name, terminal.number(change.before), terminal.number(change.after), *shares)
    terminal.console().print(table)
    for text in card.warnings:
        terminal.warn(text)


def _earlier(said: Sequence[str]) -> dict[str, list[str]]:
    """What was another at the earlier date, by what it is."""
    out: dict[str, list[str]] = {"gold": [], "pred": [], "measure": []}
    for text in said:
        name, _, value = text.partition("=")
        if name not in out or not value:
            raise GoldassayError(f"--before reads like gold=FILE, pred=FILE or measure=NAME, not {text!r}")
        out[name].append(value)
    return out

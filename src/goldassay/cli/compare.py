"""``goldassay compare``: runs, files of predictions or programs on the same gold, and their ranking.

Whatever is compared becomes a run: files of predictions are measured, programs are run with each model. A single file
is scored again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from goldassay import files, workspace
from goldassay.cli import options as use
from goldassay.cli.settings import Setting, settings
from goldassay.exceptions import GoldassayError, RunStopped
from goldassay.measure import RAISED
from goldassay.reporting import tables, terminal

if TYPE_CHECKING:
    from goldassay.running import Run
    from goldassay.systems import SplitExamples, System

HELP = "files are compared as: goldassay compare TASK --gold FILE --pred FILE --pred FILE"
FIVE = "five"


@dataclass(frozen=True)
class SystemOptions(use.FileOptions):
    """The compared systems, besides runs, and how they are ranked."""

    gold: str | None = use.for_gold("SET|FILE", "The gold.")
    pred: list[Path] | None = use.for_gold("FILE|RUN", "Predictions (repeat); the first are the baseline.")
    program: list[str] | None = use.for_model(
        "NAME|FILE|FOLDER",
        "A program of the task, a file, or the folder of a tuned program (repeat).",
    )
    state: list[Path] | None = use.for_model(
        "FILE",
        "A saved state of the program, from program.save (repeat); one alone is compared with the program as it is.",
    )
    lm: list[str] | None = use.for_model("MODEL", "Run each program with this model (repeat).")
    split: use.Split = "dev"
    limit: use.Limit = None
    threads: use.Threads = 1
    repeats: use.Repeats = 1
    metric: str | None = use.for_gold(
        "FILE:NAME|five",
        "The metric of programs (default: metrics/TASK.py:metric); five ranks answers by accuracy, quality, "
        "confidence, speed and robustness.",
    )
    weight: list[str] | None = use.for_result("MEASURE=W", "The weight of a measure in the ranking (repeat).")
    out: Path | None = use.for_result(
        "FOLDER", "Write the ranking, its tables and a report here; of one file the report."
    )


def compare(
    runs: Annotated[list[str], use.argument("RUN RUN... | TASK", "Run folders, logs of other tools, or a task.")],
    systems: SystemOptions,
    seed: int = 0,
    force: bool = False,
    json: bool = False,
) -> None:
    """Compare runs, predictions or programs on the same gold: paired tests, ranks, what was won and lost.

    With --metric five, --force asks models again for the answers that the folder has cached.
    """
    task = runs[0]
    out = systems.out
    programs: Sequence[System] = ()
    weights = use.numbers("--weight", systems.weight)
    if any(weight < 0 for weight in weights.values()):
        raise GoldassayError(f"--weight expects numbers of 0 or more, got {', '.join(systems.weight or ())}")
    if systems.program or systems.state or systems.lm or systems.metric:
        if len(runs) != 1:
            raise GoldassayError(
                "programs are compared as: goldassay compare TASK --program FILE --state FILE --lm MODEL"
            )
        out = out or Path("ranking")
        from goldassay import systems as library

        target = workspace.Target(task, Path(), "program")
        data = library.examples(systems.gold, target, systems.split, **systems.reading())
        programs = library.systems(
            task,
            data,
            programs=systems.program or (),
            states=systems.state or (),
            models=systems.lm or (),
            alone=not systems.pred,
        )
        if systems.metric == FIVE:
            _rank_by_five(task, systems, data, programs, weights, force, json)
            return
        loaded = _run_all(task, systems, data, programs, out, seed)
    elif systems.repeats > 1:
        raise GoldassayError("--repeats is for programs: goldassay compare TASK --program NAME --repeats 3")
    elif systems.gold is None and not systems.pred:
        loaded = _loaded(runs, systems)
    elif systems.gold is None or len(runs) != 1:
        raise GoldassayError(HELP)
    elif len(systems.pred or ()) == 1 and not systems.out:
        _rescore(task, systems, json)
        return
    else:
        loaded = _measured(task, systems)
    _show(loaded, seed, json, _written(loaded, weights, seed, out) if out else None)
    if programs and any(text.startswith(RAISED) for run in loaded for text in run.warnings):
        raise SystemExit(1)


def _loaded(places: Sequence[str], systems: SystemOptions) -> list[Run]:
    """Runs and logs of other tools, which know how they were read."""
    from goldassay.running.logs import runs_at, split_name

    document = settings(systems.option, allowed={"document": Setting(())}).get("document", "document")
    for name in ("format", "map", "protocol", "measures"):
        if getattr(systems, name):
            raise GoldassayError(f"--{name.removesuffix('s')} is for files; {HELP}")
    several = len(places) > 1 or split_name(places[0])[0].exists()
    runs = [run for place in places for run in runs_at(place, document=document)] if several else []
    if len(runs) < 2:
        raise GoldassayError(f"compare needs two runs or more; {HELP}")
    return runs


def _measured(task: str, systems: SystemOptions) -> list[Run]:
    """A run of each file of predictions, by the values asked for."""
    from goldassay.running.predictions import from_file

    if not systems.pred:
        raise GoldassayError("compare needs two files of predictions or more: --pred FILE --pred FILE")
    options = {"measures": (), **systems.chosen(task), "limit": systems.limit}
    return [from_file(task, Path(str(systems.gold)), file, **options) for file in systems.pred]


def _run_all(
    task: str, systems: SystemOptions, data: SplitExamples, programs: Sequence[System], out: Path, seed: int
) -> list[Run]:
    """A run of each program, in a folder of ``--out``, after the runs that exist."""
    from goldassay.running import new_folder
    from goldassay.running.evaluate import evaluate
    from goldassay.running.logs import runs_at

    runs = [run for place in systems.pred or [] for run in runs_at(place)]
    if len(programs) + len(runs) < 2:
        raise GoldassayError("compare needs two systems or more: add another --program, --state, --lm or --pred RUN")
    metric = workspace.metric(task, systems.metric)
    about = {"gold": data.name, "split": systems.split, "limit": systems.limit}
    for system in programs:
        with _says_how_to_go_on(out, system.name), terminal.working(system.name):
            run = evaluate(
                system.program,
                data.examples[: systems.limit],
                metric,
                lm=system.model.lm,
                adapter=system.model.adapter,
                threads=systems.threads,
                repeats=systems.repeats,
                folder=new_folder(out / "runs", system.label, system.settings["lm"]),
                seed=seed,
                name=system.label,
                settings={**system.settings, **about},
                progress=False,
                max_failures=1.0,
            )
        runs.append(run)
    return runs


@contextmanager
def _says_how_to_go_on(out: Path, name: str) -> Iterator[None]:
    """Say of a comparison that stops, or that Ctrl-C ends, that it starts over, and where its runs are."""
    then = f"the same command starts over; the runs so far are in {out / 'runs'}"
    try:
        yield
    except RunStopped as stopped:
        raise RunStopped(f"{name}: {stopped.__cause__ or stopped}; {then}") from None
    except KeyboardInterrupt:
        print(then, file=sys.stderr)
        raise


def _rank_by_five(
    task: str,
    systems: SystemOptions,
    data: SplitExamples,
    programs: Sequence[System],
    weights: Mapping[str, float],
    again: bool,
    json: bool,
) -> None:
    """Rank programs that answer questions by five metrics; the folder caches their answers."""
    from goldassay.compat.models import CACHES, OUTPUTS, ModelRanking, ScorePack, reading
    from goldassay.embedding import available
    from goldassay.measures.answering.ranking import WEIGHTS
    from goldassay.reporting import runs as shown
    from goldassay.running.account import Account
    from goldassay.running.budget import EndpointDown, Meter
    from goldassay.running.leaks import find_leaks, leak_warning

    if task != "answering" or systems.pred:
        raise GoldassayError("--metric five ranks programs: goldassay compare answering --metric five --program NAME")
    answering = {}
    for system in programs:
        answering[system.name.removeprefix("answering-")] = reading(
            system.program, system.model.lm, system.model.adapter
        )
        if warning := leak_warning(find_leaks(system.program, data.examples), data.examples):
            terminal.warn(f"{system.name}: {warning}")
    searching = programs[0].program
    out = systems.out or Path("ranking")
    ranking = ModelRanking(
        answering,
        lambda question: [passage["text"] for passage in searching.search(question)],
        out,
        questions=[example.toDict() for example in data.examples[: systems.limit]],
        pack=ScorePack(settings(systems.option).get("embedder") or available(), None, weights or dict(WEIGHTS)),
    )
    try:
        with terminal.working(f"{len(programs)} models, {len(data.examples)} questions"), Account(Meter()).open():
            rows = ranking.run_evaluation(force_refresh=again)
    except EndpointDown as error:
        raise RunStopped(f"{error}; the same command asks what {out} has not cached") from None
    if json:
        terminal.answer({"rankings": rows, "out": str(out)})
        return
    shown.five(rows)
    terminal.echo(f"Written to {out}: {', '.join((*OUTPUTS, *CACHES))}")


def _written(runs: Sequence[Run], weights: Mapping[str, float], seed: int, out: Path) -> tuple[Any, list[Path]]:
    """The ranking, written to a folder with its report."""
    from goldassay.reporting import ranking
    from goldassay.reporting.exports import to_latex
    from goldassay.reporting.pages import report

    if len(runs) == 1:
        return [], files.save_all({out / "report.html": report(runs)})
    if runs[0].no_level:
        raise GoldassayError(f"a ranking needs values: {runs[0].no_level}")
    if not any(runs[0].zero.weights.values()):  # files, which have no metric: all values weigh the same
        weights = weights or dict.fromkeys(runs[0].values, 1.0)
    ranked = ranking.rank(runs, weights, seed=seed)
    notes = ranking.unranked(runs)
    terminal.warn(*notes)
    shown = [*(each.run for each in ranked), *(run for run in runs if not run.available)]
    texts = ranking.texts(ranked, notes) | {
        "systems.tex": to_latex(runs, [run.name for run in runs]),
        "report.html": report(shown, ranked=ranked, title="Ranking"),
    }
    return ranked, files.save_all({out / name: text for name, text in texts.items()})


def _show(runs: Sequence[Run], seed: int, json: bool, ranking: Any) -> None:
    """Paired differences, ranks of three or more runs, what was won and lost, the ranking."""
    from goldassay.reporting import runs as shown
    from goldassay.reporting.summary import noise_lines
    from goldassay.reporting.verdicts import against
    from goldassay.running.comparing import RunComparisons, compare, ranked

    usable = [run for run in runs if run.available]
    places = [place for place, run in enumerate(runs, start=1) if run.available]
    comparisons = compare(*usable, seed=seed) if len(usable) > 1 else RunComparisons(runs[0], [])
    ranks = ranked(usable, seed=seed) if len(usable) > 2 else {}
    verdicts = against(comparisons, seed)
    no_level = next((run.no_level for run in runs if run.no_level), "")
    of_all = [warning for warning in runs[0].warnings if no_level and all(warning in run.warnings for run in runs)]
    for run in runs:
        terminal.warn(*(f"{run.name}: {warning}" for warning in run.warnings if warning not in of_all))
    terminal.warn(
        *(warning for warning in of_all if warning != no_level),
        *comparisons.notes,
        *([f"{no_level} (goldassay gold draft --for level)"] if no_level else []),
    )
    if json:
        protocol = shown.protocol(runs)
        body: dict[str, Any] = {
            "runs": [{**run.summary(), "available": run.available} for run in runs],
            "comparisons": [each.state() for each in comparisons],
            "verdicts": [{"run": each.name, "verdict": each.verdict, "sentence": each.sentence} for each in verdicts],
            "ranks": {
                name: {str(run.folder): [rank.low, rank.high] for run, rank in zip(usable, each, strict=True)}
                for name, each in ranks.items()
            },
            "pairs": [each.state() for each in comparisons.pairs],
            "not_available": [str(run.folder) for run in runs if not run.available],
        }
        body |= {"protocol": protocol} if protocol else {}
        terminal.answer(body | ({"ranking": [each.state() for each in ranking[0]]} if ranking else {}))
        return
    shown.comparison(runs, comparisons)
    shown.ranks(ranks, places)
    for run in usable:
        for text in noise_lines(run)[:2]:
            terminal.line(f"{run.name}: {text}")
    for place, each in zip(places[1:], verdicts, strict=True):
        shown.moved(each, (place, places[0]))
    if ranking and ranking[0]:
        shown.ranking(ranking[0])
    if ranking:
        terminal.echo(f"Written: {', '.join(map(str, ranking[1]))}")
    for each in verdicts:
        terminal.line(each.sentence, style=each.verdict if each.verdict in ("better", "worse") else "bold")
    with_baseline = [each.verdict for each in comparisons]
    for pair in comparisons.pairs:
        if pair not in with_baseline and pair.measure == comparisons.pairs[0].measure:
            terminal.line(pair.sentence, style="bold")


def _rescore(task: str, systems: SystemOptions, json: bool) -> None:
    """Score stored predictions again."""
    from goldassay.running.comparing import rescore
    from goldassay.scoring import INTERVALS_UP_TO

    (pred,) = systems.pred or [Path()]
    card = rescore(task, Path(str(systems.gold)), pred, systems.measures or (), format=systems.reading()["format"])
    if card.examples <= INTERVALS_UP_TO:
        card.estimate()
    terminal.output(card, json, tables.scorecard)

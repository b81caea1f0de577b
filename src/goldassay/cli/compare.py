"""``goldassay compare``: runs, files of predictions or programs on the same gold, and their ranking.

Whatever is compared becomes a run: files of predictions are measured, programs are run with each model
(`goldassay.cli.compare_programs`). A single file is scored again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from goldassay import workspace
from goldassay._support import options as use
from goldassay._support.exceptions import GoldassayError
from goldassay._support.options import shell_line
from goldassay.cli.options import SystemOptions
from goldassay.core.fields import JsonObject
from goldassay.core.measure import RAISED, TASKS
from goldassay.ext.interop.exports import save_ranking
from goldassay.ext.interop.logs import split_name
from goldassay.ext.labelling.labelled import from_file
from goldassay.gold import anyfields
from goldassay.gold.formats import task_of
from goldassay.reporting import runs as shown
from goldassay.reporting import terminal
from goldassay.reporting.ranking import Ranking, unranked
from goldassay.reporting.verdicts import against
from goldassay.results.comparisons import Comparisons
from goldassay.running import Run
from goldassay.running.comparing import compare as compare_runs
from goldassay.running.comparing import remeasured, rescore
from goldassay.running.matrix import recommend
from goldassay.running.run import open_runs
from goldassay.running.summary import protocol

FOR_PROGRAMS = ("budget", "resume", "repeats", "threads", "margin", "all")
FILES_HELP = "files are compared as: goldassay compare TASK --gold FILE --pred FILE --pred FILE"


def compare(
    runs: Annotated[list[str], use.argument("RUN RUN... | TASK", "Run folders, logs of other tools, or a task.")],
    systems: SystemOptions,
    seed: int = 0,
    force: bool = False,
    json: bool = False,
) -> None:
    """Compare runs, predictions or programs on the same gold: paired tests, ranks, what was won and lost.

    Of runs and files, --metric FILE[:NAME] measures the answers; no model is called. Of programs that answer questions,
    --metric five ranks by accuracy, quality, confidence, speed and robustness.
    """
    task = runs[0]
    out = systems.resume or systems.out
    programs = False
    weights = use.numbers("weight", systems.weight)
    if any(weight < 0 for weight in weights.values()):
        raise GoldassayError(f"--weight expects numbers of 0 or more, got {', '.join(systems.weight or ())}")
    if weights and not out and systems.metric != "five":
        raise GoldassayError("--weight is for the ranking, which is written with --out FOLDER")
    of_files = systems.gold and systems.pred
    of_programs = systems.metric and len(runs) == 1 and not (of_files or Path(task.partition(":")[0]).exists())
    if systems.program or systems.state or systems.lm or systems.tune or systems.unlabelled or of_programs:
        if len(runs) != 1:
            raise GoldassayError(
                "programs are compared as: goldassay compare TASK --program FILE --state FILE --lm MODEL"
            )
        from goldassay.cli.compare_programs import run_programs  # loads DSPy

        programs = True
        loaded = run_programs(task, systems, weights, out, seed=seed, force=force, json=json)
        if not loaded:  # five metrics or labels rank them, and that was shown
            return
    elif name := use.first_set(systems, *FOR_PROGRAMS):
        raise GoldassayError(f"--{name} is for programs: goldassay compare TASK --program NAME --{name} …")
    elif systems.gold is None and not systems.pred:  # runs and logs of other tools, which know how they were read
        columns = dict(anyfields.mapping(systems.map) or {})
        document = columns.pop("document", "document")
        for name in ("format", "map", "protocol", "measures", "option", "split"):
            if columns if name == "map" else getattr(systems, name):
                raise GoldassayError(f"--{name.removesuffix('s')} is for files; {FILES_HELP}")
        if len(runs) > 1 and all(place.partition(":")[0].endswith(".py") for place in runs):
            raise GoldassayError(_how(runs))
        are_places = len(runs) > 1 or split_name(runs[0])[0].exists()
        try:
            loaded = [run for place in runs for run in open_runs(place, document=document)] if are_places else []
        except GoldassayError as error:
            if len(runs) > 1 and all(Path(place).is_file() for place in runs):
                raise GoldassayError(f"{error}; {_how(runs)}") from None
            raise
        if len(loaded) < 2:
            raise GoldassayError(f"compare needs two runs or more; {FILES_HELP}")
    elif systems.gold is None or len(runs) != 1:
        raise GoldassayError(_how(runs, systems.gold))
    elif not systems.pred:
        raise GoldassayError("compare needs two files of predictions or more: --pred FILE --pred FILE")
    elif len(systems.pred) == 1 and not systems.out:  # scored again
        if systems.split:
            line = shell_line("goldassay score", task, gold=systems.gold, pred=systems.pred, split=systems.split)
            raise GoldassayError(f"one file is scored, not compared: {line}")
        form = systems.reading()["format"]
        card = rescore(task, Path(systems.gold), systems.pred[0], systems.measures or (), format=form)
        terminal.output(card, json)
        return
    else:
        options = {"measures": (), **systems.chosen(task), "split": systems.split, "limit": systems.limit}
        if systems.metric and task not in TASKS:
            options["measures"] = [systems.metric]
        loaded = [from_file(task, Path(systems.gold), file, **options) for file in systems.pred]
    if systems.metric and not programs:
        metric = workspace.metric(task, systems.metric)
        loaded = [remeasured(run, metric) for run in loaded]
    ranking = None
    if out:
        ranking = save_ranking(loaded, out, weights, seed=seed)
        terminal.warn(*(unranked(loaded) if len(loaded) > 1 else ()))
    _show(loaded, seed, json, ranking, systems.margin if programs else None, programs and not systems.all)
    measured_here = programs or systems.metric or systems.gold
    if measured_here and any(text.startswith(RAISED) for run in loaded for text in run.warnings):
        raise SystemExit(1)


def _how(places: Sequence[str], gold: str | None = None) -> str:
    """The command that compares programs or files of predictions."""
    if len(places) > 1 and all(place.partition(":")[0].endswith(".py") for place in places):
        line = shell_line("goldassay compare", places[0], program=[*places[1:]], gold=gold or "FILE")
        return f"these are programs, not runs; they are compared as: {line}"
    if len(places) < 2 or not all(Path(place).is_file() for place in places):
        return FILES_HELP
    task = "TASK"
    if gold:
        with suppress(GoldassayError):
            task = task_of(Path(gold))
    return f"files are compared as: {shell_line('goldassay compare', task, gold=gold or 'FILE', pred=[*places])}"


def _show(
    runs: Sequence[Run],
    seed: int,
    json: bool,
    ranking: tuple[Ranking, list[Path]] | None,
    margin: float | None = None,
    brief: bool = False,
) -> None:
    """Paired differences, ranks of three or more runs, what was won and lost, the ranking, and which one to take."""
    usable = [run for run in runs if run.available]
    comparisons = compare_runs(*usable, seed=seed) if len(usable) > 1 else Comparisons([runs[0].result])
    verdicts = against(usable or runs[:1], comparisons)
    why_no_estimate = next((run.why_no_estimate for run in runs if run.why_no_estimate), "")
    shared = runs[0].warnings if why_no_estimate else []
    of_all = [warning for warning in shared if all(warning in run.warnings for run in runs)]
    named_in: dict[str, list[str]] = {}
    for run in runs:
        for warning in run.warnings:
            named_in.setdefault(warning, []).append(run.name)
    terminal.warn(
        *(f"{', '.join(names)}: {warning}" for warning, names in named_in.items() if warning not in of_all),
        *(warning for warning in of_all if warning != why_no_estimate),
        *comparisons.notes,
        *([f"{why_no_estimate} (goldassay gold draft --for level)"] if why_no_estimate else []),
    )
    advice = None
    if margin is not None and len(usable) > 1 and not why_no_estimate:
        advice = recommend(usable, margin)
    if json:
        named = protocol(runs)
        ranks = comparisons.ranks if len(usable) > 2 else {}
        body: JsonObject = {
            "runs": [{**run.summary(), "available": run.available} for run in runs],
            "comparisons": [comparison.state() for comparison in comparisons],
            "verdicts": [
                {"run": item.name, "verdict": item.spoken.verdict, "sentence": item.spoken.sentence}
                for item in verdicts
            ],
            "ranks": {
                name: {
                    str(run.folder or run.name): [rank.low, rank.high]
                    for run, rank in zip(usable, of_value, strict=True)
                }
                for name, of_value in ranks.items()
            },
            "pairs": [pair.label_state() for pair in comparisons.pairs],
            "not_available": [str(run.folder or run.name) for run in runs if not run.available],
        }
        body |= {"protocol": named} if named else {}
        body |= {"recommendation": advice.state()} if advice else {}
        terminal.answer(body | ({"ranking": [system.state() for system in ranking[0]]} if ranking else {}))
        return
    shown.comparison(runs, comparisons, verdicts, brief, advice.usages if advice else ())
    if ranking:
        terminal.show(ranking[0].view() if ranking[0] else [])
        terminal.echo(f"Written: {', '.join(map(str, ranking[1]))}")
    for spoken in (item.spoken for item in verdicts):
        terminal.line(spoken.sentence, style=spoken.verdict if spoken.verdict in ("better", "worse") else "bold")
        terminal.line(*spoken.details)
    for pair in comparisons.pairs:
        if pair.systems[0] != comparisons.baseline.name and pair.measure == comparisons.pairs[0].measure:
            terminal.line(pair.sentence, style="bold")
            terminal.line(*pair.details)
    terminal.line(*(advice.sentences if advice else ()))
    if brief:
        terminal.echo(
            "Every difference, ranks and strata: --all"
            + ("" if ranking else "; tables and a report in files: --out FOLDER")
        )

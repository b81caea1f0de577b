"""``goldassay compare``: runs, files of predictions or programs on the same gold, and their ranking.

Whatever is compared becomes a run: files of predictions are measured, programs are run with each model
(`goldassay.cli.systems`). A single file or run is scored again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from goldassay import fields
from goldassay.cli import options as use
from goldassay.cli.settings import Setting, settings
from goldassay.exceptions import GoldassayError
from goldassay.measure import TASKS
from goldassay.reporting import terminal
from goldassay.workspace import metric

if TYPE_CHECKING:
    from goldassay.running import Run

HELP = "files are compared as: goldassay compare TASK --gold FILE --pred FILE --pred FILE"
FIVE = "five"
DEFAULT_VALUES = {
    "extraction": ("strict_f1", "partial_f1"),
    "classification": ("accuracy", "macro_f1"),
    "linking": ("hits@1", "mrr", "nil_f1"),
    "retrieval": ("nDCG@10", "RR", "AP"),
    "answering": ("exact_match", "f1"),
    "triples": ("precision", "recall", "f1"),
    "records": ("field_f1", "record_accuracy", "tree_edit_accuracy"),
}
"""The values that files are compared by: each one more costs power, since the tests are corrected for their number."""


@dataclass(frozen=True)
class SystemOptions:
    """What is compared, besides runs, and how the systems are tested and ranked."""

    gold: str | None = use.for_gold("SET|FILE", "The gold.")
    pred: list[Path] | None = use.for_gold("FILE|RUN", "Predictions (repeat); the first are the baseline.")
    program: list[str] | None = use.for_model(
        "NAME|FILE|FOLDER",
        "A program of the task, a file, the folder of a tuned program, or reader:MODEL, a transformers model "
        "for question answering (repeat).",
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
    test: str = use.for_result("NAME", "permutation, bootstrap, paired_t, wilcoxon or mcnemar.", default="permutation")
    metric: str | None = use.for_gold(
        "FILE:NAME|five",
        "The metric of programs (default: metrics/TASK.py:metric); five ranks answers by accuracy, quality, "
        "confidence, speed and robustness.",
    )
    weight: list[str] | None = use.for_result("MEASURE=W", "The weight of a measure in the ranking (repeat).")
    out: Path | None = use.for_result("FOLDER", "Write the ranking, its tables and a report here.")


def compare(
    runs: Annotated[list[str], use.argument("RUN RUN... | TASK", "Run folders, logs of other tools, or a task.")],
    systems: SystemOptions,
    reading: use.FileOptions,
    seed: int = 0,
    force: bool = False,
    json: bool = False,
) -> None:
    """Compare runs, predictions or programs on the same gold: paired tests, ranks, what was won and lost.

    With --metric five, --force asks models again for the answers that the folder has cached.
    """
    task, out = runs[0], systems.out
    weights = use.numbers("--weight", systems.weight)
    if any(weight < 0 for weight in weights.values()):
        raise GoldassayError(f"--weight expects numbers of 0 or more, got {', '.join(systems.weight or ())}")
    if systems.program or systems.state or systems.lm or systems.metric:
        from goldassay.cli.systems import Job, rank_by_five, run_all

        if len(runs) != 1:
            raise GoldassayError(
                "programs are compared as: goldassay compare TASK --program FILE --state FILE --lm MODEL"
            )
        job = Job(task, systems, reading, out or Path("ranking"), seed)
        if systems.metric == FIVE:
            rank_by_five(job, weights, force, json)
            return
        loaded, out = run_all(job), job.out
    elif systems.repeats > 1:
        raise GoldassayError("--repeats is for programs: goldassay compare TASK --program NAME --repeats 3")
    elif systems.gold is None and not systems.pred:
        loaded = _loaded(runs, reading)
    elif systems.gold is None or len(runs) != 1:
        raise GoldassayError(HELP)
    elif len(systems.pred or ()) == 1:
        _rescore(task, systems, reading, json)
        return
    else:
        loaded = _measured(task, systems, reading)
    _show(loaded, systems.test, seed, json, _written(loaded, weights, seed, out) if out else None)


def _loaded(places: Sequence[str], reading: use.FileOptions) -> list[Run]:
    from goldassay.running.logs import runs_at, split_name

    document = settings(reading.option, allowed={"document": Setting(())}).get("document", "document")
    if extra := next((name for name, value in vars(reading).items() if value and name != "option"), None):
        raise GoldassayError(f"--{'measure' if extra == 'measures' else extra} is for files; {HELP}")
    several = len(places) > 1 or split_name(places[0])[0].is_file()
    runs = [run for place in places for run in runs_at(place, document=document)] if several else []
    if len(runs) < 2:
        raise GoldassayError(f"compare needs two runs or more; {HELP}")
    return runs


def _measured(task: str, systems: SystemOptions, reading: use.FileOptions) -> list[Run]:
    """A run of each file of predictions, by the values asked for."""
    from goldassay.cli.score import read
    from goldassay.gold import Pairs
    from goldassay.gold.records import INPUTS
    from goldassay.reporting.ranking import STORED
    from goldassay.running.comparing import from_predictions
    from goldassay.scoring import card_of

    if not systems.pred:
        raise GoldassayError("compare needs two files of predictions or more: --pred FILE --pred FILE")
    options, runs = reading.chosen(task), []
    measures = options.pop("measures", [])
    for file in systems.pred:
        aligned, chosen = read(task, Path(str(systems.gold)), file, **options)
        if task == "retrieval" and measures:
            chosen["measures"] = measures
        sides = aligned.gold[: systems.limit], aligned.pred[: systems.limit]
        card = card_of(task, Pairs(*sides), chosen, intervals=False)
        default = [name for name in DEFAULT_VALUES.get(task, ()) if name in card.measures]
        names = measures or default or list(card.measures)  # a protocol has its own
        if unknown := next((name for name in names if name not in card.measures), None):
            raise GoldassayError(f"{task} has no value {unknown!r} here; there are {', '.join(card.measures)}")
        for warning in aligned.warnings:
            terminal.warn(f"{file}: {warning}")
        values = {name: card.measures[name] for name in names} if task in TASKS else metric(task)
        run = from_predictions(*sides, values, name=file.name, file=file, protocol=options.get("protocol"))
        run.about["settings"] |= {STORED: str(file)}
        for row, evidence, example, answer in zip(run.rows, run.evidence, *sides, strict=True):
            record, prediction = (
                {name: fields.read(side, name) for name in fields.names(side)} for side in (example, answer)
            )
            row["inputs"] = {name: record.pop(name) for name in (INPUTS.get(task),) if name in record}
            row |= {"gold": record, "prediction": prediction, "score": float(evidence.value)}
        runs.append(run)
    return runs


def _written(runs: Sequence[Run], weights: Mapping[str, float], seed: int, out: Path) -> tuple[Any, list[Path]]:
    """The ranking, written to a folder with its report."""
    from goldassay.reporting import ranking
    from goldassay.reporting.exports import to_latex
    from goldassay.reporting.pages import report

    if not any(runs[0].zero.weights.values()):  # files, which have no metric: all values weigh the same
        weights = weights or dict.fromkeys(runs[0].values, 1.0)
    ranked, notes = ranking.rank(runs, weights, seed=seed), ranking.unranked(runs)
    for note in notes:
        terminal.warn(note)
    files = ranking.write(ranked, out, notes)
    page, table = out / "report.html", out / "systems.tex"
    table.write_text(to_latex(runs, [run.name for run in runs]), encoding="utf-8")
    shown = [*(each.run for each in ranked), *(run for run in runs if not run.available)]
    page.write_text(report(shown, ranked=ranked, title="Ranking"), encoding="utf-8")
    return ranked, [*files, table, page]


def _show(runs: Sequence[Run], test: str, seed: int, json: bool, ranking: Any) -> None:
    """Paired differences, ranks of three or more runs, what was won and lost, the ranking."""
    from goldassay.reporting import runs as tables
    from goldassay.reporting.summary import noise_lines
    from goldassay.reporting.verdicts import against
    from goldassay.running.comparing import RunComparisons, ranked
    from goldassay.running.comparing import compare as compare_runs

    usable = [run for run in runs if run.available]
    places = [place for place, run in enumerate(runs, start=1) if run.available]
    comparisons = compare_runs(*usable, test=test, seed=seed) if len(usable) > 1 else RunComparisons(runs[0], [])
    ranks = ranked(usable, seed=seed) if len(usable) > 2 else {}
    verdicts = against(comparisons, seed)
    for text in [f"{run.name}: {warning}" for run in runs for warning in run.warnings]:
        terminal.warn(text)
    if json:
        protocol = tables.protocol(runs)
        body: dict[str, Any] = {
            "runs": [{**run.summary(), "available": run.available} for run in runs],
            "comparisons": [each.state() for each in comparisons],
            "verdicts": [{"run": each.name, "verdict": each.verdict, "sentence": each.sentence} for each in verdicts],
            "ranks": {
                name: {str(run.folder): [rank.low, rank.high] for run, rank in zip(usable, each, strict=True)}
                for name, each in ranks.items()
            },
            "not_available": [str(run.folder) for run in runs if not run.available],
        }
        body |= {"protocol": protocol} if protocol else {}
        terminal.answer(body | ({"ranking": [each.state() for each in ranking[0]]} if ranking else {}))
        return
    tables.comparison(runs, comparisons)
    tables.ranks(ranks, places)
    for text in [f"{run.name}: {text}" for run in usable for text in noise_lines(run)[:2]]:
        terminal.line(text)
    for place, each in zip(places[1:], verdicts, strict=True):
        tables.moved(each, (place, places[0]))
    if ranking:
        tables.ranking(ranking[0])
        terminal.plain(f"Written: {', '.join(map(str, ranking[1]))}")
    for each in verdicts:
        terminal.line(each.sentence, each.verdict if each.verdict in ("better", "worse") else "bold")


def _rescore(task: str, systems: SystemOptions, reading: use.FileOptions, json: bool) -> None:
    """Score stored predictions again."""
    from goldassay.reporting import tables
    from goldassay.running.comparing import rescore
    from goldassay.scoring import INTERVALS_UP_TO

    gold, (pred, *_) = Path(str(systems.gold)), systems.pred or []
    card = rescore(task, gold, pred, reading.measures or (), format=reading.reading()["format"])
    if card.examples <= INTERVALS_UP_TO:
        card.estimate()
    terminal.output(card, json, tables.scorecard)

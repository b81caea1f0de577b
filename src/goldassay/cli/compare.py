"""``goldassay compare``: runs, files of predictions or programs on the same gold, and their ranking.

Whatever is compared becomes a run: files of predictions are measured, programs are run with each model.
One file or run of predictions is scored again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    """What is compared, besides runs."""

    gold: Annotated[str | None, use.for_gold("--gold", metavar="SET|FILE", help="The gold.")] = None
    pred: Annotated[
        list[Path] | None,
        use.for_gold("--pred", metavar="FILE|RUN", help="Predictions (repeat); the first are the baseline."),
    ] = None
    program: Annotated[
        list[str] | None,
        use.for_model(
            "--program",
            metavar="NAME|FILE|FOLDER",
            help="A program of the task, a file, the folder of a tuned program, or reader:MODEL, a transformers model "
            "for question answering (repeat).",
        ),
    ] = None
    state: Annotated[
        list[Path] | None,
        use.for_model(
            "--state",
            metavar="FILE",
            help="A saved state of the program, from program.save (repeat); one alone is compared with the program as "
            "it is.",
        ),
    ] = None
    lm: Annotated[
        list[str] | None, use.for_model("--lm", metavar="MODEL", help="Run each program with this model (repeat).")
    ] = None
    split: use.Split = "dev"
    limit: use.Limit = None
    threads: use.Threads = 1
    repeats: use.Repeats = 1


@dataclass(frozen=True)
class RankingOptions:
    """How they are tested and ranked, and where the ranking goes."""

    test: Annotated[
        str, use.for_result("--test", metavar="NAME", help="permutation, bootstrap, paired_t, wilcoxon or mcnemar.")
    ] = "permutation"
    metric: Annotated[
        str | None,
        use.for_gold(
            "--metric",
            metavar="FILE:NAME|five",
            help="The metric of programs (default: metrics/TASK.py:metric); five ranks answers by accuracy, quality, "
            "confidence, speed and robustness.",
        ),
    ] = None
    weight: Annotated[
        list[str] | None,
        use.for_result("--weight", metavar="MEASURE=W", help="The weight of a measure in the ranking (repeat)."),
    ] = None
    ask_again: Annotated[
        bool, use.for_result("--ask-again", help="Ask models again for the answers that --metric five has cached.")
    ] = False
    out: Annotated[
        Path | None, use.for_result("--out", metavar="FOLDER", help="Write the ranking, its tables and a report here.")
    ] = None

    def weights(self) -> dict[str, float] | None:
        """The weights by the names of the measures, if any were given."""
        weights = use.numbers("--weight", self.weight)
        if wrong := next((name for name, weight in weights.items() if not 0 <= weight < float("inf")), None):
            raise GoldassayError(f"--weight {wrong} expects a number of 0 or more, got {weights[wrong]:g}")
        return weights or None


def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN RUN... | TASK", help="Run folders, logs of other tools, or a task.")
    ],
    systems: SystemOptions,
    reading: use.FileOptions,
    ranking: RankingOptions,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Compare runs, predictions or programs on the same gold: paired tests, ranks, what was won and lost."""
    out = ranking.out
    if systems.program or systems.state or systems.lm or ranking.metric:
        from goldassay.cli import systems as matrix

        if len(runs) != 1:
            raise GoldassayError(
                "programs are compared as: goldassay compare TASK --program FILE --state FILE --lm MODEL"
            )
        job = matrix.Job(runs[0], systems, reading, ranking, seed)
        if ranking.metric == matrix.FIVE:
            matrix.rank_by_five(job, json)
            return
        loaded, out = matrix.run_all(job), out or Path("ranking")
    elif systems.repeats > 1:
        raise GoldassayError("--repeats is for programs: goldassay compare TASK --program NAME --repeats 3")
    elif systems.gold is None and not systems.pred:
        document = settings(reading.option, allowed={"document": Setting(())}).get("document", "document")
        if extra := next((name for name, value in vars(reading).items() if value and name != "option"), None):
            raise GoldassayError(f"--{'measure' if extra == 'measures' else extra} is for files; {HELP}")
        loaded = _load(runs, document)
    elif systems.gold is None or len(runs) != 1:
        raise GoldassayError(HELP)
    elif len(systems.pred or ()) == 1:
        _rescore(runs[0], systems, reading, json)
        return
    else:
        gold, preds = Path(systems.gold), systems.pred or []
        loaded = measured(runs[0], gold, preds, limit=systems.limit, **reading.chosen(runs[0]))
    _show(loaded, ranking.test, seed, json, _write(loaded, ranking.weights(), seed, out))


def _load(places: Sequence[str], document: str) -> list[Run]:
    from goldassay.running.logs import runs_at, split_name

    several = len(places) > 1 or split_name(places[0])[0].is_file()
    runs = [run for place in places for run in runs_at(place, document=document)] if several else []
    if len(runs) < 2:
        raise GoldassayError(f"compare needs two runs or more; {HELP}")
    return runs


def measured(
    task: str,
    gold: Path,
    preds: Sequence[Path],
    *,
    measures: Sequence[str] = (),
    limit: int | None = None,
    **options: Any,
) -> list[Run]:
    """A run of each file of predictions, by the values asked for."""
    from goldassay.cli.score import read
    from goldassay.gold import Pairs
    from goldassay.gold.records import INPUTS
    from goldassay.reporting.ranking import STORED
    from goldassay.running.comparing import from_predictions
    from goldassay.scoring import card_of

    if len(preds) < 2:
        raise GoldassayError("compare needs two files of predictions or more: --pred FILE --pred FILE")
    out = []
    for file in preds:
        aligned, chosen = read(task, gold, file, **options)
        if task == "retrieval" and measures:
            chosen["measures"] = list(measures)
        sides = aligned.gold[:limit], aligned.pred[:limit]
        card = card_of(task, Pairs(*sides), chosen, intervals=False)
        default = [name for name in DEFAULT_VALUES.get(task, ()) if name in card.measures]
        names = list(measures or default or card.measures)  # a protocol has its own
        unknown = next((name for name in names if name not in card.measures), None)
        if unknown:
            raise GoldassayError(f"{task} has no value {unknown!r} here; there are {', '.join(card.measures)}")
        for warning in aligned.warnings:
            terminal.warn(f"{file}: {warning}")
        values = {name: card.measures[name] for name in names} if task in TASKS else metric(task)
        run = from_predictions(*sides, values, name=file.name, file=file, protocol=options.get("protocol"))
        run.about["settings"] |= {STORED: str(file)}
        for row, evidence, example, answer in zip(run.rows, run.evidence, *sides, strict=True):
            record = {name: fields.read(example, name) for name in fields.names(example)}
            row["inputs"] = {name: record.pop(name) for name in (INPUTS.get(task),) if name in record}
            prediction = {name: fields.read(answer, name) for name in fields.names(answer)}
            row |= {"gold": record, "prediction": prediction, "score": float(evidence.value)}
        out.append(run)
    return out


def _write(runs: Sequence[Run], weights: Mapping[str, float] | None, seed: int, out: Path | None) -> Any:
    """The ranking, written to a folder with its report; None without a folder."""
    if out is None:
        return None
    from goldassay.reporting import ranking
    from goldassay.reporting.exports import to_latex
    from goldassay.reporting.pages.report import report

    if not any(runs[0].zero.weights.values()):  # files, which have no metric: all values weigh the same
        weights = weights or dict.fromkeys(runs[0].values, 1.0)
    ranked = ranking.rank(runs, weights, seed=seed)
    notes = ranking.unranked(runs)
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
    missing = [str(run.folder) for run in runs if not run.available]
    places = [place for place, run in enumerate(runs, start=1) if run.available]
    comparisons = compare_runs(*usable, test=test, seed=seed) if len(usable) > 1 else RunComparisons(runs[0], [])
    ranks = ranked(usable, seed=seed) if len(usable) > 2 else {}
    verdicts = against(comparisons, seed)
    protocol = tables.protocol(runs)
    for text in [f"{run.name}: {warning}" for run in runs for warning in run.warnings]:
        terminal.warn(text)
    if json:
        body: dict[str, Any] = {"protocol": protocol} if protocol else {}
        body |= {
            "runs": [{**run.summary(), "available": run.available} for run in runs],
            "comparisons": [each.state() for each in comparisons],
            "verdicts": [{"run": each.name, "verdict": each.verdict, "sentence": each.sentence} for each in verdicts],
            "ranks": {
                name: {str(run.folder): [rank.low, rank.high] for run, rank in zip(usable, each, strict=True)}
                for name, each in ranks.items()
            },
            "not_available": missing,
        }
        terminal.answer(body | ({"ranking": [each.state() for each in ranking[0]]} if ranking else {}))
        return
    tables.comparison(runs, comparisons)
    tables.ranks(ranks, places)
    for run in usable:
        for text in noise_lines(run)[:2]:
            terminal.line(f"{run.name}: {text}")
    for place, each in zip(places[1:], verdicts, strict=True):
        tables.moved(each, (place, places[0]))
    if ranking:
        tables.ranking(ranking[0])
        terminal.plain(f"Written: {', '.join(map(str, ranking[1]))}")
    for each in verdicts:
        tables.verdict(each)


def _rescore(task: str, systems: SystemOptions, reading: use.FileOptions, json: bool) -> None:
    """Score stored predictions again."""
    from goldassay.reporting import scorecards
    from goldassay.running.rescoring import rescore
    from goldassay.scoring import INTERVALS_UP_TO

    gold, (pred, *_) = Path(str(systems.gold)), systems.pred or []
    name = use.format_and_column(reading.format)["format"]
    card = rescore(task, gold, pred, reading.measures or (), format=name)
    if card.examples <= INTERVALS_UP_TO:
        card.estimate()
    if json:
        terminal.answer(card.state())
        return
    scorecards.show(card)

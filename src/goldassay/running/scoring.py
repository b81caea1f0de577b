"""``score``: predictions that exist against gold, in files or in memory; several systems side by side.

The command line scores by the same functions: `read` reads both sides, `card_of` measures them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from inspect import Parameter, signature
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack, overload

from goldassay import workspace
from goldassay._support import files as storage
from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import Fields, JsonObject, Record, identity
from goldassay.core.measure import TASKS, Batches, Measure, parse, registered, target_met
from goldassay.gold import Pairs, formats, pairs, sets
from goldassay.gold.formats.trec import is_by_query
from goldassay.gold.reading import read as read_gold
from goldassay.measures import protocols
from goldassay.results.result import Result, Results, fold
from goldassay.running.run import Run

if TYPE_CHECKING:
    from goldassay.core.metric import AnyMetric
    from goldassay.measures.answering.matching import Baseline
    from goldassay.measures.linking.records import IdPairs
    from goldassay.measures.records.comparators import Comparator
    from goldassay.measures.records.records import Schema
    from goldassay.measures.triples.scorecard import OntologyContent
    from goldassay.models.embedding import Embedder, TokenEmbedder

INTERVALS_UP_TO = 2000  # examples for which intervals are computed by default
MEASURED = ("retrieval", "answering")  # tasks whose scorecards take names of measures
READING_OPTIONS = ("split", "map", "column", "na_probs", "train", "skip_bad", "malformed", "scheme", "adjacent")
"""Options of how files are read (`goldassay.gold.pairs`)."""


class DataFrameLike(Protocol):
    """A data frame, or one of its columns (pandas, polars, numpy)."""

    @property
    def shape(self) -> object: ...


Side = str | Path | Sequence[Any] | Iterator[Any] | DataFrameLike | Run
"""Records or predictions: a file, a list, a data frame, of predictions also a run."""


class ScoreOptions(TypedDict, total=False):
    """The options of `score`; those of a task are documented at its scorecard."""

    split: str | None
    map: Mapping[str, str] | str | None
    format: str | None
    intervals: bool | None
    protocol: str | None
    measures: Sequence[str | Measure | AnyMetric] | str | AnyMetric | None
    column: str | None
    na_probs: str | Path | None
    train: str | Path | None
    skip_bad: bool | None
    malformed: str | None
    scheme: str | None
    adjacent: str | None
    bounds: str
    labels: Sequence[str] | str | None
    hierarchy: Mapping[str, Sequence[str]] | str | None
    positive: str | None
    weight: str
    costs: Sequence[tuple[str, str, float]]
    equivalent: Mapping[str, str] | IdPairs | None
    ties: str
    missing: int | str
    embedder: Embedder | str | None
    tokens: TokenEmbedder | str | None
    baseline: Baseline | None
    ontology: OntologyContent | str | Path | None
    schema: Schema
    arguments: str
    compare: Mapping[str, str | Comparator] | Sequence[tuple[str, str | Comparator]]
    blank: str
    ordered: Sequence[str] | str


@overload
def score(
    task: str, gold: Side | Mapping[str, Side], predictions: Mapping[str, Side], **options: Unpack[ScoreOptions]
) -> Results: ...
@overload
def score(task: str, gold: Side | Mapping[str, Side], predictions: Side, **options: Unpack[ScoreOptions]) -> Result: ...
def score(
    task: str,
    gold: Side | Mapping[str, Side],
    predictions: Side | Mapping[str, Side],
    **options: Unpack[ScoreOptions],
) -> Result | Results:
    """The scorecard of predictions; of several systems (a dict of predictions by name) their scorecards together.

    Either side is a file, a list of records (dicts, pydantic models, ``dspy.Example``), lists by split
    (``{"dev": [...], "test": [...]}``), records or answers by id (``{"a": "museum"}``), or a data frame (pandas,
    polars). Classification takes lists of labels, records lists of JSON texts. Predictions may be a run or its folder.
    Records are matched by ``id``; without ids, row by row.

    Args:
        task: The task.
        gold: The gold.
        predictions: The predictions, or those of each system by its name.
        options: ``measures``, the names of measures, or a metric of your own (a function, or its ``FILE.py:NAME``);
            ``split``, to score only this split of gold; ``map``, the columns of gold's fields, such as
            ``{"label": "category"}``; ``format`` of files, guessed if not given; ``intervals``, by default of up to
            2,000 examples; ``protocol``, an official protocol (`goldassay.measures.protocols`); how files are read
            (`READING_OPTIONS`); those of the task's scorecard: ``labels`` …. `ScoreOptions` lists all.

    Returns:
        A `Result`, or `Results` of several systems.

    Raises:
        GoldassayError: There is no such task, protocol or option, or a side cannot be read.

    >>> score("classification", ["museum", "archive"], ["museum", "museum"])["accuracy"]
    0.5
    >>> gold = [{"id": "a", "label": "museum"}, {"id": "b", "label": "archive"}]
    >>> cards = score("classification", gold, {"ours": gold, "theirs": [{"id": "a", "label": "museum"}]})
    >>> {name: card["accuracy"] for name, card in cards.items()}
    {'ours': 1.0, 'theirs': 0.5}
    """
    by_query = task == "retrieval" and is_by_query(predictions)
    if isinstance(predictions, Mapping) and not by_query and not _is_by_id(task, gold, predictions, options):
        return Results({name: score(task, gold, side, **options) for name, side in predictions.items()})
    intervals = options.pop("intervals", None)
    aligned, chosen = read(task, gold, predictions, **options)
    return card_of(task, aligned, chosen, intervals)


def _is_by_id(task: str, gold: object, predictions: Mapping[str, object], options: ScoreOptions) -> bool:
    """Whether these are answers by the ids of gold, and not those of systems by their names."""
    ids: Iterable[object] = gold if isinstance(gold, Mapping) else ()
    sides = predictions.values()
    if formats.is_file(gold) and not all(isinstance(side, (list, Path, Run)) or exists(str(side)) for side in sides):
        ids = read_gold(gold, task, format=options.get("format"), map=options.get("map")).ids
    if isinstance(gold, list):
        ids = (identity(record, "") for record in gold)
    are_runs = any(isinstance(side, Run) for side in sides)
    return not are_runs and not {*map(str, predictions)}.isdisjoint(map(str, ids))


def read(
    task: str,
    gold: object,
    predictions: Any,
    *,
    format: str | None = None,
    protocol: str | None = None,
    drafts: bool = False,
    **options: Any,
) -> tuple[Pairs, Fields]:
    """Both sides, aligned, and the options of the task's scorecard: the one reader of `score` and the command line.

    Args:
        task: The task.
        gold: The gold, a file or records.
        predictions: The predictions.
        format: The format of files; guessed if not given.
        protocol: An official protocol by its name.
        drafts: Keep records of a draft that have no gold.
        options: Those of `score`; ``None`` counts as not given.

    Raises:
        GoldassayError: There is no such task, protocol or option, or a side cannot be read.
    """
    if isinstance(predictions, Run):
        blank: JsonObject = {name: None for row in predictions.rows for name in row.prediction or ()}
        rows = [{**blank, **(row.prediction or {}), "id": row.id} for row in predictions.rows]
        if all(row.id == str(row.index) for row in predictions.rows):  # gold has no ids
            rows = [{name: row[name] for name in row if name != "id"} for row in rows]
        predictions = predictions.folder or rows
    if options.get("measures") and not isinstance(options["measures"], (list, tuple)):
        options["measures"] = [options["measures"]]
    if any(map(is_own_metric, options.get("measures") or ())):
        workspace.FILE_TASKS.add(task)  # a metric that is named makes any name a task
    elif task not in workspace.tasks() and not workspace.own_program(task):
        near = workspace.nearest(task, workspace.tasks())
        own = "One of your own needs its metric: `measures=FILE.py:NAME`"
        raise GoldassayError(f"no task {task!r}{near}{' ' if near.endswith('?') else '. '}{own}")
    chosen = {name: value for name, value in options.items() if value is not None}
    if formats.is_file(path := chosen.get("ontology")):
        chosen["ontology"] = storage.json_value(path)
    official = None if protocol is None else protocols.named(protocol, task)
    reading = {name: chosen.pop(name) for name in READING_OPTIONS if name in chosen}
    files = [side for side in (gold, predictions) if formats.is_file(side)]
    if not files:
        for name in (*(("format",) if format else ()), *reading):
            if name not in ("split", "map"):
                raise GoldassayError(f"{name} says how a file is read, and both sides are records")
    if official and "adjacent" in reading:
        raise GoldassayError(f"the protocol {official.name} says itself where neighbouring links end, without adjacent")
    names: list[str] = []
    if task in TASKS:
        parameters = signature(import_module(f"goldassay.measures.{task}").scorecard).parameters.values()
        names = [parameter.name for parameter in parameters if parameter.kind is Parameter.KEYWORD_ONLY]
        if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
            names += chosen
    owner = task
    if official:
        names = [name for name in official.options if official.scorecard or name in names]
        owner = f"the protocol {official.name}"
    if unknown := next((name for name in chosen if name not in (*names, "measures")), None):
        near = workspace.nearest(unknown, [*names, *READING_OPTIONS])
        raise GoldassayError(f"{owner} has no option {unknown!r}{near}")
    layout = format
    if official and files and not format:
        # a file under a protocol is in the protocol's format, unless it shows that it has records of ours
        is_official = official.format and formats.guess(files[0], task, "table") != "jsonl"
        layout = official.format if official.reads_records or is_official else None
    if official and files and (layout or formats.guess(files[0], task)) == "hipe":
        reading["protocol"] = official.name  # decides which rows are tokens, and what bounds a linked mention
    if formats.is_file(gold):
        gold_format = layout or formats.guess(gold, task)
        pred_format = layout or (formats.guess(predictions, task) if len(files) == 2 else gold_format)
        if "na_probs" in reading and {gold_format, pred_format} != {"squad"}:
            raise GoldassayError("na_probs is for files of the format squad; elsewhere a prediction has its confidence")
        chosen = set_options(task, gold) | chosen
    aligned = pairs(task, gold, predictions, format=layout, drafts=drafts, **reading)
    if reading.get("malformed") == "strict":
        aligned.warnings.append("tags were read as their scheme is written (malformed=strict)")
    if official:
        chosen["protocol"] = official.name
    return aligned, chosen | {name: reading[name] for name in ("train",) if name in reading}


def is_own_metric(measure: object) -> bool:
    """Whether this is a metric of the user in place of a measure: a function, a `Metric`, or its ``FILE.py:NAME``."""
    if isinstance(measure, str):
        return ".py" in measure and not measure.endswith(")")  # EndState("checks.py:paid") is a measure
    return callable(measure) and not isinstance(measure, Measure)


def set_options(task: str, gold: str | Path) -> JsonObject:
    """The options of the scorecard that the card beside a file of gold names: ``labels`` of classification.

    Args:
        task: The task.
        gold: The file of gold.
    """
    labels = sets.card(Path(gold).parent).get("labels") if task == "classification" else None
    return {"labels": labels} if labels else {}


def card_of(task: str, aligned: Pairs, options: Record, intervals: bool | None = None) -> Result:
    """The scorecard of aligned records.

    Args:
        task: The task; one of your own is measured by its metric.
        aligned: The records.
        options: Those of the task's scorecard; among its measures may be the file of a metric that measures instead.
        intervals: Whether to compute intervals; by default of up to `INTERVALS_UP_TO` examples.

    Raises:
        GoldassayError: The metric of a file would use none of the other options, or two measures have one name.
    """
    chosen = dict(options)
    by_name: dict[str, Measure] = {}
    for measure in chosen.get("measures") or ():
        if isinstance(measure, Measure) and by_name.setdefault(measure.key, measure) != measure:
            texts = [str(by_name[measure.key]), str(measure)]
            raise GoldassayError(f"two measures have the name {measure.key}; as texts both count: measures={texts}")
    train = str(chosen.pop("train", "FILE"))
    own = next(filter(is_own_metric, chosen.get("measures") or ()), None)
    passed_on = task in MEASURED and "protocol" not in chosen and own is None
    names = None if passed_on else chosen.pop("measures", None)
    if own and chosen:
        raise GoldassayError(
            f"the metric of {own if isinstance(own, str) else 'your own'} has no option {next(iter(chosen))!r}"
        )
    if official := protocols.official_result(task, Batches(aligned.gold, aligned.pred), **chosen):
        card: Result = official
    elif task in TASKS and own is None:
        card = import_module(f"goldassay.measures.{task}").scorecard(aligned.gold, aligned.pred, **chosen)
    else:
        from goldassay.results.of_metric import fold_metric  # loads DSPy

        names = [name for name in names or () if name is not own]
        if any(map(is_own_metric, names)):
            raise GoldassayError("one metric of your own at a time: a function may return a dict of values")
        metric = own if callable(own) else workspace.metric(task, own)
        card = fold_metric(metric, aligned.gold, aligned.pred, task)
    if names:
        card = choose(card, names, chosen.get("weight", ""))
    named = f"train={Path(train).name}"  # the set whose facts Ign F1 leaves out
    card.conventions = {name: text.replace("train=FILE", named) for name, text in card.conventions.items()}
    card.notes = [*aligned.warnings, *card.notes]
    card.protocol = card.protocol or str(options.get("protocol") or "")
    if not (intervals or card.design.drafted or (intervals is None and card.examples <= INTERVALS_UP_TO)):
        card.level = None
    return card


def choose(card: Result, measures: Sequence[str | Measure], weight: str = "") -> Result:
    """The values of these names, or that begin with one of them (``strict`` keeps ``strict_f1`` and its rates).

    A name that no value has may be that of another measure of the task, or its repr; or the measure itself.

    Raises:
        GoldassayError: The task has no measure of a name.
    """
    available: dict[str, Measure] = {}
    if card.task in TASKS:
        available = {measure.key: measure for measure in reversed(registered(card.task))}
    more = {measure.key: measure for measure in measures if isinstance(measure, Measure)}
    names = [measure.key if isinstance(measure, Measure) else measure for measure in measures]
    for name in names:
        if name in more or any(value == name or value.startswith(f"{name}_") for value in card.measures):
            continue
        if not (name in available or "(" in name):
            near = get_close_matches(name, {**card.measures, **available}, 3) or list(card.measures)
            raise GoldassayError(f"{card.task} has no measure {name!r}; there are {', '.join(near)}")
        more[name] = available[name] if name in available else parse(f"{card.task}.{name}")
    if more and card.batches:
        extra = fold(card.task, more, card.batches, weight=weight)
        card = replace(
            card,
            measures={**card.measures, **extra.measures},
            columns={**card.columns, **extra.columns},
            conventions={**card.conventions, **extra.conventions},
        )
    return card.select(
        value for value in card.measures if any(value == name or value.startswith(f"{name}_") for name in names)
    )


def below(card: Result, floors: Mapping[str, float]) -> list[str]:
    """A message for each value that misses its floor; that of an error rate, which is better lower, is a ceiling.

    Raises:
        GoldassayError: The card has no value of a name.

    >>> below(score("classification", ["M", "L"], ["M", "M"]), {"accuracy": 0.8})
    ['accuracy is 0.5000, under 0.8']
    """
    messages = []
    for name, floor in floors.items():
        if name not in card.values:
            near = get_close_matches(name, card.values, 3) or list(card.values)[:5]
            raise GoldassayError(f"no value {name!r} for the floor {floor:g}; there are {', '.join(near)} and others")
        value = card.values[name]
        lower = name in card.measures and card.measures[name].lower_is_better
        if value is None:
            messages.append(f"{name} has no value, so it does not reach {floor:g}")
        elif not target_met(value, floor, lower_is_better=lower):
            messages.append(f"{name} is {value:.4f}, {'over' if lower else 'under'} {floor:g}")
    return messages

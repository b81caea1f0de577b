"""The report of runs, a tuning, and whatever else says of itself what it shows, as one page.

The first run is the baseline. Runs on other gold are listed with their values. Examples and paired differences cover
only the runs that share the first one's gold and conventions; the page says which runs are left out and why. A folder
of runs has its pages in `dashboard`.

The examples are packed for the page's script. The index holds the columns that the list of examples shows and filters
(id, scores, flags, types, strata, the first words). A chunk of rows holds whole examples, one JSON text a line; a chunk
of text holds their words in lower case, one line an example, for searching. So 100,000 examples open at once, and the
page unpacks only those on the screen.
"""

from __future__ import annotations

import gc
import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypedDict

from goldassay._support import files
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.extensions import of_kind, registered
from goldassay._support.jsonl import JSON, dumps
from goldassay.core.fields import Fields, JsonObject, Record, read
from goldassay.core.shape import DSPY_NOTES
from goldassay.core.steps import Step
from goldassay.core.tally import Confusion
from goldassay.measures.trajectories.mistakes import in_words
from goldassay.measures.trajectories.records import TRAJECTORY, steps_of
from goldassay.reporting.pages import charts
from goldassay.reporting.pages.document import code, packed, page, plotly
from goldassay.reporting.ranking import RankedRun, leader
from goldassay.reporting.summary import ONE_SIDED, RunSummary, confidences, is_wrong, step_view
from goldassay.reporting.tuning import Tuning
from goldassay.reporting.verdicts import LEAST_COMPARED, differences
from goldassay.results.comparisons import metric_title
from goldassay.results.view import Chart, Point, Sentence, View, shortened
from goldassay.running.folder import run_at
from goldassay.running.head import HEAD
from goldassay.running.rows import ROWS_IN_MEMORY, Row
from goldassay.running.run import Run, logged_runs
from goldassay.running.summary import doubts, labels, model_name, noise_lines, run_sentence
from goldassay.tuning.patterns import find

PATTERNS = 25  # error patterns of a run
CHUNK_SIZE = 100  # examples in a chunk of rows
TEXTS = 2000  # examples in a chunk of text
BRIEF = 70  # characters of a cell in the list
NAMING = ("text", "subject", "predicate", "object", "type", "doc_id", "ids", "candidates")
ELSEWHERE = ("id", "split", "language", "strata", "document")  # fields of gold that the page shows elsewhere


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pauses the garbage collector, which would walk over hundreds of thousands of rows again and again."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@_uncollected()
def report(
    runs: Sequence[Run],
    *,
    tuning: Tuning | None = None,
    views: Sequence[View] = (),
    ranked: Sequence[RankedRun] = (),
    title: str | None = None,
    library: str | None = None,
) -> str:
    """The page as HTML text.

    Args:
        runs: One or more; all are compared with the first.
        tuning: The tests of a tuning and the edits that it kept.
        views: What other results show of themselves: reviews, judges, whatever extensions read.
        ranked: The same runs as `goldassay.reporting.ranking.rank` orders them.
        title: Of the page; by default the names of the runs.
        library: The file beside the page that holds the chart library; by default it is in the page.
    """
    stored = [run for run in runs if run.rows]
    usable = []
    for run in stored:
        if len(run.rows) > ROWS_IN_MEMORY and not isinstance(run.rows, list):
            # a large run's file is read once; its prompts are read when they are packed
            run = replace(run, rows=[replace(row, calls=()) for row in run.rows])
        usable.append(run)
    names = labels(usable)
    summaries = list(map(RunSummary, usable))
    comparable, against, excluded = differences(summaries, names)
    notes = [f"{name} has no rows yet" for run, name in zip(runs, labels(runs), strict=True) if not run.rows]
    notes += [*excluded, *(note for name, run in zip(names, usable, strict=True) for note in _notes(name, run))]
    steps = [view for name, about in zip(names, summaries, strict=True) if (view := step_view(name, about.steps))]
    heads = [item.text for view in views for item in view if isinstance(item, Sentence) and item.style == "head"]
    pages: list[JsonObject] = []  # of each run alone
    for name, about in zip(names, summaries, strict=True):
        confusion = matrix(about.confusion) if about.confusion else None
        patterns = find(about.run.cases)[:PATTERNS]
        pages.append({"name": name, "summary": about, "patterns": patterns, "confusion": confusion})
    verdict: JsonObject | None = None  # on the first run, with its worst examples
    for run in usable[:1]:
        wrong = sorted(filter(is_wrong, run.rows), key=lambda row: row.score)
        worst = [(str(row.id), first_words(row), float(row.score)) for row in wrong[:8]]
        verdict = {"sentence": run_sentence(run, names[0]), "metric": metric_title(run.zero), "worst": worst}
    strata = {facet for about in summaries for facet in about.run.by_stratum}  # other facets are types and labels
    named = partial(code, institutional="custodian_type" in strata)
    pairs = [(name, confidences(run)) for name, run in zip(names, usable, strict=True)]
    confident = [(name, table) for name, table in pairs if len(table)]
    context: JsonObject = {
        "title": title or (tuning.title if tuning else shortened([*names, *heads], 3) or "Report"),
        "names": names,
        "runs": pages,
        "notes": notes,
        "values": _values(names, summaries),
        "parts": {"strata": strata, "tables": tables(summaries), "few": LEAST_COMPARED, "named": named},
        "verdict": verdict,
        "against": against,
        "together": [names[0], *(difference.name for difference in against)] if usable else [],
        "curves": [charts.calibration(confident), charts.precision_recall(confident)] if confident and plotly() else [],
        "ranking": ranked and {"systems": ranked, "leader": leader(ranked), "charts": charts.spent(ranked)},
        "tuning": tuning,
        "views": [*views, *steps],
    }
    rows = [
        run.rows for run, loaded in zip(stored, usable, strict=True) if any(loaded is other for other in comparable)
    ]
    blobs = packs(comparable, rows) if comparable else {}
    return page("report.html", context, scripts=["steps.js", "render.js", "examples.js"], data=blobs, library=library)


def _values(names: Sequence[str], runs: Sequence[RunSummary]) -> JsonObject:
    """Each measure (as the first run that has it reports it) with its value in each run, and the chart of all values.

    In the chart the weighted value comes first, if a metric has several measures.
    """
    by_name = [{value.name: value for value in summary.values} for summary in runs]
    measures = dict.fromkeys(name for row in by_name for name in row)
    rows = []
    for name in measures:
        of_runs = [row.get(name) for row in by_name]
        rows.append((next(filter(None, of_runs)), of_runs))
    series = []
    for at, name in enumerate(names):
        reported = [runs[at].overall] if len(rows) > 1 else []
        reported += [value for _, row in rows if (value := row[at])]
        intervals = [(value, value.interval) for value in reported if value.interval]
        series.append((name, [Point(value.name, value.value, ends.low, ends.high) for value, ends in intervals]))
    return {"rows": rows, "chart": Chart("intervals", "value", series) if rows else None}


def _notes(name: str, run: Run) -> Iterator[str]:
    """Sentences that a reader has to know before believing a run's numbers."""
    status = run.head.status or "unfinished"
    if status not in ("finished", "given"):
        total = "?" if run.head.gold.examples is None else run.head.gold.examples
        yield f"{name} is {status}: {len(run.rows)} of {total} examples."
    for text in (*doubts(run), *noise_lines(run)):
        yield f"{name}: {text}."
    if run.rows[0].inputs is None:
        yield f"{name} has no trace, so its inputs and gold are not shown."


class Sources(TypedDict):
    """The first arguments of `goldassay.reporting.pages.report`."""

    runs: list[Run]
    tuning: Tuning | None
    views: list[View]


def sources(places: Sequence[Path]) -> Sources:
    """Reads the arguments of `report` from run folders, one tuning folder, files of ``goldassay judge eval --json``,
    proofs of prompts (``PROGRAM.proof.json``, or the saved program that one lies beside), and whatever an extension
    reads as runs (logs of other tools) or shows (folders of reviews).

    Raises:
        GoldassayError: There is no place, a place is not a run, or there are several tunings.
        DataError: A file is neither a log nor the agreement of a judge, or a review is broken.
    """
    if not places:
        raise GoldassayError(
            "a report needs a run folder, a tuning folder, a log of another tool, the proof of a prompt, the agreement "
            "of a judge as JSON, or the folder of a review"
        )
    runs: list[Run] = []
    views: list[View] = []
    tuning: Tuning | None = None
    for source in places:
        folder = run_at(source)
        if (folder / "tuning.json").is_file():
            if tuning is not None:
                raise GoldassayError(f"{folder}: a report shows one tuning, and it already shows {tuning.folder}")
            tuning = Tuning.load(folder)
            runs += map(Run.load, tuning.runs)
        elif source.suffix == ".json" and (proofs := _proofs(source)):
            views += proofs
        elif view := next((view for read in of_kind("views").values() if (view := read(source))), None):
            views.append(view)  # of the first extension that knows this file or folder
        elif not (folder / HEAD).is_file() and (logged := logged_runs(source)):
            runs += logged
        elif source.is_file():
            from goldassay.judges.agreement import JudgeAgreement  # loads DSPy

            try:
                value = files.json_value(source)
                if isinstance(value, dict):
                    value = value.get("agreement", value)
                agreement = files.validated(JudgeAgreement, value, source)
            except DataError:
                logs = ", ".join(registered("readers")) or "none is there"
                message = f"neither the agreement of a judge as JSON nor a log that an extension reads ({logs})"
                raise DataError(message, file=source) from None
            named = replace(agreement, judge=model_name(agreement.judge))
            views.append([Sentence("A judge compared with people", "head"), *named.view()])
        else:
            runs.append(Run.load(folder))
    return {"runs": runs, "tuning": tuning, "views": views}


def _proofs(file: Path) -> list[View]:
    """The proofs of a prompt, if this is their file or that of a saved program that they lie beside."""
    from goldassay.tuning.units import proofs_at, read_proofs  # loads DSPy

    proofs = proofs_at(file)
    return [proof.view() for proof in read_proofs(proofs)] if proofs.is_file() else []


def tables(summaries: Sequence[RunSummary]) -> dict[str, Fields]:
    """For each facet (type, label, property) and stratum the ``columns`` to show, the name of the ``support``, and the
    ``keys``, each with the values of all runs, the largest support first.

    A stratum with a single key repeats the whole set and is left out.
    """
    strata = [{name: keys for name, keys in summary.run.by_stratum.items() if len(keys) > 1} for summary in summaries]
    facets = [{**summary.by, **parts, **summary.by} for summary, parts in zip(summaries, strata, strict=True)]
    by_facet = {}
    for facet in dict.fromkeys(facet for side in facets for facet in side):
        of_runs = [side.get(facet, {}) for side in facets]
        rows = {
            key: [by_key.get(key, {}) for by_key in of_runs]
            for key in dict.fromkeys(key for by_key in of_runs for key in by_key)
        }
        rows = {key: row for key, row in rows.items() if any(number for cells in row for number in cells.values())}
        names = list(dict.fromkeys(name for row in rows.values() for cells in row for name in cells))
        supports = [name for name in ("support", "gold", "n", "examples") if name in names]  # how tables count
        support = supports[0] if supports else ""
        rates = [name for name in names if name.removeprefix("strict_") in ("precision", "recall", "f1")]
        columns = rates or [name for name in names if name not in supports][:1]
        columns = columns[-1:] if len(summaries) > 2 else columns  # side by side, one value for each run is enough
        keys = sorted(rows.items(), key=lambda item: -max(float(cells.get(support) or 0) for cells in item[1]))
        by_facet[facet] = {"columns": columns, "support": support, "keys": keys}
    return by_facet


def matrix(confusion: Confusion) -> JsonObject:
    """The confusion matrix over the labels of both sides, by support, and the largest confusions."""
    support = Counter[str]()
    for (gold, label), n in confusion.items():
        support.update({gold: n, label: 0})
    ordered = sorted(support, key=lambda label: (label in ONE_SIDED, -support[label], label))
    wrong = [(-n, *pair) for pair, n in confusion.items() if len(set(pair)) == 2 and not set(pair) & set(ONE_SIDED)]
    rows = {gold: {label: int(confusion.get((gold, label), 0)) for label in ordered} for gold in ordered}
    return {
        "spans": any(label in ONE_SIDED for label in ordered),
        "rows": rows if len(ordered) <= 24 else {},  # with more labels, only the largest confusions
        "largest": [(gold, label, int(-n)) for n, gold, label in sorted(wrong)[:12]],
    }


def packs(runs: Sequence[Run], stored: Sequence[Sequence[Row]]) -> dict[str, str]:
    """The examples as packed texts, by the id of the page's element.

    ``runs`` are on the same examples; ``stored`` are their rows with prompts, which may still be on disk.
    """
    blobs = {"index-data": packed(dumps(index(runs)))}
    size = len(runs[0].rows)
    for start in range(0, size, CHUNK_SIZE):
        parts = zip(*(rows[start : start + CHUNK_SIZE] for rows in stored), strict=True)
        lines = [dumps(example(runs, start + at, answers)) for at, answers in enumerate(parts)]
        blobs[f"rows-{start // CHUNK_SIZE}"] = packed("\n".join(lines))
    for start in range(0, size, TEXTS):
        rows = list(zip(*(run.rows[start : start + TEXTS] for run in runs), strict=True))
        predictions = ([brief(row.prediction or {}, row.error) for row in answers] for answers in rows)
        cells = [[brief(answers[0].gold or {}), *texts] for answers, texts in zip(rows, predictions, strict=True)]
        blobs[f"cells-{start // TEXTS}"] = packed(dumps(cells))
        blobs[f"texts-{start // TEXTS}"] = packed("\n".join(map(words, rows)))
    return blobs


def index(runs: Sequence[Run]) -> JsonObject:
    """The list of examples, column by column: everything that is listed or filtered."""
    first = runs[0].rows
    belongs = [row.facets for row in first]
    # a name gets its number when it is first looked up
    numbers = {
        name: defaultdict[str, int](count().__next__)
        for name in dict.fromkeys(name for keys in belongs for name in keys)
    }
    types = defaultdict[str, int](count().__next__)
    of_examples: list[list[int]] = []  # the error kinds, types and labels of each example in any run
    for rows in zip(*(run.rows for run in runs), strict=True):
        gold = rows[0].gold or {}
        errors = [error for row in rows for error in row.errors]
        names: list[str | None] = [name for error in errors for name in (error.kind, error.gold_type, error.pred_type)]
        names += [gold["label"]] if isinstance(gold.get("label"), str) else []
        names += [entity.get("type") for entity in gold.get("entities") or () if isinstance(entity, Mapping)]
        of_examples.append([types[name] for name in dict.fromkeys(str(name) for name in names if name)])
    predictions = [[row.error if row.prediction is None else row.prediction for row in run.rows] for run in runs]
    key = hashlib.sha256(dumps([[run.name, run.head.started] for run in runs]).encode()).hexdigest()[:16]
    columns: dict[str, Callable[[Row], object]] = {
        "scores": lambda row: round(float(row.score), 4),
        "seconds": lambda row: round(float(row.latency_s or 0), 3),
        "tokens": lambda row: row.usage.tokens,
        "failed": lambda row: int(bool(row.error)),
        "wrong": lambda row: int(is_wrong(row)),
    }
    return {
        "key": key,
        "chunk": CHUNK_SIZE,
        "texts": TEXTS,
        "ids": [str(row.id) for row in first],
        "words": list(map(first_words, first)),
        **{name: [list(map(value, run.rows)) for run in runs] for name, value in columns.items()},
        "different": [int(any(answer != row[0] for answer in row)) for row in zip(*predictions, strict=True)],
        "types": of_examples,
        "type_names": list(types),
        "strata": {name: [of[keys[name]] if name in keys else -1 for keys in belongs] for name, of in numbers.items()},
        "strata_names": {name: list(of) for name, of in numbers.items()},
    }


def first_words(row: Row) -> str:
    """The beginning of an example's text."""
    inputs = {key: value for key, value in (row.inputs or {}).items() if key != "id"}
    return _cut(next(iter(_strings(inputs or row.prediction or {})), ""), 90)


def example(runs: Sequence[Run], at: int, rows: Sequence[Row]) -> JsonObject:
    """One example: the fields that all runs share, then each run's own row with the values of measures."""
    first = rows[0]
    of_row = ["score", "prediction", "errors", "error", "latency_s", "usage", "usd", "calls", "truncated"]
    answers = []
    for run, row in zip(runs, rows, strict=True):
        repeats = run.repeats
        if repeats > 1:  # the row has the prediction of one answer, and the errors of all
            tries = run.answers[at * repeats : (at + 1) * repeats]
            errors = [item.errors for item in tries if item.index == row.index and not item.error]
            row = replace(row, errors=errors[0] if errors else ())
        answer = {key: value for key, value in row.state().items() if key in of_row}
        answer |= {"repeats": repeats} if repeats > 1 else {}
        evidence = run.evidence[at].items()
        answer["values"] = {name: round(float(tally.value), 6) for name, tally in evidence if tally.weight > 0}
        steps, wrong = shown_steps(row)
        if steps:
            named = [replace(s, name=model_name(s.name)) if s.kind == "model" else s for s in steps]
            answer |= {"steps": [step.state() for step in named], "wrong_step": wrong}
            fields = {name: value for name, value in (row.prediction or {}).items() if name not in TRAJECTORY}
            if read(fields, "history.messages", None):  # of ReActV2, which has its steps there
                del fields["history"]
            answer["prediction"] = fields
        if row.calls:
            answer["calls"] = [call | {"lm": model_name(call["lm"])} if "lm" in call else call for call in row.calls]
        answers.append(answer)
    return {
        "id": str(first.id),
        "facets": {name: code(key, name) for name, key in first.facets.items()},
        "document": first.document,
        "inputs": {key: value for key, value in first.inputs.items() if key != "id"} if first.inputs else None,
        "gold": {k: v for k, v in first.gold.items() if k not in ELSEWHERE} if first.gold else None,
        "runs": answers,
    }


def shown_steps(row: Row) -> tuple[list[Step], int | None]:
    """The steps of a row, and which of them is the first wrong one, as the errors of its measures say.

    Those that were recorded hold more than those of the prediction: they are shown if their calls are the same.
    """
    steps = steps_of(row.prediction or {})
    calls = row.recorded_calls
    if calls or not steps:
        steps = list(row.steps)
    wrong = min((error.step for error in row.errors if error.step is not None), default=None)
    if wrong is not None:
        calls = calls or [step for step in steps if step.is_call]
        wrong = calls[wrong].index if wrong < len(calls) else len(steps)
    return steps, wrong


def brief(record: Record, error: str | None = None) -> str:
    """Gold or a prediction in a cell of the list of examples.

    >>> brief({"entities": [{"start": 0, "end": 5, "type": "TOP", "text": "Delft"}]}), brief({}, "timeout")
    ('Delft TOP', 'failed: timeout')
    >>> brief({"reasoning": "The letter asks.", "tone": "question"})
    'tone: question'
    >>> brief({"calls": [{"name": "read", "args": {"id": 7}}]})
    'read(id=7)'
    """
    if error:
        return f"failed: {error}"[:BRIEF]
    fields = {name: value for name, value in record.items() if name not in ELSEWHERE and name not in DSPY_NOTES}
    answers = ["entities", "links", "triples", "results", "relevant", "answers", "label", "answer", "record"]
    shown = next((fields[name] for name in answers if name in fields), None)
    if shown is None and (calls := [in_words(step) for step in steps_of(fields) if step.is_call]):
        shown = calls
    return _cut(_phrase(fields if shown is None else shown) or "(none)")


def _phrase(value: JSON) -> str:
    """A value in words; entities, links, triples and results only by the fields that tell them apart."""
    if isinstance(value, Mapping):
        if {"start", "subject", "doc_id"} & value.keys():  # an item of a list
            return " ".join(_phrase(value[name]) for name in NAMING if value.get(name))
        return "; ".join(f"{name}: {_phrase(inner)}" for name, inner in value.items() if inner not in (None, "", []))
    return "; ".join(map(_phrase, value)) if isinstance(value, (list, tuple)) else str(value)


def _cut(text: str, most: int = BRIEF) -> str:
    line = " ".join(text[: 4 * most].split())
    return line[:most] + ("…" if len(line) > most else "")


def words(rows: Sequence[Row]) -> str:
    """An example in lower case on one line: its id, inputs, gold, predictions and errors."""
    first = rows[0]
    texts = [str(first.id), *_strings(first.inputs), *_strings(first.gold)]
    for row in rows:
        texts += [*_strings(row.prediction), row.error]
        texts += [error.message for error in row.errors]
    return " ".join(" ".join(texts)[:20_000].split()).lower()


def _strings(value: JSON) -> list[str]:
    """All strings in a JSON value, without the bytes of pictures."""
    if isinstance(value, str):
        return [] if value.startswith("data:image/") else [value]
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _strings(inner)]
    return [text for inner in value for text in _strings(inner)] if isinstance(value, (list, tuple)) else []

"""The data behind a report: tables for its template, and its examples, packed for its script.

The index holds the columns that the list of examples shows and filters (id, scores, flags, types,
strata, the first words). A chunk of rows holds whole examples, one JSON text a line; a chunk of text holds their words
in lower case, one line an example, for searching. So 100,000 examples open at once, and the page unpacks only those
on the screen.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from goldassay._support.jsonl import JSON, dumps
from goldassay.core.fields import Fields, JsonObject, Record, read
from goldassay.core.shape import DSPY_NOTES
from goldassay.core.steps import Step
from goldassay.core.tally import Confusion
from goldassay.measures.trajectories.records import CALLING, TRAJECTORY, steps_of
from goldassay.reporting.pages.document import code, packed
from goldassay.reporting.summary import ONE_SIDED, RunSummary, is_wrong
from goldassay.running.rows import Row
from goldassay.running.run import Run
from goldassay.running.summary import model_name

CHUNK_SIZE = 100  # examples in a chunk of rows
TEXTS = 2000  # examples in a chunk of text
BRIEF = 70  # characters of a cell in the list
NAMING = ("text", "subject", "predicate", "object", "type", "doc_id", "ids", "candidates")
ELSEWHERE = ("id", "split", "language", "strata", "document")  # fields of gold that the page shows elsewhere


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
        answer = {key: value for key, value in row.state().items() if key in of_row}
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

    Errors count the steps that the prediction names. Those that were recorded hold more: they are shown if their calls
    are the same.
    """
    predicted = steps_of(row.prediction or {})
    wrong = min((error.step for error in row.errors if error.step is not None), default=None)
    calls = [step for step in row.steps if step.kind in CALLING]
    names = [step.name for step in predicted if step.kind in CALLING]
    if not predicted or (names and [step.name for step in calls[: len(names)]] == names):
        if predicted and wrong is not None:
            before = sum(step.kind in CALLING for step in predicted[:wrong])
            wrong = calls[before].index if before < len(calls) else len(row.steps)
        if row.steps:
            return list(row.steps), wrong
    return predicted, wrong


def brief(record: Record, error: str | None = None) -> str:
    """Gold or a prediction in a cell of the list of examples.

    >>> brief({"entities": [{"start": 0, "end": 5, "type": "TOP", "text": "Delft"}]}), brief({}, "timeout")
    ('Delft TOP', 'failed: timeout')
    >>> brief({"reasoning": "The letter asks.", "tone": "question"})
    'tone: question'
    """
    if error:
        return f"failed: {error}"[:BRIEF]
    fields = {name: value for name, value in record.items() if name not in ELSEWHERE and name not in DSPY_NOTES}
    answers = ["entities", "links", "triples", "results", "relevant", "answers", "label", "answer", "record"]
    return _cut(_phrase(next((fields[name] for name in answers if name in fields), fields)) or "(none)")


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

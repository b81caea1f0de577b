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
from itertools import count
from typing import Any, TypeAlias

from goldassay.fields import Fields, Record
from goldassay.jsonl import dumps
from goldassay.reporting.pages.document import code, packed
from goldassay.reporting.summary import ONE_SIDED, ReportedValue, RunSummary, is_wrong, model_name, tokens
from goldassay.running.rows import facets
from goldassay.running.run import Run
from goldassay.tally import Confusion

JSON: TypeAlias = "str | float | bool | Sequence[JSON] | Mapping[str, JSON] | None"
LABELS = 24  # labels of a confusion matrix; with more, only the largest confusions are shown
CHUNK = 100  # examples in a chunk of rows
TEXTS = 2000  # examples in a chunk of text
WORDS = 90  # characters of an example in the list
LONGEST = 20_000  # characters of an example that can be searched
BRIEF = 70  # characters of a cell in the list
SHOWN = ("entities", "links", "triples", "results", "relevant", "answers", "label", "answer", "record")
KEYS = frozenset(("start", "subject", "doc_id"))  # a mapping with one of these is an item of a list
NAMING = ("text", "subject", "predicate", "object", "type", "doc_id", "ids", "candidates")
OWN = ("score", "prediction", "errors", "error", "latency_s", "usage", "usd", "calls", "truncated")  # of a run's row
ELSEWHERE = ("id", "split", "language", "strata", "document")  # fields of gold that the page shows elsewhere
RATES = ("precision", "recall", "f1")
SUPPORT = ("support", "gold", "n", "examples")  # the names under which tables count


def values(summaries: Sequence[RunSummary]) -> list[tuple[ReportedValue, list[ReportedValue | None]]]:
    """Each measure (as the first run that has it reports it), and its value in each run."""
    by_name = [{value.name: value for value in summary.values} for summary in summaries]
    names = dict.fromkeys(name for row in by_name for name in row)
    return [(next(row[name] for row in by_name if name in row), [row.get(name) for row in by_name]) for name in names]


def tables(summaries: Sequence[RunSummary]) -> dict[str, Fields]:
    """For each facet (type, label, property) and stratum the ``columns`` to show, the name of the ``support``, and the
    ``keys``, each with the values of all runs, the largest support first.

    A stratum with a single key repeats the whole set and is left out.
    """
    strata = [{name: part for name, part in each.run.by_stratum.items() if len(part) > 1} for each in summaries]
    sides = [{**each.by, **parts, **each.by} for each, parts in zip(summaries, strata, strict=True)]
    by_facet = {}
    for facet in dict.fromkeys(facet for side in sides for facet in side):
        own = [side.get(facet, {}) for side in sides]
        rows = {key: [part.get(key, {}) for part in own] for key in dict.fromkeys(key for part in own for key in part)}
        rows = {key: row for key, row in rows.items() if any(number for cells in row for number in cells.values())}
        names = list(dict.fromkeys(name for row in rows.values() for cells in row for name in cells))
        support = next((name for name in SUPPORT if name in names), "")
        rates = [name for name in names if name.removeprefix("strict_") in RATES]
        columns = rates or [name for name in names if name not in SUPPORT][:1]
        columns = columns[-1:] if len(summaries) > 2 else columns  # side by side, one value for each run is enough
        keys = sorted(rows.items(), key=lambda item: -max(float(cells.get(support) or 0) for cells in item[1]))
        by_facet[facet] = {"columns": columns, "support": support, "keys": keys}
    return by_facet


def matrix(confusion: Confusion) -> Fields:
    """The confusion matrix over the labels of both sides, by support, and the largest confusions."""
    support = Counter[str]()
    for (gold, label), n in confusion.items():
        support.update({gold: n, label: 0})
    ordered = sorted(support, key=lambda label: (label in ONE_SIDED, -support[label], label))
    wrong = [(-n, *pair) for pair, n in confusion.items() if len(set(pair)) == 2 and not set(pair) & set(ONE_SIDED)]
    rows = {gold: {label: int(confusion.get((gold, label), 0)) for label in ordered} for gold in ordered}
    return {
        "spans": any(label in ONE_SIDED for label in ordered),
        "rows": rows if len(ordered) <= LABELS else {},
        "largest": [(gold, label, int(-n)) for n, gold, label in sorted(wrong)[:12]],
    }


def packs(runs: Sequence[Run], stored: Sequence[Sequence[Record]]) -> dict[str, str]:
    """The examples as packed texts, by the id of the page's element.

    ``runs`` are on the same examples; ``stored`` are their rows with prompts, which may still be on disk.
    """
    blobs = {"index-data": packed(dumps(index(runs)))}
    size = len(runs[0].rows)
    for start in range(0, size, CHUNK):
        parts = zip(*(part[start : start + CHUNK] for part in stored), strict=True)
        lines = [dumps(example(runs, start + at, several)) for at, several in enumerate(parts)]
        blobs[f"rows-{start // CHUNK}"] = packed("\n".join(lines))
    for start in range(0, size, TEXTS):
        rows = list(zip(*(run.rows[start : start + TEXTS] for run in runs), strict=True))
        predictions = ([brief(row.get("prediction") or {}, row.get("error")) for row in several] for several in rows)
        cells = [[brief(several[0].get("gold") or {}), *own] for several, own in zip(rows, predictions, strict=True)]
        blobs[f"cells-{start // TEXTS}"] = packed(dumps(cells))
        blobs[f"texts-{start // TEXTS}"] = packed("\n".join(map(words, rows)))
    return blobs


def index(runs: Sequence[Run]) -> Fields:
    """The list of examples, column by column: everything that is listed or filtered."""
    first = runs[0].rows
    belongs = list(map(facets, first))
    # a name gets its number when it is first looked up
    numbers = {
        name: defaultdict[str, int](count().__next__)
        for name in dict.fromkeys(name for keys in belongs for name in keys)
    }
    types = defaultdict[str, int](count().__next__)
    predictions = [[row.get("prediction", row.get("error")) for row in run.rows] for run in runs]
    key = hashlib.sha256(dumps([[run.name, run.about.get("started")] for run in runs]).encode()).hexdigest()[:16]
    columns: dict[str, Callable[[Record], Any]] = {
        "scores": lambda row: round(float(row["score"]), 4),
        "seconds": lambda row: round(float(row.get("latency_s") or 0), 3),
        "tokens": lambda row: tokens(row.get("usage") or {}),
        "failed": lambda row: int(bool(row.get("error"))),
        "wrong": lambda row: int(is_wrong(row)),
    }
    return {
        "key": key,
        "chunk": CHUNK,
        "texts": TEXTS,
        "ids": [str(row["id"]) for row in first],
        "words": list(map(first_words, first)),
        **{name: [list(map(value, run.rows)) for run in runs] for name, value in columns.items()},
        "different": [int(any(each != row[0] for each in row)) for row in zip(*predictions, strict=True)],
        "types": [[types[kind] for kind in _types(rows)] for rows in zip(*(run.rows for run in runs), strict=True)],
        "type_names": list(types),
        "strata": {name: [of[keys[name]] if name in keys else -1 for keys in belongs] for name, of in numbers.items()},
        "strata_names": {name: list(of) for name, of in numbers.items()},
    }


def _types(rows: Sequence[Record]) -> list[str]:
    """The error kinds, types and labels of an example in any run."""
    gold = rows[0].get("gold") or {}
    errors = [error for row in rows for error in row.get("errors", ())]
    names = [error.get(name) for error in errors for name in ("kind", "gold_type", "pred_type")]
    names += [gold["label"]] if isinstance(gold.get("label"), str) else []
    names += [entity.get("type") for entity in gold.get("entities") or () if isinstance(entity, Mapping)]
    return list(dict.fromkeys(str(name) for name in names if name))


def first_words(row: Record) -> str:
    """The beginning of an example's text."""
    inputs = {key: value for key, value in (row.get("inputs") or {}).items() if key != "id"}
    return _cut(next(iter(_strings(inputs or row.get("prediction") or {})), ""), WORDS)


def example(runs: Sequence[Run], at: int, rows: Sequence[Record]) -> Fields:
    """One example: the fields that all runs share, then each run's own row with the values of measures."""
    first = rows[0]
    own = []
    for run, row in zip(runs, rows, strict=True):
        answer = {key: row[key] for key in OWN if key in row}
        evidence = run.evidence[at].items()
        answer["values"] = {name: round(float(tally.value), 6) for name, tally in evidence if tally.weight > 0}
        if "calls" in row:
            answer["calls"] = [call | {"lm": model_name(call["lm"])} if "lm" in call else call for call in row["calls"]]
        own.append(answer)
    return {
        "id": str(first["id"]),
        "facets": {name: code(key, name) for name, key in facets(first).items()},
        "document": first.get("document"),
        "inputs": {key: value for key, value in first["inputs"].items() if key != "id"}
        if first.get("inputs")
        else None,
        "gold": {k: v for k, v in first["gold"].items() if k not in ELSEWHERE} if first.get("gold") else None,
        "runs": own,
    }


def brief(record: Record, error: str | None = None) -> str:
    """Gold or a prediction in a cell of the list of examples.

    >>> brief({"entities": [{"start": 0, "end": 5, "type": "TOP", "text": "Delft"}]}), brief({}, "timeout")
    ('Delft TOP', 'failed: timeout')
    """
    if error:
        return f"failed: {error}"[:BRIEF]
    fields = {name: value for name, value in record.items() if name not in ELSEWHERE}
    return _cut(_phrase(next((fields[name] for name in SHOWN if name in fields), fields)) or "(none)")


def _phrase(value: JSON) -> str:
    """A value in words; entities, links, triples and results only by the fields that tell them apart."""
    if isinstance(value, Mapping):
        if KEYS & value.keys():
            return " ".join(_phrase(value[name]) for name in NAMING if value.get(name))
        return "; ".join(f"{name}: {_phrase(inner)}" for name, inner in value.items() if inner not in (None, "", []))
    return "; ".join(map(_phrase, value)) if isinstance(value, (list, tuple)) else str(value)


def _cut(text: str, most: int = BRIEF) -> str:
    line = " ".join(text[: 4 * most].split())
    return line[:most] + ("…" if len(line) > most else "")


def words(rows: Sequence[Record]) -> str:
    """An example in lower case on one line: its id, inputs, gold, predictions and errors."""
    first = rows[0]
    texts = [str(first["id"]), *_strings(first.get("inputs")), *_strings(first.get("gold"))]
    for row in rows:
        texts += [*_strings(row.get("prediction")), str(row.get("error") or "")]
        texts += [str(error.get("message", "")) for error in row.get("errors", ())]
    return " ".join(" ".join(texts)[:LONGEST].split()).lower()


def _strings(value: JSON) -> list[str]:
    """All strings in a JSON value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _strings(inner)]
    return [text for inner in value for text in _strings(inner)] if isinstance(value, (list, tuple)) else []

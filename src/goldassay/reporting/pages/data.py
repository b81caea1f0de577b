"""The data behind a report: tables, worked out for its template, and its examples, packed for its script.

The tables are values, parts, confusions and error patterns. Of the examples an index holds, column by column, what a
list of them shows and what filters ask (id, scores, flags, types, strata, the first words). A chunk holds whole
examples, one JSON text a line; a text chunk their words in lower case, one line an example, for searching. So 100,000
examples open at once, and only what is on the screen is ever unpacked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from goldassay.jsonl import dumps
from goldassay.reporting.facts import ONE_SIDED, Facts, ReportedValue, shown_model, wrong
from goldassay.reporting.pages.document import packed
from goldassay.running.rows import facets
from goldassay.running.run import Run
from goldassay.tuning.patterns import find

MOST = 25  # rows of a table before the rest is folded
SIDE = 2  # runs whose parts are shown with several values each
LABELS = 24  # labels of a confusion matrix; with more, the largest confusions alone


def values(told: Sequence[Facts]) -> list[tuple[ReportedValue, list[ReportedValue | None]]]:
    """Each measure: what is said of it once, and its value in each run."""
    found = [{value.name: value for value in one.values} for one in told]
    names = dict.fromkeys(name for values in found for name in values)
    return [(next(v[name] for v in found if name in v), [v.get(name) for v in found]) for name in names]


class StratumKey(TypedDict):
    """A key of a stratum: its examples, and each run's values."""

    key: str
    n: int
    values: list[Mapping[str, float | None]]


def strata(told: Sequence[Facts]) -> dict[str, list[StratumKey]]:
    """For each stratum its keys, the largest first: examples, and each run's value of each measure.

    A stratum of one key says what the whole says, and is left out.
    """
    out: dict[str, dict[str, StratumKey]] = {}
    for place, one in enumerate(told):
        for stratum, keys in one.run.by_stratum.items():
            for key, values in keys.items():
                row = out.setdefault(stratum, {}).setdefault(key, {"key": key, "n": 0, "values": [{} for _ in told]})
                row["n"] = max(row["n"], int(values["examples"]))
                row["values"][place] = values
    return {stratum: sorted(rows.values(), key=lambda row: -row["n"]) for stratum, rows in out.items() if len(rows) > 1}


class FacetTable(TypedDict):
    """A facet as a table: the values shown, which of them is the support, and each key with every run's values."""

    columns: list[str]
    support: str
    keys: list[tuple[str, list[Mapping[str, float | None]]]]


def parts(told: Sequence[Facts]) -> dict[str, FacetTable]:
    """For each facet (type, label, property) its keys, by support: each run's values."""
    out: dict[str, FacetTable] = {}
    for facet in dict.fromkeys(facet for one in told for facet in one.by):
        keys: dict[str, list[Mapping[str, float | None]]] = {}
        for place, one in enumerate(told):
            for key, values in one.by.get(facet, {}).items():
                keys.setdefault(key, [{} for _ in told])[place] = values
        named = list(dict.fromkeys(name for rows in keys.values() for row in rows for name in row))
        support = next((name for name in ("support", "gold", "n") if name in named), "")
        shown = [name for name in named if name != support and not name.startswith(("semeval", "token", "type_"))]
        preferred: list[str] = [name for name in ("precision", "recall", "f1") if name in shown]
        strict = [name for name in shown if name.startswith("strict_")]
        keys = {key: rows for key, rows in keys.items() if any(value for row in rows for value in row.values())}
        ordered = sorted(keys.items(), key=lambda item: -max(float(row.get(support) or 0) for row in item[1]))
        columns = (preferred or strict or shown)[:4]
        if len(told) > SIDE:  # of many runs side by side the value that sums up the others
            columns = [name for name in columns if name.endswith("f1")][:1] or columns[:1]
        out[facet] = {"columns": columns, "support": support, "keys": ordered}
    return out


def matrix(one: Facts) -> dict[str, object]:
    """The confusion matrix by support, and the largest confusions."""
    if one.confusion is None:
        return {}
    found = {pair: float(count) for pair, count in one.confusion.items()}
    support: dict[str, float] = {}
    for (gold, said), count in found.items():
        support[gold] = support.get(gold, 0) + count
        support.setdefault(said, 0)
    ordered = sorted(support, key=lambda label: (label in ONE_SIDED, -support[label], label))
    columns = [label for label in ordered if any(said == label for _, said in found)]
    most = max(found.values())
    rows = [
        (
            gold,
            [(said, int(found.get((gold, said), 0)), _shade(found.get((gold, said), 0), most)) for said in columns],
        )
        for gold in ordered
        if support[gold]
    ]
    both = ((n, g, p) for (g, p), n in found.items() if g != p and not {g, p} & set(ONE_SIDED))
    wrong = sorted(both, key=lambda one: (-one[0], one[1], one[2]))
    return {
        "labels": columns,
        "spans": any(label in ONE_SIDED for label in ordered),
        "rows": rows if len(ordered) <= LABELS else [],
        "largest": [(gold, said, int(count)) for count, gold, said in wrong[:12]],
    }


def _shade(count: float, most: float) -> int:
    """How dark a cell is, from 0 to 5."""
    return 0 if not count else 1 + min(4, int(5 * (count / most) ** 0.5 - 1e-9))


def patterns(run: Run) -> list[dict[str, object]]:
    """Error patterns, the most costly first, with places to look at."""
    return [
        {
            "kind": one.kind,
            "types": " → ".join(part for part in (one.gold_type, one.pred_type) if part),
            "surfaces": list(dict.fromkeys(one.surfaces))[:5],
            "place": one.place,
            "count": one.count,
            "examples": list(one.documents),
            "loss": one.loss,
            "message": one.errors[0].message,
            "strata": {name: list(counts.items())[:3] for name, counts in one.strata.items()},
        }
        for one in find(run.cases)[:MOST]
    ]


CHUNK, TEXTS = 100, 2000  # examples in a chunk, and in a chunk of text
WORDS, LONGEST = 90, 20_000  # characters of an example in the list, and of one that are searched
OURS = ("id", "split", "language", "strata", "document")  # fields of gold that the page shows elsewhere


def packs(runs: Sequence[Run]) -> dict[str, str]:
    """Everything a page needs of the examples, by the id of its element; ``runs`` are on the same examples."""
    out = {"index-data": packed(json.dumps(index(runs), ensure_ascii=False, separators=(",", ":")))}
    n = len(runs[0].rows)
    for number, start in enumerate(range(0, n, CHUNK)):
        lines = [dumps(example(runs, at)) for at in range(start, min(n, start + CHUNK))]
        out[f"rows-{number}"] = packed("\n".join(lines))
    for number, start in enumerate(range(0, n, TEXTS)):
        stop = min(n, start + TEXTS)
        out[f"texts-{number}"] = packed("\n".join(words([run.rows[at] for run in runs]) for at in range(start, stop)))
    return out


def index(runs: Sequence[Run]) -> dict[str, object]:
    """What the list shows and filters ask, column by column."""
    first = runs[0].rows
    types = _Numbered()
    strata: dict[str, _Numbered] = {}
    columns: dict[str, list[int]] = {}
    for at, row in enumerate(first):
        for name, key in facets(row).items():
            if name not in columns:
                strata[name], columns[name] = _Numbered(), [-1] * at
            columns[name].append(strata[name][key])
        for column in columns.values():
            column.extend([-1] * (at + 1 - len(column)))
    return {
        "chunk": CHUNK,
        "texts": TEXTS,
        "ids": [str(row["id"]) for row in first],
        "words": [_first_words(row) for row in first],
        "scores": [[round(float(row["score"]), 4) for row in run.rows] for run in runs],
        "seconds": [[round(float(row.get("latency_s") or 0), 3) for row in run.rows] for run in runs],
        "tokens": [[_tokens(row) for row in run.rows] for run in runs],
        "failed": [[int(bool(row.get("error"))) for row in run.rows] for run in runs],
        "wrong": [[int(wrong(row)) for row in run.rows] for run in runs],
        "different": _different(runs),
        "types": [[types[kind] for kind in _types([run.rows[at] for run in runs])] for at in range(len(first))],
        "type_names": types.names,
        "strata": columns,
        "strata_names": {name: numbered.names for name, numbered in strata.items()},
    }


class _Numbered(dict[str, int]):
    """Names with numbers, in the order in which they were first asked for."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self)
        return self[name]

    @property
    def names(self) -> list[str]:
        return list(self)


def _tokens(row: Mapping[str, Any]) -> int:
    usage = row.get("usage") or {}
    return int(usage.get("prompt_tokens", 0)) + int(usage.get("completion_tokens", 0))


def _different(runs: Sequence[Run]) -> list[int]:
    """Whether the runs predicted different things, example by example."""
    if len(runs) < 2:
        return []
    return [
        int(len({dumps(run.rows[at].get("prediction", run.rows[at].get("error"))) for run in runs}) > 1)
        for at in range(len(runs[0].rows))
    ]


def _types(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The kinds of errors, the types and the labels of an example, in any run."""
    out: dict[str, None] = {}
    for row in rows:
        for error in row.get("errors", ()):
            out[str(error.get("kind"))] = None
            for side in ("gold_type", "pred_type"):
                if error.get(side):
                    out[str(error[side])] = None
    gold = rows[0].get("gold") or {}
    if isinstance(gold.get("label"), str):
        out[gold["label"]] = None
    for one in gold.get("entities") or ():
        if isinstance(one, Mapping) and one.get("type"):
            out[str(one["type"])] = None
    return list(out)


def _first_words(row: Mapping[str, Any]) -> str:
    inputs = {key: value for key, value in (row.get("inputs") or {}).items() if key != "id"}
    found = next((text for text in _strings(inputs or row.get("prediction") or {})), "")
    folded = " ".join(found[: 4 * WORDS].split())
    return folded[:WORDS] + ("…" if len(folded) > WORDS else "")


def example(runs: Sequence[Run], at: int) -> dict[str, object]:
    """One example: what is the same for all runs once, then each run's own."""
    first = runs[0].rows[at]
    gold = {key: value for key, value in first["gold"].items() if key not in OURS} if "gold" in first else None
    return {
        "id": str(first["id"]),
        "facets": facets(first),
        "document": first.get("document"),
        "inputs": {key: value for key, value in first["inputs"].items() if key != "id"} if "inputs" in first else None,
        "gold": gold,
        "runs": [_own(run, at) for run in runs],
    }


def _own(run: Run, at: int) -> dict[str, Any]:
    """What one run has of an example, with each measure's value where it has evidence."""
    row = run.rows[at]
    kept = ("score", "prediction", "errors", "error", "latency_s", "usage", "usd", "calls", "truncated", "retried")
    values = {name: round(float(tally.value), 6) for name, tally in run.evidence[at].items() if tally.weight > 0}
    own = {**{key: row[key] for key in kept if key in row}, "values": values}
    if "calls" in own:
        own["calls"] = [{**call, "lm": shown_model(call["lm"])} if "lm" in call else call for call in own["calls"]]
    return own


def words(rows: Sequence[Mapping[str, Any]]) -> str:
    """The words of an example in lower case on one line: its id, inputs, gold, predictions and errors."""
    first = rows[0]
    parts = [str(first["id"]), *_strings(first.get("inputs")), *_strings(first.get("gold"))]
    for row in rows:
        parts += [*_strings(row.get("prediction")), str(row.get("error") or "")]
        parts += [str(error.get("message", "")) for error in row.get("errors", ())]
    return " ".join(" ".join(parts)[:LONGEST].split()).lower()


def _strings(value: Any) -> Iterator[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _strings(inner)


MOMENT = re.compile(r"\d{8}-\d{6}")
"""When a run began, as the name of its folder says first."""


def labels(runs: Sequence[Run]) -> list[str]:
    """A name for each run, all different: its own, with its model and its folder (when it began) where that helps."""
    names = [run.name for run in runs]
    models = [str((run.about.get("settings") or {}).get("lm") or run.about.get("lm") or "no model") for run in runs]
    folders = [run.folder.name if run.folder else "" for run in runs]
    began = [found[0] if (found := MOMENT.match(one)) else "" for one in folders]
    models = [shown_model(one).rpartition("/")[2] for one in models]
    for extras, each in ((models, False), (began, True), (folders, False)):
        told = list(zip(names, extras, strict=True))
        names = []
        for name, extra in told:
            alike = [other for shared, other in told if shared == name]
            helps = all(alike) and len(set(alike)) > 1 and (len(set(alike)) == len(alike) or not each)
            names.append(f"{name}, {extra}" if helps else name)
    return [name if names.count(name) == 1 else f"{name} #{place}" for place, name in enumerate(names, start=1)]

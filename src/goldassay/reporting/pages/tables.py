"""The tables of a report, worked out for its template: values, parts, confusions, error patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.reporting.facts import Facts, Value
from goldassay.running.run import Run
from goldassay.tuning.patterns import find

MOST = 25  # rows of a table before the rest is folded
LABELS = 24  # labels of a confusion matrix; with more, the largest confusions alone


def values(told: Sequence[Facts]) -> list[tuple[Value, list[Value | None]]]:
    """Each measure: what is said of it once, and its value in each run."""
    found = [{value.name: value for value in one.values} for one in told]
    names = dict.fromkeys(name for values in found for name in values)
    return [(next(v[name] for v in found if name in v), [v.get(name) for v in found]) for name in names]


def facets(told: Sequence[Facts]) -> dict[str, list[dict[str, Any]]]:
    """For each stratum its keys, the largest first: examples, and each run's value of each measure."""
    out: dict[str, dict[str, dict[str, Any]]] = {}
    for place, one in enumerate(told):
        for stratum, keys in one.run.by_stratum.items():
            for key, values in keys.items():
                row = out.setdefault(stratum, {}).setdefault(key, {"key": key, "n": 0, "values": [{} for _ in told]})
                row["n"] = max(row["n"], int(values["examples"]))
                row["values"][place] = values
    return {stratum: sorted(rows.values(), key=lambda row: -row["n"]) for stratum, rows in out.items()}


def parts(told: Sequence[Facts]) -> dict[str, dict[str, Any]]:
    """For each facet (type, label, property) its keys, by support: each run's values."""
    out: dict[str, dict[str, Any]] = {}
    for facet in dict.fromkeys(facet for one in told for facet in one.by):
        keys: dict[str, list[Mapping[str, float | None]]] = {}
        for place, one in enumerate(told):
            for key, values in one.by.get(facet, {}).items():
                keys.setdefault(key, [{} for _ in told])[place] = values
        named = list(dict.fromkeys(name for rows in keys.values() for row in rows for name in row))
        support = next((name for name in ("support", "gold", "n") if name in named), "")
        shown = [name for name in named if name != support and not name.startswith(("semeval", "token", "type_"))]
        preferred = [name for name in ("precision", "recall", "f1") if name in shown]
        strict = [name for name in shown if name.startswith("strict_")]
        keys = {key: rows for key, rows in keys.items() if any(value for row in rows for value in row.values())}
        ordered = sorted(keys.items(), key=lambda item: -max(float(row.get(support) or 0) for row in item[1]))
        out[facet] = {"columns": (preferred or strict or shown)[:4], "support": support, "keys": ordered}
    return out


def matrix(one: Facts) -> dict[str, object]:
    """The confusion matrix by support, and the largest confusions."""
    found = one.confusion
    if found is None:
        return {}
    support: dict[str, float] = {}
    for (gold, said), count in found.items():
        support[gold] = support.get(gold, 0) + count
        support.setdefault(said, 0)
    ordered = sorted(support, key=lambda label: (-support[label], label))
    most = max(found.values())
    rows = [
        (gold, [(said, int(found.get((gold, said), 0)), _shade(found.get((gold, said), 0), most)) for said in ordered])
        for gold in ordered
        if support[gold]
    ]
    wrong = sorted(((n, g, p) for (g, p), n in found.items() if g != p), key=lambda one: (-one[0], one[1], one[2]))
    return {
        "labels": ordered,
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

"""`report`: runs, a tuning and judges as one HTML file to look at; the leftmost run is the baseline.

Runs on other gold than the first stand beside it with their values; what is told example by example, and paired
differences, are of the runs that share the first one's gold and conventions. The page says which were left out and why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay import __version__
from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting.facts import Facts, Value, calibration, facts, precision_recall
from goldassay.reporting.pages import charts
from goldassay.reporting.pages.document import page
from goldassay.reporting.pages.rows import packs
from goldassay.running.comparing import Against, compared, worked
from goldassay.running.run import Run
from goldassay.running.waterfall import Waterfall
from goldassay.statistics import Comparison, compare
from goldassay.tuning.patterns import find

if TYPE_CHECKING:
    from goldassay.reporting.ranking import Ranked

MOST = 25  # rows of a table before the rest is folded
LABELS = 24  # labels of a confusion matrix; with more, the largest confusions alone


@dataclass(frozen=True)
class Tuning:
    """A tuning on disk: what ``tuning.json`` says, its patches, the diff of the prompt."""

    about: Mapping[str, Any]
    patches: Sequence[Mapping[str, Any]] = ()
    diff: str = ""
    folder: Path | None = None

    @classmethod
    def load(cls, folder: Path) -> Tuning:
        """A tuning from its folder."""
        from goldassay.tuning.patches import read
        from goldassay.tuning.saved import read_about

        about = read_about(folder / "tuning.json")
        files = sorted((folder / "patches").glob("*.yaml"))
        found = [(one, {"id": one.id, "edit": one.edit, **one.model_dump()}) for one in map(read, files)]
        diff = folder / "prompt.diff"
        text = diff.read_text(encoding="utf-8") if diff.is_file() else ""
        order = {entry["id"]: place for place, entry in enumerate(about.get("patches", ()))}
        shown = sorted((state for _, state in found), key=lambda state: order.get(state["id"], len(order)))
        return cls(about, shown, text, folder)

    @property
    def runs(self) -> list[Path]:
        """The folders of its runs before and after, on test where there is one, else on dev."""
        part = self.about.get("test") or self.about.get("dev") or {}
        places = [self.folder / name for name in part.get("runs", ())] if self.folder else []
        return [place for place in places if (place / "run.json").is_file()]


@dataclass
class Sources:
    """What a report is made of."""

    runs: list[Run] = field(default_factory=list)
    tuning: Tuning | None = None
    judges: list[Mapping[str, Any]] = field(default_factory=list)


def sources(places: Sequence[Path], judges: Sequence[Path] = ()) -> Sources:
    """Run folders, a tuning's folder, and files of ``goldassay judge align --json``."""
    out = Sources()
    for place in places:
        if (place / "tuning.json").is_file():
            if out.tuning is not None:
                raise GoldassayError(f"{place}: a report shows one tuning; it has {out.tuning.folder} already")
            out.tuning = Tuning.load(place)
            out.runs += [Run.load(folder) for folder in out.tuning.runs]
        else:
            out.runs.append(Run.load(place))
    for file in judges:
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except OSError:
            raise GoldassayError(f"no file {file}; write it with goldassay judge align … --json > {file}") from None
        except ValueError:
            raise DataError("not JSON; write it with goldassay judge align … --json", file=file) from None
        if not isinstance(found, dict) or "judge" not in found:
            raise DataError("not the output of goldassay judge align --json", file=file)
        out.judges.append(found)
    if not (out.runs or out.tuning or out.judges):
        raise GoldassayError("a report needs a run folder, a tuning's folder or --judge FILE")
    return out


def report(
    runs: Sequence[Run],
    *,
    tuning: Tuning | None = None,
    judges: Sequence[Mapping[str, Any]] = (),
    ranked: Sequence[Ranked] = (),
    title: str | None = None,
    seed: int = 0,
) -> str:
    """The page as HTML text; write it to a file and open that.

    Args:
        runs: one or more; all are compared with the first.
        tuning: what a tuning tried, and what it accepted.
        judges: what ``judge align --json`` said of judges.
        ranked: the same runs as `goldassay.reporting.ranking.rank` ordered them.
        title: of the page; by default the names of the runs.
        seed: of the paired tests.
    """
    usable = [run for run in runs if run.rows]
    empty = [f"{labels(runs)[place]} has no rows yet" for place, run in enumerate(runs) if not run.rows]
    names = labels(usable)
    told = [facts(run) for run in usable]
    together, against, apart = _together(usable, names, seed)
    figures: list[charts.Figure] = []
    context: dict[str, Any] = {
        "title": title or " and ".join(dict.fromkeys(run.name for run in usable[:3])) or "tuning",
        "version": __version__,
        "runs": told,
        "names": names,
        "measures": list(dict.fromkeys(value.name for one in told for value in one.values)),
        "values": _values(told),
        "against": against,
        "notes": [*empty, *apart, *_notes(usable, names)],
        "facets": _facets(told),
        "parts": _parts(told),
        "confusions": [(name, _matrix(one)) for name, one in zip(names, told, strict=True) if one.confusion],
        "patterns": [(name, _patterns(one.run)) for name, one in zip(names, told, strict=True)],
        "tuning": tuning,
        "tree": _tree(tuning) if tuning else [],
        "judges": judges,
        "together": [names[usable.index(run)] for run in together],
        "traced": any("inputs" in run.rows[0] for run in together),
        "curves": [],
        "forest": None,
        "seconds": None,
        "tuning_chart": None,
        "ranked": ranked,
        "pareto": [],
    }
    if ranked:
        for number, what in enumerate(("cost", "seconds")):
            points = [
                (one.name, spent, one.value.value, one.on_front[number])
                for one in ranked
                if (spent := one.cost if what == "cost" else one.seconds) is not None
            ]
            if any(cost for _, cost, _, _ in points):
                context["pareto"].append(_add(figures, charts.pareto(points, what)))
    if told:
        context["forest"] = _add(figures, _forest(told, names))
        context["curves"] = [_add(figures, figure) for figure in _curves(told, names)]
        context["seconds"] = _add(
            figures,
            charts.seconds(
                [
                    (name, _spread([float(row.get("latency_s") or 0) for row in one.run.rows]))
                    for name, one in zip(names, told, strict=True)
                ]
            ),
        )
    if context["tree"]:
        context["tuning_chart"] = _add(figures, _effects(context["tree"]))
    data = packs(together) if together else {}
    return page("report.html", context, scripts=["render.js", "examples.js"], charts=figures, data=data)


def labels(runs: Sequence[Run]) -> list[str]:
    """A name for each run, all different: its own, with its model and its folder where that tells them apart."""
    names = [run.name for run in runs]
    models = [str(run.about.get("lm") or "no model").rpartition("/")[2] for run in runs]
    folders = [run.folder.name if run.folder else "" for run in runs]
    for extras in (models, folders):
        names = [
            f"{name}, {extra}" if names.count(name) > 1 and extra else name
            for name, extra in zip(names, extras, strict=True)
        ]
    return [name if names.count(name) == 1 else f"{name} #{place}" for place, name in enumerate(names, start=1)]


def _add(figures: list[charts.Figure], figure: charts.Figure) -> int:
    figures.append(figure)
    return len(figures) - 1


@dataclass(frozen=True)
class Difference:
    """A run against the baseline: by the metric, and by each measure."""

    name: str
    metric: Comparison
    won: int
    lost: int
    measures: Sequence[Against]


def _together(runs: Sequence[Run], names: Sequence[str], seed: int) -> tuple[list[Run], list[Difference], list[str]]:
    """The runs that share the first one's examples, their differences from it, and why others are left out."""
    if not runs:
        return [], [], []
    together, apart, found = [runs[0]], [], []
    for run, name in zip(runs[1:], names[1:], strict=True):
        if not worked(run):
            apart.append(f"{name} failed on every example: it is not available, and no loss by 0.")
            continue
        try:
            measures = compared([runs[0], run], seed=seed)
        except GoldassayError as error:
            apart.append(f"{name} is not compared example by example: {error}")
            continue
        together.append(run)
        documents = [row.get("document", row["index"]) for row in run.rows]
        drawn = documents if len(set(documents)) < len(documents) else None
        same = list(run.zero) == list(runs[0].zero)
        metric = compare(
            run.evidence if same else [row["score"] for row in run.rows],
            runs[0].evidence if same else [row["score"] for row in runs[0].rows],
            run.zero if same else None,
            clusters=drawn,
            seed=seed,
        )
        gaps = [float(b["score"]) - float(a["score"]) for a, b in zip(runs[0].rows, run.rows, strict=True)]
        won, lost = sum(gap > 1e-9 for gap in gaps), sum(gap < -1e-9 for gap in gaps)
        found.append(Difference(name, metric, won, lost, measures))
    return together, found, apart


def _notes(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    """What a reader has to know before believing a number."""
    out = []
    for run, name in zip(runs, names, strict=True):
        failed = sum(1 for row in run.rows if row.get("error"))
        if run.about.get("status") != "finished":
            out.append(
                f"{name} is {run.about.get('status', 'unfinished')}: {len(run.rows)} of "
                f"{run.about.get('gold', {}).get('examples', '?')} examples."
            )
        if failed:
            out.append(f"{name}: {failed} of {len(run.rows)} examples failed; their gold counts as missed.")
        if run.rows and "inputs" not in run.rows[0]:
            out.append(f"{name} was made without trace, so its inputs and gold are not shown.")
    return out


def _values(told: Sequence[Facts]) -> list[tuple[Value, list[Value | None]]]:
    """Each measure: what is said of it once, and its value in each run."""
    found = [{value.name: value for value in one.values} for one in told]
    names = dict.fromkeys(name for values in found for name in values)
    return [(next(v[name] for v in found if name in v), [v.get(name) for v in found]) for name in names]


def _forest(told: Sequence[Facts], names: Sequence[str]) -> charts.Figure:
    measures = ["metric", *dict.fromkeys(value.name for one in told for value in one.values)]
    table = []
    for one in told:
        found = {value.name: value for value in (one.overall, *one.values)}
        table.append([_ends(found.get(name)) for name in measures])
    return charts.forest(measures, names, table)


def _ends(value: Value | None) -> tuple[float, float, float] | None:
    if value is None or value.interval is None:
        return None
    return value.value, value.interval.low, value.interval.high


def _curves(told: Sequence[Facts], names: Sequence[str]) -> list[charts.Figure]:
    some = [(name, one) for name, one in zip(names, told, strict=True) if one.confidences]
    if not some:
        return []
    return [
        charts.calibration([(name, calibration(one.confidences)) for name, one in some]),
        charts.precision_recall([(name, precision_recall(one.confidences, one.positives)) for name, one in some]),
    ]


def _spread(values: Sequence[float], most: int = 400) -> list[float]:
    """So many numbers at most, spread like the whole: what a box needs."""
    ordered = sorted(values)
    if len(ordered) <= most:
        return ordered
    return [ordered[place * (len(ordered) - 1) // (most - 1)] for place in range(most)]


def _facets(told: Sequence[Facts]) -> dict[str, list[dict[str, Any]]]:
    """For each stratum its keys, the largest first: examples, and each run's value of each measure."""
    out: dict[str, dict[str, dict[str, Any]]] = {}
    for place, one in enumerate(told):
        for stratum, keys in one.run.by_stratum.items():
            for key, values in keys.items():
                row = out.setdefault(stratum, {}).setdefault(key, {"key": key, "n": 0, "values": [{} for _ in told]})
                row["n"] = max(row["n"], int(values["examples"]))
                row["values"][place] = values
    return {stratum: sorted(rows.values(), key=lambda row: -row["n"]) for stratum, rows in out.items()}


def _parts(told: Sequence[Facts]) -> dict[str, dict[str, Any]]:
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


def _matrix(one: Facts) -> dict[str, Any]:
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


def _patterns(run: Run) -> list[dict[str, Any]]:
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


def _tree(tuning: Tuning) -> list[dict[str, Any]]:
    """Candidates in the order in which they were tried, by round where they name one, with their last effect."""
    out = []
    for patch in tuning.patches:
        effects = patch.get("effects") or []
        out.append({**patch, "effect": effects[-1] if effects else None, "others": effects[:-1]})
    return out


def _effects(tree: Sequence[Mapping[str, Any]]) -> charts.Figure:
    """Each candidate's effect with its interval."""
    some = [one for one in tree if one["effect"]]
    rows = [[float(one["effect"][key]) for key in ("difference", "low", "high")] for one in some]
    figure = charts.forest([str(one["id"]) for one in some], ["effect"], [rows])
    figure["label"] = "Effects of candidates with their intervals"
    figure["layout"]["xaxis"] = {"title": "difference of the metric, with its interval", "zeroline": True}
    return figure


def waterfall(found: Waterfall, title: str) -> str:
    """The page of a pipeline's waterfall."""
    rest = found.rest
    figure = charts.waterfall(
        [*(one.stage for one in found.shares), "rest"],
        [*(one.cost for one in found.shares), rest],
        [*(one.low for one in found.shares), rest],
        [*(one.high for one in found.shares), rest],
    )
    context = {"title": f"What each stage costs: {title}", "version": __version__, "found": found}
    return page("waterfall.html", context, charts=[figure])

"""Replays of the HIPE scorer: its unit data, its counts on damaged system files, and the HIPE-2022 campaign.

`run` replays the unit data: NERC in every column, NEL with adjacent NIL mentions joined and apart. Every figure of the
reference files is compared, but for averages in three files, which were filled in by hand and which the scorer's own
tests do not compare (they leave out what has "macro" in its name there). `figures` are the scorer's names and averages
from our counts by document.

`damaged` replays the HIPE-2022 scorer's counts on 14 system files, entities and links, strict and fuzzy. The files were
made from gold by what real submissions do to it: forms written otherwise, tags in capitals, all documents as one,
mentions split, cut, mistyped and invented, links that change inside a mention. ``expected.json`` beside them holds, for
each, the gold file and the official TP, FP and FN.

`campaign` replays folders of gold, of system files and of official results. An official file is ``SYSTEM_TASK.tsv`` or
``.json``, with SYSTEM = ``TEAM_bundleN_DATASET_LANGUAGE_RUN`` and TASK one of ``nerc_coarse``, ``nerc_fine``, ``nel``
and ``nel_relaxed``. Its system file is ``SYSTEM.tsv``; its gold file's name ends with ``DATASET-test-LANGUAGE.tsv``.
The relaxed results are made with normalised links: gold ``…_histonorm.tsv``, and the system file in a folder with
``histo`` in its name. What has no files here is noted and not counted.

Source: https://github.com/hipe-eval/HIPE-scorer, hipe_evaluation/tests/data; https://github.com/hipe-eval/HIPE-2022-eval
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from tests.conformance.official import SuiteResult

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold import pairs
from goldassay.measures import extraction, linking
from goldassay.measures.extraction.matching import SCHEMAS, Outcome, SemEvalCounts, decisions, hipe_types
from goldassay.measures.linking.matching import Matching
from goldassay.measures.linking.records import sides

SCHEMES = {"strict": "strict", "exact": "exact", "partial": "partial", "ent_type": "type"}
COUNTS = ("correct", "incorrect", "partial", "missed", "spurious", "possible", "actual")
Figures = dict[str, float | None]
Documents = Sequence[Mapping[str, Mapping[str, SemEvalCounts]]]


def figures(documents: Documents) -> dict[str, dict[str, Figures]]:
    """By label (``ALL`` for all) and scheme, every figure that the scorer prints.

    ``documents`` hold the counts of each by label and scheme. Averages by document leave out documents in which nothing
    was predicted (P), nothing was to find (R), or either (F1); without any they are None.
    """
    labels = dict.fromkeys(label for document in documents for label in document)
    out: dict[str, dict[str, Figures]] = {}
    for label in labels:
        of_label = out.setdefault(label.upper(), {})
        for theirs, ours in SCHEMES.items():
            of_label[theirs] = _one([document[label][ours] for document in documents if label in document])
    for theirs in SCHEMES:
        out.setdefault("ALL", {}).setdefault(theirs, _one([]))
        types = [schemes[theirs] for label, schemes in out.items() if label != "ALL"]
        out["ALL"][theirs] |= _by_type(types)
    return out


def _one(each: Sequence[SemEvalCounts]) -> Figures:
    total = sum(each, SemEvalCounts(0, 0, 0, 0, 0))
    figures: Figures = {name: getattr(total, name) for name in COUNTS}
    right = float(total.correct)
    figures |= {"TP": right, "FP": float(total.actual) - right, "FN": float(total.possible) - right}
    figures |= {"P_micro": float(total.counts.precision), "R_micro": float(total.counts.recall)}
    figures["F1_micro"] = float(total.value) if total.weight else 0.0
    lists = {
        "P": [float(document.counts.precision) for document in each if document.actual],
        "R": [float(document.counts.recall) for document in each if document.possible],
        "F1": [float(document.value) for document in each if document.actual and document.possible],
    }
    for rate, values in lists.items():
        figures[f"{rate}_macro_doc"] = float(np.mean(values)) if values else None
        figures[f"{rate}_macro_doc_std"] = float(np.std(values)) if values else None
    return figures


def _by_type(types: Sequence[Figures]) -> Figures:
    """The averages over labels."""
    figures: Figures = {}
    for rate in ("P", "R", "F1"):
        figures[f"{rate}_macro"] = (
            sum(of_type[f"{rate}_micro"] or 0.0 for of_type in types) / len(types) if types else None
        )
    precision, recall = figures["P_macro"] or 0.0, figures["R_macro"] or 0.0
    harmonic = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {**figures, "F1_macro (recomputed from P & R)": harmonic}


def number(raw: str | float | None) -> float | None:
    """An official cell or value; None where there is none."""
    if raw in (None, ""):
        return None
    value = float(raw)
    return None if math.isnan(value) else value


NAME = "hipe-scorer"
WITHIN = 1e-7  # some references give eight places


@dataclass(frozen=True)
class Reference:
    """Gold, system and reference of one case; for links how adjacent NIL are read and how many candidates count."""

    gold: str
    system: str
    reference: str
    column: str
    adjacent: str = ""
    k: int = 1
    by_hand: bool = False


BUNDLE = ("true_bundle3_de_2020", "pred_bundle3_de_2020")
CASES = (
    Reference("ner-1-true", "ner-1-pred", "unittest-ner-1-pred.tsv.ner-coarse-lit_ref_results", "NE-COARSE-LIT"),
    Reference("ner-2-true", "ner-2-pred", "unittest-ner-2-pred.tsv.coarse-lit_ref_results", "NE-COARSE-LIT"),
    Reference("ner-2-true", "ner-2-pred", "unittest-ner-2-pred.tsv.fine-lit_ref_results", "NE-FINE-LIT"),
    Reference("ner-2-true", "ner-2-pred", "unittest-ner-2-pred.tsv.nested_ref_results", "NE-NESTED", by_hand=True),
    Reference(
        "ner-2-IOBES-true",
        "ner-2-IOBES-pred",
        "unittest-ner-2-IOBES-pred.tsv.coarse-lit_ref_results",
        "NE-COARSE-LIT",
    ),
    *(
        Reference(
            f"ner-lit-coarse-{number}-true",
            f"ner-lit-coarse-{number}-pred",
            f"unittest-ner-lit-coarse-{number}-pred.tsv.ref_results",
            "NE-COARSE-LIT",
            by_hand=True,
        )
        for number in (3, 4)
    ),
    Reference(*BUNDLE, "unittest-pred_bundle3_de_2020.ref_results_nerc_fine", "NE-FINE-LIT"),
    Reference(*BUNDLE, "ref_results_nerc_fine_all", "NE-FINE-LIT"),
    Reference("nel-1-true", "nel-1-pred", "unittest-nel-1-pred.tsv.ref_results", "NEL-LIT", "nil"),
    *(
        Reference("nel-2-true", "nel-2-pred", f"unittest-nel-2-pred.{middle}{reading}_ref_results", "NEL-LIT", adjacent)
        for reading, adjacent in (("concatNIL", "none"), ("separatedNIL", "nil"))
        for middle in ("", "tsv.")
    ),
    Reference(*BUNDLE, "unittest-pred_bundle3_de_2020.ref_results_nel", "NEL-LIT", "nil", k=3),
    Reference(*BUNDLE, "ref_results_nel_all", "NEL-LIT", "nil", k=3),
)


def run(data: Path) -> SuiteResult:
    """Every case."""
    result = SuiteResult(NAME)
    for case in CASES:
        folder = data / NAME
        ours = figures(_documents(folder, case))
        official = json.loads((folder / f"{case.reference}.json").read_text(encoding="utf-8"))
        for label, schemes in official.items():
            for scheme, values in schemes.items():
                for name, raw in values.items():
                    if not (case.by_hand and "macro" in name):
                        what = f"{case.reference} {label} {scheme} {name}"
                        result.maybe(what, number(raw), ours.get(label, {}).get(scheme, {}).get(name), WITHIN)
    return result


def _documents(folder: Path, case: Reference) -> Documents:
    """The counts of each document, by label and scheme."""
    files = [folder / f"unittest-{name}.tsv" for name in (case.gold, case.system)]
    if case.column.startswith("NEL"):
        both = pairs("linking", *files, format="hipe", column=case.column, adjacent=case.adjacent)
        read = [linking.sides(gold, pred) for gold, pred in zip(both.gold, both.pred, strict=True)]
        return [schemes(Matching(pair).outcomes(case.k)) for pair in read]
    both = pairs("extraction", *files, format="hipe", column=case.column)
    return counted(both.gold, both.pred)


def counted(gold: Sequence[object], pred: Sequence[object]) -> Documents:
    """The counts of entities by document, in the official order."""
    read = [extraction.sides(document, other)[:2] for document, other in zip(gold, pred, strict=True)]
    types = hipe_types([wanted for wanted, _ in read])
    return [
        schemes(decisions(wanted, [span for span in predicted if span.type.casefold() in types]))
        for wanted, predicted in read
    ]


def schemes(outcomes: Sequence[tuple[str, Outcome]]) -> dict[str, dict[str, SemEvalCounts]]:
    """SemEval's counts of one document by label and scheme."""
    labels = ["ALL", *dict.fromkeys(kind for kind, _ in outcomes)]
    parts = range(5)
    return {
        label: {
            scheme: SemEvalCounts(
                *(sum(o[at] == part for kind, o in outcomes if label in ("ALL", kind)) for part in parts)
            )
            for at, scheme in enumerate(SCHEMAS)
        }
        for label in labels
    }


DAMAGED = "hipe-official"
PARTS = {
    "nerc": ("extraction", {"strict": "strict", "fuzzy": "partial"}),
    "nel": ("linking", {"strict": "strong_link", "fuzzy": "link"}),
}
"""By name there: the task, and what we call the two counts."""


def damaged(data: Path) -> SuiteResult:
    """Every damaged system file, both tasks: TP, FP and FN together are one number each."""
    result = SuiteResult(DAMAGED)
    expected = json.loads((data / DAMAGED / "expected.json").read_text(encoding="utf-8"))
    for system, official in expected.items():
        for part, (task, names) in PARTS.items():
            both = pairs(task, data / official["gold"], data / DAMAGED / system, format="hipe", protocol="hipe")
            scorecard: Any = import_module(f"goldassay.measures.{task}").scorecard
            counts = scorecard(both.gold, both.pred, protocol="hipe").counts
            for theirs, ours in names.items():
                result.add(f"{system} {part} {theirs} TP FP FN", official[part][theirs], [*counts[ours].values()])
    return result


CAMPAIGN = "hipe2022"
OFFICIAL = re.compile(
    r"(?P<system>.+_bundle\d+_(?P<dataset>[a-z0-9]+)_(?P<language>[a-z]{2})_\d+)_"
    r"(?P<task>nerc_coarse|nerc_fine|nel)(?P<relaxed>_relaxed)?\.(?P<form>tsv|json)"
)
EVALUATION = re.compile(
    r"(?P<column>NE-NESTED|(?:NE|NEL)-[A-Z-]*?(?:LIT|METO|COMP))-(?P<average>micro|macro_doc)-(?P<regime>fuzzy|strict)"
    r"(?:-relaxed)?-TIME-ALL-LED-ALL(?:-@(?P<k>\d+))?"
)
REGIMES = {"fuzzy": "ent_type", "strict": "strict"}
RATES = ("P", "R", "F1")


@dataclass
class Replay:
    """The figures of one system file against its gold, by column and number of candidates that count."""

    gold: Path
    system: Path
    figures_by_file: dict[tuple[str, int], dict[str, dict[str, Figures]]] = field(default_factory=dict)

    def figures(self, column: str, k: int = 1) -> dict[str, dict[str, Figures]]:
        """By label and scheme."""
        if (column, k) not in self.figures_by_file:
            self.figures_by_file[column, k] = figures(
                self._linked(column, k) if "NEL" in column else self._entities(column)
            )
        return self.figures_by_file[column, k]

    def _entities(self, column: str) -> Any:
        both = pairs("extraction", self.gold, self.system, format="hipe", column=column, protocol="hipe")
        return counted(both.gold, both.pred)

    def _linked(self, column: str, k: int) -> Any:
        both = pairs("linking", self.gold, self.system, format="hipe", column=column, protocol="hipe")
        read = [sides(gold, pred) for gold, pred in zip(both.gold, both.pred, strict=True)]
        return [schemes(Matching(pair).outcomes(k)) for pair in read]


def campaign(data: Path) -> SuiteResult:
    """Every official number whose gold and system file are there: ``hipe2022/gold``, ``systems`` and ``official``."""
    gold, systems, official = (data / CAMPAIGN / part for part in ("gold", "systems", "official"))
    for folder in (gold, systems, official):
        if not folder.is_dir():
            raise GoldassayError(f"{folder}: no such folder")
    files = sorted((path, match) for path in official.rglob("*") if (match := OFFICIAL.fullmatch(path.name)))
    if not files:
        raise GoldassayError(
            f"{official} has no official results (TEAM_bundleN_DATASET_LANGUAGE_RUN_TASK.tsv or .json)"
        )
    result, replays = SuiteResult(CAMPAIGN), dict[tuple[Path, Path], Replay]()
    for path, match in files:
        relaxed = bool(match["relaxed"])
        places = _gold(gold, match, relaxed), _system(systems, match["system"], relaxed)
        if places[0] is None or places[1] is None:
            missing = "gold" if places[0] is None else "system file"
            result.note(f"{path.name}: not replayed, its {missing} is not there")
            continue
        replay = replays.setdefault((places[0], places[1]), Replay(places[0], places[1]))
        (_table if match["form"] == "tsv" else _tree)(result, path, replay)
    return result


def _gold(folder: Path, found: re.Match[str], relaxed: bool) -> Path | None:
    end = f"{found['dataset']}-test-{found['language']}{'_histonorm' if relaxed else ''}.tsv"
    return next((path for path in sorted(folder.rglob("*.tsv")) if f"-{path.name}".endswith(f"-{end}")), None)


def _system(folder: Path, name: str, relaxed: bool) -> Path | None:
    places = sorted(folder.rglob(f"{name}.tsv"))
    normal = [path for path in places if "norm" in str(path.relative_to(folder).parent)]
    plain = [path for path in places if path not in normal]
    if relaxed:
        return next((path for path in normal if "histo" in str(path.relative_to(folder).parent)), None)
    return plain[0] if plain else None


def _table(result: SuiteResult, path: Path, replay: Replay) -> None:
    """The figures of a ``.tsv``, rounded to three places."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    for line, cells in enumerate(rows[1:], start=2):
        row = dict(zip(rows[0], cells, strict=False))
        if not {"Evaluation", "Label"} <= set(row):
            raise DataError("no columns Evaluation and Label", file=path, line=line)
        match = EVALUATION.fullmatch(row["Evaluation"])
        if match is None:
            result.note(f"{path.name}:{line}: not replayed, {row['Evaluation']} is for a part of the data")
            continue
        ours = replay.figures(match["column"], int(match["k"] or 1)).get(row["Label"], {})
        scheme = ours.get(REGIMES[match["regime"]], {})
        for column, name in _cells(match["average"]):
            value = scheme.get(name)
            rounded = None if value is None else round(value, 3)
            what = f"{path.stem} {row['Evaluation']} {row['Label']} {column}"
            result.maybe(what, number(row.get(column)), rounded, 1e-9)


def _cells(average: str) -> Iterator[tuple[str, str]]:
    """The columns of a row and the figures that they hold."""
    yield from ((rate, f"{rate}_{average}") for rate in RATES)
    if average == "micro":
        yield from ((count, count) for count in ("TP", "FP", "FN"))
    else:
        yield from ((f"{rate}_std", f"{rate}_{average}_std") for rate in RATES)


def _tree(result: SuiteResult, path: Path, replay: Replay) -> None:
    """The figures of a ``.json``, in full."""
    content = json.loads(path.read_text(encoding="utf-8"))
    by_k = {int(key): value for key, value in content.items()} if all(map(str.isdigit, content)) else {1: content}
    for k, columns in by_k.items():
        for column, times in columns.items():
            official = times.get("TIME-ALL", {}).get("LED-ALL", {})
            ours = replay.figures(column, k) if official else {}
            for label, schemes in official.items():
                for scheme, values in schemes.items():
                    for name, raw in values.items():
                        what = f"{path.stem} {column} @{k} {label} {scheme} {name}"
                        result.maybe(what, number(raw), ours.get(label, {}).get(scheme, {}).get(name), 1e-9)

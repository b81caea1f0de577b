"""Replay of the HIPE-2022 campaign: folders of gold, of system files and of official results.

An official file is ``SYSTEM_TASK.tsv`` or ``.json``, with SYSTEM = ``TEAM_bundleN_DATASET_LANGUAGE_RUN`` and TASK one
of ``nerc_coarse``, ``nerc_fine``, ``nel`` and ``nel_relaxed``. Its system file is ``SYSTEM.tsv``; its gold file's name
ends with ``DATASET-test-LANGUAGE.tsv``. The relaxed results are made with normalised links: gold ``…_histonorm.tsv``,
and the system file in a folder with ``histo`` in its name. What has no files here is noted and not counted.

Both sides are read and counted under the protocol ``hipe``.

Source: https://github.com/hipe-eval/HIPE-2022-eval
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import pairs
from goldassay.measures.linking.hipe import fates
from goldassay.measures.linking.hipe import hipe as links
from goldassay.measures.linking.records import sides
from goldassay.proof.conform.hipe import Figures, counted, figures, number
from goldassay.proof.conform.suite import SuiteResult

NAME = "hipe2022"
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
    known: dict[tuple[str, int], dict[str, dict[str, Figures]]] = field(default_factory=dict)

    def figures(self, column: str, k: int = 1) -> dict[str, dict[str, Figures]]:
        """By label and scheme."""
        if (column, k) not in self.known:
            self.known[column, k] = figures(self._linked(column, k) if "NEL" in column else self._entities(column))
        return self.known[column, k]

    def _entities(self, column: str) -> Any:
        both = pairs("extraction", self.gold, self.system, format="hipe", column=column, protocol="hipe")
        return counted(both.gold, both.pred)

    def _linked(self, column: str, k: int) -> Any:
        both = pairs("linking", self.gold, self.system, format="hipe", column=column, protocol="hipe")
        read = [sides(gold, pred) for gold, pred in zip(both.gold, both.pred, strict=True)]
        return [links(fates(one.gold, one.pred, k)) for one in read]


def run(data: Path) -> SuiteResult:
    """Every official number whose gold and system file are there: ``hipe2022/gold``, ``systems`` and ``official``."""
    gold, systems, official = (data / NAME / part for part in ("gold", "systems", "official"))
    for folder in (gold, systems, official):
        if not folder.is_dir():
            raise GoldassayError(f"{folder}: no such folder")
    files = sorted((path, found) for path in official.rglob("*") if (found := OFFICIAL.fullmatch(path.name)))
    if not files:
        raise GoldassayError(
            f"{official} has no official results (TEAM_bundleN_DATASET_LANGUAGE_RUN_TASK.tsv or .json)"
        )
    result, replays = SuiteResult(NAME), dict[tuple[Path, Path], Replay]()
    for path, found in files:
        relaxed = bool(found["relaxed"])
        places = _gold(gold, found, relaxed), _system(systems, found["system"], relaxed)
        if places[0] is None or places[1] is None:
            missing = "gold" if places[0] is None else "system file"
            result.note(f"{path.name}: not replayed, its {missing} is not there")
            continue
        replay = replays.setdefault((places[0], places[1]), Replay(places[0], places[1]))
        (_table if found["form"] == "tsv" else _tree)(result, path, replay)
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
        found = EVALUATION.fullmatch(row["Evaluation"])
        if found is None:
            result.note(f"{path.name}:{line}: not replayed, {row['Evaluation']} is for a part of the data")
            continue
        ours = replay.figures(found["column"], int(found["k"] or 1)).get(row["Label"], {})
        scheme = ours.get(REGIMES[found["regime"]], {})
        for column, name in _cells(found["average"]):
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

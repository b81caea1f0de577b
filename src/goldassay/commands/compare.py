"""``goldassay compare``: runs on the same gold, side by side, with paired tests corrected for their number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldassay.exceptions import ConventionError, GoldassayError
from goldassay.running import Run
from goldassay.statistics import Comparison, compare, holm


@dataclass(frozen=True)
class Against:
    """One run against the first one, by one measure; ``p`` of the comparison is as tested, ``corrected`` after Holm."""

    run: Run
    measure: str
    found: Comparison
    corrected: float
    won: tuple[str, ...]
    lost: tuple[str, ...]

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "run": str(self.run.folder),
            "measure": self.measure,
            **self.found.state(),
            "corrected_p": self.corrected,
            "won": list(self.won),
            "lost": list(self.lost),
        }


def run(folders: Sequence[Path], *, test: str = "permutation", seed: int = 0, as_json: bool = False) -> None:
    """Compare and print."""
    from goldassay.reporting import runs as tables

    if len(folders) < 2:
        raise GoldassayError("compare needs two runs or more")
    runs = [Run.load(folder) for folder in folders]
    usable, missing = _usable(runs)
    found = compared(usable, test=test, seed=seed) if len(usable) > 1 else []
    if as_json:
        body = {
            "runs": [made.summary() for made in runs],
            "comparisons": [one.state() for one in found],
            "by": by_stratum(runs),
            "errors": errors_by_type(runs),
            "not_available": missing,
        }
        print(json.dumps(body, ensure_ascii=False))
        return
    tables.comparison(runs, found, missing)
    tables.parts(by_stratum(runs), errors_by_type(runs), next(iter(runs[0].values), ""))


def _usable(runs: list[Run]) -> tuple[list[Run], list[str]]:
    """Runs whose program worked at all; an arm that failed everywhere is not available, never a loss by 0."""
    failed = [made for made in runs if not made.rows or all(row.get("error") for row in made.rows)]
    return [made for made in runs if made not in failed], [str(made.folder) for made in failed]


def compared(runs: Sequence[Run], *, test: str = "permutation", seed: int = 0) -> list[Against]:
    """Every run against the first one by every measure; refuses other gold and other conventions."""
    first = runs[0]
    for other in runs[1:]:
        _alike(first, other)
    pairs = [(other, name) for other in runs[1:] for name in first.values if name in other.values]
    tests = [
        compare(other.tallies(name), first.tallies(name), first.zero[name], test=test, seed=seed)
        for other, name in pairs
    ]
    corrected = holm([found.p for found in tests])
    out = []
    for (other, name), found, p in zip(pairs, tests, corrected, strict=True):
        gaps = [
            (str(row["id"]), float(b.value) - float(a.value))
            for row, a, b in zip(first.rows, first.tallies(name), other.tallies(name), strict=True)
        ]
        won = tuple(key for key, gap in sorted(gaps, key=lambda pair: -pair[1]) if gap > 1e-12)
        lost = tuple(key for key, gap in sorted(gaps, key=lambda pair: pair[1]) if gap < -1e-12)
        out.append(Against(other, name, found, p, won, lost))
    return out


def by_stratum(runs: Sequence[Run]) -> dict[str, dict[str, dict[str, list[float | None]]]]:
    """Each measure's value of each run, by stratum and key; None where a run has no evidence there."""
    first = runs[0].by_stratum
    return {
        stratum: {
            key: {name: [made.by_stratum.get(stratum, {}).get(key, {}).get(name) for made in runs] for name in values}
            for key, values in keys.items()
        }
        for stratum, keys in first.items()
    }


def errors_by_type(runs: Sequence[Run]) -> dict[str, list[int]]:
    """How many errors each run has, by type."""
    types = sorted({kind for made in runs for kind in made.errors_by_type})
    return {kind: [made.errors_by_type.get(kind, 0) for made in runs] for kind in types}


def _alike(a: Run, b: Run) -> None:
    """Two runs can be compared when they are on the same examples under the same conventions."""
    if a.about["gold"] != b.about["gold"]:
        raise ConventionError(
            f"{a.folder} and {b.folder} are on different gold ({len(a.rows)} and {len(b.rows)} examples); "
            "evaluate both on the same split"
        )
    if len(a.rows) != len(b.rows):
        raise ConventionError(f"{b.folder} has {len(b.rows)} of {len(a.rows)} rows; finish it with --resume")
    for name, about in a.about["measures"].items():
        other = b.about["measures"].get(name)
        if other and other["conventions"] != about["conventions"]:
            raise ConventionError(f"{name} has other conventions: {about['conventions']} and {other['conventions']}")

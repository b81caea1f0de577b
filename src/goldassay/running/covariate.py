"""An earlier run of the same program as a covariate: what it says of examples that the new run did not ask.

The new run has n examples, the earlier one these and others. Where the program does well in both, the difference
between the n examples and the others in the earlier run corrects the new value (the difference estimator of survey
sampling, Särndal, Swensson and Wretman 1992): V + λ (earlier value of the others − earlier value of the n), with the λ
of least variance (`goldassay.statistics.ppi`). A correlation r is worth up to 1 / (1 − r²) times as many examples.
A corpus value such as F1 enters by what each example, or document, adds to it (`goldassay.statistics.influences`).
"""

from __future__ import annotations

from dataclasses import dataclass

from goldassay.exceptions import ConventionError
from goldassay.running.run import Run
from goldassay.statistics import influences
from goldassay.statistics.intervals import Interval
from goldassay.statistics.ppi import corrected


@dataclass(frozen=True, slots=True)
class Covaried:
    """A value over all examples of the earlier run; ``plain`` is that of the new run alone.

    ``n`` examples (or documents) count as ``effective`` ones. ``exchangeable_p`` is below 0.05 where those of the new
    run are not like the others, so that the value is not valid: take a random part of the gold.
    """

    value: Interval
    plain: Interval
    n: int
    effective: float
    exchangeable_p: float


def check_same_program(name: str, earlier: Run) -> None:
    """Refuse a covariate that another program made."""
    other = earlier.about.get("program", {}).get("class")
    if other != name:
        raise ConventionError(f"a covariate is an earlier run of the same program: {name}, not {other}")


def with_covariate(run: Run, earlier: Run) -> dict[str, Covaried]:
    """The values of a run on a random part of the gold, corrected by an earlier run on all of it.

    Raises:
        ConventionError: The earlier run is of another program or other conventions, or has no more examples.
    """
    check_same_program(run.about["program"]["class"], earlier)
    values = {}
    for name in run.values:
        both = [each.about["measures"].get(name, {}).get("conventions") for each in (run, earlier)]
        if both[0] != both[1]:
            raise ConventionError(f"{name} has other conventions: {both[1]} and {both[0]}")
        new, old = _own_values(run, name), _own_values(earlier, name)
        if not new.keys() < old.keys():
            raise ConventionError(f"{earlier.folder} lacks examples of {run.folder}, or has no others")
        people, verdicts = list(new.values()), [old[key] for key in new]
        others = [value for key, value in old.items() if key not in new]
        estimate = corrected(people, verdicts, others, bounds=run.bounds(name), origin="random")
        plain, value = estimate.people_only, estimate.corrected
        gain = ((plain.high - plain.low) / (value.high - value.low)) ** 2 if value.high > value.low else 1.0
        values[name] = Covaried(value, plain, len(new), len(new) * gain, estimate.exchangeable_p)
    return values


def _own_values(run: Run, name: str) -> dict[str, float]:
    """What each example or document says of a value: their mean is the value."""
    keys = [f"document {row['document']}" if "document" in row else f"example {row['id']}" for row in run.rows]
    parts = influences(run.tallies(name), run.zero[name], clusters=keys)
    return {key: round(run.values[name] + float(part), 9) for key, part in zip(dict.fromkeys(keys), parts, strict=True)}

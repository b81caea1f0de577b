"""What one matching gives as tallies: counts by property, verdicts, confidence against correctness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from goldassay.exceptions import DataError
from goldassay.measures.triples.matching import Matching
from goldassay.measures.triples.records import Triple
from goldassay.statistics.intervals import wilson
from goldassay.tally import Bins, Counts, Macro, Number, PrecisionCounts, divide
from goldassay.tally.sums import Sums

VERDICTS = ("correct", "incorrect", "uncertain", "in_wikidata")
TRUE = ("correct", "in_wikidata")


class ByProperty(Macro):
    """Counts by property; ``value`` is the mean of a rate over the properties that gold has."""

    @property
    def weight(self) -> Number:
        return sum(counts.tp + counts.fn for counts in self.values())


@dataclass(frozen=True, slots=True)
class Known(Sums):
    """Predictions known to be true, known to be false, and unknown; ``value`` is the least precision."""

    true: Number = 0.0
    false: Number = 0.0
    unknown: Number = 0.0

    @property
    def weight(self) -> Number:
        return self.true + self.false + self.unknown

    @property
    def low(self) -> Number:
        """Precision if every unknown statement is false."""
        return divide(self.true, self.weight, empty=1.0)

    @property
    def high(self) -> Number:
        """Precision if every unknown statement is true."""
        return divide(self.true + self.unknown, self.weight, empty=1.0)

    @property
    def value(self) -> Number:
        return self.low


@dataclass(frozen=True, slots=True)
class KnownOrUnknown(Known):
    """The same evidence; ``value`` is the greatest precision."""

    @property
    def value(self) -> Number:
        return self.high


class Buckets(Bins):
    """Confidence against correctness in four buckets; ``value`` is the expected calibration error."""

    @property
    def value(self) -> Number:
        return self.ece


class Calibrated(Bins):
    """Confidence against correctness in four buckets; ``value`` is Pearson's ρ of midpoints and observed accuracy.

    ρ is not defined for fewer than two filled buckets or for a constant accuracy: there is no evidence then. In a
    resample of evidence that has one it is 0 (nothing is shown).
    """

    @property
    def correlation(self) -> float | None:
        """Pearson's ρ; None where it is not defined."""
        import numpy as np

        filled = sorted(index for index, (n, _, _) in self.items() if n)
        if len(filled) < 2:
            return None
        middles = np.array([(index + 0.5) / self.edges for index in filled])
        accuracy = np.array([self[index][2] / self[index][0] for index in filled])
        if np.ptp(accuracy) < 1e-12:
            return None
        return float(np.corrcoef(middles, accuracy)[0, 1])

    @property
    def weight(self) -> Number:
        return self._each("weight") if self._arrays else float(self.correlation is not None)

    @property
    def value(self) -> Number:
        if self._arrays:
            return self._each("value")
        if not self.count:
            return 1.0
        found = self.correlation
        return 0.0 if found is None else found

    @property
    def _arrays(self) -> bool:
        return not all(isinstance(n, (int, float)) for n, _, _ in self.values())

    def _each(self, name: str) -> Number:
        """A property of the bins of each resample, from bins of arrays."""
        import numpy as np

        bins = [np.stack(np.broadcast_arrays(*evidence), axis=-1).tolist() for evidence in self.values()]
        rows = (Calibrated(zip(self, map(tuple, row), strict=True)) for row in zip(*bins, strict=True))
        return np.array([getattr(row, name) for row in rows])


def by_property(found: Matching, *, unaligned: str = "skip", supported: bool = False) -> ByProperty:
    """tp and fn under gold's property, fp under the predicted one.

    An unaligned prediction is unknown, not wrong, and left out (``unaligned="skip"``); so is an unaligned gold
    statement. ``supported``: only gold statements that are annotated as supported by the text.
    """
    out: dict[str, list[float]] = {}
    covered = {index: said for said, index in found.pairs.items()}
    for index, gold in enumerate(found.gold):
        if (unaligned == "skip" and not gold.aligned) or (supported and gold.triple.get("supported") is not True):
            continue
        out.setdefault(gold.counted_as, [0.0, 0.0, 0.0])[0 if index in covered else 2] += 1
    for index in () if supported else found.unmatched:
        said = found.pred[index]
        if said.aligned or unaligned != "skip":
            out.setdefault(_counted(said, found), [0.0, 0.0, 0.0])[1] += 1
    return ByProperty({name: Counts(*counts) for name, counts in sorted(out.items())})


def _counted(said: Triple, found: Matching) -> str:
    """The property that a wrong prediction counts under: one that gold has, if its predicate may mean several."""
    here = {name for gold in found.gold for name in gold.properties} & said.properties
    return min(here) if here else said.counted_as


def known(found: Matching) -> Known:
    """What open-world knowledge says of the predictions: matched or judged true, judged false, unknown."""
    counts = [0.0, 0.0, 0.0]
    for index, said in enumerate(found.pred):
        verdict = said.triple.get("verdict")
        true = index in found.pairs or verdict in TRUE
        counts[0 if true else 1 if verdict == "incorrect" else 2] += 1
    return Known(*counts)


def novel(found: Matching) -> PrecisionCounts:
    """The verdicts on predictions that gold does not have: correct as tp, incorrect as fp."""
    verdicts = [found.pred[index].triple.get("verdict") for index in found.unmatched]
    return PrecisionCounts(float(verdicts.count("correct")), float(verdicts.count("incorrect")), 0.0)


def confidences(found: Matching) -> list[tuple[float, float]]:
    """Confidence and correctness of each prediction that has a confidence and a known truth.

    Correct: matched, or judged correct. A prediction judged uncertain is left out; one not judged and not matched
    counts as wrong, as gold does not have it.
    """
    out = []
    for index, said in enumerate(found.pred):
        confidence, verdict = said.triple.get("confidence"), said.triple.get("verdict")
        if confidence is None or (index not in found.pairs and verdict == "uncertain"):
            continue
        out.append((float(confidence), float(index in found.pairs or verdict in TRUE)))
    return out


def bins(pairs: Sequence[tuple[float, float]]) -> Bins:
    """The confidences in four buckets."""
    out = Bins()
    for confidence, correct in pairs:
        out += Bins.of(confidence, correct)
    return out


def novel_discovery_rate(verdicts: Iterable[str], level: float = 0.95) -> dict[str, float | None]:
    """NDR = correct / (correct + incorrect), with its Wilson interval and the counts of all four verdicts.

    >>> found = novel_discovery_rate(["correct", "correct", "correct", "incorrect", "uncertain", "in_wikidata"])
    >>> found["novel_discovery_rate"], found["uncertain"]
    (0.75, 1.0)
    """
    counts = Counter(verdicts)
    wrong = next((verdict for verdict in counts if verdict not in VERDICTS), None)
    if wrong is not None:
        raise DataError(f"a verdict is one of {', '.join(VERDICTS)}, not {wrong!r}")
    judged = counts["correct"] + counts["incorrect"]
    low, high = wilson(counts["correct"], judged, level) if judged else (None, None)
    return {
        "novel_discovery_rate": counts["correct"] / judged if judged else None,
        "low": low,
        "high": high,
        **{verdict: float(counts[verdict]) for verdict in VERDICTS},
    }

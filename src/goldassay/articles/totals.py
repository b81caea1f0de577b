"""The sums of articles' counts: rows are added one by one, so that the memory does not grow with their number.

``precision``, ``recall`` and ``f1`` are closed-world over aligned properties. ``precision_local`` is under the local
closed-world assumption (where Wikidata has no value for a property of the subject, a new value is unknown, not wrong).
``precision_min`` and ``precision_max`` bound precision in an open world. ``recall_supported`` is over the statements
whose value the article's text says. ``legacy_*`` are the founding kit's: every unmatched triple wrong, statements of
unaligned properties in the denominator of recall, a property's "recall" that is its precision.

Source: local closed-world assumption: Dong et al., Knowledge Vault, KDD 2014.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from goldassay.articles.scoring import KINDS, NOVEL
from goldassay.measures.triples.matching import EXACT, NO_MATCH, PARTIAL
from goldassay.measures.triples.tally import VERDICTS, ByProperty, Calibrated, Known
from goldassay.scorecard import rates
from goldassay.statistics.intervals import wilson
from goldassay.tally import Counts

EDGES = ("0.0-0.25", "0.25-0.5", "0.5-0.75", "0.75-1.0")


class Totals:
    """The sum of rows.

    >>> totals = Totals()
    >>> totals.values()["f1"] is None, totals.values()["articles"]
    (True, 0)
    """

    def __init__(self) -> None:
        self.articles = self.predicted = self.statements = self.unaligned = self.about_others = self.said_again = 0
        self.properties, self.supported = ByProperty(), ByProperty()
        self.support: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.known, self.bins = Known(), Calibrated()
        self.judged, self.brier, self.own = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]

    def add(self, score: Mapping[str, Any]) -> None:
        """One more article."""
        self.articles += 1
        self.predicted += score["predicted"]
        self.statements += score["statements"]
        self.unaligned += score["unaligned_statements"]
        self.about_others += score["about_others"]
        self.said_again += score["said_again"]
        for own, name in ((self.properties, "properties"), (self.supported, "supported")):
            for key, counts in score[name].items():
                own[key] = own.get(key, Counts()) + Counts(*counts)
        self.support.update(score["support"])
        self.kinds.update(score["kinds"])
        self.verdicts.update(score["verdicts"])
        self.known += Known(*score["known"])
        self.bins += Calibrated({int(name): tuple(values) for name, values in score["bins"].items()})
        for sums, name in ((self.judged, "judged"), (self.brier, "brier"), (self.own, "own_aligned")):
            sums[0] += score[name][0]
            sums[1] += score[name][1]

    @property
    def counts(self) -> Counts:
        """tp, fp and fn over all aligned properties."""
        return sum(self.properties.values(), Counts())

    def values(self) -> dict[str, Any]:
        """Every value by name; None where there is no evidence."""
        total, said = self.counts, sum(self.supported.values(), Counts())
        own = rates({"tp": self.own[0], "fp": self.own[1], "fn": 0.0})
        local = rates({"tp": self.kinds[EXACT], "fp": self.kinds[PARTIAL], "fn": 0.0})
        any_gold, any_known = bool(self.properties.weight), bool(self.known.weight)
        return {
            "articles": self.articles,
            **rates(_state(total)),
            **{
                f"macro_{n}": float(self.properties.mean(n)) if any_gold else None
                for n in ("precision", "recall", "f1")
            },
            "precision_min": float(self.known.low) if any_known else None,
            "precision_max": float(self.known.high) if any_known else None,
            "precision_local": local["precision"],
            "precision_own_subject": own["precision"],
            "recall_supported": float(said.recall) if said.weight else None,
            "calibration_pearson": self.bins.correlation,
            "ece": float(self.bins.ece) if self.bins.count else None,
            "brier": self.brier[0] / self.brier[1] if self.brier[1] else None,
            **self._discovery(),
            "true_positives": int(total.tp),
            "false_positives": int(total.fp),
            "false_negatives": int(total.fn),
            "match_kinds": {name: self.kinds[name] for name in KINDS},
            "supported_statements": dict(self.support),
            "unaligned_statements": self.unaligned,
            "about_others": self.about_others,
            "said_again": self.said_again,
            **self._founding(),
        }

    def _discovery(self) -> dict[str, Any]:
        right, judged = self.judged[0], sum(self.judged)
        low, high = wilson(right, judged) if judged else (None, None)
        return {
            "novel_discoveries": self.kinds[NOVEL] + self.kinds[NO_MATCH],
            "novel_discovery_rate": right / judged if judged else None,
            "novel_discovery_rate_low": low,
            "novel_discovery_rate_high": high,
            "verdicts": {name: self.verdicts[name] for name in VERDICTS},
        }

    def _founding(self) -> dict[str, Any]:
        """The names of the founding kit, and its own values where ours differ."""
        found = self.kinds[EXACT]
        old = rates({"tp": found, "fp": self.predicted - found, "fn": self.statements - found}, "legacy_")
        unmatched = self.predicted - found
        return {
            "confidence_calibration_pearson_r": self.bins.correlation,
            "false_positive_rate": unmatched / self.predicted if self.predicted else None,
            "total_riverbank_triples": self.predicted,
            "total_wikidata_statements": self.statements,
            **old,
            "legacy_false_positives": unmatched,
            "legacy_false_negatives": self.statements - found,
            "legacy_novel_discovery_rate": unmatched / self.predicted if self.predicted else None,
        }

    def curve(self) -> dict[str, dict[str, Any]]:
        """The calibration curve: per bucket of confidence how many, how sure, how often right."""
        out = {}
        for index, name in enumerate(EDGES):
            n, confidence, correct = self.bins.get(index, (0.0, 0.0, 0.0))
            out[name] = {
                "count": int(n),
                "midpoint": (index + 0.5) / len(EDGES),
                "mean_confidence": float(confidence) / float(n) if n else None,
                "observed_accuracy": float(correct) / float(n) if n else None,
            }
        return out

    def by_property(self) -> dict[str, dict[str, Any]]:
        """Per property, those with the most gold first; recall is counted from gold."""
        out = {}
        for name, c in sorted(self.properties.items(), key=lambda row: (-float(row[1].tp + row[1].fn), row[0])):
            said = self.supported.get(name, Counts())
            row = rates(_state(c))
            out[name] = {
                **row,
                "count": int(c.tp + c.fn),
                "predicted": int(c.tp + c.fp),
                "true_positives": int(c.tp),
                "false_positives": int(c.fp),
                "false_negatives": int(c.fn),
                "recall_supported": float(said.recall) if said.weight else None,
                "supported_count": int(said.tp + said.fn),
                "legacy_recall": row["precision"],
            }
        return out


def _state(counts: Counts) -> dict[str, float]:
    return {name: float(getattr(counts, name)) for name in ("tp", "fp", "fn")}

"""The result of a run: one shape for one article and for many, folded from the rows, readable by the founding kit.

``schema_version``, ``run_metadata``, ``aggregate``, ``by_domain``, ``by_property``, ``calibration_curve``,
``alignment_gaps``, ``article_results``, ``failed_articles``; ``article_result`` where one article was asked for. The
evidence of every triple and every missed statement stays in the rows, which ``run_metadata.rows`` names.

The articles' counts are summed row by row, so that the memory does not grow with their number. ``precision``,
``recall`` and ``f1`` are closed-world over aligned properties. ``precision_local`` is under the local closed-world
assumption (where Wikidata has no value for a property of the subject, a new value is unknown, not wrong).
``precision_min`` and ``precision_max`` bound precision in an open world. ``recall_supported`` is over the statements
whose value the article's text says. ``legacy_*`` are the founding kit's: every unmatched triple wrong, statements of
unaligned properties in the denominator of recall, a property's "recall" that is its precision.

Source: local closed-world assumption: Dong et al., Knowledge Vault, KDD 2014.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.cache import age, old
from goldassay.exceptions import DataError
from goldassay.measures.triples.matching import EXACT, NO_MATCH, PARTIAL
from goldassay.measures.triples.tally import VERDICTS, ByProperty, Calibrated, Known
from goldassay.scorecard import rates
from goldassay.statistics.intervals import wilson
from goldassay.tally import Counts, PrecisionCounts, RecallCounts
from goldassay.wikidata import rows as stored
from goldassay.wikidata.alignment import PropertyAlignmentTable
from goldassay.wikidata.benchmark import ArticleRef
from goldassay.wikidata.scoring import KINDS, NOVEL
from goldassay.wikidata.tuning import Gaps

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

    def values(self) -> dict[str, object]:
        """Every value by name; None where there is no evidence."""
        total, said = self.counts, sum(self.supported.values(), Counts())
        own = rates({"tp": self.own[0], "fp": self.own[1], "fn": 0.0})
        local = rates({"tp": self.kinds[EXACT], "fp": self.kinds[PARTIAL], "fn": 0.0})
        any_gold, any_known = bool(self.properties.weight), bool(self.known.weight)
        return {
            "articles": self.articles,
            **rates(_state(total)),
            **{
                f"macro_{n}": float(self.properties.mean_of(n)) if any_gold else None
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

    def curve(self) -> dict[str, dict[str, float | None]]:
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

    def by_property(self) -> dict[str, dict[str, float | None]]:
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


SCHEMA_VERSION = 1
STALE = 90
EXAMPLES = 5
KEPT = (
    "predicted", "statements", "unaligned_statements", "support", "kinds", "verdicts", "about_others",
)  # fmt: skip


def folded(
    file: Path, asked: Iterable[ArticleRef], metadata: Mapping[str, object], table: PropertyAlignmentTable
) -> dict[str, Any]:
    """The result of the rows in ``file``, for the articles that were asked for, in their order."""
    whole, domains, gaps = Totals(), dict[str, Totals](), Gaps(table)
    articles: list[dict[str, Any]] = []
    counted: list[tuple[float, float, float]] = []
    failed: list[dict[str, Any]] = []
    missed: dict[str, list[dict[str, Any]]] = {}
    dates: list[str] = []
    for row in stored.latest(file, [one.key for one in asked]):
        if row["status"] != stored.DONE:
            failed.append({name: row[name] for name in ("article_title", "domain", "stage", "error")})
            continue
        score = row["score"]
        whole.add(score)
        domains.setdefault(row["domain"], Totals()).add(score)
        gaps.add(row)
        dates += row.get("fetched", ())
        counts = tuple(sum(c[i] for c in score["properties"].values()) for i in range(3))
        articles.append(_article(row, counts))
        counted.append(counts)  # type: ignore[arg-type]
        _examples(row, missed)
    result: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "run_metadata": {
            **metadata,
            "articles_evaluated": len(articles),
            "articles_failed": len(failed),
            "articles_without_answer": sum("error" in one for one in articles),
            **_age(dates),
        },
        "aggregate": {**whole.values(), "intervals": _intervals(counted)},
        "by_domain": {name: totals.values() for name, totals in sorted(domains.items())},
        "by_property": {
            name: {"label": table.label(name), **row, "missed_examples": missed.get(name, [])}
            for name, row in whole.by_property().items()
        },
        "calibration_curve": whole.curve(),
        "alignment_gaps": gaps.found(),
        "article_results": articles,
        "failed_articles": failed,
    }
    if metadata.get("mode") == "single_article" and articles:
        result["article_result"] = result["article_results"][0]
    return result


def _article(row: Mapping[str, Any], counts: Any) -> dict[str, Any]:
    """One article in the founding kit's words, with its own values beside ours."""
    score = row["score"]
    exact = score["kinds"].get("exact", 0)
    predicted, statements = score["predicted"], score["statements"]
    tp, fp, fn = counts
    out = {
        "article_title": row["article_title"],
        "wikidata_qid": row["wikidata_qid"],
        "domain": row["domain"],
        "riverbank_triples": predicted,
        "wikidata_statements": statements,
        **rates({"tp": tp, "fp": fp, "fn": fn}),
        "true_positives": int(tp),
        "false_positives": int(fp),
        "false_negatives": int(fn),
        "novel_discoveries": score["kinds"].get("novel", 0) + score["kinds"].get("no_match", 0),
        **rates({"tp": exact, "fp": predicted - exact, "fn": statements - exact}, "legacy_"),
        "legacy_false_positives": predicted - exact,
        "legacy_false_negatives": statements - exact,
    }
    out |= {name: score[name] for name in KEPT if name not in ("predicted", "statements")}
    return out | {name: row[name] for name in ("declared_qid", "redirected_to", "error", "seconds") if name in row}


def _examples(row: Mapping[str, Any], missed: dict[str, list[dict[str, Any]]]) -> None:
    """A few statements per property that the text says and nothing covers."""
    for one in row["score"]["missed"]:
        kept = missed.setdefault(one["property"], []) if one.get("context") and one["aligned"] else None
        if kept is not None and len(kept) < EXAMPLES:
            shown = {name: one[name] for name in ("value", "surface", "context")}
            kept.append({"article": row["article_title"], "domain": row["domain"], **shown})


def _intervals(counts: list[tuple[float, float, float]]) -> dict[str, Any]:
    """95 % intervals over articles."""
    from goldassay.statistics.intervals import interval

    if len(counts) < 2:
        return {}
    kinds = {"precision": PrecisionCounts, "recall": RecallCounts, "f1": Counts}
    return {name: interval([kind(*c) for c in counts], kind()).state() for name, kind in kinds.items()}


def _age(dates: list[str]) -> dict[str, Any]:
    """When the data was fetched, and a warning where it is old."""
    if not dates:
        return {}
    low = min(dates)
    out: dict[str, Any] = {"fetched": {"oldest": low, "newest": max(dates)}}
    if old([low], STALE):
        out["warnings"] = [f"the oldest data was fetched {age(low).days} days ago; past {STALE} days, fetch it again"]
    return out


def load(path: Path) -> dict[str, Any]:
    """A result file of ours or of the founding kit; its single ``article_result`` becomes a list of one."""
    found = files.json_value(path)
    if not isinstance(found, dict) or not isinstance(found.get("run_metadata"), dict):
        raise DataError("no result of an evaluation against Wikidata: it has no run_metadata", file=path)
    if "article_results" not in found and isinstance(found.get("article_result"), dict):
        found["article_results"] = [found["article_result"]]
    if not isinstance(found.get("article_results"), list):
        raise DataError("it has neither article_results nor article_result", file=path)
    for name in ("aggregate", "by_domain", "by_property", "calibration_curve"):
        if not isinstance(found.setdefault(name, {}), dict):
            raise DataError(f"{name} is a mapping", file=path)
    return found


def rows_of(path: Path, result: Mapping[str, Any]) -> Path | None:
    """The rows file of a result, where it has one beside it."""
    named = result["run_metadata"].get("rows")
    file = path.parent / Path(str(named)).name if named else None
    return file if file and file.is_file() else None

"""The result of an evaluation: one JSON shape for one article and for many, readable by riverbank's tools.

``schema_version``, ``run_metadata``, ``aggregate``, ``by_domain``, ``by_property``, ``calibration_curve``,
``alignment_gaps``, ``article_results``, ``failed_articles``; ``article_result`` if one article was asked for. The
evidence of every triple and every missed statement stands in the rows, which ``run_metadata.rows`` names.

The values are those of `goldassay.measures.triples.scorecard`: ``precision``, ``recall`` and ``f1`` are closed-world
over aligned properties, ``precision_min`` and ``precision_max`` bound precision in an open world, ``recall_supported``
is over the statements that the article's text says. ``precision_local`` follows the local closed-world assumption: if
Wikidata has no value for a property of the subject, a new value is unknown, not wrong.

Source: local closed-world assumption: Dong et al., Knowledge Vault, KDD 2014.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay import files, jsonl
from goldassay.cache import age
from goldassay.exceptions import DataError
from goldassay.measures.triples import VERDICTS, scorecard
from goldassay.scorecard import Scorecard, rates
from goldassay.statistics.intervals import interval
from goldassay.statistics.rates import wilson
from goldassay.wikidata import improvement
from goldassay.wikidata.articles import Subject
from goldassay.wikidata.scoring import KINDS, Scoring

SCHEMA_VERSION = 1
MAX_AGE = 90  # days after which data should be fetched again
EXAMPLES = 5
COUNTS = ("tp", "fp", "fn")
BUCKETS = ("0.0-0.25", "0.25-0.5", "0.5-0.75", "0.75-1.0")
MEASURES = (
    "precision", "recall", "f1", "macro_precision", "macro_recall", "macro_f1", "precision_min", "precision_max",
    "recall_supported", "calibration_pearson", "ece", "brier", "novel_discovery_rate",
)  # fmt: skip


def fold(
    rows: Sequence[Mapping[str, Any]],
    articles: Sequence[Subject],
    gold: Sequence[Mapping[str, Any]],
    failed: Sequence[Mapping[str, str]],
    metadata: Mapping[str, object],
    scoring: Scoring,
    output: Path,
) -> dict[str, Any]:
    """The result of a run; the evidence of each article is written beside ``output``.

    Args:
        rows: The rows of the run, in the order of ``articles``.
        gold: Their gold examples.
        failed: The articles that could not be fetched, with their errors.
        metadata: More entries for ``run_metadata``.
        scoring: The conventions.
        output: The file of the result.
    """
    predictions = [row["prediction"] if "error" not in row else {"triples": []} for row in rows]
    evidence = [
        scoring.evidence(own["triples"], prediction["triples"])
        for own, prediction in zip(gold, predictions, strict=True)
    ]
    domains = [article.domain for article in articles]

    def values(members: Sequence[int]) -> tuple[Scorecard, dict[str, Any]]:
        card = scorecard([gold[i] for i in members], [predictions[i] for i in members], **scoring.options)
        return card, _values(card, sum((evidence[i]["counts"] for i in members), Counter()), len(members))

    card, aggregate = values(range(len(rows)))
    stored = [
        {
            "article_title": article.title,
            "domain": article.domain,
            "qid": article.item.id,
            "tally": {name: float(getattr(card.tallies["f1"], name)[index]) for name in COUNTS},
            **evidence[index],
        }
        for index, article in enumerate(articles)
    ]
    file = rows_file(output)
    jsonl.replace(file, "".join(f"{jsonl.dumps(row)}\n" for row in stored))
    per_article = [_article(*parts) for parts in zip(articles, rows, stored, strict=True)]
    result: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "run_metadata": {
            **metadata,
            "rows": file.name,
            "articles_evaluated": len(articles),
            "articles_failed": len(failed),
            "articles_without_answer": sum("error" in row for row in rows),
            **_age([date for article in articles for date in article.fetched]),
        },
        "aggregate": {**aggregate, "intervals": _intervals(card) if len(rows) > 1 else {}},
        "by_domain": {
            name: values([i for i, domain in enumerate(domains) if domain == name])[1] for name in sorted(set(domains))
        },
        "by_property": _by_property(card, stored, scoring),
        "calibration_curve": _calibration_curve(card),
        "alignment_gaps": improvement.alignment_gaps(stored, scoring.table),
        "article_results": per_article,
        "failed_articles": list(failed),
    }
    single = metadata.get("mode") == "single_article" and per_article
    return {**result, "article_result": per_article[0]} if single else result


def _values(card: Scorecard, counts: Mapping[str, int], articles: int) -> dict[str, Any]:
    """The values of a set of articles by name; None without evidence."""
    statements = card.counts["triples"]
    verdicts = {name: counts.get(f"verdict {name}", 0) for name in VERDICTS}
    judged = verdicts["correct"] + verdicts["incorrect"]
    low, high = wilson(verdicts["correct"], judged) if judged else (None, None)
    exact, partial = counts.get("kind exact", 0), counts.get("kind partial", 0)
    return {
        "articles": articles,
        **_counts(statements, counts),
        **{name: card.values.get(name) for name in MEASURES},
        "confidence_calibration_pearson_r": card.values["calibration_pearson"],
        "precision_local": rates({"tp": exact, "fp": partial, "fn": 0})["precision"],
        "novel_discovery_rate_low": low,
        "novel_discovery_rate_high": high,
        "verdicts": verdicts,
        "supported_statements": {name: counts.get(name, 0) for name in ("said", "unsaid", "unknown")},
        "total_riverbank_triples": counts.get("predicted", 0),
        "total_wikidata_statements": counts.get("statements", 0),
    }


def _counts(tally: Mapping[str, float], counts: Mapping[str, int]) -> dict[str, Any]:
    """The counts of an article or of many."""
    names = {"tp": "true_positives", "fp": "false_positives", "fn": "false_negatives"}
    return {
        **{name: int(tally[key]) for key, name in names.items()},
        "match_kinds": {name: counts.get(f"kind {name}", 0) for name in KINDS},
        "novel_discoveries": counts.get("kind novel", 0) + counts.get("kind no_match", 0),
        "unaligned_statements": counts.get("unaligned statements", 0),
    }


def _article(article: Subject, row: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """One article, in riverbank's fields."""
    counts, tally = stored["counts"], stored["tally"]
    return {
        "article_title": article.title,
        "wikidata_qid": article.item.id,
        "domain": article.domain,
        "riverbank_triples": counts.get("predicted", 0),
        "wikidata_statements": counts.get("statements", 0),
        **rates(tally),
        **_counts(tally, counts),
        **article.about,
        **({"error": row["error"]} if "error" in row else {}),
        "seconds": round(row["latency_s"], 3),
    }


def _by_property(card: Scorecard, stored: Sequence[Mapping[str, Any]], scoring: Scoring) -> dict[str, Any]:
    """Values by property, those with the most gold first, with sentences in which a statement was missed."""
    supported: Counter[tuple[str, bool]] = Counter()
    missed: dict[str, list[dict[str, Any]]] = {}
    for row in stored:
        exact = [one["statement"] for one in row["triples"] if one["kind"] == "exact"]
        for statement in [*exact, *row["missed"]]:
            if statement["aligned"] and statement.get("supported"):
                supported[statement["property"], statement in exact] += 1
        for statement in row["missed"]:
            examples = missed.setdefault(statement["property"], [])
            if statement["aligned"] and statement.get("context") and len(examples) < EXAMPLES:
                words = {name: statement[name] for name in ("value", "surface", "context")}
                examples.append({"article": row["article_title"], "domain": row["domain"], **words})
    rows = {}
    for name, values in card.by["property"].items():
        tp, fp, fn = (int(values[key]) for key in COUNTS)
        covered, uncovered = supported[name, True], supported[name, False]
        rows[name] = {
            "label": scoring.table.label(name),
            **{key: values[key] for key in ("precision", "recall", "f1")},
            "count": tp + fn,
            "predicted": tp + fp,
            "true_positives": tp,
            "false_positives": fp,
            "false_negatives": fn,
            "recall_supported": rates({"tp": covered, "fp": 0, "fn": uncovered})["recall"],
            "supported_count": covered + uncovered,
            "missed_examples": missed.get(name, []),
        }
    return rows


def _calibration_curve(card: Scorecard) -> dict[str, dict[str, float | None]]:
    """Per bucket of confidence: how many, how confident, how often right."""
    curve = {}
    for index, name in enumerate(BUCKETS):
        count, confidence, correct = card.totals["calibration_pearson"].get(index, (0.0, 0.0, 0.0))
        curve[name] = {
            "count": int(count),
            "midpoint": (index + 0.5) / len(BUCKETS),
            "mean_confidence": float(confidence) / float(count) if count else None,
            "observed_accuracy": float(correct) / float(count) if count else None,
        }
    return curve


def _intervals(card: Scorecard) -> dict[str, Any]:
    """95 % intervals over articles."""
    names = ("precision", "recall", "f1")
    return {name: interval(card.tallies[name], card.measures[name].zero).state() for name in names}


def _age(dates: Sequence[str]) -> dict[str, Any]:
    """When the data was fetched, and a warning if it is old."""
    if not dates:
        return {}
    days = age(min(dates)).days
    message = f"the oldest data was fetched {days} days ago; after {MAX_AGE} days, fetch it again"
    return {
        "fetched": {"oldest": min(dates), "newest": max(dates)},
        **({"warnings": [message]} if days >= MAX_AGE else {}),
    }


def load(path: Path) -> dict[str, Any]:
    """A result file of ours or of riverbank; a single ``article_result`` becomes a list of one."""
    result = files.json_value(path)
    if not isinstance(result, dict) or not isinstance(result.get("run_metadata"), dict):
        raise DataError("not a result of an evaluation against Wikidata: it has no run_metadata", file=path)
    if "article_results" not in result and isinstance(result.get("article_result"), dict):
        result["article_results"] = [result["article_result"]]
    if not isinstance(result.get("article_results"), list):
        raise DataError("it has neither article_results nor article_result", file=path)
    for name in ("aggregate", "by_domain", "by_property", "calibration_curve"):
        if not isinstance(result.setdefault(name, {}), dict):
            raise DataError(f"{name} must be a mapping", file=path)
    return result


def rows_file(output: Path) -> Path:
    """The rows of a result: ``latest.json`` has ``latest.rows.jsonl``."""
    return output.with_name(f"{output.stem}.rows.jsonl")


def load_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The evidence of a result's articles, one at a time."""
    named = load(path)["run_metadata"].get("rows")
    file = path.parent / Path(str(named)).name
    if not named or not file.is_file():
        raise DataError("its rows (….rows.jsonl), which hold the evidence of each triple, are missing", file=path)
    return (row for _, row in files.json_lines(file))

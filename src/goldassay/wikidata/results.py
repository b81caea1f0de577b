"""The result of an evaluation: one JSON shape for one article and for many.

``schema_version``, ``run_metadata``, ``aggregate``, ``by_domain``, ``by_property``, ``calibration_curve``,
``alignment_gaps``, ``article_results``, ``failed_articles``; ``article_result`` if one article was asked for. The
evidence of every triple and every missed statement stands in the rows, which ``run_metadata.rows`` names.

The values are those of `goldassay.measures.triples.scorecard`: ``precision``, ``recall`` and ``f1`` are closed-world
over aligned properties, ``precision_min`` and ``precision_max`` bound precision in an open world, ``recall_supported``
is over the statements that the article's text says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay import files, jsonl
from goldassay.cache import age
from goldassay.exceptions import DataError
from goldassay.measures.triples import novel_discovery_rate, scorecard
from goldassay.scorecard import Scorecard, rates
from goldassay.statistics.intervals import interval
from goldassay.wikidata.articles import Subject
from goldassay.wikidata.scoring import EXACT, KINDS, NO_MATCH, NOVEL, Scoring

SCHEMA_VERSION = 2
MAX_AGE = 90  # days after which data should be fetched again
EXAMPLES = 5
COUNTS = {"tp": "true_positives", "fp": "false_positives", "fn": "false_negatives"}
RATES = ("precision", "recall", "f1")
BUCKETS = ("0.0-0.25", "0.25-0.5", "0.5-0.75", "0.75-1.0")
MEASURES = (
    *RATES, "macro_precision", "macro_recall", "macro_f1", "precision_min", "precision_max", "recall_supported",
    "calibration_pearson", "ece", "brier", "novel_discovery_rate",
)  # fmt: skip
Rows = Sequence[Mapping[str, Any]]


def fold(
    rows: Rows,
    articles: Sequence[Subject],
    gold: Rows,
    failed: Rows,
    metadata: Mapping[str, object],
    scoring: Scoring,
    output: Path,
) -> dict[str, Any]:
    """The result of a run; the evidence of each article is written beside ``output``.

    Args:
        rows: The rows of the run, in the order of ``articles``.
        articles: The articles.
        gold: Their gold examples.
        failed: The articles that could not be fetched, with their errors.
        metadata: More entries for ``run_metadata``.
        scoring: The conventions.
        output: The file of the result.
    """
    predictions = [row["prediction"] if "error" not in row else {"triples": []} for row in rows]
    pairs = zip(gold, predictions, strict=True)
    evidence = [scoring.evidence(statements["triples"], answer["triples"]) for statements, answer in pairs]
    card = scorecard(gold, predictions, **scoring.options)
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
    results = [_article(*parts) for parts in zip(articles, rows, stored, strict=True)]
    single = {"article_result": results[0]} if metadata.get("mode") == "single_article" and results else {}
    return {
        "schema_version": SCHEMA_VERSION,
        "run_metadata": {
            **metadata,
            "rows": file.name,
            "articles_evaluated": len(articles),
            "articles_failed": len(failed),
            "articles_without_answer": sum("error" in row for row in rows),
            **_age([date for article in articles for date in article.fetched]),
        },
        "aggregate": {
            **_values(card, [each["counts"] for each in evidence]),
            "intervals": _intervals(card) if len(rows) > 1 else {},
        },
        "by_domain": _by_domain(articles, gold, predictions, evidence, scoring),
        "by_property": _by_property(card, stored, scoring),
        "calibration_curve": _calibration_curve(card),
        "alignment_gaps": _alignment_gaps(stored, scoring),
        "article_results": results,
        "failed_articles": list(failed),
        **single,
    }


def _by_domain(
    articles: Sequence[Subject], gold: Rows, predictions: Rows, evidence: Rows, scoring: Scoring
) -> dict[str, Any]:
    """The values of the articles of each domain."""
    values = {}
    for name in sorted({article.domain for article in articles}):
        members = [index for index, article in enumerate(articles) if article.domain == name]
        card = scorecard([gold[i] for i in members], [predictions[i] for i in members], **scoring.options)
        values[name] = _values(card, [evidence[i]["counts"] for i in members])
    return values


def _values(card: Scorecard, counts: Sequence[Counter[str]]) -> dict[str, Any]:
    """The values of a set of articles by name; None without evidence."""
    total: Counter[str] = sum(counts, Counter())
    return {
        "articles": len(counts),
        **_counts(card.counts["triples"], total),
        **{name: card.values.get(name) for name in MEASURES},
        "match_kinds": {name: total[name] for name in KINDS},
        "verdicts": novel_discovery_rate(card.counts["novel"]),
    }


def _counts(tally: Mapping[str, float], counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of an article or of many."""
    return {
        **{name: int(tally[key]) for key, name in COUNTS.items()},
        "riverbank_triples": counts.get("predicted", 0),
        "wikidata_statements": counts.get("statements", 0),
        "unaligned_statements": counts.get("unaligned", 0),
        "novel_discoveries": counts.get(NOVEL, 0) + counts.get(NO_MATCH, 0),
    }


def _article(article: Subject, row: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """One article."""
    return {
        "article_title": article.title,
        "wikidata_qid": article.item.id,
        "domain": article.domain,
        **rates(stored["tally"]),
        **_counts(stored["tally"], stored["counts"]),
        **article.about,
        **({"error": row["error"]} if "error" in row else {}),
        "seconds": round(row["latency_s"], 3),
    }


def _by_property(card: Scorecard, stored: Rows, scoring: Scoring) -> dict[str, Any]:
    """Values by property, those with the most gold first, with sentences in which a statement was missed."""
    supported: dict[str, Counter[str]] = {}
    missed: dict[str, list[dict[str, Any]]] = {}
    for row in stored:
        covered = [triple["statement"] for triple in row["triples"] if triple["kind"] == EXACT]
        for key, statements in (("tp", covered), ("fn", row["missed"])):
            for statement in statements:
                if statement["aligned"] and statement.get("supported"):
                    supported.setdefault(statement["property"], Counter(tp=0, fp=0, fn=0))[key] += 1
        for statement in row["missed"]:
            examples = missed.setdefault(statement["property"], [])
            if statement["aligned"] and statement.get("context") and len(examples) < EXAMPLES:
                words = {name: statement[name] for name in ("value", "surface", "context")}
                examples.append({"article": row["article_title"], "domain": row["domain"], **words})
    rows = {}
    for name, values in card.by["property"].items():
        in_text = supported.get(name, Counter(tp=0, fp=0, fn=0))
        rows[name] = {
            "label": scoring.table.label(name),
            **{key: values[key] for key in RATES},
            "count": int(values["tp"] + values["fn"]),
            **{full: int(values[key]) for key, full in COUNTS.items()},
            "recall_supported": rates(in_text)["recall"],
            "supported_count": in_text.total(),
            "missed_examples": missed.get(name, []),
        }
    return rows


def _alignment_gaps(stored: Rows, scoring: Scoring) -> list[dict[str, Any]]:
    """Properties that predicates which the table lacks may mean: their triples equal statements that nothing covers."""
    support: Counter[tuple[str, str]] = Counter()
    for row in stored:
        for triple in row["triples"]:
            if triple["kind"] == NO_MATCH and triple["subject"]["id"] in (row["qid"], None):
                equal = {missed["property"] for missed in row["missed"] if scoring.is_value(triple, missed)}
                support.update((triple["triple"][1], name) for name in sorted(equal))
    return [
        {"predicate": predicate, "property": name, "label": scoring.table.label(name), "support": count}
        for (predicate, name), count in support.most_common()
    ]


def _calibration_curve(card: Scorecard) -> dict[str, dict[str, float | None]]:
    """Per bucket of confidence: how many, how confident, how often right."""
    curve = {}
    for index, name in enumerate(BUCKETS):
        count, confidence, correct = map(float, card.totals["calibration_pearson"].get(index, (0, 0, 0)))
        curve[name] = {
            "count": int(count),
            "midpoint": (index + 0.5) / len(BUCKETS),
            "mean_confidence": confidence / count if count else None,
            "observed_accuracy": correct / count if count else None,
        }
    return curve


def _intervals(card: Scorecard) -> dict[str, Any]:
    """95 % intervals over articles."""
    return {name: interval(card.tallies[name], card.measures[name].zero).state() for name in RATES}


def _age(dates: Sequence[str]) -> dict[str, Any]:
    """When the data was fetched, and a warning if it is old."""
    if not dates:
        return {}
    days = age(min(dates)).days
    message = f"the oldest data was fetched {days} days ago; after {MAX_AGE} days, fetch it again"
    warnings = {"warnings": [message]} if days >= MAX_AGE else {}
    return {"fetched": {"oldest": min(dates), "newest": max(dates)}, **warnings}


def load(path: Path) -> dict[str, Any]:
    """A result file of ours or of riverbank; a single ``article_result`` becomes a list of one."""
    result = files.json_value(path)
    if not isinstance(result, dict) or not isinstance(result.get("run_metadata"), dict):
        raise DataError("not a result of an evaluation against Wikidata: it has no run_metadata", file=path)
    if "article_result" in result:
        result.setdefault("article_results", [result["article_result"]])
    if not isinstance(result.get("article_results"), list):
        raise DataError("it has neither article_results nor article_result", file=path)
    return result


def rows_file(output: Path) -> Path:
    """The rows of a result: ``latest.json`` has ``latest.rows.jsonl``."""
    return output.with_name(f"{output.stem}.rows.jsonl")


def load_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The evidence of a result's articles, one at a time."""
    file = path.parent / Path(str(load(path)["run_metadata"].get("rows"))).name
    if not file.is_file():
        raise DataError("its rows (….rows.jsonl), which hold the evidence of each triple, are missing", file=path)
    return (row for _, row in files.json_lines(file))

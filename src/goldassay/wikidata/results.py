"""The result of an evaluation: one JSON shape for one article and for many.

``schema_version``, ``run_metadata``, ``aggregate``, ``by_domain``, ``by_property``, ``calibration_curve``,
``alignment_gaps``, ``article_results``, ``failed_articles``; ``article_result`` if one article was asked for. The
evidence of every triple and every missed statement is in the rows, the file ``run_metadata.rows``.

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
from goldassay.fields import Fields, Record
from goldassay.measures.triples import novel_discovery_rate, scorecard
from goldassay.scorecard import RATES, Batches, Scorecard, Values, from_evidence, rates
from goldassay.statistics.evidence import chosen
from goldassay.statistics.intervals import interval
from goldassay.wikidata.articles import Subject
from goldassay.wikidata.scoring import EXACT, KINDS, NO_MATCH, NOVEL, Scoring

SCHEMA_VERSION = 2
MAX_AGE = 90  # days after which data should be fetched again
EXAMPLES = 5  # sentences of each property in which a statement was missed
COUNTS = {"tp": "true_positives", "fp": "false_positives", "fn": "false_negatives"}
BUCKETS = ("0.0-0.25", "0.25-0.5", "0.5-0.75", "0.75-1.0")
MEASURES = (
    *RATES, "macro_precision", "macro_recall", "macro_f1", "precision_min", "precision_max", "recall_supported",
    "calibration_pearson", "ece", "brier", "novel_discovery_rate",
)  # fmt: skip
Rows = Sequence[Record]


def fold(
    rows: Rows,
    articles: Sequence[Subject],
    gold: Sequence[Any],
    failed: Rows,
    metadata: Mapping[str, object],
    scoring: Scoring,
    output: Path,
) -> Fields:
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
    predictions = [{"triples": []} if "error" in row else row["prediction"] for row in rows]
    card: Any = scorecard(gold, predictions, **scoring.options)
    stored = [
        {
            "article_title": article.title,
            "domain": article.domain,
            "qid": article.item.id,
            "tally": card.measures["f1"].tally(matching).state(),
            **scoring.evidence(matching),
        }
        for article, matching in zip(articles, card.shared.of(card.measures["f1"]), strict=True)
    ]
    file = rows_file(output)
    jsonl.replace(file, "".join(f"{jsonl.dumps(row)}\n" for row in stored))
    results = [_article(*parts) for parts in zip(articles, rows, stored, strict=True)]
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
        "aggregate": {**_values(card, stored), "intervals": _intervals(card) if len(rows) > 1 else {}},
        "by_domain": _by_domain(card, card.shared, stored),
        "by_property": _by_property(card, stored, scoring),
        "calibration_curve": _calibration_curve(card),
        "alignment_gaps": _alignment_gaps(stored, scoring),
        "article_results": results,
        "failed_articles": list(failed),
        **({"article_result": results[0]} if metadata.get("mode") == "single_article" and results else {}),
    }


def _intervals(card: Scorecard) -> Fields:
    """95 % intervals over articles."""
    return {name: interval(card.tallies[name], card.measures[name].zero).state() for name in RATES}


def _article(article: Subject, row: Record, evidence: Record) -> Fields:
    """One article."""
    return {
        "article_title": article.title,
        "wikidata_qid": article.item.id,
        "domain": article.domain,
        **rates(evidence["tally"]),
        **_counts(evidence["tally"], evidence["counts"]),
        **article.about,
        **({"error": row["error"]} if "error" in row else {}),
        "seconds": round(row["latency_s"], 3),
    }


def _values(card: Scorecard, stored: Rows) -> Fields:
    """The values of a set of articles by name; None without evidence."""
    total = sum((row["counts"] for row in stored), Counter[str]())
    verdicts = (each["verdict"] for row in stored for each in row["triples"] if each["kind"] != EXACT)
    return {
        "articles": len(stored),
        **_counts(card.counts["triples"], total),
        **{name: card.values.get(name) for name in MEASURES},
        "match_kinds": {name: total[name] for name in KINDS},
        "verdicts": novel_discovery_rate(filter(None, verdicts)),
    }


def _counts(tally: Mapping[str, float], counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of an article or of many."""
    return {
        **{name: int(tally[key]) for key, name in COUNTS.items()},
        "predicted_triples": counts["predicted"],
        "wikidata_statements": counts["statements"],
        "unaligned_statements": counts["unaligned"],
        "novel_discoveries": counts[NOVEL] + counts[NO_MATCH],
    }


def _by_domain(card: Scorecard, shared: Batches, stored: Rows) -> Fields:
    """Values by domain."""
    values = {}
    for domain in sorted({row["domain"] for row in stored}):
        indices = [index for index, row in enumerate(stored) if row["domain"] == domain]
        tallies = {name: chosen(card.tallies[name], indices) for name in card.measures}
        part = from_evidence("triples", card.measures, tallies, shared)
        values[domain] = _values(part, [stored[index] for index in indices])
    return values


def _by_property(card: Scorecard, stored: Rows, scoring: Scoring) -> Fields:
    """Values by property, those with the most gold first, with sentences in which a statement was missed."""
    supported: dict[str, Counter[str]] = {name: Counter(tp=0, fp=0, fn=0) for name in card.by["property"]}
    missed: dict[str, list[Fields]] = {name: [] for name in card.by["property"]}
    for row in stored:
        covered = [triple["statement"] for triple in row["triples"] if triple["kind"] == EXACT]
        for key, statement in [*(("tp", each) for each in covered), *(("fn", each) for each in row["missed"])]:
            if statement["aligned"] and statement.get("supported"):
                supported[statement["property"]][key] += 1
                examples = missed[statement["property"]]
                if key == "fn" and statement.get("context") and len(examples) < EXAMPLES:
                    place = {name: statement[name] for name in ("value", "surface", "context")}
                    examples.append({"article": row["article_title"], "domain": row["domain"], **place})
    return {
        name: {
            "label": scoring.table.label(name),
            **{key: values[key] for key in RATES},
            "count": int(values["tp"] + values["fn"]),
            **{full: int(values[key]) for key, full in COUNTS.items()},
            "recall_supported": rates(supported[name])["recall"],
            "supported_count": supported[name].total(),
            "missed_examples": missed[name],
        }
        for name, values in card.by["property"].items()
    }


def _alignment_gaps(stored: Rows, scoring: Scoring) -> list[Fields]:
    """Properties that predicates which the table lacks may mean: their triples equal statements that nothing covers."""
    support = Counter(
        (triple["triple"][1], name)
        for row in stored
        for triple in row["triples"]
        for name in sorted({*triple.get("may_mean", ())})
    )
    return [
        {"predicate": predicate, "property": name, "label": scoring.table.label(name), "support": count}
        for (predicate, name), count in support.most_common()
    ]


def _calibration_curve(card: Scorecard) -> dict[str, Values]:
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


def _age(dates: Sequence[str]) -> Fields:
    """When the data was fetched, and a warning if it is old."""
    if not dates:
        return {}
    days = age(min(dates)).days
    message = f"the oldest data was fetched {days} days ago; after {MAX_AGE} days, fetch it again"
    warnings = {"warnings": [message]} if days >= MAX_AGE else {}
    return {"fetched": {"oldest": min(dates), "newest": max(dates)}, **warnings}


def load(path: Path) -> Fields:
    """Reads a result file of goldassay or of riverbank; a single ``article_result`` becomes a list of one.

    Raises:
        DataError: The file is no result.
    """
    result = files.json_value(path)
    fields: Fields = result if isinstance(result, dict) else {}
    if "article_result" in fields:
        fields.setdefault("article_results", [fields["article_result"]])
    if not isinstance(fields.get("run_metadata"), dict) or not isinstance(fields.get("article_results"), list):
        raise DataError("not a result of an evaluation against Wikidata", file=path)
    return fields


def rows_file(output: Path) -> Path:
    """The rows of a result: ``latest.json`` has ``latest.rows.jsonl``."""
    return output.with_name(f"{output.stem}.rows.jsonl")


def load_rows(path: Path) -> Iterator[Fields]:
    """The evidence of a result's articles, one at a time.

    Raises:
        DataError: The file is no result, or its rows are missing.
    """
    file = path.parent / Path(str(load(path)["run_metadata"].get("rows"))).name
    if not file.is_file():
        raise DataError("its rows (….rows.jsonl), which hold the evidence of each triple, are missing", file=path)
    return (row for _, row in files.json_lines(file))

"""The result of an evaluation: one JSON shape for one article and for many.

``schema_version``, ``run_metadata``, ``aggregate``, ``by_domain``, ``by_property``, ``calibration_curve``,
``alignment_gaps``, ``article_results``, ``failed_articles``; ``article_result`` if one article was asked for. The
evidence of every triple and every missed statement is in the rows, the file ``run_metadata.rows``.

The values are those of `goldassay.measures.triples.scorecard`: ``precision``, ``recall`` and ``f1`` are closed-world
over aligned properties, ``precision_min`` and ``precision_max`` bound precision in an open world, ``recall_supported``
is over the statements that the article's text says.

A prediction is ``exact`` if it covers a statement; ``partial`` if Wikidata has other values for the property of this
subject; ``duplicate`` if it repeats what is covered; ``novel`` if the property is aligned and Wikidata has no value for
it here; ``no_match`` if the table does not have the predicate. People annotate the last two as discoveries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import dspy

from goldassay._support import files, jsonl
from goldassay._support.cache import age
from goldassay._support.exceptions import DataError
from goldassay.core.evidence import chosen
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.core.metric import Metric
from goldassay.ext.wikidata.alignment import PropertyAlignmentTable
from goldassay.ext.wikidata.articles import Subject, align
from goldassay.measures import triples as measures
from goldassay.measures.triples import novel_discovery_rate, objects, scorecard
from goldassay.measures.triples.mistakes import indexed
from goldassay.measures.triples.objects import TripleMatching
from goldassay.measures.triples.records import MatchedTriples, Triple, related, statements
from goldassay.results.result import RATE_NAMES, Result, from_columns, rates
from goldassay.running.rows import Row
from goldassay.statistics.intervals import interval
from goldassay.text.normal import normal

EXACT = "exact"
PARTIAL = "partial"
DUPLICATE = "duplicate"
NOVEL = "novel"
NO_MATCH = "no_match"
VerdictKey = tuple[str, str, str, str]


@dataclass(frozen=True)
class Scoring:
    """The conventions of an evaluation.

    Args:
        table: The alignment table.
        comparing: How values compare.
        verdicts: Human verdicts on novel triples, by `verdict_key`.
    """

    table: PropertyAlignmentTable = field(default_factory=PropertyAlignmentTable.of)
    comparing: TripleMatching = field(default_factory=TripleMatching)
    verdicts: Mapping[VerdictKey, str] = field(default_factory=dict)

    @cached_property
    def options(self) -> Fields:
        """The options of every measure of triples."""
        table = {"alignment": self.table.pairs, "prefixes": self.table.prefixes}
        return {name: getattr(self.comparing, name) for name in TripleMatching.__dataclass_fields__} | table

    @property
    def metric(self) -> Metric:
        """F1 of statements, with its precision and recall."""
        weights = {"f1": 1.0, "precision": 0.0, "recall": 0.0}
        return Metric({measures.F1(rate=rate, **self.options): weight for rate, weight in weights.items()})

    def example(self, subject: Subject) -> dspy.Example:
        """An article as a gold example."""
        return dspy.Example(
            id=subject.key,
            key=subject.key,
            text=subject.text,
            title=subject.title,
            triples=self.gold(subject),
            strata={"domain": subject.domain},
        ).with_inputs("key", "text", "title")

    def gold(self, subject: Subject) -> list[JsonObject]:
        """The statements of the item, each with whether the text supports it, in which words and which sentence."""
        triples = subject.gold()
        if not subject.text:
            return triples
        text = indexed(subject.text)
        for statement in statements({"triples": triples}, None, TripleMatching(**self.options)).gold:
            triple: Any = statement.triple
            span = text.find(statement)
            triple["supported"] = None if span is None else bool(span)
            if isinstance(span, tuple):
                triple |= {"surface": text.text[slice(*span)], "context": text.sentence(span)}
        return triples

    def predictions(self, subject: Subject, triples: Iterable[object]) -> list[JsonObject]:
        """A program's triples, resolved, aligned, and with people's verdicts."""
        predictions = align(triples, subject, self.table)
        for triple in predictions:
            triple["verdict"] = self.verdicts.get(verdict_key(subject.title, *triple["original"]))
        return predictions

    def evidence(self, matching: MatchedTriples) -> JsonObject:
        """The kind of each prediction, the missed statements of an article, and counts that add up over articles."""
        triples = []
        for index, prediction in enumerate(matching.pred):
            triple = prediction.triple
            statement = None  # that the prediction covers, repeats or contradicts
            if index in matching.pairs:
                kind = EXACT
                statement = matching.gold[matching.pairs[index]]
            elif not triple["aligned"]:
                kind = NO_MATCH
            elif near := [gold for gold in matching.gold if related(gold, prediction)]:
                values = ((gold.value, objects.read(triple, gold.kind)) for gold in near)
                kind = DUPLICATE if any(self.comparing.same(*pair) for pair in values) else PARTIAL
                statement = near[0]
            else:
                kind = NOVEL
            state = {
                "triple": triple["original"],
                "kind": kind,
                "property": triple["predicate_id"] or sorted(prediction.properties),
                **{name: triple[name] for name in ("confidence", "inverted", "verdict")},
                **triple["resolved"],
            }
            if kind == NO_MATCH:
                state["may_mean"] = sorted(
                    str(missed.triple["predicate"])
                    for missed in matching.missed
                    if triple["subject_id"] in (missed.triple["subject_id"], None)
                    and self.comparing.same(missed.value, objects.read(triple, missed.kind))
                )
            triples.append(state | ({"statement": statement_state(statement)} if statement else {}))
        counts = Counter(triple["kind"] for triple in triples)
        counts |= Counter(predicted=len(triples), statements=len(matching.gold))
        counts["unaligned"] = sum(not statement.aligned for statement in matching.gold)
        return {
            "counts": counts,
            "triples": triples,
            "missed": [statement_state(statement) for statement in matching.missed],
        }


def verdict_key(article: str, subject: str, predicate: str, value: str) -> VerdictKey:
    """Identifies a triple for annotations: the article and the triple as the program gave it."""
    return normal(article), normal(subject), predicate.strip(), normal(value) or value.strip()


def statement_state(statement: Triple) -> JsonObject:
    """A Wikidata statement as JSON."""
    triple = statement.triple
    return {
        "property": str(triple["predicate"]),
        "value": objects.written(triple["object"]),
        "value_id": triple.get("object_id"),
        "type": str(triple.get("object_type") or ""),
        "aligned": statement.aligned,
        **{name: triple[name] for name in ("supported", "surface", "context") if name in triple},
    }


COUNTS = {"tp": "true_positives", "fp": "false_positives", "fn": "false_negatives"}
BUCKETS = ("0.0-0.25", "0.25-0.5", "0.5-0.75", "0.75-1.0")
VALUE_NAMES = (
    *RATE_NAMES, "macro_precision", "macro_recall", "macro_f1", "precision_min", "precision_max", "recall_supported",
    "calibration_pearson", "ece", "brier", "novel_discovery_rate",
)  # fmt: skip


def fold(
    rows: Sequence[Row],
    articles: Sequence[Subject],
    gold: Sequence[dspy.Example],
    failed: Sequence[Mapping[str, object]],
    metadata: Mapping[str, object],
    scoring: Scoring,
    output: Path,
) -> JsonObject:
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
    empty: JsonObject = {"triples": []}
    predictions = [empty if row.error else row.prediction for row in rows]
    card: Any = scorecard(gold, predictions, **scoring.options)
    stored = [
        {
            "article_title": article.title,
            "domain": article.domain,
            "qid": article.item.id,
            "tally": card.measures["f1"].tally(matching).state(),
            **scoring.evidence(matching),
        }
        for article, matching in zip(articles, card.batches.of(card.measures["f1"]), strict=True)
    ]
    file = rows_file(output)
    jsonl.replace(file, "".join(f"{jsonl.dumps(row)}\n" for row in stored))
    results = [
        {
            "article_title": article.title,
            "wikidata_qid": article.item.id,
            "domain": article.domain,
            **rates(evidence["tally"]),
            **_counts(evidence["tally"], evidence["counts"]),
            **article.about,
            **({"error": row.error} if row.error else {}),
            "seconds": round(row.latency_s or 0.0, 3),
        }
        for article, row, evidence in zip(articles, rows, stored, strict=True)
    ]
    by_domain = {}
    for domain in sorted({article.domain for article in articles}):
        indices = [index for index, article in enumerate(articles) if article.domain == domain]
        columns = {name: chosen(card.columns[name], indices) for name in card.measures}
        card_of_domain = from_columns("triples", card.measures, columns, card.batches)
        by_domain[domain] = _values(card_of_domain, [stored[index] for index in indices])
    fetched: JsonObject = {}
    if dates := [date for article in articles for date in article.fetched]:
        fetched["fetched"] = {"oldest": min(dates), "newest": max(dates)}
        days = age(min(dates)).days
        most = 90
        if days >= most:
            message = f"the oldest data was fetched {days} days ago; after {most} days, fetch it again"
            fetched["warnings"] = [message]
    intervals = {}  # 95 %, over articles
    for name in RATE_NAMES if len(rows) > 1 else ():
        intervals[name] = interval(card.columns[name], card.measures[name].zero).state()
    support = Counter(
        (triple["triple"][1], name)
        for row in stored
        for triple in row["triples"]
        for name in sorted({*triple.get("may_mean", ())})
    )
    # Properties that predicates which the table lacks may mean: their triples equal statements that nothing covers.
    gaps = [
        {"predicate": predicate, "property": name, "label": scoring.table.label(name), "support": count}
        for (predicate, name), count in support.most_common()
    ]
    curve = {}
    for index, name in enumerate(BUCKETS):
        count, confidence, correct = map(float, card.totals["calibration_pearson"].get(index, (0, 0, 0)))
        curve[name] = {
            "count": int(count),
            "midpoint": (index + 0.5) / len(BUCKETS),
            "mean_confidence": confidence / count if count else None,
            "observed_accuracy": correct / count if count else None,
        }
    return {
        "schema_version": 2,
        "run_metadata": {
            **metadata,
            "rows": file.name,
            "articles_evaluated": len(articles),
            "articles_failed": len(failed),
            "articles_without_answer": sum(bool(row.error) for row in rows),
            **fetched,
        },
        "aggregate": {**_values(card, stored), "intervals": intervals},
        "by_domain": by_domain,
        "by_property": _by_property(card, stored, scoring),
        "calibration_curve": curve,
        "alignment_gaps": gaps,
        "article_results": results,
        "failed_articles": list(failed),
        **({"article_result": results[0]} if metadata.get("mode") == "single_article" and results else {}),
    }


def _values(card: Result, stored: Sequence[Record]) -> JsonObject:
    """The values of a set of articles by name; None without evidence."""
    total = sum((row["counts"] for row in stored), Counter[str]())
    verdicts = (item["verdict"] for row in stored for item in row["triples"] if item["kind"] != EXACT)
    return {
        "articles": len(stored),
        **_counts(card.counts["triples"], total),
        **{name: card.values.get(name) for name in VALUE_NAMES},
        "match_kinds": {name: total[name] for name in (EXACT, PARTIAL, DUPLICATE, NOVEL, NO_MATCH)},
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


def _by_property(card: Result, stored: Sequence[Record], scoring: Scoring) -> JsonObject:
    """Values by property, those with the most gold first, with sentences in which a statement was missed."""
    supported: dict[str, Counter[str]] = {name: Counter(tp=0, fp=0, fn=0) for name in card.by["property"]}
    missed: dict[str, list[JsonObject]] = {name: [] for name in card.by["property"]}
    for row in stored:
        for triple in row["triples"]:
            if triple["kind"] == EXACT and triple["statement"]["aligned"] and triple["statement"].get("supported"):
                supported[triple["statement"]["property"]]["tp"] += 1
        for statement in row["missed"]:
            if statement["aligned"] and statement.get("supported"):
                supported[statement["property"]]["fn"] += 1
                examples = missed[statement["property"]]
                if statement.get("context") and len(examples) < 5:
                    example = {name: statement[name] for name in ("value", "surface", "context")}
                    examples.append({"article": row["article_title"], "domain": row["domain"], **example})
    return {
        name: {
            "label": scoring.table.label(name),
            **{key: values[key] for key in RATE_NAMES},
            "count": int(values["tp"] + values["fn"]),
            **{full: int(values[key]) for key, full in COUNTS.items()},
            "recall_supported": rates(supported[name])["recall"],
            "supported_count": supported[name].total(),
            "missed_examples": missed[name],
        }
        for name, values in card.by["property"].items()
    }


def load(path: Path) -> Fields:
    """Reads a result file of goldassay or of riverbank; a single ``article_result`` becomes a list of one.

    Raises:
        DataError: The file is not a result.
    """
    result = files.json_value(path)
    fields: JsonObject = result if isinstance(result, dict) else {}
    if "article_result" in fields:
        fields.setdefault("article_results", [fields["article_result"]])
    if not isinstance(fields.get("run_metadata"), dict) or not isinstance(fields.get("article_results"), list):
        raise DataError("not a result of an evaluation against Wikidata", file=path)
    return fields


def rows_file(output: Path) -> Path:
    """The rows of a result: ``latest.json`` has ``latest.rows.jsonl``."""
    return output.with_name(f"{output.stem}.rows.jsonl")


def load_rows(path: Path) -> Iterator[JsonObject]:
    """The evidence of a result's articles, one at a time.

    Raises:
        DataError: The file is not a result, or its rows are missing.
    """
    file = path.parent / Path(str(load(path)["run_metadata"].get("rows"))).name
    if not file.is_file():
        raise DataError("its rows (….rows.jsonl), which hold the evidence of each triple, are missing", file=path)
    return (row for _, row in files.json_lines(file))

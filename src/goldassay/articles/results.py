"""The result of a run: one shape for one article and for many, folded from the rows, readable by the founding kit.

``schema_version``, ``run_metadata``, ``aggregate``, ``by_domain``, ``by_property``, ``calibration_curve``,
``alignment_gaps``, ``article_results``, ``failed_articles``; ``article_result`` where one article was asked for. The
evidence of every triple and every missed statement stays in the rows, which ``run_metadata.rows`` names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.articles import rows as stored
from goldassay.articles.benchmark import Asked
from goldassay.articles.gaps import Gaps
from goldassay.articles.totals import Totals
from goldassay.exceptions import DataError
from goldassay.scorecard import rates
from goldassay.sources.cache import age, old
from goldassay.tally import Counts, PrecisionCounts, RecallCounts
from goldassay.wikibase.alignment import PropertyAlignmentTable

SCHEMA_VERSION = 1
STALE = 90
EXAMPLES = 5
KEPT = (
    "predicted", "statements", "unaligned_statements", "support", "kinds", "verdicts", "about_others",
)  # fmt: skip


def folded(
    file: Path, asked: Iterable[Asked], metadata: Mapping[str, Any], table: PropertyAlignmentTable
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

"""Evaluations of articles against Wikidata on the terminal: values, recall gaps, patches, novel triples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goldassay.reporting.cells import number
from goldassay.reporting.terminal import echo, print_table, warn

Report = Mapping[str, Any]
LIMIT = 15  # rows of a table
GAPS = 5  # gaps of the alignment table
VALUES = {
    "precision": "of aligned triples, if Wikidata is complete",
    "precision_min": "of all triples, if unknown ones are wrong",
    "precision_max": "of all triples, if unknown ones are right",
    "recall": "of statements of aligned properties",
    "recall_supported": "of those that the text says",
    "f1": "of precision and recall",
    "macro_f1": "mean over properties",
    "calibration_pearson": "confidence against accuracy, by bucket",
    "ece": "expected calibration error",
    "novel_discovery_rate": "correct / (correct + incorrect), as judged",
}


def evaluation(result: Report) -> None:
    """The values of an evaluation, its domains and properties, and the articles that failed."""
    total = result["aggregate"]
    about = result["run_metadata"]
    intervals = {**total["intervals"], "novel_discovery_rate": total["verdicts"]}
    values = [[key, meaning, _estimate(total[key], intervals.get(key, {}))] for key, meaning in VALUES.items()]
    title = f"{about.get('article') or about.get('dataset') or ''}: {total['articles']} articles against Wikidata"
    print_table(title, ["value", "meaning", "[95 %]"], values, left=2)
    kinds = ", ".join(f"{count} {kind}" for kind, count in total["match_kinds"].items() if count)
    echo(f"{total['predicted_triples']} triples: {kinds or 'none'}.")
    columns = ("precision", "recall", "recall_supported", "f1")
    for facet in ("domain", "property"):
        cells = []
        for name, row in result[f"by_{facet}"].items():
            size = row["true_positives"] + row["false_negatives"]
            cells.append([f"{name} {row.get('label', '')}", size, *(number(row[column]) for column in columns)])
        print_table(f"by {facet}", [facet, "gold", "precision", "recall", "recall of said", "f1"], cells[:LIMIT])
    for gap in result["alignment_gaps"][:GAPS]:
        meaning = f"{gap['property']} ({gap['label']})"
        echo(f"table gap: {gap['predicate']} may mean {meaning}, supported by {gap['support']} triples")
    failed = [("failed", article) for article in result["failed_articles"]]
    silent = [
        ("the program failed, so all gold is missed", article)
        for article in result["article_results"]
        if "error" in article
    ]
    for problem, article in [*failed[:LIMIT], *silent[:LIMIT]]:
        echo(f"{problem}: {article['article_title']}: {' '.join(str(article['error']).split())}")
    warn(*(about.get("warnings") or ()))


def _estimate(value: float | None, interval: Report) -> str:
    if interval.get("low") is None:
        return number(value)
    return f"{number(value)} [{interval['low']:.3f}, {interval['high']:.3f}]"


def gaps(report: Report) -> None:
    """Properties with low recall."""
    rows = []
    for gap in report["gaps"][:LIMIT]:
        example = gap["extraction_examples"][0]["example_text"] if gap["extraction_examples"] else gap["notes"]
        name = f"{gap['property_id']} {gap['property_label']}"
        rows.append([name, example, gap["matched_count"], gap["total_count"], number(gap["recall"])])
    columns = ["property", "example", "found", "gold", "recall"]
    print_table(f"recall below {report['threshold']:g}", columns, rows, left=2)
    if report["unknown_recall"]:
        echo(f"No recall is known of {', '.join(report['unknown_recall'])}: the file has only precision.")


def patches(report: Report) -> None:
    """The patches that the errors suggest."""
    rows = [
        [patch["action"], patch["rationale"], patch.get("text") or patch.get("example", {}).get("text", "")]
        for patch in report["prompt_patches"]
    ]
    print_table("patches", ["action", "reason", "edit"], rows, left=3)
    missed = len(report["false_negative_patterns"])
    wrong = len(report["false_positive_patterns"])
    echo(f"{missed} patterns of missed statements, {wrong} of wrong values.")


def novel(report: Report) -> None:
    """The novel discovery rate, by domain and overall."""
    from goldassay.measures.triples import VERDICTS

    rows = [
        [name, _estimate(row["novel_discovery_rate"], row), *(f"{row[verdict]:g}" for verdict in VERDICTS)]
        for name, row in {**report["by_domain"], "all": report}.items()
    ]
    print_table("novel discovery rate", ["domain", "rate [95 %]", *VERDICTS], rows)
    if report["judged"] < report["annotations"]:
        echo(f"{report['annotations'] - report['judged']} of {report['annotations']} are still open.")

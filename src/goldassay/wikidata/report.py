"""Evaluations against Wikidata in the terminal, and the annotation of triples there."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from goldassay.reporting import terminal
from goldassay.reporting.terminal import number, print_table
from goldassay.wikidata import annotations as verdict_file

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
LIMIT = 15
Report = Mapping[str, Any]


def result_tables(result: Report) -> None:
    """The values of an evaluation, its domains and properties, and what failed."""
    total, about = result["aggregate"], result["run_metadata"]
    name = about.get("article") or about.get("dataset") or ""
    intervals = {**total["intervals"], "novel_discovery_rate": total["verdicts"]}
    rows = [[key, meaning, number(total[key]) + _bounds(intervals.get(key))] for key, meaning in VALUES.items()]
    title = f"{name}: {total['articles']} article{'s' * (total['articles'] != 1)} against Wikidata"
    print_table(title, ["value", "meaning", "[95 %]"], rows, left=2)
    kinds = ", ".join(f"{count} {kind}" for kind, count in total["match_kinds"].items() if count)
    terminal.plain(f"{total['riverbank_triples']} triples: {kinds or 'none'}.")
    if len(result["by_domain"]) > 1:
        _rate_table("domain", result["by_domain"])
    _rate_table("property", {f"{key} {row['label']}": row for key, row in result["by_property"].items()})
    for gap in result["alignment_gaps"][:5]:
        meaning = f"{gap['property']} ({gap['label']})"
        terminal.plain(f"table gap: {gap['predicate']} may mean {meaning}, supported by {gap['support']} triples")
    without_answer = [article for article in result["article_results"] if "error" in article]
    for problem, articles in (
        ("failed", result["failed_articles"]),
        ("the program failed, so all gold is missed", without_answer),
    ):
        for article in articles[:LIMIT]:
            terminal.plain(f"{problem}: {article['article_title']}: {' '.join(str(article['error']).split())}")
        if len(articles) > LIMIT:
            terminal.plain(f"… and {len(articles) - LIMIT} more failed")
    for warning in about.get("warnings") or ():
        terminal.warn(warning)


def _bounds(interval: Report | None) -> str:
    return f" [{interval['low']:.3f}, {interval['high']:.3f}]" if interval and interval["low"] is not None else ""


def _rate_table(facet: str, rows: Mapping[str, Report]) -> None:
    """Precision, recall and F1 by domain or property."""
    columns = ("precision", "recall", "recall_supported", "f1")
    cells = [
        [name, row["true_positives"] + row["false_negatives"], *(number(row[column]) for column in columns)]
        for name, row in list(rows.items())[:LIMIT]
    ]
    print_table(f"by {facet}", [facet, "gold", "precision", "recall", "recall of said", "f1"], cells)
    if len(rows) > LIMIT:
        terminal.plain(f"… and {len(rows) - LIMIT} more in the result")


def gap_table(report: Report) -> None:
    """Properties with low recall."""
    rows = []
    for gap in report["gaps"][:LIMIT]:
        example = gap["extraction_examples"][0]["example_text"] if gap["extraction_examples"] else gap["notes"]
        name, counts = f"{gap['property_id']} {gap['property_label']}", (gap["matched_count"], gap["total_count"])
        rows.append([name, example, *counts, number(gap["recall"])])
    columns = ["property", "example", "found", "gold", "recall"]
    print_table(f"recall below {report['threshold']:g}", columns, rows, left=2)
    if report["unknown_recall"]:
        terminal.plain(f"No recall is known of {', '.join(report['unknown_recall'])}: the file has only precision.")


def patch_table(report: Report) -> None:
    """The patches that the errors suggest."""
    rows = [
        [patch["action"], patch["rationale"], patch.get("text") or patch.get("example", {}).get("text", "")]
        for patch in report["prompt_patches"]
    ]
    print_table("patches", ["action", "reason", "edit"], rows, left=3)
    missed, wrong = report["false_negative_patterns"], report["false_positive_patterns"]
    terminal.plain(f"{len(missed)} patterns of missed statements, {len(wrong)} of wrong values.")


def problem_list(problems: Sequence[Mapping[str, str]], size: str) -> None:
    """The defects of an alignment table or a ground truth."""
    for problem in problems:
        terminal.plain(f"{problem['kind']:<14} {problem['name']}: {problem['message']}")
    terminal.plain(f"{size}, {len(problems)} problem{'' if len(problems) == 1 else 's'}.")


def discovery_table(report: Report) -> None:
    """The novel discovery rate, by domain and overall."""
    counts = {"correct": "right", "incorrect": "wrong", "uncertain": "unsure", "in_wikidata": "known"}
    rows = [
        [name, number(row["novel_discovery_rate"]) + _bounds(row), *(f"{row[key]:g}" for key in counts)]
        for name, row in {**report["by_domain"], "all": report}.items()
    ]
    print_table("novel discovery rate", ["domain", "rate [95 %]", *counts.values()], rows)
    if report["judged"] < report["annotations"]:
        terminal.plain(f"{report['annotations'] - report['judged']} of {report['annotations']} are still open.")
    for note in report["notes"]:
        terminal.warn(note)


HELP = "c correct   i incorrect   u uncertain   w is in Wikidata   s skip   b back   q stop"


def annotate(path: Path, annotator: str) -> None:
    """Asks for a verdict on each open triple, one key each, and saves every answer."""
    entries = verdict_file.load(path)
    still_open = [entry for entry in entries if not entry.get("verdict")]
    terminal.plain(f"{len(entries) - len(still_open)} of {len(entries)} judged.  {HELP}")
    place = 0
    while place < len(still_open):
        entry = still_open[place]
        subject, predicate, value = entry["triple"]
        terminal.line(f"\n{place + 1}/{len(still_open)}  {entry.get('article', '')}\n{subject}  {predicate}  {value}")
        key = _read_key()
        if key == "q":
            break
        if verdict := verdict_file.KEYS.get(key):
            entry |= {"verdict": verdict, "annotator": annotator}
            verdict_file.save(path, entries)
            terminal.line(f"  {verdict}")
        elif key not in ("s", "b"):
            terminal.plain(f"  {HELP}")
            continue
        place = max(0, place - 1) if key == "b" else place + 1
    judged = len(verdict_file.judged(entries))
    terminal.plain(f"{judged} of {len(entries)} judged, {len(entries) - judged} to go: {path}")


def _read_key() -> str:
    """One key of a terminal, or one character of a pipe; the end of the input and Ctrl-C stop."""
    key = " "
    try:
        while key and key.isspace():
            key = typer.getchar() if sys.stdin.isatty() else sys.stdin.read(1)
    except (EOFError, KeyboardInterrupt):
        return "q"
    return key.casefold()[:1] or "q"

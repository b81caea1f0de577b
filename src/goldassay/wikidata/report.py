"""Evaluations against Wikidata in the terminal, and the annotation of triples there."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from goldassay.reporting import terminal
from goldassay.reporting.terminal import number, print_table
from goldassay.wikidata import annotations as verdict_file

VALUES = {
    "precision": "of aligned triples, if Wikidata is complete",
    "precision_local": "where Wikidata has values for the property",
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


def result_tables(result: Mapping[str, Any]) -> None:
    """The values of an evaluation, its domains and properties, and what failed."""
    total, about = result["aggregate"], result["run_metadata"]
    name = about.get("article") or about.get("dataset") or ""
    count = f"{total['articles']} article{'' if total['articles'] == 1 else 's'}"
    rows = []
    rate = {"low": total["novel_discovery_rate_low"], "high": total["novel_discovery_rate_high"]}
    intervals = {**total.get("intervals", {}), "novel_discovery_rate": rate if rate["low"] is not None else None}
    for key, meaning in VALUES.items():
        interval = intervals.get(key)
        bounds = f" [{interval['low']:.3f}, {interval['high']:.3f}]" if interval else ""
        rows.append([key, meaning, number(total.get(key)) + bounds])
    print_table(f"{name}: {count} against Wikidata", ["value", "meaning", "[95 %]"], rows, left=2)
    kinds = ", ".join(f"{count} {kind}" for kind, count in total["match_kinds"].items() if count)
    terminal.plain(f"{total['total_riverbank_triples']} triples: {kinds or 'none'}.")
    if len(result["by_domain"]) > 1:
        _rate_table("domain", result["by_domain"])
    _rate_table("property", {f"{key} {row['label']}": row for key, row in result["by_property"].items()})
    for gap in result["alignment_gaps"][:5]:
        meaning = f"{gap['property']} ({gap['label']})" if gap["label"] != gap["property"] else gap["property"]
        support = f"{gap['support']} of {gap['said']} triples"
        terminal.plain(f"table gap: {gap['predicate']} may mean {meaning}, supported by {support}")
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


def _rate_table(facet: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Precision, recall and F1 by domain or property."""
    if not rows:
        return
    cells = []
    for name, row in list(rows.items())[:LIMIT]:
        gold = row["true_positives"] + row["false_negatives"]
        predicted = row["true_positives"] + row["false_positives"]
        evidence = {"precision": predicted, "recall": gold, "recall_supported": 1, "f1": gold + predicted}
        cells.append([name, gold, *(number(row[key] if n else None) for key, n in evidence.items())])
    print_table(f"by {facet}", [facet, "gold", "precision", "recall", "recall of said", "f1"], cells)
    if len(rows) > LIMIT:
        terminal.plain(f"… and {len(rows) - LIMIT} more in the result")


def gap_table(report: Mapping[str, Any]) -> None:
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


def patch_table(report: Mapping[str, Any]) -> None:
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


def discovery_table(report: Mapping[str, Any]) -> None:
    """The novel discovery rate, by domain and overall."""
    counts = {"correct": "right", "incorrect": "wrong", "uncertain": "unsure", "in_wikidata": "known"}
    rows = []
    for name, row in {**report["by_domain"], "all": report}.items():
        bounds = f"{row['low']:.2f}–{row['high']:.2f}" if row["low"] is not None else "–"
        rows.append([name, number(row["novel_discovery_rate"]), bounds, *(f"{row[key]:g}" for key in counts)])
    print_table("novel discovery rate", ["domain", "rate", "95 %", *counts.values()], rows)
    if report["judged"] < report["annotations"]:
        terminal.plain(f"{report['annotations'] - report['judged']} of {report['annotations']} are still open.")
    for note in report["notes"]:
        terminal.warn(note)


HELP = "c correct   i incorrect   u uncertain   w is in Wikidata   s skip   b back   q stop"


def annotate(path: Path, annotator: str) -> None:
    """Asks for a verdict on each open triple, one key each, and saves every answer."""
    entries = verdict_file.load(path)
    still_open = [index for index, entry in enumerate(entries) if not entry.get("verdict")]
    terminal.plain(f"{len(entries) - len(still_open)} of {len(entries)} judged.  {HELP}")
    place = 0
    while place < len(still_open):
        entry = entries[still_open[place]]
        subject, predicate, value = (escape(part) for part in entry["triple"])
        where = escape(f"{entry.get('article', '')}, {entry.get('domain', '')}")
        terminal.line(
            f"\n[dim]{still_open[place] + 1}/{len(entries)}  {where}[/]\n{subject}  [bold]{predicate}[/]  {value}"
        )
        key = _read_key()
        if key == "q":
            break
        if key == "b":
            place = max(0, place - 1)
            continue
        if key in verdict_file.KEYS:
            entry |= {"verdict": verdict_file.KEYS[key], "annotator": annotator}
            entry.setdefault("evidence", "")
            verdict_file.save(path, entries)
            terminal.line(f"  [bold]{verdict_file.KEYS[key]}[/]")
        elif key != "s":
            terminal.plain(f"  {HELP}")
            continue
        place += 1
    judged = sum(bool(entry.get("verdict")) for entry in entries)
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

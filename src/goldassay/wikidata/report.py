"""Evaluations against Wikidata for the terminal, and the judging of triples there.

A verdict is one key, saved after each, gone on with where one stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape

from goldassay.reporting import terminal
from goldassay.reporting.terminal import console, number, under_title
from goldassay.wikidata import annotations as people
from goldassay.wikidata.alignment_checks import Problem

VALUES = (
    ("precision", "of aligned triples, Wikidata taken as complete"),
    ("precision_local", "where Wikidata has values for the property"),
    ("precision_min", "of all triples, unknown ones taken as wrong"),
    ("precision_max", "of all triples, unknown ones taken as right"),
    ("recall", "of statements of aligned properties"),
    ("recall_supported", "of those whose value the text says"),
    ("f1", "of precision and recall"),
    ("macro_f1", "mean over properties"),
    ("calibration_pearson", "confidence buckets against accuracy"),
    ("ece", "expected calibration error"),
    ("novel_discovery_rate", "correct / (correct + incorrect), as judged"),
)
MOST = 15
R = TypeVar("R", bound=Mapping[str, object])


def result(found: Mapping[str, Any], place: Path) -> None:
    """The values of a run, its domains, its properties with the most gold, and what went wrong."""
    out, total = console(), found["aggregate"]
    about = found["run_metadata"]
    name = about.get("article") or about.get("dataset") or ""
    many = f"{total['articles']} article{'' if total['articles'] == 1 else 's'}"
    table = under_title(f"{escape(str(name))}: {many} against Wikidata")
    table.add_column("value", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("what it is")
    for key, words in VALUES:
        shown = number(total.get(key))
        interval = total.get("intervals", {}).get(key)
        if interval:
            shown += f" [{interval['low']:.3f}, {interval['high']:.3f}]"
        elif key == "novel_discovery_rate" and total.get(key) is not None:
            low, high = total["novel_discovery_rate_low"], total["novel_discovery_rate_high"]
            shown += f" [{low:.3f}, {high:.3f}]"
        table.add_row(key, escape(shown), words)
    out.print(table)
    kinds = ", ".join(f"{count} {kind}" for kind, count in total["match_kinds"].items() if count)
    out.print(f"{total['total_riverbank_triples']} triples: {kinds or 'none'}.")
    rated("domain", found["by_domain"] if len(found["by_domain"]) > 1 else {})
    rated("property", {f"{key} {row['label']}": row for key, row in found["by_property"].items()})
    for one in found["alignment_gaps"][:5]:
        means = f"{one['property']} ({one['label']})" if one["label"] != one["property"] else one["property"]
        out.print(
            f"table gap: {one['predicate']} may mean {means}, as {one['support']} of {one['said']} say", markup=False
        )
    failures("failed", found["failed_articles"])
    failures("the program failed, all its gold is missed", [one for one in found["article_results"] if "error" in one])
    for warning in about.get("warnings") or ():
        console(error=True).print(f"[yellow]warning:[/] {escape(warning)}", markup=True)
    out.print(f"Result: {place}", markup=False)


def failures(what: str, articles: Sequence[Mapping[str, object]]) -> None:
    """The first articles that failed, a line each, and how many more did."""
    out = console()
    for one in articles[:MOST]:
        out.print(f"{what}: {one['article_title']}: {' '.join(str(one['error']).split())}", markup=False)
    if len(articles) > MOST:
        out.print(f"… and {len(articles) - MOST} more failed")


def rated(facet: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Precision, recall and F1 by domain or property."""
    if not rows:
        return
    table = under_title(f"by {facet}")
    table.add_column(facet)
    for head in ("gold", "precision", "recall", "said", "f1"):
        table.add_column(head, justify="right")
    for name, row in list(rows.items())[:MOST]:
        gold = row["true_positives"] + row["false_negatives"]
        said = row["true_positives"] + row["false_positives"]
        known = {"precision": said, "recall": gold, "recall_supported": 1, "f1": gold + said}
        rates = (number(row[key] if evidence else None) for key, evidence in known.items())
        table.add_row(escape(name), str(gold), *rates)
    out = console()
    out.print(table)
    if len(rows) > MOST:
        out.print(f"… and {len(rows) - MOST} more in the result")


def told(report: R, place: Path | None, as_json: bool, show: Callable[[R], None]) -> None:
    """A report as JSON, or as a table with its place."""
    if as_json:
        terminal.answer(report)
        return
    show(report)
    if place:
        console().print(f"Report: {place}", markup=False)


def gaps(report: Mapping[str, Any]) -> None:
    """Properties that are found too rarely."""
    table = under_title(f"recall below {report['threshold']:g}")
    for head in ("property", "found", "gold", "recall", "such as"):
        table.add_column(head, justify="right" if head in ("found", "gold", "recall") else "left")
    for one in report["gaps"][:MOST]:
        shown = one["extraction_examples"][0]["example_text"] if one["extraction_examples"] else one["notes"]
        name = f"{one['property_id']} {one['property_label']}"
        table.add_row(
            escape(name), str(one["matched_count"]), str(one["total_count"]), number(one["recall"]), escape(shown)
        )
    console().print(table)
    if report["unknown_recall"]:
        named = ", ".join(report["unknown_recall"])
        console().print(f"No recall is known of {named}: precision alone does not say it.", markup=False)


def patches(report: Mapping[str, Any]) -> None:
    """The patches that a run's errors suggest."""
    table = under_title("patches")
    for head in ("action", "why", "edit"):
        table.add_column(head)
    for one in report["prompt_patches"]:
        edit = one.get("text") or one.get("example", {}).get("text", "")
        table.add_row(one["action"], escape(one["rationale"]), escape(str(edit)))
    console().print(table)
    missed, wrong = report["false_negative_patterns"], report["false_positive_patterns"]
    console().print(f"{len(missed)} patterns of what was missed, {len(wrong)} of what was wrong.")


def problems(found: Sequence[Problem], size: str, named: bool = False) -> None:
    """The defects of an alignment table, or, each with its line's id, of a ground truth."""
    out = console()
    for one in found:
        out.print(f"{one.kind:<14} {f'{one.name}: ' if named else ''}{one.message}", markup=False)
    out.print(f"{size}, {len(found)} problem{'' if len(found) == 1 else 's'}.")


def discovery(report: Mapping[str, Any]) -> None:
    """The novel discovery rate, over all and by domain."""
    table = under_title("novel discovery rate")
    table.add_column("domain", no_wrap=True)
    for head in ("rate", "95 %", "right", "wrong", "unsure", "known"):
        table.add_column(head, justify="right", no_wrap=True)
    for name, row in {**report["by_domain"], "all": report}.items():
        known = row["low"] is not None
        counts = (f"{row[key]:g}" for key in ("correct", "incorrect", "uncertain", "in_wikidata"))
        bounds = f"{row['low']:.2f}–{row['high']:.2f}" if known else "–"
        table.add_row(escape(name), number(row["novel_discovery_rate"]), bounds, *counts)
    console().print(table)
    if report["judged"] < report["annotations"]:
        console().print(f"{report['annotations'] - report['judged']} of {report['annotations']} are still to judge.")
    for note in report["notes"]:
        console(error=True).print(f"[yellow]warning:[/] {escape(note)}", markup=True)


HELP = "c correct   i incorrect   u uncertain   w is in Wikidata   s skip   b back   q stop"


def annotate(path: Path, annotator: str) -> None:
    """Ask about each triple without a verdict."""
    entries = people.load(path)
    out = console()
    open_ones = [index for index, entry in enumerate(entries) if not entry.get("verdict")]
    out.print(f"{len(entries) - len(open_ones)} of {len(entries)} judged.  {HELP}", markup=False)
    at = 0
    while at < len(open_ones):
        entry = entries[open_ones[at]]
        _show(out, entry, open_ones[at] + 1, len(entries))
        key = _key()
        if key == "q":
            break
        if key == "b":
            at = max(0, at - 1)
            continue
        if key in people.KEYS:
            entry["verdict"], entry["annotator"] = people.KEYS[key], annotator
            entry.setdefault("evidence", "")
            people.save(path, entries)
            out.print(f"  [bold]{people.KEYS[key]}[/]", markup=True)
        elif key != "s":
            out.print(f"  {HELP}", markup=False)
            continue
        at += 1
    judged = sum(bool(entry.get("verdict")) for entry in entries)
    out.print(f"{judged} of {len(entries)} judged, {len(entries) - judged} to go: {path}", markup=False)


def _show(out: Console, entry: dict[str, Any], number: int, total: int) -> None:
    subject, predicate, value = (escape(part) for part in entry["triple"])
    where = f"{entry.get('article', '')}, {entry.get('domain', '')}"
    out.print(f"\n[dim]{number}/{total}  {escape(where)}[/]\n{subject}  [bold]{predicate}[/]  {value}", markup=True)


def _key() -> str:
    """One key of a terminal, one character of a pipe; the end of the input and Ctrl-C stop."""
    try:
        found = typer.getchar() if sys.stdin.isatty() else sys.stdin.read(1)
        while found in ("\n", "\r", " "):
            found = typer.getchar() if sys.stdin.isatty() else sys.stdin.read(1)
    except (EOFError, KeyboardInterrupt):
        return "q"
    return found.casefold()[:1] or "q"

"""Judging triples in the terminal: one key a verdict, saved after each, gone on with where one stopped."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from goldassay.articles import novel
from goldassay.reporting.terminal import console

HELP = "c correct   i incorrect   u uncertain   w is in Wikidata   s skip   b back   q stop"


def annotate(path: Path, annotator: str) -> None:
    """Ask about each triple without a verdict."""
    entries = novel.load(path)
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
        if key in novel.KEYS:
            entry["verdict"], entry["annotator"] = novel.KEYS[key], annotator
            entry.setdefault("evidence", "")
            novel.save(path, entries)
            out.print(f"  [bold]{novel.KEYS[key]}[/]", markup=True)
        elif key != "s":
            out.print(f"  {HELP}", markup=False)
            continue
        at += 1
    judged = sum(bool(entry.get("verdict")) for entry in entries)
    out.print(f"{judged} of {len(entries)} judged, {len(entries) - judged} to go: {path}", markup=False)


def _show(out: Any, entry: dict[str, Any], number: int, total: int) -> None:
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

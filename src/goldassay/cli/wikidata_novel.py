"""``goldassay wikidata novel …`` and ``check-alignment``: what people judge, and what is wrong with a table."""

from __future__ import annotations

from pathlib import Path

from goldassay.cli.wikidata_improve import evidence
from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting import terminal


def check_alignment(table: Path | None, *, truth: Path | None = None, as_json: bool) -> None:
    """Show the defects of a table, or of a ground truth by that table; exit code 1 if there are any."""
    from dataclasses import asdict

    from goldassay.articles.truth import problems as defects
    from goldassay.articles.truth import read_truth
    from goldassay.reporting import wikidata as tables
    from goldassay.wikibase.alignment import PropertyAlignmentTable
    from goldassay.wikibase.alignment_checks import contradictions, problems

    ours = PropertyAlignmentTable.ours()
    read = PropertyAlignmentTable.of(table) if table else ours
    size = f"{len(read.by_id)} properties"
    if truth is None:
        found = problems(read) + (contradictions(read, ours) if table else [])
    else:
        stated = read_truth(truth)
        found, size = defects(stated, read), f"{len(stated.lines)} statements"
    if as_json:
        terminal.answer([asdict(one) for one in found])
    else:
        tables.problems(found, size, named=truth is not None)
    if found:
        raise SystemExit(1)


def novel_sample(results: Path, *, output: Path, share: float, seed: int) -> None:
    """Write a sample of unmatched triples; what is judged already is never written over."""
    from goldassay.articles import novel
    from goldassay.reporting import terminal

    if output.exists():
        raise GoldassayError(f"{output} exists; name another --output, so that no verdict is lost")
    entries = novel.drawn(evidence(results), share, seed)
    if not entries:
        raise DataError("no unmatched triple without a verdict is in its rows", file=results)
    novel.save(output, entries)
    terminal.line(f"{len(entries)} triples to judge:  goldassay wikidata novel annotate {output}")


def novel_annotate(annotations: Path, *, annotator: str) -> None:
    """Ask for one verdict after another."""
    from goldassay.reporting.annotating import annotate

    annotate(annotations, annotator)


def novel_report(annotations: Path, *, output: Path | None, as_json: bool) -> None:
    """Show the novel discovery rate."""
    from goldassay.articles import novel
    from goldassay.files import save_json
    from goldassay.reporting import wikidata as tables

    report = novel.reported(annotations)
    if output:
        save_json(output, report)
    tables.told(report, output, as_json, tables.discovery)

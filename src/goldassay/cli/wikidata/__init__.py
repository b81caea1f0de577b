"""``goldassay wikidata …``: what a program reads from Wikipedia articles, measured against what Wikidata says."""

from __future__ import annotations

from goldassay.cli.help import commands
from goldassay.cli.wikidata.evaluate import check_alignment, evaluate, fetch
from goldassay.cli.wikidata.improve import app as novel_app
from goldassay.cli.wikidata.improve import recall_gap_analysis, tune_extraction_prompts

app = commands("Measure what a program reads from Wikipedia articles against what Wikidata says.")
app.command()(evaluate)
app.command()(fetch)
app.command("recall-gap-analysis")(recall_gap_analysis)
app.command("tune-extraction-prompts")(tune_extraction_prompts)
app.command("check-alignment")(check_alignment)
app.add_typer(novel_app, name="novel")

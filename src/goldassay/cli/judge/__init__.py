"""``goldassay judge …``: one file a subcommand; the judge that they ask is made in `asked`."""

from __future__ import annotations

from goldassay.cli import options as use
from goldassay.cli.judge.align import align
from goldassay.cli.judge.audit import audit
from goldassay.cli.judge.evaluate import evaluate
from goldassay.cli.judge.mean import mean

app = use.commands("Judges: ask one on a file, measure it beside people, audit it for biases.")
app.command("eval")(evaluate)
app.command()(align)
app.command()(mean)
app.command()(audit)

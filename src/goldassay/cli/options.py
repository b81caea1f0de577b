"""Groups of options that several commands share, each defined once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from goldassay._support import options as use
from goldassay._support.options import shell_line
from goldassay.cli.settings import help_text, settings
from goldassay.core.fields import Fields

Settings = Annotated[
    list[str] | None,
    use.option(
        "NAME=VALUE",
        f"A setting of the task (repeat). {help_text()}.",
    ),
]


@dataclass(frozen=True)
class SetOptions:
    """Which gold."""

    gold: Annotated[
        str | None, use.for_gold("SET|FILE", "A gold set or a file (default: gold/TASK, else heritage).")
    ] = None
    task: str | None = None


@dataclass(frozen=True)
class FormatOptions:
    """How a file of gold is read."""

    format: use.Format = None
    map: str | None = None

    def reading(self) -> Fields:
        """The keyword arguments of `goldassay.gold.load`."""
        name, _, column = (self.format or "").partition(":")
        return {"format": name or None, "column": column or None, "map": self.map}


@dataclass(frozen=True)
class GoldOptions(FormatOptions, SetOptions):
    """Which examples, and what they are measured by."""

    metric: str | None = None
    limit: int | None = None


@dataclass(frozen=True)
class WorkOptions:
    """How the work is done."""

    threads: int = 1
    budget: str | None = None
    resume: Path | None = None
    repeats: int = 1


@dataclass(frozen=True)
class NotesOptions:
    """Notes and labels in place of gold."""

    modes: Annotated[
        Path | None, use.for_gold("FOLDER", "A review: its notes become patches, its records test them.")
    ] = None
    unlabelled: use.Unlabelled = None
    no_review: Annotated[bool, use.flag("Only write the draft of the answers that differ, and open no page.")] = False


@dataclass(frozen=True)
class FileOptions(FormatOptions):
    """How files of predictions are read and counted."""

    protocol: Annotated[
        str | None,
        use.for_gold(
            "NAME",
            "An official protocol: hipe, hipe2020 (extraction, linking), conll, tac (linking), squad, squad2, "
            "hotpotqa, musique, triviaqa, nq_open, drop, quoref, kilt, docvqa (answering), text2kgbench, webnlg, "
            "docred, carb (triples), bfcl, agentevals (trajectories).",
        ),
    ] = None
    measures: Annotated[
        list[str] | None,
        use.option(
            "NAME|FILE",
            "Only this measure, such as strict_f1 or nDCG@10 (repeat), or your own metric: FILE.py or FILE.py:NAME.",
            "--measure",
        ),
    ] = None
    option: Settings = None

    def chosen(self, task: str) -> Fields:
        """The options that were set, for a task, as keyword arguments of `goldassay.running.scoring.read`."""
        options = {"protocol": self.protocol, "measures": self.measures}
        options = {**options, **self.reading(), **settings(self.option, task)}
        return {name: value for name, value in options.items() if value}


@dataclass(frozen=True)
class SystemOptions(FileOptions, WorkOptions):
    """The compared systems, besides runs, and how they are ranked."""

    gold: Annotated[str | None, use.for_gold("SET|FILE", "The gold.")] = None
    pred: Annotated[list[Path] | None, use.for_gold("FILE|RUN...", "Predictions; the first are the baseline.")] = None
    program: Annotated[
        list[str] | None,
        use.for_model("NAME|FILE|FOLDER...", "Programs of the task, files, or folders of tuned programs."),
    ] = None
    state: Annotated[
        list[Path] | None,
        use.for_model(
            "FILE...",
            "Saved states of the program, from program.save; one alone is compared with the program itself.",
        ),
    ] = None
    lm: Annotated[list[str] | None, use.for_model("MODEL...", "Run each program with each of these models.")] = None
    tune: Annotated[
        str | None,
        use.for_running(
            "OPTIMIZER",
            "Tune each program for each model on train and dev first, and compare on test; the tunings share --budget.",
        ),
    ] = None
    unlabelled: use.Unlabelled = None
    split: str | None = None
    limit: int | None = None
    margin: Annotated[
        float,
        use.for_result("DIFFERENCE", "Name the cheapest program that is not worse than the best by more than this."),
    ] = 0.02
    metric: str | None = None
    weight: Annotated[
        list[str] | None, use.for_result("MEASURE=W", "The weight of a measure in the ranking (repeat).")
    ] = None
    out: Annotated[
        Path | None,
        use.for_result("FOLDER", "Write the ranking, its tables and a report here; of one file the report."),
    ] = None
    all: Annotated[bool, use.flag("Of programs show every difference, rank and stratum, not only the values.")] = False


def resume_line(folder: Path) -> str:
    """The sentence that says how a command continues in its folder."""
    return f"continue with the same command and {shell_line('--resume', folder)}"


FROM_CACHE = "the same command continues: the answers so far are in DSPy's cache"


@contextmanager
def interruptible(then: str) -> Iterator[None]:
    """Say how a command continues when Ctrl-C or SIGTERM ends it."""
    try:
        yield
    except KeyboardInterrupt:
        print(then, file=sys.stderr)
        raise

"""Options that several commands share, each defined once.

Typer spells a command's parameters out as options. A parameter whose type is a dataclass is a group: each field
of the dataclass becomes an option, and the command gets the dataclass (`command`). ``--json``, ``--seed``, ``--force``
and ``--quiet`` belong to the whole program (`goldassay.cli.app`) and may be anywhere on the line; a command that
uses one has a parameter of that name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from goldassay.cli.settings import help_text, settings
from goldassay.exceptions import GoldassayError
from goldassay.fields import Fields

if TYPE_CHECKING:
    from goldassay.judges.judge import Judge
    from goldassay.metric import Metric as TaskMetric

SHARED = ("json", "seed", "force")
"""The parameters of commands that are options of the whole program."""


def option(metavar: str | None, help: str, *names: str, default: Any = None, **more: Any) -> Any:
    """An option, as the default of a parameter or field, or in an ``Annotated`` type that several share.

    Without names it is called as its parameter; without a metavar it is a flag.
    """
    info: Any = typer.Option(*names, metavar=metavar, help=help, **more)
    info.preset = default
    return info


def flag(name: str, help: str) -> Any:
    """An option without a value."""
    return option(None, help, name, default=False)


def argument(metavar: str, help: str, default: Any = None) -> Any:
    """A positional argument: in an ``Annotated`` type it is required, as a default it is not."""
    info: Any = typer.Argument(metavar=metavar, help=help)
    info.preset = default
    return info


for_gold = partial(option, rich_help_panel="Gold")
for_model = partial(option, rich_help_panel="Model")
for_running = partial(option, rich_help_panel="Running")
for_result = partial(option, rich_help_panel="Result")
Name = Annotated[str, argument("TASK|FILE", "A task, TASK:NAME or FILE:NAME.")]
Task = Annotated[
    str,
    argument("TASK", "extraction, classification, linking, retrieval, answering, triples or records."),
]
Run = Annotated[Path, argument("RUN", "A run folder, or a log of another tool (FILE, or FILE:SYSTEM).")]
GoldSet = Annotated[str, argument("SET|FILE", "The name of a gold set, its folder, or a file.")]
OfTask = Annotated[str | None, for_gold("TASK", "The task, if the file does not imply it.")]
Format = Annotated[
    str | None,
    for_gold(
        "NAME[:COLUMN]",
        "The format of a file, if its name does not imply it; the column of tags, as in hipe:NE-COARSE-LIT.",
    ),
]
FieldMap = Annotated[str | None, for_gold("NAME=PATH,…", "Fields under other names: text=body.content,label=cat.")]
Split = Annotated[str, for_gold("NAME", "train, dev, test or all.")]
Metric = Annotated[str | None, for_gold("FILE:NAME", "The metric (default: metrics/TASK.py:metric).")]
Lm = Annotated[
    str | None,
    for_model(
        "MODEL[,NAME=VALUE,…]",
        "A model that dspy.LM knows, local/smollm2-135m (default), local:FILE.gguf or models.yaml:NAME, with options "
        "such as temperature=0.2, api_base=URL, rpm=60, cache=false or adapter=json.",
    ),
]
ReflectionLm = Annotated[str | None, for_model("MODEL", "The model that writes instructions (default: --lm).")]
Threads = Annotated[int, for_running("N", "The number of examples in flight.", min=1)]
Budget = Annotated[
    str | None,
    for_running("WHAT=N", "Stop after so many calls, tokens, usd or minutes: calls=500."),
]
Resume = Annotated[Path | None, for_running("FOLDER", "Continue an interrupted run in its folder.")]
Repeats = Annotated[
    int,
    for_running("N", "Ask each example N times, without a cache, to measure the model's noise.", min=1),
]
Limit = Annotated[int | None, for_gold("N", "Use only the first N examples.", min=1)]
Settings = Annotated[
    list[str] | None,
    option(
        "NAME=VALUE",
        f"A setting of the task (repeat). {help_text()}. Of another tool's log, in compare: document=FIELD.",
    ),
]
RENAMED = {"columns": "map", "measures": "measure", "any_version": "force"}
"""Keyword arguments of the library whose options have other names."""


@dataclass(frozen=True)
class SetOptions:
    """Which gold."""

    gold: str | None = for_gold("SET|FILE", "A gold set or a file (default: gold/TASK, else heritage).")
    task: OfTask = None


@dataclass(frozen=True)
class FormatOptions:
    """How a file of gold is read."""

    format: Format = None
    map: FieldMap = None

    def reading(self) -> Fields:
        """The keyword arguments of `goldassay.gold.load`."""
        name, _, column = (self.format or "").partition(":")
        return {"format": name or None, "column": column or None, "map": self.map}


@dataclass(frozen=True)
class GoldOptions(FormatOptions, SetOptions):
    """Which examples, and what they are measured by."""

    metric: Metric = None
    limit: Limit = None


@dataclass(frozen=True)
class ModelOptions:
    """The models, and a tuned state of the program."""

    lm: Lm = None
    state: Path | None = for_model("FILE|FOLDER", "A saved program: what program.save or tune wrote (JSON).")
    judge_lm: str | None = for_model("MODEL", "The model for judged measures; it is never --lm.")

    def metric(self, task: str, place: str | None, folder: Path) -> tuple[TaskMetric, Judge | None]:
        """The metric of a task, and the judge that it asks; the judge's verdicts are stored in the folder."""
        from goldassay import workspace
        from goldassay.judges.judge import named

        if self.judge_lm is None:
            return workspace.metric(task, place), None
        cached = "cache=false" not in (self.lm or "").split(",")
        judge = named(self.judge_lm, verdicts=folder / "verdicts.jsonl", cache=cached)
        return workspace.judged(task, judge, place), judge


@dataclass(frozen=True)
class WorkOptions:
    """How the work is done."""

    threads: Threads = 1
    budget: Budget = None
    resume: Resume = None
    repeats: Repeats = 1


@dataclass(frozen=True)
class FileOptions(FormatOptions):
    """How files of predictions are read and counted."""

    protocol: str | None = for_gold(
        "NAME",
        "An official protocol: hipe, hipe2020 (extraction, linking), conll, tac (linking), squad, squad2, hotpotqa, "
        "musique, triviaqa, nq_open, drop, quoref, kilt (answering), text2kgbench, webnlg, docred, carb (triples).",
    )
    measures: list[str] | None = option("NAME", "Only this measure, as strict_f1 or nDCG@10 (repeat).", "--measure")
    option: Settings = None

    def chosen(self, task: str) -> Fields:
        """The options that were set, for a task, as keyword arguments of `goldassay.scoring.read`."""
        own = {"protocol": self.protocol, "measures": self.measures}
        options = {**own, **self.reading(), **settings(self.option, task)}
        return {name: value for name, value in options.items() if value}


def numbers(flag: str, texts: Sequence[str] | None) -> dict[str, float]:
    """``NAME=VALUE`` options with numbers.

    Raises:
        GoldassayError: One is not of this form.

    >>> numbers("--fail-under", ["strict_f1=.8"])
    {'strict_f1': 0.8}
    """
    pairs = [text.rpartition("=") for text in texts or ()]
    try:
        return {name.strip(): float(number) for name, _, number in pairs}
    except ValueError:
        raise GoldassayError(f"{flag} expects NAME=NUMBER such as strict_f1=.8, got {', '.join(texts or ())}") from None


def with_flags(message: str) -> str:
    """A message of the library, which names keyword arguments, with the options of the command line in their place.

    >>> with_flags("resume it: `resume=runs/x`, or set `force=True`")
    'resume it: --resume runs/x, or set --force'
    >>> with_flags('name its column (`map={"label": "COLUMN"}`)')
    'name its column (--map label=COLUMN)'
    >>> with_flags("name its task (`task=`)")
    'name its task (--task)'
    """

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        if value.startswith("{"):  # a mapping, which the command line writes as name=value
            value = value.strip("{}").replace('"', "").replace(": ", "=").replace(", ", ",")
        return f"--{RENAMED.get(name, name).replace('_', '-')} {value.removesuffix('True')}".strip()

    return re.sub(r"`([a-z_]+)=([^`]*)`", option, message)


def new_place(place: Path | None, force: bool) -> None:
    """Refuse to write over an existing file, unless --force was given.

    Raises:
        GoldassayError: It exists.
    """
    if place is not None and place.exists() and not force:
        raise GoldassayError(f"{place} already exists; choose another place, or add --force to write over it")


def command(app: typer.Typer, name: str | None = None) -> Callable[[Any], Any]:
    """Register a command, with dataclasses spelled out as options and the shared options taken from the program."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        parameters = inspect.signature(function, eval_str=True).parameters.values()
        shared = [each.name for each in parameters if each.name in SHARED]
        groups: Fields = {each.name: each.annotation for each in parameters if is_dataclass(each.annotation)}
        own: list[Any] = [("context", typer.Context, inspect.Parameter.empty)]
        for each in parameters:
            if each.name in groups:
                hints = get_type_hints(each.annotation, include_extras=True)
                own += [(part.name, hints[part.name], part.default) for part in fields(each.annotation)]
            elif each.name not in SHARED:
                own.append((each.name, each.annotation, each.default))

        def call(context: typer.Context, **values: Any) -> None:
            for group, kind in groups.items():
                values[group] = kind(**{each.name: values.pop(each.name) for each in fields(kind)})
            chosen = {key: value for key, value in (context.obj or {}).items() if value}
            if unused := [key for key in chosen if key not in shared]:
                raise GoldassayError(f"{context.command_path} takes no --{unused[0]}")
            function(**values, **chosen)

        # typer reads what describes an option in its type; the default is then the value
        spelled = [(n, Annotated[t, d], d.preset) if hasattr(d, "preset") else (n, t, d) for n, t, d in own]
        keyword = inspect.Parameter.KEYWORD_ONLY
        options = [inspect.Parameter(name, keyword, annotation=kind, default=value) for name, kind, value in spelled]
        call.__name__ = function.__name__
        call.__doc__ = function.__doc__
        call.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        also = ", ".join(f"--{key}" for key in [*shared, "quiet"])
        app.command(name, epilog=f"Also: {also} (see goldassay --help).")(call)
        return function

    return register


def commands(help: str) -> typer.Typer:
    """An empty group of commands."""
    return typer.Typer(help=help, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

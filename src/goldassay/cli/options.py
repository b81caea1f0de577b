"""Words that mean the same in every command: options, their help, and how help is printed.

A command takes an option from here wherever it has one of that name, so that ``--json``, ``--out``, ``--seed``,
``--limit`` and the others read alike everywhere.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from goldassay.exceptions import GoldassayError
from goldassay.measure import TASKS
from goldassay.watched import QUIET

SIX = "extraction, classification, linking, retrieval, answering or triples"


def _quiet(context: typer.Context, said: bool) -> bool:
    """Show no progress while the command runs, nor in the processes that it starts."""
    if said and not os.environ.get(QUIET):
        os.environ[QUIET] = "1"
        context.call_on_close(lambda: os.environ.pop(QUIET, None))
    return said


Task = Annotated[str, typer.Argument(help=SIX, metavar="TASK")]
OfTask = Annotated[str | None, typer.Option("--task", metavar="TASK", help="The task, where nothing else says it.")]
Program = Annotated[
    str, typer.Argument(metavar="TASK|FILE", help="A task, TASK:NAME, or FILE:NAME (programs/extraction.py:program).")
]
Gold = Annotated[
    str | None,
    typer.Option(
        "--gold",
        metavar="SET|FILE",
        help="A gold set's name, its folder, or a file (default: gold/TASK, else heritage).",
    ),
]
Map = Annotated[
    str | None,
    typer.Option("--map", metavar="NAME=PATH,…", help="Fields of a foreign file: text=body.content,…; or a JSON file."),
]
Column = Annotated[
    str | None, typer.Option("--column", metavar="NAME", help="hipe, iob2: the column of tags, such as NE-COARSE-LIT.")
]
GoldSet = Annotated[str, typer.Argument(metavar="SET|FILE", help="A gold set's name, its folder, or a file.")]
Format = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help="The format of a file, where its name does not tell it.")
]
Split = Annotated[str, typer.Option("--split", metavar="NAME", help="Which split: train, dev, test or all.")]
Metric = Annotated[
    str | None,
    typer.Option("--metric", metavar="FILE[:NAME]", help="A metric (default: metrics/TASK.py:metric)."),
]
Lm = Annotated[
    str | None,
    typer.Option(
        "--lm",
        metavar="MODEL",
        help="local/smollm2-135m (default), local:FILE.gguf, any name that dspy.LM knows, or models.yaml:NAME.",
    ),
]
LmOption = Annotated[
    list[str] | None,
    typer.Option(
        "--lm-option",
        metavar="NAME=VALUE",
        help="Of the model: temperature=0.2, api_base=…, rpm=60, tpm=90000 (repeat).",
    ),
]
Adapter = Annotated[
    str | None,
    typer.Option(
        "--adapter", metavar="NAME", help="chat, json, xml, terse (default of local models), terse-lines, -types."
    ),
]
Engine = Annotated[
    str, typer.Option("--engine", metavar="NAME", help="Where examples are worked on: threads, processes or ray.")
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, help="How many processes or actors (default: processors)."),
]
RayAddress = Annotated[
    str | None,
    typer.Option("--ray-address", metavar="ADDRESS", help="The Ray cluster to join (default: this machine)."),
]
JudgeLm = Annotated[
    str | None,
    typer.Option("--judge-lm", metavar="MODEL", help="The model that judges, bound apart from --lm; or nli:MODEL."),
]
ReflectionLm = Annotated[
    str | None,
    typer.Option("--reflection-lm", metavar="MODEL", help="The model that writes instructions (default: --lm)."),
]
State = Annotated[
    Path | None, typer.Option("--state", metavar="FOLDER", help="A tuned program: its folder or state.json.")
]
Resume = Annotated[Path | None, typer.Option("--resume", metavar="FOLDER", help="Go on with what was interrupted.")]
Runs = Annotated[Path, typer.Option("--runs", metavar="FOLDER", help="Where run folders go.")]
Limit = Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N examples.")]
Timeout = Annotated[float | None, typer.Option("--timeout", metavar="SECONDS", help="How long one example may take.")]
Budget = Annotated[
    str | None,
    typer.Option("--budget", metavar="WHAT=N", help="Such as calls=500,minutes=10 (calls, tokens, usd, minutes)."),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Ask the model anew, also what DSPy's cache has.")]
MaxFailures = Annotated[
    float,
    typer.Option(
        "--max-failures", metavar="SHARE", min=0, max=1, help="Stop when more examples fail (after 20); 1: never."
    ),
]
Threads = Annotated[int, typer.Option("--threads", metavar="N", min=1, help="How many examples at once.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of everything that is drawn at random.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.", callback=_quiet, is_eager=True)]
Gate = Annotated[bool, typer.Option("--gate", help="Exit with 1 when what was promised is not reached.")]
Force = Annotated[bool, typer.Option("--force", help="Write over what exists.")]

Concerns = Mapping[str, Sequence[str]]
"""The tasks that an option is for, by the option's name."""


class Command(TyperCommand):
    """A command whose help is plain: no types of Python, and only what concerns the task that was named."""

    concerns: Concerns = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["goldassay.words"] = [word for word in args if not word.startswith("-")]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        named = next((word for word in ctx.meta.get("goldassay.words", ()) if word in TASKS), None)
        params: list[Any] = self.get_params(ctx)
        for param in params:
            known = self.concerns.get(str(param.name))
            if known and named:
                param.hidden = named not in known
        _plain(self, ctx)
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """Commands under one name, with plain help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _plain(self, ctx)
        super().format_help(ctx, formatter)


def _plain(command: Any, ctx: Any) -> None:
    """A flag takes no value, so no type stands beside it; an argument's name says what it is."""
    for param in command.get_params(ctx):
        if param.param_type_name == "argument":
            param.display_type_rich = lambda ctx: None
        elif getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""


class Commands(typer.Typer):
    """A group of commands with plain help; ``concerns`` names the options that are for some tasks only."""

    def command(self, name: str | None = None, *, concerns: Concerns = {}, **settings: Any) -> Callable[[Any], Any]:
        kind = type("TaskCommand", (Command,), {"concerns": concerns}) if concerns else Command
        return super().command(name, cls=kind, **settings)


def commands(help: str) -> Commands:
    """An empty group of commands."""
    return Commands(help=help, cls=Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def free(place: Path, force: bool) -> None:
    """Refuse to write over what exists, unless it was said."""
    if place.exists() and not force:
        raise GoldassayError(f"{place} exists already; name another place, or say --force to write over it")


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter that is a dataclass of options replaced by the options that its fields are.

    So commands share options without copying them; the command itself gets the dataclass, filled.
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type[Any]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind = parameter.annotation
        if not is_dataclass(kind):
            parameters.append(parameter)
            continue
        groups[parameter.name] = kind  # type: ignore[assignment]
        hints = get_type_hints(kind, include_extras=True)
        parameters += [
            parameter.replace(name=field.name, annotation=hints[field.name], default=field.default)
            for field in fields(kind)
        ]

    def called(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called

"""The program: commands from functions, whose parameters become options; a command's module is imported when called."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from itertools import islice
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from goldassay import __version__
from goldassay._support.exceptions import GoldassayError
from goldassay._support.extensions import load
from goldassay._support.options import SHARED, Option
from goldassay._support.progress import QUIET_VARIABLE
from goldassay.cli.commands import FORMER, FORMER_OPTIONS, help_text, listed, places
from goldassay.reporting.terminal import warnings_once


def all_commands() -> dict[str, TyperCommand]:
    """Every command by its words, loaded."""
    return {words: command(load(reference), words) for words, reference in places().items()}


class Commands(TyperGroup):
    """The commands whose words begin with those of the group."""

    words = ""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.places = listed(self.words)
        self.commands.update((name, TyperCommand(name)) for name in self.places)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, in which no command is imported."""
        formatter.write(help_text(self.words))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names, imported now."""
        name, stub, arguments = super().resolve_command(ctx, args)
        if name is None:
            return name, stub, arguments
        words, reference = self.places[name]
        if words in places():
            return name, command(load(reference), words), arguments
        group = type("Group", (Commands,), {"words": words})
        return name, group(name=name, no_args_is_help=True), arguments


class Command(TyperCommand):
    """A command whose options with a metavar that ends in ``...`` take several values: ``--lm A B`` repeats ``--lm``.

    They do so after the arguments, so that an argument behind an option is not taken for a value of it.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Write the option before each of its values."""
        many = {flag for option in self.params if str(option.metavar).endswith("...") for flag in option.opts}
        words: list[str] = []
        flag = ""
        for word in args:
            if word.startswith("-"):
                flag = word if word in many and not args[0].startswith("-") else ""
            elif flag and words[-1] != flag:
                words.append(flag)
            words.append(word)
        return super().parse_args(ctx, words)


class Program(Commands):
    """The program: its own options may be anywhere on the line, as in ``goldassay score … --json``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move the program's options to the front, and give former options their names of today."""
        first = [word for word in args if not word.startswith("-")][:2]
        renamed = FORMER_OPTIONS.get(" ".join(first)) or FORMER_OPTIONS.get(" ".join(first[:1]), {})
        flags = [f"--{name}" for name, (kind, _) in SHARED.items() if kind is bool]
        options = [f"--{name}" for name, (kind, _) in SHARED.items() if kind is not bool]
        shared: list[str] = []
        command: list[str] = []
        words = iter(args)
        for word in words:
            option, equals, value = word.partition("=")
            if option in renamed:  # an option that became an argument has no name
                word = f"{renamed[option]}{equals}{value}" if renamed[option] else value
                if not word:
                    continue
            if word in flags or (word.partition("=")[0] in options and "=" in word):
                shared.append(word)
            elif word in options:
                shared += [word, *islice(words, 1)]
            else:
                command.append(word)
        if former := FORMER.get(" ".join(command[:2])):
            command[:2] = former.split()
        return super().parse_args(ctx, [*shared, *command])


def top(context: typer.Context, version: bool, quiet: bool, **shared: Any) -> None:
    """Pass the options of the whole program on to the command."""
    if version:
        typer.echo(__version__)
        raise typer.Exit
    context.with_resource(warnings_once())
    context.obj = {name: value for name, value in shared.items() if value is not None and value is not False}
    if quiet and not os.environ.get(QUIET_VARIABLE):
        os.environ[QUIET_VARIABLE] = "1"  # worker processes see it, too
        context.call_on_close(lambda: os.environ.pop(QUIET_VARIABLE, None))


def command(function: Callable[..., None], words: str) -> TyperCommand:
    """The command of a function; its groups of options are spelled out, the shared options come from the program."""
    groups: dict[str, Any] = {}
    parameters: dict[str, tuple[Any, Any]] = {}  # each with its type and default
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            hints = get_type_hints(parameter.annotation, include_extras=True)
            for field in fields(parameter.annotation):
                default = inspect.Parameter.empty if field.default is MISSING else field.default
                parameters[field.name] = (hints[field.name], default)
        else:
            parameters[parameter.name] = (parameter.annotation, parameter.default)
    options = {name: option for name, of in parameters.items() if (option := spelling(name, *of))}
    shared = [name for name in parameters if name in SHARED and name not in options]
    required = [name for name in shared if parameters[name][1] is inspect.Parameter.empty]

    def call(context: typer.Context, **values: Any) -> None:
        chosen = context.obj or {}
        if unused := [name for name in chosen if name not in shared]:
            path = context.command_path
            raise GoldassayError(f"{path} takes no --{unused[0]}; its options: {path} --help")
        if missing := [name for name in required if name not in chosen]:
            context.fail(f"Missing option '--{missing[0]}'.")
        values |= chosen
        for group, kind in groups.items():
            names = [field.name for field in fields(kind) if field.name in values]
            values[group] = kind(**{name: values.pop(name) for name in names})
        function(**values)

    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    call.__doc__ = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)  # typer keeps line breaks
    call.__signature__ = inspect.Signature([CONTEXT, *options.values()])  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    also = [f"--{name} {SHARED[name][1].metavar or ''}".strip() for name in SHARED if name in [*shared, "quiet"]]
    app.command(words.split()[-1], cls=Command, epilog=f"Also: {', '.join(also)} (see goldassay --help).")(call)
    return typer.main.get_command(app)  # type: ignore[return-value]


CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def spelling(name: str, kind: object, default: object) -> inspect.Parameter | None:
    """A parameter with what typer wants to know of its option; None if it is not an option."""
    option = next((extra for extra in get_args(kind)[1:] if isinstance(extra, Option)), None)
    if option is None:
        return None
    value = get_args(kind)[0]
    more: Any = {"metavar": option.metavar, "help": option.help, "rich_help_panel": option.panel}
    more |= {"min": option.min, "max": option.max}
    names = [] if value == bool | None else [option.name or f"--{name.replace('_', '-')}"]  # typer's --x/--no-x
    info = typer.Argument(**more) if option.positional else typer.Option(*names, **more)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[value, info], default=default)


app = typer.Typer(cls=Program, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
_options = [CONTEXT]
for _name, (_kind, _option) in {**SHARED, "version": (bool, Option(None, "Print the version."))}.items():
    _is_flag = _kind is bool
    _spelled = spelling(_name, Annotated[_kind if _is_flag else _kind | None, _option], False if _is_flag else None)
    _options += [_spelled] if _spelled else []
top.__signature__ = inspect.Signature(_options)  # type: ignore[attr-defined]
app.callback(invoke_without_command=True)(top)

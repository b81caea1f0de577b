"""How help reads and how a wrong call is told: plain text of two columns, options in sections, one line on an error.

Where a command shows more than `MANY` options, they stand in sections; an option says its own (``rich_help_panel``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from goldassay.measure import TASKS
from goldassay.progress import QUIET

Concerns = Mapping[str, Sequence[str]]
"""The tasks that an option is for, by the option's name."""


class OptionSetting(NamedTuple):
    """A setting for ``--option NAME=VALUE``: how its value is written, whose tasks' it is, what it says."""

    metavar: str
    tasks: tuple[str, ...]
    help: str


OptionSettings = Mapping[str, OptionSetting]
MANY = 12
SECTIONS = GOLD, MODEL, RUNNING, RESULT = "Gold", "Model", "Running", "Result"
FIRST = 26  # columns for an option and its value, so that 48 of 80 are left for words
WIDEST = 100
INTERRUPTED = 130  # what typer makes of a KeyboardInterrupt


class Command(TyperCommand):
    """A command whose help is plain: no types of Python, and only what concerns the task that was named.

    Every command takes ``--quiet``, as every command takes ``--help``.
    """

    concerns: Concerns = {}
    settings: OptionSettings = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--quiet" in args:
            args = [word for word in args if word != "--quiet"]
            _quiet(ctx)
        ctx.meta["goldassay.words"] = [word for word in args if not word.startswith("-")]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        named = next((word for word in ctx.meta.get("goldassay.words", ()) if word in TASKS), None)
        arguments: list[tuple[str, str]] = []
        options: dict[str, list[tuple[str, str]]] = {name: [] for name in (GOLD, "Options", MODEL, RUNNING, RESULT)}
        shown: list[Any] = [one for one in self.get_params(ctx) if not getattr(one, "hidden", False)]
        many = sum(one.param_type_name == "option" for one in shown) > MANY
        for param in shown:
            if param.param_type_name == "argument":
                arguments.append((str(param.metavar or param.name), said(param)))
                continue
            tasks = self.concerns.get(str(param.name), TASKS)
            if named is None or named in tasks:
                section = getattr(param, "rich_help_panel", None) if many else None
                whose = f"{', '.join(tasks)}: " if named is None and len(tasks) < len(TASKS) else ""
                options[section or "Options"].append((spelled(param), whose + said(param)))
        rows_of = options[RESULT if many else "Options"]
        help_is_last = bool(rows_of) and rows_of[-1][0] == "--help"
        rows_of.insert(len(rows_of) - help_is_last, ("--quiet", "Show no progress."))
        settings = [
            (f"{name}={one.metavar}", ("" if named else f"{', '.join(one.tasks)}: ") + one.help)
            for name, one in self.settings.items()
            if named is None or named in one.tasks
        ]
        for name, rows in {"Arguments": arguments, **options, "Settings (--option NAME=VALUE)": settings}.items():
            if rows:
                with formatter.section(name):
                    formatter.write_dl(rows, col_max=FIRST)


def _quiet(context: Any) -> None:
    """Show no progress while the command runs, nor in the processes that it starts."""
    if not os.environ.get(QUIET):
        os.environ[QUIET] = "1"
        context.call_on_close(lambda: os.environ.pop(QUIET, None))


def spelled(param: Any) -> str:
    """An option as it is typed: its spellings, and its value where it takes one."""
    names = ", ".join(param.opts) + "".join(f"/{name}" for name in param.secondary_opts)
    return names if param.is_flag else f"{names} {param.metavar or str(param.name).upper()}"


def said(param: Any) -> str:
    """What an option or argument is for, and what it is when nothing is said."""
    text, default = str(param.help or ""), param.default
    if param.required and param.param_type_name == "option":
        return f"{text} [required]"
    if (
        default in (None, False, "", 0, [], ())
        or callable(default)
        or "default" in text
        or getattr(param, "is_flag", False)
    ):
        return text
    return f"{text} [default: {default}]"


class Group(TyperGroup):
    """Commands under one name; what is wrong in a call is told in one line, with the help that says more."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = [(name, one.get_short_help_str(limit=300)) for name, one in found.items() if one and not one.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: object,
    ) -> Any:
        run = partial(super().main, args, prog_name or "goldassay", complete_var, False, windows_expand_args, **extra)
        if not standalone_mode:
            return run()
        try:
            code = run()
        except typer.Abort:  # what an older typer makes of Ctrl-C
            sys.exit(INTERRUPTED)
        except Exception as error:
            if not hasattr(error, "format_message"):  # of typer's own, whichever version of it
                raise
            print(wrong(error), file=sys.stderr)
            sys.exit(2)
        sys.exit(code if isinstance(code, int) else 0)


def wrong(error: Any) -> str:
    """A wrong call in one line; a group that was named without a command shows its help."""
    text = str(error.format_message()).strip()
    if "\n" in text:
        return text
    path = getattr(getattr(error, "ctx", None), "command_path", "goldassay")
    text = text.removesuffix(".").replace(" (Possible options: ", "; did you mean ").removesuffix(")")
    return f"goldassay: {text[:1].lower()}{text[1:]}; see: {path} --help"


class Commands(typer.Typer):
    """A group of commands with plain help.

    ``concerns`` names the options that are for some tasks only, ``settings`` what ``--option`` sets of which task.
    """

    def command(
        self, name: str | None = None, *, concerns: Concerns = {}, settings: OptionSettings = {}, **more: Any
    ) -> Callable[[Any], Any]:
        kind = type("TaskCommand", (Command,), {"concerns": concerns, "settings": settings}) if concerns else Command
        return super().command(name, cls=kind, **more)


def commands(help: str) -> Commands:
    """An empty group of commands."""
    return Commands(
        help=help,
        cls=Group,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"max_content_width": WIDEST},
    )

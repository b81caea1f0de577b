"""The commands by their words, and the help that lists them, which imports none of them.

Commands are known by their words, each with the place of its function (``"package.module:function"``): those of
goldassay in `COMMANDS`, those of extensions in the registry. Help lists them by the first line of their docstrings,
which is read from the source.
"""

from __future__ import annotations

import ast
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from goldassay._support.exceptions import GoldassayError
from goldassay._support.extensions import registered
from goldassay._support.options import SHARED

COMMANDS = {
    "demo": "goldassay.cli.demo:demo",
    "init": "goldassay.cli.init:init",
    "score": "goldassay.cli.score:score",
    "eval": "goldassay.cli.evaluate:evaluate",
    "compare": "goldassay.cli.compare:compare",
    "tune": "goldassay.cli.tune:tune",
    "explain": "goldassay.cli.explain:explain",
    "audit": "goldassay.cli.audit:audit",
    "patch patterns": "goldassay.cli.patch:patterns",
    "patch propose": "goldassay.cli.patch:propose",
    "patch test": "goldassay.cli.patch:test",
    "patch apply": "goldassay.cli.patch:apply",
    "patch revert": "goldassay.cli.patch:revert",
    "patch show": "goldassay.cli.patch:show",
    "judge eval": "goldassay.cli.judge:evaluate",
    "judge audit": "goldassay.cli.judge:audit",
    "gold validate": "goldassay.cli.gold:validate",
    "gold stats": "goldassay.cli.gold:stats",
    "gold split": "goldassay.cli.gold:split",
    "gold agree": "goldassay.cli.gold:agree",
    "gold convert": "goldassay.cli.gold:convert",
    "gold schema": "goldassay.cli.gold:schema",
    "report": "goldassay.cli.report:report",
    "runs show": "goldassay.cli.runs:show",
    "runs list": "goldassay.cli.report:list_",
    "runs export": "goldassay.cli.runs:export",
    "runs prune": "goldassay.cli.report:prune",
}
"""The commands of goldassay; extensions register theirs (`goldassay._support.extensions`)."""
FORMER = {
    "judge align": "judge eval",
    "judge from-modes": "judge eval",
    "judge mean": "judge eval",
    "judge plan": "judge eval --labels 50",
    "patch list": "patch show",
}
"""Commands that became parts of others, under their former names."""
FORMER_OPTIONS = {
    "audit": {"--inputs": "--unlabelled"},
    "compare": {"--inputs": "--unlabelled", "--rescore": "--metric"},
    "gold draft": {"--judge": "--verdicts"},
    "patch propose": {"--modes": "", "--run": ""},
    "patch test": {"--inputs": "--unlabelled"},
    "review": {"--judge": "--show-judge"},
    "tune": {"--inputs": "--unlabelled", "--option": "--setting"},
}
"""Options under the names that they had; an empty name is now an argument without ``--``."""


def places() -> dict[str, str]:
    """Every command by its words, with the place of its function."""
    return COMMANDS | registered("commands")


def listed(words: str) -> dict[str, tuple[str, str]]:
    """The help of a group: the words and the place of each name; of a group the place of its first command.

    >>> listed("runs")["list"]
    ('runs list', 'goldassay.cli.report:list_')
    """
    names: dict[str, tuple[str, str]] = {}
    for command, reference in places().items():
        if command.startswith(f"{words} ".lstrip()):
            name = command.removeprefix(words).split()[0]
            names.setdefault(name, (f"{words} {name}".strip(), reference))
    return names


def summary(place: str) -> str:
    """The first paragraph of the docstring of a module, or of a function in one, read from its source.

    >>> summary("goldassay.cli.commands:summary").partition(",")[0]
    'The first paragraph of the docstring of a module'
    """
    module, _, name = place.partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise GoldassayError(f"the module of a command cannot be found: {module}")
    source = Path(spec.origin).read_text(encoding="utf-8")
    if name:
        source = source[source.index(f"\ndef {name}(") + 1 :]
    tree = ast.parse(source.partition("\n\n\n")[0])  # two blank lines end a function, and the imports
    docstring = ast.get_docstring(tree.body[0] if name else tree)  # type: ignore[arg-type]
    return " ".join((docstring or "").partition("\n\n")[0].split())


def help_text(words: str = "") -> str:
    """The help of the program, or of a group of commands."""
    width = min(shutil.get_terminal_size().columns, 100)
    lines = [f"Usage: {' '.join(['goldassay', *words.split()])} COMMAND [ARGS]...", ""]
    if words:
        (_, reference), *_ = listed(words).values()
        lines += textwrap.wrap(summary(reference.partition(":")[0]), width)
    else:
        lines += ["Score DSPy programs against gold, and tune them in the same loop."]
    rows = []
    for name, (command, reference) in listed(words).items():
        rows.append((name, summary(reference if command in places() else reference.partition(":")[0])))
    lines += ["", "Commands:", *_columns(rows, width)]
    if not words:
        options = [(f"--{name} {option.metavar or ''}", option.help) for name, (_, option) in SHARED.items()]
        options += [("--version", "Print the version."), ("--help", "Show the help of the program or of a command.")]
        lines += ["", "Options, anywhere on the line, of the commands that take them:", *_columns(options, width)]
    return "\n".join(lines) + "\n"


def _columns(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    indent = 4 + max(len(name) for name, _ in rows)
    for name, text in rows:
        yield from textwrap.wrap(
            text,
            width,
            initial_indent=f"  {name}".ljust(indent),
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
        )

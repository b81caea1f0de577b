"""The pages that are made from the code: the examples, and the reference of measures, commands and Python names."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from goldassay.cli import app
from goldassay.measure import TASKS

ORACLES = {
    "extraction": "seqeval, nervaluate, scikit-learn, HIPE-scorer's unit data and the counts of official system files",
    "classification": "scikit-learn",
    "linking": "HIPE-scorer's unit data, the counts of official system files, and the definitions of cluster measures",
    "retrieval": "trec_eval's own files, pytrec_eval and ir_measures",
    "answering": "the SQuAD scores of DSPy and torchmetrics, rouge-score, bert-score and RAGChecker's example",
    "triples": "Text2KGBench's published per-sentence results",
    "records": "the definitions of Donut's tree edit distance and DocVQA's ANLS, and every assignment of small lists",
}


def measures() -> str:
    """Every registered measure with its conventions, formula, source and oracle."""
    out = [
        "# Measures",
        "",
        "The registered measures: the name in reports, the definition and its source.",
    ]
    for task in TASKS:
        room = import_module(f"goldassay.measures.{task}")
        out += ["", f"## {task.capitalize()}", "", _first(room), "", f"Tested against {ORACLES[task]}."]
        out += ["", "| value | as a measure | formula | source |", "|---|---|---|---|"]
        for measure in room.MEASURES:
            kind = type(measure)
            made = f"`{task}.{measure!r}` ([example][{kind.__module__}.{kind.__qualname__}])"
            cells = (f"`{measure.conventions}`", made, measure.formula, measure.source)
            out.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(out) + "\n"


def commands() -> str:
    """Every command with its options."""
    out = ["# Commands", "", "`goldassay COMMAND --help` shows the same. These options may stand anywhere on the line:"]
    out += ["", *_options(typer.main.get_command(app)), "", "A command names those that it takes in its help."]
    for words, command in _walk(typer.main.get_command(app), ("goldassay",)):
        out += ["", f"## {' '.join(words)}", "", (command.help or "").split("\f")[0].strip(), "", *_options(command)]
    return "\n".join(out) + "\n"


def _options(command: Any) -> list[str]:
    """A table of the arguments and options of a command."""
    rows = []
    for parameter in command.params:
        option = parameter.param_type_name == "option"
        spelling = ", ".join(parameter.opts) if option else str(parameter.name).upper()
        metavar = str(parameter.metavar or "").replace("|", "&#124;") if option else ""
        text = " ".join(str(getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
        default = parameter.default
        if isinstance(default, (str, int, float, Path)) and default not in (False, "") and "default" not in text:
            text += f" Default: {default}."
        rows.append(f"| `{spelling}` {metavar} | {text} |")
    return ["| | |", "|---|---|", *rows] if rows else []


def _walk(command: Any, words: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        return [(words, command)]
    return [row for name, inner in sorted(command.commands.items()) for row in _walk(inner, (*words, name))]


ROOMS = (
    "goldassay",
    *(
        f"goldassay.{name}"
        for name in ("gold", "running", "statistics", "tuning", "judges", "lm", "embedding", "tally")
    ),
    *(f"goldassay.measures.{task}" for task in TASKS),
    "goldassay.gold.agreement",
    "goldassay.gold.audit",
    "goldassay.reporting.pages",
    "goldassay.compat",
)
"""The documented packages; what their ``__all__`` names is the public API (``tests/api.txt``)."""

INTERNAL = {"T", "sides", "errors", "Batch", "listed", "checked", "available_tokens", "resolve_tokens"}
"""What packages export for each other, and nobody else needs."""


def api() -> dict[str, list[str]]:
    """The names of each documented package; a name of two packages stands in the first."""
    seen: set[str] = set()
    out: dict[str, list[str]] = {}
    for room in ROOMS:
        package = import_module(room)
        public = {name: f"{getattr(package, name).__module__}.{name}" for name in _names(package)}
        out[room] = sorted(name for name, home in public.items() if home not in seen)
        seen |= set(public.values())
    return out


def _names(package: Any) -> list[str]:
    names = getattr(package, "__all__", None) or [name for name in dir(package) if not name.startswith("_")]
    names = [name for name in names if name not in INTERNAL]
    return [name for name in names if str(getattr(getattr(package, name), "__module__", "")).startswith("goldassay")]


def python() -> str:
    """The public names, each with its docstring."""
    out = ["# Python", "", "The public names. The tests run every example."]
    for room, names in api().items():
        out += ["", f"## {room}", "", _first(import_module(room))] if names else []
        for name in names:
            thing = getattr(import_module(room), name)
            if hasattr(thing, "__name__"):
                out += ["", f"::: {thing.__module__}.{thing.__name__}", "    options:", "      heading_level: 3"]
    return "\n".join(out) + "\n"


def examples() -> str:
    """The scripts and notebooks of ``examples/``, as they stand there."""
    folder = Path(__file__).parents[1] / "examples"
    out = ["# Examples", "", "The files of `examples/` need no network, and the tests run them."]
    for file in sorted(folder.glob("*.py")):
        out += ["", f"## {file.stem.capitalize()}", "", f'```python title="examples/{file.name}"']
        out += [file.read_text(encoding="utf-8").rstrip(), "```"]
    for file in sorted(folder.glob("*.ipynb")):
        out += ["", f"A notebook: `examples/{file.name}`", ""]
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"]).rstrip()
            code = cell["cell_type"] == "code"
            out += ["```python", text, "```", ""] if code else [text.replace("# ", "## ", 1), ""]
    return "\n".join(out) + "\n"


def _first(room: Any) -> str:
    return (room.__doc__ or "").split("\n\n")[0].replace("\n", " ")


def write() -> None:
    """Write the pages into the site that mkdocs builds."""
    import mkdocs_gen_files

    for page, text in {"examples": examples, "measures": measures, "commands": commands, "python": python}.items():
        with mkdocs_gen_files.open(f"reference/{page}.md", "w") as file:
            file.write(text())


if __name__ in ("__main__", "<run_path>"):  # mkdocs runs this file; a test imports it
    write()

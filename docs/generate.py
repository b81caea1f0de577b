"""The pages that are made from the code: the examples, and the reference of measures, commands and Python names."""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any

import mkdocs_gen_files
import typer

import goldassay
from goldassay.cli import app
from goldassay.measure import TASKS

ORACLES = {
    "extraction": "seqeval, nervaluate, scikit-learn, HIPE-scorer's unit data and the counts of official system files",
    "classification": "scikit-learn",
    "linking": "HIPE-scorer's unit data and the counts of official system files",
    "retrieval": "trec_eval's own files, pytrec_eval and ir_measures",
    "answering": "the SQuAD scores of DSPy and torchmetrics, rouge-score, bert-score and RAGChecker's example",
    "triples": "Text2KGBench's published per-sentence results",
}


def measures() -> str:
    """Every registered measure: what it says, its formula, its conventions, its source, its oracle, an example."""
    out = [
        "# Measures",
        "",
        "Made from the registry: the name that a report prints, the definition, and where it is from.",
    ]
    for task in TASKS:
        room = import_module(f"goldassay.measures.{task}")
        out += ["", f"## {task.capitalize()}", "", _first(room), "", f"Held by tests to {ORACLES[task]}."]
        out += ["", "| value | as a measure | formula | source |", "|---|---|---|---|"]
        for measure in room.MEASURES:
            kind = type(measure)
            made = f"`{task}.{measure!r}` ([example][{kind.__module__}.{kind.__qualname__}])"
            cells = (f"`{measure.conventions}`", made, measure.formula, measure.source)
            out.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(out) + "\n"


def commands() -> str:
    """Every command with its options, as its help says them."""
    out = [
        "# Commands",
        "",
        "`goldassay COMMAND --help` says the same, in groups; `goldassay score TASK --help` shows what concerns that "
        "task. Every command takes `--quiet`: no progress is shown.",
    ]
    for words, command in _walk(typer.main.get_command(app), ("goldassay",)):
        out += ["", f"## {' '.join(words)}", "", (command.help or "").split("\f")[0].strip(), ""]
        rows = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        if rows:
            out += ["| | what it says |", "|---|---|"]
        for parameter in rows:
            shown = ", ".join(parameter.opts) if parameter.param_type_name == "option" else str(parameter.name).upper()
            takes = str(parameter.metavar or "").replace("|", "&#124;") if parameter.param_type_name == "option" else ""
            said = " ".join(str(getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
            plain = isinstance(parameter.default, (str, int, float, Path)) and parameter.default not in (False, "")
            if plain and not getattr(parameter, "is_flag", False) and "default" not in said:
                said += f" Default: {parameter.default}."
            out.append(f"| `{shown}` {takes} | {said} |")
    return "\n".join(out) + "\n"


def _walk(command: Any, words: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        return [(words, command)]
    return [found for name, inner in sorted(command.commands.items()) for found in _walk(inner, (*words, name))]


def python() -> str:
    """The public names, each with its docstring."""
    out = ["# Python", "", "The public names. Each example in them is run by the tests."]
    shown: set[str] = set()
    for room in rooms():
        found = import_module(room)
        names = sorted(name for name in (getattr(found, "__all__", None) or dir(found)) if _documented(found, name))
        homes = [f"{getattr(found, name).__module__}.{getattr(found, name).__name__}" for name in names]
        new = [home for home in dict.fromkeys(homes) if home not in shown]  # a name of two rooms stands in the first
        shown |= set(new)
        out += ["", f"## {room}", "", _first(found)] if new else []
        for home in new:
            out += ["", f"::: {home}", "    options:", "      heading_level: 3"]
    return "\n".join(out) + "\n"


def rooms() -> list[str]:
    """The packages with public names: what one works with first, then the others."""
    first = ["goldassay"]
    first += [f"goldassay.{name}" for name in ("gold", "running", "statistics", "tuning", "judges", "lm")]
    public = [
        name
        for _, name, package in pkgutil.walk_packages(goldassay.__path__, "goldassay.")
        if package and getattr(import_module(name), "__all__", None)
    ]
    return [*first, *(name for name in public if name not in first), "goldassay.compat"]


def _documented(room: Any, name: str) -> bool:
    found = getattr(room, name)
    return str(getattr(found, "__module__", "")).startswith("goldassay") and hasattr(found, "__name__")


def examples() -> str:
    """The scripts and notebooks of ``examples/``, as they stand there."""
    folder = Path(__file__).parents[1] / "examples"
    out = ["# Examples", "", "They lie in `examples/`, need no network, and are run by the tests."]
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


PAGES = {"examples": examples, "measures": measures, "commands": commands, "python": python}
for page, made in PAGES.items():
    with mkdocs_gen_files.open(f"reference/{page}.md", "w") as written:
        written.write(made())

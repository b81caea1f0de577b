"""How the command line spells the parameters of a function: as options, with a metavar and a line of help.

A command is a function whose parameters are annotated; a parameter whose type is a dataclass is a group, and each
annotated field of it is an option. The function is called as it is in Python, so a command of an extension needs
nothing of the command line (`goldassay._support.extensions`):

    @dataclass(frozen=True)
    class Sample:
        n: Annotated[int, option("N", "At most so many letters.", min=1)] = 40

    def draft(letters: Annotated[Path, argument("FILE", "The letters.")], sample: Sample, seed: int = 0) -> None:
        "Choose letters to label."

The options of the whole program (`SHARED`) mean the same everywhere: a command that uses one has a parameter, or a
field in a group, of that name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from goldassay._support.exceptions import GoldassayError


@dataclass(frozen=True)
class Option:
    """One option of the command line.

    Args:
        metavar: The word for the value in the help; None for the name of the type.
        help: What the option does.
        name: The option, as ``--from``; by default it is called as its parameter.
        positional: An argument, without ``--``.
        panel: The heading of the help under which it is listed.
        min: The smallest number.
        max: The largest number.
    """

    metavar: str | None
    help: str
    name: str | None = None
    positional: bool = False
    panel: str | None = None
    min: float | None = None
    max: float | None = None


option = Option
argument = partial(Option, positional=True)
flag = partial(Option, None)
for_gold = partial(Option, panel="Gold")
for_model = partial(Option, panel="Model")
for_running = partial(Option, panel="Running")
for_result = partial(Option, panel="Result")

SHARED: Mapping[str, tuple[type, Option]] = {
    "task": (str, option("TASK", "The task, where a program, a file or a draft does not imply it.")),
    "split": (str, option("NAME", "Only this split of the gold: train, dev, test or all.")),
    "metric": (str, option("FILE:NAME", "The metric of programs (default: metrics/TASK.py:metric).")),
    "map": (str, option("NAME=PATH,…", "Fields under other names: text=body.content,label=cat.")),
    "limit": (int, option("N", "Use only the first N examples.", min=1)),
    "threads": (int, option("N", "The number of examples in flight.", min=1)),
    "repeats": (int, option("N", "Ask each example N times, without a cache, to measure the model's noise.", min=1)),
    "budget": (str, option("WHAT=N", "Stop after so many calls, tokens, usd or minutes: calls=500.")),
    "timeout": (float, option("SECONDS", "The time limit of one example.")),
    "resume": (Path, option("FOLDER", "Continue an interrupted run in its folder.")),
    "seed": (int, option("N", "The seed of all random choices.")),
    "json": (bool, flag("Print exactly one JSON object on standard output.")),
    "force": (bool, flag("Write over existing files, and answers that a folder has cached.")),
    "quiet": (bool, flag("Show no progress.")),
}
"""The options of the whole program, each with its type; every command takes ``quiet``."""

Name = Annotated[str, argument("TASK|FILE", "A task, TASK:NAME or FILE:NAME.")]
Task = Annotated[
    str,
    argument(
        "TASK",
        "extraction, classification, linking, retrieval, answering, triples, records or trajectories; or your own.",
    ),
]
Run = Annotated[Path, argument("RUN", "A run folder, or a log of another tool (FILE, or FILE:SYSTEM).")]
GoldSet = Annotated[str, argument("SET|FILE", "The name of a gold set, its folder, or a file.")]
Format = Annotated[
    str | None,
    for_gold(
        "NAME[:COLUMN]",
        "The format of a file, if its name does not imply it; the column of tags, as in hipe:NE-COARSE-LIT.",
    ),
]
Side = Annotated[Literal["gold", "pred"], for_gold("gold|pred", "Gold, or predictions.")]
Lm = Annotated[
    str | None,
    for_model(
        "MODEL[,NAME=VALUE,…]",
        "A model that dspy.LM knows, local/smollm2-135m (default, unless the program's file configures one), "
        "local:FILE.gguf or models.yaml:NAME, with options such as temperature=0.2, api_base=URL, rpm=60, cache=false "
        "or adapter=json.",
    ),
]
ReflectionLm = Annotated[str | None, for_model("MODEL", "A model that writes instructions (tune: default --lm).")]
JudgeLm = Annotated[
    str | None,
    for_model(
        "MODEL",
        "The model that judges: judged measures (metric_with(judge) of the metric's or the program's file gets it), or "
        "the modes of a review; it is never --lm.",
    ),
]
Question = Annotated[
    str,
    for_model(
        "NAME|FILE|1-5|FOLDER[:LABEL]",
        "The question of a judge: support, relevance, criterion or preference; a yaml or json file with levels and "
        "their meanings, the worst first; a scale; a judge tuned with tune --judge. The label that counts as positive "
        "may follow, as in criterion:yes.",
    ),
]
Unlabelled = Annotated[
    Path | None, for_gold("FILE", "Inputs without gold; you label blindly those on which the programs differ.")
]
State = Annotated[Path | None, for_model("FILE|FOLDER", "A saved program: what program.save or tune wrote (JSON).")]


def first_set(options: object, *names: str) -> str:
    """The first of these options, the fields of a group, that is not its default; empty if all are.

    >>> @dataclass
    ... class Work:
    ...     threads: int = 1
    ...     budget: str | None = None
    >>> first_set(Work(budget="calls=5"), "threads", "budget"), first_set(Work(), "threads", "budget")
    ('budget', '')
    """
    return next((name for name in names if getattr(options, name) != getattr(type(options), name)), "")


def numbers(name: str, texts: Sequence[str] | None) -> dict[str, float]:
    """Numbers by their names, from texts ``NAME=VALUE``.

    Raises:
        GoldassayError: One is not of this form; ``name`` is the parameter in the message.

    >>> numbers("fail_under", ["strict_f1=.8"])
    {'strict_f1': 0.8}
    """
    pairs = [text.rpartition("=") for text in texts or ()]
    try:
        return {name.strip(): float(number) for name, _, number in pairs}
    except ValueError:
        raise GoldassayError(f"`{name}=` expects NAME=NUMBER, as strict_f1=.8, got {', '.join(texts or ())}") from None


def check_new(path: Path | None, force: bool) -> None:
    """Refuse to write over an existing file or folder, unless ``force`` is set.

    Raises:
        GoldassayError: It exists.
    """
    if path is not None and path.exists() and not force:
        raise GoldassayError(f"{path} already exists; choose another place, or add `force=True` to write over it")


def shell_line(command: str, *words: object, **options: object) -> str:
    """A line that a shell takes as it is; of options None is left out, and a list repeats its option.

    >>> shell_line("goldassay compare", "TASK", gold="my gold.jsonl", pred=["a", "b"], split=None)
    "goldassay compare TASK --gold 'my gold.jsonl' --pred a --pred b"
    """
    texts = [str(word) for word in words]
    for name, value in options.items():
        for item in value if isinstance(value, list) else [value]:
            texts += [f"--{name}", str(item)] if item is not None else []
    return f"{command} {shlex.join(texts)}".strip()


def with_flags(message: str) -> str:
    """A message of the library, which names keyword arguments, with the options of the command line in their place.

    >>> with_flags("resume it: `resume=runs/x`, or set `force=True`")
    'resume it: --resume runs/x, or set --force'
    >>> with_flags('name its column (`map={"label": "COLUMN"}`)')
    'name its column (--map label=COLUMN)'
    >>> with_flags('name its column (`map={"label": "Final label"}`)')
    "name its column (--map 'label=Final label')"
    >>> with_flags("name its task (`task=`)")
    'name its task (--task)'
    """
    renamed = {"columns": "map", "measures": "measure", "question": "for"}

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        if value.startswith("{"):  # a mapping, which the command line writes as name=value
            value = value.strip("{}").replace('"', "").replace(": ", "=").replace(", ", ",")
        value = value.removesuffix("True")
        return shell_line(f"--{renamed.get(name, name).replace('_', '-')}", *([value] if value else []))

    return re.sub(r"`([a-z_]+)=([^`]*)`", option, message)

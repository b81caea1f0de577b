"""Saved programs, read into a program without executing anything.

``program.save("x.json")`` writes JSON: instructions, field descriptions and demonstrations. ``program.save("x.pkl")``
and ``save_program=True`` write pickles, which can run any code when they are opened, so they are never opened here.

`load_state` is the one function through which ``eval``, ``compare``, ``tune``, ``audit`` and `goldassay.case` read a
saved program.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dspy

from goldassay import jsonl
from goldassay._dspy_compat import signature_of
from goldassay.exceptions import DataError, GoldassayError
from goldassay.tuning.wrappers import inmost, rebuilt

STATE, ABOUT, PICKLE = "state.json", "tuning.json", "program.pkl"


def load_state(program: dspy.Module, place: Path | str) -> dspy.Module:
    """A copy of ``program`` with a saved state.

    A language model that the state names is left out, with a warning: the program keeps its own, and else runs on the
    model of the call.

    Args:
        program: The program that was saved, as its file defines it; it stays as it is.
        place: A JSON file that ``program.save`` wrote, with any DSPy from 3.0 on, or a folder with a ``state.json``.

    Raises:
        DataError: The file is a pickle, or not the state of this program.

    >>> import tempfile
    >>> program = dspy.Predict("text -> label")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     program.save(f"{folder}/short.json")
    ...     load_state(program, f"{folder}/short.json").signature.instructions
    'Given the fields `text`, produce the fields `label`.'
    """
    file = state_file(Path(place))
    state = jsonl.value(file.read_bytes(), file=file, unique=False)
    if not isinstance(state, dict):
        raise DataError("not the state of a program, which program.save('x.json') writes", file=file)
    try:
        loaded: Any = rebuilt(program, state)
        _check(loaded, state, file)
        own = {name: predictor.lm for name, predictor in loaded.named_predictors()}
        models = sorted(set(_models_left_out(state)))
        loaded.load_state(state)
        for name, predictor in loaded.named_predictors():
            predictor.lm = own[name]
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"not the state of this program: {type(error).__name__}: {error}", file=file) from None
    if models:
        logging.getLogger("goldassay").warning(
            "%s was saved with %s, which is not used: the program runs on the model of this call",
            file,
            " and ".join(models),
        )
    return loaded


def state_file(place: Path) -> Path:
    """The JSON file of a saved program, or of a folder that holds one."""
    file = place / STATE if place.is_dir() else place
    if place.is_dir() and (place / ABOUT).is_file():
        read_about(place / ABOUT)  # a damaged folder is not trusted
    if file.suffix == ".pkl" or (not file.is_file() and (place / PICKLE).is_file()):
        raise DataError(
            "a pickle can run any code when it is opened, so it is not; load it where you trust it (dspy.load, "
            "program.load) and write program.save('state.json')",
            file=place / PICKLE if place.is_dir() else place,
        )
    if not file.is_file():
        raise GoldassayError(
            f"no saved program at {place}: expected a file of program.save('x.json'), or a folder with {STATE}"
        )
    return file


def read_about(file: Path) -> dict[str, Any]:
    """What ``tuning.json`` says."""
    try:
        about = jsonl.value(file.read_bytes(), file=file)
    except OSError:
        raise GoldassayError(f"no tuning at {file.parent}: expected tuning.json there") from None
    if not isinstance(about, dict):
        raise DataError("not a tuning", file=file)
    return about


def state_names(places: Sequence[Path]) -> list[str]:
    """What runs of saved programs are called: the name of each file, or of the folder of a ``state.json``; as many of
    the folders above as tell them apart.

    >>> state_names([Path("runs/gepa/state.json"), Path("short.json")])
    ['gepa', 'short']
    >>> state_names([Path("a/best.json"), Path("b/best.json")])
    ['a-best', 'b-best']
    """
    paths = [place.resolve() for place in places]
    parts = [list((path.parent if path.name == STATE else path.with_suffix("")).parts[1:]) for path in paths]
    names: list[str] = []
    for size in range(1, max(map(len, parts), default=0) + 1):
        names = ["-".join(each[-size:]) for each in parts]
        if len(set(names)) == len(set(paths)):
            break
    return names


def _check(program: Any, state: Mapping[str, Any], file: Path) -> None:
    """The state has the predictors of this program, each with as many fields: DSPy takes what fits, without a word."""
    state, program = state if inmost(program) is program else state["program"], inmost(program)
    parts = (
        {"self": state} if isinstance(program, dspy.Predict) else {k: v for k, v in state.items() if k != "metadata"}
    )
    parameters = dict(program.named_parameters())
    if parts.keys() != parameters.keys():
        names = [", ".join(sorted(each)) or "none" for each in (parts, parameters)]
        raise DataError(f"not the state of this program: it has {names[0]}, and the program {names[1]}", file=file)
    for name, predictor in program.named_predictors():
        sizes = len(parts[name]["signature"]["fields"]), len(signature_of(predictor).fields)
        if sizes[0] != sizes[1]:
            message = f"not the state of this program: {sizes[0]} fields, and the program's signature has {sizes[1]}"
            raise DataError(message, file=file, field=name)


def _models_left_out(state: Any) -> Iterator[str]:
    """Take the models out of a state; their names."""
    for entry in state.values() if isinstance(state, dict) else ():
        yield from _models_left_out(entry)
    if isinstance(state, dict) and state.get("lm") and ("signature" in state or "module_src" in state):
        yield str(state["lm"].get("model"))
        state["lm"] = None

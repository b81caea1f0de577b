"""The shape of a program: which fields it reads, which it answers with, and which of these are only working notes.

It is determined once, by `shape_of`, from the signatures of the predictors and the parameters of ``forward``; every
command asks it instead of guessing. What a signature does not say is known from the user: a line ``inputs = [...]`` in
the program's file, the card of the gold, or ``with_inputs``.

>>> def route(ticket, language="nl"):
...     return {"team": "billing"}
>>> shape_of(route)
ProgramShape(inputs=('ticket', 'language'), optional=('language',), candidates=(), outputs=(), notes=(), choices={})
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Protocol, cast, get_args, get_origin

from goldassay._support.exceptions import GoldassayError
from goldassay._support.workspace import load, program_in, root
from goldassay.core.fields import read

DSPY_NOTES = (
    *("reasoning", "rationale", "trajectory"),  # ChainOfThought, MultiChainComparison, ReAct
    *("generated_code", "final_generated_code", "code_output"),  # ProgramOfThought, CodeAct
)
"""The fields that DSPy's modules add to the answers of a program."""


def is_dspy_module(program: object) -> bool:
    """Whether a program is one of DSPy's own modules, which return what their signatures declare."""
    return type(program).__module__.startswith("dspy.")


class Signature(Protocol):
    """The parts of a ``dspy.Signature`` that are read."""

    input_fields: Mapping[str, object]
    output_fields: Mapping[str, object]


@dataclass(frozen=True)
class ProgramShape:
    """The fields of a program.

    Args:
        inputs: The fields that it reads; None if it takes any (``**kwargs``) and its predictors do not say which.
        optional: Those of them that have a default value.
        candidates: The fields that its predictors read and no other predictor answers, where ``inputs`` is None.
        outputs: The fields that its signatures declare as the answer; empty if it has no signature.
        notes: The fields that its modules add to the answer: they are shown, and never compared or asked for.
        choices: The declared values of the outputs that are a Literal, an enum or a bool.
        declarations: The declarations of the outputs, as a signature has them.
        measured: The fields that the task's metric reads; empty if these are not known.
        intermediate: Those of the outputs that another predictor of the program reads: they are part of the answer only
            if the program returns them.
        models: The declarations of the inputs that are pydantic models (your own, ``dspy.History``, ``dspy.Image``),
            but for those that the program makes itself.
    """

    inputs: tuple[str, ...] | None = None
    optional: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    choices: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    declarations: Mapping[str, Any] = field(default_factory=dict, repr=False)
    measured: tuple[str, ...] = field(default=(), repr=False)
    intermediate: tuple[str, ...] = field(default=(), repr=False)
    models: Mapping[str, object] = field(default_factory=dict, repr=False)

    @property
    def asked(self) -> tuple[str, ...]:
        """The fields that make an example: its inputs, or what the predictors read where these are not known."""
        return self.inputs or self.candidates

    @property
    def required(self) -> list[str]:
        """Those of them without a default value, which every example must have."""
        return [name for name in self.asked if name not in self.optional]

    @property
    def answered(self) -> tuple[str, ...]:
        """The fields of an answer: its outputs and its working notes; empty if they are not declared."""
        return (*self.outputs, *self.notes) if self.outputs else ()

    def answer(self, fields: Iterable[str]) -> list[str]:
        """The fields of a prediction that answer: those that its signatures declare or the metric reads, if it has any.

        Else all without working notes; all if there are only these. What a module returns besides its declared answer,
        such as the passages that it read, is shown, and neither compared nor asked for.
        """
        fields = list(fields)
        declared = [name for name in fields if name in self.outputs or name in self.measured]
        return declared or [name for name in fields if name not in self.notes and name not in DSPY_NOTES] or fields

    def scored(self, fields: Iterable[str]) -> list[str]:
        """The fields of a prediction that make two answers equal or different: what the metric reads, if it is known.

        Args:
            fields: The fields of the prediction.
        """
        answer = self.answer(fields)
        return [name for name in answer if name in self.measured] or answer

    def task_inputs(self, field: str, fields: Collection[str]) -> list[str]:
        """The fields of a task's gold that the program gets: those that it requires if gold has them, else the task's.

        Args:
            field: The input field of the task.
            fields: The fields of the gold.

        >>> ProgramShape(inputs=("question", "functions")).task_inputs("question", ["question", "functions", "calls"])
        ['question', 'functions']
        >>> ProgramShape(inputs=("passage",)).task_inputs("question", ["question", "calls"])
        ['question']
        """
        required = [name for name in self.inputs or () if name not in self.optional]
        return required if required and {*required} <= {*fields} else [field]

    def inputs_among(self, fields: Collection[str], program: str, declared: Collection[str] = ()) -> list[str]:
        """The fields of gold that the program gets, which are never its answers.

        Args:
            fields: The fields of the gold.
            program: The file of the program, for the question.
            declared: The fields that the card of the gold names as inputs.

        Raises:
            GoldassayError: Several fields may be inputs, or the program takes one that is not.
        """
        answers = {*self.outputs, *self.measured}
        if self.inputs is not None:
            offered = declared or [name for name in fields if name not in answers]  # what is optional may be an answer
            names = [name for name in self.inputs if name in offered or name not in self.optional]
            if declared and (beyond := [name for name in names if name not in declared]):
                raise GoldassayError(
                    f"{program} takes {', '.join(beyond)}, which the card of the gold does not name as inputs "
                    f"(inputs: [{', '.join(declared)}])"
                )
            return names
        if declared:
            return list(declared)
        possible = [name for name in self.candidates or fields if name in fields and name not in answers]
        if self.candidates and len(possible) == 1:
            return possible
        listed = ", ".join(possible or fields) or "your fields"
        likely = (possible if self.candidates else possible[:1]) or ["FIELD"]  # too few fail, and gold would not
        answer = ", ".join(f'"{name}"' for name in likely)
        raise GoldassayError(
            f"{program} takes any fields (**kwargs): which of {listed} are its inputs? "
            f"Write the answer into {program} as a line: inputs = [{answer}]"
        )


UNKNOWN_SHAPE = ProgramShape()
"""The shape of a program of which nothing is known."""


def shape_in(file: Path, name: str = "program", baselines: Mapping[str, object] | None = None) -> ProgramShape:
    """The shape of a program in a file; a line ``inputs = [...]`` there says what it reads.

    Args:
        file: The file.
        name: The name of the program.
        baselines: Programs of the file by their names, which come first.

    Raises:
        GoldassayError: The file cannot be loaded, or has no program of this name.
    """
    program = (baselines or {}).get(name) or program_in(file, name, others=baselines or ())
    named = getattr(load(file), "inputs", ())
    return shape_of(program, named if isinstance(named, (list, tuple)) else ())


def shape_of_task(task: str) -> ProgramShape | None:
    """The shape of the program of a user's task; None if the workspace has none."""
    file = root() / "programs" / f"{task}.py"
    return shape_in(file) if file.is_file() else None


def shape_of(program: object, inputs: Collection[str] = ()) -> ProgramShape:
    """The shape of a DSPy module or a function.

    Args:
        program: The program.
        inputs: The fields that it reads, if its file says so.

    Raises:
        GoldassayError: It is a module of DSPy that takes what other modules return.
    """
    signature = _signature(program)
    named_predictors = getattr(program, "named_predictors", None)
    pairs: Any = named_predictors() if callable(named_predictors) else ()
    predictors = [_signature(predictor) for _, predictor in pairs]
    signatures = [item for item in [signature, *predictors] if item is not None]
    answered = {name: output for item in signatures for name, output in item.output_fields.items()}
    types = {name: getattr(output, "annotation", None) for name, output in answered.items()}
    read_by = {name: declared for item in signatures for name, declared in item.input_fields.items()}
    input_fields = {name: getattr(declared, "annotation", None) for name, declared in read_by.items()}
    final = signature.output_fields if signature is not None else answered
    noted = {name for name in final if getattr(types[name], "__name__", "") == "Reasoning"}
    outputs = tuple(name for name in final if name not in noted and name not in DSPY_NOTES) or tuple(final)
    returned = set() if signature is not None else _returned(program)
    outputs = tuple(name for name in outputs if name in returned) or outputs
    shape = ProgramShape(
        None,
        (),
        tuple(name for name in input_fields if name not in answered and name not in DSPY_NOTES),
        outputs,
        tuple(
            name
            for name in dict.fromkeys([*answered, *filter(DSPY_NOTES.__contains__, input_fields)])
            if name not in outputs
        ),
        {name: choices for name in outputs if (choices := choices_of(types[name]))},
        {name: answered[name] for name in outputs},
        intermediate=tuple(name for name in outputs if name in input_fields and not {*outputs} <= {*input_fields}),
        models={name: kind for name, kind in input_fields.items() if _takes(program, name, _models_in(kind))},
    )
    if inputs:
        return replace(shape, inputs=tuple(inputs))
    named, optional = _parameters(program)
    beyond = [name for name in named or () if name not in input_fields]
    if input_fields and beyond and is_dspy_module(program):  # MultiChainComparison
        kind = type(program).__name__
        raise GoldassayError(f"{kind} takes {beyond[0]} of another module: call both in the forward of a dspy.Module")
    return replace(shape, inputs=named, optional=optional)


def fields_read(function: Callable[..., object], parameter: int = 1, *, optional: bool = False) -> set[str]:
    """The fields of a prediction that a metric reads, by its source: ``pred.label``, ``pred["label"]``.

    Args:
        function: The metric.
        parameter: Which of its parameters: the second is the prediction, the first (0) the gold example.
        optional: Only those whose absence raises nothing: ``pred.get("label")``.

    Returns:
        The fields; empty if it hands them on as a whole, or its source is not at hand.

    >>> fields_read(shape_in)
    set()
    """
    try:
        definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        return set()
    if not isinstance(definition, ast.FunctionDef) or len(definition.args.args) < 2:
        return set()
    record = definition.args.args[parameter].arg
    methods = [node.func for node in ast.walk(definition) if isinstance(node, ast.Call)]
    fields: list[str] = []
    silent: set[str] = set()
    for node in ast.walk(definition):
        match node:
            case (
                ast.Attribute(value=ast.Name(id=owner), attr=str(key))
                | ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str(key)))
                | ast.Call(
                    func=ast.Attribute(value=ast.Name(id=owner), attr="get"), args=[ast.Constant(value=str(key)), *_]
                )
                | ast.Call(
                    func=ast.Name(id="getattr" | "hasattr"),
                    args=[ast.Name(id=owner), ast.Constant(value=str(key)), *_],
                )
            ) if owner == record and node not in methods:
                fields.append(key)
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") != "hasattr":
                    silent.add(key)
    if optional:
        return silent
    uses = sum(isinstance(node, ast.Name) and node.id == record for node in ast.walk(definition))
    return set(fields) if uses == len(fields) else set()


def input_text(record: object, names: Iterable[str]) -> str:
    """The text by which an example is recognised, and by which two are near duplicates: its inputs, in one line.

    >>> input_text({"title": "Ur", "body": "A  city", "label": "x"}, ["title", "body"])
    'A city Ur'
    """
    values = [read(record, name, None) for name in sorted(names)]
    return " ".join(" ".join(str(value) for value in values if value is not None).split())


def choices_of(annotation: object) -> tuple[object, ...]:
    """The values that a type allows, if it lists them: a Literal, an enum, a bool, also in a list or with None.

    >>> choices_of(Literal["a", "b"] | None), choices_of(list[Literal["x"]]), choices_of(str)
    (('a', 'b'), ('x',), ())
    """
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(member.value for member in annotation)
    if annotation is bool:
        return (True, False)
    return tuple(value for inner in get_args(annotation) for value in choices_of(inner))


def _models_in(annotation: object) -> list[str]:
    """The names of the pydantic models in a type, as of a list of models."""
    if isinstance(annotation, type) and hasattr(annotation, "model_validate"):
        return [annotation.__name__]
    return [name for inner in get_args(annotation) for name in _models_in(inner)]


def _takes(program: object, name: str, models: Collection[str]) -> bool:
    """Whether a program expects an input as the model that its predictors declare, and not as JSON.

    It does, unless ``forward`` declares the parameter as something else, or names the model and reads no attribute of
    the parameter: then it makes the model itself.
    """
    method: Any = getattr(type(program), "forward", None) or getattr(type(program), "aforward", None)
    try:
        parameter = inspect.signature(method).parameters[name]
        text = str(parameter.annotation)
        is_declared = parameter.annotation is not inspect.Parameter.empty
        source = "" if is_declared else inspect.getsource(method)
    except (KeyError, OSError, TypeError, ValueError):  # a predictor, or any fields, which are handed on
        return bool(models)
    is_object = re.search(rf"\b{name}\.(?!(get|items|keys|values|copy|pop)\()", source) is not None
    return any(model in text if is_declared else is_object or model not in source for model in models)


def _signature(program: object) -> Signature | None:
    """The signature that a predictor or a module states, if it does."""
    signature = getattr(program, "signature", None)
    stated = hasattr(signature, "input_fields") and hasattr(signature, "output_fields")
    return cast("Signature", signature) if stated else None


def _returned(program: object) -> set[str]:
    """The fields of the ``dspy.Prediction`` that ``forward`` returns; empty if its source does not name them all."""
    method = getattr(type(program), "forward", None) or getattr(type(program), "aforward", None)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))  # type: ignore[arg-type]
    except (OSError, TypeError, SyntaxError):
        return set()
    names: set[str | None] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Return(
                value=ast.Call(
                    func=ast.Attribute(attr="Prediction") | ast.Name(id="Prediction"), args=[], keywords=keywords
                )
            ):
                names |= {keyword.arg for keyword in keywords}
            case ast.Return():
                names.add(None)
    return set() if None in names else {name for name in names if name}


def _parameters(program: object) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """The inputs that a program takes and those of them that have a default; None if it takes any.

    A signature names them; else the parameters of ``forward`` (or ``aforward``) do, of the class or of the classes that
    it extends; a module with ``**kwargs`` takes what the one module in it takes.
    """
    signature = _signature(program)
    if signature is not None:
        return tuple(signature.input_fields), ()
    methods = [
        vars(item)[name] for item in type(program).__mro__ for name in ("forward", "aforward") if name in vars(item)
    ]
    for function in methods or [program]:
        try:
            parameters = list(inspect.signature(function).parameters.values())[bool(methods) :]
        except (TypeError, ValueError):
            continue
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        named = [item for item in parameters if item.kind in kinds]
        if named or all(item.kind is not inspect.Parameter.VAR_KEYWORD for item in parameters):
            optional = [item.name for item in named if item.default is not inspect.Parameter.empty]
            return tuple(item.name for item in named), tuple(optional)
    held = vars(program).values() if methods else ()
    modules = [value for value in held if callable(getattr(value, "named_predictors", None))]
    return _parameters(modules[0]) if len(modules) == 1 else (None, ())

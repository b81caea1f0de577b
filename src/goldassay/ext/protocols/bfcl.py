"""Protocol ``bfcl``: calls checked as the Berkeley Function Calling Leaderboard checks them (``ast_checker``, Python).

A prediction is right if it has as many calls as the reference and each passes: the function's name is equal; every
required argument is there and none is unexpected; each value has the type of the function's schema, or that of an
acceptable answer ("a variable"); and it is among the acceptable ones. An integer passes for a float. Texts are compared
without case, spaces and ``,./-_*^``, and with one kind of quotes. An acceptable ``""`` means that the argument may be
left out. Parallel calls are assigned one to one in any order, greedily in the order of the reference.

What nobody expects, and is done as the script does it: ``any`` is a text; items of a list are checked against one
level of types, and pass if any acceptable answer passes; an empty list passes where the argument may be left out.

Interfaces for calling functions allow no dots in names, so the script replaces those of the schemas by ``_`` for models
behind them: here wherever calls are not in BFCL's form ``[{name: {argument: value}}]``, whose names are compared as
they are written.

A text in which no calls can be read, or arguments that are not JSON, are ``ast_decoder:decoder_failed``. Of tasks of
the categories ``irrelevance`` no call is right, and any of ``relevance``. Tasks in Java or JavaScript, and of
several turns, are refused.

Source: Patil et al. 2025, The Berkeley Function Calling Leaderboard; bfcl-eval 2026.3.23
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from goldassay._support.exceptions import DataError
from goldassay.core.evidence import means
from goldassay.core.fields import identity, read
from goldassay.core.measure import Batches, Conventions, Error, Measure, Review
from goldassay.core.steps import Step
from goldassay.core.tally import Mean
from goldassay.measures import Examples
from goldassay.measures.protocols import Protocol
from goldassay.measures.trajectories.mistakes import in_words
from goldassay.measures.trajectories.records import reference, trajectory
from goldassay.results.result import Result, Sections, facts_of, fold

PYTHON_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
IGNORED = re.compile(r"[ ,./\-_*^]")


def ast_error(
    functions: Sequence[Mapping[str, object]], gold: Sequence[Step], pred: Sequence[Step] | None, category: str
) -> str:
    """The kind of the first error by the names of the script; empty if the calls are right.

    Args:
        functions: The functions' schemas: ``name``, ``parameters`` with ``properties`` and ``required``.
        gold: The reference, whose arguments are lists of acceptable values.
        pred: The predicted calls; None for a text in which no calls can be read.
        category: Such as ``simple_python``, ``multiple``, ``parallel``, ``parallel_multiple``.

    Raises:
        DataError: A schema has a type that the checker does not know, or there is none of a function of the reference.

    >>> area = {"name": "area", "parameters": {"properties": {"base": {"type": "integer"}}, "required": ["base"]}}
    >>> gold = [Step("area", {"base": [10]})]
    >>> ast_error([area], gold, [Step("area", {"base": 10})], "simple_python")
    ''
    >>> ast_error([area], gold, [Step("area", {"base": "10"})], "simple_python")
    'type_error:simple'
    """
    if not gold and "relevance" in category:  # where no call is right, or any
        if bool(pred) is ("irrelevance" not in category):
            return ""
        return "irrelevance_error:decoder_success" if pred else "relevance_error:decoder_failed"
    if pred is None:
        return "ast_decoder:decoder_failed"
    by_name = {str(function["name"]): function for function in functions}
    kind = next((kind for kind in ("parallel", "multiple") if kind in category), "simple")
    if len(pred) != len(gold):
        checker = "parallel_function_checker_no_order" if kind == "parallel" else f"{kind}_function_checker"
        return f"{checker}:wrong_count"
    for call in gold if kind != "simple" else ():
        if call.name not in by_name:
            raise DataError(f"no function is called {call.name!r}: there is {', '.join(by_name)}", field="functions")
    if kind != "parallel" and gold:
        schema = functions[0] if kind == "simple" else by_name[gold[0].name]
        return call_error(schema, gold[0], pred[0])
    free = list(pred)
    for expected in gold:
        match = next((call for call in free if not call_error(by_name[expected.name], expected, call)), None)
        if match is None:
            return "parallel_function_checker_no_order:cannot_find_match"
        free = [call for call in free if call is not match]
    return ""


def call_error(schema: Mapping[str, Any], gold: Step, pred: Step) -> str:
    """The kind of the first error of one call; empty if it is right."""
    parameters = schema["parameters"]
    expected = _lists(gold.args)
    if pred.name != schema["name"]:
        return "simple_function_checker:wrong_func_name"
    if any(name not in pred.args for name in parameters.get("required", ())):
        return "simple_function_checker:missing_required"
    for name, value in pred.args.items():
        if name not in parameters["properties"] or name not in expected:
            return "simple_function_checker:unexpected_param"
        if error := _value_error(parameters["properties"][name], expected[name], value):
            return error
    if any(name not in pred.args and "" not in acceptable for name, acceptable in expected.items()):
        return "simple_function_checker:missing_optional"
    return ""


def _lists(args: Mapping[str, object]) -> dict[str, list[object]]:
    return {name: acceptable if isinstance(acceptable, list) else [acceptable] for name, acceptable in args.items()}


def _value_error(declared: Mapping[str, Any], acceptable: list[Any], value: Any) -> str:
    """The error of one value: of its type, then of the value among the acceptable ones."""
    expected = _python_type(declared)
    items = _python_type(declared.get("items") or {}, "items") if declared["type"] in ("array", "tuple") else None
    if isinstance(value, tuple) and declared["type"] == "tuple":
        value = list(value)
    if declared["type"] == "float" and type(value) is int:
        value = float(value)
    error, is_variable = _type_error(value, acceptable, expected, items)
    if error:
        return error
    if is_variable:
        return "" if value in acceptable else "value_error:others"
    if expected is dict:
        return _dict_error(dict(value), acceptable)
    if items is dict:  # a list of objects, which are compared in their order
        error = "list_dict_checker:unclear"
        for answer in acceptable:
            if len(value) != len(answer):
                error = "value_error:list_dict_count"
                continue
            errors = (_dict_error(item, [other]) for item, other in zip(value, answer, strict=True))
            error = next(filter(None, errors), "")
            if not error:
                return ""
        return error
    if expected is str:
        texts = [standard(answer) for answer in acceptable if isinstance(answer, str)]
        return "" if standard(value) in texts else "value_error:string"
    if expected is list:
        lists = [[*map(standard, answer)] for answer in acceptable]
        return "" if [*map(standard, value)] in lists else "value_error:list/tuple"
    return "" if value in acceptable else "value_error:others"


def _python_type(declared: Mapping[str, Any], of: str = "a parameter") -> type:
    """The type of a value by its schema."""
    kind = declared.get("type")
    if kind not in PYTHON_TYPES:
        names = ", ".join(PYTHON_TYPES)
        raise DataError(
            f"the type of {of} is {names} (float for number, dict for object), not {kind!r}", field="functions"
        )
    return PYTHON_TYPES[kind]


def _type_error(value: Any, acceptable: list[object], expected: type, items: type | None) -> tuple[str, bool]:
    """The error of a value's type, and whether it is taken as a variable: compared as it is."""
    answer_type: type | None = next((type(answer) for answer in acceptable if answer != ""), None)
    is_variable = answer_type is not None and answer_type is not expected
    error = "type_error:simple"
    kind: type = type(value)
    if kind is expected:
        if items is None:
            return "", is_variable
        for answer in acceptable:
            if not isinstance(answer, list) or not any(_type_error(item, answer, items, None)[0] for item in value):
                return "", is_variable
        error = "type_error:nested"
    if answer_type is not None and kind is answer_type:
        return ("" if error == "type_error:simple" else error), True
    return "type_error:simple", is_variable


def _dict_error(value: Mapping[str, object], acceptable: Sequence[Any]) -> str:
    """The error of an object whose keys have lists of acceptable values; that of the last answer if none accepts it."""
    error = "dict_checker:unclear"
    for answer in acceptable:
        if answer == "":
            continue
        error = ""
        for key, item in value.items():
            if key not in answer:
                error = "value_error:dict_key"
            elif standard(item) not in [*map(standard, answer[key])]:
                error = "value_error:dict_value"
            if error:
                break
        if any(key not in value and "" not in items for key, items in answer.items()):
            error = "value_error:dict_key"
        if not error:
            return ""
    return error


def standard(value: object) -> object:
    """A text as it is compared; anything else as it is.

    >>> standard("April 1, 2024"), standard("it's")
    ('april12024', 'it"s')
    """
    return IGNORED.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value


@dataclass(frozen=True)
class AstMatch(Measure[Mean, list[str]]):
    """The share of predictions whose calls the checker of BFCL accepts.

    Formula: accepted predictions / all predictions
    Source: Patil et al. 2025, the Berkeley Function Calling Leaderboard (``ast_checker``)

    >>> area = {"name": "area", "parameters": {"properties": {"base": {"type": "integer"}}, "required": ["base"]}}
    >>> gold = {"calls": [{"name": "area", "args": {"base": [10]}}], "functions": [area], "category": "simple_python"}
    >>> AstMatch()(gold, {"calls": [{"area": {"base": 10}}]}).tally.value
    1.0
    """

    task = "trajectories"
    name = "ast_accuracy"
    zero: ClassVar[Mean] = Mean()  # type: ignore[misc]
    fixed: ClassVar[Conventions] = {"language": "Python", "order": "any where parallel"}  # type: ignore[misc]

    def batch(self, gold: Examples, pred: Examples) -> list[str]:
        """The kind of error of each pair; empty without one. Gold without schemas is checked by its own names.

        Raises:
            DataError: A schema cannot be read.
        """
        errors = []
        for index, (example, prediction) in enumerate(zip(gold, pred, strict=True), start=1):
            try:
                expected: Sequence[Step] = reference(example).alternatives[0]
                functions = read(example, "functions", None) or [_schema_of(call) for call in expected]
                calls = trajectory(prediction)
                category = str(read(example, "category", None) or ("parallel" if len(expected) != 1 else "multiple"))
                called: Sequence[Step] = calls.calls
                if not _is_decoded(prediction):
                    functions = [{**function, "name": _without_dots(function["name"])} for function in functions]
                    expected = tuple(replace(call, name=_without_dots(call.name)) for call in expected)
                    called = tuple(replace(call, name=_without_dots(call.name)) for call in called)
                listed = None if any(isinstance(call.args.get(""), str) for call in called) else called
                error = "no prediction" if calls.failure else ast_error(functions, expected, listed, category)
            except DataError as fault:
                raise fault.at(record=identity(example, index)) from None
            except (KeyError, TypeError, AttributeError) as fault:
                detail = f"it has no {fault}" if isinstance(fault, KeyError) else str(fault)
                message = f"not laid out as BFCL has it: {detail}"
                raise DataError(message, field="functions", record=identity(example, index)) from None
            errors.append(error)
        return errors

    def tallies(self, batch: list[str]) -> Mean:
        """1 where there is no error."""
        return means(float(not error) for error in batch)

    def errors(self, gold: object, pred: object) -> Review:
        """The kind of error by the name of the script."""
        (error,) = self.batch([gold], [pred])
        if not error:
            return (), ()
        expected = "; ".join(map(in_words, reference(gold).alternatives[0]))
        calls = "; ".join(map(in_words, trajectory(pred).calls))
        return (Error(error, f"{error.replace('_', ' ')}: expected {expected}.", expected, calls, field="calls"),), ()


def _is_decoded(prediction: object) -> bool:
    """Whether calls are in BFCL's form, with the names that a model wrote and arguments as an object."""
    calls = read(prediction, "calls", None)
    return isinstance(calls, list) and any(
        isinstance(call, Mapping) and len(call) == 1 and "function" not in call and isinstance(args, Mapping)
        for call in calls
        for args in call.values()
    )


def _without_dots(name: str) -> str:
    return str(name).replace(".", "_")


def _schema_of(call: Step) -> dict[str, Any]:
    """A schema that the reference itself implies."""
    names = {kind: name for name, kind in reversed(PYTHON_TYPES.items())}  # of two the first: "array", "string"
    properties = {}
    for name, acceptable in _lists(call.args).items():
        first = next((answer for answer in acceptable if answer not in ("", None)), "")
        item = next(iter(first), "") if isinstance(first, list) else ""
        properties[name] = {"type": names.get(type(first), "any"), "items": {"type": names.get(type(item), "any")}}
    return {"name": call.name, "parameters": {"properties": properties, "required": []}}


def scorecard(shared: Batches) -> Result:
    """The accuracy, also by category, and the kinds of errors with how often each occurs."""

    def facts(chunk: Batches, first: AstMatch) -> Counter[object]:
        counts = Counter[Any]()
        for gold, pred, error in zip(chunk.gold, chunk.pred, chunk.of(first), strict=True):
            category = str(read(gold, "category", None) or "none")
            names = {call.name for call in reference(gold).alternatives[0] if error and "." in call.name}
            counts["dots"] += not {*map(_without_dots, names)}.isdisjoint(call.name for call in trajectory(pred).calls)
            counts["category", category] += 1
            counts[("error", error) if error else ("right", category)] += 1
        return counts

    def by_category(result: Result) -> dict[str, dict[str, float]]:
        right = facts_of(result.facts, "right")
        examples = facts_of(result.facts, "category")
        return {name: {"ast_accuracy": right[name] / n, "examples": n} for name, n in sorted(examples.items())}

    def by_error(result: Result) -> dict[str, dict[str, float]] | None:
        errors = facts_of(result.facts, "error")
        return {name: {"examples": n} for name, n in errors.most_common()} or None

    by = {"category": by_category, "error": by_error}
    dots = (
        "{n} of {examples} predictions write _ in a function's name where gold has a dot, which is wrong; if the model "
        'may write no dots, give calls as messages with tool_calls, or as {{"name": …, "args": …}}'
    )
    return fold("trajectories", [AstMatch()], shared, sections=Sections(facts, by, {"dots": dots}))


MEASURES = (AstMatch(),)
BFCL = Protocol("bfcl", ("trajectories",), scorecard, format="bfcl", reads_records=True)

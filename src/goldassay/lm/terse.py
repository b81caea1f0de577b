"""A short prompt for very small models: instructions, ``name: value`` lines, compact JSON demonstrations.

In the form ``types`` a list of labelled objects is asked for label by label, and put together again: a small model that
loses its way among seven types may find those of one. Each call costs a prompt, so this form is as many times as dear
as there are labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin

import dspy
from pydantic import BaseModel, PydanticUserError, TypeAdapter, create_model

from goldassay._dspy_compat import serialize_for_json
from goldassay.exceptions import GoldassayError
from goldassay.lm.lines import Copied, Lines
from goldassay.lm.server import COPY, FORM

FORMS = ("auto", "json", "lines", "types")


class TerseAdapter(dspy.JSONAdapter):  # type: ignore[misc]
    """Typed answers under a grammar, with about half the words of DSPy's own prompt.

    ``form`` is how an answer is written: ``json``, ``lines`` (see `goldassay.lm.lines`), ``types`` (lines, and a call
    for each label: `goldassay.lm.terse`), or ``auto``: lines where an output is a list, which is where JSON costs
    most tokens, else JSON. ``copied`` says whether a local model may only copy the words of fields that are copied from
    the input.

    What a field means stays in the prompt when the signature describes it, and so do the labels of an output that is a
    choice of a few; the form of the answer is left to the schema.

    >>> class Label(dspy.Signature):
    ...     '''What kind of institution is it?'''
    ...     text: str = dspy.InputField()
    ...     label: Literal["museum", "archive"] = dspy.OutputField()
    >>> for message in TerseAdapter().format(Label, [{"text": "Het Rijksmuseum", "label": "museum"}], {"text": "NIOD"}):
    ...     print(message["role"], "|", message["content"])
    system | What kind of institution is it?
    label: museum, archive
    user | text: Het Rijksmuseum
    assistant | {"label": "museum"}
    user | text: NIOD
    """

    def __init__(self, form: str = "auto", copied: bool = True) -> None:
        super().__init__()
        if form not in FORMS:
            raise GoldassayError(f"no form of answers {form!r}; there are {', '.join(FORMS)}")
        self.form, self.copied = form, copied

    def lines(self, signature: Any) -> Lines | None:
        """The form in lines of a signature's outputs; ``None`` where they are written as JSON."""
        if self.form == "json":
            return None
        form = _lines(signature)
        return form if form is None or self.form == "lines" or form.lists else None

    def __call__(
        self,
        lm: dspy.BaseLM,
        lm_kwargs: dict[str, Any],
        signature: type[dspy.Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """The answers to one request; in the form ``types`` one call of the model for each label.

        Args:
            lm: The model.
            lm_kwargs: The settings of the call.
            signature: What is asked.
            demos: The demonstrations.
            inputs: The inputs.
        """
        parted = CallPerType.of(signature) if self.form == "types" else None
        if parted is None:
            found: list[dict[str, Any]] = super().__call__(lm, lm_kwargs, signature, demos, inputs)
            return found
        answers = {}
        for label in parted.labels:
            asked, shown = parted.asking(label), parted.shown(demos, label)
            answers[label] = super().__call__(lm, dict(lm_kwargs), asked, shown, inputs)
        return parted.together(answers)

    async def acall(
        self,
        lm: dspy.BaseLM,
        lm_kwargs: dict[str, object],
        signature: type[dspy.Signature],
        demos: list[dict[str, object]],
        inputs: dict[str, object],
    ) -> list[dict[str, object]]:
        """The same, asynchronously.

        Args:
            lm: The model.
            lm_kwargs: The settings of the call.
            signature: What is asked.
            demos: The demonstrations.
            inputs: The inputs.
        """
        parted = CallPerType.of(signature) if self.form == "types" else None
        if parted is None:
            found: list[dict[str, Any]] = await super().acall(lm, lm_kwargs, signature, demos, inputs)
            return found
        answers = {}
        for label in parted.labels:
            asked, shown = parted.asking(label), parted.shown(demos, label)
            answers[label] = await super().acall(lm, dict(lm_kwargs), asked, shown, inputs)
        return parted.together(answers)

    def _prepare_response_format(
        self, lm: dspy.BaseLM, lm_kwargs: dict[str, Any], signature: type[dspy.Signature]
    ) -> None:
        """The schema as DSPy makes it, with the form of the answer and the fields that are copied."""
        super()._prepare_response_format(lm, lm_kwargs, signature)
        made: Any = lm_kwargs.get("response_format")
        if not isinstance(made, type) or not issubclass(made, BaseModel):
            return
        about = {name: field.json_schema_extra or {} for name, field in signature.input_fields.items()}
        copying = {COPY: {name: some.get("copied") is not False for name, some in about.items()}} if self.copied else {}
        extra = {**copying, **({FORM: "lines"} if self.lines(signature) else {})}
        schema = {**_marked(made.model_json_schema(), signature), **extra}
        told: Any = made
        told.model_json_schema = lambda *_, **__: schema

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, object]:
        """The typed outputs of an answer."""
        form = self.lines(signature)
        if form is not None and "{" not in completion:
            completion = json.dumps(form.read(completion), ensure_ascii=False)
        fields: dict[str, Any] = super().parse(signature, completion)
        return fields

    def format_system_message(self, signature: type[dspy.Signature]) -> str:
        """The instructions, then a line for each field that is described or is a choice of labels."""
        lines: list[str] = [str(signature.instructions)]
        for name, field in signature.fields.items():
            said: Any = field.json_schema_extra or {}
            about = str(said.get("desc") or "")
            about = "" if about == f"${{{name}}}" else about
            labels = _labels(field.annotation) if name in signature.output_fields else ""
            if about or labels:
                lines.append(f"{name}: {'; '.join(part for part in (about, labels) if part)}")
        return "\n".join(lines)

    def user_message_output_requirements(self, signature: type[dspy.Signature]) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """None: the schema says it."""
        return None

    def format_user_message_content(
        self,
        signature: type[dspy.Signature],
        inputs: dict[str, object],
        prefix: str = "",
        suffix: str = "",
        main_request: bool = False,
    ) -> str:
        """The inputs, a line each.

        Args:
            signature: The signature.
            prefix: What stands before the inputs.
            suffix: What stands after them.
            main_request: Whether this is the request itself, and no demonstration.
        """
        return "\n".join(f"{name}: {_plain(inputs[name])}" for name in signature.input_fields if name in inputs)

    def format_assistant_message_content(
        self, signature: type[dspy.Signature], outputs: dict[str, object], missing_field_message: object = None
    ) -> str:
        """The outputs that there are, as one line of JSON."""
        known = [name for name in signature.output_fields if outputs.get(name) is not None]
        values = {name: serialize_for_json(outputs[name]) for name in known}
        form = self.lines(signature)
        return form.render(values) if form else json.dumps(values, ensure_ascii=False)


@lru_cache(maxsize=256)
def _lines(signature: type[dspy.Signature]) -> Lines | None:
    """The form in lines of a signature's outputs, where lines can show them."""
    fields: dict[str, Any] = {name: (field.annotation, ...) for name, field in signature.output_fields.items()}
    try:
        return Lines.of(_marked(create_model("Outputs", **fields).model_json_schema(), signature))
    except PydanticUserError:
        return None


def _marked(schema: dict[str, Any], signature: type[dspy.Signature]) -> dict[str, Any]:
    """The schema with the outputs that a signature says are copied from the input."""
    fields = {name: field.json_schema_extra or {} for name, field in signature.output_fields.items()}
    parts = schema.get("properties", {})
    marked = {name: {**part, "copied": True} for name, part in parts.items() if fields.get(name, {}).get("copied")}
    return {**schema, "properties": {**parts, **marked}}


def _labels(annotation: Any) -> str:
    return ", ".join(map(str, get_args(annotation))) if get_origin(annotation) is Literal else ""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(serialize_for_json(value), ensure_ascii=False)


@dataclass(frozen=True)
class CallPerType:
    """A signature whose one output is a list of objects with a label, and what is asked for one label.

    >>> import dspy
    >>> class Name(BaseModel):
    ...     text: str
    ...     type: Literal["TOP", "TMP"]
    >>> names = dspy.Signature("text -> names: list[Name]", "List the names.", custom_types={"Name": Name})
    >>> parted = CallPerType.of(names)
    >>> parted.labels, parted.asking("TOP").instructions
    (('TOP', 'TMP'), 'List the names.\\nOnly those of type TOP.')
    >>> parted.together({"TOP": [{"names": [{"text": "Delft"}]}], "TMP": [{"names": []}]})
    [{'names': [Name(text='Delft', type='TOP')]}]
    """

    signature: Any
    output: str
    field: str
    labels: tuple[str, ...]
    item: type[BaseModel]

    @classmethod
    def of(cls, signature: type[dspy.Signature]) -> CallPerType | None:
        """The form of a signature; ``None`` where it does not ask for one list of objects with one label."""
        if len(signature.output_fields) != 1:
            return None
        ((output, field),) = signature.output_fields.items()
        inner = get_args(field.annotation)
        if get_origin(field.annotation) is not list or not isinstance(inner[0], type):
            return None
        if not issubclass(inner[0], BaseModel):
            return None
        found = {name: get_args(one.annotation) for name, one in inner[0].model_fields.items()
                 if get_origin(one.annotation) is Literal}  # fmt: skip
        if len(found) != 1 or len(inner[0].model_fields) < 2:
            return None
        ((name, labels),) = found.items()
        return cls(signature, output, name, labels, inner[0]) if all(isinstance(one, str) for one in labels) else None

    def asking(self, label: str) -> Any:
        """The signature that asks for the objects of one label, without the label itself."""
        parts: dict[str, Any] = {}
        for name, one in self.item.model_fields.items():
            if name != self.field:
                mention = name == "text" and one.annotation is str  # beside a label: copied, here without it too
                kind = Copied if mention else one.rebuild_annotation()
                parts[name] = (kind, ... if one.is_required() else one.get_default(call_default_factory=True))
        narrow: Any = create_model(self.item.__name__, **parts)
        asked = self.signature.with_instructions(f"{self.signature.instructions}\nOnly those of {self.field} {label}.")
        return asked.with_updated_fields(self.output, type_=list[narrow])

    def shown(self, demos: Iterable[Mapping[str, object]], label: str) -> list[dict[str, object]]:
        """The demonstrations with the objects of one label."""
        out = []
        for demo in demos:
            given = demo.get(self.output)
            if isinstance(given, Sequence) and not isinstance(given, str):
                plain = [one.model_dump() if isinstance(one, BaseModel) else dict(one) for one in given]
                mine = [one for one in plain if one.get(self.field) == label]
                rest = [{key: value for key, value in one.items() if key != self.field} for one in mine]
                out.append({**demo, self.output: rest})
            else:
                out.append(dict(demo))
        return out

    def together(self, answers: Mapping[str, Sequence[Mapping[str, object]]]) -> list[dict[str, Any]]:
        """The answers of all labels as answers of the signature: the first of each label together, and so on."""
        made = TypeAdapter(list[self.item])  # type: ignore[name-defined]
        out = []
        for some in zip(*answers.values(), strict=False):
            items = [
                {**(one.model_dump() if isinstance(one, BaseModel) else one), self.field: label}
                for label, answer in zip(answers, some, strict=True)
                for one in answer[self.output] or []
            ]
            out.append({self.output: made.validate_python(items)})
        return out

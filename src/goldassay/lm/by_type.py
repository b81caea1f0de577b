"""One call a type: a list of labelled objects asked for label by label, and put together again.

A small model that loses its way among seven types may find those of one. Each call costs a prompt, so this form is as
many times as dear as there are labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, create_model

from goldassay.lm.lines import Copied


@dataclass(frozen=True)
class ByType:
    """A signature whose one output is a list of objects with a label, and what is asked for one label.

    >>> import dspy
    >>> class Name(BaseModel):
    ...     text: str
    ...     type: Literal["TOP", "TMP"]
    >>> parted = ByType.of(dspy.Signature("text -> names: list[Name]", "List the names.", custom_types={"Name": Name}))
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
    def of(cls, signature: Any) -> ByType | None:
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

    def shown(self, demos: Iterable[Mapping[str, Any]], label: str) -> list[dict[str, Any]]:
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

    def together(self, answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
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

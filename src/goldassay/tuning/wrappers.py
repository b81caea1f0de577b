"""A wrapper around a program that changes its prompts at each call: nearest demonstrations, the form of the answer.

A `Wrapped` program is a program like the one inside. Its state names what is added, so that a saved program is built
again from its state alone (`rebuilt`).

`NearestDemos` is the optimizer whose program shows, for each input, the most similar training examples. Similarity is
the cosine of TF-IDF weighted character n-grams (2 to 4 within words), so nothing is downloaded and every language
works. DSPy's ``KNNFewShot`` bootstraps again at every call; this takes the examples as they are labelled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import dspy
from dspy import Example, Module

from goldassay._support.dspy_compat import Teleprompter, copy_program, input_keys, serialize_for_json, signature_of
from goldassay._support.exceptions import GoldassayError, user_code
from goldassay.core.feedback import similarity_to
from goldassay.core.fields import Fields, JsonObject
from goldassay.core.shape import DSPY_NOTES, is_dspy_module
from goldassay.models.lm import TerseAdapter

ANSWER_FORMS = ("json", "lines")
Examples = Sequence[Any]
"""Examples of DSPy, or records like them."""
Splits = Mapping[str, Examples]


class Wrapped(Module):  # type: ignore[misc]
    """A program that is shown, at each call, the training examples most like its input, and asked in a form of its own.

    Calls work on a copy of the program, so threads do not meet. An example with the very inputs of the call is not
    shown: it would give the answer away. ``save`` and ``load`` keep the examples as JSON. The ``form``, ``json`` or
    ``lines``, overrides that of `goldassay.models.lm.TerseAdapter`, which asks local models; other adapters stay as
    they are.

    >>> lines = Wrapped(dspy.Predict("text -> label"), "lines")
    >>> lines.adapter(TerseAdapter("json")).form, lines.adapter(None)
    ('lines', None)
    """

    def __init__(self, program: Module, form: str = "") -> None:
        super().__init__()
        self.program = program
        self.form = form
        self.k = 0
        self.examples: list[JsonObject] = []
        self.keys: list[str] = []

    def learn(self, examples: list[JsonObject], keys: Sequence[str], k: int) -> None:
        """Take the examples of which ``k`` are shown, compared by their fields ``keys``; of none, none are shown.

        Raises:
            GoldassayError: The examples have no text in these fields.
        """
        self.examples = examples
        self.keys = list(keys)
        self.k = k
        if not examples:
            return
        self._questions = [self._inputs(example) for example in examples]
        try:
            self._similarity = similarity_to([self._text(example) for example in examples])
        except ValueError:
            raise GoldassayError(f"the training examples have no text in {', '.join(keys) or 'any input'}") from None

    def nearest(self, **inputs: object) -> list[JsonObject]:
        """The ``k`` examples most like these inputs, the nearest one last: next to the question.

        If there are no more than ``k``, all are shown, in their own order.
        """
        question = self._inputs(inputs)
        candidates = [
            index
            for index, example in enumerate(self._questions)
            if any(example.get(key) != text for key, text in question.items())
        ]
        if len(self.examples) <= self.k:
            return [self.examples[i] for i in candidates]  # always in the same order, so that the prefix can be cached
        similarity = self._similarity(self._text(inputs))
        chosen = sorted(candidates, key=lambda i: (-similarity[i], i))[: self.k]
        return [self.examples[i] for i in reversed(chosen)]

    def _inputs(self, example: Mapping[str, object]) -> dict[str, str]:
        """The inputs as JSON, by which an example is known again however often it was saved: dates, models, tuples."""
        values = {key: example[key] for key in self.keys if key in example}
        return {key: json.dumps(serialize_for_json(v), sort_keys=True, default=str) for key, v in values.items()}

    def _text(self, example: Mapping[str, object]) -> str:
        return " ".join(str(example.get(key, "")) for key in self.keys)

    def inside(self, inputs: Mapping[str, object]) -> Module:
        """The program inside, with the nearest examples of these inputs as demonstrations."""
        if not self.examples:
            return self.program
        nearest = self.nearest(**inputs)
        program = copy_program(self.program)
        for predictor in program.predictors():
            signature = signature_of(predictor)
            demos = [demo for demo in nearest if fits(demo, signature)]
            examples = [Example(**{key: demo[key] for key in signature.fields if key in demo}) for demo in demos]
            predictor.demos = [*(demo for demo in predictor.demos or [] if demo not in examples), *examples]
        return program

    def adapter(self, adapter: dspy.Adapter | None) -> dspy.Adapter | None:
        """The adapter that asks for this form in place of ``adapter``; one that is not terse stays."""
        if self.form and isinstance(adapter, TerseAdapter):
            return TerseAdapter(self.form, adapter.copied)
        return adapter

    def forward(self, **inputs: object) -> dspy.Prediction:
        """The program on these inputs."""
        with dspy.context(adapter=self.adapter(dspy.settings.adapter)):
            return self.inside(inputs)(**inputs)

    async def aforward(self, **inputs: object) -> dspy.Prediction:
        """The same, asynchronously, for a program that has an ``aforward``."""
        with dspy.context(adapter=self.adapter(dspy.settings.adapter)):
            return await self.inside(inputs).acall(**inputs)

    def prompt_parts(self) -> list[JsonObject]:
        """The parts of the prompts besides the predictors' own, as JSON: for the fingerprint of the program."""
        return [{name: getattr(self, name) for name in ADDED}]

    def dump_state(self, json_mode: bool = True) -> JsonObject:
        """The program's state and what is added."""
        line = "program = goldassay.tuning.load_state(program, FILE)"
        return {LOADED: line, "program": self.program.dump_state(json_mode=json_mode), **self.prompt_parts()[0]}

    def load_state(self, state: Fields, **options: Any) -> None:
        """The program's state and what was added."""
        self.program.load_state(state["program"], **options)
        self.form = str(state["form"])
        if state["examples"]:
            self.learn(state["examples"], state["keys"], int(state["k"]))


ADDED = ("form", "k", "keys", "examples")
LOADED = "load_with"
"""The line of a state that says how it is loaded: DSPy's own ``load`` knows no nearest examples."""


def wrapped(program: Module) -> Wrapped:
    """A copy of a program, wrapped if it is not."""
    copy = copy_program(program)
    return copy if isinstance(copy, Wrapped) else Wrapped(copy)


def inmost(program: Module) -> Module:
    """The program inside, if it is wrapped."""
    return program.program if isinstance(program, Wrapped) else program


def shows_nearest(program: Module) -> bool:
    """Whether a program shows each input its nearest examples, or a set that is the same for all."""
    return isinstance(program, Wrapped) and bool(program.examples)


def rebuilt(program: Module, state: Collection[str]) -> Module:
    """A copy of ``program``, wrapped if it was when its ``state`` was saved."""
    return wrapped(program) if set(state) - {"metadata", LOADED} == {"program", *ADDED} else copy_program(program)


def saveable(program: Module) -> Module:
    """A copy that DSPy can save: its demonstrations as JSON; without its models if one has an engine of the user's."""
    program = copy_program(program)
    for predictor in program.predictors():
        predictor.demos = [
            {name: serialize_for_json(value) for name, value in demo.items()} for demo in predictor.demos
        ]
    try:
        for predictor in program.predictors():
            if predictor.lm is not None:
                json.dumps(predictor.lm.dump_state())  # older releases of DSPy raise when the file is written
    except TypeError:
        program.set_lm(None)
    return program


def predictors(program: Module) -> dict[str, dspy.Predict]:
    """The predictors by the names that they have in the program inside."""
    return dict(inmost(program).named_predictors())


def signatures(program: Module) -> dict[str, type[dspy.Signature]]:
    """The signatures of the predictors, by the same names."""
    return {name: signature_of(predictor) for name, predictor in predictors(program).items()}


def output_fields(program: Module) -> set[str]:
    """The fields that the predictors of a program write."""
    return {name for signature in signatures(program).values() for name in signature.output_fields}


def fits(example: Example | Mapping[str, object], signature: type[dspy.Signature]) -> bool:
    """Whether a predictor can be shown this example: it has all inputs and at least one output."""
    filled = {key for key, value in example.items() if value is not None}
    return filled.issuperset(signature.input_fields) and not filled.isdisjoint(signature.output_fields)


def check_shown(program: Module, student: Module, train: Examples) -> None:
    """Check that a tuned program shows one of its new demonstrations.

    DSPy shows what has an input and an output of its predictor, and leaves the others out without a word.

    Raises:
        GoldassayError: It shows none (`check_fits`).
    """
    shows_none = []
    for module in (program, student):
        visible = [
            not signature_of(predictor).input_fields.keys().isdisjoint(demo.keys())
            and not signature_of(predictor).output_fields.keys().isdisjoint(demo.keys())
            for predictor in module.predictors()
            for demo in predictor.demos or ()
        ]
        shows_none.append(bool(visible) and not any(visible))
    if shows_none == [True, False]:
        check_fits(student, train)


def check_fits(program: Module, train: Examples, *, required: bool = True) -> str:
    """Check that an example can be shown to a predictor.

    Args:
        program: The program.
        train: The examples.
        required: Whether it is an error, too, that the answering predictor reads what other parts of the program make,
            such as a trajectory or passages: only edits in words fit such a program.

    Returns:
        Why none can be shown, if that is not an error; else nothing.

    Raises:
        GoldassayError: None can: the message names the missing fields, and how ``to_demo`` gives them.
    """
    named = program.named_predictors()
    if any(fits(example, signature_of(p)) for example in train for _, p in named):
        return ""
    name, predictor = named[-1]
    present = sorted({key for example in train[:20] for key, value in example.items() if value is not None})
    outputs = [key for key in signature_of(predictor).output_fields if key not in DSPY_NOTES]
    inputs = [key for key in signature_of(predictor).input_fields if key not in present]
    missing = ", ".join(inputs + [key for key in outputs if not set(outputs) & set(present)])
    fields = ", ".join(f'"{key}": …' for key in [*inputs, *outputs])
    message = (
        f"no train example can be shown to {name!r}: it needs {missing}, and the examples have {', '.join(present)}; "
        f"give the program a method  def to_demo(self, example): return {{{fields}}}"
    )
    if required or not inputs:
        raise GoldassayError(message)
    return message


class NearestDemos(Teleprompter):  # type: ignore[misc]
    """An optimizer whose program shows each predictor the ``k`` nearest training examples.

    A predictor is shown the examples that hold its inputs and at least one of its outputs, after the demonstrations
    that it has. If gold has another shape than the predictors' fields (spans with offsets, where the model is asked
    for names), the program says how to turn one into the other with a method ``to_demo(example)``, which returns the
    missing fields as a mapping or a ``dspy.Example``; without it examples are taken as they are, but for gold's
    ``label``, ``record`` or shortest of the ``answers``, which are shown as the only output of a module of DSPy.

    >>> import dspy
    >>> class Label(dspy.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.label = dspy.Predict("text -> label")
    ...     def forward(self, text):
    ...         return self.label(text=text)
    >>> train = [dspy.Example(text="Stadsarchief Gent", label="A").with_inputs("text"),
    ...          dspy.Example(text="Museum Boerhaave", label="M").with_inputs("text")]
    >>> tuned = NearestDemos(k=1).compile(Label(), trainset=train)
    >>> tuned.nearest(text="Het stadsarchief van Breda")
    [{'text': 'Stadsarchief Gent', 'label': 'A'}]
    """

    def __init__(self, k: int = 4) -> None:
        super().__init__()
        if k < 1:
            raise GoldassayError(f"k is at least 1, not {k}")
        self.k = k

    def compile(self, student: Module, *, trainset: Examples, **_: object) -> Wrapped:
        """The student with the training examples to choose from; the student itself stays as it is.

        Raises:
            GoldassayError: The program shows nearest examples already, or none can be shown.
        """
        if shows_nearest(student):
            raise GoldassayError("this program is shown its nearest examples already; tune it with another optimizer")
        examples = [
            {key: serialize_for_json(value) for key, value in example.items()}
            for example in demonstrations(student, trainset)
        ]
        check_fits(student, examples)
        asked = list(signatures(student).values())
        keys = list(input_keys(trainset[0]) or asked[0].input_fields)
        fields = {field for signature in asked for field in signature.fields}.union(keys)
        tuned = wrapped(student)
        tuned.learn([{key: example[key] for key in example if key in fields} for example in examples], keys, self.k)
        return tuned


def _answer(example: Example, name: str) -> JsonObject:
    """What gold of a task says, under the name of a program's only answer; of several ``answers`` the shortest."""
    answers = example.get("answers")
    if isinstance(answers, list):
        return {name: min(map(str, answers), key=len, default="")}
    return next(({name: example[field]} for field in ("label", "record") if example.get(field) is not None), {})


def demonstrations(program: Module, examples: Examples) -> list[Example]:
    """Examples with the outputs of the program's predictors, as its ``to_demo`` makes them.

    Raises:
        GoldassayError: It raised, or changes a field that the examples have, which the program and the metric read.
    """
    outputs = {name for signature in signatures(program).values() for name in signature.output_fields} - {*DSPY_NOTES}
    (answer,) = outputs if len(outputs) == 1 and is_dspy_module(inmost(program)) else ("answer",)

    def as_answer(example: Example) -> JsonObject:
        return {} if answer not in outputs or answer in example else _answer(example, answer)

    to_demo: Callable[[Example], JsonObject] = getattr(inmost(program), "to_demo", None) or as_answer
    demos = []
    for example in examples:
        try:
            with user_code("to_demo"):
                fields = dict(to_demo(example))
        except GoldassayError:
            if not any(fits(example, signature) for signature in signatures(program).values()):
                raise
            fields = {}  # what was labelled on a form has the predictor's fields, and not those of the gold
        for name in [name for name in fields if name in example]:
            if serialize_for_json(fields.pop(name)) != serialize_for_json(example[name]):
                raise GoldassayError(
                    f"to_demo changes {name!r}, which the program or the metric reads in the same examples; give the "
                    "predictor's field a name of its own"
                )
        demos.append(example.copy(**fields).with_inputs(*example.inputs().keys()))
    return demos

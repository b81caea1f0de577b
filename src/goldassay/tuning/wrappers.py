"""What stands around a program and changes its prompts at each call: nearest demonstrations, the form of the answer.

A wrapper is a program like the one inside, and may be wrapped again. Its state names what it adds, so that a saved
program is built again from its state alone (`rebuilt`).

`NearestDemos` is the optimizer whose program shows, for each input, the most similar training examples. Similarity is
the cosine of TF-IDF weighted character n-grams (2 to 4 within words), so nothing is downloaded and every language
works. DSPy's ``KNNFewShot`` bootstraps again at every call; this takes the examples as they are labelled.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dspy

from goldassay._dspy_compat import Teleprompter, input_keys, serialize_for_json, signature_of
from goldassay.exceptions import GoldassayError
from goldassay.lm.terse import TerseAdapter

FORMS = ("json", "lines")


class Wrapper(dspy.Module):  # type: ignore[misc]
    """A program around ``program``; what it adds is ``added``, as JSON."""

    def __init__(self, program: dspy.Module) -> None:
        super().__init__()
        self.program = program

    @property
    def added(self) -> dict[str, Any]:
        """What the wrapper adds to the prompts."""
        raise NotImplementedError

    def restore(self, added: Mapping[str, Any]) -> None:
        """Take what a saved program added."""
        raise NotImplementedError

    def inside(self, inputs: Mapping[str, object]) -> dspy.Module:
        """The program as it is called with these inputs."""
        return self.program

    def adapter(self) -> Any:
        """The adapter that calls the program inside."""
        return dspy.settings.adapter

    def forward(self, **inputs: object) -> dspy.Prediction:
        """The program on these inputs."""
        with dspy.context(adapter=self.adapter()):
            return self.inside(inputs)(**inputs)

    async def aforward(self, **inputs: object) -> dspy.Prediction:
        """The same, asynchronously, for a program that has an ``aforward``."""
        with dspy.context(adapter=self.adapter()):
            return await self.inside(inputs).acall(**inputs)

    def prompt_parts(self) -> list[object]:
        """What stands in the prompts beside the predictors' own: for the fingerprint of the program."""
        inner = self.program.prompt_parts() if isinstance(self.program, Wrapper) else []
        return [type(self).__name__, self.added, *inner]

    def dump_state(self, json_mode: bool = True) -> dict[str, object]:
        """The program's state and what is added."""
        return {"program": self.program.dump_state(json_mode=json_mode), **self.added}

    def load_state(self, state: dict[str, Any], **options: Any) -> None:
        """The program's state and what was added."""
        self.program.load_state(state["program"], **options)
        self.restore(state)


class Nearest(Wrapper):
    """A program that is shown, at each call, the training examples most like its input.

    Calls work on a copy of the program, so threads do not meet. An example with the very inputs of the call is not
    shown: it would give the answer away. ``save`` and ``load`` keep the examples as JSON.
    """

    def __init__(self, program: dspy.Module, k: int) -> None:
        super().__init__(program)
        self.k = k
        self.examples: list[dict[str, Any]] = []
        self.keys: list[str] = []

    @property
    def added(self) -> dict[str, Any]:
        """How many examples are shown, what is compared, and those to choose from."""
        return {"k": self.k, "keys": self.keys, "examples": self.examples}

    def restore(self, added: Mapping[str, Any]) -> None:
        """The examples of a saved program."""
        self.k = int(added["k"])
        self.learn(added["examples"], added["keys"])

    def learn(self, examples: list[dict[str, Any]], keys: Sequence[str]) -> None:
        """Take the examples to choose from, which are compared by their fields ``keys``."""
        if not examples:
            raise GoldassayError("nearest demonstrations need training examples")
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.examples, self.keys = examples, list(keys)
        self._asked = [self._inputs(example) for example in examples]
        self._vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
        try:
            self._vectors = self._vectorizer.fit_transform([self._text(example) for example in examples])
        except ValueError:
            raise GoldassayError(f"the training examples have no text in {', '.join(keys) or 'any input'}") from None

    def nearest(self, **inputs: object) -> list[dict[str, Any]]:
        """The ``k`` examples most like these inputs, the nearest one last: next to the question.

        If there are no more than ``k``, all are shown, in their own order.
        """
        if not self.examples:
            raise GoldassayError("this program has no examples to show yet: compile it, or load its state")
        asked = self._inputs(inputs)
        others = [i for i, example in enumerate(self._asked) if any(example.get(key) != asked[key] for key in asked)]
        if len(self.examples) <= self.k:
            return [self.examples[i] for i in others]  # always in the same order, so that the prefix can be cached
        vector: Any = self._vectorizer.transform([self._text(inputs)])
        similarity = (self._vectors @ vector.T).toarray().ravel()
        chosen = sorted(others, key=lambda i: (-similarity[i], i))[: self.k]
        return [self.examples[i] for i in reversed(chosen)]

    def inside(self, inputs: Mapping[str, object]) -> dspy.Module:
        """The program inside, with the nearest examples of these inputs as demonstrations."""
        nearest = self.nearest(**inputs)
        program: Any = self.program.deepcopy()
        for predictor in program.predictors():
            fields = predictor.signature.fields
            demos = [demo for demo in nearest if fits(demo, predictor.signature)]
            examples = [dspy.Example(**{key: demo[key] for key in fields if key in demo}) for demo in demos]
            predictor.demos = [*(demo for demo in predictor.demos or [] if demo not in examples), *examples]
        return program

    def _inputs(self, example: Mapping[str, object]) -> dict[str, str]:
        """The inputs as JSON, by which an example is known again however often it was saved: dates, models, tuples."""
        return {
            key: json.dumps(serialize_for_json(example[key]), sort_keys=True, default=str)
            for key in self.keys
            if key in example
        }

    def _text(self, example: Mapping[str, object]) -> str:
        return " ".join(str(example.get(key, "")) for key in self.keys)


class Formed(Wrapper):
    """A program whose answers are written as ``json`` or as ``lines``.

    It overrides the form of `goldassay.lm.TerseAdapter`, which asks local models; other adapters stay as they are.

    >>> formed = Formed(dspy.Predict("text -> label"), "lines")
    >>> formed.replacing(TerseAdapter("json")).form, formed.replacing(None)
    ('lines', None)
    """

    def __init__(self, program: dspy.Module, form: str) -> None:
        super().__init__(program)
        self.restore({"form": form})

    @property
    def added(self) -> dict[str, Any]:
        """The form."""
        return {"form": self.form}

    def restore(self, added: Mapping[str, Any]) -> None:
        """The form of a saved program."""
        if added["form"] not in FORMS:
            raise GoldassayError(f"no form of answers {added['form']!r}; there are {', '.join(FORMS)}")
        self.form = str(added["form"])

    def replacing(self, adapter: dspy.Adapter | None) -> dspy.Adapter | None:
        """The adapter that asks for this form in place of ``adapter``; one that is not terse stays."""
        return TerseAdapter(self.form, adapter.copied) if isinstance(adapter, TerseAdapter) else adapter

    def adapter(self) -> Any:
        """The adapter in use, with this form."""
        return self.replacing(dspy.settings.adapter)


def wrappers(program: dspy.Module) -> Iterator[Wrapper]:
    """What stands around a program, the outermost first."""
    while isinstance(program, Wrapper):
        yield program
        program = program.program


def shows_nearest(program: dspy.Module) -> bool:
    """Whether a program shows each input its nearest examples, or a set that is the same for all."""
    return any(isinstance(wrapper, Nearest) for wrapper in wrappers(program))


def inmost(program: dspy.Module) -> dspy.Module:
    """The program inside all that stands around it."""
    for wrapper in wrappers(program):
        program = wrapper.program
    return program


def without_nearest(program: dspy.Module) -> dspy.Module:
    """A copy of a program that is not shown its nearest examples."""
    copy = program.deepcopy()
    for wrapper in list(wrappers(copy)):
        if isinstance(wrapper.program, Nearest):
            wrapper.program = wrapper.program.program
    return copy.program if isinstance(copy, Nearest) else copy


def rebuilt(program: dspy.Module, state: Mapping[str, Any]) -> dspy.Module:
    """A copy of ``program`` with what stood around it when its ``state`` was saved, still empty."""
    keys = set(state) - {"metadata"}
    if keys == {"program", "k", "keys", "examples"}:
        return Nearest(rebuilt(program, state["program"]), int(state["k"]))
    if keys == {"program", "form"}:
        return Formed(rebuilt(program, state["program"]), str(state["form"]))
    return program.deepcopy()


def predictors(program: dspy.Module) -> dict[str, dspy.Predict]:
    """The predictors by the names that they have without what stands around the program."""
    depth = sum(1 for _ in wrappers(program))
    return {name.removeprefix("program." * depth): predictor for name, predictor in program.named_predictors()}


def fits(example: Any, signature: type[dspy.Signature]) -> bool:
    """Whether a predictor can be shown this example: it has all inputs and at least one output."""
    filled = {key for key, value in example.items() if value is not None}
    return filled.issuperset(signature.input_fields) and not filled.isdisjoint(signature.output_fields)


def shows_none(program: dspy.Module) -> bool:
    """Whether a program has demonstrations and none fits its predictor: DSPy leaves such out without a word."""
    pairs = [(demo, signature_of(predictor)) for predictor in program.predictors() for demo in predictor.demos or ()]
    return bool(pairs) and not any(fits(*pair) for pair in pairs)


def check_fits(program: dspy.Module, train: Sequence[Any]) -> None:
    """Raise if no example can be shown to any predictor: say what is missing, and how ``to_demo`` gives it."""
    named = program.named_predictors()
    if any(fits(example, signature_of(p)) for example in train for _, p in named):
        return
    name, predictor = named[-1]
    present = sorted({key for example in train[:20] for key, value in example.items() if value is not None})
    inputs = [key for key in signature_of(predictor).input_fields if key not in present]
    outputs = list(signature_of(predictor).output_fields)
    missing = ", ".join([*inputs, *(outputs if not set(outputs) & set(present) else [])])
    fields = ", ".join(f'"{key}": …' for key in [*inputs, *outputs])
    raise GoldassayError(
        f"no train example can be shown to {name!r}: it needs {missing}, and the examples have {', '.join(present)}; "
        f"give the program a method  def to_demo(self, example): return {{{fields}}}"
    )


class NearestDemos(Teleprompter):  # type: ignore[misc]
    """An optimizer whose program shows each predictor the ``k`` nearest training examples.

    A predictor is shown the examples that hold its inputs and at least one of its outputs, after the demonstrations
    that it has. If gold has another shape than the predictors' fields (spans with offsets, where the model is asked
    for names), the program says how to turn one into the other with a method ``to_demo(example)``, which returns the
    missing fields as a mapping or a ``dspy.Example``; without it examples are taken as they are.

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

    def compile(self, student: dspy.Module, *, trainset: Sequence[dspy.Example], **_: object) -> Nearest:
        """The student with the training examples to choose from; the student itself stays as it is."""
        if shows_nearest(student):
            raise GoldassayError("this program is shown its nearest examples already; tune it with another optimizer")
        signatures = [signature_of(predictor) for predictor in student.predictors()]
        examples = [
            {key: serialize_for_json(value) for key, value in example.items()}
            for example in demonstrations(student, trainset)
        ]
        check_fits(student, examples)
        keys = list(input_keys(trainset[0]) or signatures[0].input_fields)
        fields = {field for signature in signatures for field in signature.fields}.union(keys)
        nearest = Nearest(student.deepcopy(), self.k)
        nearest.learn([{key: example[key] for key in example if key in fields} for example in examples], keys)
        return nearest


def demonstrations(program: dspy.Module, examples: Sequence[dspy.Example]) -> list[dspy.Example]:
    """Examples that also hold what the program's ``to_demo`` makes of them: the outputs of its predictors."""
    to_demo = getattr(inmost(program), "to_demo", None)
    if to_demo is None:
        return list(examples)
    return [
        example.copy(**{key: value for key, value in to_demo(example).items() if key not in example}).with_inputs(
            *example.inputs().keys()
        )
        for example in examples
    ]

"""What stands around a program and changes its prompts at each call: nearest demonstrations, the form of the answer.

A wrapper is a program like the one inside, and may be wrapped again. Its state names what it adds, so that a saved
program is built again from its state alone (`rebuilt`).

`NearestDemos` is the optimizer whose program shows, for each input, the most similar training examples. Similarity is
the cosine of TF-IDF weighted character n-grams (2 to 4 within words), so nothing is downloaded and every language will
do. DSPy's ``KNNFewShot`` bootstraps again at every call; this takes the examples as they are labelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import dspy

from goldassay._dspy_compat import Teleprompter, input_keys, serialize_for_json, signature_of
from goldassay.exceptions import GoldassayError
from goldassay.lm.terse import TerseAdapter

WRITTEN = ("json", "lines", "types")


class Wrapper(dspy.Module):  # type: ignore[misc]
    """A program around ``program``; what it adds is ``own``, as JSON."""

    def __init__(self, program: dspy.Module) -> None:
        super().__init__()
        self.program = program

    @property
    def own(self) -> dict[str, object]:
        """What it adds to the prompts."""
        raise NotImplementedError

    def take(self, own: Mapping[str, object]) -> None:
        """Take what a saved program added."""
        raise NotImplementedError

    def prompt_parts(self) -> list[object]:
        """What stands in the prompts beside the predictors' own: for the fingerprint of the program."""
        inner = self.program.prompt_parts() if isinstance(self.program, Wrapper) else []
        return [type(self).__name__, self.own, *inner]

    def dump_state(self, json_mode: bool = True) -> dict[str, object]:
        """The program's state and what is added."""
        return {"program": self.program.dump_state(json_mode=json_mode), **self.own}

    def load_state(self, state: dict[str, Any], **options: Any) -> None:
        """The program's state and what was added again."""
        self.program.load_state(state["program"], **options)
        self.take(state)


class Nearest(Wrapper):
    """A program that is shown, at each call, the training examples most like its input.

    Calls work on a copy of the program, so threads do not meet. An example with the very inputs that are asked about is
    not shown: it would give the answer away. ``save`` and ``load`` keep the examples as JSON.
    """

    def __init__(self, program: dspy.Module, k: int) -> None:
        super().__init__(program)
        self.k = k
        self.examples: list[dict[str, Any]] = []
        self.keys: list[str] = []

    @property
    def own(self) -> dict[str, object]:
        """How many examples are shown, what is compared, and those to choose from."""
        return {"k": self.k, "keys": self.keys, "examples": self.examples}

    def learn(self, examples: list[dict[str, Any]], keys: Sequence[str]) -> None:
        """Take the examples to choose from, which are compared by their fields ``keys``."""
        if not examples:
            raise GoldassayError("nearest demonstrations need training examples")
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.examples, self.keys = examples, list(keys)
        self._vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
        try:
            self._vectors = self._vectorizer.fit_transform([self._text(example) for example in examples])
        except ValueError:
            raise GoldassayError(f"the training examples have no text in {', '.join(keys) or 'any input'}") from None

    def nearest(self, **inputs: object) -> list[dict[str, Any]]:
        """The ``k`` examples most like these inputs, the nearest one last: next to the question.

        Where there are no more than ``k``, all are shown, in the order in which they were learnt.
        """
        if not self.examples:
            raise GoldassayError("this program has no examples to show yet: compile it, or load its state")
        asked = {key: inputs[key] for key in self.keys if key in inputs}
        others = [i for i, one in enumerate(self.examples) if any(one.get(key) != asked[key] for key in asked)]
        if len(self.examples) <= self.k:
            return [self.examples[i] for i in others]  # in one order, so that a model reads them once
        question: Any = self._vectorizer.transform([self._text(inputs)])
        likeness = (self._vectors @ question.T).toarray().ravel()
        chosen = sorted(others, key=lambda i: (-likeness[i], i))[: self.k]
        return [self.examples[i] for i in reversed(chosen)]

    def forward(self, **inputs: object) -> dspy.Prediction:
        """The program on these inputs, with its nearest examples shown."""
        return self.shown(inputs)(**inputs)

    async def aforward(self, **inputs: object) -> dspy.Prediction:
        """The same, asynchronously, for a program that has an ``aforward``."""
        return await self.shown(inputs).acall(**inputs)

    def shown(self, inputs: Mapping[str, object]) -> dspy.Module:
        """The program inside, with the nearest examples of these inputs as demonstrations."""
        nearest = self.nearest(**inputs)
        program: Any = self.program.deepcopy()
        for predictor in program.predictors():
            fields = predictor.signature.fields
            demos = [demo for demo in nearest if shows(demo, predictor.signature)]
            found = [dspy.Example(**{key: demo[key] for key in fields if key in demo}) for demo in demos]
            predictor.demos = [*(demo for demo in predictor.demos or [] if demo not in found), *found]
        return program

    def _text(self, example: Mapping[str, object]) -> str:
        return " ".join(str(example.get(key, "")) for key in self.keys)

    def take(self, own: Mapping[str, Any]) -> None:
        """The examples of a saved program."""
        self.k = int(own["k"])
        self.learn(own["examples"], own["keys"])


class Formed(Wrapper):
    """A program whose answers are written as ``json``, as ``lines``, or in a call for each of its ``types``.

    That holds whatever the adapter's own form is.

    It concerns answers that `goldassay.lm.TerseAdapter` asks for, that is those of local models; under another adapter
    the program is as it was.

    >>> made = Formed(dspy.Predict("text -> label"), "lines")
    >>> made.asking(TerseAdapter("json")).form, made.asking(None)
    ('lines', None)
    """

    def __init__(self, program: dspy.Module, form: str) -> None:
        super().__init__(program)
        self.take({"form": form})

    @property
    def own(self) -> dict[str, object]:
        """The form."""
        return {"form": self.form}

    def take(self, own: Mapping[str, object]) -> None:
        """The form of a saved program."""
        if own["form"] not in WRITTEN:
            raise GoldassayError(f"no form of answers {own['form']!r}; there are {', '.join(WRITTEN)}")
        self.form = str(own["form"])

    def asking(self, adapter: dspy.Adapter | None) -> dspy.Adapter | None:
        """The adapter that asks for this form in place of ``adapter``; one that is not terse stays."""
        return TerseAdapter(self.form, adapter.copied) if isinstance(adapter, TerseAdapter) else adapter

    @contextmanager
    def _asked(self) -> Iterator[None]:
        with dspy.context(adapter=self.asking(dspy.settings.adapter)):
            yield

    def forward(self, **inputs: object) -> dspy.Prediction:
        """The program on these inputs, asked for the form."""
        with self._asked():
            return self.program(**inputs)

    async def aforward(self, **inputs: object) -> dspy.Prediction:
        """The same, asynchronously."""
        with self._asked():
            return await self.program.acall(**inputs)


def wrappers(program: dspy.Module) -> Iterator[Wrapper]:
    """What stands around a program, the outermost first."""
    while isinstance(program, Wrapper):
        yield program
        program = program.program


def inmost(program: dspy.Module) -> dspy.Module:
    """The program inside all that stands around it."""
    for one in wrappers(program):
        program = one.program
    return program


def without_nearest(program: dspy.Module) -> dspy.Module:
    """A copy of a program that is not shown its nearest examples."""
    copy = program.deepcopy()
    for one in list(wrappers(copy)):
        if isinstance(one.program, Nearest):
            one.program = one.program.program
    return copy.program if isinstance(copy, Nearest) else copy


def unfolded(program: dspy.Module, inputs: Mapping[str, object]) -> dspy.Module:
    """The program inside as it is asked for these inputs: with its nearest examples among its demonstrations."""
    nearest = [one for one in wrappers(program) if isinstance(one, Nearest)]
    return inmost(nearest[0].shown(inputs) if nearest else program)


def rebuilt(program: dspy.Module, state: Mapping[str, Any]) -> dspy.Module:
    """A copy of ``program`` with what stood around it when its ``state`` was saved, still empty."""
    own = set(state) - {"metadata"}
    if own == {"program", "k", "keys", "examples"}:
        return Nearest(rebuilt(program, state["program"]), int(state["k"]))
    if own == {"program", "form"}:
        return Formed(rebuilt(program, state["program"]), str(state["form"]))
    return program.deepcopy()


def predictors(program: dspy.Module) -> dict[str, dspy.Predict]:
    """The predictors by the names that they have without what stands around the program."""
    depth = sum(1 for _ in wrappers(program))
    return {name.removeprefix("program." * depth): one for name, one in program.named_predictors()}


def shows(example: Mapping[str, object], signature: type[dspy.Signature]) -> bool:
    """Whether a predictor can learn from this example."""
    known = {key for key, value in example.items() if value is not None}
    return known.issuperset(signature.input_fields) and not known.isdisjoint(signature.output_fields)


class NearestDemos(Teleprompter):  # type: ignore[misc]
    """An optimizer whose program shows each predictor the ``k`` nearest training examples.

    A predictor is shown the examples that hold its inputs and at least one of its outputs, after the demonstrations
    that it has. Where gold has another shape than the predictors' fields (spans with offsets, where the model is asked
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
        if any(isinstance(one, Nearest) for one in wrappers(student)):
            raise GoldassayError("this program is shown its nearest examples already; tune it with another optimizer")
        made = Nearest(student.deepcopy(), self.k)
        wanted = [signature_of(predictor) for predictor in student.predictors()]
        examples = [_plain(example) for example in demonstrations(student, trainset)]
        if not any(shows(example, signature) for example in examples for signature in wanted):
            outputs = ", ".join(sorted({field for signature in wanted for field in signature.output_fields}))
            raise GoldassayError(
                f"no training example can be shown to {type(student).__name__}: none holds its inputs with an output "
                f"({outputs or 'it has no predictors'}); write a to_demo(example) that gives the outputs"
            )
        keys = _inputs(trainset, student)
        kept = {field for signature in wanted for field in signature.fields}.union(keys)
        made.learn([{key: one[key] for key in one if key in kept} for one in examples], keys)
        return made


def demonstrations(program: dspy.Module, examples: Sequence[dspy.Example]) -> list[dspy.Example]:
    """Examples that also hold what the program's ``to_demo`` makes of them: the outputs of its predictors."""
    to_demo = getattr(inmost(program), "to_demo", None)
    if to_demo is None:
        return list(examples)
    out = []
    for example in examples:
        extra = {key: value for key, value in to_demo(example).items() if key not in example}
        out.append(example.copy(**extra).with_inputs(*example.inputs().keys()))
    return out


def _inputs(examples: Sequence[dspy.Example], program: Any) -> list[str]:
    """The inputs that examples declare, else those of the first predictor."""
    for example in examples[:1]:
        if input_keys(example):
            return list(example.inputs().keys())
    return [key for predictor in program.predictors()[:1] for key in predictor.signature.input_fields]


def _plain(example: dspy.Example) -> dict[str, Any]:
    return {key: serialize_for_json(value) for key, value in dict(example.items()).items()}

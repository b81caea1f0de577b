"""Nearest demonstrations: for each input, the most similar training examples in the prompt.

Similarity is the cosine of TF-IDF weighted character n-grams (2 to 4 within words), so nothing is downloaded and every
language will do. DSPy's ``KNNFewShot`` bootstraps again at every call; this takes the examples as they are labelled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from goldassay.exceptions import GoldassayError
from goldassay.insides import Teleprompter, input_keys, serialize_for_json


class NearestDemos(Teleprompter):  # type: ignore[misc]
    """An optimizer whose program shows each predictor the ``k`` nearest training examples.

    A predictor is shown the examples that hold its inputs and at least one of its outputs, after the demonstrations
    that it has. Where gold has another shape than the predictors' fields (spans with offsets, where the model is asked
    for names), the program says how to turn one into the other with a method ``to_demo(example)``, which returns the
    missing fields as a mapping or a ``dspy.Example``; without it examples are taken as they are.

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

    def compile(self, student: Any, *, trainset: Sequence[Any], **_: Any) -> Nearest:
        """The student with the training examples to choose from; the student itself stays as it is."""
        if isinstance(student, Nearest):
            raise GoldassayError("this program is shown its nearest examples already; tune it with another optimizer")
        made = self.empty(student)
        wanted = [predictor.signature for predictor in student.predictors()]
        examples = [_plain(example) for example in demonstrations(student, trainset)]
        if not any(_shows(example, signature) for example in examples for signature in wanted):
            outputs = ", ".join(sorted({field for signature in wanted for field in signature.output_fields}))
            raise GoldassayError(
                f"no training example can be shown to {type(student).__name__}: none holds its inputs with an output "
                f"({outputs or 'it has no predictors'}); write a to_demo(example) that gives the outputs"
            )
        keys = _inputs(trainset, student)
        kept = {field for signature in wanted for field in signature.fields}.union(keys)
        made.learn([{key: one[key] for key in one if key in kept} for one in examples], keys)
        return made

    def empty(self, student: Any) -> Nearest:
        """The same program without examples; ``load_state`` fills it."""
        return Nearest(student.deepcopy(), self.k)


class Nearest(dspy.Module):  # type: ignore[misc]
    """A program that is shown, at each call, the training examples most like its input.

    Calls work on a copy of the program, so threads do not meet. An example with the very inputs that are asked about is
    not shown: it would give the answer away. ``save`` and ``load`` keep the examples as JSON.
    """

    def __init__(self, program: Any, k: int) -> None:
        super().__init__()
        self.program, self.k = program, k
        self.examples: list[dict[str, Any]] = []
        self.keys: list[str] = []

    def prompt_parts(self) -> list[Any]:
        """What stands in the prompts beside the predictors' own: the number of examples, and those to choose from."""
        return ["nearest", self.k, self.keys, self.examples]

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

    def nearest(self, **inputs: Any) -> list[dict[str, Any]]:
        """The ``k`` examples most like these inputs, the nearest one last: next to the question."""
        if not self.examples:
            raise GoldassayError("this program has no examples to show yet: compile it, or load its state")
        question: Any = self._vectorizer.transform([self._text(inputs)])
        likeness = (self._vectors @ question.T).toarray().ravel()
        asked = {key: inputs[key] for key in self.keys if key in inputs}
        others = [i for i, one in enumerate(self.examples) if any(one.get(key) != asked[key] for key in asked)]
        chosen = sorted(others, key=lambda i: (-likeness[i], i))[: self.k]
        return [self.examples[i] for i in reversed(chosen)]

    def forward(self, **inputs: Any) -> Any:
        """The program on these inputs, with its nearest examples shown."""
        return self._shown(inputs)(**inputs)

    async def aforward(self, **inputs: Any) -> Any:
        """The same, asynchronously, for a program that has an ``aforward``."""
        return await self._shown(inputs).acall(**inputs)

    def _shown(self, inputs: dict[str, Any]) -> Any:
        shown = self.nearest(**inputs)
        program = self.program.deepcopy()
        for predictor in program.predictors():
            fields = predictor.signature.fields
            demos = [demo for demo in shown if _shows(demo, predictor.signature)]
            found = [dspy.Example(**{key: demo[key] for key in fields if key in demo}) for demo in demos]
            predictor.demos = [*(demo for demo in predictor.demos or [] if demo not in found), *found]
        return program

    def _text(self, example: Mapping[str, Any]) -> str:
        return " ".join(str(example.get(key, "")) for key in self.keys)

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """The program's state and the examples."""
        program = self.program.dump_state(json_mode=json_mode)
        return {"program": program, "k": self.k, "keys": self.keys, "examples": self.examples}

    def load_state(self, state: dict[str, Any], **options: Any) -> None:
        """The program's state and the examples again."""
        self.program.load_state(state["program"], **options)
        self.k = int(state["k"])
        self.learn(state["examples"], state["keys"])


def demonstrations(program: Any, examples: Sequence[Any]) -> list[Any]:
    """Examples that also hold what the program's ``to_demo`` makes of them: the outputs of its predictors."""
    to_demo = getattr(program.program if isinstance(program, Nearest) else program, "to_demo", None)
    if to_demo is None:
        return list(examples)
    out = []
    for example in examples:
        extra = {key: value for key, value in to_demo(example).items() if key not in example}
        out.append(example.copy(**extra).with_inputs(*example.inputs().keys()))
    return out


def _shows(example: Mapping[str, Any], signature: Any) -> bool:
    """Whether a predictor can learn from this example."""
    known = {key for key, value in example.items() if value is not None}
    return known.issuperset(signature.input_fields) and not known.isdisjoint(signature.output_fields)


def _inputs(examples: Sequence[Any], program: Any) -> list[str]:
    """The inputs that examples declare, else those of the first predictor."""
    for example in examples[:1]:
        if input_keys(example):
            return list(example.inputs().keys())
    return [key for predictor in program.predictors()[:1] for key in predictor.signature.input_fields]


def _plain(example: Any) -> dict[str, Any]:
    return {key: serialize_for_json(value) for key, value in dict(example.items()).items()}

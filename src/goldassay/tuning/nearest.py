"""Nearest demonstrations: for each input, the most similar training examples in the prompt.

Similarity is the cosine of TF-IDF weighted character n-grams (2 to 4 within words), so nothing is downloaded and every
language will do. DSPy's ``KNNFewShot`` bootstraps again at every call; this takes the examples as they are labelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy
from sklearn.feature_extraction.text import TfidfVectorizer

from goldassay.exceptions import GoldassayError


class NearestDemos(dspy.teleprompt.Teleprompter):  # type: ignore[misc]
    """An optimizer whose program shows each predictor the ``k`` nearest training examples.

    A training example must hold the predictor's inputs and outputs; a program's ``to_demo(example)`` may add them.
    """

    def __init__(self, k: int = 4) -> None:
        super().__init__()
        if k < 1:
            raise GoldassayError(f"k is at least 1, not {k}")
        self.k = k

    def compile(self, student: Any, *, trainset: Sequence[Any], **_: Any) -> Nearest:
        """The student with the training examples to choose from."""
        made = self.empty(student)
        made.learn([_plain(example) for example in demonstrations(student, trainset)])
        return made

    def empty(self, student: Any) -> Nearest:
        """The same program without examples; ``load_state`` fills it."""
        return Nearest(student.deepcopy(), self.k)


class Nearest(dspy.Module):  # type: ignore[misc]
    """A program that is shown, at each call, the training examples most like its input."""

    def __init__(self, program: Any, k: int) -> None:
        super().__init__()
        self.program, self.k = program, k
        self.examples: list[dict[str, Any]] = []

    def learn(self, examples: list[dict[str, Any]]) -> None:
        """Take the examples to choose from."""
        if not examples:
            raise GoldassayError("nearest demonstrations need training examples")
        self.examples = examples
        self._vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
        self._vectors = self._vectorizer.fit_transform([_text(example, self._inputs) for example in examples])

    @property
    def _inputs(self) -> list[str]:
        predictors = self.program.predictors()
        return list(predictors[0].signature.input_fields) if predictors else []

    def forward(self, **inputs: Any) -> Any:
        """The program on these inputs, with its nearest examples shown; the program itself is not touched."""
        asked = self._vectorizer.transform([_text(inputs, list(inputs))])
        likeness = (self._vectors @ asked.T).toarray().ravel()
        nearest = sorted(range(len(likeness)), key=lambda i: (-likeness[i], i))[: self.k]
        program = self.program.deepcopy()
        for predictor in program.predictors():
            fields = [*predictor.signature.input_fields, *predictor.signature.output_fields]
            shown = [self.examples[i] for i in reversed(nearest)]
            predictor.demos = [
                dspy.Example(**{key: demo[key] for key in fields}) for demo in shown if all(key in demo for key in fields)
            ]
        return program(**inputs)

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """The program's state and the examples."""
        return {"program": self.program.dump_state(json_mode=json_mode), "k": self.k, "examples": self.examples}

    def load_state(self, state: dict[str, Any], **options: Any) -> None:
        """The program's state and the examples again."""
        self.program.load_state(state["program"], **options)
        self.k = int(state["k"])
        self.learn(state["examples"])


def demonstrations(program: Any, examples: Sequence[Any]) -> list[Any]:
    """Examples that also hold the outputs of the program's predictors, by its ``to_demo``, so that they can be shown."""
    to_demo = getattr(program, "to_demo", None)
    if to_demo is None:
        return list(examples)
    out = []
    for example in examples:
        extra = {key: value for key, value in to_demo(example).items() if key not in example}
        out.append(example.copy(**extra).with_inputs(*example.inputs().keys()))
    return out


def _plain(example: Any) -> dict[str, Any]:
    found: dict[str, Any] = example.toDict() if hasattr(example, "toDict") else dict(example)
    return found


def _text(example: Any, keys: Sequence[str]) -> str:
    return " ".join(str(example.get(key, "")) for key in keys)

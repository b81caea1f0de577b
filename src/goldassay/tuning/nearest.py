"""Nearest demonstrations: for each input, the most similar training examples in the prompt.

Similarity is the cosine of TF-IDF weighted character n-grams (2 to 4 within words), so nothing is downloaded and every
language will do. DSPy's ``KNNFewShot`` bootstraps again at every call; this takes the examples as they are labelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.insides import Teleprompter, input_keys, serialize_for_json
from goldassay.tuning.wrappers import Nearest, inmost, shows, wrappers


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

    def compile(self, student: Any, *, trainset: Sequence[Any], **_: Any) -> Nearest:
        """The student with the training examples to choose from; the student itself stays as it is."""
        if any(isinstance(one, Nearest) for one in wrappers(student)):
            raise GoldassayError("this program is shown its nearest examples already; tune it with another optimizer")
        made = Nearest(student.deepcopy(), self.k)
        wanted = [predictor.signature for predictor in student.predictors()]
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


def demonstrations(program: Any, examples: Sequence[Any]) -> list[Any]:
    """Examples that also hold what the program's ``to_demo`` makes of them: the outputs of its predictors."""
    to_demo = getattr(inmost(program), "to_demo", None)
    if to_demo is None:
        return list(examples)
    out = []
    for example in examples:
        extra = {key: value for key, value in to_demo(example).items() if key not in example}
        out.append(example.copy(**extra).with_inputs(*example.inputs().keys()))
    return out


def _inputs(examples: Sequence[Any], program: Any) -> list[str]:
    """The inputs that examples declare, else those of the first predictor."""
    for example in examples[:1]:
        if input_keys(example):
            return list(example.inputs().keys())
    return [key for predictor in program.predictors()[:1] for key in predictor.signature.input_fields]


def _plain(example: Any) -> dict[str, Any]:
    return {key: serialize_for_json(value) for key, value in dict(example.items()).items()}

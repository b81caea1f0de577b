"""Classification: which type of institution a text is about, by a language model and by two baselines without one.

The 19 types and their keywords are data of the library (``goldassay/data/glamorcubesfixphdnt.json``); the keywords come
from general knowledge and from the training split of the gold set ``heritage``, never from its other splits. A model
is asked for the type's name, since small models know words and not letter codes; the program gives the code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import dspy
from sklearn.feature_extraction.text import TfidfVectorizer

from goldassay.measures.classification.mistakes import signs
from goldassay.measures.classification.records import institutions

NAMES = {code: label.name for code, label in institutions().items()}
CODES = {name.casefold(): code for code, name in NAMES.items()} | {code.casefold(): code for code in NAMES}
Name = Literal[tuple(NAMES.values())]  # type: ignore[valid-type,misc]


class Classify(dspy.Signature):
    """Which type of institution is the text about?"""

    text: str = dspy.InputField()
    type: Name = dspy.OutputField()  # type: ignore[valid-type]  # pyright: ignore[reportInvalidTypeForm]


class Classification(dspy.Module):
    """The type by a language model, as its code in ``label``."""

    def __init__(self) -> None:
        super().__init__()
        self.classify = dspy.Predict(Classify)

    def forward(self, text: str) -> dspy.Prediction:
        """The type of one text."""
        return _coded(self.classify(text=text))

    async def aforward(self, text: str) -> dspy.Prediction:
        """The same, asynchronously."""
        return _coded(await self.classify.acall(text=text))

    def to_demo(self, example: Any) -> dict[str, Any]:
        """A gold example as the predictor's demonstration: the name of its type."""
        return {"type": NAMES.get(example["label"], example["label"])}


def _coded(answer: Any) -> dspy.Prediction:
    """The code of the name that a model gave; a name that is none of the list's gives no label, and counts as wrong."""
    return dspy.Prediction(label=CODES.get(str(answer.type).strip().casefold()), secondary_labels=[])


class KeywordBaseline(dspy.Module):
    """The type for which most words of the text speak; U where none does."""

    def forward(self, text: str) -> dspy.Prediction:
        """The type of one text; of equals the one whose word comes first."""
        words = [(match.span(), code) for code in NAMES for match in signs(text, code)]
        counts = Counter(code for _, code in sorted(words, key=lambda word: word[0]))
        best = counts.most_common(1)[0][0] if counts else "U"
        return dspy.Prediction(label=best, secondary_labels=[])


class NearestDocuments(dspy.Module):
    """The type of the ``k`` most similar training texts (character n-grams), each weighed by its similarity."""

    def __init__(self, k: int = 4) -> None:
        super().__init__()
        self.k = k
        self.labels: list[str] = []
        self.vectorizer: Any = None
        self.vectors: Any = None

    def fit(self, train: Sequence[Any]) -> NearestDocuments:
        """The baseline that knows the training texts."""
        fitted = NearestDocuments(self.k)
        fitted.labels = [example["label"] for example in train]
        fitted.vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
        fitted.vectors = fitted.vectorizer.fit_transform([example["text"] for example in train])
        return fitted

    def forward(self, text: str) -> dspy.Prediction:
        """The type of one text; U before ``fit``."""
        if not self.labels:
            return dspy.Prediction(label="U", secondary_labels=[])
        likeness = (self.vectors @ self.vectorizer.transform([text]).T).toarray().ravel()
        votes: Counter[str] = Counter()
        for index in sorted(range(len(likeness)), key=lambda i: (-likeness[i], i))[: self.k]:
            votes[self.labels[index]] += likeness[index]
        return dspy.Prediction(label=votes.most_common(1)[0][0], secondary_labels=[])


program = Classification()
baseline = NearestDocuments()
baselines = {"keywords": KeywordBaseline(), "nearest": baseline}

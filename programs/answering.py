"""Answering: retrieve and read, by a language model and by a baseline that needs none.

``program`` finds passages by BM25 (or by an embedder, see `Reading`), and a model reads them: it copies the answer,
says how sure it is, and leaves the answer empty where the passages have none. ``baseline`` takes the sentence that
shares most of the question's words, and from it the date, number or name that the question asks for; it abstains
below a threshold, which `fit` learns. Each searches the passages that it was given with
``index``; without any, those of the heritage set.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError
from pydantic import BaseModel

from goldassay.gold import load
from goldassay.measures.answering import F1, found_entities
from goldassay.models.lm import Asked, Copied
from goldassay.running.guard import failure
from goldassay.text.words import sentences
from goldassay.workspace.search import BM25Index, DenseIndex, Encode, tokens

DEPTH = 5
READS = 3
NOTHING = re.compile(
    r"(?:n/?a|none|unknown|not (?:stated|mentioned|given|found|available)|no answer|unanswerable|onbekend|geen antwoord"
    r"|unbekannt|keine antwort|inconnu)\.?",
    re.IGNORECASE,
)


class Reply(BaseModel):
    """A short answer (empty where there is none) and how sure it is, from 0 to 1."""

    answer: Copied
    confidence: float


class Answer(dspy.Signature):  # type: ignore[misc]
    """Answer the question with the exact words of the passages, as short as possible.
    Leave the answer empty if the passages do not say it. Confidence is from 0 to 1."""

    passages: list[str] = dspy.InputField()
    question: Asked = dspy.InputField()
    reply: Reply = dspy.OutputField()


class Searching(dspy.Module):  # type: ignore[misc]
    """Finds passages for a question; ``embedder`` makes it dense, else it is BM25."""

    def __init__(self, depth: int = DEPTH, embedder: Encode | None = None) -> None:
        super().__init__()
        self.depth, self.embedder = depth, embedder
        self._indexed: Any = None
        self._texts: dict[str, str] = {}

    def index(self, passages: str | Path | Iterable[Any]) -> Any:
        """The same program over these passages: a JSON Lines file, or records with ``id`` and ``text``."""
        self._indexed = BM25Index(passages) if self.embedder is None else DenseIndex(passages, self.embedder)
        self._texts = {passage.id: passage.text for passage in self._indexed.passages}
        return self

    def search(self, question: str) -> list[dict[str, Any]]:
        """The passages for a question, best first, as retrieval measures them."""
        if self._indexed is None:
            self.index(load("heritage").retrieval.passages)
        source = getattr(self._indexed, "source", "bm25")
        return [
            {"doc_id": name, "score": score, "source": source, "text": self._texts[name]}
            for name, score in self._indexed.search(question, self.depth)  # pyright: ignore[reportOptionalMemberAccess]
        ]


class Reading(Searching):
    """Passages, and a model that reads the first ``reads`` of them: small models lose their way in many."""

    def __init__(self, depth: int = DEPTH, embedder: Encode | None = None, reads: int = READS) -> None:
        super().__init__(depth, embedder)
        self.reads = reads
        self.read = dspy.Predict(Answer)

    def forward(self, question: str) -> dspy.Prediction:
        """The answer with its confidence and passages; without passages the model is not asked."""
        results = self.search(question)
        texts = [result["text"] for result in results][: self.reads]
        if not texts:
            return dspy.Prediction(answer="", confidence=0.0, retrieved_contexts=[], results=[])
        try:
            reply = self.read(passages=texts, question=question).reply
        except AdapterParseError as error:  # the reader failed; the results of the search still count
            lost = failure(error)
            lost.retrieved_contexts, lost.results = texts, results
            return lost
        answer, confidence = stated_answer(reply.answer), sure(reply.confidence)
        return dspy.Prediction(answer=answer, confidence=confidence, retrieved_contexts=texts, results=results)

    def to_demo(self, example: Any) -> dict[str, Any]:
        """A gold example as the reader's demonstration: its own passage, its shortest answer."""
        answers = example.get("answers") or []
        passages = [example["context"]] if example.get("context") else list(example.get("supporting_facts") or [])
        answer = min(answers, key=len) if answers else ""
        return {"passages": passages, "reply": Reply(answer=answer, confidence=1.0 if answers else 0.0)}


def stated_answer(answer: Any) -> str:
    """An answer as text; one that says that there is no answer is empty."""
    text = str(answer or "").strip()
    return "" if NOTHING.fullmatch(text) else text


def sure(confidence: Any) -> float | None:
    """A confidence between 0 and 1; percentages are understood, nonsense is not a confidence."""
    if not isinstance(confidence, (int, float)) or math.isnan(confidence) or not 0 <= confidence <= 100:
        return None
    return float(confidence if confidence <= 1 else confidence / 100)


NUMBER = re.compile(r"\b\d[\d.,]*\d\b|\b\d\b|½")
YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
ASKS_WHEN = re.compile(r"\b(?:when|what year|which year|wanneer|welk jaar|wann|welchem jahr|quand|quelle année)\b")
ASKS_HOW_MANY = re.compile(r"\b(?:how (?:many|much)|hoeveel|wie ?viele?|combien)\b")
ASKS_NAME = re.compile(r"\b(?:who|whom|whose|where|which|wie|waar|welke?|wer|wem|wo|welche[rsnm]?|qui|où|quelle?)\b")


class Overlap(Searching):
    """The sentence that shares most with the question, weighed by how rare its words are; no model.

    ``threshold`` is the share of the question's weight below which it abstains.
    """

    def __init__(self, depth: int = DEPTH, threshold: float = 0.35) -> None:
        super().__init__(depth)
        self.threshold = threshold
        self._weights: dict[str, float] = {}

    def fit(self, train: Sequence[Any]) -> Overlap:
        """The baseline with the threshold that is best on ``train``."""
        fitted = Overlap(self.depth, 0.0)
        fitted._indexed, fitted._texts, fitted._weights = self._indexed, self._texts, self._weights
        predictions = [(example, fitted(question=example["question"])) for example in train]
        values = {}
        for threshold in (step / 20 for step in range(20)):
            pairs = [(gold, pred if pred.confidence >= threshold else {"answer": ""}) for gold, pred in predictions]
            values[threshold] = sum(F1()(gold, pred).tally.value for gold, pred in pairs)
        fitted.threshold = max(values, key=lambda step: (values[step], -step)) if values else self.threshold
        return fitted

    def index(self, passages: str | Path | Iterable[Any]) -> Any:
        """The same program over these passages, with the weights of their words."""
        super().index(passages)
        seen = Counter(word for text in self._texts.values() for word in set(tokens(text)))
        self._weights = {word: math.log(1 + len(self._texts) / n) for word, n in seen.items()}
        return self

    def forward(self, question: str) -> dspy.Prediction:
        """The answer of the best sentence, with its share of the question as the confidence."""
        results = self.search(question)
        texts = [result["text"] for result in results]
        answer, confidence = self.read(question, texts)
        return dspy.Prediction(answer=answer, confidence=confidence, retrieved_contexts=texts, results=results)

    def read(self, question: str, texts: Sequence[str]) -> tuple[str, float]:
        """The answer in these texts, empty below the threshold, and how much of the question its sentence holds."""
        question_words = set(tokens(question))
        best, confidence = "", 0.0
        for text in texts:
            for sentence in sentences(text):
                share = self._share(question_words, set(tokens(sentence)))
                if share > confidence:
                    best, confidence = sentence, share
        return picked(question, best) if confidence >= self.threshold else "", confidence

    def _share(self, question_words: set[str], words: set[str]) -> float:
        """How much of the question's weight the words carry; words that no passage has count as rare ones."""
        rare = math.log(1 + max(len(self._texts), 1))
        total = sum(self._weights.get(word, rare) for word in sorted(question_words))
        shared = sum(self._weights.get(word, rare) for word in sorted(question_words & words))
        return min(1.0, shared / total) if total else 0.0


def picked(question: str, sentence: str) -> str:
    """The part of a sentence that a question of this kind asks for, or all of it."""
    lowered = question.lower()
    new = [name for name in found_entities(sentence) if name.lower() not in lowered]
    years: list[str] = [year for year in YEAR.findall(sentence) if year not in lowered]
    numbers: list[str] = [
        number for number in NUMBER.findall(sentence) if number not in lowered and number not in years
    ]
    if ASKS_WHEN.search(lowered) and years:
        return years[0]
    if ASKS_HOW_MANY.search(lowered) and (numbers or years):
        return (numbers or years)[0]
    names = [name for name in new if not any(c.isdigit() for c in name)]
    return names[0] if ASKS_NAME.search(lowered) and names else sentence


program = Reading()
baseline = Overlap()

